//! The lab's web server and what asks it: `servent status`, a browser, a
//! scraper, and strangers who should not.

use crate::program;

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;
use std::time::Duration;

use program::{PATIENCE, Place, Running, Wire, lab_get, until};
use serde_json::Value;

#[test]
fn status_finds_the_running_servent() {
    let place = Place::new();
    place.share("file", 1_000);
    let mut running = place.sharing(&["--slots", "3"]);
    let output = place.run(&["status", "--state", "state"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success());
    assert!(text.contains("slots 0/3") && text.contains(&running.at.to_string()), "{text}");
    let output = place.run(&["status", "--state", "state", "--json"]);
    let status: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(status["servents"][0]["view"]["queue"]["slots"], 3);
    assert_eq!(status["pid"], running.pid());
    running.signal("INT");
    running.ended();
    program::complains(&place.run(&["status", "--state", "state"]), 7, "no servent runs");
}

#[test]
fn a_control_file_of_a_dead_servent_is_seen_through() {
    let place = Place::new();
    place.share("file", 1_000);
    place.sharing(&[]).kill();
    assert!(place.path("state/control.json").exists());
    program::complains(&place.run(&["status", "--state", "state"]), 7, "no servent runs");
}

#[test]
fn the_tape_comes_from_its_start_and_goes_on_live() {
    let place = Place::new();
    place.share("file", 1_000);
    let running = place.sharing(&[]);
    let stream = TcpStream::connect(running.lab.unwrap()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    (&stream).write_all(b"GET /api/tape HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    let mut lines = BufReader::new(&stream).lines().map_while(Result::ok);
    let mut data = lines.by_ref().filter_map(|l| l.strip_prefix("data: ").map(str::to_owned));
    assert!(data.next().unwrap().contains("file_schema"));
    assert!(data.next().unwrap().contains("servent:start"));
    assert_eq!(Wire::connect(running.at).get("/get/0/file", &[]).status, 200);
    assert!(data.any(|line| line.contains("\"queue:started\"")));
}

/// The lab of a command that has none unless it is wanted.
fn watched(running: &mut Running, view: &str) -> BufReader<TcpStream> {
    let url = running.event("lab")["url"].as_str().unwrap().to_owned();
    let at = url.strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap();
    let info = lab_get(at, "/api/info").json();
    assert_eq!((&info["live"], &info["servents"][0]["view"]), (&Value::from(true), &view.into()));
    assert_eq!(lab_get(at, "/api/status").json()["servents"].as_array().unwrap().len(), 1);
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /api/tape HTTP/1.1\r\nHost: localhost\r\n\r\n").unwrap();
    BufReader::new(stream)
}

fn tells(tape: BufReader<TcpStream>, event: &str) {
    assert!(tape.lines().map_while(Result::ok).any(|line| line.contains(event)), "{event}");
}

#[test]
fn a_receiver_and_a_swarms_coordinator_are_watched_while_they_work() {
    let place = Place::new();
    place.share("file", 10_000);
    let words = ["receive", "--open", "--yes", "--json", "--listen", "127.0.0.1:0"];
    let more = ["-o", "inbox/", "--lab", "127.0.0.1:0"];
    let mut receiver = Running::start(place.servent(&[&words[..], &more].concat()));
    let to = receiver.event("listening")["address"].as_str().unwrap().to_owned();
    let tape = watched(&mut receiver, "unicast");
    assert!(place.run(&["send", "--open", &to, "shared/file", "-q"]).status.success());
    tells(tape, "\"unicast:opened\"");

    let words = ["swarm", "serve", "shared/file", "--json", "--listen", "127.0.0.1:0"];
    let more = ["--state", "s", "--lab", "127.0.0.1:0"];
    let mut server = Running::start(place.servent(&[&words[..], &more].concat()));
    let at: SocketAddr = server.event("listening")["at"].as_str().unwrap().parse().unwrap();
    let tape = watched(&mut server, "swarm");
    let url = format!("pdtp://{at}/file");
    assert!(
        place.run(&["swarm", "get", &url, "-o", "copy", "--state", "c", "-q"]).status.success()
    );
    tells(tape, "\"swarm:arrived\"");
}

#[test]
fn so_many_follow_the_tape_and_the_next_one_may_come_again() {
    let place = Place::new();
    place.share("file", 1_000);
    let running = place.sharing(&["--set", "lab_readers=2"]);
    let lab = running.lab.unwrap();
    let follow = || {
        let mut wire = Wire::connect(lab);
        wire.send("GET /api/tape HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let head = wire.head();
        (head.status, head.header("retry-after").map(str::to_owned), wire)
    };
    let first = follow();
    let second = follow();
    assert_eq!((first.0, second.0), (200, 200));
    let third = follow();
    assert_eq!((third.0, third.1.as_deref()), (503, Some("5")));
    let metrics = String::from_utf8(lab_get(lab, "/metrics").body).unwrap();
    assert!(metrics.contains("servent_lab_tape_readers 2"), "{metrics}");
    assert!(metrics.contains("servent_lab_tape_refused_total 1"), "{metrics}");
    drop(first);
    until("a client that goes makes room", || follow().0 == 200);
    drop(second);
}

#[test]
fn the_queue_is_told_by_its_lanes() {
    let place = Place::new();
    place.share("file", 3_000_000);
    let running = place.sharing(&["--slots", "1", "--set", "upload_rate=100000"]);
    let lab = running.lab.unwrap();
    let mut wires: Vec<Wire> = (0..3)
        .map(|_| {
            let mut wire = Wire::connect(running.at);
            wire.send("GET /get/0/file HTTP/1.1\r\nHost: x\r\nX-Queue: 0.1\r\n\r\n");
            assert!(matches!(wire.head().status, 200 | 503));
            wire
        })
        .collect();
    let told = lab_get(lab, "/api/queue?sync=1&count=1").json();
    assert_eq!(told["lanes"]["sync"], 2);
    assert_eq!(told["queue"]["uploads"].as_array().unwrap().len(), 1);
    let cards = told["queue"]["cards"].as_array().unwrap();
    assert_eq!((cards.len(), &cards[0]["position"]), (1, &Value::from(2)));
    assert!(told["at"].as_u64().unwrap() > 1_600_000_000_000_000);
    assert_eq!(lab_get(lab, "/api/queue?servent=nobody").status, 404);
    wires.clear();
}

#[test]
fn no_other_user_reads_what_a_servent_keeps() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::new();
    place.share("file", 1_000);
    let _running = place.sharing(&["--trace", "run.sqlog"]);
    for (name, wanted) in [
        ("run.sqlog", 0o600),
        ("state", 0o700),
        ("state/state.redb", 0o600),
        ("state/control.json", 0o600),
    ] {
        let mode = std::fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, wanted, "{name} is {mode:o}");
    }
}

#[test]
fn metrics_are_prometheus_text() {
    let place = Place::new();
    place.share("file", 1_000);
    let running = place.sharing(&["--slots", "2"]);
    assert_eq!(Wire::connect(running.at).get("/get/0/file", &[]).status, 200);
    until("the upload is counted", || {
        let text = String::from_utf8(lab_get(running.lab.unwrap(), "/metrics").body).unwrap();
        assert!(text.contains("# TYPE servent_slots gauge"), "{text}");
        text.contains("servent_uploads_finished_total{servent=\"servent\"} 1")
            && text.contains("servent_slots{servent=\"servent\"} 2")
    });
}

#[test]
fn forged_names_foreign_pages_and_strangers_are_refused() {
    let place = Place::new();
    place.share("file", 1_000);
    let running = place.sharing(&["--slots", "2"]);
    let lab = running.lab.unwrap();
    let raw = |text: &str| {
        let mut wire = Wire::connect(lab);
        wire.send(text);
        wire.reply()
    };
    let rebound = raw("GET /api/info HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n");
    assert_eq!(rebound.status, 421);
    let foreign = "GET /api/info HTTP/1.1\r\nHost: localhost\r\nOrigin: http://evil.example\r\nConnection: close\r\n\r\n";
    assert_eq!(raw(foreign).status, 403);

    let command = "{\"http\":{\"slots\":{\"slots\":5}}}";
    let post = |token: &str| {
        raw(&format!(
            "POST /api/command HTTP/1.1\r\nHost: {lab}\r\nX-Servent-Token: {token}\r\n\
             Content-Length: {}\r\nConnection: close\r\n\r\n{command}",
            command.len()
        ))
        .status
    };
    assert_eq!(post("guess"), 403);
    let control = std::fs::read_to_string(place.path("state/control.json")).unwrap();
    let control: Value = serde_json::from_str(&control).unwrap();
    assert_eq!(post(control["token"].as_str().unwrap()), 204);
    until("the slots changed", || lab_get(lab, "/api/view").json()["queue"]["slots"] == 5);
}

#[test]
fn a_trace_is_found_by_its_name_and_nothing_else() {
    let place = Place::new();
    place.share("file", 1_000);
    let running = place.sharing(&["--trace", "run.sqlog"]);
    let lab = running.lab.unwrap();
    assert_eq!(lab_get(lab, "/api/info").json()["traces"], serde_json::json!(["run.sqlog"]));
    assert_eq!(lab_get(lab, "/api/traces/run.sqlog").body[0], 0x1e);
    for name in ["..%2Frun.sqlog", "state%2Fstate.redb", "x.sqlog", "%2Fetc%2Fpasswd"] {
        assert_eq!(lab_get(lab, &format!("/api/traces/{name}")).status, 404, "{name}");
    }
}

#[test]
fn the_page_is_served_with_its_rules() {
    let place = Place::new();
    place.share("file", 1_000);
    let www = place.path("www");
    std::fs::create_dir(&www).unwrap();
    std::fs::write(www.join("index.html"), "<meta name=\"servent-api\" content=\"none\">").unwrap();
    std::fs::write(www.join("a.wasm"), "wasm").unwrap();
    let running = place.sharing(&["--set", "www=www"]);
    let lab = running.lab.unwrap();
    let index = lab_get(lab, "/");
    assert_eq!(index.header("content-type"), Some("text/html; charset=utf-8"));
    // No other page shows it in a frame: not the page, nor what it asks for.
    let api = lab_get(lab, "/api/info");
    for answer in [&index, &api, &lab_get(lab, "/nothing")] {
        let policy = answer.header("content-security-policy").unwrap();
        for rule in ["default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'"] {
            assert!(policy.split(';').any(|one| one.trim() == rule), "{rule}: {policy}");
        }
    }
    assert!(String::from_utf8(index.body).unwrap().contains("content=\"here\""));
    assert_eq!(lab_get(lab, "/a.wasm").header("content-type"), Some("application/wasm"));
    assert_eq!(lab_get(lab, "/..%2Fstate%2Fcontrol.json").status, 404);
}

#[test]
fn lab_points_at_the_servent_that_runs() {
    let place = Place::new();
    place.share("file", 1_000);
    let running = place.sharing(&[]);
    let output = place.run(&["lab", "--state", "state"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(text, format!("lab http://{}/\n", running.lab.unwrap()));
}

#[test]
fn lab_serves_recorded_traces_without_a_servent() {
    let place = Place::new();
    place.share("file", 1_000);
    let mut running = place.sharing(&["--trace", "run.sqlog"]);
    running.signal("INT");
    assert!(running.ended().success());
    let arguments = ["lab", "run.sqlog", "--listen", "127.0.0.1:0", "--state", "other"];
    let mut lab = program::Running::start(place.servent(&arguments));
    let line = lab.line(|line| line.starts_with("lab http://"));
    let at = line["lab http://".len()..].trim_end_matches('/').parse().unwrap();
    let info = lab_get(at, "/api/info").json();
    assert_eq!(
        (&info["live"], &info["traces"][0]),
        (&Value::from(false), &Value::from("run.sqlog"))
    );
    assert_eq!(lab_get(at, "/api/tape").status, 404);
    lab.signal("TERM");
    assert_eq!(lab.ended().code(), Some(0));
}

#[test]
fn stop_by_command_ends_share_as_ctrl_c_does() {
    let place = Place::new();
    place.share("file", 1_000);
    let mut running = place.sharing(&[]);
    let control = std::fs::read_to_string(place.path("state/control.json")).unwrap();
    let control: Value = serde_json::from_str(&control).unwrap();
    let mut wire = Wire::connect(running.lab.unwrap());
    wire.send(&format!(
        "POST /api/command HTTP/1.1\r\nHost: localhost\r\nX-Servent-Token: {}\r\nContent-Length: 6\r\n\r\n\"stop\"",
        control["token"].as_str().unwrap()
    ));
    assert_eq!(running.ended().code(), Some(0));
}

#[test]
fn a_page_of_another_site_gets_nothing_out_of_the_api() {
    let place = Place::new();
    place.share("file", 1_000);
    let running = place.sharing(&[]);
    let lab = running.lab.unwrap();
    for (path, site, status) in [
        ("/api/status", "cross-site", 403),
        ("/api/tape", "cross-site", 403),
        ("/api/view", "same-site", 403),
        ("/metrics", "cross-site", 403),
        ("/api/status", "same-origin", 200),
        ("/api/status", "none", 200),
        ("/", "cross-site", 200),
    ] {
        let site = format!("Sec-Fetch-Site: {site}");
        let reply = Wire::connect(lab).get(path, &[&site]);
        assert_eq!(reply.status, status, "{path} {site}");
    }
    let mut wire = Wire::connect(lab);
    wire.send("GET /api/status HTTP/1.1\r\nHost: 127.0.0.1:evil.com\r\n\r\n");
    assert_eq!(wire.reply().status, 421);
}

/// With few descriptors, and more connections to the lab than that.
#[test]
fn half_heads_at_the_lab_starve_no_client_and_are_closed() {
    let place = Place::new();
    place.share("file", 1_000);
    let servent = place.servent(&[]);
    let mut limited = std::process::Command::new("sh");
    let program = servent.get_program().to_owned();
    limited.args(["-c", "ulimit -n 260; exec \"$0\" \"$@\""]).arg(program);
    limited.args(["share", "shared", "--state", "state", "--json"]);
    limited.args(["--listen", "127.0.0.1:0", "--lab", "127.0.0.1:0"]);
    limited.env_clear().env("HOME", place.dir.path()).env("PATH", "/usr/bin:/bin");
    limited.current_dir(place.dir.path());
    let mut running = program::Running::start(limited);
    let at: std::net::SocketAddr =
        running.event("listening")["at"].as_str().unwrap().parse().unwrap();
    let lab = running.event("lab")["url"].as_str().unwrap().to_owned();
    let lab: std::net::SocketAddr =
        lab.strip_prefix("http://").unwrap().trim_end_matches('/').parse().unwrap();
    running.event("hashed");
    let mut half: Vec<TcpStream> = Vec::new();
    for _ in 0..300 {
        let mut stream = TcpStream::connect(lab).unwrap();
        let _ = stream.write_all(b"GET /api/status HTTP/1.1\r\nHost: ");
        half.push(stream);
    }
    let reply = Wire::connect(at).get("/get/0/file", &["Connection: close"]);
    assert_eq!((reply.status, reply.body.len()), (200, 1_000), "the sharing port has its own");
    // Every one of them is closed, and an honest reader gets its turn.
    let reply = Wire::connect(lab).get("/api/status", &["Connection: close"]);
    assert_eq!(reply.status, 200);
    for stream in half {
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut answer = Vec::new();
        let ended = std::io::Read::read_to_end(&mut &stream, &mut answer);
        let reset = |e: &std::io::Error| e.kind() == std::io::ErrorKind::ConnectionReset;
        assert!(ended.as_ref().map_or_else(reset, |_| true), "{ended:?}");
    }
}

/// One address opens as many connections as it can and sends one byte of a body
/// on each: others are served, health is told, and in the end it is shown out.
#[test]
fn requests_that_never_arrive_keep_the_port_from_no_client() {
    let place = Place::new();
    place.share("file", 1_000);
    let running = place.sharing(&[]);
    let lab = running.lab.unwrap();
    let begun = format!("POST /api/command HTTP/1.1\r\nHost: {lab}\r\nContent-Length: 9\r\n\r\n{{");
    let mut held: Vec<TcpStream> = (0..80)
        .map(|_| {
            let mut stream = TcpStream::connect(lab).unwrap();
            stream.write_all(begun.as_bytes()).unwrap();
            stream
        })
        .collect();
    let curl = |from: &str, path: &str| {
        let url = format!("http://{lab}{path}");
        let arguments = ["-s", "-m", "10", "-o", "/dev/null", "-w", "%{http_code}", "--interface"];
        let output = Command::new("curl").args(arguments).args([from, &url]).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    for path in ["/healthz", "/readyz", "/metrics"] {
        assert_eq!(curl("127.0.0.1", path), "200", "{path} of the same address");
    }
    for path in ["/api/info", "/healthz"] {
        assert_eq!(curl("127.0.0.2", path), "200", "{path} of another address");
    }
    let first = &mut held[0];
    first.set_read_timeout(Some(Duration::from_secs(40))).unwrap();
    let mut reply = [0; 12];
    first.read_exact(&mut reply).unwrap();
    assert_eq!(&reply, b"HTTP/1.1 408");
}
