//! The access log of `share`.

use crate::program::{Place, Wire, until};

#[test]
fn every_request_is_a_line_in_the_log() {
    let place = Place::new();
    place.share("song", 100_000);
    let running = place.sharing(&["--lab", "off", "--access-log", "access.log"]);
    let mut wire = Wire::connect(running.at);
    assert_eq!(wire.get("/get/0/song", &["User-Agent: ear \"1\""]).status, 200);
    assert_eq!(wire.get("/get/0/song", &["Range: bytes=0-9"]).status, 206);
    let missing = Wire::connect(running.at).get("/nowhere", &[]);
    assert_eq!(missing.status, 404);
    let page = Wire::connect(running.at).get("/", &["Accept: text/html"]);
    assert_eq!(page.status, 200);
    let mut old = Wire::connect(running.at);
    old.send("GET /old HTTP/1.0\r\n\r\n");
    assert_eq!(old.head().status, 404);
    let log = || std::fs::read_to_string(place.path("access.log")).unwrap();
    until("five lines", || log().lines().count() == 5);
    let log = log();
    // Connections are answered side by side: the order is no matter here.
    let with = |words: &str| log.lines().any(|line| line.contains(words));
    assert!(log.lines().all(|line| line.starts_with("127.0.0.1 - - [")), "{log}");
    assert!(with("\"GET /get/0/song HTTP/1.1\" 200 100000 \"-\" \"ear \\\"1\\\"\""), "{log}");
    assert!(with("\"GET /get/0/song HTTP/1.1\" 206 10 "), "{log}");
    let bytes = missing.header("content-length").unwrap();
    assert_ne!(bytes, "0");
    assert!(with(&format!("\"GET /old HTTP/1.0\" 404 {bytes} ")), "{log}");
    assert!(with(&format!("\"GET /nowhere HTTP/1.1\" 404 {bytes} ")), "{log}");
    assert!(with(&format!("\"GET / HTTP/1.1\" 200 {} ", page.body.len())), "{log}");
}

#[test]
fn a_transfer_that_is_cut_short_is_logged_with_what_was_sent_of_it() {
    let place = Place::new();
    place.share("film", 30_000_000); // More than the system holds between them.
    let slowly = ["--set", "upload_rate=2000000"];
    let log = ["--lab", "off", "--access-log", "access.log"];
    let running = place.sharing(&[&slowly[..], &log].concat());
    let mut wire = Wire::connect(running.at);
    wire.send("GET /get/0/film HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(wire.head().status, 200);
    assert_eq!(wire.take(500_000).len(), 500_000);
    drop(wire); // It hangs up.
    let sent = || {
        let log = std::fs::read_to_string(place.path("access.log")).unwrap();
        let (_, rest) = log.split_once(" HTTP/1.1\" 200 ")?;
        Some(rest.split(' ').next()?.to_owned())
    };
    until("it is logged", || sent().is_some());
    let sent: u64 = sent().unwrap().parse().expect("a number of bytes");
    assert!((1..30_000_000).contains(&sent), "{sent}");
}

#[test]
fn the_log_names_the_user_who_was_let_in() {
    let place = Place::new();
    place.share("song", 1_000);
    std::fs::write(place.path("secret"), "open sesame\n").unwrap();
    let guard = ["--user", "ann", "--password-file", "secret"];
    let log = ["--lab", "off", "--access-log", "access.log"];
    let running = place.sharing(&[&guard[..], &log[..]].concat());
    let ann = "Authorization: Basic YW5uOm9wZW4gc2VzYW1l";
    for _ in 0..2 {
        assert_eq!(Wire::connect(running.at).get("/get/0/song", &[ann]).status, 200);
    }
    let stranger = Wire::connect(running.at).get("/get/0/song", &[]);
    assert_eq!(stranger.status, 401);
    let log = || std::fs::read_to_string(place.path("access.log")).unwrap();
    until("three lines", || log().lines().count() == 3);
    let log = log();
    let begun = |words: &str| log.lines().filter(|line| line.starts_with(words)).count();
    assert_eq!((begun("127.0.0.1 - ann ["), begun("127.0.0.1 - - [")), (2, 1), "{log}");
    assert!(log.contains(&format!(" 401 {} ", stranger.body.len())), "{log}");
}
