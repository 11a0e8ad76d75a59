//! What each preset comes to.

use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};
use servent_sim::meet::{
    Event, MeetNodeView, MeetOutcome, MeetWorld, PacketEvent, PacketKind, PersonEvent, RouterDrop,
    RouterEvent, Scenario, presets,
};
use servent_sim::registry::{RunEnd, TaggedScenario};

pub(crate) fn run(s: &Scenario) -> (MeetWorld, Vec<Record<Event>>) {
    let mut world = MeetWorld::new(s);
    let mut records = Vec::new();
    world.run_until(Instant::ZERO + s.horizon, &mut records);
    (world, records)
}

pub(crate) fn preset(id: &str) -> (MeetWorld, Vec<Record<Event>>) {
    run(&presets::find(id).expect("a preset"))
}

fn outcomes(world: &MeetWorld) -> [MeetOutcome; 2] {
    [0, 1].map(|node| world.site(NodeId(node)).outcome)
}

/// Why routers dropped datagrams of a kind, in order.
fn drops(records: &[Record<Event>], of: PacketKind) -> Vec<RouterDrop> {
    let mut drops = Vec::new();
    for record in records {
        if let Event::Packet(PacketEvent::Dropped { why, kind, .. }) = record.event
            && kind == of
        {
            drops.push(why);
        }
    }
    drops
}

#[test]
fn every_preset_ends_as_it_is_told_and_keeps_every_rule() {
    for (id, sentence) in [
        (
            "two-doors",
            "2 direct after 240 ms, 0 relayed, 0 without a path, 14 knocks: \
             14 arrived and 0 were dropped, 20 of 20 messages read",
        ),
        (
            "knock-early",
            "2 direct after 440 ms, 0 relayed, 0 without a path, 15 knocks: \
             12 arrived and 3 were dropped, 20 of 20 messages read",
        ),
        (
            "relay-first",
            "2 direct after 240 ms, 0 relayed, 0 without a path, 16 knocks: \
             16 arrived and 0 were dropped, 20 of 20 messages read",
        ),
        (
            "one-symmetric",
            "2 direct after 1471 ms, 0 relayed, 0 without a path, 922 knocks: \
             14 arrived and 908 were dropped, 20 of 20 messages read",
        ),
        (
            "two-symmetric",
            "0 direct, 0 relayed, 2 without a path, 28 knocks: \
             0 arrived and 28 were dropped, 0 of 0 messages read",
        ),
        (
            "two-symmetric-relay",
            "0 direct, 2 relayed, 0 without a path, 28 knocks: \
             0 arrived and 28 were dropped, 20 of 20 messages read",
        ),
        (
            "udp-blocked",
            "0 direct, 0 relayed, 1 without a path, 0 knocks: \
             0 arrived and 0 were dropped, 0 of 0 messages read",
        ),
        (
            "mapping-expires",
            "2 direct after 240 ms, 0 relayed, 0 without a path, 14 knocks: \
             14 arrived and 0 were dropped, 3 of 3 messages read",
        ),
        (
            "one-home",
            "2 direct after 80 ms, 0 relayed, 0 without a path, 8 knocks: \
             6 arrived and 2 were dropped, 20 of 20 messages read",
        ),
    ] {
        let scenario = TaggedScenario::preset(id).expect("a preset");
        let run = scenario.play(scenario.seed().unwrap(), RunEnd::Settled).expect("a world");
        assert_eq!(run.violations, [], "{id}");
        assert_eq!(run.sentence, sentence, "{id}");
    }
}

#[test]
fn the_first_knock_is_dropped_by_the_other_door_and_opens_its_own() {
    let (world, records) = preset("knock-early");
    assert_eq!(outcomes(&world), [MeetOutcome::Direct; 2]);
    assert_eq!(drops(&records, PacketKind::Knock), [RouterDrop::Address; 3]);
    for router in [2, 3] {
        let Some(MeetNodeView::Router { rows, .. }) = world.look(NodeId(router)) else {
            panic!("node {router} is a router")
        };
        assert_eq!(rows.len(), 1, "one outer address for every destination");
        assert_eq!(rows[0].written.len(), 3, "both ports of the place, and the other: {rows:?}");
    }
}

