//! Whatever a command does, its recording happens again: here by `servent replay`,
//! and when `SERVENT_TAPES` names a folder, the recordings are left there for the
//! page's tests, which run them again in Node and in browsers.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};

use super::trace::{Packet, packets};
use crate::program::{Place, Running, Wire, assert_same, leave_for_page, noise};
use crate::swarm_program::{client, coordinator, number};
use serde_json::Value;

/// Runs a recording again and leaves it for others. What it must have on it says
/// that it is the recording it is meant to be.
#[track_caller]
fn happens_again(place: &Place, tape: &str, on_it: &[&str]) -> Value {
    let replay = place.run(&["replay", tape, "--json"]);
    assert!(replay.status.success(), "{tape}: {}", String::from_utf8_lossy(&replay.stderr));
    let report: Value = serde_json::from_slice(&replay.stdout).unwrap();
    assert!(number(&report, "checkpoints") > 0, "{tape}: {report}");
    assert_eq!(number(&report, "verified"), number(&report, "checkpoints"), "{tape}: {report}");
    for nothing in ["damaged", "unverified_inputs"] {
        assert_eq!(number(&report, nothing), 0, "{tape}: {report}");
    }
    let text = std::fs::read_to_string(place.path(tape)).unwrap();
    for part in on_it {
        assert!(text.contains(part), "{tape} has no {part}");
    }
    leave_for_page(&place.path(tape), tape);
    report
}

/// A servent with a state folder and a shared folder of its own name.
fn sharing(place: &Place, name: &str, file: (&str, &[u8]), extra: &[&str]) -> Running {
    let (folder, state) = (format!("files-{name}"), format!("state-{name}"));
    std::fs::create_dir(place.path(&folder)).unwrap();
    std::fs::write(place.path(&folder).join(file.0), file.1).unwrap();
    let fixed = ["share", &folder, "--state", &state, "--json", "--listen", "127.0.0.1:0"];
    let mut running =
        Running::start(place.servent(&[&fixed[..], &["--lab", "off"], extra].concat()));
    running.at = running.event("listening")["at"].as_str().unwrap().parse().unwrap();
    running.event("hashed");
    running
}

/// Ends it as people do.
#[track_caller]
fn stopped(mut running: Running) {
    running.signal("INT");
    assert_eq!(running.ended().code(), Some(0));
}

#[test]
fn the_tape_of_a_servent_with_neighbours() {
    let place = Place::new();
    let bytes = noise(300_000);
    let leaf = ["--set", "overlay.degree=1"];
    let middle = sharing(&place, "middle", ("nothing", b"x"), &["--trace", "share.sqlog"]);
    let peer = middle.at.to_string();
    let join = [&leaf[..], &["--peer", &peer]].concat();
    let far = sharing(&place, "far", ("a rare thing.bin", &bytes), &join);
    let near = sharing(&place, "near", ("something else", b"y"), &join);
    let asked = near.at.to_string();
    let search = ["search", "rare", "--peer", &asked, "--wait", "4", "--json", "--state", "ask"];
    let found = place.run(&[&search[..], &leaf, &["--trace", "search.sqlog"]].concat());
    assert!(found.status.success(), "{}", String::from_utf8_lossy(&found.stderr));
    assert!(String::from_utf8_lossy(&found.stdout).contains(&far.at.to_string()));
    [near, far, middle].into_iter().for_each(stopped);
    happens_again(&place, "share.sqlog", &["routing:opened", "routing:closed"]);
    happens_again(&place, "search.sqlog", &["routing:opened"]);
}

/// A peer that says that it has the file of this name and sends zeros.
fn liar(urn: String, size: usize) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while let Some((from, to)) = asked(&mut lines, size) {
                let head = format!(
                    "HTTP/1.1 206 Partial Content\r\nContent-Length: {}\r\n\
                     Content-Range: bytes {from}-{to}/{size}\r\nX-Gnutella-Content-URN: {urn}\r\n\r\n",
                    to - from + 1
                );
                let lie = [head.into_bytes(), vec![0; to - from + 1]].concat();
                if stream.write_all(&lie).is_err() {
                    break;
                }
            }
        }
    });
    at
}

/// The range that the next request asks for.
fn asked(
    lines: &mut impl Iterator<Item = std::io::Result<String>>,
    size: usize,
) -> Option<(usize, usize)> {
    let mut range = (0, size - 1);
    for line in lines.by_ref().map_while(Result::ok) {
        if line.is_empty() {
            return Some(range);
        }
        let line = line.to_ascii_lowercase();
        if let Some((from, to)) = line.strip_prefix("range: bytes=").and_then(|r| r.split_once('-'))
        {
            range = (from.parse().ok()?, to.parse().unwrap_or(size).min(size - 1));
        }
    }
    None
}

