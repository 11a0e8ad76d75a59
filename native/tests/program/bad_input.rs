//! Bad input gets one sentence, an exit code that tells it apart, and loses
//! nothing.

use crate::program;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::time::Duration;

use program::{Place, Running, Wire, assert_same, complains, finish, lab_get, noise};
use serde_json::Value;

#[test]
fn a_folder_that_cannot_be_read() {
    let place = Place::new();
    std::fs::write(place.path("file"), "x").unwrap();
    for folder in ["missing", "file/below"] {
        let output = place.run(&["share", folder, "--listen", "127.0.0.1:0", "--lab", "off"]);
        complains(&output, 4, folder);
    }
}

#[test]
fn a_port_in_use() {
    let place = Place::new();
    place.share("a", 10);
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = taken.local_addr().unwrap().to_string();
    let port = taken.local_addr().unwrap().port().to_string();
    let output = place.run(&["share", "shared", "--state", "s", "--listen", &at, "--lab", "off"]);
    complains(&output, 6, &port);
    let output =
        place.run(&["share", "shared", "--state", "s", "--listen", "127.0.0.1:0", "--lab", &at]);
    complains(&output, 6, &port);
    let output = place.run(&["lab", "--listen", &at]);
    complains(&output, 6, &port);
}

#[test]
fn a_lab_for_strangers_unless_it_is_wanted() {
    let place = Place::new();
    place.share("a", 10);
    // An address of the documentation: were it bound, that would fail otherwise.
    for at in ["0.0.0.0:0", "[::]:0", "192.0.2.7:6380"] {
        let share = ["share", "shared", "--state", "s", "--listen", "127.0.0.1:0", "--lab", at];
        let refused = place.run(&share);
        complains(&refused, 2, &format!("the lab on {at} would show its counters"));
        assert!(String::from_utf8_lossy(&refused.stderr).contains("--lab-public"));
        complains(&place.run(&["lab", "--listen", at]), 2, "would show its counters");
        complains(
            &place.run(&["demo", "--lab", at, "--seconds", "1"]),
            2,
            "would show its counters",
        );
        complains(
            &place.run(&["lab", "--set", &format!("lab={at}")]),
            2,
            "would show its counters",
        );
    }
}

#[test]
fn a_lab_that_others_reach_wants_its_key() {
    let place = Place::new();
    place.share("a", 10);
    let trace = ["--trace", "run.sqlog"];
    let running = place.sharing(&[&["--lab", "0.0.0.0:0", "--lab-public"][..], &trace].concat());
    let at = SocketAddr::from(([127, 0, 0, 1], running.lab.unwrap().port()));
    let key = running.lab_key.as_deref().expect("a link with a key");
    let get = |target: &str, headers: &[&str]| {
        Wire::connect(at).get(target, &[&["Connection: close"], headers].concat())
    };
    for open in ["/", "/api/info", "/metrics"] {
        assert_eq!(get(open, &[]).status, 200, "{open}");
    }
    let info = get("/api/info", &[]).json();
    assert_eq!((&info["live"], &info["traces"]), (&Value::Bool(false), &Value::Null), "{info}");
    let secrets = ["/api/tape", "/api/traces", "/api/traces/run.sqlog", "/api/view", "/api/status"];
    for closed in secrets.iter().chain(&["/?key=0123456789abcdef0123456789abcdef", "/api/queue"]) {
        let reply = get(closed, &["Cookie: servent-lab=0123"]);
        assert_eq!((reply.status, reply.header("set-cookie")), (403, None), "{closed}");
    }
    // The link leads to the page and leaves a cookie, and that opens the rest.
    let entered = get(&format!("/?key={key}"), &[]);
    assert_eq!((entered.status, entered.header("location")), (303, Some("/")));
    let cookie = entered.header("set-cookie").unwrap().split(';').next().unwrap();
    let cookie = format!("Cookie: other=1; {cookie}");
    for open in secrets.iter().filter(|open| **open != "/api/tape") {
        assert_eq!(get(open, &[&cookie]).status, 200, "{open}");
    }
    assert_eq!(get("/api/info", &[&cookie]).json()["live"], Value::Bool(true));
    // A page that may read may not change anything.
    let mut wire = Wire::connect(at);
    wire.send(&format!(
        "POST /api/command HTTP/1.1\r\nHost: {at}\r\n{cookie}\r\nContent-Length: 0\r\n\r\n"
    ));
    assert_eq!(wire.reply().status, 403);
    // `servent lab` of this machine shows the same link.
    let said = place.run(&["lab", "--state", "state"]);
    assert!(String::from_utf8_lossy(&said.stdout).contains(key));
}

