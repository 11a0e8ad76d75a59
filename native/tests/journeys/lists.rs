//! `get` of a list, into a folder, and to standard output.

use std::io::{Read as _, Write as _};
use std::process::Stdio;

use serde_json::Value;

use crate::program::{Place, Running, assert_same, complains, finish, noise, until};

/// Shares files of these names and sizes; their names and bytes.
fn share(
    place: &Place,
    files: impl IntoIterator<Item = (String, usize)>,
) -> Vec<(String, Vec<u8>)> {
    let shared = |(name, size): (String, usize)| {
        let (_, bytes) = place.share(&name, size);
        (name, bytes)
    };
    files.into_iter().map(shared).collect()
}

/// The same of so many files of different lengths.
fn several(place: &Place, count: usize) -> Vec<(String, Vec<u8>)> {
    share(place, (0..count).map(|n| (format!("file {n:02}"), 10_000 + 7 * n)))
}

fn list(at: std::net::SocketAddr, files: &[(String, Vec<u8>)]) -> String {
    let line = |(n, (name, _)): (usize, &(String, _))| {
        format!("http://{at}/get/{n}/{}\n", name.replace(' ', "%20"))
    };
    let lines: String = files.iter().enumerate().map(line).collect();
    format!("# what I want\n\n{lines}")
}

#[test]
fn a_list_is_downloaded_a_few_at_a_time() {
    let place = Place::new();
    let files = several(&place, 12);
    let running = place.sharing(&[]);
    std::fs::write(place.path("list.txt"), list(running.at, &files)).unwrap();
    let get = ["get", "-i", "list.txt", "-o", "here/", "--parallel", "3", "--state", "get"];
    let output = place.run(&get);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for (name, bytes) in &files {
        assert_same(&place.path("here").join(name), bytes);
    }
    assert!(said.lines().any(|line| line.starts_with("12 files, 118 KiB at ")), "{said}");

    // The same list from a pipe: nothing is left to do but one.
    std::fs::remove_file(place.path("here/file 07")).unwrap();
    let mut command = place.servent(&["get", "-i", "-", "-o", "here/", "--state", "get"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut get = command.spawn().unwrap();
    get.stdin.take().unwrap().write_all(list(running.at, &files).as_bytes()).unwrap();
    let output = finish(get);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    assert!(said.contains("1 file, ") && said.contains("; 11 there already"), "{said}");
    assert_same(&place.path("here/file 07"), &files[7].1);
}

/// Stopped in the middle, it goes on where it was, and a file that has come by
/// another way is left alone.
#[test]
fn a_list_that_was_stopped_goes_on_where_it_was() {
    let place = Place::new();
    let files = share(&place, (0..3).map(|n| (format!("file {n}"), 400_000 + 7 * n)));
    let running = place.sharing(&[]);
    std::fs::write(place.path("list.txt"), list(running.at, &files)).unwrap();
    let get = ["get", "-i", "list.txt", "-o", "here/", "--state", "get", "--json"];
    let slowly = [&get[..], &["--limit-rate", "50k"]].concat();
    let mut first = crate::program::Running::start(place.servent(&slowly));
    let has = |name: &str| {
        let part = place.path("here").join(format!("{name}.part"));
        std::fs::metadata(part).is_ok_and(|part| part.len() > 0)
    };
    crate::program::until("two of them have begun", || has("file 0") && has("file 1"));
    complains(&place.run(&get), 7, "is already running, as process ");
    first.signal("INT");
    first.ended();
    let parts = || {
        let all = std::fs::read_dir(place.path("here")).unwrap();
        all.filter(|entry| entry.as_ref().unwrap().path().extension().is_some()).count()
    };
    assert!(parts() >= 2);

    std::fs::write(place.path("here/file 0"), &files[0].1).unwrap();
    let output = place.run(&get);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{said}");
    for (name, bytes) in &files {
        assert_same(&place.path("here").join(name), bytes);
    }
    assert_eq!(parts(), 0, "{said}");
    assert!(!place.path("get/get").read_dir().unwrap().any(|_| true));
}

#[test]
fn quiet_is_quiet() {
    let place = Place::new();
    let files = several(&place, 3);
    let running = place.sharing(&[]);
    std::fs::write(place.path("list.txt"), list(running.at, &files)).unwrap();
    let output = place.run(&["get", "-q", "-i", "list.txt", "-o", "here/", "--state", "get"]);
    assert!(output.status.success());
    assert_eq!((&output.stdout[..], &output.stderr[..]), (&b""[..], &b""[..]));
    assert_same(&place.path("here/file 02"), &files[2].1);
}

#[test]
fn the_rate_of_a_command_is_that_of_all_its_downloads_together() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("shared")).unwrap();
    let files: Vec<_> = ["a", "b"].iter().map(|name| (name.to_string(), noise(200_000))).collect();
    for (name, bytes) in &files {
        std::fs::write(place.path("shared").join(name), bytes).unwrap();
    }
    let running = place.sharing(&[]);
    std::fs::write(place.path("list.txt"), list(running.at, &files)).unwrap();
    let get = ["get", "-i", "list.txt", "-o", "here/", "--limit-rate", "200k", "--json"];
    let output = place.run(&[&get[..], &["--state", "get"]].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let total = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let total = total.into_iter().find(|fact| fact["event"] == "total").expect(&said);
    // With what may be caught up on, which is a fifth of a second.
    assert!(total["files"] == 2 && total["rate"].as_u64().unwrap() < 240_000, "{total}");
}

/// The bytes that an earlier command left did not come now.
#[test]
fn the_rate_of_a_command_that_goes_on_is_that_of_what_comes() {
    let place = Place::new();
    let sizes = [("a", 7_000_000), ("b", 7_000_001)];
    let files = share(&place, sizes.map(|(name, size)| (name.to_owned(), size)));
    let running = place.sharing(&[]);
    std::fs::write(place.path("list.txt"), list(running.at, &files)).unwrap();
    let get = ["get", "-i", "list.txt", "-o", "here/", "--limit-rate", "4M", "--json"];
    let get = [&get[..], &["--state", "get"]].concat();
    let mut first = Running::start(place.servent(&get));
    let have = |line: &str| {
        let fact: Value = serde_json::from_str(line).ok()?;
        fact["download"]["have"].as_u64()
    };
    first.line(|line| have(line).is_some_and(|have| have > 5_500_000));
    first.signal("INT");
    assert!(!first.end().success());
    let output = place.run(&get);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let mut facts = said.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let total = facts.find(|fact| fact["event"] == "total").expect(&said);
    assert!(total["files"] == 2 && total["bytes"] == 14_000_001, "{total}");
    assert!(total["rate"].as_u64().unwrap() < 6_000_000, "{total}");
}

#[test]
fn what_is_missing_of_a_list_shows_in_the_exit_code() {
    let place = Place::new();
    let files = several(&place, 2);
    let running = place.sharing(&[]);
    let text = format!("{}http://{}/get/9/gone\n", list(running.at, &files), running.at);
    std::fs::write(place.path("list.txt"), text).unwrap();
    let output = place.run(&["get", "-i", "list.txt", "-o", "here/", "--state", "get"]);
    complains(&output, 10, "1 of 3 downloads failed");
    assert_same(&place.path("here/file 01"), &files[1].1);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("2 files, ") && said.contains("; 1 failed"), "{said}");
    complains(&place.run(&["get", "-i", "nowhere.txt"]), 4, "nowhere.txt");
}

