//! A client that obeys is served, however late in its window it asks, and
//! however many arrive behind it (PQ-16).

use servent_core::queue::{Config, Dialect, Event as Queue, QueuePolicy};
use servent_core::time::Duration;
use servent_core::trace::{Event, NodeId, Record};
use servent_sim::queue::{ClientGroup, QueueWorld, Role, Scenario, ScenarioServer};

use crate::presets::judge;

const RATE: u64 = 100_000;

/// One slot and a client that lets `wait` pass before each request; all the
/// time others arrive who ask as soon as they may.
fn scenario(
    policy: QueuePolicy,
    (dialect, wait): (Dialect, u64),
    (length, spacing): (u64, u64),
) -> Scenario {
    let queue = Config { slots: 1, policy, bandwidth: RATE, ..Config::default() };
    let others = ClientGroup { size: length * RATE, ..ClientGroup::default() };
    let slow = ClientGroup { name: "slow".into(), count: 1, dialect, ..others.clone() };
    Scenario {
        id: format!("slow-{policy:?}-{dialect:?}-{wait}-{length}-{spacing}"),
        horizon: Duration::from_secs(3_600),
        servers: vec![ScenarioServer { queue, up: RATE, ..ScenarioServer::default() }],
        clients: vec![
            ClientGroup { name: "first".into(), count: 1, ..others.clone() },
            ClientGroup { wait: Duration::from_secs(wait), first: Duration::from_secs(1), ..slow },
            ClientGroup {
                name: "newcomer".into(),
                count: 30,
                first: Duration::from_secs(length + 20),
                spacing: Duration::from_secs(spacing),
                ..others
            },
        ],
        ..Scenario::default()
    }
}

/// How many came after the slow client and were served before it.
fn passed(world: &QueueWorld, records: &[Record]) -> usize {
    let slow = world.profiles().iter().find(|p| p.name == "slow").expect("it is there").at.ip();
    let server = |p: NodeId| world.profiles()[p.0 as usize].role == Role::Server;
    let started = records.iter().filter(|r| server(r.node)).filter_map(|r| match &r.event {
        Event::Queue(Queue::Started { peer, .. }) => Some(*peer),
        _ => None,
    });
    started.take_while(|peer| *peer != slow).count() - 1
}

#[test]
fn no_newcomer_is_served_before_a_client_inside_its_window() {
    let slow = [(Dialect::Passive, 60), (Dialect::Active, 82), (Dialect::Parq, 60)];
    // Within the window that is told when a slot is expected at once.
    let sooner = [(Dialect::Passive, 60), (Dialect::Active, 70), (Dialect::Parq, 60)];
    for (policy, slow) in [(QueuePolicy::Text, slow), (QueuePolicy::Adaptive, sooner)] {
        for slow in slow {
            for times in [(5, 7), (20, 27), (22, 82), (37, 41)] {
                let s = scenario(policy, slow, times);
                let (world, records) = judge(&s);
                let before = passed(&world, &records);
                assert!(before <= 1, "{before} served before it in {}", s.id);
            }
        }
    }
}
