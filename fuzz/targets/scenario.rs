//! A scenario from anywhere: refused with a sentence, or a world that runs.
#![no_main]

use servent_sim::queue::{QueueWorld, Scenario};
use servent_sim::{routing, swarm, unicast};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = core::str::from_utf8(data) else { return };
    if let Ok(scenario) = routing::Scenario::parse(text) {
        flood(&scenario);
    }
    if let Ok(scenario) = unicast::Scenario::parse(text) {
        letters(&scenario);
    }
    if let Ok(scenario) = swarm::Scenario::parse(text) {
        divide(&scenario);
    }
    let Ok(scenario) = Scenario::parse(text) else { return };
    if scenario.check().is_err() || scenario.nodes() > 200 {
        return;
    }
    let mut world: QueueWorld = QueueWorld::new(&scenario);
    let mut records = Vec::new();
    for _ in 0..2_000 {
        if !world.step(&mut records) {
            break;
        }
    }
});

fn flood(scenario: &routing::Scenario) {
    if scenario.nodes > 200 {
        return;
    }
    let mut world = routing::RoutingWorld::new(scenario);
    let mut records = Vec::new();
    while records.len() < 10_000 && world.step(&mut records) {
        // A flood says everything at once: that is its right.
        if world.flying() > 20_000 {
            break;
        }
    }
}

fn letters(scenario: &unicast::Scenario) {
    let mut world = unicast::UnicastWorld::new(scenario);
    let mut records = Vec::new();
    for _ in 0..2_000 {
        if !world.step(&mut records) {
            break;
        }
    }
}

fn divide(scenario: &swarm::Scenario) {
    if scenario.count() > 200 || scenario.pieces > 2_000 {
        return;
    }
    let mut world = swarm::SwarmWorld::new(scenario);
    let mut records = Vec::new();
    for _ in 0..2_000 {
        if world.finished() || !world.step(&mut records) {
            break;
        }
    }
}
