//! `receive` asks before it takes something, at a real terminal: yes, no, and
//! every way in which a question ends without an answer.

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, Output, Stdio};

use crate::program::terminal::{END, INTERRUPT, Terminal};
use crate::program::{Place, Running, assert_same, complains, finish, noise};

/// A receiver that asks at a terminal, and where it listens.
fn receiver(place: &Place, more: &[&str]) -> (Terminal, Running, String) {
    let receive = ["receive", "--open", "--json", "--listen", "127.0.0.1:0"];
    let (terminal, mut running) = Terminal::start(&place.servent(&[&receive[..], more].concat()));
    let at = running.event("listening")["address"].as_str().unwrap().to_owned();
    (terminal, running, at)
}

fn sending(place: &Place, at: &str) -> Child {
    let mut command = place.servent(&["send", "--open", at, "song.ogg"]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn song(place: &Place) -> Vec<u8> {
    let bytes = noise(200_000);
    std::fs::write(place.path("song.ogg"), &bytes).unwrap();
    bytes
}

fn succeeds(output: &Output) {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn empty(folder: &Path) -> bool {
    std::fs::read_dir(folder).unwrap().count() == 0
}

#[test]
fn ctrl_c_at_the_question_takes_nothing_and_the_sender_hears_it() {
    for more in [&["-o", "in/"][..], &["-o", "in/", "--once"], &["-o", "in/new.ogg"]] {
        let place = Place::new();
        std::fs::create_dir(place.path("in")).unwrap();
        song(&place);
        let (mut terminal, running, at) = receiver(&place, more);
        let sender = sending(&place, &at);
        let asked = terminal.shows("take it? [y/N]");
        assert!(asked.contains("song.ogg  195 KiB"), "{asked}");
        terminal.types(INTERRUPT);
        complains(&finish(sender), 9, "the receiver was stopped before its user agreed");
        let said = terminal.shows("nothing was written");
        assert!(
            said.contains("\r\nservent: "), // The question was withdrawn, or was not answered.
            "a line of its own: {said:?}"
        );
        assert_eq!(running.end().code(), Some(130), "{more:?}");
        assert!(empty(&place.path("in")));
    }
}

#[test]
fn sigterm_withdraws_the_questions_of_all_senders() {
    let place = Place::new();
    song(&place);
    let (mut terminal, mut running, at) = receiver(&place, &["-o", "in/"]);
    let senders = [sending(&place, &at), sending(&place, &at)];
    terminal.shows("take it? [y/N]");
    for _ in &senders {
        running.event("asking");
    }
    running.signal("TERM");
    for sender in senders {
        complains(&finish(sender), 9, "the receiver was stopped before its user agreed");
    }
    // The senders may have gone before the receiver counts its questions.
    terminal.shows("nothing was written");
    assert_eq!(running.end().code(), Some(130));
    assert!(empty(&place.path("in")));
}

#[test]
fn the_end_of_the_input_is_no_answer_and_the_next_question_is_asked_all_the_same() {
    let place = Place::new();
    let bytes = song(&place);
    let (mut terminal, mut running, at) = receiver(&place, &["-o", "in/"]);
    let refused = sending(&place, &at);
    terminal.shows("take it? [y/N]");
    terminal.types(END);
    complains(&finish(refused), 9, "the user of the receiver did not answer");
    assert!(empty(&place.path("in")));
    let refused = sending(&place, &at);
    terminal.shows("take it? [y/N]");
    terminal.types("n\n");
    complains(&finish(refused), 9, "the receiver said no");
    assert!(empty(&place.path("in")));
    let taken = sending(&place, &at);
    terminal.shows("take it? [y/N]");
    terminal.types("y\n");
    succeeds(&finish(taken));
    assert_same(&place.path("in/song.ogg"), &bytes);
    running.event("received");
    terminal.types(INTERRUPT);
    assert_eq!(running.end().code(), Some(0), "no user was waiting");
}

/// Where one transfer is wanted the receiver ends as its sender does.
#[test]
fn a_no_is_a_refusal_on_both_sides() {
    let place = Place::new();
    song(&place);
    for answer in ["n\n", END] {
        let (mut terminal, running, at) = receiver(&place, &["-o", "in/", "--once"]);
        let refused = sending(&place, &at);
        terminal.shows("take it? [y/N]");
        terminal.types(answer);
        complains(&finish(refused), 9, "receiver");
        assert_eq!(running.end().code(), Some(9), "{answer:?}");
    }
}

#[test]
fn a_sender_that_goes_while_the_question_stands_is_said_to_be_gone() {
    let place = Place::new();
    song(&place);
    let (mut terminal, running, at) = receiver(&place, &["-o", "song2.ogg"]);
    let sender = Running::from_child(sending(&place, &at));
    terminal.shows("take it? [y/N]");
    sender.signal("INT");
    let said = terminal.shows(": the sender stopped: its user ended it");
    assert!(said.contains("\nservent: nothing was taken of song.ogg from"), "{said:?}");
    assert_eq!(running.end().code(), Some(9));
    assert!(!place.path("song2.ogg").exists() && !place.path("song2.ogg.part").exists());
}

/// That a file is sent is said once its receiver has agreed, and not while that is asked.
#[test]
fn a_sender_says_that_it_sends_when_the_receiver_has_agreed() {
    let place = Place::new();
    song(&place);
    for (answer, said, code) in [("n\n", "failed", 9), ("y\n", "sending", 0)] {
        let (mut terminal, running, at) = receiver(&place, &["-o", "in/", "--once"]);
        let send = ["send", "--open", &at, "song.ogg", "--json"];
        let mut sender = Running::start(place.servent(&send));
        terminal.shows("take it? [y/N]");
        let told = sender.event_of(&["offered", "sending"]);
        assert_eq!((&told["event"], &told["name"]), (&"offered".into(), &"song.ogg".into()));
        terminal.types(answer);
        assert_eq!(sender.event_of(&["sending", "failed"])["event"], said);
        assert_eq!(sender.end().code(), Some(code));
        assert_eq!(running.end().code(), Some(code));
    }
}

/// What is said meanwhile stands neither behind the question nor after its answer.
#[test]
fn a_question_is_asked_again_below_what_is_said_while_it_stands() {
    let place = Place::new();
    let bytes = song(&place);
    let at = UdpSocket::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let with = |words: &[&str], code: &str| {
        let mut command = place.servent(words);
        command.env("SERVENT_CODE", code).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    };
    let receive = with(&["receive", "--listen", &at, "-o", "in/"], "ocean-pepper-violin");
    let (mut terminal, running) = Terminal::start(&receive);
    terminal.shows("others send with");
    let send = ["send", &at, "song.ogg"];
    let taken = with(&send, "ocean-pepper-violin").spawn().unwrap();
    terminal.shows("take it? [y/N]");
    let stranger = with(&send, "ocean-pepper-sea").spawn().unwrap();
    let said = terminal.shows("was turned away");
    assert!(said.trim_start_matches(' ').starts_with("\r\n"), "a line of its own: {said:?}");
    terminal.shows("take it? [y/N]");
    complains(&finish(stranger), 9, "the code is not that of");
    terminal.types("y\n");
    succeeds(&finish(taken));
    assert_same(&place.path("in/song.ogg"), &bytes);
    terminal.types(INTERRUPT);
    assert_eq!(running.end().code(), Some(0));
}
