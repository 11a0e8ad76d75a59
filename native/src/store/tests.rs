use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use servent_core::id::{FileIndex, Tth};
use servent_core::queue::{Dialect, FileKey, RowState};
use servent_core::thex::Tree;
use servent_core::time::Instant;

use super::*;
use crate::clock::Stopwatch;

fn row(n: u8) -> Row {
    Row {
        ticket: Guid([n; 16]),
        arrival: u64::from(n),
        state: RowState::Waiting,
        peer: "192.0.2.1".parse().unwrap(),
        dialect: Dialect::Parq,
        file: FileKey(9),
        bytes: 3,
        told: 1,
        not_before: Instant::from_secs(30),
        deadline: Instant::from_secs(300),
        callback: None,
        breaks: 0,
    }
}

fn put(store: &Store, numbers: impl IntoIterator<Item = u8>) {
    let changes: Vec<_> = numbers.into_iter().map(|n| Change::Node(Op::Queue(row(n)))).collect();
    store.commit(&changes).unwrap();
}

fn open(dir: &std::path::Path) -> Result<(Store, Remembered), StoreFailure> {
    Store::open(dir, Durability::Process, DamagedState::Refuse)
}

#[test]
fn what_was_committed_is_there_after_reopening_in_order_of_arrival() {
    let dir = tempfile::tempdir().unwrap();
    let (store, empty) = open(dir.path()).unwrap();
    assert!(empty.queue.is_empty() && empty.servent.is_none());
    put(&store, [3, 1, 2]);
    let file = FileRow { index: FileIndex(7), size: 1, mtime: -5, sha1: None, tree: None };
    let host = |n: u16| HostRow { at: ([80, 0, 0, 1], n).into(), heard: Instant::from_secs(9) };
    store
        .commit(&[
            Change::Node(Op::QueueGone(Guid([2; 16]))),
            Change::Node(Op::Servent(Guid([9; 16]))),
            Change::File("/a/b".into(), file.clone()),
            Change::Node(Op::Host(host(1))),
            Change::Node(Op::Host(host(2))),
            Change::Node(Op::HostGone(host(1).at)),
        ])
        .unwrap();
    drop(store);
    let (_store, all) = open(dir.path()).unwrap();
    assert_eq!(all.queue, [row(1), row(3)]);
    assert_eq!(all.servent, Some(Guid([9; 16])));
    assert_eq!(all.files, [(PathBuf::from("/a/b"), file)]);
    assert_eq!(all.hosts, [host(2)]);
}

#[test]
fn the_tree_of_a_file_comes_back_as_long_as_it_is_that_file() {
    let dir = tempfile::tempdir().unwrap();
    let (store, _) = open(dir.path()).unwrap();
    let tree = |size| Some(Arc::new(Tree::new(size, vec![Tth([7; 24])]).unwrap()));
    let file = |size, mtime, tree| FileRow { index: FileIndex(7), size, mtime, sha1: None, tree };
    let change = |name: &str, row| Change::File(name.into(), row);
    store
        .commit(&[
            change("/same", file(9, 5, tree(9))),
            change("/touched", file(9, 5, tree(9))),
            change("/touched", file(9, 6, None)),
            change("/gone", file(9, 5, tree(9))),
            Change::FileGone("/gone".into()),
            change("/gone", file(9, 5, None)),
        ])
        .unwrap();
    drop(store);
    let (_store, all) = open(dir.path()).unwrap();
    let found: Vec<_> =
        all.files.iter().map(|(path, row)| (path.to_str().unwrap(), &row.tree)).collect();
    assert_eq!(found, [("/gone", &None), ("/same", &tree(9)), ("/touched", &None)]);
}

#[test]
fn the_tree_of_a_download_goes_with_it() {
    let dir = tempfile::tempdir().unwrap();
    let (store, empty) = open(dir.path()).unwrap();
    assert!(empty.trees.is_empty());
    let tree = Arc::new(Tree::new(9, vec![Tth([7; 24])]).unwrap());
    let put = |fetch: u32, tree| Change::Node(Op::Tree(FetchId(fetch), tree));
    let some = || Some(Arc::clone(&tree));
    let gone = Change::Node(Op::FetchGone(FetchId(3)));
    store.commit(&[put(1, some()), put(2, some()), put(2, None), put(3, some()), gone]).unwrap();
    drop(store);
    let (_store, all) = open(dir.path()).unwrap();
    assert_eq!(all.trees, [(FetchId(1), tree)]);
}

#[test]
fn what_the_user_has_said_is_kept_and_a_pause_goes_with_its_download() {
    let dir = tempfile::tempdir().unwrap();
    let (store, empty) = open(dir.path()).unwrap();
    assert!(empty.added.is_empty() && empty.paused.is_empty());
    let pause = |fetch: u32, paused| Change::Node(Op::Paused(FetchId(fetch), paused));
    store
        .commit(&[
            Change::Share("/b".into()),
            Change::Share("/a".into()),
            Change::ShareGone("/b".into()),
            pause(1, true),
            pause(2, true),
            pause(2, false),
            pause(3, true),
            Change::Node(Op::FetchGone(FetchId(3))),
        ])
        .unwrap();
    drop(store);
    let (_store, all) = open(dir.path()).unwrap();
    assert_eq!((all.added, all.paused), (vec!["/a".into()], vec![FetchId(1)]));
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
    let (store, _) = Store::open(dir.path(), durability, DamagedState::Refuse).unwrap();
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
    assert_eq!(process, 0, "somebody waits for the disk without need");
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
            Store::open(dir.path(), Durability::Process, DamagedState::PutAside).unwrap();
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
