//! A folder sent from one machine to another, and sent again after either
//! side was killed: its tree arrives, and only what is missing travels.

use std::path::Path;
use std::process::Stdio;

use serde_json::Value;

use crate::kills::Moments;
use crate::program::{Place, Running, assert_same, finish, free_port, noise};

/// Clocks that run fast, so that a receiver that is gone shows within seconds.
const FAST: [&str; 2] = ["--set", "unicast.unreachable=3s"];
const BIG: usize = 30_000_000;
const KILLS: u32 = 5;

/// A folder of small files, empty ones, and a big one.
fn album(place: &Place) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> =
        (0..40).map(|n| (format!("album/{}/song {n}.ogg", n % 3), noise(n * 500))).collect();
    files.push((String::from("album/film"), noise(BIG)));
    std::fs::create_dir_all(place.path("album/empty")).unwrap();
    for (name, bytes) in &files {
        std::fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
        std::fs::write(place.path(name), bytes).unwrap();
    }
    files
}

/// Bytes and number of all files below a folder.
fn weigh(folder: &Path) -> (u64, usize) {
    let Ok(inside) = std::fs::read_dir(folder) else { return (0, 0) };
    inside.fold((0, 0), |(bytes, files), entry| {
        let entry = entry.unwrap();
        let (more, others) = match entry.metadata() {
            Ok(about) if about.is_dir() => weigh(&entry.path()),
            Ok(about) => (about.len(), 1),
            Err(_) => (0, 0), // It has got its name meanwhile.
        };
        (bytes + more, files + others)
    })
}

fn receiver(place: &Place, at: &str) -> Running {
    let receive = ["receive", "--open", "--yes", "--json", "--listen", at, "-o", "in/"];
    let mut running = Running::start(place.servent(&[&receive[..], &FAST].concat()));
    running.event("listening");
    running
}

/// Sends everything and says how much of it had to be carried.
fn send(place: &Place, at: &str) -> Result<u64, String> {
    let send = ["send", "--open", "--wait=0s", at, "album", "--json"];
    let mut command = place.servent(&[&send[..], &FAST].concat());
    let output = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    if !output.status.success() {
        return Err(String::from_utf8(output.stderr).unwrap());
    }
    let said = String::from_utf8(output.stdout).unwrap();
    let last: Value = serde_json::from_str(said.lines().last().unwrap()).unwrap();
    assert_eq!(last["event"], "sent_all", "{said}");
    Ok(last["carried"].as_u64().unwrap())
}

/// The last sending, after which everything is there and nothing else.
fn arrives(place: &Place, at: &str, files: &[(String, Vec<u8>)]) {
    let all: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    let (before, _) = weigh(&place.path("in"));
    let carried = send(place, at).unwrap();
    assert!(carried + before <= all, "{carried} bytes travelled, {before} of {all} were there");
    for (name, bytes) in files {
        assert_same(&place.path("in").join(name), bytes);
    }
    assert!(place.path("in/album/empty").is_dir());
    assert_eq!(weigh(&place.path("in")), (all, files.len()), "nothing else is left");
    assert_eq!(send(place, at), Ok(0), "a second time nothing travels");
}

#[test]
fn a_folder_whose_sender_is_killed_is_gone_on_with() {
    let place = Place::new();
    let files = album(&place);
    let at = format!("127.0.0.1:{}", free_port());
    let _receiver = receiver(&place, &at);
    let mut moments = Moments::drawn();
    for _ in 0..KILLS {
        let sender = Running::start(place.servent(&["send", "--open", &at, "album", "--json"]));
        moments.wait(400);
        sender.kill();
    }
    arrives(&place, &at, &files);
}

#[test]
fn a_folder_whose_receiver_is_killed_is_gone_on_with() {
    let place = Place::new();
    let files = album(&place);
    let at = format!("127.0.0.1:{}", free_port());
    let mut moments = Moments::drawn();
    for _ in 0..KILLS {
        let receiver = receiver(&place, &at);
        std::thread::scope(|scope| {
            let sender = scope.spawn(|| send(&place, &at));
            moments.wait(400);
            receiver.kill();
            if let Err(said) = sender.join().unwrap() {
                let ends = ["is gone", "no receiver answers", "no receiver listens"];
                assert!(ends.iter().any(|end| said.contains(end)), "{said}");
            }
        });
    }
    let _receiver = receiver(&place, &at);
    arrives(&place, &at, &files);
}

#[test]
fn another_file_of_the_same_name_is_kept_beside_the_first() {
    let place = Place::new();
    let at = format!("127.0.0.1:{}", free_port());
    let _receiver = receiver(&place, &at);
    let first = noise(50_000);
    let mut second = first.clone();
    second[40_000] ^= 1; // As long as the first.
    std::fs::create_dir_all(place.path("in/album")).unwrap();
    std::fs::create_dir_all(place.path("album")).unwrap();
    std::fs::write(place.path("in/album/a.txt"), &first).unwrap();
    std::fs::write(place.path("in/album/b.txt.part"), &first[..30_000]).unwrap();
    std::fs::write(place.path("album/a.txt"), &second).unwrap();
    std::fs::write(place.path("album/b.txt"), &second).unwrap();
    assert_eq!(send(&place, &at), Ok(70_000), "of one the beginning was there");
    assert_same(&place.path("in/album/a.txt"), &first);
    assert_same(&place.path("in/album/a (2).txt"), &second);
    assert_same(&place.path("in/album/b.txt"), &second);
}
