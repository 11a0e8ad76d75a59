//! A swarm of programs on the loopback: one coordinator, several clients,
//! and what may go wrong.

use crate::program;
use crate::swarm_program;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};

use program::{PATIENCE, Place, Running, Wire, assert_same, complains, free_port, noise, until};
use serde_json::Value;
use servent::driver::{Coordinate, Driver, ServentOptions};
use servent::swarm::GetOptions;
use servent_core::swarm::FileSpec;
use servent_core::wire::pdtp::url_of;
use swarm_program::{Raw, client, coordinator, coordinator_in_pieces, number, url};

#[test]
fn many_take_a_file_from_each_other_and_the_source_sends_little_more_than_one() {
    const SIZE: usize = 1_500_000;
    let place = Place::new();
    let (mut server, bytes) =
        coordinator(&place, SIZE, "127.0.0.1:0", &["--upload-rate", "500k", "--slots", "2"]);
    let names = ["a", "b", "c", "d", "e", "f"];
    let stays = ["--seed-for", "60s", "--upload-rate", "1M"];
    let mut clients: Vec<Running> = names
        .iter()
        .map(|name| {
            let passive: &[&str] = if *name == "c" { &["--passive"] } else { &[] };
            client(&place, server.at, name, &[&stays, passive].concat())
        })
        .collect();
    let done: Vec<Value> = clients.iter_mut().map(|client| client.event("done")).collect();
    for (name, fact) in names.iter().zip(&done) {
        assert_same(&place.path(name), &bytes);
        assert_eq!(number(fact, "held"), number(fact, "pieces"), "{fact}");
    }
    let given: u64 = done.iter().map(|fact| number(fact, "from_peers")).sum();
    let taken: u64 = done.iter().map(|fact| number(fact, "from_source")).sum();
    assert_eq!((given + taken) as usize, names.len() * SIZE);
    assert!(taken < 3 * SIZE as u64, "the source sent {taken} bytes for {SIZE}");
    // Goodbye in peace, also from those that still give.
    for client in &mut clients {
        client.signal("INT");
        assert_eq!(client.ended().code(), Some(0));
    }
    server.signal("INT");
    assert_eq!(server.ended().code(), Some(0));
}

#[test]
fn a_client_that_was_killed_goes_on_with_the_pieces_it_had() {
    let place = Place::new();
    let (server, bytes) = coordinator(&place, 800_000, "127.0.0.1:0", &[]);
    let mut first = client(&place, server.at, "a", &["--download-rate", "100k"]);
    let held = loop {
        let held = number(&first.event("progress"), "held");
        if held >= 3 {
            break held;
        }
    };
    first.kill();
    assert!(place.path("a.part").exists() && !place.path("a").exists());
    let mut again = client(&place, server.at, "a", &[]);
    let done = again.event("done");
    assert!(number(&done, "resumed") >= held, "{held} were there: {done}");
    assert!(number(&done, "from_source") < 800_000, "it began anew: {done}");
    assert_same(&place.path("a"), &bytes);
    assert!(!place.path("a.part").exists());
    assert_eq!(again.ended().code(), Some(0));
}

#[test]
fn a_client_whose_coordinator_is_gone_says_so_and_ends() {
    let place = Place::new();
    let slow = ["--upload-rate", "50k"];
    let (mut server, _) = coordinator(&place, 800_000, "127.0.0.1:0", &slow);
    let mut one = client(&place, server.at, "a", &["--timeout", "1"]);
    one.event("progress");
    server.signal("INT");
    assert_eq!(server.ended().code(), Some(0));
    let failed = one.event("failed");
    let what = failed["what"].as_str().unwrap();
    assert!(what.contains("is gone, and ") && what.contains(" pieces are missing"), "{failed}");
    assert_eq!(one.ended().code(), Some(3));
}

#[test]
fn a_coordinator_that_was_killed_comes_back_and_no_client_starts_over() {
    let place = Place::new();
    let at = format!("127.0.0.1:{}", free_port());
    let (server, bytes) = coordinator(&place, 800_000, &at, &[]);
    let mut one = client(&place, server.at, "a", &["--download-rate", "150k"]);
    let held = loop {
        let held = number(&one.event("progress"), "held");
        if held >= 3 {
            break held;
        }
    };
    server.kill();
    let (server, _) = coordinator(&place, 800_000, &at, &[]);
    let done = one.event("done");
    assert!(number(&done, "held") > held && number(&done, "from_source") <= 900_000, "{done}");
    assert_same(&place.path("a"), &bytes);
    drop(server);
    // Which client came, and what it took, was written before it was reported.
    assert!(std::fs::metadata(place.path("s/swarm/state.redb")).unwrap().len() > 0);
}

