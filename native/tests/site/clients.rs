//! A takeover as programs see it that wait in line: our own in its three
//! dialects, curl, and gtk-gnutella, which a client by hand stands for.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use data_encoding::BASE32;
use serde_json::Value;
use sha1::{Digest as _, Sha1};

use crate::members::{Member, Site};
use crate::program::{Reply, Wire, assert_same, finish, free_port, lab_get, pause, until};
use crate::recorded::gtk_get;

/// Intervals a twentieth. A member that takes over is quick, and does not keep the
/// slot of a client that had it for long.
const QUICK: [&str; 5] = [
    "--time-scale=20",
    "--set=upload_rate=30000000",
    "--set=queue.slot_reserve=20s",
    "--set=queue.slot_reserve_contested=20s",
    "--set=queue.remanence=10m",
];

/// Two members with one port at two addresses.
fn members() -> [Member; 2] {
    let (port, lab) = (free_port(), free_port());
    [1, 2].map(|n| {
        let at = |port| SocketAddr::from(([127, 0, 2, n], port));
        Member { at: at(port), lab: at(lab), state: n.to_string() }
    })
}

fn length(member: &Member) -> u64 {
    lab_get(member.lab, "/api/view").json()["queue"]["length"].as_u64().unwrap()
}

/// `servent get` in a dialect, which knows both members.
fn get(site: &Site, members: &[Member; 2], dialect: &str) -> Child {
    let [first, second] = members.each_ref().map(|one| format!("http://{}/get/0/file", one.at));
    let state = format!("get-{dialect}");
    let mut words = vec!["get", &first, "--mirror", &second, "-o", dialect, "--state", &state];
    words.extend(["--dialect", dialect, "--wait", "--json", "--time-scale", "20"]);
    let mut command = site.place.servent(&words);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// curl, which knows a name with both addresses.
fn curl(dir: &Path, members: &[Member; 2]) -> Child {
    let [first, second] = members.each_ref().map(|one| one.at);
    let port = first.port();
    let resolve = format!("site.test:{port}:{},{}", first.ip(), second.ip());
    let url = format!("http://site.test:{port}/get/0/file");
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--retry", "90", "--retry-all-errors", "--retry-delay", "1"]);
    curl.args(["--fail", "--interface", "127.0.0.5", "--resolve", &resolve, "-o", "curl"]);
    curl.args(["-H", &format!("Host: {first}"), &url]).current_dir(dir);
    curl.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// The position in a reply, and the id.
fn place(reply: &Reply) -> (u64, String) {
    let position = reply.number("x-queued", "position").unwrap_or_else(|| panic!("{reply:?}"));
    let list = reply.header("x-queued").unwrap();
    let id = list.split(';').find_map(|part| part.trim().strip_prefix("ID=")).unwrap();
    (position as u64, id.to_owned())
}

/// gtk-gnutella has a place at the first member, hangs up, is called by the
/// second, and asks it until it is served.
fn gtk(urn: String, [first, second]: [SocketAddr; 2]) -> JoinHandle<Vec<u8>> {
    let phone = TcpListener::bind("127.0.0.1:0").unwrap();
    let node = format!("X-Node: {}\r\n", phone.local_addr().unwrap());
    let mut wire = Wire::connect(first);
    wire.send(&gtk_get(&urn, first, &node));
    let (mut last, id) = place(&wire.reply());
    std::thread::spawn(move || {
        let (call, _) = phone.accept().unwrap();
        let mut wire = Wire::on(call);
        let line = wire.line().to_lowercase();
        assert!(line.starts_with(&format!("queue {}", id.to_lowercase())), "{line}");
        assert!(line.contains(&second.to_string()), "{line}");
        loop {
            let told = format!("{node}X-Queued: position={last}; ID={id}\r\n");
            wire.send(&gtk_get(&urn, second, &told));
            let reply = wire.reply();
            if reply.status == 200 {
                return reply.body;
            }
            let (position, same) = place(&reply);
            assert!(same == id && position <= last, "{last}, {id}: {reply:?}");
            last = position;
            let wait: f64 = reply.header("retry-after").unwrap().parse().unwrap();
            pause(Duration::from_secs_f64(wait + 0.01));
            if reply.header("connection") == Some("close") {
                wire = Wire::connect(second);
            }
        }
    })
}

/// The positions that a download was told, one after the other.
fn positions(stdout: &[u8]) -> Vec<u64> {
    let lines = String::from_utf8_lossy(stdout);
    let events = lines.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let of = |event: Value| -> Vec<u64> {
        let sources = event["download"]["sources"].as_array().cloned().unwrap_or_default();
        sources.iter().filter_map(|source| source["position"].as_u64()).collect()
    };
    events.flat_map(of).collect()
}

/// A client that is told a place asks again by the times it was told.
#[test]
fn st_3_clients_of_every_kind_that_ask_again_finish_after_a_takeover() {
    finish_after_a_takeover("text", "KILL");
}

/// A client near the front hears nothing until it is served.
#[test]
fn st_3_clients_of_every_kind_that_are_held_finish_after_a_takeover() {
    finish_after_a_takeover("adaptive", "KILL");
}

/// One that is stopped keeps its connections, and takes new ones, but says
/// nothing on them. curl would ask no other address as long as it does.
#[test]
fn st_3_clients_leave_a_leader_that_stands_still() {
    finish_after_a_takeover("adaptive", "STOP");
}

fn finish_after_a_takeover(policy: &str, end: &str) {
    let Some(site) = Site::new() else { return };
    let policy = format!("--set=queue.policy={policy}");
    let members = members();
    let [one, two] = &members;
    let bytes = std::fs::read(site.place.path("shared/file")).unwrap();
    let urn = format!("urn:sha1:{}", BASE32.encode(&Sha1::digest(&bytes)));
    let leading = site.leads_with(one, &[&policy, "--time-scale=20"]);
    let _holder = one.occupy();
    let mut waiting = 0;
    let mut comes = |what: &str| {
        waiting += 1;
        until(what, || length(one) == waiting);
    };
    let mut gets = Vec::new();
    for dialect in ["parq", "passive", "active"] {
        gets.push((dialect, get(&site, &members, dialect)));
        comes(dialect);
    }
    let curl = (end == "KILL").then(|| curl(site.place.dir.path(), &members));
    if curl.is_some() {
        comes("curl");
    }
    let gtk = gtk(urn, [one.at, two.at]);
    comes("gtk-gnutella");
    let mut standing = site.stands_by_with(two, &[&QUICK[..], &[&policy]].concat());
    leading.signal(end);
    standing.event("listening");
    assert!(gtk.join().unwrap() == bytes);
    for (dialect, get) in gets {
        let output = finish(get);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{dialect}: {said}");
        assert_same(&site.place.path(dialect), &bytes);
        let told = positions(&output.stdout);
        // A plain client is told it in words.
        let hears = policy.ends_with("text") && dialect != "passive";
        assert!(!told.is_empty() || !hears, "{dialect} was told nothing");
    }
    if let Some(curl) = curl {
        let output = finish(curl);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_same(&site.place.path("curl"), &bytes);
    }
}

/// A name with the addresses of both members: a client that knew its place at the first one
/// says its id to the second, and keeps it.
#[test]
fn st_3_a_place_is_kept_at_the_other_address_of_a_name() {
    let Some(site) = Site::new() else { return };
    let [one, two] = members();
    let url = format!("http://site.test:{}/get/0/file", one.at.port());
    let words = ["get", &url, "-o", "named", "--state", "state-named", "--dialect", "parq"];
    let words = [&words[..], &["--wait", "--json", "--time-scale", "20"]].concat();
    let named = site.place.knowing("site.test", &[one.at.ip(), two.at.ip()], &words);
    let Some(mut named) = named else { return };
    let policy = ["--set=queue.policy=text", "--set=hosts=[\"site.test\"]", "--time-scale=20"];
    let leading = site.leads_with(&one, &policy);
    let _holder = one.occupy();
    let named = named.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it waits", || length(&one) == 1);
    // Others come later, and stay behind it.
    let _after: Vec<_> = (0..3).map(|_| one.place(None, &[])).collect();
    let mut standing = site.stands_by_with(&two, &[&QUICK[..], &policy[..2]].concat());
    leading.kill();
    standing.event("listening");
    let output = finish(named);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = std::fs::read(site.place.path("shared/file")).unwrap();
    assert_same(&site.place.path("named"), &bytes);
    let told = positions(&output.stdout);
    assert!(!told.is_empty() && told.iter().all(|position| *position == 1), "{told:?}");
}
