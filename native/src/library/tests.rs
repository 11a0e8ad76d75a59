use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::symlink;

use super::*;

fn open(dir: &std::path::Path, rows: Vec<(PathBuf, FileRow)>) -> (Library, Vec<ShareChange>) {
    Library::open(&[dir.to_owned()], &[], (rows, Keys::Paths)).unwrap()
}

fn names(changes: &[ShareChange]) -> BTreeSet<(u32, String)> {
    let shared = changes.iter().filter_map(|change| match change {
        ShareChange::Shared(shared, _) => Some((shared.info.index.0, shared.info.name.clone())),
        _ => None,
    });
    shared.collect()
}

#[test]
fn files_keep_their_numbers_and_hashes_over_a_restart() {
    let dir = tempfile::tempdir().unwrap();
    let folder = dir.path().file_name().unwrap().to_string_lossy().into_owned();
    let called = |name: &str| format!("{folder}/{name}");
    fs::create_dir(dir.path().join("sub")).unwrap();
    fs::write(dir.path().join("b"), "abc").unwrap();
    fs::write(dir.path().join("sub/c"), "other").unwrap();
    fs::write(dir.path().join(".hidden"), "no").unwrap();
    fs::write(dir.path().join("x.part"), "no").unwrap();
    let (mut library, first) = open(dir.path(), Vec::new());
    assert_eq!(names(&first), BTreeSet::from([(0, called("b")), (1, called("sub/c"))]));
    let path = dir.path().canonicalize().unwrap().join("b");
    let Some(ShareChange::Shared(b, row)) = library.hash(&path, |_| true) else {
        panic!("not hashed")
    };
    let sha1 = Sha1::parse(b"VGMT4NSHA2AWVOR6EVYXQUGCNSONBWE5").unwrap(); // Of "abc".
    assert_eq!(b.info.sha1, Some(sha1));
    let root = "ASD4UJSEH5M47PDYB46KBTSQTSGDKLBHYXOMUIA";
    assert_eq!(b.info.tree.as_ref().unwrap().root().to_string(), root);

    fs::write(dir.path().join("a"), "new").unwrap();
    let (again, changes) = open(dir.path(), vec![(path.clone(), row.clone())]);
    assert!(names(&changes).contains(&(0, called("b"))));
    assert!(!names(&changes).contains(&(0, called("a"))));
    assert_eq!(again.unhashed().len(), 2, "b is remembered");
    // Written by an earlier version of this program, which had no hash trees.
    let without = FileRow { tree: None, ..row.clone() };
    let (mut earlier, changes) = open(dir.path(), vec![(path.clone(), without)]);
    let told =
        |c: &ShareChange| matches!(c, ShareChange::Shared(s, _) if s.info.sha1 == Some(sha1));
    assert!(changes.iter().any(told), "it is served by its hash meanwhile");
    assert_eq!((earlier.unhashed().len(), earlier.status().lock().unwrap().hashed_files), (3, 1));
    assert!(earlier.hash(&path, |_| true).is_some());
    earlier.count_hashed();
    assert_eq!((earlier.unhashed().len(), earlier.status().lock().unwrap().hashed_files), (2, 1));
    let other = earlier.unhashed().remove(0);
    assert!(earlier.hash(&other, |_| true).is_some());
    assert_eq!(earlier.status().lock().unwrap().hashed_files, 1, "the node does not know it yet");
    earlier.count_hashed();
    assert_eq!(earlier.status().lock().unwrap().hashed_files, 2);

    fs::write(&path, "abcd").unwrap();
    let (changed, changes) = open(dir.path(), vec![(path, row)]);
    assert!(names(&changes).contains(&(0, called("b"))), "its number stays");
    assert_eq!(changed.unhashed().len(), 3, "its hash does not");
}

/// At two machines, one of which has a newer version already.
#[test]
fn st_4_a_file_of_a_site_is_known_by_its_name_wherever_it_is() {
    let dir = tempfile::tempdir().unwrap();
    let keys = ["one/pub", "two/elsewhere/pub"].map(|folder| {
        let folder = dir.path().join(folder);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("file"), folder.to_str().unwrap()).unwrap();
        [Keys::Names, Keys::Paths].map(|keys| {
            let (_, changes) =
                Library::open(std::slice::from_ref(&folder), &[], (Vec::new(), keys)).unwrap();
            let Some(ShareChange::Shared(shared, _)) = changes.first() else {
                panic!("{changes:?}")
            };
            shared.info.key
        })
    });
    let [[name, path], [same_name, other_path]] = keys;
    assert!(name == same_name && path != other_path && name != path, "{keys:?}");
}

