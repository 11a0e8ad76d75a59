//! The table of GUIDs alone, beside a bare hash map: time, memory, pauses.

use std::time::Duration as StdDuration;

use hashbrown::HashMap;
use servent_core::id::Guid;
use servent_core::keyed::{Key, Map};
use servent_core::rng::Rng;
use servent_core::routing::{Marks, Memory, Route};
use servent_core::time::{Duration, Instant};
use stats_alloc::Region;

use crate::measure::{median, now};
use crate::report::{Report, Target};

/// A life longer than the measurement.
const LIFE: Duration = Duration::from_secs(600);
/// Repetitions of which the fastest counts where a pause is looked for, so
/// that what the machine does beside this is not taken for one of ours.
const FILLS: usize = 3;

type Id = [u8; 16];

pub(crate) fn run(report: &mut Report, quick: bool) {
    let count = if quick { 100_000 } else { 1_000_000 };
    let mut dice = Rng::new(21);
    let ids: Vec<Id> = (0..count).map(|_| dice.bytes()).collect();
    let mut asked = ids.clone();
    for at in (1..asked.len()).rev() {
        asked.swap(at, dice.below(at as u64 + 1) as usize);
    }
    time(report, &ids, &asked, if quick { 1 } else { 5 });
    memory(report, &ids);
    pauses(report, &ids);
}

fn marks() -> Marks {
    Marks::new(&mut Rng::new(3))
}

/// Nanoseconds for each GUID put in once and looked up once, in another
/// order. Ours looks before it puts, as a router must, in two generations.
fn time(report: &mut Report, ids: &[Id], asked: &[Id], rounds: usize) {
    let (mut ours, mut bare, mut keyed) = (Vec::new(), Vec::new(), Vec::new());
    let per = |took: StdDuration| took.as_secs_f64() * 1e9 / ids.len() as f64;
    for _ in 0..rounds {
        let marks = marks();
        let mut table = Memory::new(LIFE, u32::MAX);
        // An older generation of the same size, that every search goes through.
        for id in ids {
            let mark = marks.derive_mark(&[id, b"older"]);
            table.put(Instant::ZERO, mark, Route::new(1, 1)).expect("no quota");
        }
        table.run(Instant::ZERO + LIFE);
        let began = now();
        for id in ids {
            let mark = marks.of_id(Guid(*id));
            if table.get(mark).is_none() {
                table.put(Instant::ZERO + LIFE, mark, Route::new(2, 1)).expect("no quota");
            }
        }
        for id in asked {
            assert!(table.get(marks.of_id(Guid(*id))).is_some());
        }
        ours.push(per(began.elapsed()));
        drop(table);

        let began = now();
        let mut map: HashMap<Id, u32> = HashMap::new();
        ids.iter().for_each(|id| _ = map.insert(*id, 2));
        for id in asked {
            assert!(map.contains_key(id));
        }
        bare.push(per(began.elapsed()));
        drop(map);

        let began = now();
        let mut map: Map<Id, u32> = Map::with_hasher(Key::new(&mut Rng::new(3)));
        ids.iter().for_each(|id| _ = map.insert(*id, 2));
        for id in asked {
            assert!(map.contains_key(id));
        }
        keyed.push(per(began.elapsed()));
    }
    let ours = median(&mut ours);
    let case = format!("{} GUIDs: search, put, look up", ids.len());
    report.add(
        ("routing", case.clone(), "ns"),
        ours,
        ("hashbrown as it comes: insert, look up", Some(median(&mut bare))),
        &Target::RatioAtMost(2.5),
    );
    report.add(
        ("routing", case, "ns"),
        ours,
        ("hashbrown under our key", Some(median(&mut keyed))),
        &Target::None,
    );
}

/// Bytes of the allocator for each GUID, at the end and at the worst size on
/// the way there.
fn memory(report: &mut Report, ids: &[Id]) {
    let marks = marks();
    let region = Region::new(crate::ALLOCATOR);
    let mut table = Memory::new(LIFE, u32::MAX);
    let (mut bytes, mut worst) = (0.0, 0.0_f64);
    for (n, id) in (1..).zip(ids) {
        table.put(Instant::ZERO, marks.of_id(Guid(*id)), Route::new(1, 1)).expect("no quota");
        if n % 1_000 == 0 && n >= 10_000 {
            let grown = region.change();
            bytes = (grown.bytes_allocated - grown.bytes_deallocated) as f64 / f64::from(n);
            worst = worst.max(bytes);
        }
    }
    let region = Region::new(crate::ALLOCATOR);
    let map: HashMap<Id, u32> = ids.iter().map(|id| (*id, 1)).collect();
    let grown = region.change();
    let bare = (grown.bytes_allocated - grown.bytes_deallocated) as f64 / map.len() as f64;
    for (case, figure) in [
        (format!("memory of a GUID, {} of them", ids.len()), bytes),
        ("memory of a GUID, the worst number from 10 000 on".to_owned(), worst),
    ] {
        report.add(
            ("routing", case, "bytes"),
            figure,
            ("hashbrown as it comes", Some(bare)),
            &Target::AtMost(40.0),
        );
    }
}

/// The longest call while a table fills, while its generations turn, and
/// while the dropped one is freed.
fn pauses(report: &mut Report, ids: &[Id]) {
    let marks = marks();
    let (mut filling, mut freeing): (Vec<StdDuration>, Vec<StdDuration>) = (Vec::new(), Vec::new());
    for _ in 0..FILLS {
        let mut table = Memory::new(LIFE, u32::MAX);
        for (n, id) in ids.iter().enumerate() {
            let began = now();
            table.put(Instant::ZERO, marks.of_id(Guid(*id)), Route::new(1, 1)).expect("no quota");
            note(&mut filling, n, began.elapsed());
        }
        let mut n = 0;
        while let Some(next) = table.next() {
            let began = now();
            table.run(next);
            note(&mut freeing, n, began.elapsed());
            n += 1;
        }
        assert_eq!(table.len(), (0, 0));
    }
    for (what, times) in [("put in", filling), ("dropped", freeing)] {
        let longest = times.into_iter().max().unwrap_or_default().as_secs_f64() * 1e6;
        let case = format!("longest pause while {} GUIDs are {what}", ids.len());
        report.add(("routing", case, "µs"), longest, ("", None), &Target::AtMost(1_000.0));
    }
}

/// Notes what step `at` took, if it was never faster.
fn note(times: &mut Vec<StdDuration>, at: usize, took: StdDuration) {
    match times.get_mut(at) {
        Some(best) => *best = took.min(*best),
        None => times.push(took),
    }
}
