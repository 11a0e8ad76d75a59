//! The native half of `sim`, in a program of its own: the other areas count
//! every allocation, and counting would slow down what is measured here.
//!
//! `servent-bench-sim SCENARIO` prints one JSON object.

use std::time::Instant as Clock;

use anyhow::{Context as _, Result};
use servent_core::time::Instant;
use servent_sim::queue::{Queue, QueueWorld, Scenario};
use servent_sim::{Keyframes, Timeline};

fn main() -> Result<()> {
    let path = std::env::args_os().nth(1).context("no scenario")?;
    let text = std::fs::read_to_string(path)?;
    let scenario = Scenario::parse(&text)?;
    let horizon = Instant::ZERO + scenario.horizon;

    let began = now();
    let mut world: QueueWorld = QueueWorld::new(&scenario);
    let mut records = Vec::new();
    while world.next_at().is_some_and(|at| at <= horizon) {
        // Records are not kept here; the next case keeps them.
        records.clear();
        world.step(&mut records);
    }
    let plain = began.elapsed().as_secs_f64();
    let (events, digest) = (world.events(), world.digest());
    drop((world, records));

    let began = now();
    let mut timeline: Timeline<Queue> = Timeline::new(&scenario, Keyframes::default());
    while !timeline.explore(horizon, 100_000) {}
    let lab = began.elapsed().as_secs_f64();
    println!(
        "{}",
        serde_json::json!({ "events": events, "plain": plain, "lab": lab, "digest": digest })
    );
    Ok(())
}

/// The clock of the measurements.
#[allow(clippy::disallowed_methods)] // Measuring is the purpose here.
fn now() -> Clock {
    Clock::now()
}
