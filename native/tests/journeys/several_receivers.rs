//! `send --to 3`: one code, three receivers, which pass on what they have; one of
//! them is killed and comes again, and so does the sender.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::program::{
    Place, Running, assert_same, complains, finish, free_port, noise, pause, until,
};

const CODE: &str = "ocean-pepper-violin";

/// A folder of a large file, small ones, an empty one, and an empty folder.
fn album(place: &Place, size: usize) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> =
        (0..30).map(|n| (format!("album/{}/song {n}.ogg", n % 3), noise(n * 700))).collect();
    files.push((String::from("album/film"), noise(size)));
    std::fs::create_dir_all(place.path("album/empty")).unwrap();
    for (name, bytes) in &files {
        std::fs::create_dir_all(place.path(name).parent().unwrap()).unwrap();
        std::fs::write(place.path(name), bytes).unwrap();
    }
    files
}

fn sender(place: &Place, receivers: &str, at: &str) -> (Running, String) {
    sending(place, receivers, at, &[])
}

/// One that takes long enough to be ended midway, on a busy machine too.
fn slow_sender(place: &Place, receivers: &str, at: &str) -> (Running, String) {
    sending(place, receivers, at, &["--limit-rate", "500k"])
}

fn sending(place: &Place, receivers: &str, at: &str, more: &[&str]) -> (Running, String) {
    let send = ["send", "--to", receivers, "album", "--json", "--listen", at];
    let mut command = place.servent(&[&send[..], more].concat());
    command.env("SERVENT_CODE", CODE);
    let mut running = Running::start(command);
    let at = running.event("listening")["address"].as_str().unwrap().to_owned();
    (running, at)
}

/// A receiver with state and folder of its own.
fn receiver(place: &Place, name: &str, at: &str, code: &str) -> Command {
    let (state, folder) = (format!("{name}.state"), format!("{name}/"));
    let receive = ["receive", "--from", at, "-o", &folder, "--state", &state, "--json"];
    let mut command = place.servent(&receive);
    command.env("SERVENT_CODE", code);
    command
}

fn same(folder: &Path, files: &[(String, Vec<u8>)]) {
    for (name, bytes) in files {
        assert_same(&folder.join(name), bytes);
    }
    assert!(folder.join("album/empty").is_dir());
}

/// How many parcels a receiver has, whole or not.
fn parcels(place: &Place, name: &str) -> usize {
    let all = std::fs::read_dir(place.path(&format!("{name}.state/parcels"))).unwrap();
    let ours = |name: &OsStr| name != "secret" && !name.as_bytes().starts_with(b"receiver-");
    all.filter(|it| ours(&it.as_ref().unwrap().file_name())).count()
}

fn nothing_stays(place: &Place) {
    let given = place.path(".local/state/servent/parcels");
    for entry in std::fs::read_dir(given).unwrap() {
        assert_eq!(entry.unwrap().file_name(), "secret");
    }
    for name in ["a", "b", "c"].into_iter().filter(|it| place.path(it).exists()) {
        assert_eq!(parcels(place, name), 0, "{name}");
    }
}

#[test]
fn three_receivers_have_it_from_each_other() {
    let place = Place::new();
    let files = album(&place, 6_000_000);
    let (mut sender, at) = sender(&place, "3", "127.0.0.1:0");
    let mut receivers =
        ["a", "b", "c"].map(|name| Running::start(receiver(&place, name, &at, CODE)));
    let mut from_others = 0;
    for receiver in &mut receivers {
        from_others += receiver.event("received_all")["from_others"].as_u64().unwrap();
    }
    let sent = sender.event("sent_all");
    assert_eq!(sender.end().code(), Some(0));
    for receiver in receivers {
        assert_eq!(receiver.end().code(), Some(0), "it was told that all have it");
    }
    for name in ["a", "b", "c"] {
        same(&place.path(name), &files);
    }
    let size: u64 = files.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    assert!(from_others >= size / 2, "they passed on {from_others} of {size} bytes");
    let left = sent["sent"].as_u64().unwrap();
    assert!(left + from_others >= 3 * size, "{left} left the sender");
    assert!(left < 3 * size, "{left} left the sender, of {size} for three");
    nothing_stays(&place);
}

#[test]
fn a_wrong_code_gets_nothing_and_a_fourth_is_not_admitted() {
    let place = Place::new();
    let files = album(&place, 300_000);
    let (mut sender, at) = sender(&place, "1", "127.0.0.1:0");
    let mut wrong = receiver(&place, "x", &at, "ocean-pepper-viola");
    wrong.stdout(Stdio::piped()).stderr(Stdio::piped());
    complains(&finish(wrong.spawn().unwrap()), 9, &format!("the code is not that of {at}"));
    assert_eq!(sender.event("turned_away")["why"], "it does not know the code");
    assert_eq!(std::fs::read_dir(place.path("x")).unwrap().count(), 0);
    assert_eq!(parcels(&place, "x"), 0);
    let output = place.run(&["send", "--open", &at, "album"]);
    complains(&output, 9, "`servent receive --from` joins it");
    let mut right = Running::start(receiver(&place, "a", &at, CODE));
    right.event("received_all");
    assert_eq!(sender.end().code(), Some(0));
    assert_eq!(right.end().code(), Some(0));
    same(&place.path("a"), &files);
}

