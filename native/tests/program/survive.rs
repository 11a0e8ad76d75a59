//! Ctrl-C, kill -9 and restarts: what was promised stays true.

use crate::program;

use std::process::Stdio;

use program::{Place, Running, Wire, assert_same, complains, ended, lab_get, until};
use serde_json::Value;

const BUSY: [&str; 6] =
    ["--slots", "1", "--set", "upload_rate=100000", "--set", "queue.hammer_requests=1000"];

fn tickets(running: &Running) -> Vec<(String, u64)> {
    let view = lab_get(running.lab.unwrap(), "/api/view").json();
    let card =
        |c: &Value| (c["ticket"].as_str().unwrap().to_owned(), c["position"].as_u64().unwrap());
    view["queue"]["cards"].as_array().unwrap().iter().map(card).collect()
}

#[test]
fn kill_9_of_the_server_keeps_positions_and_ids() {
    let place = Place::new();
    place.share("file", 2_000_000);
    let port = program::free_port();
    let at = format!("127.0.0.1:{port}");
    let running = place.sharing(&[&BUSY[..], &["--listen", &at]].concat());
    let mut holder = Wire::connect(running.at);
    holder.send("GET /get/0/file HTTP/1.1\r\nHost: h\r\nX-Queue: 1.0\r\n\r\n");
    assert_eq!(holder.head().status, 200);
    let mut told = Vec::new();
    for position in 1..=5 {
        let reply = Wire::connect(running.at).get("/get/0/file", &["X-Queue: 1.0"]);
        assert_eq!(reply.status, 503);
        assert_eq!(reply.number("x-queued", "position"), Some(f64::from(position)), "{reply:?}");
        let list = reply.header("x-queued").unwrap();
        let id = list.split(';').find_map(|p| p.trim().strip_prefix("ID=")).unwrap();
        told.push((id.to_lowercase(), u64::try_from(position).unwrap()));
    }
    running.kill();
    drop(holder);
    let again = place.sharing(&[&BUSY[..], &["--listen", &at]].concat());
    assert_eq!(tickets(&again), told);
}

#[test]
fn kill_9_of_get_resumes_where_it_was() {
    let place = Place::new();
    let (_, bytes) = place.share("file", 9_000_000);
    let slow = place.sharing(&["--set", "upload_rate=3000000"]);
    let url = format!("http://{}/get/0/file", slow.at);
    let arguments = [
        "get",
        &url,
        "-o",
        "file",
        "--json",
        "--state",
        "get",
        "--time-scale",
        "20",
        "--set",
        "fetch.save_bytes=262144",
    ];
    let mut first = Running::start(place.servent(&arguments));
    first.line(|line| {
        serde_json::from_str::<Value>(line)
            .is_ok_and(|v| v["download"]["have"].as_u64().unwrap_or(0) > 2_000_000)
    });
    first.kill();
    assert!(place.path("file.part").exists());
    assert!(!place.path("file").exists());
    let before = sent(&slow);
    let output = place.run(&arguments);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("file"), &bytes);
    let again = sent(&slow) - before;
    assert!(again < 8_000_000, "{again} bytes came a second time");
}

