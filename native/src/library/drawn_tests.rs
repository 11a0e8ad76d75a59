//! Drawn changes of a folder: after each of them, a look at the paths that the
//! system names finds what a whole scan finds.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use servent_core::rng::Rng;

use super::{Keys, Library};

/// Enough to come to every pair of changes at every depth.
const SEQUENCES: u64 = 300;
const CHANGES: usize = 12;

#[test]
fn looks_at_what_changed_find_what_a_scan_finds() {
    for seed in 0..SEQUENCES {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (mut library, _) =
            Library::open(std::slice::from_ref(&root), &[], (Vec::new(), Keys::Paths)).unwrap();
        let mut rng = Rng::new(seed);
        let mut said = Vec::new();
        for _ in 0..CHANGES {
            let mut paths = BTreeSet::new();
            // Several changes may come before the look.
            for _ in 0..=rng.below(2) {
                let (what, at) = change(&mut rng, &root);
                said.push(what);
                paths.extend(at);
            }
            library.look_at(&paths);
            let counted = counts(&library);
            let missed = library.rescan();
            assert!(missed.is_empty(), "seed {seed}: {said:#?} {missed:?}");
            assert_eq!(counted, counts(&library), "seed {seed}: {said:#?}");
        }
    }
}

/// Files, and their bytes.
fn counts(library: &Library) -> (u64, u64) {
    let status = library.status();
    let status = status.lock().unwrap();
    (status.files, status.bytes)
}

/// One change below `root`: what it was, and the paths that the system names.
fn change(rng: &mut Rng, root: &Path) -> (String, Vec<PathBuf>) {
    let (one, other) = (drawn(rng, root), drawn(rng, root));
    let (what, done) = match rng.below(6) {
        0 => ("make", fs::create_dir(&one)),
        1 | 2 => ("write", write(&one, rng.below(9) as usize)),
        3 => ("rename", fs::rename(&one, &other)),
        4 => ("link", fs::hard_link(&one, &other)),
        _ if one.is_dir() => ("remove", fs::remove_dir_all(&one)),
        _ => ("remove", fs::remove_file(&one)),
    };
    let text = format!("{what} {} {}", one.display(), other.display());
    let paths = match what {
        // What cannot be done has no event.
        _ if done.is_err() => Vec::new(),
        "rename" => vec![one, other],
        "link" => vec![other],
        _ => vec![one],
    };
    (text, paths)
}

/// Not through one of several names: another of them, which is not named then, is
/// found to be changed when it is asked for.
fn write(path: &Path, size: usize) -> std::io::Result<()> {
    if path.metadata().is_ok_and(|meta| meta.nlink() > 1) {
        fs::remove_file(path)?;
    }
    fs::write(path, vec![b'x'; size])
}

/// One of few paths, so that changes meet: some are hidden or unfinished.
fn drawn(rng: &mut Rng, root: &Path) -> PathBuf {
    let mut path = root.to_owned();
    for _ in 0..=rng.below(3) {
        let names = ["a", "b", "c", ".hidden", "d.part"];
        path.push(names[rng.below(names.len() as u64) as usize]);
    }
    path
}
