//! An overlay whose members die and come back: what is there is found.

use std::time::Instant;

use serde_json::Value;

use super::Lane;
use crate::program::{PATIENCE, Running, free_port};

pub(super) fn run(mut lane: Lane) {
    for name in ["hub", "left", "right"] {
        std::fs::create_dir_all(lane.place.path(name)).unwrap();
        std::fs::write(lane.place.path(name).join(format!("the {name} thing.txt")), name).unwrap();
    }
    let hub = share(&lane, "hub", "127.0.0.1:0", &["--set", "overlay.degree=0"]);
    let peer = hub.at.to_string();
    let at = [(); 2].map(|()| format!("127.0.0.1:{}", free_port()));
    let member = |lane: &Lane, n: usize| {
        share(lane, ["left", "right"][n], &at[n], &["--peer", &peer, "--set", "overlay.degree=1"])
    };
    let mut members = [0, 1].map(|n| Some(member(&lane, n)));
    while lane.goes_on() {
        for _ in 0..lane.dice.between(2, 8) {
            let n = usize::try_from(lane.dice.below(2)).unwrap();
            lane.kill_within(300, members[n].take().unwrap());
            members[n] = Some(member(&lane, n));
        }
        for name in ["left", "right"] {
            let asked = Instant::now();
            while !found(&lane, &peer, name) {
                assert!(asked.elapsed() < PATIENCE, "{name} is not found");
            }
            lane.soak.count("searches answered");
        }
    }
}

fn share(lane: &Lane, name: &str, at: &str, extra: &[&str]) -> Running {
    let state = format!("state-{name}");
    let words = ["share", name, "--json", "--state", &state, "--listen", at, "--lab", "off"];
    let mut running = Running::start(lane.place.servent(&[&words[..], extra].concat()));
    running.at = running.event("listening")["at"].as_str().unwrap().parse().unwrap();
    running
}

fn found(lane: &Lane, peer: &str, name: &str) -> bool {
    let words = ["search", name, "thing", "--peer", peer, "--state", "looks", "--json"];
    let output = lane.place.run(&[&words[..], &["--wait", "2"]].concat());
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    said.lines().any(|line| {
        serde_json::from_str::<Value>(line)
            .is_ok_and(|hit| hit["name"] == format!("{name}/the {name} thing.txt"))
    })
}