#[test]
fn what_cannot_be_had_is_told_in_one_sentence() {
    let place = Place::new();
    let (server, _) = coordinator(&place, 100_000, "127.0.0.1:0", &[]);
    let run = |url: &str, extra: &[&str]| {
        let fixed = ["swarm", "get", url, "--state", "clients", "--listen", "127.0.0.1:0"];
        place.run(&[&fixed[..], extra].concat())
    };
    let absent = format!("pdtp://127.0.0.1:{}/f", free_port());
    complains(&run(&absent, &[]), 3, "no coordinator answers");
    complains(&run(&format!("pdtp://{}/other", server.at), &[]), 9, "does not know the file");
    complains(&run("http://h/f", &[]), 2, "not a URL of a swarm");
    std::fs::write(place.path("mine"), "mine").unwrap();
    complains(&run(&url(server.at), &["-o", "mine"]), 4, "is there already");
    let wrong = "0".repeat(64);
    let other = run(&url(server.at), &["-o", "x", "--sha256", &wrong]);
    complains(&other, 5, "is not the file asked for");
    assert!(!place.path("x").exists());
    let rules = ["swarm", "serve", "mine", "--state", "s4", "--set", "swarm.policy=fair"];
    complains(&place.run(&rules), 2, "`swarm.policy`");
    let taken = server.at.to_string();
    let twice = ["swarm", "serve", "mine", "--listen", &taken, "--state", "s2"];
    complains(&place.run(&twice), 6, "in use");
    complains(
        &place.run(&["swarm", "serve", "none", "--state", "s3", "--listen", "127.0.0.1:0"]),
        4,
        "none",
    );
    complains(
        &place.run(&["swarm", "serve", "mine", "--state", "s", "--listen", "127.0.0.1:0"]),
        7,
        "in use by another",
    );
}

#[test]
fn strangers_and_garbage_disturb_no_client() {
    let place = Place::new();
    let (server, bytes) = coordinator(&place, 300_000, "127.0.0.1:0", &[]);
    // The source sends only to clients that the coordinator has sent to it.
    let strangers = ["Range: bytes=0-99", "Range: bytes=0-99\r\nX-PDTP-Peer-Id: forged"];
    for stranger in strangers {
        assert_eq!(Wire::connect(server.at).get("/film.mkv", &[stranger]).status, 403);
    }
    assert_eq!(Wire::connect(server.at).get("/../../etc/passwd", &[]).status, 404);
    for garbage in [&b"\x00\x00"[..], b"\x00\x05hello", b"\x00\x02[]", b"\xff\xff", b"\x00"] {
        let mut stream = TcpStream::connect(server.at).unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(garbage).unwrap();
        if garbage.len() > 2 || garbage[1..] == [0] {
            let mut said = Vec::new();
            stream.read_to_end(&mut said).unwrap();
            assert!(String::from_utf8_lossy(&said).contains("protocol_error"), "{garbage:?}");
        }
    }
    let mut one = client(&place, server.at, "a", &[]);
    one.event("done");
    assert_same(&place.path("a"), &bytes);
}

/// A coordinator that sends its client to an address of ours.
#[test]
fn a_client_says_goodbye_to_a_coordinator_that_lies_and_keeps_its_senses() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut heard = [0; 4_096];
            let _ = stream.read(&mut heard);
            let say = |text: &str| {
                let mut frame = (text.len() as u16).to_be_bytes().to_vec();
                frame.extend_from_slice(text.as_bytes());
                frame
            };
            let url = "pdtp://swarm/film.mkv";
            let info = format!(r#"["tell_info",{{"url":"{url}","size":10,"chunkSize":10}}]"#);
            let there = format!(
                r#"["transfer",{{"peer":"0.0.0.0","url":"{url}","range":{{"min":0,"max":9}},"peer_id":"x","port":1,"method":"GET"}}]"#
            );
            for text in [info.as_str(), &there, r#"["tell_verify",{}]"#, "nonsense"] {
                let _ = stream.write_all(&say(text));
            }
            let _ = stream.read(&mut heard);
        }
    });
    let mut one = client(&place, at, "a", &[]);
    let mut pieces = 0;
    until("the client knows of the piece", || {
        pieces = number(&one.event("progress"), "pieces");
        pieces == 1
    });
    one.signal("INT");
    assert_eq!(one.ended().code(), Some(130));
    assert!(!place.path("a").exists());
}

