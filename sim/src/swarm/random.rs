//! Randomly generated swarms: whatever goes wrong, well-behaved clients have
//! the whole file in the end.

use alloc::format;
use alloc::vec::Vec;

use super::scenario::{Habit, PeerGroup, Scenario};
use servent_core::choose::Choose;
use servent_core::swarm::Config;
use servent_core::time::Duration;

/// Generates a scenario. `seed` becomes its seed.
#[must_use]
pub fn draw(choose: &mut Choose, seed: u64) -> Scenario {
    let count = choose.between(1, 4);
    let clients: Vec<PeerGroup> = (0..count).map(|_| group(choose)).collect();
    let restart = choose.chance(1, 6).then(|| Duration::from_secs(choose.between(1, 40)));
    Scenario {
        id: format!("random-swarm-{seed}"),
        title: format!("Pieces {seed}"),
        seed,
        pieces: choose.between(1, 20) as u32,
        source_slots: choose.between(1, 3) as u32,
        clients,
        restart,
        swarm: Config { strict: choose.chance(1, 4), ..Config::default() },
        horizon: Duration::from_secs(24 * 3_600),
        ..Scenario::default()
    }
}

fn group(choose: &mut Choose) -> PeerGroup {
    let habits = [Habit::FreeRider, Habit::Corrupt, Habit::Liar, Habit::Silent];
    let habit = if choose.chance(1, 5) { *choose.one(&habits) } else { Habit::Honest };
    let passive = choose.chance(1, 4);
    let vanishes = choose.chance(1, 4).then(|| Duration::from_millis(choose.between(1, 30_000)));
    let returns = vanishes
        .filter(|_| choose.chance(1, 2))
        .map(|_| Duration::from_secs(choose.between(1, 4_000)));
    let most =
        choose.chance(1, 4).then(|| (choose.between(1, 20) as u32, choose.between(0, 20) as u32));
    PeerGroup {
        count: choose.between(1, if habit == Habit::Honest { 8 } else { 2 }) as u32,
        up: choose.between(20_000, 400_000),
        down: choose.between(50_000, 1_000_000),
        latency: Duration::from_millis(choose.below(400)),
        passive,
        firewalled: !passive && choose.chance(1, 5),
        nat: passive && choose.chance(1, 3),
        habit,
        first: Duration::from_millis(choose.below(20_000)),
        spacing: Duration::from_millis(choose.below(5_000)),
        stays: choose.chance(1, 3).then(|| Duration::from_secs(choose.below(20))),
        vanishes,
        returns,
        most,
    }
}
