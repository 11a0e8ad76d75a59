//! Files sent with a code: the right one, a wrong one, none, and what a listener
//! on the way sees of it.

use std::process::{Output, Stdio};

use crate::program::terminal::Terminal;
use crate::program::{Place, Running, assert_same, complains, finish, noise};

const CODE: &str = "ocean-pepper-violin";
/// What stands in the file again and again.
const WORDS: &[u8] = b"whoever is on the way must not read this sentence. ";

/// A receiver that knows a code, and where it listens.
fn receiver(place: &Place, more: &[&str]) -> (Running, String) {
    let receive = ["receive", "--yes", "--json", "--listen", "127.0.0.1:0", "-o", "in/"];
    let mut command = place.servent(&[&receive[..], more].concat());
    let mut running = Running::start({
        command.env("SERVENT_CODE", CODE);
        command
    });
    let at = running.event("listening")["address"].as_str().unwrap().to_owned();
    (running, at)
}

/// Sends the letter with a code.
fn send(place: &Place, at: &str, code: &str, more: &[&str]) -> Output {
    let send = ["send", at, "letter.txt"];
    let mut command = place.servent(&[&send[..], more].concat());
    command.env("SERVENT_CODE", code).stdout(Stdio::piped()).stderr(Stdio::piped());
    finish(command.spawn().unwrap())
}

fn letter(place: &Place) -> Vec<u8> {
    let bytes = [WORDS.repeat(4_000), noise(100_000)].concat();
    std::fs::write(place.path("letter.txt"), &bytes).unwrap();
    bytes
}

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_wrong_code_writes_nothing_and_the_right_one_everything() {
    let place = Place::new();
    let bytes = letter(&place);
    let (mut running, at) = receiver(&place, &[]);
    let output = send(&place, &at, "ocean-pepper-viola", &[]);
    complains(&output, 9, &format!("the code is not that of {at}"));
    let told = running.event("turned_away");
    assert_eq!(told["why"], "it does not know the code", "{told}");
    let output = place.run(&["send", "--open", &at, "letter.txt"]);
    complains(&output, 9, "it wants the code that it shows");
    running.event("turned_away");
    assert_eq!(std::fs::read_dir(place.path("in")).unwrap().count(), 0, "nothing was written");
    succeeds(&send(&place, &at, "Ocean Pepper Violin", &[]));
    assert_same(&place.path("in/letter.txt"), &bytes);
}

#[test]
fn a_terminal_that_cannot_draw_shows_the_code_all_the_same() {
    for kind in ["dumb", "xterm"] {
        let place = Place::new();
        let mut command = place.servent(&["receive", "--listen", "127.0.0.1:0"]);
        let (mut terminal, receiver) = Terminal::start(command.env("TERM", kind));
        assert!(terminal.shows("give it").contains("the code is "), "{kind}");
        receiver.signal("INT");
        assert_eq!(receiver.end().code(), Some(130));
    }
}

#[test]
fn a_sender_that_guesses_is_soon_not_listened_to() {
    let place = Place::new();
    letter(&place);
    let (_running, at) = receiver(&place, &[]);
    for _ in 0..5 {
        complains(&send(&place, &at, "ocean-pepper-viola", &[]), 9, "the code is not that of");
    }
    complains(&send(&place, &at, CODE, &[]), 9, "too many wrong codes");
    assert_eq!(std::fs::read_dir(place.path("in")).unwrap().count(), 0);
}

#[test]
fn a_receiver_makes_a_code_and_a_sender_has_it_in_a_file() {
    let place = Place::new();
    let bytes = letter(&place);
    let receive = ["receive", "--code", "--json", "--once", "--listen", "127.0.0.1:0", "-o", "in/"];
    let mut running = Running::start(place.servent(&receive));
    let listening = running.event("listening");
    let at = listening["address"].as_str().unwrap();
    let code = listening["code"].as_str().unwrap();
    assert_eq!(code.split('-').count(), 3, "{code}");
    std::fs::write(place.path("code"), format!("{code}\n")).unwrap();
    succeeds(&place.run(&["send", at, "letter.txt", "--code-file", "code"]));
    assert_eq!(running.end().code(), Some(0));
    assert_same(&place.path("in/letter.txt"), &bytes);
}

/// What stands in all packets of a sender's tape.
fn captured(place: &Place, tape: &str) -> Vec<u8> {
    let replayed = place.run(&["replay", tape]);
    assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stderr));
    let capture = format!("{tape}.pcapng");
    succeeds(&place.run(&["trace", "export", tape, "--pcapng", "-o", &capture]));
    std::fs::read(place.path(&capture)).unwrap()
}

fn holds(capture: &[u8], words: &[u8]) -> bool {
    capture.windows(words.len()).any(|window| window == words)
}

#[test]
fn a_recorder_of_what_is_sent_with_a_code_reads_nothing() {
    let place = Place::new();
    let bytes = letter(&place);
    let (running, at) = receiver(&place, &["--trace", "in.sqlog"]);
    succeeds(&send(&place, &at, CODE, &["--trace", "out.sqlog"]));
    running.signal("INT");
    assert_eq!(running.end().code(), Some(0));
    assert_same(&place.path("in/letter.txt"), &bytes);
    for tape in ["out.sqlog", "in.sqlog"] {
        let sealed = captured(&place, tape);
        assert!(sealed.len() > 1_000);
        assert!(!holds(&sealed, &WORDS[..20]) && !holds(&sealed, b"letter.txt"), "{tape}");
        assert!(!holds(&sealed, CODE.as_bytes()), "{tape}");
    }
    let mut open = place.servent(&["receive", "--open", "--yes", "--json", "--once"]);
    open.args(["--listen", "127.0.0.1:0", "-o", "open/"]);
    let mut open = Running::start(open);
    let at = open.event("listening")["address"].as_str().unwrap().to_owned();
    succeeds(&place.run(&["send", "--open", &at, "letter.txt", "--trace", "open.sqlog"]));
    assert_eq!(open.end().code(), Some(0));
    let plain = captured(&place, "open.sqlog");
    assert!(holds(&plain, &WORDS[..20]) && holds(&plain, b"letter.txt"), "without one all of it");
}
