//! The presets, under both profiles.

use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};
use servent_core::unicast::Event as Told;
use servent_sim::registry::RegisteredProtocol as _;
use servent_sim::unicast::{
    DatagramEvent, Event, MessagingEvent, Scenario, Unicast, UnicastVariant, UnicastWorld, presets,
};
use servent_sim::{Keyframes, Timeline};

pub(crate) fn run(s: &Scenario) -> (UnicastWorld, Vec<Record<Event>>) {
    let mut world = UnicastWorld::new(s);
    let mut records = Vec::new();
    world.run_until(Instant::ZERO + s.horizon, &mut records);
    (world, records)
}

/// A preset in each of its variants, or as it is where it has none.
pub(crate) fn ways(preset: &Scenario) -> Vec<(String, Scenario)> {
    if preset.variants.is_empty() {
        return vec![("itself".to_owned(), preset.clone())];
    }
    let way =
        |v: &UnicastVariant| (v.name.clone(), preset.variant(&v.name).expect("one of its own"));
    preset.variants.iter().map(way).collect()
}

/// A preset under its two profiles.
fn both(id: &str) -> [Scenario; 2] {
    let preset = presets::find(id).expect("a preset");
    ["unicast3", "adaptive"].map(|name| preset.variant(name).expect("a variant"))
}

/// What a node read, in order.
fn read(records: &[Record<Event>], at: u32) -> Vec<u64> {
    let mut numbers = Vec::new();
    for record in records.iter().filter(|record| record.node == NodeId(at)) {
        if let Event::App(MessagingEvent::Read { n, .. }) = record.event {
            numbers.push(n);
        }
    }
    numbers
}

/// When the last message was read.
fn done(records: &[Record<Event>]) -> Instant {
    let read = |r: &&Record<Event>| matches!(r.event, Event::App(MessagingEvent::Read { .. }));
    records.iter().rev().find(read).expect("something was read").at
}

#[test]
fn whatever_a_preset_loses_everything_is_read_in_order_and_once() {
    for id in ["lose-first", "lose-middle", "lose-last", "close-in-flight"] {
        for s in both(id) {
            let (_, records) = run(&s);
            assert_eq!(read(&records, 1), (1..=9).collect::<Vec<_>>(), "{}", s.title);
        }
    }
    for id in ["five-percent", "burst"] {
        for s in both(id) {
            let (_, records) = run(&s);
            assert_eq!(read(&records, 1), (1..=300).collect::<Vec<_>>(), "{}", s.title);
        }
    }
}

#[test]
fn both_profiles_lose_the_same_datagrams() {
    let lost = |s: &Scenario| -> Vec<(u32, u32)> {
        let mut lost = Vec::new();
        let mut numbers = std::collections::BTreeMap::new();
        for record in run(s).1 {
            match record.event {
                Event::Datagram(DatagramEvent::Sent { id, n, .. }) => {
                    numbers.insert(id, n);
                }
                Event::Datagram(DatagramEvent::Lost { id, .. }) => {
                    lost.push((record.node.0, numbers[&id]));
                }
                _ => {}
            }
        }
        lost.sort_unstable();
        lost
    };
    for id in ["five-percent", "burst"] {
        let [letter, adaptive] = both(id).map(|s| lost(&s));
        let common = |node: u32| {
            let of = |all: &[(u32, u32)]| -> Vec<u32> {
                all.iter().filter(|(at, _)| *at == node).map(|(_, n)| *n).collect()
            };
            let (a, b) = (of(&letter), of(&adaptive));
            let shorter = a.len().min(b.len());
            assert!(shorter > 2, "{id}: something is lost both times");
            assert_eq!(a[..shorter], b[..shorter], "{id}");
        };
        common(0);
    }
}

#[test]
fn adaptive_repairs_sooner_than_the_text() {
    for id in ["lose-middle", "lose-last", "lose-first", "five-percent"] {
        let [letter, adaptive] = both(id).map(|s| done(&run(&s).1));
        assert!(adaptive < letter, "{id}: {adaptive:?} {letter:?}");
    }
}

