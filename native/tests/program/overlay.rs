//! Servents joined to an overlay over real TCP: a search at one end of a line
//! finds and downloads from the other, reachable or not.

use crate::program;

use std::io::{BufRead as _, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use data_encoding::BASE32_NOPAD;
use program::{Place, Running, complains, noise};
use serde_json::Value;
use sha1::{Digest as _, Sha1};

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

fn search(place: &Place, peer: SocketAddr, words: &[&str]) -> Vec<Value> {
    let peer = peer.to_string();
    let how = [
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
    let out = place.run(&[&["search"], words, &how].concat());
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let events = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    events.filter(|event| event["event"] != "failed").collect()
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
fn hits_have_numbers_and_the_peers_of_a_search_are_met_again() {
    let place = Place::new();
    let [near, _middle, _far] = line(&place, &[]);
    let peer = near.at.to_string();
    // It ends by itself long before: every peer was asked.
    let found = place.run(&["search", "ráre", "--peer", &peer, "--wait", "600", "--state", "s"]);
    let hits = String::from_utf8(found.stdout).unwrap();
    assert!(hits.starts_with("  1  "), "{hits}{}", String::from_utf8_lossy(&found.stderr));
    // The peer is met again without being named.
    let again = place.run(&["search", "rare", "--state", "s"]);
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let got = place.run(&["get", "1", "-o", "got", "--state", "s"]);
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
    assert!(std::fs::read(place.path("got")).unwrap() == noise(SIZE));
    crate::program::complains(&place.run(&["get", "99", "--state", "s"]), 2, "the last search");
}

#[test]
fn what_is_at_the_other_end_is_found_and_downloaded() {
    let place = Place::new();
    let [near, _middle, far] = line(&place, &[]);
    let hits = search(&place, near.at, &["RARE", "thing"]);
    assert_eq!(hits.len(), 1, "{hits:?}");
    assert_eq!(hits[0]["at"], far.at.to_string());
    assert_eq!((&hits[0]["push"], &hits[0]["hops"]), (&Value::Bool(false), &Value::from(2)));
    get(&place, &hits[0]);
}

#[test]
fn from_one_that_cannot_be_reached_it_comes_by_push() {
    let place = Place::new();
    let [near, _middle, _far] = line(&place, &["--set", "overlay.firewalled=true"]);
    let hits = search(&place, near.at, &["RARE", "thing"]);
    assert_eq!(hits[0]["push"], Value::Bool(true), "{hits:?}");
    assert!(hits[0]["get"].as_str().unwrap().starts_with("push://"));
    get(&place, &hits[0]);
}

/// A hit may name an address that leads nowhere, and proxies that do not.
#[test]
fn one_that_is_not_where_it_says_comes_by_its_push_proxy() {
    let place = Place::new();
    let [near, _middle, _far] = line(&place, &["--set", "overlay.firewalled=true"]);
    let mut hits = Vec::new();
    program::until("its proxy is told", || {
        hits = search(&place, near.at, &["RARE", "thing"]);
        hits.first().is_some_and(|hit| hit["proxies"].as_array().is_some_and(|all| !all.is_empty()))
    });
    let (url, sha1) = (hits[0]["get"].as_str().unwrap(), hits[0]["sha1"].as_str().unwrap());
    let dead = format!("http://127.0.0.1:{}/get/0/thing", program::free_port());
    let out =
        place.run(&["get", url, sha1, "--mirror", &dead, "-o", "got.bin", "--state", "getting"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(std::fs::read(place.path("got.bin")).unwrap() == noise(SIZE));
}

#[test]
fn a_file_of_which_only_the_hash_is_known_is_found_and_downloaded() {
    // The hash is known a moment after the name, and told to neighbours then.
    let soon = ["--set", "overlay.keywords_every=1s"];
    for far in [&[][..], &["--set", "overlay.firewalled=true"]] {
        let place = Place::new();
        let [near, _middle, _far] = line(&place, &[&soon, far].concat());
        let urn = format!("urn:sha1:{}", BASE32_NOPAD.encode(&Sha1::digest(noise(SIZE))));
        while search(&place, near.at, &[&urn]).is_empty() {}
        let peer = near.at.to_string();
        let known = ["--peer", &peer, "--state", "getting", "--set", "overlay.degree=1"];
        // The name is that of the hit.
        let out = place.run(&[&["get", &urn][..], &known].concat());
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        assert!(std::fs::read(place.path("a rare thing.bin")).unwrap() == noise(SIZE));
        // A magnet link has one of its own.
        let magnet = format!("magnet:?xt={urn}&dn=other.bin");
        let out = place.run(&[&["get", &magnet][..], &known].concat());
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        assert!(place.path("other.bin").exists());
        let absent = "urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";
        complains(
            &place.run(&[&["get", absent][..], &known].concat()),
            3,
            "no servent has urn:sha1:",
        );
    }
}

/// It waits for a neighbour that is a meeting place, and says so.
#[test]
fn pa_16_one_that_no_neighbour_helps_to_be_met_says_why() {
    let place = Place::new();
    let other = share(&place, "other", &[]);
    let peer = other.at.to_string();
    let meet = ["--meet", "neighbour", "--peer", &peer, "--set", "overlay.firewalled=true"];
    let mut sharing = share(&place, "shared", &meet);
    let told = sharing.event("no_place");
    assert_eq!((&told["neighbours"], &told["firewalled"]), (&1.into(), &true.into()), "{told}");
    let why = "1 neighbour was asked, and none is a meeting place. Name one with --meet HOST";
    assert!(told["why"].as_str().unwrap().starts_with(why), "{told}");
    let status = place.run(&["status", "--state", "state-shared"]);
    let status = String::from_utf8_lossy(&status.stdout).into_owned();
    let said = format!("not met at the place of a neighbour yet: {why}");
    assert!(status.contains(&said), "{status}");
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

/// tshark at work: it prints each packet as it captures it, so a test can know
/// that it has begun and that it has seen the end.
struct Capture {
    tshark: Child,
    seen: Receiver<String>,
    ports: Vec<u16>,
    file: PathBuf,
}

/// What a payload byte of the header stands for.
const KINDS: [(&str, &str); 5] =
    [("Ping", "0"), ("Pong", "1"), ("Query", "128"), ("QueryHit", "129"), ("Push", "64")];

impl Capture {
    /// Nothing but the overlay's own ports, so that no other test's bytes can
    /// crowd ours out. `None` where tshark is missing or may not capture.
    fn begin(file: PathBuf, at: &[SocketAddr]) -> Option<Self> {
        let ports: Vec<u16> = at.iter().map(SocketAddr::port).collect();
        let only: Vec<String> = ports.iter().map(|port| format!("tcp port {port}")).collect();
        let mut command = Command::new("tshark");
        command.args(["-l", "-P", "-i", "lo", "-B", "16", "-f", &only.join(" or "), "-w"]);
        decode_as_gnutella(&mut command, &ports).arg(&file);
        let started = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn();
        let Ok(mut tshark) = started else {
            eprintln!("skipped: tshark is not installed");
            return None;
        };
        let out = BufReader::new(tshark.stdout.take().unwrap());
        let (say, seen) = channel();
        std::thread::spawn(move || {
            out.lines().map_while(Result::ok).try_for_each(|line| say.send(line))
        });
        // Knocking until the knock itself is seen: only then does it listen.
        for _ in 0..100 {
            drop(TcpStream::connect(at[0]));
            match seen.recv_timeout(Duration::from_millis(300)) {
                Ok(_) => return Some(Self { tshark, seen, ports, file }),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => {
                    let _ = tshark.wait();
                    eprintln!("skipped: tshark may not capture here");
                    return None;
                }
            }
        }
        panic!("tshark runs and sees nothing");
    }

    /// Ends it once a packet has been seen that says so.
    fn end_after(mut self, word: &str) -> Decoded {
        let patience = Duration::from_secs(60);
        while !self.seen.recv_timeout(patience).expect(word).contains(word) {}
        let process = self.tshark.id().to_string();
        let interrupted = Command::new("kill").args(["-INT", &process]).status();
        assert!(interrupted.is_ok_and(|how| how.success()));
        assert!(self.tshark.wait().is_ok(), "tshark ends when it is told to");
        Decoded { ports: self.ports, file: self.file }
    }
}

/// A finished capture.
struct Decoded {
    ports: Vec<u16>,
    file: PathBuf,
}

impl Decoded {
    /// A field of all packets that fit a filter.
    fn field(&self, filter: &str, field: &str) -> Vec<String> {
        let mut tshark = Command::new("tshark");
        tshark.arg("-r").arg(&self.file).args(["-Y", filter, "-T", "fields", "-e", field]);
        let out = decode_as_gnutella(&mut tshark, &self.ports).output().unwrap();
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        text.split([',', '\n']).filter(|value| !value.is_empty()).map(str::to_owned).collect()
    }
}

fn decode_as_gnutella<'a>(tshark: &'a mut Command, ports: &[u16]) -> &'a mut Command {
    for port in ports {
        tshark.args(["-d", &format!("tcp.port=={port},gnutella")]);
    }
    tshark
}

#[test]
fn an_independent_decoder_reads_a_real_run() {
    let place = Place::new();
    let plain = ["--set", "overlay.deflate=false"];
    let firewalled = [&plain[..], &["--set", "overlay.firewalled=true"]].concat();
    let [near, middle, far] = line(&place, &firewalled);
    let all = [near.at, middle.at, far.at];
    let Some(capture) = Capture::begin(place.path("run.pcap"), &all) else { return };
    let hits = search(&place, near.at, &["RARE", "thing"]);
    get(&place, &hits[0]);
    let run = capture.end_after("Push");
    let payloads = run.field("gnutella", "gnutella.header.payload");
    for (kind, payload) in KINDS {
        assert!(payloads.iter().any(|seen| seen == payload), "no {kind} in {payloads:?}");
    }
    assert_eq!(run.field("gnutella && _ws.malformed", "frame.number"), [""; 0]);
}

#[test]
fn beginnings_of_words_find_a_file_once_with_all_that_have_it() {
    let place = Place::new();
    std::fs::create_dir_all(place.path("folder-near")).unwrap();
    std::fs::write(place.path("folder-near").join("the rare thing.bin"), noise(SIZE)).unwrap();
    let [_near, middle, far] = line(&place, &[]);
    program::until("both are found", || {
        let found = search(&place, middle.at, &["thi", "rar", "--sort", "sources"]);
        let [file] = &found[..] else { return false };
        let get = file["get"].as_str().unwrap();
        file["sources"] == 2 && get.starts_with("urn:sha1:") && get.contains(&far.at.to_string())
    });
}
