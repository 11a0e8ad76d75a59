//! Swarms of a divided site: each is led by one of its members, every member
//! answers for all of them, and one that dies leaves its swarms to the others.

use std::net::SocketAddr;
use std::process::Stdio;

use servent_core::id::FileKey;
use servent_core::lease::Partition;
use servent_core::node::swarm::{PartitionedAccount, swarm_key};
use servent_core::wire::pdtp::url_of;

use crate::members::{Member, Site};
use crate::program::{Running, assert_same, complains, finish, lab_get, noise, until};
use crate::swarm_program::{Raw, number};

const SIZE: usize = 1_500_000;

/// Two members, and two files of which each leads one.
struct Swarms {
    site: Site,
    members: [Member; 2],
    files: [String; 2],
}

impl Swarms {
    fn new() -> Option<Self> {
        let site = Site::new()?;
        let members = ["one", "two"].map(|name| site.member(name));
        let all = [members[0].at, members[1].at];
        let files = [0, 1].map(|member| {
            let mut names = (0..).map(|n| format!("film-{n}.mkv"));
            names.find(|name| owner(name, &all) == all[member]).unwrap()
        });
        for (name, more) in files.iter().zip(0..) {
            std::fs::write(site.place.path(name), noise(SIZE + more)).unwrap();
        }
        Some(Self { site, members, files })
    }

    fn start(&self, member: &Member) -> Running {
        let (at, lab) = (member.at.to_string(), member.lab.to_string());
        let mut arguments = vec!["swarm", "serve", &self.files[0], &self.files[1], "--json"];
        arguments.extend(["--state", &member.state, "--listen", &at, "--lab", &lab]);
        arguments.extend(["--store", &self.site.url, "--divide", "--chunk", "16384"]);
        arguments.extend(["--set", "store_password_file=secret", "--upload-rate", "150k"]);
        arguments.extend(["--metrics", "127.0.0.1:0"]);
        let mut running = Running::start(self.site.place.servent(&arguments));
        running.event("listening");
        running
    }

    fn start_all(&self) -> [Running; 2] {
        let running = [self.start(&self.members[0]), self.start(&self.members[1])];
        self.settled(2);
        running
    }

    /// Waits until so many members lead all parts, and know it.
    fn settled(&self, count: usize) {
        self.site.settled(&self.members, count, |member| {
            member.ready() == 200 && parts(member, "nobodys") == 0
        });
    }

    /// A client that takes this file into a file `to`, and asks this member first.
    fn client(&self, file: usize, member: usize, to: &str) -> Running {
        let url = format!("pdtp://{}/{}", self.members[member].at, self.files[file]);
        let state = format!("state-{to}");
        let words = ["swarm", "get", &url, "-o", to, "--state", &state, "--json"];
        let more = ["--listen", "127.0.0.1:0"];
        Running::start(self.site.place.servent(&[&words[..], &more].concat()))
    }

    /// What this swarm's clients gave and took, as the database has it.
    fn account(&self, file: usize) -> Option<PartitionedAccount> {
        let rows = "SELECT encode(value, 'hex') FROM servent.rows WHERE kind = 14";
        let text = self.site.server.sql(&self.site.url, rows);
        let rows = text.lines().filter(|line| !line.is_empty()).map(|line| {
            let bytes = data_encoding::HEXLOWER.decode(line.trim().as_bytes()).unwrap();
            postcard::from_bytes::<PartitionedAccount>(&bytes).unwrap()
        });
        let mut of_file: Vec<_> = rows.filter(|row| row.swarm == key(&self.files[file])).collect();
        assert!(of_file.len() <= 1, "all clients have one address: {of_file:?}");
        of_file.pop()
    }
}

fn key(name: &str) -> FileKey {
    swarm_key(&url_of(name))
}

/// The member that leads a swarm, as every member computes it from its name.
fn owner(name: &str, members: &[SocketAddr]) -> SocketAddr {
    Partition::containing(key(name)).owner(members.iter().copied()).unwrap()
}

/// How many parts of the site are whose, as a member's metrics say.
fn parts(member: &Member, whose: &str) -> u64 {
    let text = String::from_utf8(lab_get(member.lab, "/metrics").body).unwrap();
    let key = format!("whose=\"{whose}\"}} ");
    let line = text.lines().find(|line| line.starts_with("servent_site_parts{"));
    assert!(line.is_some(), "no parts in {text}");
    let value = text.lines().filter(|line| line.starts_with("servent_site_parts{"));
    let value = value.filter_map(|line| line.split_once(&key)).next();
    value.unwrap_or_else(|| panic!("no {key} in {text}")).1.parse().unwrap()
}