#[test]
fn a_proxy_is_a_source_too() {
    let place = Place::new();
    let bytes = noise(400_000);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let proxy = listener.local_addr().unwrap().to_string();
    let (asked, requests) = std::sync::mpsc::channel();
    let copy = bytes.clone();
    // Any server that knows ranges: `GET /film.mkv` with `Range: bytes=a-b`,
    // one request after another on a connection.
    std::thread::spawn(move || {
        for (connection, mut stream) in listener.incoming().map_while(Result::ok).enumerate() {
            let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
            while let Some(range) = lines.find_map(|line| {
                line.map_or(Some(None), |line| {
                    Some(Some(line.to_lowercase().strip_prefix("range: bytes=")?.to_owned()))
                })
            }) {
                let Some(range) = range else { break };
                let (a, b) = range.split_once('-').unwrap();
                let (a, b): (usize, usize) = (a.parse().unwrap(), b.trim().parse().unwrap());
                let head = format!("HTTP/1.1 206 OK\r\nContent-Length: {}\r\n\r\n", b + 1 - a);
                let _ = stream.write_all(&[head.as_bytes(), &copy[a..=b]].concat());
                let _ = asked.send(connection);
            }
        }
    });
    let proxied = ["--proxy", &proxy, "--slots", "1", "--upload-rate", "100k"];
    let (server, _) = coordinator(&place, 400_000, "127.0.0.1:0", &proxied);
    let done = client(&place, server.at, "a", &[]).event("done");
    assert_eq!(number(&done, "from_source"), 400_000);
    assert_same(&place.path("a"), &bytes);
    let connections: Vec<usize> = requests.try_iter().collect();
    assert!(connections.len() > 5, "the proxy, which is faster, has sent most of it");
    assert_eq!(connections.last(), Some(&0), "one connection is enough for all of them");
}

/// Both sides can say at any time what they are doing.
#[test]
fn a_coordinator_tells_a_collector_and_its_owner_how_it_goes() {
    let place = Place::new();
    let metrics = ["--metrics", "127.0.0.1:0"];
    let (mut server, bytes) = coordinator(&place, 300_000, "127.0.0.1:0", &metrics);
    let at = server.event("metrics")["at"].as_str().unwrap().parse().unwrap();
    let mut one = client(&place, server.at, "a", &["--seed-for", "60s"]);
    let done = one.event("done");
    assert_same(&place.path("a"), &bytes);
    let mut refused = Raw::connect(server.at);
    refused.say("[]");
    refused.is_shown_out("");
    let facts = Wire::connect(at).get("/status", &[]).json();
    assert_eq!(number(&facts, "clients"), 1, "{facts}");
    assert_eq!(number(&facts, "sent"), 300_000, "{facts}");
    let arrived = number(&facts["counters"], "arrived");
    assert_eq!(arrived, number(&done, "pieces"));
    assert_eq!(number(&facts["reasons"]["assigned"], "unseen"), arrived);
    assert_eq!(number(&facts["files"][0]["clients"][0], "held"), arrived);
    let text = String::from_utf8(Wire::connect(at).get("/metrics", &[]).body).unwrap();
    for line in [
        "servent_swarm_clients 1",
        "servent_swarm_source_bytes_total 300000",
        "servent_swarm_source_copies 1",
        "servent_swarm_refused_total{why=\"unreadable\"} 1",
        &format!("servent_swarm_assigned_total{{why=\"unseen\"}} {arrived}"),
        "servent_swarm_quarantined_total 0",
    ] {
        assert!(text.lines().any(|found| found == line), "no {line} in {text}");
    }
    // A page of another site cannot ask through its visitor.
    let forged = "GET /status HTTP/1.1\r\nHost: evil.example\r\n\r\n";
    let mut wire = Wire::connect(at);
    wire.send(forged);
    assert_eq!(wire.reply().status, 421);
    // A client that goes says goodbye, and is no client any more.
    one.signal("TERM");
    assert_eq!(one.ended().code(), Some(0));
    until("the client has left", || {
        number(&Wire::connect(at).get("/status", &[]).json(), "clients") == 0
    });
    server.signal("TERM");
    assert_eq!(server.ended().code(), Some(0));
}

