//! Nodes that no other can connect to: what is asked of them, by push, and which
//! links come about.

use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};
use servent_sim::Oracle as _;
use servent_sim::routing::check::RoutingOracles;
use servent_sim::routing::{
    Event, RoutingAction, RoutingActionAt, RoutingIncident, RoutingWorld, Scenario, ScenarioFile,
    SearchEvent, Shape, random,
};

use crate::presets::{Records, run};
use crate::random::violations;

const ASKER: NodeId = NodeId(0);
const HOLDER: NodeId = NodeId(2);

fn at(ms: u64, act: RoutingAction) -> RoutingActionAt {
    RoutingActionAt { at: Instant::from_micros(ms * 1_000), act }
}

const fn firewall(node: NodeId, closed: bool) -> RoutingAction {
    RoutingAction::Firewall { node, closed }
}

/// Four in a row, a tenth of a second apart; the third has the file that the
/// first searches for after a second.
fn row(faults: Vec<RoutingActionAt>) -> Scenario {
    let link = |a| (NodeId(a), NodeId(a + 1));
    Scenario {
        nodes: 4,
        shape: Shape::Free,
        links: (0..3).map(link).collect(),
        files: vec![ScenarioFile {
            node: HOLDER,
            name: "some song".into(),
            ..ScenarioFile::default()
        }],
        script: vec![at(1_000, RoutingAction::Search { node: ASKER, words: "some song".into() })],
        faults,
        horizon: Duration::from_secs(10),
        ..Scenario::default()
    }
}

/// What users do and learn, and firewalls, in order.
fn told(records: &Records) -> Vec<(NodeId, &Event)> {
    let tells = |record: &&Record<Event>| {
        use SearchEvent as A;
        matches!(
            record.event,
            Event::App(A::Found { .. } | A::Asked { .. } | A::Obeyed { .. } | A::Refused { .. })
        )
    };
    records.iter().filter(tells).map(|record| (record.node, &record.event)).collect()
}

fn is(event: &Event, wanted: &str) -> bool {
    format!("{event:?}").contains(wanted)
}

/// The causes from a record back to what began it.
fn chain(records: &Records, of: &str) -> Vec<String> {
    let mut at = records.iter().rfind(|record| is(&record.event, of));
    let mut names = Vec::new();
    while let Some(record) = at {
        let name = match &record.event {
            Event::App(event) => format!("{event:?}"),
            Event::World(event) => format!("{event:?}"),
            _ => String::from("message"),
        };
        names.push(name.split([' ', '{']).next().unwrap_or_default().to_owned());
        at = records.iter().find(|other| Some(other.seq) == record.cause);
    }
    names.dedup();
    names
}

#[test]
fn a_node_that_wants_a_file_from_behind_a_firewall_asks_by_push() {
    let (_, records) = run(&row(vec![at(0, firewall(HOLDER, true))]));
    let told = told(&records);
    let [(ASKER, found), (ASKER, asked), (HOLDER, obeyed)] = told[..] else { panic!("{told:?}") };
    assert!(is(found, "Found") && is(asked, "Asked"), "{told:?}");
    assert_eq!(*obeyed, Event::App(SearchEvent::Obeyed { to: Some(ASKER) }));
    // The answer says that no node can connect: it is not tried.
    assert_eq!(chain(&records, "Asked")[..2], ["Asked", "Found"]);
}

#[test]
fn a_firewall_that_closes_behind_the_answer_is_run_into_first() {
    let (_, records) = run(&row(vec![at(1_250, firewall(HOLDER, true))]));
    let told = told(&records);
    let names: Vec<_> = told.iter().map(|(node, _)| *node).collect();
    assert_eq!(names, [ASKER, ASKER, ASKER, HOLDER], "{told:?}");
    assert_eq!(*told[1].1, Event::App(SearchEvent::Refused { by: HOLDER }));
    assert_eq!(chain(&records, "Asked")[..3], ["Asked", "Refused", "Found"]);
}

