//! What can be done to a swarm, and that it gets over it.

use servent_core::swarm;
use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::swarm::check::SwarmOracles;
use servent_sim::swarm::{
    Cell, Event, Habit, PeerGroup, Scenario, SwarmAction, SwarmActionAt, SwarmIncident, SwarmWorld,
};

const ONE: NodeId = NodeId(1);
const TWO: NodeId = NodeId(2);

/// Six clients and twelve pieces, and what is done to them.
fn with(faults: &[(u64, SwarmAction)]) -> Scenario {
    let group = PeerGroup { count: 6, ..PeerGroup::default() };
    let at = |(secs, act): &(u64, SwarmAction)| SwarmActionAt {
        at: Instant::from_secs(*secs),
        act: act.clone(),
    };
    Scenario {
        pieces: 12,
        clients: vec![group],
        faults: faults.iter().map(at).collect(),
        ..Scenario::default()
    }
}

fn run(scenario: &Scenario, secs: u64) -> (SwarmWorld, Vec<Record<Event>>) {
    let (mut world, mut records) = (SwarmWorld::new(scenario), Vec::new());
    world.run_until(Instant::from_secs(secs), &mut records);
    let mut oracles = SwarmOracles::new(scenario);
    records.iter().for_each(|record| oracles.observe(record));
    assert_eq!(oracles.violations(), []);
    (world, records)
}

fn happened(records: &[Record<Event>], what: &SwarmIncident) -> Option<Instant> {
    let fits = |record: &&Record<Event>| record.event == Event::World(what.clone());
    records.iter().find(fits).map(|record| record.at)
}

#[test]
fn a_client_that_is_killed_is_gone_and_comes_back_with_what_it_had() {
    let kill = (6, SwarmAction::Kill { client: ONE });
    let (world, records) = run(&with(std::slice::from_ref(&kill)), 9);
    let glance = world.summary(1).expect("a client");
    assert!(!glance.up && glance.held > 0 && glance.standing.is_none());
    assert_eq!(happened(&records, &SwarmIncident::Killed), Some(Instant::from_secs(6)));
    assert!(!world.finished());

    let (world, records) = run(&with(&[kill, (9, SwarmAction::Restart { client: ONE })]), 120);
    assert!(world.finished(), "{:?}", world.outcome());
    let back = records.iter().rev().find_map(|record| match record.event {
        Event::World(SwarmIncident::Came { held }) if record.node == ONE => Some(held),
        _ => None,
    });
    assert_eq!(back, Some(glance.held));
}

#[test]
fn a_client_that_stands_still_gets_and_sends_nothing_until_it_goes_on() {
    let stall = (5, SwarmAction::Stall { client: ONE });
    let (world, records) = run(&with(std::slice::from_ref(&stall)), 40);
    let glance = world.summary(1).expect("a client");
    assert!(glance.still && glance.up);
    let moved = records.iter().filter(|record| record.at > Instant::from_secs(6));
    let mut arrived = moved.filter_map(|record| match &record.event {
        Event::Swarm(swarm::Event::Arrived { .. }) => Some(record.event.clients()),
        _ => None,
    });
    assert!(arrived.all(|(down, up)| down != Some(1) && up != Some(1)));

    let (world, _) = run(&with(&[stall, (40, SwarmAction::Resume { client: ONE })]), 400);
    assert!(world.finished(), "{:?}", world.outcome());
}

#[test]
fn a_closed_door_is_told_and_no_peer_knocks_any_more() {
    let close =
        [(4, SwarmAction::Passive { client: ONE }), (30, SwarmAction::Active { client: ONE })];
    let (world, records) = run(&with(&close), 29);
    assert!(!world.summary(1).and_then(|g| g.standing).expect("it is known").active);
    let mode = records.iter().filter_map(|record| match &record.event {
        Event::Swarm(swarm::Event::Mode { active, .. }) => Some((record.node, *active)),
        _ => None,
    });
    assert_eq!(mode.collect::<Vec<_>>(), [(ONE, false)]);
    let later = |record: &&Record<Event>| record.at > Instant::from_secs(5);
    for record in records.iter().filter(later) {
        if let Event::Swarm(swarm::Event::Assigned { put, .. }) = &record.event
            && record.event.clients().1 == Some(1)
        {
            assert!(*put, "it has to connect itself");
        }
    }
    let (world, _) = run(&with(&close), 60);
    assert!(world.summary(1).and_then(|g| g.standing).expect("it is known").active);
    assert!(world.finished());
}

