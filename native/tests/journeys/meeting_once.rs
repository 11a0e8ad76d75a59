//! A receiver at a meeting place and the senders that come to it: one after the other, or
//! the same one again, where only one transfer is wanted (`--once`).

use std::time::Duration;

use serde_json::Value;

use crate::meeting::network;
use crate::meeting_again::{KINDS, WaitingReceiver, millis, relay};
use crate::namespaces::Network;
use crate::program::{Running, noise, pause};

/// As long as a receiver may take to end after its transfer.
const SOON: u64 = 3_000;

/// A sender that is done is not in the way of the next one: it has left its seat.
#[test]
fn pa_13_senders_take_turns_at_one_receiver() {
    let Some(network) = network(["open", "open", "open"]) else { return };
    let mut waiting = WaitingReceiver::with(&network, &[]);
    let song = waiting.song(b"words");
    for turn in 0..8 {
        for machine in [1, 3] {
            let mut sender = waiting.send_from(machine, &song, &[]);
            let ended = sender.event_of(&["sent", "failed"]);
            assert_eq!(ended["event"], "sent", "turn {turn} of machine {machine}: {ended}");
            assert_eq!(sender.end().code(), Some(0));
            waiting.receiver().event("received");
        }
    }
}

/// A transfer of which a part is there, at a receiver that takes one.
struct HalfReceived<'a> {
    waiting: WaitingReceiver<'a>,
    song: String,
    bytes: Vec<u8>,
}

impl<'a> HalfReceived<'a> {
    fn new(network: &'a Network) -> Self {
        let waiting = WaitingReceiver::with(network, &["--once"]);
        let bytes = noise(3_000_000);
        let song = waiting.song(&bytes);
        Self { waiting, song, bytes }
    }

    /// Goes on within so many milliseconds, with what is missing, by one of these paths; then
    /// the receiver ends.
    fn goes_on(mut self, within: u64, paths: &[&str], sender: Running) {
        let (_, took) = millis(|| self.waiting.receiver().event("receiving"));
        assert!(took < within, "it goes on after {took} ms");
        let sent = self.ends_whole(sender);
        assert!(paths.contains(&sent["path"].as_str().unwrap()), "{paths:?}: {sent}");
        assert!(sent["carried"].as_u64().unwrap() < 2_500_000, "what was missing travels: {sent}");
    }

    /// The transfer goes on, and both sides end; what the sender says then.
    fn ends_whole(mut self, mut sender: Running) -> Value {
        let sent = sender.event_of(&["sent", "failed"]);
        assert_eq!(sent["event"], "sent", "{sent}");
        assert_eq!(sender.end().code(), Some(0));
        let (ended, took) = millis(|| self.waiting.receiver.take().unwrap().end());
        assert_eq!(ended.code(), Some(0), "once, and whole");
        assert!(took < SOON, "it ends after {took} ms");
        self.waiting.arrived(&self.bytes);
        sent
    }
}

/// A sender that is killed while a file is under way, and started again at once.
fn comes_again(kinds: [&str; 2], path: &str, after: Duration) {
    let Some(network) = network(kinds) else { return };
    let mut half = HalfReceived::new(&network);
    let killed = half.waiting.send(&half.song, &["--limit-rate", "200k"]);
    half.waiting.receiver().event("receiving");
    pause(after);
    killed.kill();
    let again = half.waiting.send(&half.song, &[]);
    half.goes_on(15_000, &[path], again);
}

#[test]
fn pa_13_a_sender_that_is_started_again_goes_on_directly_where_one_transfer_is_wanted() {
    comes_again(["port", "port"], "direct", Duration::from_secs(3));
}

#[test]
fn pa_13_a_sender_that_is_started_again_goes_on_through_the_place_where_one_is_wanted() {
    comes_again(KINDS, "relayed", Duration::from_secs(3));
}

/// Its seat at the place is forgotten by then, and the receiver has not missed it yet.
#[test]
fn pa_13_a_sender_that_is_started_again_late_goes_on_where_one_transfer_is_wanted() {
    comes_again(KINDS, "relayed", Duration::from_secs(9));
}

/// A user who stops the sender may start it again: the receiver waits for it, and says so.
#[test]
fn pa_13_a_sender_that_is_stopped_is_awaited_where_one_transfer_is_wanted() {
    let Some(network) = network(KINDS) else { return };
    let mut half = HalfReceived::new(&network);
    let stopped = half.waiting.send(&half.song, &["--limit-rate", "500k"]);
    half.waiting.receiver().event("receiving");
    pause(Duration::from_secs(3));
    stopped.signal("INT");
    assert_eq!(stopped.end().code(), Some(130));
    let why = half.waiting.receiver().event_of(&["waiting", "failed"]);
    assert_eq!(why["event"], "waiting", "{why}");
    let again = half.waiting.send(&half.song, &[]);
    half.goes_on(10_000, &["relayed"], again);
}

/// The line of one side is dark for half a minute: the transfer goes on by the connection that
/// is there, or by another one if the sender finds the receiver at the place before.
#[test]
fn pa_13_a_line_that_was_dark_ends_no_transfer_where_one_is_wanted() {
    let Some(network) = network(["port", "port"]) else { return };
    let mut half = HalfReceived::new(&network);
    let sender = half.waiting.send(&half.song, &["--limit-rate", "200k"]);
    half.waiting.receiver().event("receiving");
    pause(Duration::from_secs(3));
    let line = |words: &[&str]| {
        let at = [&["link", "set", "r1"], words].concat();
        assert!(network.command(0, "ip").args(at).status().unwrap().success());
    };
    line(&["nomaster"]);
    pause(Duration::from_secs(35));
    line(&["master", "middle"]);
    let goes_on = ["heard", "receiving"];
    let (_, took) = millis(|| half.waiting.receiver().event_of(&goes_on));
    assert!(took < 10_000, "it goes on after {took} ms");
    half.ends_whole(sender);
}

/// A place that ends, in either way, and is started again.
fn place_comes_again(stop: bool, within: u64) {
    let Some(network) = network(KINDS) else { return };
    let mut half = HalfReceived::new(&network);
    let sender = half.waiting.send(&half.song, &["--limit-rate", "200k"]);
    half.waiting.receiver().event("receiving");
    pause(Duration::from_secs(3));
    let place = half.waiting.place.take().unwrap();
    if stop {
        place.signal("INT");
        let why = half.waiting.receiver().event_of(&["waiting", "failed"]);
        assert_eq!(why["event"], "waiting", "{why}");
        let what = why["why"].as_str().unwrap();
        assert!(what.contains("is being shut down") && !what.contains("is gone"), "{what}");
        assert_eq!(place.end().code(), Some(0));
    } else {
        place.kill();
    }
    half.waiting.place = Some(relay(&network));
    half.goes_on(within, &["relayed"], sender);
}

#[test]
fn pa_13_a_place_that_is_stopped_ends_no_transfer_where_one_is_wanted() {
    place_comes_again(true, 10_000);
}

#[test]
fn pa_13_a_place_that_is_killed_ends_no_transfer_where_one_is_wanted() {
    place_comes_again(false, 10_000);
}
