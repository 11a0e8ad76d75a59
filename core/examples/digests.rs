//! Runs every preset to its horizon and prints its digest: the same on every
//! machine, in every build, and in every browser.

use servent_core::sim::{Course as _, World, ladder, overlay, pieces, presets};
use servent_core::time::Instant;

fn main() {
    for scenario in presets::all() {
        let mut world: World = World::new(&scenario);
        let mut records = Vec::new();
        world.run_until(Instant::ZERO + scenario.horizon, &mut records);
        println!("{} {:016x}", scenario.id, world.digest());
    }
    for scenario in ladder::presets::all() {
        let mut world = ladder::World::begin(&scenario);
        world.run_until(Instant::ZERO + scenario.horizon, &mut Vec::new());
        println!("{} {:016x}", scenario.id, world.digest());
    }
    for scenario in overlay::presets::all() {
        let mut world = overlay::World::begin(&scenario);
        world.run_until(Instant::ZERO + scenario.horizon, &mut Vec::new());
        println!("{} {:016x}", scenario.id, world.digest());
    }
    for scenario in pieces::presets::all() {
        let mut world = pieces::World::begin(&scenario);
        world.run_until(Instant::ZERO + scenario.horizon, &mut Vec::new());
        println!("{} {:016x}", scenario.id, world.digest());
    }
}
