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

/// How much of a file is said to be here when it is not whole.
fn mebibytes_arrived(failed: &serde_json::Value) -> f64 {
    let what = failed["what"].as_str().unwrap();
    let before = what.split(" of ").next().and_then(|before| before.split("; ").last());
    let (number, unit) =
        before.and_then(|it| it.split_once(' ')).unwrap_or_else(|| panic!("{what}"));
    let number: f64 = number.parse().unwrap_or_else(|_| panic!("{what}"));
    match unit {
        "MiB" => number,
        "KiB" => number / 1_024.0,
        _ => panic!("{what}"),
    }
}

#[test]
fn pa_13_a_sender_that_is_stopped_is_heard_through_the_place_and_may_come_again() {
    let Some(network) = network(KINDS) else { return };
    let mut waiting = WaitingReceiver::new(&network);
    let bytes = noise(6_000_000);
    let song = waiting.song(&bytes);
    let mut arrived = Vec::new();
    for _ in 0..2 {
        let stopped = waiting.send(&song, &["--limit-rate", "500k"]);
        waiting.receiver().event("receiving");
        pause(Duration::from_secs(3));
        stopped.signal("INT");
        let (failed, took) = millis(|| waiting.receiver().event("failed"));
        assert!(took < 3_000, "the receiver hears of it after {took} ms: {failed}");
        assert_eq!(stopped.end().code(), Some(130));
        arrived.push(mebibytes_arrived(&failed));
    }
    assert!(arrived[1] > 1.5 * arrived[0], "what was here before counts too: {arrived:?}");
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

/// The sender's laptop goes into another network, behind a router that the receiver's knows
/// nothing of: they meet again as soon as that is noticed.
#[test]
fn pa_13_a_sender_that_changes_networks_is_met_again_within_seconds() {
    let Some(network) = network(["port", "port", "open"]) else { return };
    let mut waiting = WaitingReceiver::new(&network);
    let bytes = noise(4_000_000);
    let song = waiting.song(&bytes);
    let mut sender = waiting.send(&song, &["--limit-rate", "500k"]);
    waiting.receiver().event("receiving");
    pause(Duration::from_secs(2));
    network.move_behind(1, 3);
    let (moved, took) = millis(|| sender.event("network"));
    assert_eq!(moved["address"], "10.99.0.2");
    assert!(took < 4_000, "it is noticed after {took} ms");
    let (_, took) = millis(|| waiting.receiver().event("receiving"));
    assert!(took < 4_000, "it goes on after {took} ms");
    let sent = sender.event("sent");
    assert_eq!((sender.end().code(), &sent["path"]), (Some(0), &"direct".into()), "{sent}");
    assert!(sent["carried"].as_u64().unwrap() < 3_500_000, "what was missing travels: {sent}");
    waiting.arrived(&bytes);
}

/// What the place itself answers says nothing of the sender that was reached through it.
#[test]
fn pa_13_a_relayed_sender_that_is_dead_is_not_said_to_be_there_again() {
    let Some(network) = network(KINDS) else { return };
    let mut waiting = WaitingReceiver::new(&network);
    let bytes = noise(3_000_000);
    let song = waiting.song(&bytes);
    let killed = waiting.send(&song, &["--limit-rate", "200k"]);
    waiting.receiver().event("receiving");
    pause(Duration::from_secs(2));
    killed.kill();
    waiting.receiver().event("silent");
    pause(Duration::from_secs(6));
    let again = waiting.send(&song, &[]);
    let next = waiting.receiver().event_of(&["heard", "receiving"]);
    assert_eq!(next["event"], "receiving", "it is another one that comes: {next}");
    assert_eq!(again.end().code(), Some(0));
    waiting.arrived(&bytes);
}

/// A sender that is killed and comes again at once is met by the receiver in the same visit.
#[test]
fn pa_13_a_sender_that_is_started_again_at_once_loses_no_connection() {
    let Some(network) = network(["port", "port"]) else { return };
    let mut waiting = WaitingReceiver::new(&network);
    let bytes = noise(6_000_000);
    let song = waiting.song(&bytes);
    let killed = waiting.send(&song, &["--limit-rate", "500k"]);
    waiting.receiver().event("receiving");
    pause(Duration::from_secs(3));
    killed.kill();
    let mut again = waiting.send(&song, &["--limit-rate", "1M"]);
    let next = again.event_of(&["waiting", "sent", "failed"]);
    assert_eq!((&next["event"], &next["path"]), (&"sent".into(), &"direct".into()), "{next}");
    assert!(next["carried"].as_u64().unwrap() < 5_500_000, "what was missing travels: {next}");
    assert_eq!(again.end().code(), Some(0));
    waiting.arrived(&bytes);
}

/// A path that leads through the place at first is direct soon.
#[test]
fn pa_13_what_is_told_of_a_path_is_where_the_other_side_is_by_then() {
    let Some(network) = network(["port", "port"]) else { return };
    let mut waiting = WaitingReceiver::new(&network);
    let folder = network.place.path("home").join("album");
    std::fs::create_dir(&folder).unwrap();
    for (name, bytes) in [("1.ogg", 1_000), ("2.ogg", 2_000_000), ("3.ogg", 1_000)] {
        std::fs::write(folder.join(name), noise(bytes)).unwrap();
    }
    let mut sender = waiting.send(&folder.display().to_string(), &["--limit-rate", "1M"]);
    for (side, event) in [(&mut sender, "sent"), (waiting.receiver(), "received")] {
        let last = std::iter::repeat_with(|| side.event(event))
            .find(|it| it["name"].as_str().unwrap().ends_with("3.ogg"))
            .unwrap();
        assert_eq!((&last["relayed"], &last["place"]), (&false.into(), &().into()), "{last}");
        assert!(last["peer"].as_str().unwrap().starts_with("192.0.2."), "{last}");
    }
    assert_eq!(sender.end().code(), Some(0));
}

/// Both sides are told why they do not meet again, soon, and not only one of them.
#[test]
fn pa_15_a_place_that_relays_no_more_is_the_reason_on_both_sides() {
    let Some(network) = network(KINDS) else { return };
    let mut waiting = WaitingReceiver::new(&network);
    let song = waiting.song(&noise(6_000_000));
    let mut sender = waiting.send(&song, &["--limit-rate", "200k"]);
    waiting.receiver().event("receiving");
    pause(Duration::from_secs(2));
    let place = waiting.place.take().unwrap();
    place.signal("INT");
    assert_eq!(place.end().code(), Some(0));
    let meet = ["meet", "--listen", VIA, "--json"];
    let mut place = Running::start(network.servent(0, &meet));
    place.event("listening");
    let ends = sender.event("waiting");
    assert!(ends["why"].as_str().unwrap().contains("is being shut down"), "{ends}");
    let (why, took) = millis(|| sender.event("waiting"));
    assert!(why["why"].as_str().unwrap().contains("there is no direct path"), "{why}");
    assert!(took < 15_000, "the sender is told after {took} ms");
    loop {
        let unmet = waiting.receiver().event("unmet");
        if unmet["why"].as_str().unwrap().contains("there is no direct path") {
            break;
        }
    }
}
