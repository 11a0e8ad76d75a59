//! A meeting place on this machine: what `meet`, `send --via`, `receive --via` and
//! `doctor` say.

use crate::program::{Place, Running, assert_same, complains, noise};

const CODE: &str = "ocean-pepper-violin-garden-moon";

/// A running place, and its name for the others.
fn meeting_place(at: &Place, extra: &[&str]) -> (Running, String) {
    let words = [&["meet", "--listen", "127.0.0.1:0", "--json"], extra].concat();
    let mut running = Running::start(at.servent(&words));
    let name = running.event("listening")["address"].as_str().unwrap().to_owned();
    (running, name)
}

#[test]
fn two_meet_through_a_place_and_a_file_goes_directly_from_one_to_the_other() {
    let at = Place::new();
    let (mut place, via) = meeting_place(&at, &["--relay", "1M"]);
    std::fs::create_dir(at.path("in")).unwrap();
    let bytes = noise(500_000);
    std::fs::write(at.path("song.ogg"), &bytes).unwrap();
    let words =
        ["receive", "--via", &via, "--listen", "127.0.0.1:0", "-o", "in", "--yes", "--json"];
    let mut command = at.servent(&words);
    let mut receiver = {
        command.env("SERVENT_CODE", CODE);
        Running::start(command)
    };
    receiver.event("at_place");
    let mut command = at.servent(&["send", "--via", &via, "song.ogg", "--json"]);
    let mut sender = {
        command.env("SERVENT_CODE", CODE);
        Running::start(command)
    };
    sender.event("path");
    sender.event("sent");
    assert_eq!(sender.end().code(), Some(0));
    assert_same(&at.path("in/song.ogg"), &bytes);
    receiver.signal("INT");
    assert_eq!(receiver.end().code(), Some(0));
    place.signal("INT");
    let told = place.event("meetings");
    assert!(told["introduced"].as_u64() >= Some(1), "{told}");
    assert_eq!(place.end().code(), Some(0));
}

#[test]
fn a_servent_that_meets_no_other_is_told_why_and_what_would_help() {
    let at = Place::new();
    std::fs::write(at.path("song.ogg"), "words").unwrap();
    let run = |words: &[&str], code: &str| {
        let mut command = at.servent(words);
        command.env("SERVENT_CODE", code).output().unwrap()
    };
    // Nothing listens at port 1.
    let send = ["send", "--via", "127.0.0.1:1", "song.ogg"];
    complains(&run(&send, CODE), 3, "no meeting place answers at 127.0.0.1:1");
    complains(&run(&send, "ocean-pepper-sea"), 2, "too short for a meeting place");
    let (_place, via) = meeting_place(&at, &[]);
    complains(&run(&["send", "--via", &via, "song.ogg"], CODE), 3, "the receiver has not come");
    complains(&run(&["send", "--meet", "song.ogg"], CODE), 2, "--meet needs the setting `via`");
}

#[test]
fn the_doctor_says_what_stands_between() {
    let at = Place::new();
    let (_place, via) = meeting_place(&at, &[]);
    let output = at.run(&["doctor", "--via", &via, "--json"]);
    let told: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(told["ipv4"]["mapping"], "none", "{told}");
    assert_eq!(told["ipv4"]["filtering"], "address_dependent", "{told}");
    assert!(told["ipv6"].is_null(), "{told}");
    let set = format!("via={via}");
    let output = at.run(&["doctor", "--set", &set]);
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("no router translates it") && said.contains("What would help"), "{said}");
}