#[test]
fn the_name_that_is_told_is_the_name_that_is_written() {
    let place = Place::new();
    let (_, bytes) = place.share("file", 300_000);
    let running = place.sharing(&[]);
    let url = format!("http://{}/get/0/file", running.at);
    let output = place.run(&["get", &url, "-o", "got.bin", "--json", "--state", "get"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let told = String::from_utf8(output.stdout).unwrap();
    let done: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
    assert_eq!(done["file"], place.path("got.bin").to_str().unwrap());
    assert_same(&place.path("got.bin"), &bytes);
    assert!(!place.path("got.bin.part").exists() && !place.path("got (2).bin").exists());
}

#[test]
fn a_part_from_elsewhere_goes_on_when_its_bytes_agree() {
    let place = Place::new();
    let (_, bytes) = place.share("file", 9_000_000);
    let slow = place.sharing(&["--set", "upload_rate=3000000"]);
    let old = format!("http://{}/get/0/file", slow.at);
    let fixed = "-o file --json --state get --time-scale 20 --set fetch.save_bytes=262144";
    let get = |urls: &str| {
        let line = format!("get {urls} {fixed}");
        place.servent(&line.split(' ').collect::<Vec<_>>())
    };
    let run = |urls: &str| {
        let mut command = get(urls);
        program::finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
    };
    let mut first = Running::start(get(&old));
    first.line(|line| {
        serde_json::from_str::<Value>(line)
            .is_ok_and(|v| v["download"]["have"].as_u64().unwrap_or(0) > 2_000_000)
    });
    first.kill();
    drop(slow);
    let other = place.sharing(&[]);
    let new = format!("http://{}/get/0/file", other.at);
    let before = sent(&other);
    let output = run(&new);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("file"), &bytes);
    assert!(!place.path("file.part").exists());
    let again = sent(&other) - before;
    assert!(again < 8_000_000, "{again} bytes came a second time");
}

fn sent(running: &Running) -> u64 {
    let status = lab_get(running.lab.unwrap(), "/api/status").json();
    status["servents"][0]["counters"]["bytes_sent"].as_u64().unwrap()
}

#[test]
fn ctrl_c_ends_share_with_everything_saved() {
    let place = Place::new();
    place.share("file", 2_000_000);
    for signal in ["INT", "TERM"] {
        let mut running = place.sharing(&BUSY);
        assert!(place.path("state/control.json").exists());
        running.signal(signal);
        assert_eq!(running.ended().code(), Some(0), "{signal}");
        assert!(!place.path("state/control.json").exists());
    }
}

#[test]
fn ctrl_c_of_get_says_how_to_go_on() {
    let place = Place::new();
    place.share("file", 2_000_000);
    let running = place.sharing(&BUSY);
    let url = format!("http://{}/get/0/file", running.at);
    let mut get = place.servent(&["get", &url, "-o", "file", "--state", "get"]);
    let get = get.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("it downloads", || {
        let view = lab_get(running.lab.unwrap(), "/api/view").json();
        view["queue"]["uploads"].as_array().is_some_and(|u| !u.is_empty())
    });
    let pid = get.id().to_string();
    assert!(
        std::process::Command::new("kill").args(["-s", "INT", &pid]).status().unwrap().success()
    );
    let output = program::finish(get);
    complains(&output, 130, "same command");
}

#[test]
fn ctrl_c_of_get_keeps_every_byte_that_has_come() {
    let place = Place::new();
    let (_, bytes) = place.share("file", 8_000_000);
    let slow = place.sharing(&["--set", "upload_rate=600000"]);
    let at = slow.at.to_string();
    let url = format!("http://{at}/get/0/file");
    let arguments =
        ["get", &url, "-o", "file", "--json", "--state", "get", "--time-scale", "20", "--wait"];
    let have = |line: &str| {
        let line = serde_json::from_str::<Value>(line).unwrap_or_default();
        line["download"]["have"].as_u64().unwrap_or(0)
    };
    // Less than is saved on the way without being asked to, and long before
    // the end.
    let mut first = Running::start(place.servent(&arguments));
    let come = have(&first.line(|line| have(line) > 500_000));
    first.signal("INT");
    assert_eq!(first.ended().code(), Some(130));
    drop(slow);
    let _faster = place.sharing(&["--listen", &at, "--set", "upload_rate=4000000"]);
    let mut again = Running::start(place.servent(&arguments));
    let begun = again.event("progress")["download"]["have"].as_u64().unwrap();
    assert!(begun >= come, "{begun} of {come} bytes are still known");
    again.event("done");
    assert!(again.ended().success());
    assert_same(&place.path("file"), &bytes);
}

#[test]
fn a_server_that_goes_and_comes_back_is_found_again() {
    let place = Place::new();
    let (_, bytes) = place.share("file", 3_000_000);
    let port = program::free_port();
    let at = format!("127.0.0.1:{port}");
    let options = ["--listen", &at, "--set", "upload_rate=2000000", "--time-scale", "20"];
    let running = place.sharing(&options);
    let url = format!("http://{at}/get/0/file");
    let mut get =
        place.servent(&["get", &url, "-o", "file", "--state", "get", "--time-scale", "20"]);
    let mut get = get.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    until("it downloads", || place.path("file.part").exists());
    running.kill();
    let _again = place.sharing(&options);
    assert!(ended(&mut get).success());
    assert_same(&place.path("file"), &bytes);
}
