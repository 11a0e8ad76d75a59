//! A site whose members all serve, each its part of the files: a request at the
//! wrong one is sent on, and one that dies hands its part to the others.

use std::collections::BTreeSet;
use std::hash::Hasher as _;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use servent::Clock;
use servent_core::id::FileKey;
use servent_core::lease::Partition;
use servent_core::trace::Digest;

use crate::members::{Member, Site, Told};
use crate::program::{
    Place, Reply, Running, Wire, assert_same, complains, finish, lab_get, noise, until,
};

/// The files that every member has, each in a folder of its own.
const FILES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];
const SIZE: usize = 2_000_000;

/// The members of a divided site.
pub(crate) struct Divided {
    pub(crate) site: Site,
    pub(crate) members: Vec<Member>,
}

impl Divided {
    /// Three of them.
    fn new() -> Option<Self> {
        Self::with_names(&["one", "two", "three"])
    }

    /// With these names; `None` where there is no PostgreSQL.
    pub(crate) fn with_names(names: &[&str]) -> Option<Self> {
        let site = Site::new()?;
        let members: Vec<Member> = names.iter().map(|name| site.member(name)).collect();
        for member in &members {
            let folder = site.place.path(&format!("{}-files/shared", member.state));
            std::fs::create_dir_all(&folder).unwrap();
            for name in FILES {
                std::fs::write(folder.join(name), content(name)).unwrap();
            }
        }
        Some(Self { site, members })
    }

    fn start(&self, member: &Member, more: &[&str]) -> Running {
        let (at, lab) = (member.at.to_string(), member.lab.to_string());
        let folder = format!("{}-files/shared", member.state);
        let mut arguments = vec!["share", &folder, "--json", "--state", &member.state];
        arguments.extend(["--listen", &at, "--lab", &lab, "--store", &self.site.url, "--divide"]);
        arguments.extend(["--set", "store_password_file=secret", "--slots=1"]);
        arguments.extend(["--set=queue.hammer_requests=100000", "--set=queue.per_ip=10000"]);
        arguments.push("--set=limits.connections_per_ip=10000");
        arguments.extend(more);
        let mut running = Running::start(self.site.place.servent(&arguments));
        running.event("hashed");
        running
    }

    /// All of them, when everything is divided among them.
    pub(crate) fn start_all(&self, more: &[&str]) -> Vec<Running> {
        let running = self.members.iter().map(|member| self.start(member, more)).collect();
        self.settled(self.members.len());
        running
    }

    /// Waits until so many members lead all parts, and know it.
    fn settled(&self, count: usize) {
        self.site.settled(&self.members, count, |member| parts(member, "nobodys") == 0);
    }

    /// The member that answers for a file, as every member computes it from its name.
    pub(crate) fn owner(&self, name: &str) -> usize {
        let mut key = Digest::default();
        key.add(&format!("shared/{name}"));
        let part = Partition::containing(FileKey(key.finish()));
        let at = part.owner(self.members.iter().map(|member| member.at)).unwrap();
        self.members.iter().position(|member| member.at == at).unwrap()
    }
}

pub(crate) fn content(name: &str) -> Vec<u8> {
    noise(SIZE + usize::from(name.as_bytes()[0]))
}

/// How many parts of the site are whose, as a member's metrics say.
fn parts(member: &Member, whose: &str) -> u64 {
    let text = String::from_utf8(lab_get(member.lab, "/metrics").body).unwrap();
    let key = format!("servent_site_parts{{servent=\"servent\",whose=\"{whose}\"}} ");
    let value = text.lines().find_map(|line| line.strip_prefix(&key));
    value.unwrap_or_else(|| panic!("no {key} in {text}")).parse().unwrap()
}

/// Asks for a file as PARQ does, with the id of a place.
fn ask(at: SocketAddr, name: &str, id: Option<&str>) -> (Wire, Reply) {
    let mut wire = Wire::connect(at);
    let told = id.map(|id| format!("X-Queued: ID={id}\r\n")).unwrap_or_default();
    wire.send(&format!("GET /shared/{name} HTTP/1.1\r\nHost: h\r\nX-Queue: 1.0\r\n{told}\r\n"));
    let reply = wire.head();
    (wire, reply)
}

/// Where a reply sends one.
fn elsewhere(reply: &Reply) -> Option<SocketAddr> {
    let at = reply.header("location")?.strip_prefix("//")?.split('/').next()?;
    Some(at.parse().unwrap())
}

/// A place, asked for at this member and wherever it sends one; `None` while
/// no member has it.
fn place(at: SocketAddr, name: &str, id: Option<&str>) -> Option<(SocketAddr, Told)> {
    let asked = std::panic::catch_unwind(|| ask(at, name, id)).ok()?;
    let (at, (wire, reply)) = match elsewhere(&asked.1) {
        Some(to) => (to, std::panic::catch_unwind(|| ask(to, name, id)).ok()?),
        None => (at, asked),
    };
    Some((at, Told::from_reply(wire, &reply)?))
}