#[test]
fn a_file_goes_to_a_pipe_in_order_and_leaves_nothing_behind() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 3_000_000);
    let running = place.sharing(&[]);
    let url = format!("http://{}/get/0/film", running.at);
    let get = ["get", &url, "-o", "-", "--state", "get"];
    let output = place.run(&get);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout == bytes, "{} bytes", output.stdout.len());
    let left: Vec<_> = std::fs::read_dir(place.path("get/get")).unwrap().collect();
    assert!(left.is_empty(), "{left:?}");
    complains(&place.run(&[&get[..], &["--json"]].concat()), 2, "both want standard output");
    complains(&place.run(&[&get[..], &["http://127.0.0.1:1/b"]].concat()), 2, "is no folder");
}

#[test]
fn a_device_takes_a_download() {
    let place = Place::new();
    place.share("film", 300_000);
    let running = place.sharing(&[]);
    let url = format!("http://{}/get/0/film", running.at);
    let output = place.run(&["get", &url, "-o", "/dev/null", "--state", "get"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.starts_with("/dev/null 293 KiB"), "{said}");
}

#[test]
fn a_reader_of_the_beginning_only_ends_the_download_well() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 4_000_000);
    let running = place.sharing(&["--set", "upload_rate=1000000"]);
    let url = format!("http://{}/get/0/film", running.at);
    let mut command = place.servent(&["get", &url, "-o", "-", "--state", "get"]);
    let mut get = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = get.stdout.take().unwrap();
    let mut beginning = vec![0; 100_000];
    pipe.read_exact(&mut beginning).unwrap();
    assert!(beginning == bytes[..100_000], "not the beginning");
    drop(pipe);
    let mut nothing = std::process::Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
    get.stdout = nothing.stdout.take();
    nothing.wait().unwrap();
    let output = finish(get);
    assert!(output.status.success(), "it has all that it wants: {output:?}");
    assert!(!String::from_utf8_lossy(&output.stderr).contains("servent: "), "{output:?}");
}

