//! A servent behind a router, and many who type its link at once or shortly after one another.

use std::time::Duration;

use crate::meeting::{VIA, network};
use crate::meeting_again::millis;
use crate::namespaces::Network;
use crate::program::{Running, noise, pause};

const SIZE: usize = 300_000;

/// A place, and a servent that is met there: its link, and the bytes of its file.
struct SharedLink<'a> {
    network: &'a Network,
    place: Option<Running>,
    sharing: Running,
    link: String,
    bytes: Vec<u8>,
}

impl<'a> SharedLink<'a> {
    fn new(network: &'a Network, relay: &[&str]) -> Self {
        Self::with(network, relay, SIZE)
    }

    fn with(network: &'a Network, relay: &[&str], size: usize) -> Self {
        let home = network.place.path("home");
        let (folder, bytes) = (home.join("songs"), noise(size));
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("song.ogg"), &bytes).unwrap();
        let place = Some(place(network, relay));
        let (folder, state) = (folder.display().to_string(), home.join("sharing"));
        let state = state.display().to_string();
        let share = ["share", &folder, "--meet", VIA, "--state", &state, "--json"];
        let mut command = network.servent(1, &share);
        command.env_remove("SERVENT_CODE");
        let mut sharing = Running::start(command);
        let link = sharing.event("meeting")["link"].as_str().unwrap().to_owned();
        sharing.event("at_place");
        Self { network, place, sharing, link, bytes }
    }

    fn file(&self, n: usize) -> std::path::PathBuf {
        self.network.place.path("home").join(format!("here{n}.ogg"))
    }

    fn get(&self, machine: usize, n: usize) -> Running {
        self.get_with(machine, n, &[])
    }

    fn get_with(&self, machine: usize, n: usize, more: &[&str]) -> Running {
        let (file, state) = (self.file(n).display().to_string(), format!("state{n}"));
        let what = format!("{}songs/song.ogg", self.link);
        let get = ["get", &what, "-o", &file, "--state", &state, "--json"];
        Running::start(self.network.servent(machine, &[&get[..], more].concat()))
    }

    fn has_come(&self, n: usize) {
        assert!(std::fs::read(self.file(n)).unwrap() == self.bytes, "visitor {n} has the file");
    }

    fn ends(mut self) {
        self.sharing.signal("INT");
        assert_eq!(self.sharing.ended().code(), Some(0));
    }
}

fn place(network: &Network, relay: &[&str]) -> Running {
    let meet = [&["meet", "--listen", VIA, "--json"], relay].concat();
    let mut place = Running::start(network.servent(0, &meet));
    place.event("listening");
    place
}

/// Eight visitors of one link, behind one router but for two of them.
fn come_at_once(kinds: [&str; 3], relay: &[&str]) {
    let Some(network) = network(kinds) else { return };
    let shared = SharedLink::new(&network, relay);
    let getting: Vec<Running> = (0..8).map(|n| shared.get(if n < 6 { 2 } else { 3 }, n)).collect();
    for (n, getting) in getting.into_iter().enumerate() {
        assert_eq!(getting.end().code(), Some(0), "{kinds:?} {relay:?}: visitor {n} is served");
        shared.has_come(n);
    }
    // One that comes directly after another, and one after that.
    for n in 8..11 {
        let (code, took) = millis(|| shared.get(2, n).end().code());
        assert_eq!(code, Some(0), "{kinds:?} {relay:?}: visitor {n} is served");
        assert!(took < 8_000, "{kinds:?} {relay:?}: visitor {n} after {took} ms");
        shared.has_come(n);
    }
    shared.ends();
}

#[test]
fn pa_16_visitors_of_one_link_who_come_at_once_are_all_served() {
    come_at_once(["port", "port", "port"], &[]);
}

#[test]
fn pa_16_visitors_who_come_at_once_are_all_served_through_a_place_that_relays() {
    come_at_once(["symmetric", "symmetric", "symmetric"], &["--relay", "2M"]);
}

#[test]
fn pa_16_visitors_who_come_at_once_are_all_served_by_a_place_that_relays_at_first() {
    come_at_once(["port", "port", "open"], &["--relay", "2M"]);
}

