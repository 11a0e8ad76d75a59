//! Downloads that are killed, that meet a full disk, and whose date changes.

use std::process::Stdio;

use super::Lane;
use crate::program::{Running, assert_same, finish};

pub(super) fn run(mut lane: Lane) {
    let (_, bytes) = lane.place.share("film", 400_000);
    let server = lane.place.sharing(&["--set", "upload_rate=1500000"]);
    let url = format!("http://{}/get/0/film", server.at);
    let get = ["get", &url, "-o", "film", "--state", "get", "--time-scale", "20"];
    while lane.goes_on() {
        for _ in 0..lane.dice.between(2, 8) {
            let running = Running::start(lane.place.servent(&get));
            lane.kill_within(400, running);
            lane.whole_or_absent("film", &bytes);
            if lane.place.path("film").exists() {
                std::fs::remove_file(lane.place.path("film")).unwrap();
            }
        }
        if lane.dice.chance(1, 3) {
            does_not_fit(&lane, &get, &bytes);
            assert!(!lane.place.path("film").exists());
        }
        let days = i32::try_from(lane.dice.below(3)).unwrap() - 1;
        let mut last = lane.shifted(days, &get);
        let output = finish(last.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_same(&lane.place.path("film"), &bytes);
        let left = std::fs::metadata(lane.place.path("film.part")).map(|part| part.len());
        assert!(left.is_err(), "film.part has {left:?} bytes");
        lane.soak.count("downloads whole");
        std::fs::remove_file(lane.place.path("film")).unwrap();
        if lane.dice.chance(1, 2) {
            std::fs::remove_dir_all(lane.place.path("get")).unwrap();
        }
    }
}

/// A disk on which the file has no room: that is said, and nothing else
/// happens.
fn does_not_fit(lane: &Lane, get: &[&str], bytes: &[u8]) {
    let mut command = lane.place.cramped(get);
    let output = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!said.contains("panicked"), "{said}");
    if output.status.success() {
        // The one that was killed had written all of it.
        lane.whole_or_absent("film", bytes);
        return std::fs::remove_file(lane.place.path("film")).unwrap();
    }
    assert!(said.contains("servent: "), "{}: {said}", output.status);
    lane.soak.count("full disks");
}
