//! What each preset is there to show, shown by its records.

use servent_core::routing::DropReason;
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};
use servent_core::wire::gnutella::MessageKind;
use servent_sim::routing::{
    Event, MessageEvent, MessageLoss, MessageOutcome, RoutingWorld, Scenario, SearchEvent, presets,
};

pub(crate) type Records = Vec<Record<Event>>;

pub(crate) fn run(s: &Scenario) -> (RoutingWorld, Records) {
    let mut world = RoutingWorld::new(s);
    let mut records = Vec::new();
    world.run_until(Instant::ZERO + s.horizon, &mut records);
    (world, records)
}

fn preset(id: &str) -> (RoutingWorld, Records) {
    run(&presets::find(id).expect("a preset"))
}

/// Nodes whose answers came home to a node, in order.
fn found(records: &Records, at: u32) -> Vec<u32> {
    let of = |record: &Record<Event>| match record.event {
        Event::App(SearchEvent::Found { of: Some(of), .. }) if record.node.0 == at => Some(of.0),
        _ => None,
    };
    records.iter().filter_map(of).collect()
}

/// Where messages of a kind were dropped, when, and why.
fn dropped(records: &Records, of: MessageKind) -> Vec<(u32, Instant, DropReason)> {
    let drop = |record: &Record<Event>| match &record.event {
        Event::Message(MessageEvent::Judged { kind, why: Some(why), .. }) if *kind == of => {
            Some((record.node.0, record.at, *why))
        }
        _ => None,
    };
    records.iter().filter_map(drop).collect()
}

fn obeyed(records: &Records) -> Vec<(u32, Instant)> {
    let push =
        |record: &&Record<Event>| matches!(record.event, Event::App(SearchEvent::Obeyed { .. }));
    records.iter().filter(push).map(|record| (record.node.0, record.at)).collect()
}

#[test]
fn a_flood_in_a_ring_meets_itself_and_ends() {
    let (world, records) = preset("ring");
    assert_eq!(found(&records, 0), [5]);
    // The two waves meet on the other side: the last one takes the first copy,
    // and its own meets the next wave.
    let duplicates = dropped(&records, MessageKind::Query);
    assert!(duplicates.iter().all(|(.., why)| *why == DropReason::Duplicate));
    assert_eq!(duplicates.iter().map(|(node, ..)| *node).collect::<Vec<_>>(), [6, 7]);
    let tally = world.tally(None).expect("of all");
    assert_eq!((tally.sent, tally.lost, tally.flying), (tally.arrived, 0, 0));
    assert_eq!((tally.useful, tally.duplicate), (tally.arrived - 2, 2));
}

#[test]
fn in_a_mesh_most_of_a_flood_is_duplicates() {
    let (world, records) = preset("cycles");
    let tally = world.tally(None).expect("of all");
    let links = world.net().wires().len() as u64;
    let (sent, arrived) = (tally.kinds[0].sent, tally.kinds[0].arrived);
    assert_eq!(tally.kinds[0].kind, MessageKind::Query);
    // Every node sends it on to all but one: two copies for each link, less
    // one for each node that was asked.
    assert!(sent <= 2 * links - 35 && sent >= 2 * links - 45, "{sent} of {links}");
    assert_eq!(sent, arrived);
    assert!(tally.duplicate * 3 > arrived, "{tally:?}");
    assert_eq!(found(&records, 14), [20]);
}

#[test]
fn every_answer_walks_back_and_a_push_goes_there_again() {
    let (_, records) = preset("way-back");
    let mut answers = found(&records, 2);
    answers.sort_unstable();
    assert_eq!(answers, [9, 17, 22]);
    assert_eq!(obeyed(&records).iter().map(|(node, _)| *node).collect::<Vec<_>>(), [9]);
}