/// Half of the clients ask the wrong member; then one member is killed while all
/// of them are at it.
#[test]
fn st_4_swarms_are_divided_and_go_on_with_their_credits_when_their_member_dies() {
    let Some(swarms) = Swarms::new() else { return };
    let [one, two] = swarms.start_all();
    let all: u64 = swarms.members.iter().map(|member| parts(member, "ours")).sum();
    assert_eq!(all, 64);

    // By hand: the wrong member says where to go, the right one who else there is.
    let url = url_of(&swarms.files[0]);
    let [right, wrong] = [&swarms.members[0], &swarms.members[1]].map(|member| {
        let mut raw = Raw::registered(member.at, "by hand");
        raw.say(&format!(r#"["ask_info",{{"url":"{url}"}}]"#));
        raw.hear_a("tell_info")
    });
    assert_eq!(number(&right, "size"), SIZE as u64);
    assert_eq!(right["others"][0], swarms.members[1].at.to_string());
    assert_eq!(wrong["moved"], swarms.members[0].at.to_string());
    assert!(wrong["size"].is_null() && wrong["gone"].is_string(), "{wrong}");

    let asked = [(0, 0, "a-right"), (0, 1, "a-wrong"), (1, 1, "b-right"), (1, 0, "b-wrong")];
    let mut clients = asked.map(|(file, member, to)| swarms.client(file, member, to));
    for client in &mut clients {
        while number(&client.event("progress"), "held") < 10 {}
    }
    until("credits are kept", || {
        let given = |file| swarms.account(file).map_or(0, |account| account.row.uploads);
        given(0) > 0 && given(1) > 0
    });
    let before = [0, 1].map(|file| swarms.account(file).unwrap());
    let whole = |to: &str| swarms.site.place.path(to).exists();
    assert!(asked.iter().all(|(_, _, to)| !whole(to)), "they are at it");
    one.kill();
    for ((file, _, to), client) in asked.iter().zip(&mut clients) {
        client.event("done");
        assert_same(&swarms.site.place.path(to), &noise(SIZE + file));
    }
    for (file, before) in before.iter().enumerate() {
        let after = swarms.account(file).unwrap();
        assert_eq!((after.swarm, after.row.owner), (before.swarm, before.row.owner));
        assert!(after.row.free, "{after:?}");
        assert!(after.row.uploads >= before.row.uploads, "{before:?} {after:?}");
        assert!(after.row.downloads > before.row.downloads, "{before:?} {after:?}");
    }
    swarms.settled(1);
    assert_eq!(parts(&swarms.members[1], "ours"), 64);
    two.signal("TERM");
    assert!(two.end().success());
}

/// A member that comes takes its swarms over from the members that lead them, and their
/// clients follow.
#[test]
fn st_4_clients_follow_their_swarm_to_a_member_that_comes() {
    let Some(swarms) = Swarms::new() else { return };
    let mut two = swarms.start(&swarms.members[1]);
    let metrics = two.event("metrics")["at"].as_str().unwrap().parse().unwrap();
    swarms.settled(1);
    let text = String::from_utf8(lab_get(metrics, "/metrics").body).unwrap();
    for figure in ["servent_site_parts{whose=\"ours\"} 64", "servent_store_away 0"] {
        assert!(text.contains(figure), "{text}");
    }
    let mut clients = ["first", "second"].map(|to| swarms.client(0, 1, to));
    for client in &mut clients {
        while number(&client.event("progress"), "held") < 5 {}
    }
    let mut one = swarms.start(&swarms.members[0]);
    while one.event("swarm")["counters"]["arrived"].as_u64().unwrap() == 0 {}
    for (client, to) in clients.iter_mut().zip(["first", "second"]) {
        client.event("done");
        assert_same(&swarms.site.place.path(to), &noise(SIZE));
    }
    swarms.settled(2);
}

/// It writes nothing any more, and a service manager starts it again.
#[test]
fn st_4_a_coordinator_that_was_taken_for_dead_ends() {
    let Some(swarms) = Swarms::new() else { return };
    let [_one, two] = swarms.start_all();
    two.signal("STOP");
    until("its swarms are another one's", || parts(&swarms.members[0], "ours") == 64);
    two.signal("CONT");
    assert_eq!(two.end().code(), Some(7));
}

/// A member that divides must have somewhere to write, and be somewhere.
#[test]
fn st_4_a_coordinator_of_no_site_cannot_divide() {
    let Some(site) = Site::new() else { return };
    let run = |more: &[&str]| {
        let mut arguments = vec!["swarm", "serve", "shared/file", "--divide"];
        arguments.extend(["--set", "store_password_file=secret"]);
        arguments.extend(more);
        let mut command = site.place.servent(&arguments);
        finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    complains(&run(&[]), 2, "--store");
    let everywhere = format!("0.0.0.0:{}", site.member("one").at.port());
    complains(&run(&["--store", &site.url, "--listen", &everywhere]), 2, "--listen ADDRESS:PORT");
}
