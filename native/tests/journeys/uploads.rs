//! `share --accept`: visitors upload files with what they have.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::program::{Place, Running, Wire, assert_same, noise, until};

const ACCEPT: [&str; 4] = ["--accept", "inbox", "--lab", "off"];

/// `curl` in the folder of the test; what it prints ends with the status.
fn curl(place: &Place, arguments: &[&str]) -> Output {
    let mut curl = Command::new("curl");
    curl.args(["-sS", "--max-time", "60", "-w", "%{http_code}"]).args(arguments);
    curl.current_dir(place.dir.path()).output().unwrap()
}

fn status(output: &Output) -> u16 {
    let text = String::from_utf8_lossy(&output.stdout);
    text[text.len() - 3..].parse().unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

fn url(running: &Running) -> String {
    format!("http://{}/", running.at)
}

#[test]
fn files_come_whole_by_curl_and_replace_nothing() {
    let place = Place::new();
    place.share("song", 1_000);
    let mut running = place.sharing(&[&ACCEPT[..], &["--access-log", "log"]].concat());
    let to = url(&running);
    let (small, large) = (noise(30_000), noise(5_000_000));
    std::fs::write(place.path("a b.bin"), &small).unwrap();
    std::fs::write(place.path("film"), &large).unwrap();
    let sent = curl(&place, &["-T", "a b.bin", &to]);
    assert_eq!(String::from_utf8_lossy(&sent.stdout), "Kept as a b.bin\n201");
    let event = running.event("received");
    assert_eq!((&event["name"], &event["bytes"]), (&"a b.bin".into(), &30_000.into()));
    assert_eq!(status(&curl(&place, &["-T", "{film,a b.bin}", &to])), 201);
    assert_same(&place.path("inbox/a b.bin"), &small);
    assert_same(&place.path("inbox/a b (2).bin"), &small);
    assert_same(&place.path("inbox/film"), &large);

    // A pipe, whose length is not known.
    let mut tar = Command::new("curl");
    tar.args(["-sSf", "-T", "-", &format!("{to}piped")]).stdin(Stdio::piped());
    let mut tar = tar.spawn().unwrap();
    tar.stdin.take().unwrap().write_all(&large).unwrap();
    assert!(tar.wait().unwrap().success());
    assert_same(&place.path("inbox/piped"), &large);
    assert_eq!(names(&place.path("inbox")).len(), 4);

    let status = place.run(&["status", "--state", "state"]);
    let shown = String::from_utf8_lossy(&status.stdout).into_owned();
    assert!(shown.contains("inbox 4 files, 9.6 MiB of at most 64.0 GiB"), "{shown}");
    until("uploads are in the access log", || {
        let log = std::fs::read_to_string(place.path("log")).unwrap();
        log.lines().any(|line| line.contains("\"PUT /piped") && line.contains("\" 201 "))
    });
}

#[test]
fn nothing_is_hidden_too_large_below_a_folder_or_of_another_site() {
    let place = Place::new();
    place.share("song", 1_000);
    let limits = ["--set", "inbox.file_bytes=2000000", "--set", "inbox.files=2"];
    let running = place.sharing(&[&ACCEPT[..], &limits].concat());
    let to = url(&running);
    std::fs::write(place.path("a"), noise(1_000)).unwrap();
    std::fs::write(place.path("large"), noise(3_000_000)).unwrap();
    let put = |name: &str, from: &str, more: &[&str]| {
        status(&curl(&place, &[&["-T", from, &format!("{to}{name}")], more].concat()))
    };
    assert_eq!(put(".bashrc", "a", &[]), 403);
    assert_eq!(put("shared/a", "a", &[]), 403);
    assert_eq!(put("%2e%2e%2fstate", "a", &[]), 403);
    assert_eq!(put("large", "large", &[]), 413);
    assert_eq!(put("a", "a", &["-H", "Sec-Fetch-Site: cross-site"]), 403);
    assert_eq!(put("a", "a", &["-H", "Origin: http://evil.example"]), 403);
    assert!(names(&place.path("inbox")).is_empty());
    assert_eq!((put("a", "a", &[]), put("a", "a", &[]), put("a", "a", &[])), (201, 201, 507));
    std::fs::remove_file(place.path("inbox/a")).unwrap();
    until("there is room again", || put("a", "a", &[]) == 201);
    // Without --accept there is no such thing.
    drop(running);
    let running = place.sharing(&["--lab", "off"]);
    let to = url(&running);
    assert_eq!(status(&curl(&place, &["-T", "a", &to])), 405);
}

#[test]
fn of_half_a_file_nothing_is_left_even_after_kill_9() {
    let place = Place::new();
    place.share("song", 1_000);
    let running = place.sharing(&ACCEPT);
    let half = |running: &Running, name: &str| {
        let mut wire = Wire::connect(running.at);
        wire.send(&format!("PUT /{name} HTTP/1.1\r\nHost: x\r\nContent-Length: 900000\r\n\r\n"));
        wire.send(&"x".repeat(500_000));
        wire
    };
    let arriving = || {
        let status = place.run(&["status", "--state", "state", "--json"]);
        let status: serde_json::Value = serde_json::from_slice(&status.stdout).unwrap();
        status["servents"][0]["view"]["inbox"]["arriving"].clone()
    };
    let broken = half(&running, "broken");
    until("it arrives", || arriving()[0]["stored"].as_u64() == Some(500_000));
    assert_eq!(arriving()[0]["name"], "broken");
    drop(broken);
    until("it is gone", || arriving().as_array().is_some_and(Vec::is_empty));
    assert!(names(&place.path("inbox")).is_empty());

    let _half = half(&running, "half");
    until("it arrives", || arriving()[0]["stored"].as_u64() == Some(500_000));
    running.kill();
    assert!(names(&place.path("inbox")).is_empty());
    let running = place.sharing(&ACCEPT);
    std::fs::write(place.path("half"), "whole").unwrap();
    assert_eq!(status(&curl(&place, &["-T", "half", &url(&running)])), 201);
    assert_same(&place.path("inbox/half"), b"whole");
}

#[test]
fn a_visitor_that_is_too_slow_is_ended_and_one_with_the_password_is_let_in() {
    let place = Place::new();
    place.share("song", 1_000);
    std::fs::write(place.path("secret"), "open").unwrap();
    let slow = ["--set", "inbox.window=1s", "--set", "inbox.rate=1000"];
    let who = ["--user", "ann", "--password-file", "secret"];
    let running = place.sharing(&[&ACCEPT[..], &slow, &who].concat());
    let to = url(&running);
    // It begins to send before its password is checked.
    let bytes = noise(900_000);
    std::fs::write(place.path("file"), &bytes).unwrap();
    let put = |more: &[&str]| status(&curl(&place, &[&["-T", "file", &to], more].concat()));
    assert_eq!(put(&["-u", "ann:wrong"]), 401);
    assert_eq!(put(&["-H", "Expect:", "-u", "ann:open"]), 201);
    assert_same(&place.path("inbox/file"), &bytes);
    let mut wire = Wire::connect(running.at);
    let words = "Authorization: Basic YW5uOm9wZW4=";
    wire.send(&format!("PUT /slow HTTP/1.1\r\nHost: x\r\n{words}\r\nContent-Length: 9\r\n\r\nx"));
    assert_eq!(wire.head().status, 408);
    assert_eq!(names(&place.path("inbox")), ["file"]);
}