#[test]
fn a_route_that_was_promised_for_ten_minutes_is_gone_after_ten_and_a_half() {
    let (_, records) = preset("route-expired");
    assert_eq!(found(&records, 0), [4]);
    let hits = dropped(&records, MessageKind::Hit);
    let [(1, at, DropReason::NoRoute)] = hits[..] else { panic!("{hits:?}") };
    assert!(at.since(Instant::from_secs(590)) > Duration::from_secs(600));
}

#[test]
fn a_push_arrives_after_29_minutes_and_not_after_61() {
    let (_, records) = preset("late-push");
    let pushes = obeyed(&records);
    let [(3, at)] = pushes[..] else { panic!("{pushes:?}") };
    assert_eq!(at.since(Instant::ZERO).as_secs() / 60, 29);
    // The neighbour who brought the hit is asked in vain.
    let drops = dropped(&records, MessageKind::Push);
    let [(1, at, DropReason::NoRoute)] = drops[..] else { panic!("{drops:?}") };
    assert_eq!(at.since(Instant::ZERO).as_secs() / 60, 61);
}

#[test]
fn a_flooder_spends_its_own_share_and_no_other_route() {
    let (_, records) = preset("flooder");
    assert_eq!(found(&records, 3), [11]);
    let full = dropped(&records, MessageKind::Query);
    assert!(full.iter().filter(|(.., why)| *why == DropReason::Quota).count() > 300);
    assert!(
        dropped(&records, MessageKind::Hit).iter().all(|(.., why)| *why == DropReason::Duplicate)
    );
}

#[test]
fn an_answer_knows_no_other_way_than_the_one_that_is_cut() {
    let (_, records) = preset("cut-return");
    assert_eq!(found(&records, 0), [0; 0]);
    let hits = dropped(&records, MessageKind::Hit);
    assert!(matches!(hits[..], [(2, _, DropReason::RouteGone)]), "{hits:?}");
    let lost = |record: &Record<Event>| match record.event {
        Event::Message(MessageEvent::Lost { why, .. }) => Some(why),
        _ => None,
    };
    assert_eq!(records.iter().filter_map(lost).collect::<Vec<MessageLoss>>(), []);
}

#[test]
fn of_two_servents_with_one_id_the_first_to_answer_gets_the_pushes() {
    let (_, records) = preset("twins");
    let mut answers = found(&records, 0);
    answers.sort_unstable();
    assert_eq!(answers, [3, 6]);
    let conflict = |record: &&Record<Event>| {
        let text = serde_json::to_string(&record.event).expect("text");
        text.contains(r#""conflict""#)
    };
    assert!(records.iter().filter(conflict).any(|record| record.node == NodeId(1)));
    assert_eq!(obeyed(&records).iter().map(|(node, _)| *node).collect::<Vec<_>>(), [3]);
}

#[test]
fn a_flood_of_ten_thousand_reaches_nearly_all_nodes() {
    let (world, records) = preset("ten-thousand");
    let first = records.iter().find_map(|record| match record.event {
        Event::App(SearchEvent::Searched { guid, .. }) => Some(guid),
        _ => None,
    });
    let took = |record: &&Record<Event>| {
        matches!(&record.event, Event::Message(MessageEvent::Judged { kind: MessageKind::Query, guid, verdict, .. })
            if Some(*guid) == first && *verdict != MessageOutcome::Dropped)
    };
    let reached = records.iter().filter(took).count();
    assert!(reached > 9_500, "{reached}");
    let tally = world.tally(None).expect("of all");
    assert!(tally.sent > 60_000 && tally.duplicate * 2 > tally.arrived, "{tally:?}");
    assert_eq!(found(&records, 5_050).len(), 2);
}

#[test]
fn the_same_scenario_gives_the_same_digest() {
    let s = presets::find("way-back").expect("a preset");
    assert_eq!(run(&s).0.digest(), run(&s).0.digest());
    let other = Scenario { seed: s.seed + 1, ..s.clone() };
    assert_ne!(run(&s).0.digest(), run(&other).0.digest());
}