#[test]
fn a_file_that_changed_is_not_served() {
    let dir = tempfile::tempdir().unwrap();
    let at = dir.path().join("a");
    fs::write(&at, "abc").unwrap();
    let (mut library, changes) = open(dir.path(), Vec::new());
    let [ShareChange::Shared(shared, _)] = &changes[..] else { panic!("{changes:?}") };
    assert!(shared.open().is_ok());
    fs::write(&at, "abcd").unwrap();
    assert!(matches!(shared.open(), Err(StoreError::Changed)));
    let changes = library.rescan();
    assert!(matches!(&changes[..], [ShareChange::Shared(new, _)] if new.info.size == 4));
    fs::remove_file(&at).unwrap();
    assert!(matches!(library.rescan()[..], [ShareChange::Gone(FileIndex(0))]));
    assert!(library.rescan().is_empty());
}

#[test]
fn a_folder_that_is_not_there_is_a_clear_error() {
    let error =
        Library::open(&["/nowhere/at/all".into()], &[], (Vec::new(), Keys::Paths)).unwrap_err();
    assert!(error.to_string().starts_with("cannot share /nowhere/at/all: "), "{error}");
}

#[test]
fn a_single_file_can_be_shared_without_its_neighbours() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a"), "abc").unwrap();
    fs::write(dir.path().join("b"), "abc").unwrap();
    let (library, changes) =
        Library::open(&[dir.path().join("a")], &[], (Vec::new(), Keys::Paths)).unwrap();
    assert_eq!(names(&changes), BTreeSet::from([(0, "a".into())]));
    assert_eq!(library.status().lock().unwrap().bytes, 3);
}

#[test]
fn what_is_added_is_shared_until_it_is_taken_away() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
    for folder in ["one", "two"] {
        fs::create_dir(at(folder)).unwrap();
        fs::write(at(folder).join("song"), "abc").unwrap();
    }
    let (mut library, _) = open(&at("one"), Vec::new());
    assert_eq!(library.share(&at("two")).unwrap(), ShareOutcome::Kept);
    assert_eq!(library.share(&at("one/../two")).unwrap(), ShareOutcome::AsBefore);
    assert_eq!(names(&library.rescan()), BTreeSet::from([(1, "two/song".into())]));
    assert!(library.share(&at("three")).unwrap_err().to_string().starts_with("cannot share"));

    // An added share that is missing at the next start may come back.
    fs::rename(at("two"), at("away")).unwrap();
    let (mut library, changes) =
        Library::open(&[at("one")], &[at("two")], (Vec::new(), Keys::Paths)).unwrap();
    let warnings = library.status().lock().unwrap().warnings.clone();
    assert!(changes.len() == 1 && warnings[0].contains("/two: "), "{warnings:?}");
    fs::rename(at("away"), at("two")).unwrap();
    assert_eq!(names(&library.rescan()), BTreeSet::from([(1, "two/song".into())]));

    assert_eq!(library.unshare(&at("two")).unwrap(), (at("two"), ShareOutcome::Kept));
    assert!(matches!(library.rescan()[..], [ShareChange::Gone(FileIndex(1))]));
    assert_eq!(library.unshare(&at("one")).unwrap(), (at("one"), ShareOutcome::UntilRestart));
    assert!(matches!(library.rescan()[..], [ShareChange::Gone(FileIndex(0))]));
    let why = library.unshare(&at("one")).unwrap_err().to_string();
    assert!(why.ends_with("/one is not shared"), "{why}");
}

#[test]
fn links_that_lead_out_are_named_for_what_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("pub")).unwrap();
    fs::write(at("secret"), "secret").unwrap();
    symlink(at("secret"), at("pub/out")).unwrap();
    symlink("nowhere", at("pub/void")).unwrap();
    fs::write(at("pub/inside"), "two names, both here").unwrap();
    fs::hard_link(at("pub/inside"), at("pub/inside too")).unwrap();
    let warnings = || {
        let (library, _) = Library::open(&[at("pub")], &[], (Vec::new(), Keys::Paths)).unwrap();
        library.status().lock().unwrap().warnings.clone()
    };
    let said = warnings();
    assert!(said[0].ends_with("pub/out is not shared: it is a link that leads out of the folder"));
    assert!(said[1].ends_with("pub/void is not shared: it is a link to nothing"));
    assert_eq!(said.len(), 2, "{said:?}");
    fs::hard_link(at("pub/inside"), at("elsewhere")).unwrap();
    let said = warnings();
    assert!(said[2].starts_with("1 file has a name outside of what is shared, too"), "{said:?}");
}

