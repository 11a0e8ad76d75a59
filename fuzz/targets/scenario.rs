//! A scenario from anywhere: refused with a sentence, or a world that runs.
#![no_main]

use servent_core::sim::{Scenario, World};

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Ok(text) = core::str::from_utf8(data) else { return };
    let Ok(scenario) = Scenario::parse(text) else { return };
    if scenario.check().is_err() || scenario.nodes() > 200 {
        return;
    }
    let mut world: World = World::new(&scenario);
    let mut records = Vec::new();
    for _ in 0..2_000 {
        if !world.step(&mut records) {
            break;
        }
    }
});