#[test]
fn a_receiver_that_restarts_reads_on_from_where_the_sender_stands() {
    for s in both("receiver-restart") {
        let numbers = read(&run(&s).1, 1);
        assert_eq!(numbers.last(), Some(&40), "{}", s.title);
        let again = numbers.windows(2).filter(|pair| pair[1] <= pair[0]).count();
        assert!(again <= 1, "only what was not acknowledged may come again: {numbers:?}");
        let all = (1..=40).all(|n| numbers.contains(&n));
        assert!(all, "{}: {numbers:?}", s.title);
    }
}

#[test]
fn the_same_scenario_gives_the_same_digest() {
    let s = presets::find("burst").expect("a preset");
    assert_eq!(run(&s).0.digest(), run(&s).0.digest());
    let other = Scenario { seed: s.seed + 1, ..s.clone() };
    assert_ne!(run(&s).0.digest(), run(&other).0.digest());
}

/// How long half of the datagrams of a node waited in the queue, in milliseconds; `None`:
/// it has sent none.
fn queued(world: &UnicastWorld, records: &[Record<Event>], node: &str) -> Option<u64> {
    Unicast::totals(world, records).get(&format!("queued.{node}"))?.as_u64()
}

/// What the two sides of the story show: a word that passes at once, or behind a file that
/// fills the buffer of 120 ms.
#[test]
fn words_wait_behind_a_file_that_is_sent_until_something_is_lost() {
    let story = presets::find("fill-the-queue").expect("a preset");
    let [bbr, cubic] = ["bbr", "cubic"].map(|name| {
        let (world, records) = run(&story.variant(name).expect("a variant"));
        assert_eq!(read(&records, 1).len(), 1_260, "{name}: all arrives");
        queued(&world, &records, "C").expect("it has sent")
    });
    assert!(bbr <= 10, "{bbr} ms");
    assert!(cubic >= 80, "{cubic} ms");
}

/// What the lesson about the queue comes to: milliseconds that half of the datagrams of
/// `A` and of `C` waited, and how many of their messages were read from the third second
/// to the eighth.
fn filled(change: impl FnOnce(&mut Scenario)) -> [(u64, usize); 2] {
    let lesson = include_str!("../../lessons/fill-the-queue.toml");
    let mut lesson: toml::Table = toml::from_str(lesson).expect("a lesson");
    let world = lesson.remove("world").and_then(|mut it| it.as_table_mut()?.remove("scenario"));
    let mut s: Scenario = world.expect("it has a world").try_into().expect("a scenario");
    change(&mut s);
    let (world, records) = run(&s);
    let measured = Instant::from_secs(2)..Instant::from_secs(8);
    [("A", NodeId(0)), ("C", NodeId(2))].map(|(name, id)| {
        let read = records.iter().filter(|record| {
            matches!(record.event, Event::App(MessagingEvent::Read { from, .. }) if from == id)
                && measured.contains(&record.at)
        });
        (queued(&world, &records, name).unwrap_or(0), read.count())
    })
}

/// The numbers that it says, or about as much.
#[test]
fn a_flow_that_waits_for_losses_fills_the_queue_of_a_shared_link() {
    let about = |told: u64, found: u64| found.abs_diff(told) <= 4 + told / 20;
    let without = |of: usize| {
        filled(|s| {
            s.script.remove(of);
        })
    };
    let alone = [without(1), without(0)];
    let both = filled(|_| {});
    let shallow = filled(|s| s.link.queue = 3_000);
    assert!(about(4, alone[0][0].0) && about(100, alone[1][1].0), "{alone:?}");
    assert!(alone[0][0].1.abs_diff(alone[1][1].1) < 50, "as fast: {alone:?}");
    assert!(both.iter().all(|(queued, _)| about(100, *queued)), "{both:?}");
    assert!(shallow.iter().all(|(queued, _)| *queued < 10), "{shallow:?}");
    let ratio = |[(_, a), (_, c)]: [(u64, usize); 2]| c as f64 / a as f64;
    assert!((1.7..2.4).contains(&ratio(both)), "{both:?}");
    assert!((0.2..0.3).contains(&ratio(shallow)), "{shallow:?}");
}

