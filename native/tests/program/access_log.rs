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
    assert_eq!(Wire::connect(running.at).get("/nowhere", &[]).status, 404);
    let mut old = Wire::connect(running.at);
    old.send("GET /old HTTP/1.0\r\n\r\n");
    assert_eq!(old.head().status, 404);
    let log = || std::fs::read_to_string(place.path("access.log")).unwrap();
    until("four lines", || log().lines().count() == 4);
    let log = log();
    // Connections are answered side by side: the order is no matter here.
    let with = |words: &str| log.lines().any(|line| line.contains(words));
    assert!(log.lines().all(|line| line.starts_with("127.0.0.1 - - [")), "{log}");
    assert!(with("\"GET /get/0/song HTTP/1.1\" 200 100000 \"-\" \"ear \\\"1\\\"\""), "{log}");
    assert!(with("\"GET /get/0/song HTTP/1.1\" 206 10 "), "{log}");
    assert!(with("\"GET /old HTTP/1.0\" 404 0 "), "{log}");
    assert!(with("\"GET /nowhere HTTP/1.1\" 404 0 "), "{log}");
}
