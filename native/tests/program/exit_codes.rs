//! Every code of the table in docs/exit-codes.md is one that commands end with, and
//! the help has the same table.

use std::io::Write as _;
use std::net::TcpListener;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

use crate::program::{Place, Running, finish, free_port, noise, receiving, until};

const TABLE: &str = include_str!("../../../docs/exit-codes.md");

/// Code and kind of each row.
fn rows() -> Vec<(i32, Option<String>)> {
    let row = |line: &str| {
        let mut cells = line.strip_prefix("| ")?.split(" | ");
        let code = cells.next()?.parse().ok()?;
        let kind = cells.next()?.strip_prefix('`').map(|kind| kind.trim_end_matches('`'));
        Some((code, kind.map(str::to_owned)))
    };
    TABLE.lines().filter_map(row).collect()
}

/// A place that shares a file, and its address.
struct Case {
    place: Place,
    running: Running,
}

impl Case {
    fn get(&self, more: &[&str]) -> Output {
        self.place.run(&[&["get", "--state", "get", "--json"], more].concat())
    }

    fn url(&self, name: &str) -> String {
        format!("http://{}/shared/{name}", self.running.at)
    }

    /// Ways to end with that code.
    fn ends(&self, code: i32) -> Vec<Output> {
        let (film, gone) = (self.url("film"), self.url("gone"));
        let place = &self.place;
        match code {
            0 => vec![self.get(&[&film, "-o", "whole"]), self.head(&film)],
            1 => vec![place.run(&[
                "search",
                "nothingofthatname",
                "--peer",
                &self.peer(),
                "--wait",
                "1",
                "--json",
            ])],
            2 => vec![
                self.get(&["--parallel", "0", &film]),
                self.get(&["--tries", "x", &film]),
                self.get(&["nonsense"]),
                self.get(&["http://127.0.0.1:0/x"]),
                self.get(&["http://127.0.0.1:99999/x"]),
                place.run(&["send", "--open", "127.0.0.1:0", "letter", "--json"]),
                place.run(&["sim", "rush-hour", "--seed", "99999999999999999999", "--json"]),
            ],
            3 => vec![self.get(&[&format!("http://127.0.0.1:{}/x", free_port())])],
            4 => vec![self.get(&[&film, "--trace", "letter"]), self.get(&[&film, "-o", "letter"])],
            5 => vec![self.get(&[&film, "-o", "x", "--sha256", &"0".repeat(64)])],
            6 => {
                let taken = TcpListener::bind("127.0.0.1:0").unwrap();
                let at = taken.local_addr().unwrap().to_string();
                let share = ["share", "shared", "--state", "second", "--json", "--lab", "off"];
                vec![place.run(&[&share[..], &["--listen", &at]].concat())]
            }
            7 => vec![place.run(&["status", "--state", "nowhere", "--json"])],
            8 => vec![place.run(&["replay", "letter", "--json"])],
            9 => vec![self.get(&[&gone]), self.wrong_code()],
            10 => vec![self.get(&[&gone, &film, "-o", "here/"])],
            130 => vec![self.stopped()],
            other => panic!("no command of this test ends with {other}"),
        }
    }

    fn peer(&self) -> String {
        self.running.at.to_string()
    }

    /// A reader of the beginning only.
    fn head(&self, film: &str) -> Output {
        let mut command = self.place.servent(&["get", film, "-o", "-", "--state", "get"]);
        let mut get = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        drop(get.stdout.take());
        let mut nothing = Command::new("true").stdout(Stdio::piped()).spawn().unwrap();
        get.stdout = nothing.stdout.take();
        nothing.wait().unwrap();
        finish(get)
    }

    fn wrong_code(&self) -> Output {
        let mut receive = self.place.servent(&["receive", "--json", "--listen", "127.0.0.1:0"]);
        receive.args(["-o", "in/", "--code", "ocean-pepper-violin"]);
        let mut receiver = Running::start(receive);
        let at = receiver.event("listening")["address"].as_str().unwrap().to_owned();
        let code = ["--code", "ocean-pepper-viola", "--json"];
        self.place.run(&[&["send", &at, "letter"], &code[..]].concat())
    }

    /// Ctrl-C while a receiver has a part of it.
    fn stopped(&self) -> Output {
        let (_receiver, at) = receiving(&self.place, &[]);
        let mut command = self.place.servent(&["send", "--open", &at, "-", "--json"]);
        let mut send = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut input = send.stdin.take().unwrap();
        input.write_all(&noise(100_000)).unwrap();
        until("it has said something", || {
            std::fs::metadata(self.place.path("in/received.part")).is_ok()
        });
        let kill = Command::new("kill").args(["-s", "INT", &send.id().to_string()]).status();
        assert!(kill.unwrap().success());
        let output = finish(send);
        drop(input);
        output
    }
}

#[test]
fn exit_codes_are_those_of_the_table() {
    let place = Place::new();
    place.share("film", 500_000);
    std::fs::write(place.path("letter"), "dear").unwrap();
    let running = place.sharing(&[]);
    let case = Case { place, running };
    let rows = rows();
    assert_eq!(rows.len(), 12, "{rows:?}");
    let help = String::from_utf8(case.place.run(&["--help"]).stdout).unwrap();
    for (code, kind) in rows {
        assert!(help.lines().any(|line| line.starts_with(&format!("  {code} "))), "{code}");
        for output in case.ends(code) {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            assert_eq!(output.status.code(), Some(code), "{said}");
            for raw in ["panicked", "invalid digit", "non-zero type", "target type", "os error"] {
                assert!(!said.contains(raw), "{said}");
            }
            if code == 8 {
                continue; // `replay` prints one object, which is its report.
            }
            let facts = String::from_utf8_lossy(&output.stdout).into_owned();
            let mut facts =
                facts.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            let failed = facts.rfind(|it| it["event"] == "failed" && it["exit"].is_number());
            let event =
                failed.map(|it| (it["kind"].as_str().map(str::to_owned), it["exit"].clone()));
            assert_eq!(event, kind.clone().map(|kind| (Some(kind), code.into())), "{said}");
        }
    }
}