/// What is there is the same as the server's, or another version of it: the server is
/// asked, and nothing is overwritten.
#[test]
fn the_same_get_of_a_file_that_is_there_ends_well() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 100_000);
    let mut running = place.sharing(&[]);
    let url = format!("http://{}/get/0/film", running.at);
    let get = || place.run(&["get", &url, "-o", "copy", "--state", "get"]);
    assert_eq!(get().status.code(), Some(0));
    let again = get();
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert!(again.status.success() && said.contains("copy is there, the same"), "{said}");
    std::fs::write(place.path("copy"), &bytes[1..]).unwrap();
    complains(&get(), 4, "copy is there already, and the server has another version");
    assert_same(&place.path("copy"), &bytes[1..]);
    running.signal("INT");
    running.ended();
    complains(&get(), 4, "copy is there already");
    let beside = |name: &str| place.path(name).exists();
    assert!(!beside("copy.new~") && !beside("copy.new~.part"));
}

#[test]
fn the_same_get_twice_is_told() {
    let place = Place::new();
    place.share("film", 4_000_000);
    let running = place.sharing(&["--set", "upload_rate=200000"]);
    let url = format!("http://{}/get/0/film", running.at);
    let get = ["get", &url, "-o", "film", "--state", "get", "--json"];
    let mut first = crate::program::Running::start(place.servent(&get));
    first.event("progress");
    let second = place.run(&get);
    complains(&second, 7, "the download of ");
    complains(&second, 7, &format!("is already running, as process {}", first.pid()));
    first.signal("INT");
    first.ended();
}

/// Two states know nothing of each other, but the partial file is one.
#[test]
fn two_states_do_not_write_to_one_file() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 1_500_000);
    let running = place.sharing(&["--set", "upload_rate=500000"]);
    let url = format!("http://{}/get/0/film", running.at);
    let get = |state: &str| place.servent(&["get", &url, "-o", "copy", "--state", state, "-q"]);
    let first = Running::start(get("first"));
    until("it has begun", || place.path("copy.part").exists());
    let mut second = get("second");
    let second = second.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    complains(&finish(second), 7, "copy is already running");
    assert_eq!(first.end().code(), Some(0));
    assert_same(&place.path("copy"), &bytes);
    assert!(!place.path("copy (2)").exists());
}

/// Two files of one name: the one that is there is judged as that of a single `get`.
#[test]
fn a_list_misses_no_file_whose_name_another_one_has() {
    let place = Place::new();
    let files = [
        ("shared/a/file", noise(70_000)),
        ("shared/b/file", noise(70_001)),
        ("shared/c", noise(9)),
    ];
    for (name, bytes) in &files {
        std::fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
        std::fs::write(place.path(name), bytes).unwrap();
    }
    let running = place.sharing(&[]);
    let url = |name: &str| format!("http://{}/{name}", running.at);
    let get = |urls: &[&str]| {
        let urls: Vec<String> = urls.iter().map(|name| url(name)).collect();
        let urls: Vec<&str> = urls.iter().map(String::as_str).collect();
        place.run(&[&["get", "-o", "here/", "--state", "get"], &urls[..]].concat())
    };
    assert!(get(&["shared/a/file"]).status.success());
    let output = get(&["shared/b/file", "shared/c"]);
    complains(&output, 10, "file is there already, and the server has another version");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("1 file, 9 B") && said.contains("; 1 failed: file"), "{said}");
    assert_same(&place.path("here/file"), &files[0].1);
    assert_same(&place.path("here/c"), &files[2].1);

    let output = get(&["shared/a/file", "shared/c"]);
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success() && said.contains("; 2 there already"), "{said}");
    let names = std::fs::read_dir(place.path("here")).unwrap().count();
    assert_eq!(names, 2, "nothing is left of what was compared");
}
