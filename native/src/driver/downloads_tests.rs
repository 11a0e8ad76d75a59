use servent_core::node::Get;

use super::*;

fn fetch_row(have: Vec<(u64, u64)>) -> PartRow {
    let get = Get { name: "a.bin".into(), sha1: None, sources: Vec::new() };
    PartRow { size: Some(100), have, ..PartRow::new(FetchId(1), get.into()) }
}

fn part(name: &str, whole: bool) -> (FetchId, PartName) {
    (FetchId(1), PartName { name: name.into(), whole })
}

fn empty(dir: &Path) -> Downloads {
    Downloads::restore((dir, false), Durability::Process, Vec::new(), &mut []).0
}

#[test]
fn slashes_make_folders_only_where_that_is_asked_for_and_never_lead_out() {
    for (name, flat, tree) in [
        ("a/b.ogg", "a_b.ogg", "a/b.ogg"),
        ("../x", ".._x", "download/x"),
        ("/etc//passwd", "_etc__passwd", "etc/passwd"),
        ("a/..", "a_..", "a/download"),
        ("a\\..\\b/c", "a_.._b_c", "a_.._b/c"),
        ("", "download", "download"),
    ] {
        assert_eq!((&safe_name(name)[..], &safe_path(name)[..]), (flat, tree), "{name}");
    }
    let dir = tempfile::tempdir().unwrap();
    let (mut downloads, _) =
        Downloads::restore((dir.path(), true), Durability::Process, Vec::new(), &mut []);
    fs::create_dir_all(dir.path().join("x.y/z")).unwrap();
    fs::write(dir.path().join("x.y/z/a"), "mine").unwrap();
    downloads.allocate(FetchId(1), "x.y/z/a", Some(5)).unwrap();
    downloads.part(FetchId(1)).unwrap().write_at(b"hello", 0).unwrap();
    downloads.complete(FetchId(1)).unwrap();
    assert_eq!(fs::read(dir.path().join("x.y/z/a (2)")).unwrap(), b"hello");
}

#[test]
fn a_download_gets_its_name_when_it_is_whole_and_overwrites_nothing() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.bin"), "mine").unwrap();
    fs::write(dir.path().join("a.bin.part"), "somebody's").unwrap();
    let mut downloads = empty(dir.path());
    downloads.allocate(FetchId(1), "a.bin", Some(5)).unwrap();
    downloads.part(FetchId(1)).unwrap().write_at(b"hello", 0).unwrap();
    downloads.complete(FetchId(1)).unwrap();
    let at = downloads.whole().lock().unwrap()[&FetchId(1)].clone();
    assert_eq!(at, dir.path().join("a (2).bin"));
    assert_eq!(fs::read(at).unwrap(), b"hello");
    assert_eq!(fs::read(dir.path().join("a.bin")).unwrap(), b"mine");
    assert_eq!(fs::read(dir.path().join("a.bin.part")).unwrap(), b"somebody's");
}

#[test]
fn a_part_file_of_another_program_does_not_change_the_name_of_the_whole() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.bin.part"), "somebody's").unwrap();
    let mut downloads = empty(dir.path());
    downloads.allocate(FetchId(1), "a.bin", Some(5)).unwrap();
    downloads.part(FetchId(1)).unwrap().write_at(b"hello", 0).unwrap();
    let saved = downloads.completing(FetchId(1)).unwrap();
    let StoreChange::Part(fetch, part) = saved else { panic!("{saved:?}") };
    assert_eq!((part.name.as_str(), part.whole), ("a (2).bin", true));
    // A crash now: the next start completes the rename, to the same name.
    drop(downloads);
    let parts = vec![(fetch, part)];
    Downloads::restore(
        (dir.path(), false),
        Durability::Process,
        parts,
        &mut [fetch_row(Vec::new())],
    );
    assert_eq!(fs::read(dir.path().join("a.bin")).unwrap(), b"hello");
    assert_eq!(fs::read(dir.path().join("a.bin.part")).unwrap(), b"somebody's");
}

