//! Searches that go farther step by step, beside floods over the same overlay
//! (RT-18).

use servent_core::rng::Rng;
use servent_core::routing::Config;
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_core::wire::gnutella::MessageKind;
use servent_sim::routing::{
    Event, RoutingAction, RoutingActionAt, RoutingWorld, Scenario, ScenarioFile, SearchEvent, Shape,
};

use crate::random::violations;

/// Searches of each kind, and the time each has.
const SEARCHES: u32 = 6;
const TIME: u64 = 250;

/// One in eleven is an ultrapeer. Three hundred nodes and more have a popular
/// file, and of each rare one there are five.
fn overlay(nodes: u32, degree: u32, dynamic: bool) -> Scenario {
    let mut dice = Rng::new(7);
    let mut files = Vec::new();
    let mut share = |node: u64, name: String| {
        files.push(ScenarioFile { node: NodeId(node as u32), name, ..ScenarioFile::default() });
    };
    let popular = (0..u64::from(nodes)).step_by((nodes as usize / 330).clamp(1, 10));
    popular.for_each(|node| share(node, format!("blue moon {node}.ogg")));
    for rare in 0..SEARCHES {
        (0..5).for_each(|_| share(dice.below(nodes.into()), format!("needle number{rare}.txt")));
    }
    let leaves = nodes / 11 * 10;
    let mut script = Vec::new();
    for n in 0..2 * SEARCHES {
        let words =
            if n < SEARCHES { "blue moon".into() } else { format!("number{}", n - SEARCHES) };
        // Ultrapeers and leaves take turns.
        let node = if n % 2 == 0 { n } else { nodes - 1 - n };
        let at = Instant::from_secs(30 + TIME * u64::from(n));
        script
            .push(RoutingActionAt { at, act: RoutingAction::Search { node: NodeId(node), words } });
    }
    Scenario {
        nodes,
        leaves,
        shape: Shape::Random,
        degree,
        latency: Duration::from_millis(60),
        spread: Duration::from_millis(100),
        horizon: Duration::from_secs(30 + TIME * u64::from(2 * SEARCHES)),
        config: Config { dynamic, ..Config::default() },
        files,
        script,
        ..Scenario::default()
    }
}

/// What the searches of one kind cost, in messages, and what they found.
#[derive(Debug, Default, Clone, Copy)]
struct Cost {
    queries: u64,
    found: u64,
}

/// The popular searches and the rare ones.
fn run(scenario: &Scenario) -> [Cost; 2] {
    let mut world = RoutingWorld::new(scenario);
    let mut costs = [Cost::default(); 2];
    world.run_until(Instant::from_secs(29), &mut Vec::new());
    for n in 0..2 * SEARCHES {
        let queries = |world: &RoutingWorld| -> u64 {
            let tally = world.tally(None).expect("of all");
            tally.kinds.iter().filter(|of| of.kind == MessageKind::Query).map(|of| of.sent).sum()
        };
        let before = queries(&world);
        let mut records = Vec::new();
        let end = Instant::from_secs(29 + TIME * u64::from(n + 1));
        world.run_until(end, &mut records);
        let cost = &mut costs[usize::from(n >= SEARCHES)];
        cost.queries += queries(&world) - before;
        cost.found += records
            .iter()
            .map(|record| match record.event {
                Event::App(SearchEvent::Found { files, .. }) => u64::from(files),
                _ => 0,
            })
            .sum::<u64>();
    }
    costs
}

fn compare(nodes: u32, degree: u32) {
    let [flooded, led] = [false, true].map(|dynamic| run(&overlay(nodes, degree, dynamic)));
    println!("{nodes} servents, popular and rare words: flooded {flooded:?}, led {led:?}");
    let [popular, rare] = [0, 1].map(|kind| (flooded[kind], led[kind]));
    assert!(popular.1.found >= 120 * u64::from(SEARCHES), "they find enough: {popular:?}");
    let (cost, other) = (popular.0.queries * popular.1.found, popular.1.queries * popular.0.found);
    assert!(cost >= 5 * other, "five times fewer messages for each hit: {popular:?}");
    assert!(10 * rare.1.found >= 9 * rare.0.found, "nine rare hits of ten: {rare:?}");
    assert!(rare.0.found >= 4 * u64::from(SEARCHES), "there is something to find");
}

/// `SERVENTS=10000` for the overlay of the requirement.
#[test]
fn rt_18_popular_words_cost_a_fifth_of_a_flood_and_rare_ones_are_found() {
    let nodes = std::env::var("SERVENTS").ok().and_then(|text| text.parse().ok());
    let nodes = nodes.unwrap_or(2_200);
    compare(nodes, if nodes > 5_000 { 32 } else { 12 });
}

#[test]
fn rt_18_no_rule_is_broken_by_a_search_that_is_led() {
    assert_eq!(violations(&overlay(330, 8, true)), []);
    assert_eq!(violations(&overlay(330, 8, false)), []);
}