#[test]
fn a_state_folder_that_is_in_use() {
    let place = Place::new();
    place.share("a", 10);
    let running = place.sharing(&[]);
    let output = place.run(&[
        "share",
        "shared",
        "--state",
        "state",
        "--listen",
        "127.0.0.1:0",
        "--lab",
        "off",
    ]);
    complains(&output, 7, "in use by another servent");
    // Started twice by mistake: the state is what they quarrel about.
    let at = running.at.to_string();
    let twice =
        place.run(&["share", "shared", "--state", "state", "--listen", &at, "--lab", "off"]);
    complains(&twice, 7, "in use by another servent");
    // What was mistyped is said first.
    let typo = place.run(&["share", "sharde", "--state", "state", "--listen", &at, "--lab", "off"]);
    complains(&typo, 4, "cannot share sharde");
    assert_eq!(Wire::connect(running.at).get("/get/0/a", &[]).status, 200);
}

#[test]
fn a_state_that_is_truncated_or_foreign_is_not_touched() {
    let place = Place::new();
    place.share("a", 10);
    place.sharing(&[]).kill();
    let file = place.path("state/state.redb");
    let whole = std::fs::read(&file).unwrap();
    for broken in [whole[..whole.len() / 3].to_vec(), b"not a servent's".to_vec()] {
        std::fs::write(&file, &broken).unwrap();
        let arguments =
            ["share", "shared", "--state", "state", "--listen", "127.0.0.1:0", "--lab", "off"];
        complains(&place.run(&arguments), 8, "state.redb");
        assert_same(&file, &broken);
    }
    let running = place.sharing(&["--put-damaged-aside"]);
    assert_eq!(lab_get(running.lab.unwrap(), "/api/info").status, 200);
    let aside = std::fs::read_dir(place.path("state")).unwrap().flatten();
    assert!(aside.into_iter().any(|e| e.file_name().to_string_lossy().contains("damaged")));
}

#[test]
fn a_trace_is_not_written_over_another_file() {
    let place = Place::new();
    place.share("a", 1_000);
    std::fs::write(place.path("letter"), "dear").unwrap();
    let send = ["send", "--open", "127.0.0.1:1", "shared/a", "--wait=0s", "--trace", "letter"];
    for command in [&["share", "shared", "--trace", "letter"][..], &send] {
        complains(&place.run(command), 4, "letter is there already");
    }
    assert_same(&place.path("letter"), b"dear");
    // That of a service, which is started again and again, begins anew.
    std::fs::write(place.path("config"), "trace = \"run.sqlog\"\n").unwrap();
    for _ in 0..2 {
        let mut running = place.sharing(&["--config", "config"]);
        running.signal("INT");
        assert!(running.ended().success());
        assert!(place.run(&["replay", "run.sqlog"]).status.success());
    }
}

#[test]
fn a_trace_that_is_foreign_damaged_or_of_an_unknown_version() {
    let place = Place::new();
    place.share("a", 1_000);
    let mut running = place.sharing(&["--trace", "run.sqlog"]);
    assert_eq!(Wire::connect(running.at).get("/get/0/a", &[]).body.len(), 1_000);
    running.signal("INT");
    assert!(running.ended().success());
    let whole = std::fs::read(place.path("run.sqlog")).unwrap();
    assert!(place.run(&["replay", "run.sqlog"]).status.success());

    complains(&place.run(&["replay", "missing.sqlog"]), 4, "missing.sqlog");
    std::fs::write(place.path("foreign.sqlog"), "hello\n").unwrap();
    complains(&place.run(&["replay", "foreign.sqlog"]), 8, "foreign.sqlog");

    let text = String::from_utf8(whole).unwrap();
    let newer = text.replacen("\"version\":3", "\"version\":4000", 1);
    assert_ne!(newer, text);
    std::fs::write(place.path("newer.sqlog"), newer).unwrap();
    complains(&place.run(&["replay", "newer.sqlog"]), 8, "version 4000");

    let seed = text.find("\"seed\":\"").unwrap() + 8;
    let mut doctored = text.clone();
    let digit = if &text[seed..=seed] == "0" { "1" } else { "0" };
    doctored.replace_range(seed..=seed, digit);
    std::fs::write(place.path("doctored.sqlog"), doctored).unwrap();
    complains(&place.run(&["replay", "doctored.sqlog"]), 5, "doctored.sqlog: ");

    let mut lines: Vec<&str> = text.lines().collect();
    let middle = lines.len() / 2;
    lines[middle] = "\u{1e}{\"name\":\"servent:inp";
    std::fs::write(place.path("damaged.sqlog"), lines.join("\n") + "\n").unwrap();
    let said = "damaged: 1 line cannot be read; before that verified 0/0";
    complains(&place.run(&["replay", "damaged.sqlog"]), 5, said);

    let changed = text.replacen("\"restored_places\":0", "\"restored_places\":1", 1);
    assert_ne!(changed, text);
    let same = |(one, other): &(&str, &str)| one == other;
    let line = 1 + changed.lines().zip(text.lines()).take_while(same).count();
    std::fs::write(place.path("changed.sqlog"), changed).unwrap();
    let said = format!("line {line} has another event than the run");
    complains(&place.run(&["replay", "changed.sqlog"]), 5, &said);
    let json = place.run(&["replay", "changed.sqlog", "--json"]);
    let json: serde_json::Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!(json["differs"], serde_json::json!({ "line": line, "fault": "changed" }));
}

