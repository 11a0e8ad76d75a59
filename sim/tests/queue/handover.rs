//! Hand-over at full scale: how well one slot is used by polite clients.

use servent_core::queue::{Config, Dialect, QueuePolicy};
use servent_core::time::Duration;
use servent_core::trace::Handover;
use servent_sim::queue::{ClientGroup, Scenario, ScenarioServer};

use crate::presets::judge;

const CLIENTS: u32 = 6;
const SIZE: u64 = 3_000_000;
const RATE: u64 = 720_000;

/// 6 clients × 3 MB over one slot at about 4 s a file: 25 s of transfers, all
/// of it asked for within the first second.
fn scenario(policy: QueuePolicy, dialect: Dialect) -> Scenario {
    let queue = Config { slots: 1, policy, bandwidth: RATE, ..Config::default() };
    Scenario {
        id: "hand-over".into(),
        horizon: Duration::from_secs(1_200),
        servers: vec![ScenarioServer { queue, up: RATE, ..ScenarioServer::default() }],
        clients: vec![ClientGroup {
            count: CLIENTS,
            dialect,
            size: SIZE,
            down: 10 * RATE,
            spacing: Duration::from_millis(100),
            ..ClientGroup::default()
        }],
        ..Scenario::default()
    }
}

#[test]
fn one_slot_is_used_as_well_as_the_poll_schedule_allows() {
    let (_, records) = judge(&scenario(QueuePolicy::Text, Dialect::Parq));
    // The polite two seconds that clients wait beyond, and one way.
    let used = Handover::from_records(&records, Duration::from_millis(2_150));
    println!("{used:?}: {} %", used.percent());
    assert_eq!(used.turns, CLIENTS, "each is served once and whole");
    assert!(used.percent() >= 90, "{used:?}");
}

/// Of the time from the first transfer to the end of the last, in percent, how
/// much the slot was used.
fn used(policy: QueuePolicy, dialect: Dialect) -> u64 {
    let (_, records) = judge(&scenario(policy, dialect));
    let used = Handover::from_records(&records, Duration::ZERO);
    assert_eq!(used.turns, CLIENTS, "each is served once and whole");
    used.busy.as_micros() * 100 / used.whole.as_micros()
}

#[test]
fn the_adaptive_policy_uses_the_slot_as_the_text_does_not() {
    let dialects = [Dialect::Active, Dialect::Parq, Dialect::Parq11, Dialect::Passive];
    let used = dialects.map(|dialect| {
        let used = (used(QueuePolicy::Text, dialect), used(QueuePolicy::Adaptive, dialect));
        println!("{dialect:?}: {} % as in the text, {} % adaptive", used.0, used.1);
        used
    });
    let [active, parq, parq11, passive] = used;
    // A client that is held gets the slot at once; the others come when it is expected.
    assert!(parq.1 >= 95 && passive.1 >= 75, "{parq:?} {passive:?}");
    assert!(active.1 >= 65 && parq11.1 >= 65, "{active:?} {parq11:?}");
    assert!(used.iter().all(|(text, adaptive)| adaptive > text));
}