#[test]
fn a_download_that_rests_goes_on_in_the_same_file() {
    let dir = tempfile::tempdir().unwrap();
    let mut downloads = empty(dir.path());
    downloads.allocate(FetchId(1), "a.bin", Some(5)).unwrap();
    downloads.part(FetchId(1)).unwrap().write_at(b"hel", 0).unwrap();
    downloads.rest(FetchId(1));
    assert_eq!(downloads.part(FetchId(1)).unwrap_err(), StoreError::Failed);
    // One that received nothing leaves no file, and may still go on.
    downloads.allocate(FetchId(2), "b.bin", Some(5)).unwrap();
    downloads.rest_without(FetchId(2));
    assert!(!dir.path().join("b.bin.part").exists());
    assert!(downloads.allocate(FetchId(2), "b.bin", Some(5)).is_none(), "it has its name");
    downloads.part(FetchId(2)).unwrap().write_at(b"x", 0).unwrap();
    downloads.forget(FetchId(2)).unwrap();
    assert!(downloads.allocate(FetchId(1), "a.bin", Some(5)).is_none(), "it has its name");
    downloads.part(FetchId(1)).unwrap().write_at(b"lo", 3).unwrap();
    downloads.complete(FetchId(1)).unwrap();
    assert_eq!(fs::read(dir.path().join("a.bin")).unwrap(), b"hello");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_crash_before_the_name_is_remembered_or_right_after_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.bin.part"), "somebody's").unwrap();
    let mut downloads = empty(dir.path());
    let Some(StoreChange::Part(fetch, named)) = downloads.naming(FetchId(1), "a.bin") else {
        panic!("nothing is remembered");
    };
    assert!(downloads.naming(FetchId(1), "a.bin").is_none(), "once is enough");
    let Some(StoreChange::Part(_, other)) = downloads.naming(FetchId(2), "a.bin") else {
        panic!("nothing is remembered");
    };
    assert_eq!((&named.name[..], &other.name[..]), ("a (2).bin", "a (3).bin"));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1, "nothing is made before");
    // Only the name was saved: the next start continues with it.
    let (parts, mut rows) = (vec![(fetch, named)], [fetch_row(Vec::new())]);
    let (mut downloads, _) =
        Downloads::restore((dir.path(), false), Durability::Process, parts, &mut rows);
    assert!(downloads.allocate(fetch, "a.bin", Some(5)).is_none(), "it is saved");
    downloads.part(fetch).unwrap().write_at(b"hello", 0).unwrap();
    downloads.complete(fetch).unwrap();
    assert_eq!(fs::read(dir.path().join("a.bin")).unwrap(), b"hello");
    assert_eq!(fs::read(dir.path().join("a.bin.part")).unwrap(), b"somebody's");
}

#[test]
fn a_renaming_interrupted_by_a_crash_is_done_at_the_next_start() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.bin.part"), "whole").unwrap();
    let parts = vec![part("a.bin", true)];
    let (_, changes) = Downloads::restore((dir.path(), false), Durability::Process, parts, &mut []);
    assert!(matches!(changes[..], [StoreChange::PartGone(FetchId(1))]));
    assert_eq!(fs::read(dir.path().join("a.bin")).unwrap(), b"whole");
}

#[test]
fn ranges_whose_bytes_are_gone_are_not_believed() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("a.bin.part"), [7; 50]).unwrap();
    let mut rows = [fetch_row(vec![(0, 10), (40, 60), (70, 80)])];
    Downloads::restore(
        (dir.path(), false),
        Durability::Process,
        vec![part("a.bin", false)],
        &mut rows,
    );
    assert_eq!(rows[0].have, [(0, 10), (40, 50)]);
    fs::remove_file(dir.path().join("a.bin.part")).unwrap();
    Downloads::restore(
        (dir.path(), false),
        Durability::Process,
        vec![part("a.bin", false)],
        &mut rows,
    );
    assert_eq!(rows[0].have, []);
}

#[test]
fn a_strangers_name_stays_one_component() {
    for (name, safe) in [
        ("../../etc/passwd", ".._.._etc_passwd"),
        ("..", "download"),
        ("", "download"),
        ("a\0b\nc", "a_b_c"),
        ("ok name.tar.gz", "ok name.tar.gz"),
    ] {
        assert_eq!(safe_name(name), safe);
    }
    assert!(safe_name(&"ä".repeat(500)).len() <= 255);
}

#[test]
fn a_link_in_place_of_the_part_is_not_followed() {
    let dir = tempfile::tempdir().unwrap();
    let victim = dir.path().join("victim");
    fs::write(&victim, "precious").unwrap();
    std::os::unix::fs::symlink(&victim, dir.path().join("a.bin.part")).unwrap();
    let mut rows = [fetch_row(Vec::new())];
    let parts = vec![part("a.bin", false)];
    let (mut downloads, _) =
        Downloads::restore((dir.path(), false), Durability::Process, parts, &mut rows);
    downloads.allocate(FetchId(1), "a.bin", None);
    assert!(downloads.part(FetchId(1)).is_err());
    assert_eq!(fs::read(victim).unwrap(), b"precious");
}

#[test]
fn a_full_disk_is_told_apart() {
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let part = PartFile::new(full, Durability::Process);
    assert_eq!(part.write_at(b"x", 0), Err(StoreError::Full));
}

#[test]
fn a_file_larger_than_the_disk_is_refused_before_it_begins() {
    let dir = tempfile::tempdir().unwrap();
    let mut downloads = empty(dir.path());
    downloads.allocate(FetchId(1), "a.bin", Some(1 << 20)).unwrap();
    assert!(downloads.part(FetchId(1)).is_ok());
    downloads.allocate(FetchId(2), "b.bin", Some(1 << 60)).unwrap();
    assert_eq!(downloads.part(FetchId(2)).unwrap_err(), StoreError::Full);
}
