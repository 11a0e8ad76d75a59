//! What each preset shows is really there to be seen.

use servent_core::swarm;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Record;
use servent_sim::Oracle as _;
use servent_sim::swarm::check::SwarmOracles;
use servent_sim::swarm::{Event, Result, Scenario, SwarmTally, SwarmWorld, presets};

/// Runs a scenario to its horizon; nothing may be wrong with it.
fn run(scenario: &Scenario) -> (SwarmWorld, Vec<Record<Event>>, Result) {
    scenario.check().expect("a preset makes sense");
    let (mut world, mut oracles) = (SwarmWorld::new(scenario), SwarmOracles::new(scenario));
    let (mut tally, mut records) = (SwarmTally::new(scenario), Vec::new());
    world.run_until(Instant::ZERO + scenario.horizon, &mut records);
    for record in &records {
        oracles.observe(record);
        tally.observe(record);
    }
    assert_eq!(oracles.violations(), [], "{}", scenario.id);
    let result = tally.result(&world);
    (world, records, result)
}

fn preset(id: &str) -> Scenario {
    presets::find(id).expect("a preset")
}

fn count(records: &[Record<Event>], fits: impl Fn(&swarm::Event) -> bool) -> usize {
    let told = records.iter().filter_map(|record| match &record.event {
        Event::Swarm(event) => Some(event),
        _ => None,
    });
    told.filter(|event| fits(event)).count()
}

#[test]
fn presets_have_ids_of_their_own_titles_and_both_policies() {
    let all = presets::all();
    let mut ids: Vec<&str> = all.iter().map(|s| s.id.as_str()).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), all.len());
    assert_eq!(all.len(), 7);
    for s in &all {
        assert!(!s.title.is_empty() && s.text.ends_with('.'), "{}", s.id);
        assert_eq!(s.variants.len(), 2, "{}", s.id);
        let text = serde_json::to_string(s).expect("JSON");
        assert_eq!(Scenario::parse(&text).as_ref(), Ok(s));
    }
}

#[test]
fn every_client_gets_one_piece_for_nothing_and_no_second_one() {
    let (_, records, result) = run(&preset("free-piece"));
    assert!(result.finished, "{result:?}");
    assert_eq!(count(&records, |e| matches!(e, swarm::Event::Free { .. })), 3);
}

#[test]
fn an_upload_earns_two_downloads_and_every_client_finishes_by_the_text_alone() {
    let (world, records, result) = run(&preset("two-for-one"));
    assert!(result.finished, "{result:?}");
    assert_eq!(world.manager().counters().grants, 0);
    assert!(count(&records, |e| matches!(e, swarm::Event::Stalled { .. })) > 3);
}

#[test]
fn the_rules_of_2004_stand_still_and_the_others_do_not() {
    let scenario = preset("deadlock");
    let (_, _, stuck) = run(&scenario);
    assert!(!stuck.finished && stuck.whole < stuck.wanting, "{stuck:?}");
    let since = stuck.deadlocked.expect("nothing moves any more");
    assert!(since < Instant::from_secs(60), "{since:?}");
    let (_, _, other) = run(&scenario.variant("adaptive").expect("a variant"));
    assert!(other.finished && other.deadlocked.is_none(), "{other:?}");
}

#[test]
fn the_rarest_first_comes_within_three_percent_of_what_can_be() {
    let (_, records, result) = run(&preset("rarest-first"));
    assert!(result.ratio <= 1_030 && result.source_copies <= 1_100, "{result:?}");
    let arrived = count(&records, |e| matches!(e, swarm::Event::Arrived { .. }));
    assert_eq!(arrived, 64 * 64);
}

#[test]
fn those_behind_firewalls_are_found_to_be_passive() {
    let (_, records, result) = run(&preset("firewalls"));
    assert!(result.finished, "{result:?}");
    let forced =
        |e: &swarm::Event| matches!(e, swarm::Event::Mode { active: false, forced: true, .. });
    assert_eq!(count(&records, forced), 8, "each after its fifth failed connect");
}

#[test]
fn a_client_that_sends_wrong_bytes_is_found_out_and_left_alone() {
    let (_, records, result) = run(&preset("liar"));
    assert!(result.finished, "{result:?}");
    assert_eq!(count(&records, |e| matches!(e, swarm::Event::Quarantined { .. })), 1);
    assert!(count(&records, |e| matches!(e, swarm::Event::Blamed { .. })) >= 3);
}

#[test]
fn the_crowd_is_served_by_itself() {
    // Its beginning only: all of it takes long without optimization.
    let crowd = Scenario { horizon: Duration::from_secs(14), ..preset("flash-crowd") };
    let (world, records, _) = run(&crowd);
    let counters = world.manager().counters();
    assert!(counters.arrived > 2_000, "{counters:?}");
    let from_source = counters.arrived_from_source;
    assert!(from_source <= 14 && counters.failed == 0, "a piece a second: {counters:?}");
    assert!(records.len() > 10_000);
}