#[test]
fn a_receiver_that_comes_again_is_the_same_receiver() {
    let place = Place::new();
    let files = album(&place, 300_000);
    let (mut sender, at) = sender(&place, "2", "127.0.0.1:0");
    for time in 0..2 {
        let mut receiver = Running::start(receiver(&place, "a", &at, CODE));
        receiver.event("received_all");
        assert_eq!(sender.event("has")["have"], 1, "time {time}");
        same(&place.path("a"), &files);
        std::fs::remove_dir_all(place.path("a")).unwrap();
        receiver.signal("INT"); // It does not pass it on.
        assert_eq!(receiver.end().code(), Some(0));
    }
    // The other seat is still free.
    let mut other = Running::start(receiver(&place, "b", &at, CODE));
    other.event("received_all");
    assert_eq!(sender.event("sent_all")["receivers"], 2);
    assert_eq!((sender.end().code(), other.end().code()), (Some(0), Some(0)));
    same(&place.path("b"), &files);
}

#[test]
fn a_killed_receiver_need_not_wait_until_the_sender_has_noticed() {
    let place = Place::new();
    let files = album(&place, 12_000_000);
    let (sender, at) = sender(&place, "1", "127.0.0.1:0");
    let killed = Running::start(receiver(&place, "a", &at, CODE));
    while on_the_disk(&place.path("a.state/parcels")) < 1_000_000 {
        pause(Duration::from_millis(2));
    }
    killed.kill();
    let mut again = Running::start(receiver(&place, "a", &at, CODE));
    again.event("received_all");
    assert_eq!((sender.end().code(), again.end().code()), (Some(0), Some(0)));
    same(&place.path("a"), &files);
}

/// All with the state folder of one user, and the same folder for what comes.
#[test]
fn three_receivers_of_one_user_are_three() {
    let place = Place::new();
    let files = album(&place, 2_000_000);
    let (mut sender, at) = sender(&place, "3", "127.0.0.1:0");
    let receive = |name: &str| {
        let folder = format!("{name}/");
        let receive = ["receive", "--from", &at, "-o", &folder, "--state", "one.state", "--json"];
        let mut command = place.servent(&receive);
        command.env("SERVENT_CODE", CODE);
        Running::start(command)
    };
    let mut receivers = ["a", "b", "c"].map(receive);
    receivers.iter_mut().for_each(|receiver| _ = receiver.event("received_all"));
    assert_eq!(sender.event("sent_all")["receivers"], 3);
    let codes = receivers.map(|receiver| receiver.end().code());
    assert_eq!((sender.end().code(), codes), (Some(0), [Some(0); 3]));
    for name in ["a", "b", "c"] {
        same(&place.path(name), &files);
    }
    assert_eq!(parcels(&place, "one"), 0);
}

#[test]
fn receivers_join_a_sender_that_was_killed_and_comes_again() {
    let place = Place::new();
    let files = album(&place, 6_000_000);
    let at = format!("127.0.0.1:{}", free_port());
    let (first, _) = slow_sender(&place, "2", &at);
    let mut receivers = ["a", "b"].map(|name| Running::start(receiver(&place, name, &at, CODE)));
    until("a part of it has come", || {
        ["a", "b"].iter().all(|it| on_the_disk(&place.path(&format!("{it}.state/parcels"))) > 0)
    });
    first.kill();
    receivers.iter_mut().for_each(|receiver| _ = receiver.event("waiting"));
    let (again, _) = sender(&place, "2", &at);
    receivers.iter_mut().for_each(|receiver| _ = receiver.event("received_all"));
    let codes = receivers.map(|receiver| receiver.end().code());
    assert_eq!((again.end().code(), codes), (Some(0), [Some(0); 2]));
    same(&place.path("a"), &files);
    same(&place.path("b"), &files);
    nothing_stays(&place);
}

#[test]
fn receivers_of_a_sender_that_is_stopped_end_at_once() {
    let place = Place::new();
    album(&place, 6_000_000);
    let (mut sender, at) = slow_sender(&place, "2", "127.0.0.1:0");
    let mut receive = receiver(&place, "a", &at, CODE);
    receive.stdout(Stdio::piped()).stderr(Stdio::piped());
    let receiver = receive.spawn().unwrap();
    sender.event("agreed");
    sender.signal("INT");
    assert_eq!(sender.end().code(), Some(130));
    complains(&finish(receiver), 9, "the sender was stopped");
}

#[test]
fn what_several_share_is_a_file() {
    let place = Place::new();
    for nothing in [&["send", "--to", "2"][..], &["send", "--to", "2", "-"]] {
        complains(&place.run(nothing), 2, "put it into a file first");
    }
}

/// How much of incomplete files is stored; they are as long as they will be.
fn on_the_disk(folder: &Path) -> u64 {
    let Ok(inside) = std::fs::read_dir(folder) else { return 0 };
    let of = |path: &Path| match path.metadata() {
        Ok(about) if about.is_dir() => on_the_disk(path),
        Ok(about) if path.extension().is_some_and(|it| it == "part") => about.blocks() * 512,
        _ => 0,
    };
    inside.map(|entry| of(&entry.unwrap().path())).sum()
}

#[test]
fn a_receiver_that_is_killed_goes_on_where_it_was() {
    let place = Place::new();
    let files = album(&place, 12_000_000);
    let at = format!("127.0.0.1:{}", free_port());
    let (first, _) = sender(&place, "1", &at);
    let killed = Running::start(receiver(&place, "a", &at, CODE));
    while on_the_disk(&place.path("a.state/parcels")) < 2_000_000 {
        pause(Duration::from_millis(2));
    }
    killed.kill();
    first.kill();
    let (again, _) = sender(&place, "1", &at);
    let mut receiver = Running::start(receiver(&place, "a", &at, CODE));
    let all = receiver.event("received_all");
    assert_eq!(again.end().code(), Some(0));
    assert_eq!(receiver.end().code(), Some(0));
    same(&place.path("a"), &files);
    let fetched = all["from_sender"].as_u64().unwrap();
    assert!(fetched < 11_500_000, "all of it travelled again: {fetched}");
}