const A: NodeId = NodeId(0);
const C: NodeId = NodeId(2);

/// The story of two controllers, all of it.
fn two_controllers() -> Timeline<Unicast> {
    let story = presets::find("two-controllers").expect("a preset");
    let mut timeline = Timeline::<Unicast>::new(&story, Keyframes::default());
    assert!(timeline.explore(Instant::ZERO + story.horizon, u64::MAX), "it ends");
    timeline
}

fn records(timeline: &Timeline<Unicast>) -> impl Iterator<Item = &Record<Event>> {
    (0..).map_while(|i| timeline.record(i))
}

/// How many datagrams of a node arrived between two instants, in milliseconds.
fn arrived(timeline: &Timeline<Unicast>, of: NodeId, ms: std::ops::Range<u64>) -> usize {
    let own = |record: &&Record<Event>| matches!(record.event, Event::Datagram(DatagramEvent::Arrived { from, .. }) if from == of);
    let then = |record: &&Record<Event>| ms.contains(&(record.at.as_micros() / 1_000));
    records(timeline).filter(then).filter(own).count()
}

/// How long the datagrams of a node took there between two instants, the median in
/// milliseconds.
fn took(timeline: &Timeline<Unicast>, from: NodeId, ms: std::ops::Range<u64>) -> u64 {
    let mut took: Vec<u64> = records(timeline)
        .filter(|record| record.node == from && ms.contains(&(record.at.as_micros() / 1_000)))
        .filter_map(|record| match record.event {
            Event::Datagram(DatagramEvent::Sent { due, .. }) => Some(due.since(record.at)),
            _ => None,
        })
        .map(|time| time.as_micros() / 1_000)
        .collect();
    took.sort_unstable();
    took[took.len() / 2]
}

#[test]
fn a_measured_rate_gives_way_to_a_flow_that_fills_the_queue() {
    let story = two_controllers();
    let alone = (arrived(&story, A, 1_000..2_500), took(&story, A, 1_000..2_500));
    assert!((290..=320).contains(&alone.0) && alone.1 <= 50, "the line is its own: {alone:?}");
    let [a, c] = [A, C].map(|of| arrived(&story, of, 3_500..5_500));
    assert!((390..=425).contains(&(a + c)), "the line is full: {a} and {c}");
    assert!(a > 150 && c > 110, "each has its share: {a} and {c}");
    let both = [A, C].map(|from| took(&story, from, 3_500..5_500));
    assert!(both.iter().all(|ms| *ms > 100), "both wait: {both:?} ms");
    let read =
        |record: &&Record<Event>| matches!(record.event, Event::App(MessagingEvent::Read { .. }));
    assert_eq!(records(&story).filter(read).count(), 1_500, "all is read");
}

/// The numbers behind a slowdown say whose the line was meanwhile.
#[test]
fn a_slowdown_on_a_shared_line_says_what_the_line_carried_for_each() {
    let story = two_controllers();
    let (mut before, mut slower) = (None, 0);
    for (i, record) in (0..).zip(records(&story)).filter(|(_, record)| record.node == A) {
        let Event::Unicast(Told::Controlled { window, trip, .. }) = record.event else { continue };
        let less = before.replace(window).is_some_and(|before| window < before);
        if !less || !(3_500_000..5_000_000).contains(&record.at.as_micros()) {
            continue;
        }
        slower += 1;
        let numbers = Unicast::numbers(&story, i).expect("a decision has numbers");
        let carried = numbers["carried"].as_array().expect("a shared line");
        let [ours, theirs] = ["A", "C"].map(|name| {
            let mut all = carried.iter().filter(|it| it[0] == name);
            all.next().and_then(|it| it[1].as_u64()).expect("it sends")
        });
        let line = 250_000 * trip.as_micros() / 1_000_000;
        assert!((ours + theirs).abs_diff(line) < 2_600, "{ours} and {theirs} of {line}");
        assert!(theirs > line / 4, "the other has its part: {ours} and {theirs}");
    }
    assert_ne!(slower, 0, "it becomes slower");
}
