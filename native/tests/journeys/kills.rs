//! `kill -9` of either side, at any instant: what was kept is kept, and what
//! has its name is whole.

use std::hash::{BuildHasher as _, RandomState};
use std::process::{Child, Stdio};
use std::time::Duration;

use servent_core::rng::Rng;

use crate::program::{Place, Running, assert_same, finish, free_port, noise, pause, until};

/// How often a side is killed.
pub(crate) const TIMES: u32 = 20;

/// The instants of the kills. A test that fails shows the seed that draws the
/// same again.
pub(crate) struct Moments(Rng);

impl Moments {
    pub(crate) fn drawn() -> Self {
        let given = std::env::var("SERVENT_TEST_SEED").ok();
        let seed = given
            .map_or_else(|| RandomState::new().hash_one(()), |seed| seed.parse().expect("a seed"));
        println!("the same instants again: SERVENT_TEST_SEED={seed}");
        Self(Rng::new(seed))
    }

    /// Waits, up to so many milliseconds.
    pub(crate) fn wait(&mut self, most: u64) {
        pause(Duration::from_micros(self.0.below(most * 1_000)));
    }
}

const SIZE: usize = 8_000_000;

#[test]
fn a_get_that_is_killed_again_and_again_gets_its_file() {
    let place = Place::new();
    let (_, bytes) = place.share("film", SIZE);
    let server = place.sharing(&["--set", "upload_rate=2000000"]);
    let url = format!("http://{}/get/0/film", server.at);
    let get = ["get", &url, "-o", "film", "--state", "get", "--time-scale", "20"];
    let mut moments = Moments::drawn();
    for _ in 0..TIMES {
        let running = Running::start(place.servent(&get));
        moments.wait(400);
        running.kill();
        if place.path("film").exists() {
            assert_same(&place.path("film"), &bytes);
        }
    }
    let output = place.run(&get);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("film"), &bytes);
}

#[test]
fn a_get_whose_server_is_killed_again_and_again_gets_its_file() {
    let place = Place::new();
    let (_, bytes) = place.share("film", SIZE);
    let at = format!("127.0.0.1:{}", free_port());
    let slow = ["--listen", &at, "--set", "upload_rate=4000000"];
    let mut server = place.sharing(&slow);
    let url = format!("http://{at}/get/0/film");
    let get = ["get", &url, "-o", "film", "--state", "get", "--time-scale", "20"];
    let mut running = Running::start(place.servent(&get));
    let mut moments = Moments::drawn();
    for _ in 0..TIMES {
        moments.wait(400);
        server.kill();
        server = place.sharing(&slow);
    }
    assert_eq!(running.ended().code(), Some(0));
    assert_same(&place.path("film"), &bytes);
    drop(server);
}

/// A sender and a receiver under way, whose clocks run fast so that silence
/// shows soon.
fn under_way(place: &Place, wait: &str) -> [Child; 2] {
    let at = format!("127.0.0.1:{}", free_port());
    let start = |arguments: &[&str]| {
        let fast = ["-q", "--set", "unicast.time_scale=20"];
        let mut command = place.servent(&[arguments, &fast].concat());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let receiver = start(&["receive", "--once", "--open", "--yes", "--listen", &at, "-o", "in/"]);
    [start(&["send", "--open", wait, &at, "film"]), receiver]
}

/// Kills one side of a transfer at some instant. The other ends by itself: as
/// if nothing had been when that came too late, else with a sentence.
fn one_side_dies(place: &Place, sender_dies: bool, bytes: &[u8], moments: &mut Moments) {
    let [mut dies, other] = {
        // A sender that finds no receiver yet must not have ended when it is to be killed.
        let wait = if sender_dies { "--wait=60s" } else { "--wait=0s" };
        let [sender, receiver] = under_way(place, wait);
        if sender_dies { [sender, receiver] } else { [receiver, sender] }
    };
    let whole = place.path("in/film");
    if sender_dies {
        // Of one that never spoke it cannot be known that it died.
        until("it has begun", || whole.exists() || place.path("in/film.part").exists());
    }
    moments.wait(500);
    dies.kill().unwrap();
    dies.wait().unwrap();
    let output = finish(other);
    let said = String::from_utf8_lossy(&output.stderr);
    if whole.exists() {
        assert_same(&whole, bytes);
    } else {
        assert!(!output.status.success() && said.contains("servent: "), "{said}");
    }
    let _ = std::fs::remove_dir_all(place.path("in")); // It may never have been made.
    let [sender, receiver] = under_way(place, "--wait=60s");
    for output in [finish(sender), finish(receiver)] {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    assert_same(&whole, bytes);
}

fn either_side_dies(sender_dies: bool) {
    let moments = Moments::drawn();
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let mut moments = Moments(moments.0.fork("thread", thread));
            scope.spawn(move || {
                let (place, bytes) = (Place::new(), noise(4_000_000));
                std::fs::write(place.path("film"), &bytes).unwrap();
                for _ in 0..TIMES / 4 {
                    one_side_dies(&place, sender_dies, &bytes, &mut moments);
                    std::fs::remove_dir_all(place.path("in")).unwrap();
                }
            });
        }
    });
}

#[test]
fn a_receiver_whose_sender_is_killed_keeps_no_half_file_under_its_name() {
    either_side_dies(true);
}

#[test]
fn a_sender_whose_receiver_is_killed_says_so() {
    either_side_dies(false);
}