/// A client that does not know of its firewall is counted as active until five
/// have failed to connect to it; one that a peer got through to before is not
/// taken for passive (SW-3, SW-4).
#[test]
fn a_firewall_that_is_not_known_is_found_out() {
    let client = ONE;
    let close = [(0, SwarmAction::Firewall { client, closed: true })];
    let (world, records) = run(&Scenario { pieces: 60, ..with(&close) }, 400);
    let closed = SwarmIncident::Firewall { closed: true };
    assert_eq!(happened(&records, &closed), Some(Instant::ZERO));
    let passive = records.iter().find(|record| match &record.event {
        Event::Swarm(swarm::Event::Mode { active, .. }) => record.node == ONE && !*active,
        _ => false,
    });
    assert!(passive.is_some_and(|record| record.at > Instant::from_secs(1)));
    assert!(world.summary(1).expect("a client").firewalled);
    assert!(world.finished(), "{:?}", world.outcome());
    // One that opens in time is never taken for passive.
    let open = [close[0].clone(), (1, SwarmAction::Firewall { client, closed: false })];
    let (_, records) = run(&Scenario { pieces: 60, ..with(&open) }, 400);
    assert!(happened(&records, &SwarmIncident::Firewall { closed: false }).is_some());
    assert!(!records.iter().any(|record| {
        matches!(record.event, Event::Swarm(swarm::Event::Mode { active: false, .. }))
    }));
}

#[test]
fn a_client_that_begins_to_send_wrong_bytes_is_found_out() {
    let turn = [(3, SwarmAction::Habit { client: ONE, habit: Habit::Corrupt })];
    let scenario = Scenario { pieces: 30, ..with(&turn) };
    let mut world = SwarmWorld::new(&scenario);
    let (mut records, mut wrong) = (Vec::new(), false);
    while !world.finished() && world.now() < Instant::from_secs(300) {
        world.step(&mut records);
        wrong |= world.cells().contains(&(Cell::Wrong as u8))
            || world.cells().contains(&(Cell::Failed as u8));
    }
    assert!(world.finished() && wrong);
    let blamed = records.iter().any(|record| {
        record.node == ONE && matches!(record.event, Event::Swarm(swarm::Event::Blamed { .. }))
    });
    assert!(blamed);
}

#[test]
fn two_that_are_cut_off_get_everything_by_other_ways() {
    let cut = [
        (0, SwarmAction::Cut { from: ONE, to: TWO }),
        (50, SwarmAction::Heal { from: TWO, to: ONE }),
    ];
    let (world, records) = run(&with(&cut), 200);
    assert!(world.finished(), "{:?}", world.outcome());
    assert_eq!(
        happened(&records, &SwarmIncident::Healed { to: ONE }),
        Some(Instant::from_secs(50))
    );
    for record in records.iter().filter(|record| record.at < Instant::from_secs(50)) {
        if let Event::Swarm(swarm::Event::Arrived { .. }) = &record.event {
            let (down, up) = record.event.clients();
            assert!(![(Some(1), Some(2)), (Some(2), Some(1))].contains(&(down, up)));
        }
    }
}

#[test]
fn the_coordinator_comes_back_and_no_client_starts_over() {
    let (world, records) = run(&with(&[(6, SwarmAction::RestartCoordinator {})]), 200);
    assert!(world.finished(), "{:?}", world.outcome());
    let mut twice = std::collections::BTreeSet::new();
    for record in &records {
        if let Event::Swarm(swarm::Event::Arrived { piece, .. }) = &record.event {
            assert!(twice.insert((record.node, *piece)), "{piece} came twice to {:?}", record.node);
        }
    }
}

#[test]
fn a_fault_that_changes_nothing_is_no_record() {
    let nothing = [
        (1, SwarmAction::Resume { client: ONE }),
        (1, SwarmAction::Active { client: ONE }),
        (1, SwarmAction::Heal { from: ONE, to: TWO }),
        (1, SwarmAction::Habit { client: ONE, habit: Habit::Honest }),
    ];
    let (_, records) = run(&with(&nothing), 60);
    assert!(!records.iter().any(|record| record.event.is_fault()));
}
