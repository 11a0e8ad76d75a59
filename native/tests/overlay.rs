//! Servents joined to an overlay over real TCP: a search at one end of a line
//! finds and downloads from the other, reachable or not.

mod program;

use std::io::{BufRead as _, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};

use program::{Place, Running, noise};
use serde_json::Value;

const SIZE: usize = 300_000;

fn share(place: &Place, name: &str, extra: &[&str]) -> Running {
    let state = format!("state-{name}");
    let folder = format!("folder-{name}");
    std::fs::create_dir_all(place.path(&folder)).unwrap();
    std::fs::write(place.path(&folder).join(format!("{name}.txt")), name).unwrap();
    let listen = "127.0.0.1:0";
    let mut arguments = vec![
        "share",
        &folder,
        "--state",
        &state,
        "--json",
        "--listen",
        listen,
        "--lab",
        "off",
        "--set",
        "overlay.degree=1",
    ];
    arguments.extend(extra);
    let mut running = Running::start(place.servent(&arguments));
    running.at = running.event("listening")["at"].as_str().unwrap().parse().unwrap();
    running.event("hashed");
    running
}

/// Three in a line; the file is at the far end.
fn line(place: &Place, far: &[&str]) -> [Running; 3] {
    std::fs::create_dir_all(place.path("folder-far")).unwrap();
    std::fs::write(place.path("folder-far").join("a rare thing.bin"), noise(SIZE)).unwrap();
    let middle = share(place, "middle", &["--set", "overlay.degree=0"]);
    let peer = middle.at.to_string();
    let mut extra = vec!["--peer", &peer];
    extra.extend(far);
    let far = share(place, "far", &extra);
    let near = share(place, "near", &["--peer", &peer]);
    [near, middle, far]
}

fn search(place: &Place, peer: SocketAddr) -> Vec<Value> {
    let peer = peer.to_string();
    let arguments = [
        "search",
        "RARE",
        "thing",
        "--peer",
        &peer,
        "--json",
        "--wait",
        "4",
        "--state",
        "searching",
        "--set",
        "overlay.degree=1",
        "--set",
        "overlay.deflate=false",
    ];
    let out = place.run(&arguments);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn get(place: &Place, hit: &Value) {
    let (url, sha1) = (hit["get"].as_str().unwrap(), hit["sha1"].as_str().unwrap());
    let out = place.run(&[
        "get",
        url,
        sha1,
        "-o",
        "got.bin",
        "--state",
        "getting",
        "--set",
        "overlay.deflate=false",
    ]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(std::fs::read(place.path("got.bin")).unwrap() == noise(SIZE));
}

#[test]
fn what_is_at_the_other_end_is_found_and_downloaded() {
    let place = Place::new();
    let [near, _middle, far] = line(&place, &[]);
    let hits = search(&place, near.at);
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!(hits[0]["at"], far.at.to_string());
    assert_eq!((&hits[0]["push"], &hits[0]["hops"]), (&Value::Bool(false), &Value::from(2)));
    get(&place, &hits[0]);
}

#[test]
fn from_one_that_cannot_be_reached_it_comes_by_push() {
    let place = Place::new();
    let [near, _middle, _far] = line(&place, &["--set", "overlay.firewalled=true"]);
    let hits = search(&place, near.at);
    assert_eq!(hits[0]["push"], Value::Bool(true), "{hits:?}");
    assert!(hits[0]["get"].as_str().unwrap().starts_with("push://"));
    get(&place, &hits[0]);
}

#[test]
fn nothing_found_is_said_and_a_wrong_neighbour_too() {
    let place = Place::new();
    let alone = share(&place, "alone", &[]);
    let peer = alone.at.to_string();
    let out = place.run(&["search", "nowhere", "--peer", &peer, "--wait", "1", "--state", "s"]);
    assert!(!out.status.success());
    assert!(String::from_utf8_lossy(&out.stderr).contains("nothing was found"));
    let out = place.run(&["search", "x", "--peer", &peer]);
    assert!(String::from_utf8_lossy(&out.stderr).contains("no word of two letters"));
}

/// Fields of all packets to or from a servent, as tshark prints them.
fn decoded(capture: &Path, at: &[SocketAddr], filter: &str) -> Vec<String> {
    let mut tshark = Command::new("tshark");
    tshark.arg("-r").arg(capture);
    for at in at {
        tshark.args(["-d", &format!("tcp.port=={},gnutella", at.port())]);
    }
    let out = tshark.args(["-Y", filter, "-T", "fields", "-e", "_ws.col.Info"]).output().unwrap();
    String::from_utf8_lossy(&out.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn an_independent_decoder_reads_a_real_run() {
    let place = Place::new();
    let plain = ["--set", "overlay.deflate=false"];
    let firewalled = [&plain[..], &["--set", "overlay.firewalled=true"]].concat();
    let [near, middle, far] = line(&place, &firewalled);
    let capture = place.path("run.pcap");
    let mut tshark = Command::new("tshark");
    tshark.args(["-q", "-i", "lo", "-f", "tcp", "-w"]).arg(&capture);
    let started = tshark.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let Ok(mut tshark) = started else {
        return eprintln!("skipped: tshark is not installed");
    };
    let mut words = BufReader::new(tshark.stderr.take().unwrap()).lines().map_while(Result::ok);
    if !words.any(|line| line.contains("Capturing on")) {
        let _ = tshark.wait();
        return eprintln!("skipped: tshark may not capture here");
    }
    let hits = search(&place, near.at);
    get(&place, &hits[0]);
    let interrupted = Command::new("kill").args(["-INT", &tshark.id().to_string()]).status();
    let ended = interrupted.and_then(|_| tshark.wait());
    assert!(ended.is_ok_and(|how| how.success()), "tshark ends when it is told to");
    let all = [near.at, middle.at, far.at];
    for kind in ["Ping", "Pong", "Query", "QueryHit", "Push"] {
        let info = decoded(&capture, &all, "gnutella");
        assert!(info.iter().any(|line| line.contains(kind)), "no {kind} in {info:?}");
    }
    assert_eq!(decoded(&capture, &all, "gnutella && _ws.malformed"), [""; 0]);
}
