//! Runs every preset to its horizon and prints its digest: the same on every
//! machine, in every build, and in every browser.

use servent_core::time::Instant;
use servent_sim::registry::ProtocolId;
use servent_sim::{RegisteredProtocol, World, for_protocol};

fn main() {
    for protocol in ProtocolId::listed() {
        for_protocol!(protocol, print());
    }
}

fn print<P: RegisteredProtocol>() {
    for mut scenario in P::presets() {
        let mut world = World::<P>::new(&scenario);
        let horizon = *P::parts(&mut scenario).horizon;
        world.run_until(Instant::ZERO + horizon, &mut Vec::new());
        println!("{} {:016x}", P::about(&scenario).id, world.digest());
    }
}
