//! Real processes under churn, floods, full disks and clocks that jump, with
//! `kill -9` at drawn instants; judged from outside alone: bytes, places that
//! were told, recordings, memory and descriptors. A few seconds here;
//! `cargo xtask soak` lets it go on for minutes or a night.
#![expect(clippy::disallowed_methods, reason = "it goes on for a time, and measures one")]

mod carried;
mod downloads;
mod floods;
mod line;
mod outside;
mod overlay;
mod strangers;
mod swarms;

use std::collections::BTreeMap;
use std::env;
use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use servent_core::rng::Rng;

use crate::program::{Place, Running, assert_same, pause};

/// Where Debian keeps the library that shifts the clock of a program.
const CLOCK: &str = "/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1";

/// One run: how long, how many kills, and what came of it.
struct Soak {
    seed: u64,
    length: Duration,
    end: Instant,
    /// When so many are done it is over, too.
    most: u64,
    /// There are minutes for it.
    long: bool,
    kills: AtomicU64,
    over: AtomicBool,
    counts: Mutex<BTreeMap<String, u64>>,
}

impl Soak {
    /// As the environment says; a short run when it says nothing.
    fn new() -> Self {
        let number = |name| env::var(name).ok().map(|text| text.parse::<u64>().expect(name));
        let length = Duration::from_secs(number("SOAK_SECONDS").unwrap_or(6));
        Self {
            seed: number("SOAK_SEED").unwrap_or(1),
            length,
            end: Instant::now(),
            most: number("SOAK_KILLS").unwrap_or(u64::MAX),
            long: env::var_os("SOAK_SECONDS").is_some(),
            kills: AtomicU64::new(0),
            over: AtomicBool::new(false),
            counts: Mutex::default(),
        }
    }

    fn goes_on(&self) -> bool {
        !self.over.load(Relaxed)
            && self.kills.load(Relaxed) < self.most
            && Instant::now() < self.end
    }

    /// The floods are over: from now on counts how long it goes on.
    fn begin(&mut self) {
        self.end = Instant::now() + self.length;
    }

    /// Adds to the counts that are printed in the end.
    fn count(&self, what: &str) {
        *self.counts.lock().unwrap().entry(what.to_owned()).or_default() += 1;
    }

    fn lane(&self, name: &'static str, index: u64) -> Lane<'_> {
        Lane { soak: self, name, dice: Rng::new(self.seed).fork(name, index), place: Place::new() }
    }
}

/// Processes that belong together, in a folder of their own, with dice of
/// their own: what one lane draws does not depend on how far the others are.
struct Lane<'a> {
    soak: &'a Soak,
    name: &'static str,
    dice: Rng,
    place: Place,
}

impl Lane<'_> {
    fn goes_on(&self) -> bool {
        self.soak.goes_on()
    }

    /// Waits some time below `most` milliseconds.
    fn wait(&mut self, most: u64) {
        pause(Duration::from_micros(self.dice.below(most * 1_000)));
    }

    /// `kill -9` at some instant within `most` milliseconds.
    fn kill_within(&mut self, most: u64, running: Running) {
        self.wait(most);
        running.kill();
        self.soak.kills.fetch_add(1, Relaxed);
        self.soak.count(&format!("kills in {}", self.name));
    }

    /// The program, with a clock that is `days` off where that can be done.
    fn shifted(&self, days: i32, arguments: &[&str]) -> Command {
        let mut command = self.place.servent(arguments);
        if Path::new(CLOCK).exists() {
            command.env("LD_PRELOAD", CLOCK).env("FAKETIME", format!("{days:+}d"));
            self.soak.count("lives with another date");
        }
        command
    }

    /// Nothing, or the whole: what has its name has all its bytes.
    fn whole_or_absent(&self, name: &str, bytes: &[u8]) {
        if self.place.path(name).exists() {
            assert_same(&self.place.path(name), bytes);
        }
    }
}

/// Ends the other lanes when one breaks.
struct Over<'a>(&'a Soak);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.over.store(true, Relaxed);
        }
    }
}

/// What a lane is called, and what happens there.
type Named = (&'static str, fn(Lane));

const LANES: [Named; 6] = [
    ("downloads", downloads::run),
    ("the line", line::run),
    ("the line, too", line::run),
    ("carried files", carried::run),
    ("swarms", swarms::run),
    ("the overlay", overlay::run),
];

#[test]
fn what_floods_take_is_given_back() {
    floods(&Soak::new());
}

#[test]
#[ignore = "run by `cargo xtask campaign`: it takes minutes"]
fn honest_clients_hardly_notice_floods() {
    floods(&Soak { long: true, ..Soak::new() });
}

fn floods(soak: &Soak) {
    let mut flooded = floods::Flooded::new(soak.lane("floods", 0));
    flooded.flood();
    flooded.settled();
}

#[test]
fn kills_full_disks_and_jumping_clocks_break_no_promise() {
    let mut soak = Soak::new();
    soak.begin();
    println!("seed {}", soak.seed);
    std::thread::scope(|scope| {
        for (index, (name, run)) in LANES.into_iter().enumerate() {
            let lane = soak.lane(name, index as u64);
            scope.spawn(move || {
                let _over = Over(lane.soak);
                run(lane);
            });
        }
    });
    let kills = soak.kills.load(Relaxed);
    println!("{kills} kills");
    for (what, count) in soak.counts.lock().unwrap().iter() {
        println!("  {what}: {count}");
    }
    assert!(kills > 0);
}