#[test]
fn the_tape_of_a_download_with_a_liar_among_its_sources() {
    let place = Place::new();
    let bytes = noise(1_500_000);
    let slow = ["--set", "upload_rate=1500000", "--trace", "honest.sqlog"];
    let honest = sharing(&place, "honest", ("film", &bytes), &slow);
    let urn = Wire::connect(honest.at)
        .get("/get/0/film", &["Range: bytes=0-0", "Connection: close"])
        .header("x-gnutella-content-urn")
        .unwrap()
        .to_owned();
    let sources = [honest.at, liar(urn.clone(), bytes.len())];
    let [honest_url, lying_url] = sources.map(|at| format!("http://{at}/get/0/film"));
    let get = ["get", &honest_url, &urn, "--mirror", &lying_url, "--state", "g", "--json"];
    let got = place.run(&[&get[..], &["-o", "film", "--trace", "get.sqlog"]].concat());
    assert!(got.status.success(), "{}", String::from_utf8_lossy(&got.stderr));
    assert_same(&place.path("film"), &bytes);
    stopped(honest);
    let told = ["fetch:tree_learnt", "fetch:piece_wrong", "fetch:source_lost"];
    happens_again(&place, "get.sqlog", &told);
    happens_again(&place, "honest.sqlog", &["conn:accepted", "conn:started"]);
}

/// The bytes of a datagram in a packet over IPv4.
fn udp((_, packet, ..): &Packet) -> usize {
    assert_eq!((packet[0], packet[9]), (0x45, 17));
    packet.len() - 28
}

/// The port of an address as it stands in a packet.
fn port(at: &str) -> [u8; 2] {
    at.parse::<SocketAddr>().unwrap().port().to_be_bytes()
}

#[test]
fn the_tapes_of_messages_under_loss() {
    let place = Place::new();
    let bytes = noise(200_000);
    std::fs::write(place.path("song.ogg"), &bytes).unwrap();
    let receive =
        ["receive", "--open", "--yes", "--listen", "127.0.0.1:0", "-o", "in/", "--once", "--json"];
    let lossy = ["--loss", "5%", "--trace"];
    let receive = [&receive[..], &lossy, &["receive.sqlog"]].concat();
    let mut receiving = Running::start(place.servent(&receive));
    let at = receiving.event("listening")["address"].as_str().unwrap().to_owned();
    let sent =
        place.run(&[&["send", "--open", &at, "song.ogg"], &lossy[..], &["send.sqlog"]].concat());
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    assert_eq!(receiving.ended().code(), Some(0));
    assert_same(&place.path("in/song.ogg"), &bytes);
    happens_again(&place, "receive.sqlog", &["unicast:requested"]);
    happens_again(&place, "send.sqlog", &["unicast:resent"]);

    // Every datagram is a packet that other programs read.
    let export = ["trace", "export", "send.sqlog", "--pcapng", "-o", "send.pcapng"];
    assert!(place.run(&export).status.success());
    let packets = packets(&std::fs::read(place.path("send.pcapng")).unwrap());
    let sent: usize = packets.iter().filter(|(_, b, ..)| b[22..24] == port(&at)).map(udp).sum();
    assert!(sent > bytes.len(), "{sent} bytes left in {} packets", packets.len());
}

#[test]
fn the_tapes_of_a_swarm_and_of_a_client_that_was_stopped() {
    let place = Place::new();
    let (server, bytes) =
        coordinator(&place, 800_000, "127.0.0.1:0", &["--trace", "swarm-serve.sqlog"]);
    let slow = ["--download-rate", "150k", "--trace", "swarm-stopped.sqlog"];
    let mut first = client(&place, server.at, "a", &slow);
    while number(&first.event("progress"), "held") < 3 {}
    first.signal("INT");
    assert_eq!(first.ended().code(), Some(130));
    let mut again = client(&place, server.at, "a", &["--trace", "swarm-resumed.sqlog"]);
    assert!(number(&again.event("done"), "resumed") >= 3);
    assert_same(&place.path("a"), &bytes);
    assert_eq!(again.ended().code(), Some(0));
    stopped(server);
    let tapes = [
        ("swarm-serve.sqlog", &["swarm:registered", "swarm:finished"][..]),
        ("swarm-stopped.sqlog", &["client:receiving"]),
        ("swarm-resumed.sqlog", &["client:receiving"]),
    ];
    for (tape, on_it) in tapes {
        let report = happens_again(&place, tape, on_it);
        assert!(number(&report, "inputs") > 20, "{report}");
    }
}

#[test]
fn the_tapes_of_a_coordinator_and_of_two_clients_that_give_to_each_other() {
    let place = Place::new();
    let slow = ["--upload-rate", "300k", "--slots", "2", "--trace", "swarm-both.sqlog"];
    let (server, bytes) = coordinator(&place, 800_000, "127.0.0.1:0", &slow);
    let mut clients = ["one", "two"].map(|name| {
        let tape = format!("swarm-{name}.sqlog");
        let stays = ["--seed-for", "60s", "--upload-rate", "1M", "--trace", &tape];
        client(&place, server.at, name, &stays)
    });
    let done = clients.each_mut().map(|client| client.event("done"));
    for (client, fact) in clients.iter_mut().zip(&done) {
        assert!(number(fact, "from_peers") > 0, "{fact}");
        client.signal("INT");
    }
    for (mut client, name) in clients.into_iter().zip(["one", "two"]) {
        assert_eq!(client.ended().code(), Some(0));
        assert_same(&place.path(name), &bytes);
    }
    stopped(server);
    happens_again(&place, "swarm-both.sqlog", &["swarm:registered", "swarm:finished"]);
    for tape in ["swarm-one.sqlog", "swarm-two.sqlog"] {
        happens_again(&place, tape, &["client:receiving", "client:sending"]);
    }
}
