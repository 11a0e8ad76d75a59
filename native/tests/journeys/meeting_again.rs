//! Two people whose bytes pass through the meeting place, and what comes after a try that
//! failed: each router gives every destination another port, so that no path is direct.

use std::time::Duration;

use crate::meeting::{VIA, network};
use crate::namespaces::Network;
use crate::program::{Running, noise, pause};

pub(crate) const KINDS: [&str; 2] = ["symmetric", "symmetric"];
/// The same meeting, and another code for the transfer.
const WRONG: &str = "ocean-pepper-violin-garden-sun";

/// A place that relays, and a receiver that waits there.
pub(crate) struct WaitingReceiver<'a> {
    network: &'a Network,
    pub(crate) place: Option<Running>,
    pub(crate) receiver: Option<Running>,
}

impl<'a> WaitingReceiver<'a> {
    fn new(network: &'a Network) -> Self {
        Self::with(network, &[])
    }

    /// The same with more words for the receiver.
    pub(crate) fn with(network: &'a Network, more: &[&str]) -> Self {
        let home = network.place.path("home");
        std::fs::create_dir_all(home.join("inbox")).unwrap();
        let place = Some(relay(network));
        let mut receiver = receiver(network, more);
        receiver.event("at_place");
        let receiver = Some(receiver);
        Self { network, place, receiver }
    }

    pub(crate) fn receiver(&mut self) -> &mut Running {
        self.receiver.as_mut().expect("a receiver runs")
    }

    pub(crate) fn song(&self, bytes: &[u8]) -> String {
        let song = self.network.place.path("home").join("song.ogg");
        std::fs::write(&song, bytes).unwrap();
        song.display().to_string()
    }

    pub(crate) fn send(&self, song: &str, more: &[&str]) -> Running {
        self.send_from(1, song, more)
    }

    /// The same from one of the other machines.
    pub(crate) fn send_from(&self, machine: usize, song: &str, more: &[&str]) -> Running {
        let words = [&["send", "--via", VIA, song, "--json"], more].concat();
        Running::start(self.network.servent(machine, &words))
    }

    pub(crate) fn arrived(&self, bytes: &[u8]) {
        let there = std::fs::read(self.network.place.path("home").join("inbox/song.ogg"));
        assert!(there.unwrap() == bytes, "the file is the same");
    }
}

pub(crate) fn relay(network: &Network) -> Running {
    let meet = ["meet", "--listen", VIA, "--relay", "20M", "--json"];
    let mut place = Running::start(network.servent(0, &meet));
    place.event("listening");
    place
}

fn receiver(network: &Network, more: &[&str]) -> Running {
    let folder = network.place.path("home").join("inbox").display().to_string();
    let take = ["receive", "--via", VIA, "-o", &folder, "--yes", "--json"];
    let mut receiver = Running::start(network.servent(2, &[&take[..], more].concat()));
    receiver.event("listening");
    receiver
}

/// Milliseconds that `what` takes.
pub(crate) fn millis<T>(what: impl FnOnce() -> T) -> (T, u64) {
    let clock = servent::Clock::new();
    let begun = clock.now();
    let done = what();
    (done, clock.now().since(begun).as_micros() / 1_000)
}

#[test]
fn pa_13_after_a_wrong_code_the_right_one_is_taken_through_the_same_place() {
    let Some(network) = network(KINDS) else { return };
    let mut waiting = WaitingReceiver::new(&network);
    let bytes = noise(300_000);
    let song = waiting.song(&bytes);
    for _ in 0..2 {
        let mut wrong = network.servent(1, &["send", "--via", VIA, &song, "--json"]);
        let wrong = Running::start({
            wrong.env("SERVENT_CODE", WRONG);
            wrong
        });
        assert_eq!(wrong.end().code(), Some(9), "a wrong code is refused");
        let turned = waiting.receiver().event("turned_away");
        assert_eq!((&turned["place"], &turned["relayed"]), (&VIA.into(), &true.into()), "{turned}");
        assert!(turned["from"].is_null(), "the address of the sender is not known: {turned}");
    }
    let mut right = waiting.send(&song, &[]);
    let (sending, sent) = (right.event("sending"), right.event("sent"));
    assert_eq!((&sending["place"], &sending["to"]), (&VIA.into(), &().into()), "{sending}");
    assert_eq!((&sent["path"], &sent["place"]), (&"relayed".into(), &VIA.into()), "{sent}");
    assert!(sent["peer"].is_null(), "the address of the receiver is not known: {sent}");
    assert_eq!(right.end().code(), Some(0), "the right code is taken");
    let receiving = waiting.receiver().event("receiving");
    assert_eq!(receiving["relayed"], true, "{receiving}");
    waiting.receiver().event("received");
    waiting.arrived(&bytes);
}

#[test]
fn pa_13_a_sender_that_is_stopped_is_heard_through_the_place_and_may_come_again() {
    let Some(network) = network(KINDS) else { return };
    let mut waiting = WaitingReceiver::new(&network);
    let bytes = noise(3_000_000);
    let song = waiting.song(&bytes);
    let stopped = waiting.send(&song, &["--limit-rate", "500k"]);
    waiting.receiver().event("receiving");
    pause(Duration::from_secs(1));
    stopped.signal("INT");
    let (failed, took) = millis(|| waiting.receiver().event("failed"));
    assert!(took < 3_000, "the receiver hears of it after {took} ms: {failed}");
    assert_eq!(stopped.end().code(), Some(130));
    let (again, took) = millis(|| waiting.send(&song, &[]).end());
    assert_eq!(again.code(), Some(0), "it goes on with what is missing");
    assert!(took < 10_000, "it came again within {took} ms");
    waiting.arrived(&bytes);
    drop(waiting.place);
}

/// A receiver or a place that is killed while a file is under way, and started again.
fn goes_on(kinds: [&str; 2], path: &str, kill: &str) {
    let Some(network) = network(kinds) else { return };
    let mut waiting = WaitingReceiver::new(&network);
    let bytes = noise(6_000_000);
    let song = waiting.song(&bytes);
    let mut sender = waiting.send(&song, &["--limit-rate", "500k"]);
    waiting.receiver().event("receiving");
    pause(Duration::from_secs(4));
    if kill == "place" {
        let place = waiting.place.take().unwrap();
        place.kill();
        let (_, took) = millis(|| sender.event("silent"));
        assert!(took < 10_000, "the sender says that there is no word after {took} ms");
        waiting.place = Some(relay(&network));
    } else {
        let before = waiting.receiver.take().unwrap();
        before.kill();
        waiting.receiver = Some(receiver(&network, &[]));
    }
    let (_, took) = millis(|| waiting.receiver().event("receiving"));
    assert!(took < 15_000, "{kill}: it goes on after {took} ms");
    let sent = sender.event("sent");
    assert_eq!((sender.end().code(), &sent["path"]), (Some(0), &path.into()), "{kill}: {sent}");
    let carried = sent["carried"].as_u64().unwrap();
    assert!(carried < 5_500_000, "{kill}: only what was missing travels: {carried}");
    waiting.arrived(&bytes);
}

#[test]
fn pa_13_a_receiver_that_is_started_again_is_met_again_through_the_place() {
    goes_on(KINDS, "relayed", "receiver");
}

#[test]
fn pa_13_a_receiver_that_is_started_again_is_met_again_directly() {
    goes_on(["port", "port"], "direct", "receiver");
}

#[test]
fn pa_13_two_whose_place_is_started_again_meet_again() {
    goes_on(KINDS, "relayed", "place");
}
