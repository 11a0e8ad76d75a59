//! Lines drawn by chance: on each everything arrives, at no less than 60 % of what
//! its rate and loss allow.

use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_sim::unicast::line::{LineFlow, LineWorld};

use crate::random::number;

/// The path is being found until then.
const WARM: u64 = 5;
/// The application has nothing more to send from then on.
const STOPS: u64 = 10;
/// The slowest line has carried by then what its sender had buffered.
const HORIZON: u64 = 19;
/// Of a hundred that rate and loss allow, so many must arrive.
const FLOOR: u64 = 60;
/// Bytes that a sender buffers: twice what the longest line carries in two round trips.
const SENDER: u64 = 512 * 1_024;
/// The smallest buffer of a line that people have, in bytes.
const BUFFER: u64 = 8 * 1_500;

/// A line of 1 to 4 Mbit/s: what a node does depends on its round trips, and a fast
/// one costs only more time.
fn draw(seed: u64) -> LineWorld {
    let mut dice = Rng::new(seed).fork("drawn line", 0);
    let (mbit, round_trip) = (dice.between(1, 4), dice.between(2, 250));
    let mut world = LineWorld::new(mbit, round_trip, dice.between(10, 300));
    world.link.queue = world.link.queue.max(BUFFER);
    if dice.chance(2, 3) {
        world = world.losing(dice.between(1, 50));
    }
    if dice.chance(1, 3) {
        world.link.reorder = (dice.between(1, 50), 1_000);
        world.link.late = Duration::from_millis(dice.between(1, 20));
    }
    if dice.chance(1, 4) {
        world.link.duplicate = (dice.between(1, 20), 1_000);
    }
    (world.config.send_bytes, world.config.send_start) = (SENDER, SENDER);
    world.flows = vec![LineFlow { stops: Instant::from_secs(STOPS), ..LineFlow::default() }];
    LineWorld { seed, ..world.lasting(WARM, HORIZON) }
}

/// What does not hold on the line of this seed.
fn fault(seed: u64) -> Option<String> {
    let world = draw(seed);
    let mut rest = None;
    let report = world.run_with(|_, sender| rest = Some((sender.last, sender.highest_acked)));
    let flow = &report.flows[0];
    if flow.ended.is_some() {
        return Some(format!("it ended: {flow:?}"));
    }
    let measured = &flow.tenths[(WARM * 10) as usize..(STOPS * 10) as usize];
    let bytes: u64 = measured.iter().sum();
    let allowed = world.link.rate * (STOPS - WARM) * (1_000 - world.link.loss.0) / 1_000;
    if bytes * 100 < allowed * FLOOR {
        return Some(format!("{} % of what it allows", bytes * 100 / allowed));
    }
    let whole = rest.is_some_and(|(last, acknowledged)| last > 0 && last == acknowledged);
    (!whole).then(|| format!("not everything arrives: {rest:?}, {flow:?}"))
}

fn judge(seeds: std::ops::Range<u64>) {
    let mut failed = Vec::new();
    for seed in seeds {
        if let Some(fault) = fault(seed) {
            println!("the drawn line {seed}: {fault}: {:?}", draw(seed).link);
            failed.push(seed);
        }
    }
    assert_eq!(failed, [0; 0], "lines on which it does not hold");
}

#[test]
fn on_thirty_drawn_lines_everything_arrives_at_a_fair_rate() {
    judge(1..31);
}

#[test]
#[ignore = "run by `cargo xtask campaign`: it takes minutes"]
fn on_ten_thousand_drawn_lines_everything_arrives_at_a_fair_rate() {
    judge(1..1 + number("LINES", 10_000));
}