/// Nothing that a shaped end sends or takes is faster than it may be.
#[test]
fn rates_hold_in_both_directions() {
    let place = Place::new();
    let rate = ["--upload-rate", "400k"];
    let (server, _) = coordinator(&place, 800_000, "127.0.0.1:0", &rate);
    let watch = servent::Clock::new();
    let seconds = |since: servent_core::time::Instant| {
        watch.now().since(since).as_micros() as f64 / 1_000_000.0
    };
    let begun = watch.now();
    client(&place, server.at, "a", &[]).event("done");
    assert!(seconds(begun) >= 1.7, "the source sent 800 kB in {:.2} s", seconds(begun));
    drop(server);
    let other = Place::new();
    let (server, _) = coordinator(&other, 800_000, "127.0.0.1:0", &[]);
    let begun = watch.now();
    client(&other, server.at, "a", &["--download-rate", "400k"]).event("done");
    assert!(seconds(begun) >= 1.7, "the client took 800 kB in {:.2} s", seconds(begun));
}

/// What a client has is told as ranges, over as many frames as that takes.
#[test]
fn sw_26_thousands_of_pieces_resume_as_ten_do() {
    let place = Place::new();
    let at = format!("127.0.0.1:{}", free_port());
    let small = ["--chunk", "128", "--slots", "16"];
    let size = 128 * 3_000;
    let (server, bytes) = coordinator_in_pieces(&place, size, &at, &small);
    let mut first = client(&place, server.at, "a", &[]);
    while number(&first.event("progress"), "held") < 600 {}
    first.kill();
    let mut again = client(&place, server.at, "a", &[]);
    let resumed = number(&again.event("progress"), "resumed");
    assert!(resumed >= 600, "{resumed} pieces are left");
    server.kill();
    let (server, _) = coordinator_in_pieces(&place, size, &at, &small);
    let done = again.event("done");
    assert_eq!(number(&done, "pieces"), 3_000, "{done}");
    assert_same(&place.path("a"), &bytes);
    drop(server);
}

/// One servent, on one port: it shares a folder by its queue, and coordinates
/// a swarm.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_servent_shares_and_coordinates_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let (shared, film) = (dir.path().join("shared"), dir.path().join("film.mkv"));
    std::fs::create_dir(&shared).unwrap();
    let (song, bytes) = (noise(50_000), noise(300_000));
    std::fs::write(shared.join("song.ogg"), &song).unwrap();
    std::fs::write(&film, &bytes).unwrap();
    let hashed = servent::swarm::hash_file(&film, 16_384).unwrap();
    let (url, size) = (url_of("film.mkv"), hashed.size);
    let (hashes, sha256) = (hashed.pieces.into(), Some(hashed.whole));
    let spec = FileSpec { url: url.clone(), size, chunk: 16_384, hashes, sha256 };
    let mut options = ServentOptions {
        shares: vec![shared],
        coordinate: Some(Coordinate { files: vec![(film, spec)], slots: 4, proxies: Vec::new() }),
        ..ServentOptions::under(dir.path().join("state"))
    };
    options.node.swarm.coordinator = Some(servent_core::swarm::Config::default());
    let servent = Driver::start(options).await.unwrap();
    let at = servent.addr().unwrap();
    let target = dir.path().join("taken.mkv");
    let wish = GetOptions::under(&dir.path().join("client"), at, url, target.clone());
    let mut fetch = servent::swarm::get(wish).await.unwrap();
    let visitor = tokio::task::spawn_blocking(move || {
        Wire::connect(at).get("/get/0/song.ogg", &["Connection: close"])
    });
    let reply = visitor.await.unwrap();
    assert_eq!((reply.status, reply.body.len()), (200, song.len()));
    assert_eq!(reply.body, song);
    let progress = fetch.ended().await.unwrap();
    assert_eq!(progress.from_source, bytes.len() as u64);
    assert_same(&target, &bytes);
    let view = servent.swarm(0).await.unwrap().coordinator.unwrap();
    assert_eq!(view.sent, bytes.len() as u64);
    servent.stop().await.unwrap();
}
