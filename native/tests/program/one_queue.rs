//! Strangers, Active Queueing and PARQ clients in one fair line, over real
//! TCP.

use crate::program;

use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use program::{Place, Running, Wire, assert_same, lab_get, until};
use serde_json::Value;

/// One slot, intervals a thirtieth, uploads slow enough to queue behind.
const BUSY: [&str; 8] = [
    "--slots",
    "1",
    "--time-scale",
    "30",
    "--set",
    "upload_rate=400000",
    "--set",
    "queue.hammer_requests=1000",
];

fn waiting(running: &Running) -> u64 {
    let view = lab_get(running.lab.unwrap(), "/api/view").json();
    view["queue"]["length"].as_u64().unwrap()
}

fn pause(length: Duration) {
    let (_never_used, pause) = channel::<()>();
    let _ = pause.recv_timeout(length);
}

/// Polls as the reply says until the file comes.
fn active_client(mut wire: Wire, mut reply: program::Reply) -> Vec<u8> {
    for _ in 0..40 {
        if reply.status != 503 {
            assert_eq!(reply.status, 200, "{reply:?}");
            return reply.body;
        }
        let wait = reply.number("x-queue", "pollMin").unwrap();
        pause(Duration::from_secs_f64(wait + 0.05));
        reply = wire.get("/get/0/file", &["X-Queue: 0.1"]);
    }
    panic!("never served: {reply:?}");
}

/// A plain browser that tries again when `Retry-After` says so.
fn curl(url: &str, file: &str, dir: &std::path::Path) -> bool {
    for _ in 0..40 {
        let output = Command::new("curl")
            .args(["-s", "-o", file, "-w", "%{http_code} %header{retry-after}", url])
            .current_dir(dir)
            .output()
            .unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        match said.split_once(' ').unwrap() {
            ("200", _) => return true,
            ("503", wait) => {
                pause(Duration::from_secs_f64(wait.trim().parse::<f64>().unwrap() + 0.05))
            }
            other => panic!("{other:?}"),
        }
    }
    false
}

#[test]
fn curl_a_raw_client_and_servent_get_stand_in_one_line() {
    let place = Place::new();
    let (_, bytes) = place.share("file", 500_000);
    let mut running = place.sharing(&[&BUSY[..], &["--trace", "run.sqlog"]].concat());
    let url = format!("http://{}/get/0/file", running.at);

    let mut holder = Wire::connect(running.at);
    holder.send("GET /get/0/file HTTP/1.1\r\nHost: h\r\nX-Queue: 0.1\r\n\r\n");
    assert_eq!(holder.head().status, 200);

    let mut active = Wire::connect(running.at);
    let told = active.get("/get/0/file", &["X-Queue: 0.1"]);
    assert_eq!(told.status, 503);
    assert_eq!(told.number("x-queue", "position"), Some(1.0), "{told:?}");
    let active = thread::spawn(move || active_client(active, told));
    until("one waits", || waiting(&running) == 1);

    let get = place.servent(&["get", &url, "-o", "parq", "--state", "get", "--time-scale", "30"]);
    let mut get = { get }.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("two wait", || waiting(&running) >= 2);
    let dir = place.dir.path().to_path_buf();
    let stranger = thread::spawn(move || curl(&url, "stranger", &dir));

    drop(holder);
    assert!(active.join().unwrap() == bytes, "the raw client got other bytes");
    assert!(program::ended(&mut get).success());
    assert_same(&place.path("parq"), &bytes);
    assert!(stranger.join().unwrap());
    assert_same(&place.path("stranger"), &bytes);

    running.signal("TERM");
    assert!(running.ended().success());
    let (arrived, started) = orders(&std::fs::read_to_string(place.path("run.sqlog")).unwrap());
    assert!(arrived.len() >= 3, "{arrived:?}");
    let served: Vec<&String> = started.iter().filter(|t| arrived.contains(t)).collect();
    assert_eq!(served, arrived.iter().collect::<Vec<_>>(), "not first come, first served");
}

/// Tickets in order of arrival in the line, and of the beginning of service.
fn orders(trace: &str) -> (Vec<String>, Vec<String>) {
    let mut arrived = Vec::new();
    let mut started = Vec::new();
    for line in trace.split('\u{1e}') {
        let Ok(line) = serde_json::from_str::<Value>(line) else { continue };
        let list = match line["name"].as_str() {
            Some("queue:arrived") => &mut arrived,
            Some("queue:started") => &mut started,
            _ => continue,
        };
        list.push(line["data"]["ticket"].as_str().unwrap().to_owned());
    }
    (arrived, started)
}

#[test]
fn several_sources_give_one_file_over_both_families() {
    let place = Place::new();
    let (_, bytes) = place.share("file", 3_000_000);
    let four = place.sharing(&[]);
    let mut six = place.servent(&[
        "share", "shared", "--json", "--state", "six", "--listen", "[::1]:0", "--lab", "off",
    ]);
    six.stdin(Stdio::null());
    let mut six = Running::start(six);
    let at = six.event("listening")["at"].as_str().unwrap().to_owned();
    six.event("hashed");
    let urls = [format!("http://{}/get/0/file", four.at), format!("http://{at}/get/0/file")];
    let urn = Wire::connect(four.at)
        .get("/get/0/file", &["Connection: close"])
        .header("x-gnutella-content-urn")
        .unwrap()
        .to_owned();
    let both = ["get", &urls[0], &urn, "--mirror", &urls[1], "-o", "both", "--json"];
    let output = place.run(&[&both[..], &["--state", "get"]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("both"), &bytes);
    let output = place.run(&["get", &urls[1], "-o", "six-alone", "--state", "get"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("six-alone"), &bytes);
}

#[test]
fn a_urn_is_found_and_verified() {
    let place = Place::new();
    let (_, bytes) = place.share("file", 10_000);
    let running = place.sharing(&[]);
    let urn = Wire::connect(running.at)
        .get("/get/0/file", &["Connection: close"])
        .header("x-gnutella-content-urn")
        .unwrap()
        .to_owned();
    let output = place.run(&["get", &urn, &running.at.to_string(), "--json", "--state", "get"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let last = String::from_utf8(output.stdout).unwrap();
    let done: Value = serde_json::from_str(last.lines().last().unwrap()).unwrap();
    assert_eq!((&done["event"], &done["verified"]), (&Value::from("done"), &Value::from(true)));
    assert_same(std::path::Path::new(done["file"].as_str().unwrap()), &bytes);
}