#[test]
fn between_two_firewalls_even_a_push_is_in_vain() {
    let faults = vec![at(0, firewall(HOLDER, true)), at(0, firewall(ASKER, true))];
    let (_, records) = run(&row(faults));
    assert_eq!(chain(&records, "Refused")[..2], ["Refused", "Obeyed"]);
    let last = told(&records).pop();
    assert_eq!(last, Some((HOLDER, &Event::App(SearchEvent::Refused { by: ASKER }))));
}

#[test]
fn an_open_node_is_asked_nothing() {
    let faults = vec![at(0, firewall(HOLDER, true)), at(500, firewall(HOLDER, false))];
    let (_, records) = run(&row(faults));
    let told = told(&records);
    assert!(told.len() == 1 && is(told[0].1, "Found"), "{told:?}");
}

/// Every link of the row, up or down.
fn links(world: &RoutingWorld) -> [bool; 3] {
    [0, 1, 2].map(|wire| world.is_joined(wire))
}

#[test]
fn a_closed_node_connects_to_its_neighbours_and_two_of_them_not_to_each_other() {
    let node = HOLDER;
    let mut s = row(vec![
        at(0, firewall(node, true)),
        at(100, RoutingAction::Kill { node }),
        at(200, RoutingAction::Restart { node }),
    ]);
    assert_eq!(links(&run(&s).0), [true; 3], "it connects itself");
    // The neighbour behind it is closed, too.
    s.faults.insert(1, at(50, firewall(NodeId(3), true)));
    let (world, records) = run(&s);
    assert_eq!(links(&world), [true, true, false]);
    let refused = Event::App(SearchEvent::Refused { by: NodeId(3) });
    assert!(records.iter().any(|record| record.node == HOLDER && record.event == refused));
    // As soon as one opens, they have each other again.
    s.faults.push(at(3_000, firewall(NodeId(3), false)));
    assert_eq!(links(&run(&s).0), [true; 3]);
    assert_eq!(violations(&s), []);
}

#[test]
fn a_node_that_is_let_in_through_a_firewall_is_seen() {
    let mut s = row(vec![
        at(0, RoutingAction::Cut { from: HOLDER, to: NodeId(3) }),
        at(100, firewall(HOLDER, true)),
        at(200, RoutingAction::Heal { from: HOLDER, to: NodeId(3) }),
    ]);
    assert_eq!(violations(&s), []);
    // The records of a world in which only one of them is closed, read as if
    // both were.
    let (_, mut records) = run(&s);
    let mut other = records.iter().find(|record| is(&record.event, "Firewall")).unwrap().clone();
    other.node = NodeId(3);
    records.insert(0, other);
    s.faults.clear();
    let mut oracles = RoutingOracles::new(&s);
    records.iter().for_each(|record| oracles.observe(record));
    let keys: Vec<_> = oracles.violations().iter().map(|violation| violation.key).collect();
    assert_eq!(keys, ["check.let_in"; 2]);
}

#[test]
fn what_is_connected_stays_connected() {
    let s = row((0..4).map(|node| at(0, firewall(NodeId(node), true))).collect());
    let (world, records) = run(&s);
    assert_eq!(links(&world), [true; 3]);
    let closed = Event::World(RoutingIncident::Firewall { closed: true });
    assert_eq!(records.iter().filter(|record| record.event == closed).count(), 4);
    // A firewall that is closed already closes nothing.
    let again = row(vec![at(0, firewall(HOLDER, true)), at(1, firewall(HOLDER, true))]);
    let count = run(&again).1.iter().filter(|record| record.event == closed).count();
    assert_eq!(count, 1);
}

#[test]
fn drawn_overlays_have_firewalls_that_are_run_into() {
    let mut seen = [0; 2];
    for seed in 1..=150 {
        let s = random::draw(&mut servent_core::choose::Choose::random(seed), seed);
        if !s.faults.iter().any(|fault| matches!(fault.act, RoutingAction::Firewall { .. })) {
            continue;
        }
        let (_, records) = run(&s);
        seen[0] += 1;
        seen[1] += usize::from(records.iter().any(|record| is(&record.event, "Refused")));
    }
    assert!(seen[0] > 15 && seen[1] > 1, "{seen:?}");
}
