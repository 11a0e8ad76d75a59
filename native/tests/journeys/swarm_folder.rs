//! `swarm serve FOLDER`: a folder for several, and a client that is killed midway goes on.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;

use serde_json::Value;

use crate::program::{Place, Running, complains, noise};
use crate::swarm_program::number;

/// Small files, a large one, an empty one, and an empty folder.
fn course(place: &Place) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> =
        (0..300).map(|n| (format!("course/unit {}/page {n}", n % 7), noise(n * 3))).collect();
    files.push((String::from("course/film"), noise(700_000)));
    fs::create_dir_all(place.path("course/empty")).unwrap();
    for (name, bytes) in &files {
        fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
        fs::write(place.path(name), bytes).unwrap();
    }
    files
}

fn serve(place: &Place, extra: &[&str]) -> (Running, Value) {
    let fixed = ["swarm", "serve", "course/", "--listen", "127.0.0.1:0", "--state", "s", "--json"];
    let mut server = Running::start(place.servent(&[&fixed[..], extra].concat()));
    server.at = server.event("listening")["at"].as_str().unwrap().parse().unwrap();
    let file = server.event("file");
    (server, file)
}

fn get<'a>(url: &'a str, to: &'a str, extra: &[&'a str]) -> Vec<&'a str> {
    let fixed = ["swarm", "get", url, "-o", to, "--state", "clients", "--json"];
    [&fixed[..], &["--listen", "127.0.0.1:0"], extra].concat()
}

fn url(at: SocketAddr) -> String {
    format!("pdtp://{at}/course/")
}

fn assert_same_tree(place: &Place, to: &str, files: &[(String, Vec<u8>)]) {
    for (name, bytes) in files {
        let here = place.path(to).join(name);
        assert!(fs::read(&here).unwrap() == *bytes, "{}", here.display());
        let dated = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
        assert_eq!(dated(&here), dated(&place.path(name)), "{}", here.display());
    }
    assert!(place.path(to).join("course/empty").is_dir());
}

/// What the state folder has of downloads.
fn left(place: &Place) -> usize {
    fs::read_dir(place.path("clients/swarm-get")).map_or(0, Iterator::count)
}

#[test]
fn a_folder_reaches_several_and_one_who_was_killed_goes_on() {
    let place = Place::new();
    let files = course(&place);
    let (mut server, file) = serve(&place, &["--chunk", "16384", "--upload-rate", "400k"]);
    assert_eq!((number(&file, "files"), &file["name"]), (301, &"course/".into()));
    let url = url(server.at);
    let stays = ["--seed-for", "60s"];
    let start = |to, extra: &[&'static str]| Running::start(place.servent(&get(&url, to, extra)));
    let mut clients: Vec<Running> = ["a", "b", "c"].map(|to| start(to, &stays)).into();
    let mut dies = start("d", &["--download-rate", "100k"]);
    let held = loop {
        let held = number(&dies.event("progress"), "held");
        if held >= 3 {
            break held;
        }
    };
    dies.kill();
    assert!(!place.path("d/course").exists(), "nothing has its name before it is verified");
    clients.push(start("d", &stays));
    let done: Vec<Value> = clients.iter_mut().map(|client| client.event("done")).collect();
    for (to, fact) in ["a", "b", "c", "d"].iter().zip(&done) {
        assert_same_tree(&place, to, &files);
        assert_eq!(number(fact, "files"), 301, "{fact}");
    }
    assert!(number(&done[3], "resumed") >= held, "{held} were there: {}", done[3]);
    let taken: u64 = done.iter().map(|fact| number(fact, "from_source")).sum();
    let size = number(&file, "size");
    assert!(taken < 3 * size, "the source sent {taken} bytes for {size}");
    for client in &mut clients {
        client.signal("INT");
        assert_eq!(client.ended().code(), Some(0));
    }
    assert_eq!(left(&place), 0, "what the folder came in is removed");
    server.signal("INT");
    assert_eq!(server.ended().code(), Some(0));
    assert!(!place.path("s/swarm/folder-0").exists());
}

#[test]
fn a_folder_that_could_not_be_written_is_not_fetched_again() {
    let place = Place::new();
    let files = course(&place);
    let (server, _) = serve(&place, &[]);
    let url = url(server.at);
    fs::create_dir(place.path("to")).unwrap();
    fs::write(place.path("to/course"), "in the way").unwrap();
    complains(&place.run(&get(&url, "to", &[])), 4, "files cannot be written here:");
    assert_eq!(fs::read(place.path("to/course")).unwrap(), b"in the way");
    server.kill();
    fs::remove_file(place.path("to/course")).unwrap();
    let again = place.run(&get(&url, "to", &[]));
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    assert_same_tree(&place, "to", &files);
    assert_eq!(left(&place), 0);
}

#[test]
fn a_name_that_is_not_free_concerns_its_file_alone() {
    let place = Place::new();
    let mut files = course(&place);
    let (server, _) = serve(&place, &[]);
    fs::create_dir_all(place.path("to/course")).unwrap();
    fs::write(place.path("to/course/unit 3"), "in the way").unwrap();
    let output = place.run(&get(&url(server.at), "to", &[]));
    complains(&output, 10, "files cannot be written here:");
    complains(&output, 10, "course/unit 3/page 10: at the receiver course/unit 3 is no folder");
    files.retain(|(name, _)| !name.starts_with("course/unit 3/"));
    assert_same_tree(&place, "to", &files);
    server.kill();
    fs::remove_file(place.path("to/course/unit 3")).unwrap();
    assert!(place.run(&get("pdtp://127.0.0.1:1/course/", "to", &[])).status.success());
    assert_eq!(left(&place), 0);
}

#[test]
fn a_folder_has_its_real_path_for_programs_and_its_shown_name_beside_it() {
    let place = Place::new();
    let name = "a \u{202e}b";
    fs::create_dir(place.path(name)).unwrap();
    fs::write(place.path(name).join("f"), "x").unwrap();
    let serving = ["swarm", "serve", name, "--listen", "127.0.0.1:0", "--state", "s", "--json"];
    let mut server = Running::start(place.servent(&serving));
    let at = server.event("listening")["at"].as_str().unwrap().to_owned();
    server.event("file");
    let url = format!("pdtp://{at}/a%20%E2%80%AEb/");
    let mut client = Running::start(place.servent(&get(&url, "to", &[])));
    let done = client.event("done");
    let path = Path::new(done["path"].as_str().unwrap());
    assert_eq!(fs::read(path.join("f")).unwrap(), b"x", "{done}");
    assert!(!done["name"].as_str().unwrap().contains('\u{202e}'), "{done}");
}

#[test]
fn a_folder_is_asked_for_by_its_name() {
    let place = Place::new();
    course(&place);
    let (server, _) = serve(&place, &[]);
    let without = url(server.at).trim_end_matches('/').to_owned();
    complains(&place.run(&get(&without, "to", &[])), 9, "compare the URL");
    let a_file = place.path("a file");
    fs::write(&a_file, "").unwrap();
    complains(&place.run(&get(&url(server.at), "a file", &[])), 2, "is a folder");
    let proxied = ["swarm", "serve", "course", "--proxy", "127.0.0.1:9", "--state", "other"];
    complains(&place.run(&proxied), 2, "without --proxy");
}
