//! A sender with a link, and receivers that run twice, come too late, or find it dead.

use std::time::Duration;

use serde_json::Value;

use crate::meeting::{CODE, meeting_place, receive_by, waiting_sender, with_code};
use crate::program::{Place, Running, assert_same, complains, noise, pause};

/// How long something takes, in seconds.
fn seconds<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let clock = servent::Clock::new();
    let begun = clock.now();
    let done = work();
    (done, clock.now().since(begun).as_secs())
}

/// Neither puts the other off: they would do so for ever.
#[test]
fn the_same_receiver_that_runs_twice_waits_and_takes_over_when_the_first_is_gone() {
    let at = Place::new();
    let bytes = noise(1_200_000);
    std::fs::write(at.path("song.ogg"), &bytes).unwrap();
    let (_place, mut sender, link) = waiting_sender(&at, "1", &["--limit-rate", "200k"]);
    let mut first = receive_by(&at, &link, "in/");
    first.event("receiving");
    let mut second = receive_by(&at, &link, "in/");
    let told = sender.event_of(&["waits", "left"]);
    assert_eq!((&told["event"], &told["for"]), (&"waits".into(), &1.into()), "{told}");
    // It may have waited for the place before.
    let is_told = |event: Value| event["why"].to_string().contains("number of this one");
    assert!((0..3).any(|_| is_told(second.event("waiting"))));
    first.kill();
    let (_, took) = seconds(|| second.event("receiving"));
    assert!(took < 10, "it takes over after {took} s");
    assert_eq!(second.end().code(), Some(0));
    let all = sender.event("sent_all");
    assert_eq!(all["each"].as_array().map(Vec::len), Some(1), "it is the same receiver: {all}");
    assert_eq!(sender.end().code(), Some(0));
    assert_same(&at.path("in/song.ogg"), &bytes);
}

/// What a receiver says that is one too many, and its status.
fn is_told_to_ask_again(mut receiver: Running) {
    let failed = receiver.event("failed");
    let what = failed["what"].to_string();
    assert!(what.contains("all the receivers that it was for were served"), "{failed}");
    assert_eq!(failed["next"], "ask for it to be sent again");
    assert_eq!(receiver.end().code(), Some(9));
}

#[test]
fn receivers_that_are_too_many_or_too_late_are_told_that_the_sender_has_ended() {
    let at = Place::new();
    std::fs::write(at.path("song.ogg"), noise(1_600_000)).unwrap();
    let (place, mut sender, link) = waiting_sender(&at, "1", &["--limit-rate", "200k"]);
    let mut first = receive_by(&at, &link, "in/");
    first.event("receiving");
    pause(Duration::from_secs(2));
    let mut second = receive_by(&at, &link, "more/");
    second.event("receiving");
    assert_eq!(first.end().code(), Some(0));
    let ((), took) = seconds(|| is_told_to_ask_again(second));
    assert!(took < 8, "it is told after {took} s");
    assert_eq!(sender.event("sent_all")["receivers"], 1);
    assert_eq!(sender.end().code(), Some(0));
    let ((), took) = seconds(|| is_told_to_ask_again(receive_by(&at, &link, "late/")));
    assert!(took < 8, "it is told after {took} s");
    // It is sent again, with the same link.
    let via = link.rsplit_once('@').unwrap().1;
    let send = ["send", "--to", "1", "--via", via, "song.ogg", "--json"];
    let mut again = with_code(&at, &send, CODE);
    again.event("at_place");
    assert_eq!(receive_by(&at, &link, "late/").end().code(), Some(0));
    assert_eq!(again.end().code(), Some(0));
    drop(place);
}

#[test]
fn a_receiver_that_finds_the_seat_of_a_sender_that_was_killed_says_that_it_is_silent() {
    for relay in [&[][..], &["--relay", "1M"]] {
        let at = Place::new();
        std::fs::write(at.path("song.ogg"), "words").unwrap();
        let (_place, via) = meeting_place(&at, relay);
        let send = ["send", "--to", "1", "--via", &via, "song.ogg", "--json"];
        let mut sender = with_code(&at, &send, CODE);
        sender.event("at_place");
        sender.kill();
        let mut receiver = receive_by(&at, &format!("meet://{CODE}@{via}"), "in/");
        let (told, took) = seconds(|| receiver.event_of(&["waiting", "failed"]));
        assert!(told["why"].to_string().contains("is silent"), "{relay:?}: {told}");
        assert!(took < 20, "{took} s");
        let absent = receiver.event_of(&["waiting", "failed"]);
        assert_eq!(absent["why"], "the sender is not there yet", "{relay:?}");
        receiver.signal("INT");
        assert_eq!(receiver.end().code(), Some(130));
    }
}

#[test]
fn a_sender_of_several_ends_when_no_place_answers() {
    let at = Place::new();
    std::fs::write(at.path("song.ogg"), "words").unwrap();
    // Nothing listens at port 1.
    let send = ["send", "--to", "2", "--via", "127.0.0.1:1", "song.ogg"];
    let (said, took) = seconds(|| at.run(&send));
    complains(&said, 3, "no meeting place answers at 127.0.0.1:1");
    assert!(took < 10, "{took} s");
}

#[test]
fn a_sender_that_meets_a_sender_is_told_so() {
    let at = Place::new();
    std::fs::write(at.path("song.ogg"), "words").unwrap();
    let (_place, mut sender, link) = waiting_sender(&at, "2", &[]);
    let via = link.rsplit_once('@').unwrap().1;
    sender.event("at_place");
    let send = ["send", "--via", via, "song.ogg"];
    let said = at.servent(&send).env("SERVENT_CODE", CODE).output().unwrap();
    complains(&said, 8, "is a sender, too, and receives nothing");
}

#[test]
fn a_program_is_told_from_which_address_it_is_sent() {
    let at = Place::new();
    std::fs::write(at.path("song.ogg"), "words").unwrap();
    let (_place, via) = meeting_place(&at, &[]);
    let receive =
        ["receive", "--via", &via, "--listen", "127.0.0.1:0", "-o", "in/", "--yes", "--json"];
    let mut receiver = with_code(&at, &receive, CODE);
    receiver.event("at_place");
    let mut sender = with_code(&at, &["send", "--via", &via, "song.ogg", "--json"], CODE);
    let sending = sender.event("sending");
    assert!(sending["from"].as_str().unwrap().starts_with("127.0.0.1:"), "{sending}");
    assert_eq!(sender.end().code(), Some(0));
}