#[test]
fn a_disk_that_is_full_keeps_what_has_come() {
    let place = Place::new();
    let (_, bytes) = place.share("big", 2_000_000);
    let running = place.sharing(&[]);
    let small = place.path("small");
    std::fs::create_dir(&small).unwrap();
    // A filesystem of one megabyte, in a mount namespace of its own.
    let script = format!(
        "mount -t tmpfs -o size=1m none small && '{}' get http://{}/get/0/big -o small/big --state get; \
         code=$?; ls small >&2; exit $code",
        program::program().display(),
        running.at,
    );
    let mut command = std::process::Command::new("unshare");
    command.args(["-rm", "sh", "-c", &script]).current_dir(place.dir.path());
    command.env("HOME", place.dir.path()).stdin(Stdio::null());
    let output = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    complains(&output, 4, "disk is full");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(said.contains("big.part"), "what had come is gone: {said}");
    drop(running);
    assert_eq!(bytes.len(), 2_000_000);
}

/// Answers every connection with `reply`, then closes it.
fn liar(reply: Vec<u8>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut request = [0; 4_096];
            let _ = stream.read(&mut request);
            let _ = stream.write_all(&reply);
        }
    });
    at
}

fn reply(head: &str, body: &[u8]) -> Vec<u8> {
    let mut reply = format!("HTTP/1.1 {head}\r\n\r\n").into_bytes();
    reply.extend_from_slice(body);
    reply
}

/// One try and out: what a liar deserves.
const IMPATIENT: [&str; 4] = ["--set", "fetch.attempts=2", "--time-scale", "50"];

#[test]
fn a_server_that_lies_about_the_length() {
    let place = Place::new();
    let short = liar(reply("200 OK\r\nContent-Length: 5000", &noise(100)));
    let url = format!("http://{short}/get/1/file");
    let output = place.run(&[&["get", &url, "-o", "file"], &IMPATIENT[..]].concat());
    complains(&output, 3, "no source gave the file: 127.0.0.1:");
    assert!(!place.path("file").exists(), "a part was taken for the whole");
}

#[test]
fn a_server_that_sends_other_bytes() {
    let place = Place::new();
    let wrong = liar(reply("200 OK\r\nContent-Length: 1000", &noise(1_000)));
    let urn = "urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB";
    let url = format!("http://{wrong}/uri-res/N2R?{urn}");
    let output = place.run(&[&["get", &url, "-o", "file"], &IMPATIENT[..]].concat());
    complains(&output, 5, "not the file asked for");
    assert!(!place.path("file").exists());
}

#[test]
fn a_server_that_sends_garbage_or_nothing() {
    let place = Place::new();
    let refusal = reply("404 Not Found\r\nContent-Length: 0", b"");
    let gave = "no source gave the file: 127.0.0.1:";
    let has = "no source has the file: 127.0.0.1:";
    for (answer, exit, said) in [(noise(3_000), 3, gave), (Vec::new(), 3, gave), (refusal, 9, has)]
    {
        let url = format!("http://{}/get/1/file", liar(answer));
        let output = place.run(&[&["get", &url, "-o", "file"], &IMPATIENT[..]].concat());
        complains(&output, exit, said);
    }
    place.share("file", 10);
    let running = place.sharing(&[]);
    let url = format!("http://{}/get/7/nothing", running.at);
    let output = place.run(&[&["get", &url], &IMPATIENT[..]].concat());
    complains(&output, 9, &format!("look what is shared there: http://{}/", running.at));
    let url = format!("http://127.0.0.1:{}/get/1/file", program::free_port());
    let output = place.run(&[&["get", &url, "-o", "file"], &IMPATIENT[..]].concat());
    complains(&output, 3, "no server answers: 127.0.0.1:");
}

