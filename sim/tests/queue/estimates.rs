//! The estimates that clients are told agree with what then happens (QA-5).

use std::collections::BTreeMap;

use servent_core::queue::{Config, Dialect, Event as Queue, QueuePolicy};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{Event, NodeId};
use servent_sim::queue::{ClientGroup, QueueWorld, Scenario, ScenarioServer, presets};

/// Errors of all estimates of a world, looked at every seven seconds, in
/// percent of what then passed; those of a second or two are left out, which
/// whole seconds cannot tell.
fn errors(s: &Scenario) -> Vec<u64> {
    let mut world = QueueWorld::new(s);
    let (mut records, mut told) = (Vec::new(), BTreeMap::<String, Vec<(u64, u64)>>::new());
    let mut now = Instant::ZERO;
    while now < Instant::ZERO + s.horizon {
        now += Duration::from_secs(7);
        world.run_until(now, &mut records);
        let Some(view) = world.view(NodeId(0), 1, 1_000) else { continue };
        for card in view.queue.cards {
            let Some(eta) = card.eta else { continue };
            told.entry(card.ticket).or_default().push((now.as_micros() / 1_000_000, eta));
        }
    }
    let started = records.iter().filter_map(|r| match &r.event {
        Event::Queue(Queue::Started { ticket, .. }) => Some((ticket.to_string(), r.at)),
        _ => None,
    });
    let mut errors: Vec<u64> = started
        .flat_map(|(ticket, at)| {
            let at = at.as_micros() / 1_000_000;
            told.remove(&ticket).unwrap_or_default().into_iter().filter_map(move |(then, eta)| {
                let passed = at.saturating_sub(then);
                (passed > 2).then(|| eta.abs_diff(passed) * 100 / passed)
            })
        })
        .collect();
    errors.sort_unstable();
    errors
}

#[test]
fn qa_5_half_of_the_estimates_are_right_to_a_fifth() {
    let group = |name: &str, dialect, size| ClientGroup {
        name: name.into(),
        count: 10,
        dialect,
        size,
        spacing: Duration::from_secs(4),
        ..ClientGroup::default()
    };
    let queue = Config { slots: 2, policy: QueuePolicy::Adaptive, ..Config::default() };
    let mixed = Scenario {
        id: "mixed".into(),
        servers: vec![ScenarioServer { queue, up: 200_000, ..ScenarioServer::default() }],
        clients: vec![
            group("parq", Dialect::Parq, 2_000_000),
            group("active", Dialect::Active, 5_000_000),
            group("field", Dialect::Parq11, 1_000_000),
            group("plain", Dialect::Passive, 3_000_000),
        ],
        ..Scenario::default()
    };
    let rush = presets::find("rush-hour").and_then(|s| s.variant("adaptive"));
    for s in [mixed, rush.expect("a preset")] {
        let errors = errors(&s);
        let median = errors[errors.len() / 2];
        println!("{}: {} estimates, half of them within {median} %", s.id, errors.len());
        assert!(errors.len() > 100 && median <= 20, "{}: {median} %", s.id);
    }
}
