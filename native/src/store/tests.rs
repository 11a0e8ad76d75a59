use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::contract_tests::places;
use super::open::Lock;
use super::*;
use crate::clock::Stopwatch;

fn put(store: &Embedded, numbers: impl IntoIterator<Item = u8>) {
    store.commit(&places(numbers)).unwrap();
}

fn open(dir: &std::path::Path) -> Result<(Embedded, Remembered), StoreFailure> {
    Embedded::open(dir, Durability::Process, DamagedState::Refuse)
}

/// What another process would find after `kill -9`: the bytes the system has at
/// that moment, without anything a clean shutdown would add.
#[test]
fn every_commit_survives_the_death_of_the_process() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path()).unwrap();
    for n in 0..100 {
        put(&store, [n]);
        if n % 9 == 0 {
            let copy = tempfile::tempdir().unwrap();
            fs::copy(dir.path().join("state.redb"), copy.path().join("state.redb")).unwrap();
            let (_copy, all) = open(copy.path()).unwrap();
            assert_eq!(all.queue.len(), usize::from(n) + 1);
        }
    }
}

/// How often `commits` commits flush to the disk, and how long one takes.
fn flushes(durability: Durability, commits: u8) -> (u64, Duration) {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = Embedded::open(dir.path(), durability, DamagedState::Refuse).unwrap();
    let (before, watch) = (store.flusher().flushes(), Stopwatch::start());
    for n in 0..commits {
        put(&store, [n]);
    }
    let each = watch.elapsed() / u32::from(commits);
    (store.flusher().flushes() - before, each)
}

#[test]
fn only_the_stronger_durability_flushes_every_commit_to_the_disk() {
    let (process, cheap) = flushes(Durability::Process, 50);
    let (power, dear) = flushes(Durability::Power, 50);
    println!("a commit: {cheap:?} for the process, {dear:?} for the machine");
    assert_eq!(process, 0, "a commit waits for the disk without need");
    assert!(power >= 50, "{power} flushes for 50 promises");
}

#[test]
fn two_servents_do_not_share_a_state() {
    let dir = tempfile::tempdir().unwrap();
    let (_store, _) = open(dir.path()).unwrap();
    match open(dir.path()) {
        Err(StoreFailure::Locked { pid, .. }) => assert_eq!(pid, Some(std::process::id())),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_lock_is_free_at_once_even_while_programs_are_started() {
    let dir = tempfile::tempdir().unwrap();
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !over.load(Ordering::Relaxed) {
                // Until it runs, it has a copy of every open file.
                std::process::Command::new("true").status().unwrap();
            }
        });
        let taken: Vec<_> = (0..2_000).map(|_| Lock::take(dir.path()).map(drop)).collect();
        over.store(true, Ordering::Relaxed);
        for one in taken {
            one.unwrap();
        }
    });
}

#[test]
fn a_foreign_or_truncated_state_is_refused_and_not_touched() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path()).unwrap();
    put(&store, 0..200);
    let path = dir.path().join("state.redb");
    let killed = fs::read(&path).unwrap();
    drop(store);
    let ended = fs::read(&path).unwrap();
    let mut bad = vec![b"#!/bin/sh\necho not a state\n".to_vec(), Vec::new()];
    for good in [killed, ended] {
        let n = good.len();
        let cuts = [5, 100, 4096, n / 3, n / 2, n - 4096];
        bad.extend(cuts.map(|n| good[..n].to_vec()));
        let mut torn = good;
        torn[4096..].chunks_mut(512).for_each(|chunk| chunk[7] ^= 0x55);
        bad.push(torn);
    }
    for bytes in bad {
        fs::write(&path, &bytes).unwrap();
        let Err(StoreFailure::Damaged { .. }) = open(dir.path()) else {
            panic!("{} bytes were taken for a state", bytes.len());
        };
        assert!(fs::read(&path).unwrap() == bytes, "{} bytes were touched", bytes.len());
    }
}

#[test]
fn a_damaged_state_is_put_aside_when_asked() {
    let dir = tempfile::tempdir().unwrap();
    for n in 1..=2 {
        fs::write(dir.path().join("state.redb"), format!("nonsense {n}")).unwrap();
        let (store, all) =
            Embedded::open(dir.path(), Durability::Process, DamagedState::PutAside).unwrap();
        assert!(all.queue.is_empty());
        put(&store, [1]);
        let aside = dir.path().join(format!("state.redb.damaged-{n}"));
        assert_eq!(fs::read_to_string(aside).unwrap(), format!("nonsense {n}"));
    }
}

/// What a process that dies between two writes leaves behind, on a disk that
/// loses its end as well: it is refused or read, whatever redb makes of it, and
/// never causes a panic.
#[test]
fn a_state_torn_and_cut_anywhere_is_refused_or_read() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path()).unwrap();
    let path = dir.path().join("state.redb");
    let done = AtomicBool::new(false);
    let torn = std::thread::scope(|scope| {
        let copies = scope.spawn(|| {
            let mut copies = vec![fs::read(&path).unwrap()];
            while !done.load(Ordering::Relaxed) {
                copies.push(fs::read(&path).unwrap());
            }
            copies
        });
        (0..100).for_each(|n| put(&store, [n]));
        done.store(true, Ordering::Relaxed);
        copies.join().unwrap()
    });
    drop(store);
    for whole in torn {
        for cut in [whole.len() / 3, whole.len() / 2, whole.len() - 4096, whole.len()] {
            fs::write(&path, &whole[..cut]).unwrap();
            match open(dir.path()) {
                Ok(_) | Err(StoreFailure::Damaged { .. }) => {}
                Err(why) => panic!("{cut} of {} bytes: {why}", whole.len()),
            }
        }
    }
}
