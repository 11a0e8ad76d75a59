//! Draws many worlds of the protocols, runs them on all cores and lets the
//! oracles judge them: `worlds COUNT [FROM [PROTOCOL]]`. A line a protocol; a
//! broken rule is told with its seed and how to see it again.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use servent_core::choose::Choose;
use servent_core::time::Instant;
use servent_sim::{Oracle, Protocol, World, queue, routing, swarm, unicast};

/// What came of one world.
#[derive(Default)]
pub(crate) struct Judged {
    pub(crate) events: u64,
    /// The sentences of what broke a rule.
    pub(crate) broken: Vec<String>,
}

/// Draws a world from its seed, runs it to its end and judges it.
pub(crate) type Draw = fn(seed: u64) -> Judged;

/// The protocols by name.
pub(crate) const PROTOCOLS: [(&str, Draw); 5] = [
    ("queue", queue),
    ("site", site),
    ("unicast", unicast),
    ("routing", routing),
    ("swarm", swarm),
];

fn queue(seed: u64) -> Judged {
    let scenario = queue::random::draw(&mut Choose::random(seed), seed);
    let oracles = queue::check::Oracles::new(&scenario);
    judge(queue::World::new(&scenario), oracles, Instant::ZERO + scenario.horizon, |_| false)
}

fn site(seed: u64) -> Judged {
    let scenario = queue::random::draw_site(&mut Choose::random(seed), seed);
    let oracles = queue::check::Oracles::new(&scenario);
    judge(queue::World::new(&scenario), oracles, Instant::ZERO + scenario.horizon, |_| false)
}

fn unicast(seed: u64) -> Judged {
    let scenario = unicast::random::draw(&mut Choose::random(seed), seed);
    let oracles = unicast::check::Oracles::new(&scenario).quiet_for(unicast::random::QUIET);
    judge(unicast::World::new(&scenario), oracles, Instant::ZERO + scenario.horizon, |_| false)
}

fn routing(seed: u64) -> Judged {
    let scenario = routing::random::draw(&mut Choose::random(seed), seed);
    let oracles = routing::check::Oracles::new(&scenario);
    judge(routing::World::new(&scenario), oracles, Instant::ZERO + scenario.horizon, |_| false)
}

fn swarm(seed: u64) -> Judged {
    let scenario = swarm::random::draw(&mut Choose::random(seed), seed);
    let oracles = swarm::check::Oracles::new(&scenario);
    let mut finished = false;
    let end = Instant::ZERO + scenario.horizon;
    let mut judged = judge(swarm::World::new(&scenario), oracles, end, |world| {
        finished = world.finished();
        finished
    });
    if !finished {
        judged.broken.push("not everybody has the whole file in the end".into());
    }
    judged
}

/// Runs a world until `end`, or until it is `done`.
fn judge<P: Protocol>(
    mut world: World<P>,
    mut oracles: impl Oracle<Event = P::Event>,
    end: Instant,
    mut done: impl FnMut(&World<P>) -> bool,
) -> Judged {
    let (mut events, mut records) = (0, Vec::new());
    while !done(&world) && world.next_at().is_some_and(|at| at <= end) {
        world.step(&mut records);
        events += records.len() as u64;
        records.drain(..).for_each(|record| oracles.see(&record));
    }
    oracles.finish(end);
    Judged { events, broken: oracles.violations().iter().map(ToString::to_string).collect() }
}

/// All worlds of one protocol.
#[derive(Default)]
struct Sum {
    worlds: u64,
    events: u64,
    violations: usize,
    /// Seeds, each with the first rule it breaks.
    failed: Vec<(u64, String)>,
}

impl Sum {
    fn add(&mut self, seed: u64, judged: Judged) {
        self.worlds += 1;
        self.events += judged.events;
        self.violations += judged.broken.len();
        self.failed.extend(judged.broken.into_iter().next().map(|first| (seed, first)));
    }
}

/// Draws the worlds of these seeds on all cores.
fn sweep(seeds: std::ops::Range<u64>, draw: Draw) -> Sum {
    let (next, sum) = (AtomicU64::new(seeds.start), Mutex::new(Sum::default()));
    let work = || loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= seeds.end {
            return;
        }
        let judged = catch_unwind(AssertUnwindSafe(|| draw(seed))).unwrap_or_else(|_| Judged {
            events: 0,
            broken: vec!["a panic; its words are above".into()],
        });
        sum.lock().unwrap_or_else(PoisonError::into_inner).add(seed, judged);
    };
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    let mut sum = sum.into_inner().unwrap_or_else(PoisonError::into_inner);
    sum.failed.sort();
    sum
}

/// Sweeps one protocol and says what came of it; true when no rule is broken.
pub(crate) fn report(name: &str, draw: Draw, seeds: std::ops::Range<u64>) -> bool {
    let Sum { worlds, events, violations, failed } = sweep(seeds, draw);
    println!("{name:<8} {worlds} worlds, {events} events, {violations} violations");
    for (seed, first) in &failed {
        println!("  seed {seed}: {first}");
        println!("  see it again: servent sim random-{name} --settle --seed {seed}");
    }
    failed.is_empty()
}

#[allow(dead_code)] // A test includes this file for its parts.
fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let mut number = |otherwise: u64| {
        arguments.next().map_or(Ok(otherwise), |text| text.parse().map_err(|_| text))
    };
    let (count, from) = match (number(100), number(1)) {
        (Ok(count), Ok(from)) => (count, from),
        (Err(text), _) | (_, Err(text)) => {
            eprintln!("`{text}` is no number");
            return ExitCode::from(2);
        }
    };
    let only = arguments.next();
    let chosen: Vec<_> = PROTOCOLS
        .into_iter()
        .filter(|(name, _)| only.as_ref().is_none_or(|only| only == name))
        .collect();
    if chosen.is_empty() {
        eprintln!("no such protocol; there are: {}", PROTOCOLS.map(|(name, _)| name).join(", "));
        return ExitCode::from(2);
    }
    let seeds = from..from.saturating_add(count);
    let fine = chosen.iter().filter(|(name, draw)| report(name, *draw, seeds.clone())).count();
    if fine == chosen.len() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
