//! A sender behind a router, and several receivers behind others (`send --to N --via`).

use std::path::PathBuf;
use std::time::Duration;

use serde_json::Value;

use crate::meeting::{VIA, network};
use crate::meeting_again::millis;
use crate::namespaces::Network;
use crate::program::{Running, complains, noise, pause};

/// A place, and a sender that waits there for its receivers.
struct WaitingSender<'a> {
    network: &'a Network,
    _place: Running,
    sender: Running,
    link: String,
    bytes: Vec<u8>,
}

impl<'a> WaitingSender<'a> {
    fn new(network: &'a Network, relay: &[&str], more: &[&str]) -> Self {
        let (home, bytes) = (network.place.path("home"), noise(2_000_000));
        std::fs::create_dir_all(home.join("album/empty")).unwrap();
        std::fs::write(home.join("album/song.ogg"), &bytes).unwrap();
        std::fs::write(home.join("album/words.txt"), b"words").unwrap();
        let meet = [&["meet", "--listen", VIA, "--json"], relay].concat();
        let mut place = Running::start(network.servent(0, &meet));
        place.event("listening");
        let album = home.join("album").display().to_string();
        let send = ["send", "--to", "3", "--via", VIA, "--json"];
        let mut command = network.servent(1, &[&send[..], more, &[&album]].concat());
        command.env_remove("SERVENT_CODE");
        let mut sender = Running::start(command);
        let link = sender.event("meeting")["link"].as_str().unwrap().to_owned();
        sender.event("at_place");
        Self { network, _place: place, sender, link, bytes }
    }

    fn inbox(&self, n: usize) -> PathBuf {
        self.network.place.path("home").join(format!("inbox{n}"))
    }

    fn receive(&self, machine: usize, n: usize) -> Running {
        let folder = format!("{}/", self.inbox(n).display());
        let receive = ["receive", "--from", &self.link, "-o", &folder, "--yes", "--json"];
        let mut command = self.network.servent(machine, &receive);
        command.env_remove("SERVENT_CODE");
        Running::start(command)
    }

    fn has_come(&self, n: usize) {
        let album = self.inbox(n).join("album");
        assert!(std::fs::read(album.join("song.ogg")).unwrap() == self.bytes, "receiver {n}");
        assert_eq!(std::fs::read(album.join("words.txt")).unwrap(), b"words", "receiver {n}");
        assert!(album.join("empty").is_dir(), "receiver {n}");
    }

    /// The sender ends when so many copies have left it, and a little more.
    fn ends(mut self, copies: f64) {
        let all = self.sender.event("sent_all");
        assert_eq!((&all["receivers"], &all["files"]), (&3.into(), &2.into()));
        let sent = all["sent"].as_f64().unwrap();
        assert!(sent <= copies * self.bytes.len() as f64 + 100.0, "{sent} bytes for {copies}");
        assert_eq!(self.sender.end().code(), Some(0));
    }
}

/// Three receivers that come at once, two of them behind one router.
fn all_get_it(kinds: [&str; 3], relay: &[&str]) {
    let Some(network) = network(kinds) else { return };
    let waiting = WaitingSender::new(&network, relay, &[]);
    let receivers: Vec<Running> =
        [2, 2, 3].iter().enumerate().map(|(n, machine)| waiting.receive(*machine, n)).collect();
    for (n, receiver) in receivers.into_iter().enumerate() {
        assert_eq!(receiver.end().code(), Some(0), "{kinds:?} {relay:?}: receiver {n}");
        waiting.has_come(n);
    }
    waiting.ends(3.0);
}

#[test]
fn pa_16_several_receivers_behind_routers_get_what_is_sent_to_them() {
    all_get_it(["port", "port", "port"], &[]);
}

#[test]
fn pa_16_several_receivers_get_what_is_sent_through_a_place_that_relays() {
    all_get_it(["symmetric", "symmetric", "symmetric"], &["--relay", "20M"]);
}

/// A receiver that is killed comes again, and only what is missing travels.
#[test]
fn pa_16_one_of_several_receivers_that_is_killed_goes_on_where_it_was() {
    let Some(network) = network(["port", "port", "port"]) else { return };
    let mut waiting = WaitingSender::new(&network, &[], &["--limit-rate", "400k"]);
    let mut killed = waiting.receive(2, 0);
    killed.event("receiving");
    pause(Duration::from_secs(3));
    killed.kill();
    let (told, took) = millis(|| waiting.sender.event_of(&["silent", "left"]));
    assert_eq!(told["visitor"], 1, "{told}");
    assert!(took < 10_000, "it says that the receiver is dead after {took} ms");
    let others = [waiting.receive(2, 0), waiting.receive(3, 1), waiting.receive(3, 2)];
    for receiver in others {
        assert_eq!(receiver.end().code(), Some(0));
    }
    (0..3).for_each(|n| waiting.has_come(n));
    waiting.ends(3.6);
}

/// The wrong link and the end are said on both sides.
#[test]
fn pa_16_a_receiver_with_another_code_gets_nothing_and_ctrl_c_ends_all() {
    let Some(network) = network(["port", "port"]) else { return };
    let mut waiting = WaitingSender::new(&network, &[], &["--limit-rate", "200k"]);
    let (name, place) = waiting.link.rsplit_once('@').unwrap();
    let mut words: Vec<&str> = name["meet://".len()..].split('-').collect();
    words[4] = if words[4] == "garden" { "violin" } else { "garden" };
    let right = waiting.link.clone();
    waiting.link = format!("meet://{}@{place}", words.join("-"));
    let wrong = waiting.receive(2, 0);
    assert_eq!(waiting.sender.event("turned_away")["why"], "the code is wrong");
    assert_eq!(wrong.end().code(), Some(9));
    waiting.link = right;
    let mut receiver = waiting.receive(2, 0);
    receiver.event("receiving");
    pause(Duration::from_secs(1));
    waiting.sender.signal("INT");
    let (ended, took) = millis(|| waiting.sender.end());
    assert_eq!(ended.code(), Some(130));
    assert!(took < 3_000, "the sender ends after {took} ms");
    // It may have waited for its turn before.
    let says_so = |event: Value| event["why"].to_string().contains("the sender stopped");
    assert!((0..3).any(|_| says_so(receiver.event("waiting"))));
    receiver.signal("INT");
    assert_eq!(receiver.end().code(), Some(130));
}

/// The code of a link is for those that come to it.
#[test]
fn pa_15_a_receiver_that_waits_with_the_code_of_a_link_is_told_what_the_link_is_for() {
    let Some(network) = network(["port", "port"]) else { return };
    let waiting = WaitingSender::new(&network, &[], &[]);
    let code = waiting.link["meet://".len()..].split('@').next().unwrap().to_owned();
    let mut receive = network.servent(2, &["receive", "--via", VIA, "-o", "in/", "--yes"]);
    let said = receive.env("SERVENT_CODE", code).output().unwrap();
    complains(&said, 3, "a receiver, or what has a link for several");
    drop(waiting);
}
