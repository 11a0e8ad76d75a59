//! What a stranger may say to a coordinator over a real connection: it is told
//! why it is not obeyed, and no other client notices.

use crate::program;
use crate::swarm_program;

use std::io::Write as _;
use std::net::TcpStream;

use program::{PATIENCE, Place, Running, assert_same, until};
use serde_json::Value;
use swarm_program::{Raw, client, coordinator, number};

const FILE: &str = "pdtp://swarm/film.mkv";

/// The reason of the next `error`.
fn reason(raw: &mut Raw) -> String {
    raw.hear_a("error")["reason"].as_str().unwrap().to_owned()
}

/// It is still there, and still answers.
fn goes_on(raw: &mut Raw) {
    raw.say(&format!(r#"["ask_info",{{"url":"{FILE}"}}]"#));
    let info = loop {
        match raw.hear().expect("it was hung up on") {
            (kind, info) if kind == "tell_info" => break info,
            _ => {}
        }
    };
    assert_eq!(number(&info, "size"), 300_000);
}

/// An honest client gets the file as if no other were there.
fn disturbs_no_client(place: &Place, server: &Running, bytes: &[u8]) {
    let mut honest = client(place, server.at, "honest", &[]);
    let done = honest.event("done");
    assert_same(&place.path("honest"), bytes);
    assert_eq!(number(&done, "wrong"), 0, "{done}");
}

#[test]
fn what_cannot_be_read_is_answered_with_a_reason_and_the_end() {
    let place = Place::new();
    let (server, bytes) = coordinator(&place, 300_000, "127.0.0.1:0", &[]);
    let long = "x".repeat(5_000);
    let deep = format!(r#"["register",{{"client_id":{}1{}}}]"#, "[".repeat(200), "]".repeat(200));
    let many = format!("[{}]", vec![r#""ask_info",{"url":"f"}"#; 300].join(","));
    let bodies: Vec<Vec<u8>> = [
        "",
        "no JSON",
        "[]",
        "{}",
        r#"["register"]"#,
        r#"["register",{}]"#,
        r#"["dance",{}]"#,
        r#"["register",{"client_id":7}]"#,
        r#"["register",{"client_id":"c","listen_port":99999}]"#,
        &format!(r#"["register",{{"client_id":"{long}"}}]"#),
        &deep,
        &many,
    ]
    .iter()
    .map(|text| text.as_bytes().to_vec())
    .chain([vec![0xff; 4], vec![b'['; 65_535]])
    .collect();
    for body in bodies {
        let mut raw = Raw::connect(server.at);
        raw.frame(&body);
        raw.is_shown_out("");
    }
    disturbs_no_client(&place, &server, &bytes);
}

#[test]
fn a_client_without_a_name_or_that_speaks_as_the_coordinator_is_shown_out() {
    let place = Place::new();
    let (server, bytes) = coordinator(&place, 300_000, "127.0.0.1:0", &[]);
    let mut early = Raw::connect(server.at);
    early.say(&format!(r#"["request",{{"url":"{FILE}"}}]"#));
    early.is_shown_out("register");
    let mut twice = Raw::registered(server.at, "twice");
    twice.say(r#"["register",{"client_id":"other"}]"#);
    twice.is_shown_out("registered");
    for order in [
        format!(r#"["tell_info",{{"url":"{FILE}","size":1}}]"#),
        format!(r#"["hash_verify",{{"url":"{FILE}","hash_ok":true}}]"#),
    ] {
        let mut liar = Raw::registered(server.at, "liar");
        liar.say(&order);
        liar.is_shown_out("coordinator");
    }
    // An id belongs to its owner, which has it again when it comes back.
    let mut owner = Raw::registered(server.at, "mine");
    goes_on(&mut owner);
    let mut thief = Raw::from(server.at, [127, 0, 0, 2].into());
    thief.say(r#"["register",{"client_id":"mine"}]"#);
    thief.is_shown_out("taken");
    goes_on(&mut owner);
    let mut again = Raw::registered(server.at, "mine");
    owner.is_shown_out("again");
    goes_on(&mut again);
    disturbs_no_client(&place, &server, &bytes);
}

#[test]
fn what_cannot_be_obeyed_is_answered_and_the_connection_goes_on() {
    let place = Place::new();
    let metrics = ["--metrics", "127.0.0.1:0"];
    let (mut server, bytes) = coordinator(&place, 300_000, "127.0.0.1:0", &metrics);
    let metrics = server.event("metrics")["at"].as_str().unwrap().parse().unwrap();
    let mut raw = Raw::registered(server.at, "stranger");
    let ranges = [r#"{"min":300000,"max":300000}"#, r#"{"min":9,"max":18446744073709551614}"#];
    for (kind, range) in
        ["request", "unrequest", "provide", "unprovide"].iter().flat_map(|k| ranges.map(|r| (k, r)))
    {
        raw.say(&format!(r#"["{kind}",{{"url":"{FILE}","range":{range}}}]"#));
        assert_eq!(reason(&mut raw), "bad_range", "{kind} {range}");
    }
    raw.say(r#"["request",{"url":"pdtp://swarm/other"}]"#);
    assert_eq!(reason(&mut raw), "unknown_file");
    raw.say(r#"["set_concurrency",{"max_upload":4000000000}]"#);
    assert_eq!(reason(&mut raw), "above_hard_limit");
    // Reports on what never was, with addresses and ids of all kinds.
    let hash = "0".repeat(64);
    for (peer, peer_id) in [("8.8.8.8", "nobody"), ("127.0.0.1", ""), ("::1", "stranger")] {
        let about = format!(
            r#""peer":"{peer}","url":"{FILE}","range":{{"min":0,"max":16383}},"peer_id":"{peer_id}""#
        );
        for more in ["", r#","reason":"connect""#, &format!(r#","hash":"{hash}""#)] {
            raw.say(&format!(r#"["completed",{{{about}{more}}}]"#));
            assert_eq!(reason(&mut raw), "unknown_transfer", "{about}{more}");
        }
        raw.say(&format!(r#"["ask_verify",{{{about}}}]"#));
        assert_eq!(raw.hear_a("tell_verify")["authorized"], false, "{about}");
    }
    goes_on(&mut raw);
    let status: Value = program::lab_get(metrics, "/status").json();
    assert_eq!(number(&status["reasons"]["refused"], "bad_range"), 8, "{status}");
    assert_eq!(number(&status["reasons"]["refused"], "unknown_transfer"), 9, "{status}");
    assert!(status["files"][0]["transfers"].as_array().unwrap().is_empty(), "{status}");
    disturbs_no_client(&place, &server, &bytes);
}

/// No client is sent to an address that a client has made up: what others are
/// told is where it came from.
#[test]
fn no_client_can_send_others_to_a_third_party() {
    let place = Place::new();
    let (server, _) = coordinator(&place, 300_000, "127.0.0.1:0", &[]);
    let mut giver = Raw::registered(server.at, "giver");
    giver.say(&format!(
        r#"["provide",{{"url":"{FILE}","peer":"8.8.8.8","host":"8.8.8.8","port":80}}]"#
    ));
    goes_on(&mut giver);
    let mut taker = Raw::registered(server.at, "taker");
    taker.say(&format!(r#"["request",{{"url":"{FILE}"}}]"#));
    let order = loop {
        let order = taker.hear_a("transfer");
        if order["peer_id"] == "giver" {
            break order;
        }
    };
    assert_eq!((&order["peer"], &order["port"]), (&"127.0.0.1".into(), &9.into()), "{order}");
}

/// Asks and never listens. What is not read does not pile up.
#[test]
fn a_client_that_asks_without_end_and_does_not_listen_is_hung_up_on() {
    let place = Place::new();
    let (server, bytes) = coordinator(&place, 300_000, "127.0.0.1:0", &[]);
    let url = "u".repeat(2_000);
    let question = format!(r#"["ask_info",{{"url":"{url}"}}]"#);
    let mut frames = Vec::new();
    for _ in 0..32 {
        frames.extend_from_slice(&u16::try_from(question.len()).unwrap().to_be_bytes());
        frames.extend_from_slice(question.as_bytes());
    }
    let mut deaf = TcpStream::connect(server.at).unwrap();
    deaf.set_write_timeout(Some(PATIENCE)).unwrap();
    let hello = br#"["register",{"client_id":"deaf"}]"#;
    deaf.write_all(&[&[0, hello.len() as u8], &hello[..]].concat()).unwrap();
    let mut asked = 0_u64;
    while deaf.write_all(&frames).is_ok() {
        asked += frames.len() as u64;
        assert!(asked < 1 << 30, "it is heard without end");
    }
    until("its memory is small", || resident(server.pid()) < 200 << 20);
    disturbs_no_client(&place, &server, &bytes);
}

/// Bytes of memory a process occupies.
fn resident(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() << 10
}

/// A server that speaks another protocol, and one that says nothing.
#[test]
fn what_is_no_coordinator_is_given_up_with_a_sentence() {
    let gets = ["SSH-2.0-OpenSSH_10.0\r\n", ""].map(|greeting| {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut kept = Vec::new();
            for mut stream in listener.incoming().map_while(Result::ok) {
                let _ = stream.write_all(greeting.as_bytes());
                kept.push(stream);
            }
        });
        std::thread::spawn(move || {
            let place = Place::new();
            let url = format!("pdtp://{at}/film.bin");
            let output = place.run(&["swarm", "get", &url, "-o", "film.bin"]);
            program::complains(&output, 3, "is no coordinator");
        })
    });
    gets.into_iter().for_each(|get| get.join().unwrap());
}