/// A servent that was met has an address for the downloads that no host has: it is nowhere said.
#[test]
fn pa_16_what_is_said_of_a_servent_names_its_link_or_its_place() {
    let Some(network) = network(["port", "port"]) else { return };
    let shared = SharedLink::new(&network, &[]);
    let home = network.place.path("home");
    for (words, code) in [(&["--json"][..], 8), (&[], 8), (&["--json"], 0), (&[], 0)] {
        let what = if code == 0 { "songs/song.ogg" } else { "songs/none.ogg" };
        let what = format!("{}{what}", shared.link);
        let file = home.join(format!("said{code}{}.ogg", words.len())).display().to_string();
        let get = [&["get", &what, "-o", &file, "--state", "said"], words].concat();
        let said = network.servent(2, &get).output().unwrap();
        let [out, err] = [said.stdout, said.stderr].map(|it| String::from_utf8(it).unwrap());
        let told = format!("{out}{err}");
        assert!(!told.contains("fd73"), "{told}");
        if code != 0 {
            assert!(told.contains(&format!("the servent behind {VIA}")), "{told}");
            assert!(
                told.contains(&format!("look what is shared there: {}", shared.link)),
                "{told}"
            );
        }
    }
    shared.ends();
}

/// Wrong codes come through the place, as all that is relayed does: they count where the place
/// sees the one that says them.
#[test]
fn pa_16_wrong_codes_that_are_relayed_keep_out_only_the_one_that_says_them() {
    let Some(network) = network(["symmetric", "symmetric", "symmetric"]) else { return };
    let mut shared = SharedLink::new(&network, &["--relay", "2M"]);
    let (code, place) = shared.link["meet://".len()..].split_once('@').unwrap();
    let half: Vec<&str> = code.split('-').take(2).collect();
    let wrong = format!("meet://{}-moon-moon-moon@{place}songs/song.ogg", half.join("-"));
    for exit in [9, 9, 9, 9, 9, 3] {
        let get = ["get", &wrong, "-o", "none.ogg", "--state", "guesses", "--json"];
        let guessing = Running::start(network.servent(2, &get));
        assert_eq!(guessing.end().code(), Some(exit), "five wrong codes, and then none");
        let told = shared.sharing.event("turned_away");
        assert_eq!(told["why"].as_str().unwrap().contains("is wrong"), exit == 9, "{told}");
    }
    assert_eq!(shared.get(3, 0).end().code(), Some(0), "another one is served");
    shared.has_come(0);
    shared.ends();
}

/// A place that was started again relays nothing of what it relayed before.
#[test]
fn pa_16_a_download_goes_on_when_its_place_is_started_again() {
    let Some(network) = network(["symmetric", "symmetric"]) else { return };
    let relay = ["--relay", "20M"];
    let mut shared = SharedLink::with(&network, &relay, 4_500_000);
    let mut getting = shared.get_with(2, 0, &["--limit-rate", "500k"]);
    getting.event("path");
    pause(Duration::from_secs(1));
    shared.place.take().unwrap().kill();
    let (_, took) = millis(|| getting.event("silent"));
    assert!(took < 10_000, "it says that there is no word after {took} ms");
    shared.place = Some(place(&network, &relay));
    let (code, took) = millis(|| getting.end().code());
    assert_eq!(code, Some(0));
    assert!(took < 16_000, "7 s are missing, and it has them after {took} ms");
    shared.has_come(0);
    shared.ends();
}

/// Downloads know only that their connections have ended, and the servent has not ended them.
#[test]
fn pa_16_a_download_says_that_its_place_ends() {
    let Some(network) = network(["symmetric", "symmetric"]) else { return };
    let mut shared = SharedLink::with(&network, &["--relay", "20M"], 4_500_000);
    let mut getting = shared.get_with(2, 0, &["--limit-rate", "500k"]);
    getting.event("path");
    pause(Duration::from_secs(1));
    let place = shared.place.take().unwrap();
    place.signal("INT");
    let told = getting.event("unmet");
    assert!(told["why"].to_string().contains("is being shut down"), "{told}");
    assert_eq!(place.end().code(), Some(0));
}
