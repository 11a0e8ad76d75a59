//! A swarm of programs on the loopback: one coordinator, several clients,
//! and what may go wrong.

mod program;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};

use program::{PATIENCE, Place, Running, Wire, assert_same, complains, free_port, noise, until};
use serde_json::Value;

/// A coordinator of one file of so many bytes, in pieces of 16 KiB.
fn coordinator(place: &Place, size: usize, at: &str, extra: &[&str]) -> (Running, Vec<u8>) {
    let bytes = noise(size);
    std::fs::write(place.path("film.mkv"), &bytes).unwrap();
    let fixed = ["swarm", "serve", "film.mkv", "--listen", at, "--chunk", "16384", "--state", "s"];
    let mut running = Running::start(place.servent(&[&fixed[..], &["--json"], extra].concat()));
    running.at = running.event("listening")["at"].as_str().unwrap().parse().unwrap();
    (running, bytes)
}

fn url(at: SocketAddr) -> String {
    format!("pdtp://{at}/film.mkv")
}

/// A client that makes the file `name`.
fn client(place: &Place, at: SocketAddr, name: &str, extra: &[&str]) -> Running {
    let url = url(at);
    let fixed = ["swarm", "get", &url, "-o", name, "--state", "clients", "--json"];
    let passive = extra.contains(&"--passive");
    let listen: &[&str] = if passive { &[] } else { &["--listen", "127.0.0.1:0"] };
    Running::start(place.servent(&[&fixed[..], listen, extra].concat()))
}

fn number(fact: &Value, key: &str) -> u64 {
    fact[key].as_u64().unwrap_or_else(|| panic!("no {key} in {fact}"))
}

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
fn whoever_was_killed_goes_on_with_the_pieces_it_had() {
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
fn a_coordinator_that_was_killed_comes_back_and_nobody_starts_over() {
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
    // Who came, and what it took, was written before it was told.
    assert!(std::fs::metadata(place.path("s/swarm/swarm.redb")).unwrap().len() > 0);
}

#[test]
fn what_cannot_be_had_is_told_in_one_sentence() {
    let place = Place::new();
    let (server, _) = coordinator(&place, 100_000, "127.0.0.1:0", &[]);
    let run = |url: &str, extra: &[&str]| {
        let fixed = ["swarm", "get", url, "--state", "clients", "--listen", "127.0.0.1:0"];
        place.run(&[&fixed[..], extra].concat())
    };
    let nobody = format!("pdtp://127.0.0.1:{}/f", free_port());
    complains(&run(&nobody, &[]), 3, "no coordinator answers");
    complains(&run(&format!("pdtp://{}/other", server.at), &[]), 3, "does not know the file");
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
fn strangers_and_garbage_disturb_nobody() {
    let place = Place::new();
    let (server, bytes) = coordinator(&place, 300_000, "127.0.0.1:0", &[]);
    // The source sends to whom the coordinator has sent to it, and nobody else.
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
    // Any server that knows ranges: `GET /film.mkv` with `Range: bytes=a-b`.
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut head = [0; 4_096];
            let n = stream.read(&mut head).unwrap_or(0);
            let head = String::from_utf8_lossy(&head[..n]).into_owned();
            let range = head.split("bytes=").nth(1).and_then(|r| r.lines().next()).unwrap_or("0-0");
            let (a, b) = range.split_once('-').unwrap();
            let (a, b): (usize, usize) = (a.parse().unwrap(), b.trim().parse().unwrap());
            let head = format!("HTTP/1.1 206 OK\r\nContent-Length: {}\r\n\r\n", b + 1 - a);
            let _ = stream.write_all(&[head.as_bytes(), &copy[a..=b]].concat());
            let _ = asked.send(head.len());
        }
    });
    let proxied = ["--proxy", &proxy, "--slots", "1", "--upload-rate", "100k"];
    let (server, _) = coordinator(&place, 400_000, "127.0.0.1:0", &proxied);
    let done = client(&place, server.at, "a", &[]).event("done");
    assert_eq!(number(&done, "from_source"), 400_000);
    assert_same(&place.path("a"), &bytes);
    assert!(requests.try_iter().count() > 5, "the proxy, which is faster, has sent most of it");
}
