//! A room is recorded, and its recording is run again.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::process::Command;

use serde_json::{Value, json};

use crate::program::{Place, Running, Wire, noise, until};

fn room(place: &Place, extra: &[&str]) -> Command {
    std::fs::create_dir_all(place.path("songs")).unwrap();
    std::fs::write(place.path("songs").join("waltz.ogg"), b"one two three").unwrap();
    let fixed = ["room", "songs", "--json", "--listen", "127.0.0.1:0", "--page", "127.0.0.1:0"];
    place.servent(&[&fixed[..], extra].concat())
}

/// What the page's server answers to a piece of a recording: the status line.
fn hand_in(url: &str, secret: &str) -> String {
    let host = url.trim_start_matches("http://").trim_end_matches('/');
    let mut stream = TcpStream::connect(host).unwrap();
    let query = format!("at=240.0.0.1:5000&secret={secret}&run=a&from=0");
    let head = format!("POST /api/room/tape?{query} HTTP/1.1\r\nHost: {host}\r\n");
    write!(stream, "{head}Content-Length: 2\r\nConnection: close\r\n\r\nhi").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

/// WB-9: a proxy may stand before a page that only this machine reaches.
#[test]
fn wb_9_the_host_of_a_room_has_a_key_also_where_only_this_machine_reaches_it() {
    let place = Place::new();
    let mut running = Running::start(room(&place, &[]));
    let mut of = |event: &str| running.event(event)["url"].as_str().unwrap().to_owned();
    let [url, host, screen] = ["room", "host", "screen"].map(&mut of);
    let key = host.strip_prefix(&format!("{url}?key=")).and_then(|rest| rest.strip_suffix("#host"));
    let key = key.unwrap_or_else(|| panic!("{host}"));
    let shows = screen.strip_prefix(&format!("{url}?key=")).and_then(|it| it.strip_suffix("#room"));
    let shows = shows.unwrap_or_else(|| panic!("{screen}"));
    assert_ne!(shows, key, "a person who sees the screen's address is not the host");
    let asked = |what: &str, cookie: &str| {
        let at = url.trim_start_matches("http://").trim_end_matches('/');
        let mut stream = TcpStream::connect(at).unwrap();
        let head = format!("{what} HTTP/1.1\r\nHost: {at}\r\n{cookie}");
        write!(stream, "{head}Connection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer.lines().next().unwrap_or_default().to_owned()
    };
    let cookie = |key: &str| format!("Cookie: servent-lab={key}\r\n");
    let freeze = |key: &str| {
        let body = "Content-Type: application/json\r\nContent-Length: 15\r\n";
        format!("{}{body}", cookie(key))
    };
    for (what, lines, status) in [
        ("GET /api/room", String::new(), "403"),
        ("GET /api/room", cookie(shows), "200"),
        ("GET /api/room", cookie(key), "200"),
        ("GET /api/tape", cookie(shows), "403"),
        ("GET /api/room/recording", cookie(shows), "403"),
        ("POST /api/room", freeze(shows), "403"),
    ] {
        let answer = asked(what, &lines);
        assert!(answer.contains(status), "{what} {lines}: {answer}");
    }
    running.signal("INT");
    assert_eq!(running.ended().code(), Some(0));
}

/// WB-5
#[test]
fn a_recording_is_kept_and_every_node_of_it_is_verified() {
    let place = Place::new();
    let mut running = Running::start(room(&place, &["--record", "room.sqlog"]));
    let url = running.event("room")["url"].as_str().unwrap().to_owned();
    running.event("hashed");
    // No page that is not here adds to it.
    assert!(hand_in(&url, &"0".repeat(32)).contains("403"));
    running.signal("INT");
    let recorded = running.event("recorded");
    assert_eq!(recorded["tapes"], 1, "{recorded}");
    assert_eq!(running.ended().code(), Some(0));
    assert!(!place.path("room.sqlog.parts").exists());

    // Two that follow each other are a recording of two.
    let tape = std::fs::read(place.path("room.sqlog")).unwrap();
    std::fs::write(place.path("two.sqlog"), [&tape[..], &tape[..]].concat()).unwrap();
    let replay = place.run(&["room", "replay", "two.sqlog", "--json"]);
    assert!(replay.status.success(), "{}", String::from_utf8_lossy(&replay.stderr));
    let report: Value = serde_json::from_slice(&replay.stdout).unwrap();
    assert_eq!(report["nodes"].as_array().unwrap().len(), 2);
    assert_eq!(report["verified"], true);
    assert_eq!(report["merged"]["hits"], 0);
    let said = String::from_utf8(place.run(&["room", "replay", "two.sqlog"]).stdout).unwrap();
    assert!(said.contains("2 of 2 recordings verified"), "{said}");
    let same = String::from_utf8(place.run(&["replay", "two.sqlog"]).stdout).unwrap();
    assert_eq!(same, said, "the plain command replays all of them");

    // It can be given away, under other names.
    let export = place.run(&["room", "export", "two.sqlog", "shown.sqlog", "--json"]);
    assert!(export.status.success(), "{}", String::from_utf8_lossy(&export.stderr));
    let replay = place.run(&["room", "replay", "shown.sqlog"]);
    assert!(replay.status.success(), "{}", String::from_utf8_lossy(&replay.stdout));
    let shown = std::fs::read_to_string(place.path("shown.sqlog")).unwrap();
    assert!(String::from_utf8(tape.clone()).unwrap().contains("waltz"));
    assert!(!shown.contains("waltz") && shown.contains(".ogg"));
    let again = place.run(&["room", "export", "two.sqlog", "shown.sqlog"]);
    assert_eq!(again.status.code(), Some(4), "nothing is replaced");

    // One of them is cut in the middle of a line that others follow.
    std::fs::write(place.path("cut.sqlog"), [&tape[..tape.len() - 9], b"\n", &tape[..]].concat())
        .unwrap();
    let replay = place.run(&["room", "replay", "cut.sqlog"]);
    assert_eq!(replay.status.code(), Some(5));
    assert_eq!(place.run(&["replay", "cut.sqlog"]).status.code(), Some(5));
    let said = String::from_utf8(replay.stdout).unwrap();
    assert!(said.contains("1 of 2 recordings verified"), "{said}");
    std::fs::write(place.path("none.sqlog"), b"no tape\n").unwrap();
    assert_eq!(place.run(&["room", "replay", "none.sqlog"]).status.code(), Some(8));
}

/// WB-10
#[test]
fn a_room_that_is_not_recorded_takes_no_tapes_and_leaves_none() {
    let place = Place::new();
    let mut running = Running::start(room(&place, &[]));
    let url = running.event("room")["url"].as_str().unwrap().to_owned();
    running.event("hashed");
    assert!(hand_in(&url, &"0".repeat(32)).contains("403"));
    running.signal("INT");
    assert_eq!(running.ended().code(), Some(0));
    let names = std::fs::read_dir(place.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    assert!(names.into_iter().all(|name| !name.to_string_lossy().contains("sqlog")));
}

#[test]
fn wb_9_the_machine_stays_awake_while_a_room_is_open_and_no_longer() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    let (bin, asked) = (place.path("bin"), place.path("asked"));
    std::fs::create_dir(&bin).unwrap();
    let tool = bin.join("systemd-inhibit");
    std::fs::write(&tool, format!("#!/bin/sh\necho $$ $@ > {}\nexec cat\n", asked.display()))
        .unwrap();
    std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
    let mut command = room(&place, &["--code"]);
    let path = std::env::var("PATH").unwrap_or_default();
    command.env("PATH", format!("{}:{path}", bin.display()));
    let mut running = Running::start(command);
    assert_eq!(running.event("code")["code"].as_str().unwrap().len(), 5);
    let said = || std::fs::read_to_string(&asked).unwrap_or_default();
    until("the machine is asked to stay awake", || said().ends_with('\n'));
    let said = said();
    let (pid, what) = said.split_once(' ').unwrap();
    assert!(what.starts_with("--what=sleep:idle") && what.ends_with("cat\n"), "{said}");
    let process = std::path::PathBuf::from(format!("/proc/{pid}"));
    assert!(process.exists());
    running.signal("INT");
    assert_eq!(running.ended().code(), Some(0));
    assert!(!process.exists());
}

/// What the host's screen of a room does and sees.
struct RoomHost {
    url: String,
    cookie: String,
}

impl RoomHost {
    fn in_room(running: &mut Running) -> Self {
        let url = running.event("host")["url"].as_str().unwrap().to_owned();
        let (url, key) = url.split_once("?key=").unwrap();
        let key = key.strip_suffix("#host").unwrap();
        Self { url: url.to_owned(), cookie: format!("Cookie: servent-lab={key}") }
    }

    fn at(&self) -> std::net::SocketAddr {
        self.url.trim_start_matches("http://").trim_end_matches('/').parse().unwrap()
    }

    #[track_caller]
    fn does(&self, act: &Value) {
        let (at, body, cookie) = (self.at(), act.to_string(), &self.cookie);
        let mut wire = Wire::connect(at);
        wire.send(&format!(
            "POST /api/room HTTP/1.1\r\nHost: {at}\r\n{cookie}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!(wire.reply().status, 204, "{act}");
    }

    fn asks(&self, target: &str) -> Value {
        Wire::connect(self.at()).get(target, &[&self.cookie, "Connection: close"]).json()
    }

    fn sees(&self) -> Value {
        self.asks("/api/room")
    }
}

/// WB-9: with default settings, and on a machine where everything is fast.
#[test]
fn wb_9_a_lesson_sets_the_room_up_by_itself_and_gives_everything_back() {
    let place = Place::new();
    let film = noise(1_500_000);
    let command = room(&place, &[]);
    std::fs::write(place.path("songs").join("film.bin"), &film).unwrap();
    let mut running = Running::start(command);
    let host = RoomHost::in_room(&mut running);
    let port = host.asks("/api/part")["port"].as_u64().unwrap();
    let at = format!("127.0.0.1:{port}").parse().unwrap();
    running.event("hashed");
    let took = || {
        let clock = servent::Clock::new();
        let begun = clock.now();
        let got = Wire::connect(at).get("/songs/film.bin", &["Connection: close"]);
        assert!(got.body == film, "{} bytes", got.body.len());
        clock.now().since(begun).as_micros() / 1_000
    };
    let lesson = |id: Value| host.does(&json!({ "teach": { "lesson": id } }));
    let set = || {
        let seen = host.sees();
        let (queue, rules) = (&seen["view"]["queue"], &seen["rules"]);
        [&queue["slots"], &queue["policy"], &rules["degree"], &rules["ttl"]].map(Value::clone)
    };
    let before = set();

    lesson("the-line".into());
    assert_eq!(set()[..2], [json!(1), json!("text")]);
    assert_eq!(host.sees()["class"]["lesson"]["rate"], 500_000);
    assert!(took() > 2_000, "1.5 MB at 500 kB a second");

    // The next lesson begins with what was before this one.
    lesson("find-the-song".into());
    assert_eq!(set()[2], 2);
    assert_eq!(host.sees()["class"]["lesson"]["rate"], Value::Null);
    assert!(took() < 2_000, "nothing limits it any more");
    lesson(Value::Null);
    assert_eq!(set(), before);

    // What the host has set meanwhile stays.
    lesson("the-line".into());
    host.does(&json!({ "slots": 3 }));
    lesson(Value::Null);
    assert_eq!(set()[0], 3);
    assert_eq!(set()[1..], before[1..]);
    assert!(took() < 2_000, "nothing limits it any more");
}