#[test]
fn a_mapping_that_runs_out_is_told_and_the_connection_moves() {
    let (world, records) = preset("mapping-expires");
    let of_ada = |record: &&Record<Event>| record.node == NodeId(2);
    let mapped = |record: &Record<Event>| match record.event {
        Event::Router(RouterEvent::Mapped { outside, .. }) => Some(outside.port()),
        _ => None,
    };
    let ports: Vec<_> = records.iter().filter(of_ada).filter_map(mapped).collect();
    assert!(ports.len() > 1 && ports[0] != ports[1], "another port after a while: {ports:?}");
    let expired =
        |record: &Record<Event>| matches!(record.event, Event::Router(RouterEvent::Expired { .. }));
    assert!(records.iter().filter(of_ada).any(expired));
    assert_eq!(world.site(NodeId(1)).read, 3, "nothing is lost with the mapping");
}

#[test]
fn with_a_relay_bytes_flow_at_once_and_move_without_being_sent_twice() {
    let (world, records) = preset("relay-first");
    let of = |wanted: fn(&PersonEvent) -> bool| {
        let fits = |record: &&Record<Event>| match &record.event {
            Event::Person(event) => wanted(event),
            _ => false,
        };
        records.iter().filter(fits).map(|record| record.at).collect::<Vec<_>>()
    };
    let relayed = of(|event| matches!(event, PersonEvent::Connected { relayed: true, .. }));
    let moved = of(|event| matches!(event, PersonEvent::Moved { .. }));
    let read = of(|event| matches!(event, PersonEvent::Read { .. }));
    assert_eq!(relayed.len(), 2);
    assert!(moved.len() >= 2 && relayed[0] < moved[0]);
    assert_eq!(read.len(), 20, "each once");
    assert!(read[0] < *moved.last().unwrap() && *read.last().unwrap() > moved[0]);
    assert_eq!(outcomes(&world), [MeetOutcome::Direct; 2]);
}

#[test]
fn a_network_without_udp_lets_nothing_out_and_the_other_waits() {
    let (world, records) = preset("udp-blocked");
    assert_eq!(outcomes(&world), [MeetOutcome::Silent, MeetOutcome::Waiting]);
    let drops = drops(&records, PacketKind::Question);
    assert!(!drops.is_empty() && drops.iter().all(|why| *why == RouterDrop::Blocked));
}

#[test]
fn a_router_that_is_restarted_forgets_its_table() {
    let mut scenario = presets::find("two-doors").expect("a preset");
    let text = r#"[{ "at": 5000000, "restart": { "node": 2 } }]"#;
    scenario.faults = serde_json::from_str(text).expect("a fault");
    let (world, _) = run(&scenario);
    let rows = |world: &MeetWorld| match world.look(NodeId(2)) {
        Some(MeetNodeView::Router { rows, .. }) => rows.len(),
        _ => panic!("node 2 is a router"),
    };
    let mut before = MeetWorld::new(&scenario);
    before.run_until(Instant::from_micros(4_999_999), &mut Vec::new());
    assert_eq!(rows(&before), 1);
    before.run_until(Instant::from_micros(5_000_000), &mut Vec::new());
    assert_eq!(rows(&before), 0);
    assert!(world.is_up(NodeId(2)));
}

#[test]
fn a_scenario_that_makes_no_sense_is_refused_with_its_place() {
    for (change, told) in [
        (r#"{"people": [{}, {"behind": 3}]}"#, "`people[1].behind`: there is no router 3"),
        (r#"{"people": [{}]}"#, "1 people are fewer than 2"),
        (r#"{"people": [{}, {}], "pairs": [{"listener": 0}]}"#, "two different persons"),
        (r#"{"people": [{}, {}], "pairs": [{"caller": 5}]}"#, "`pairs[0]`: there is no person 5"),
        (r#"{"people": [{}, {}], "pairs": [{}], "loss": 2000}"#, "`loss`: 2000 is not"),
        (
            r#"{"routers": [{"mapping": "none"}], "people": [{"behind": 0}, {"behind": 0}], "pairs": [{}]}"#,
            "`people[1].behind`: two different routers",
        ),
        (r#"{"routers": [{"mapping": "odd"}]}"#, "unknown variant `odd`"),
        (
            r#"{"people": [{}, {}], "pairs": [{}], "faults": [{"at": 0, "crash": {"node": 9}}]}"#,
            "no node 9",
        ),
    ] {
        let text = change.replacen('{', r#"{"protocol": "meet", "#, 1);
        let wrong = TaggedScenario::parse(&text).unwrap_err().to_string();
        assert!(wrong.contains(told), "{change}: {wrong}");
    }
}
