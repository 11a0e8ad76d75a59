//! Hand-over at full scale: how well one slot is used by polite clients.

use servent_core::queue::{Config, Dialect};
use servent_core::time::Duration;
use servent_core::trace::Handover;
use servent_sim::queue::{Group, Scenario, Server};

use crate::presets::judge;

const CLIENTS: u32 = 6;
const SIZE: u64 = 3_000_000;
const RATE: u64 = 720_000;

/// 6 clients × 3 MB over one slot at about 4 s a file: 25 s of transfers, all
/// of it asked for within the first second.
fn scenario() -> Scenario {
    let queue = Config { slots: 1, bandwidth: RATE, ..Config::default() };
    Scenario {
        id: "hand-over".into(),
        horizon: Duration::from_secs(1_200),
        servers: vec![Server { queue, up: RATE, ..Server::default() }],
        clients: vec![Group {
            count: CLIENTS,
            dialect: Dialect::Parq,
            size: SIZE,
            down: 10 * RATE,
            spacing: Duration::from_millis(100),
            ..Group::default()
        }],
        ..Scenario::default()
    }
}

#[test]
fn one_slot_is_used_as_well_as_the_poll_schedule_allows() {
    let (_, records) = judge(&scenario());
    // The polite two seconds that clients wait beyond, and one way.
    let used = Handover::of(&records, Duration::from_millis(2_150));
    println!("{used:?}: {} %", used.percent());
    assert_eq!(used.turns, CLIENTS, "each is served once and whole");
    assert!(used.percent() >= 90, "{used:?}");
}