/// The events of a change name paths; what is found there is what a whole scan finds.
#[test]
fn what_changed_is_found_where_it_changed() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
    for folder in ["a/deep", "b"] {
        fs::create_dir_all(at(folder)).unwrap();
    }
    for name in ["a/one", "a/deep/two", "b/three"] {
        fs::write(at(name), name).unwrap();
    }
    let (mut library, _) = open(dir.path(), Vec::new());
    let mut look = |paths: &[&str]| {
        let paths = paths.iter().map(|name| at(name)).collect();
        let changes = library.look_at(&paths);
        let missed = library.rescan();
        assert!(missed.is_empty(), "{missed:?}");
        let gone = changes.iter().filter(|c| matches!(c, ShareChange::Gone(_))).count();
        (names(&changes).len(), gone, library.status().lock().unwrap().files)
    };
    assert_eq!(look(&["a", "b/three"]), (0, 0, 3), "nothing changed");
    fs::write(at("b/four"), "4").unwrap();
    fs::write(at("b/.hidden"), "no").unwrap();
    assert_eq!(look(&["b/four", "b/.hidden"]), (1, 0, 4));
    fs::rename(at("a"), at("c")).unwrap();
    assert_eq!(look(&["a", "c"]), (2, 2, 4), "a folder has another name");
    fs::rename(at("c/one"), at("b/one")).unwrap();
    fs::remove_dir_all(at("c")).unwrap();
    assert_eq!(look(&["b/one", "c", "c/deep", "c/deep/two", "c/one"]), (1, 2, 3));
    fs::write(at("b/one"), "longer than before").unwrap();
    assert_eq!(look(&["b/one"]), (1, 0, 3));
    fs::hard_link(at("b/one"), at("link")).unwrap();
    assert_eq!(look(&["link"]), (1, 0, 4));
    assert_eq!(look(&["../elsewhere", "nothing/here"]), (0, 0, 4), "not shared");
}

#[test]
fn a_file_with_another_path_is_not_hashed_again() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().canonicalize().unwrap().join(name);
    fs::create_dir(at("album")).unwrap();
    fs::write(at("album/song"), "la").unwrap();
    let (mut library, _) = open(dir.path(), Vec::new());
    let Some(ShareChange::Shared(song, row)) = library.hash(&at("album/song"), |_| true) else {
        panic!("not hashed")
    };
    if row.identity.is_none() {
        return; // This file system does not tell when a file was made.
    }
    let hashed = |changes: &[ShareChange]| match changes {
        [ShareChange::Shared(file, _), ..] => file.info.sha1,
        _ => panic!("{changes:?}"),
    };
    fs::rename(at("album"), at("renamed")).unwrap();
    let changes = library.look_at(&BTreeSet::from([at("album"), at("renamed")]));
    let shared: Vec<_> =
        changes.into_iter().filter(|c| matches!(c, ShareChange::Shared(..))).collect();
    assert_eq!(hashed(&shared), song.info.sha1);
    fs::hard_link(at("renamed/song"), at("linked")).unwrap();
    assert_eq!(hashed(&library.look_at(&BTreeSet::from([at("linked")]))), song.info.sha1);
    // While the program did not run.
    fs::remove_file(at("linked")).unwrap();
    fs::rename(at("renamed/song"), at("moved")).unwrap();
    let (again, changes) = open(dir.path(), vec![(at("album/song"), row.clone())]);
    assert_eq!(hashed(&changes), song.info.sha1);
    assert!(again.unhashed().is_empty());
    // Another content, or a copy, is hashed.
    fs::write(at("moved"), "lo").unwrap();
    fs::write(at("copy"), "la").unwrap();
    let (again, _) = open(dir.path(), vec![(at("album/song"), row)]);
    assert_eq!(again.unhashed().len(), 2);
}
