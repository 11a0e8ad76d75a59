//! Runs every preset to its horizon and prints its digest: the same on every
//! machine, in every build, and in every browser.

use servent_core::time::Instant;
use servent_sim::queue::{QueueWorld, presets};
use servent_sim::{routing, swarm, unicast};

fn main() {
    for scenario in presets::all() {
        let mut world: QueueWorld = QueueWorld::new(&scenario);
        let mut records = Vec::new();
        world.run_until(Instant::ZERO + scenario.horizon, &mut records);
        println!("{} {:016x}", scenario.id, world.digest());
    }
    for scenario in unicast::presets::all() {
        let mut world = unicast::UnicastWorld::new(&scenario);
        world.run_until(Instant::ZERO + scenario.horizon, &mut Vec::new());
        println!("{} {:016x}", scenario.id, world.digest());
    }
    for scenario in routing::presets::all() {
        let mut world = routing::RoutingWorld::new(&scenario);
        world.run_until(Instant::ZERO + scenario.horizon, &mut Vec::new());
        println!("{} {:016x}", scenario.id, world.digest());
    }
    for scenario in swarm::presets::all() {
        let mut world = swarm::SwarmWorld::new(&scenario);
        world.run_until(Instant::ZERO + scenario.horizon, &mut Vec::new());
        println!("{} {:016x}", scenario.id, world.digest());
    }
}