/// Takes the only slot of a member and keeps it.
fn occupy(member: &Member, name: &str) -> Wire {
    let mut wire = Wire::connect_from([127, 0, 0, 2].into(), member.at);
    wire.send(&format!("GET /shared/{name} HTTP/1.1\r\nHost: h\r\nX-Queue: 1.0\r\n\r\n"));
    assert_eq!(wire.head().status, 200);
    wire
}

/// Slots are kept for the clients that have them, and nothing is quick.
const SLOW: [&str; 3] = [
    "--set=upload_rate=20000",
    "--set=queue.slot_reserve=10m",
    "--set=queue.slot_reserve_contested=10m",
];

/// All clients that wait for a file wait in one line, wherever they ask; when its
/// member dies they keep their places at another one, and when it comes back,
/// there.
#[test]
fn st_4_a_file_has_one_line_and_keeps_it_when_its_member_dies() {
    let Some(divided) = Divided::new() else { return };
    let members = &divided.members;
    let mut running = divided.start_all(&SLOW);
    let all: u64 = members.iter().map(|member| parts(member, "ours")).sum();
    assert_eq!(all, 64);
    assert!(members.iter().all(|member| member.ready() == 200));
    let owner = divided.owner("a");
    let others = [&members[(owner + 1) % 3], &members[(owner + 2) % 3]];
    let reply = Wire::connect(others[0].at).get("/shared/a", &["Connection: close"]);
    assert_eq!((reply.status, elsewhere(&reply)), (307, Some(members[owner].at)));
    let reply = ask(others[1].at, "a", None).1;
    assert_eq!(elsewhere(&reply), Some(members[owner].at));
    assert_eq!((reply.status, reply.header("x-queued")), (503, None));
    assert!(reply.header("x-alt").unwrap().contains(&members[owner].at.to_string()), "{reply:?}");

    let _holder = occupy(&members[owner], "a");
    let mut told: Vec<Told> = Vec::new();
    for n in 0..6 {
        let (at, place) = place(members[n % 3].at, "a", None).expect("a place");
        assert_eq!((at, place.position), (members[owner].at, n as u64 + 1), "it is one line");
        told.push(place);
    }
    let clock = Clock::new();
    let died = clock.now();
    running.remove(owner).kill();
    let keep = |told: &mut Vec<Told>, from: &[&Member]| -> BTreeSet<SocketAddr> {
        let again = told.iter().enumerate().map(|(n, before)| {
            let mut found = None;
            until("a member has the place", || {
                found = place(from[n % from.len()].at, "a", Some(&before.id));
                found.is_some()
            });
            let (at, now) = found.unwrap();
            assert_eq!(now.key(), before.key());
            (at, now)
        });
        let (at, again): (BTreeSet<SocketAddr>, Vec<Told>) = again.unzip();
        *told = again;
        at
    };
    let now_at = keep(&mut told, &others);
    let took = clock.now().since(died);
    println!("a part is taken over after {took:?}");
    assert!(now_at.len() == 1 && !now_at.contains(&members[owner].at), "{now_at:?}");
    assert!(took.as_micros() < 10_000_000, "{took:?}");

    // It comes back, and so does its part.
    running.insert(owner, divided.start(&members[owner], &SLOW));
    divided.settled(3);
    let all: Vec<&Member> = members.iter().collect();
    assert_eq!(keep(&mut told, &all), BTreeSet::from([members[owner].at]));
    // It says goodbye.
    let gone = running.remove(owner);
    gone.signal("TERM");
    assert!(gone.end().success());
    let left = clock.now();
    assert_eq!(keep(&mut told, &others), now_at);
    let took = clock.now().since(left);
    println!("after a goodbye: {took:?}");
    assert!(took.as_micros() < 4_000_000, "{took:?}"); // Two seconds, and a busy machine.
}

/// Uploads take a second or two, intervals are a twentieth, and a client that does not
/// come back keeps no other waiting for long.
const QUICK: [&str; 5] = [
    "--time-scale=20",
    "--set=upload_rate=1500000",
    "--set=queue.slot_reserve=20s",
    "--set=queue.slot_reserve_contested=20s",
    "--set=queue.remanence=10m",
];

