//! `send` and `receive`, of which either is killed.

use std::process::Stdio;
use std::time::Instant;

use super::Lane;
use crate::program::{PATIENCE, Running, assert_same, finish, free_port, noise};

pub(super) fn run(mut lane: Lane) {
    let at = format!("127.0.0.1:{}", free_port());
    let bytes = noise(600_000);
    std::fs::write(lane.place.path("film"), &bytes).unwrap();
    let mut receiver = receiver(&lane, &at);
    while lane.goes_on() {
        for _ in 0..lane.dice.between(2, 8) {
            let sender = Running::start(lane.place.servent(&sends(&at)));
            lane.kill_within(60, sender);
            lane.whole_or_absent("inbox/film", &bytes);
        }
        if lane.dice.chance(1, 2) {
            lane.kill_within(20, receiver);
            receiver = self::receiver(&lane, &at);
        }
        arrives(&lane, &at);
        assert_same(&lane.place.path("inbox/film"), &bytes);
        lane.soak.count("files carried whole");
        std::fs::remove_dir_all(lane.place.path("inbox")).unwrap();
        lane.kill_within(20, receiver);
        receiver = self::receiver(&lane, &at);
    }
}

/// Sends until all of it is there. To clocks that run fast a receiver is gone
/// that a busy machine leaves without a processor for half a second; what is said
/// then is to send it again.
fn arrives(lane: &Lane, at: &str) {
    let begun = Instant::now();
    loop {
        let mut send = lane.place.servent(&sends(at));
        let output = finish(send.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        if output.status.success() {
            return;
        }
        let said = String::from_utf8_lossy(&output.stderr);
        let silent = output.status.code() == Some(NETWORK);
        assert!(silent && begun.elapsed() < PATIENCE, "{}: {said}", output.status);
        lane.soak.count("files sent once more");
    }
}

/// How the program ends when no peer answers it.
const NETWORK: i32 = 3;

/// Its clocks run fast so that silence shows soon.
const FAST: [&str; 2] = ["--set", "unicast.time_scale=20"];

fn sends(at: &str) -> [&str; 8] {
    ["send", "--open", "--wait=0s", at, "film", "-q", FAST[0], FAST[1]]
}

fn receiver(lane: &Lane, at: &str) -> Running {
    let words = ["receive", "--open", "--yes", "--json", "--listen", at, "-o", "inbox/"];
    let mut running = Running::start(lane.place.servent(&[&words[..], &FAST].concat()));
    running.event("listening");
    running
}