/// What went wrong is in the last line, with the status that the server gave.
#[test]
fn a_server_that_is_busy_or_fails_is_given_up_after_so_many_tries() {
    let place = Place::new();
    for (status, said) in [
        ("503 Busy", "every source is busy: 127.0.0.1:"),
        ("429 Slow Down", "every source is busy: 127.0.0.1:"),
        ("500 Oops", "no source gave the file: 127.0.0.1:"),
    ] {
        let head = format!("{status}\r\nRetry-After: 1\r\nContent-Length: 0");
        let url = format!("http://{}/get/1/file", liar(reply(&head, b"")));
        let output = place.run(&["get", &url, "-o", "file", "--tries", "2", "--time-scale", "50"]);
        complains(&output, 3, said);
        complains(&output, 3, &format!("(HTTP status {})", &status[..3]));
    }
}

#[test]
fn where_no_server_listens_get_gives_up_soon_unless_told_to_wait() {
    let place = Place::new();
    let (_, bytes) = place.share("file", 50_000);
    let at = format!("127.0.0.1:{}", program::free_port());
    let url = format!("http://{at}/get/0/file");
    // As a user calls it; run() allows a minute.
    let output = place.run(&["get", &url, "-o", "file", "--state", "get"]);
    complains(&output, 3, &format!("no server answers: {at} cannot be reached"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("--wait"));
    // A hundred times faster: given up after 0.1 s, unless told to wait.
    let get = ["get", &url, "-o", "file", "--state", "get", "--time-scale", "100", "--json"];
    let output = place.run(&get);
    complains(&output, 3, "no server answers");
    let mut waiting = Running::start(place.servent(&[&get[..], &["--wait"]].concat()));
    waiting.event("trouble");
    let (_never_used, pause) = channel::<()>();
    // Nothing is ever sent: ten times as long as it waited above.
    let _ = pause.recv_timeout(Duration::from_secs(1));
    let _servent = place.sharing(&["--listen", &at]);
    waiting.event("done");
    assert_same(&place.path("file"), &bytes);
}

#[test]
fn a_search_that_no_servent_hears_is_not_one_that_finds_nothing() {
    let place = Place::new();
    let at = format!("127.0.0.1:{}", program::free_port());
    let output = place.run(&["search", "song", "--peer", &at, "--wait", "1"]);
    complains(&output, 3, &format!("no servent answered at {at}"));
    // The usual port is known.
    let output = place.run(&["search", "song", "--peer", "localhost"]);
    complains(&output, 3, "no servent answered at 127.0.0.1:6346");
}

#[test]
fn a_search_names_the_status_line_of_a_servent_that_refuses_it() {
    let place = Place::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap().to_string();
    let peer = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            head.extend(byte);
        }
        stream.write_all(b"GNUTELLA/0.6 503 Not Good Ultrapeer\r\n\r\n").unwrap();
        String::from_utf8(head).unwrap()
    });
    let output = place.run(&["search", "song", "--peer", &at, "--wait", "1"]);
    complains(&output, 3, &format!("{at} said 503 Not Good Ultrapeer"));
    assert!(peer.join().unwrap().contains("X-Ultrapeer: False\r\n"), "a search is a leaf");
}

#[test]
fn a_file_that_is_there_is_not_overwritten() {
    let place = Place::new();
    std::fs::write(place.path("file"), "mine").unwrap();
    let output = place.run(&["get", "http://127.0.0.1:1/get/1/file", "-o", "file"]);
    complains(&output, 4, "is there already");
    assert_same(&place.path("file"), b"mine");
    let output = place.run(&["get", "http://127.0.0.1:1/get/1/file", "-o", "no/folder/file"]);
    complains(&output, 4, "no folder");
}

#[test]
fn garbage_from_a_peer_harms_no_other() {
    let place = Place::new();
    let (_, bytes) = place.share("a", 50_000);
    let running: Running = place.sharing(&[]);
    for garbage in [noise(5_000), b"\0\0\0\0".to_vec(), b"GIV \r\n\r\nQUEUE\r\n".to_vec()] {
        let mut wire = Wire::connect(running.at);
        wire.send(&String::from_utf8_lossy(&garbage));
        drop(wire);
    }
    let mut long = Wire::connect(running.at);
    long.send(&format!("GET /get/1/a HTTP/1.1\r\nX-Long: {}\r\n", "x".repeat(64 * 1024)));
    assert!(matches!(long.head().status, 400 | 431));
    let reply = Wire::connect(running.at).get("/get/0/a", &["Connection: close"]);
    assert_eq!((reply.status, reply.body == bytes), (200, true));
    let metrics = String::from_utf8(lab_get(running.lab.unwrap(), "/metrics").body).unwrap();
    assert!(metrics.contains("servent_limit_head_bytes_total"), "{metrics}");
}