fn curl(dir: &Path, at: SocketAddr, name: &str, to: &str) -> Child {
    let mut curl = Command::new("curl");
    curl.args(["-sSL", "--retry", "90", "--retry-all-errors", "--retry-delay", "1", "--fail"]);
    curl.args(["-o", to, &format!("http://{at}/shared/{name}")]).current_dir(dir);
    curl.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

fn get(divided: &Divided, at: SocketAddr, name: &str, (to, dialect): (&str, &str)) -> Child {
    let (url, state) = (format!("http://{at}/shared/{name}"), format!("state-{to}"));
    let mut words = vec!["get", &url, "-o", to, "--state", &state, "--dialect", dialect];
    words.extend(["--wait", "--json", "--time-scale", "20"]);
    let mut get = divided.site.place.servent(&words);
    get.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// curl and our client in its dialects ask members that do not have the part, the
/// member that has it dies in the middle, and every file arrives whole.
#[test]
fn st_4_a_client_that_asks_any_member_gets_the_whole_file_though_its_member_dies() {
    let Some(divided) = Divided::new() else { return };
    let members = &divided.members;
    let mut running = divided.start_all(&QUICK);
    let owner = divided.owner("a");
    let others = [&members[(owner + 1) % 3], &members[(owner + 2) % 3]];
    let dir = divided.site.place.dir.path();
    let mut clients = Vec::new();
    for (n, name) in FILES.iter().enumerate() {
        let at = others[n % 2].at;
        let to = format!("curl-{name}");
        clients.push((*name, to.clone(), curl(dir, at, name, &to)));
        let dialect = ["parq", "passive", "active"][n % 3];
        let to = format!("{dialect}-{name}");
        clients.push((*name, to.clone(), get(&divided, at, name, (&to, dialect))));
    }
    let size = |to: &str| std::fs::metadata(dir.join(to)).map_or(0, |file| file.len());
    until("its member sends it", || size("curl-a") > 0 || size("parq-a.part") > 200_000);
    running.remove(owner).kill();
    for (name, to, child) in clients {
        let output = finish(child);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{to}: {said} {output:?}");
        assert_same(&dir.join(&to), &content(name));
    }
}

/// What a member downloads for itself is in its own state folder, and promises
/// nothing to anybody.
#[test]
fn st_7_a_member_goes_on_downloading_while_the_database_is_away() {
    let Some(divided) = Divided::new() else { return };
    let (there, member) = (Place::new(), &divided.members[0]);
    let (_, bytes) = there.share("film", 2_000_000);
    let source = there.sharing(&["--lab", "off"]);
    let _running = divided.start(member, &["--downloads", "mine"]);
    divided.settled(1);
    divided.site.server.stop();
    let mut first = Wire::connect(member.at);
    first.send("GET /shared/a HTTP/1.1\r\nHost: h\r\nX-Queue: 1.0\r\n\r\n");
    until("it is known", || member.ready() == 503);
    let here = &divided.site.place;
    let url = format!("http://{}/shared/film", source.at);
    let added = here.run(&["downloads", "add", &url, "--state", &member.state]);
    assert_eq!(String::from_utf8_lossy(&added.stdout), "0  film\n");
    until("it is whole", || here.path("mine/film").exists());
    assert_same(&here.path("mine/film"), &bytes);
    assert_eq!(member.ready(), 503);
    divided.site.server.start_again();
    until("it resumes", || member.ready() == 200);
}

/// No client asks, so nothing is to be saved.
#[test]
fn st_7_a_member_that_no_client_asks_notices_that_the_database_is_away() {
    let Some(divided) = Divided::new() else { return };
    let (one, two) = (&divided.members[0], &divided.members[1]);
    let _running = [one, two].map(|member| divided.start(member, &[]));
    divided.settled(2);
    divided.site.server.stop();
    until("both know it", || one.ready() == 503 && two.ready() == 503);
    divided.site.server.start_again();
    until("both resume", || one.ready() == 200 && two.ready() == 200);
}

/// All servents of a site do the same.
#[test]
fn st_4_a_member_that_divides_in_another_way_is_refused() {
    let Some(site) = Site::new() else { return };
    let one = site.member("one");
    let at = one.at.to_string();
    let run = |state: &str, more: &[&str]| {
        let mut arguments = vec!["share", "shared", "--state", state, "--lab", "off"];
        arguments.extend(["--set", "store_password_file=secret", "--divide"]);
        arguments.extend(more);
        let mut command = site.place.servent(&arguments);
        finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    complains(&run("two", &["--listen", &at]), 2, "--store");
    let leading = site.leads(&one);
    let other = site.member("other").at.to_string();
    complains(&run("two", &["--listen", &other, "--store", &site.url]), 2, "--divide");
    leading.signal("TERM");
    assert!(leading.end().success());
    let everywhere = format!("0.0.0.0:{}", one.at.port());
    let refused = run("two", &["--listen", &everywhere, "--store", &site.url]);
    complains(&refused, 2, "--listen ADDRESS:PORT");
}
