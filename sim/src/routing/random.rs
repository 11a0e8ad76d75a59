//! Randomly generated overlays: anything may happen, checked by the oracles.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::action::{RoutingAction, RoutingActionAt};
use super::scenario::{Churn, Scenario, ScenarioFile, Shape};
use servent_core::choose::Choose;
use servent_core::routing::{Config, PushRouting};
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;

/// How long a generated overlay runs.
#[doc(hidden)]
pub const HORIZON: Duration = Duration::from_secs(60);
/// What is shared and searched for.
const WORDS: [&str; 4] = ["gnutella protocol", "queue theory", "some song", "nothing"];

/// Generates a scenario. `seed` becomes its seed, so that a generated scenario
/// can be reproduced from that number alone.
#[must_use]
pub fn draw(choose: &mut Choose, seed: u64) -> Scenario {
    let nodes = choose.between(2, 40) as u32;
    let shapes = [Shape::Ring, Shape::Star, Shape::Mesh, Shape::Random, Shape::SmallWorld];
    let mut scenario = Scenario {
        id: format!("random-routing-{seed}"),
        title: format!("Overlay {seed}"),
        seed,
        horizon: HORIZON,
        nodes,
        shape: *choose.one(&shapes),
        degree: choose.between(2, 6) as u32,
        shortcuts: choose.below(20) as u32,
        latency: Duration::from_micros(choose.between(2, 200_000)),
        spread: Duration::from_micros(choose.below(2) * choose.below(300_000)),
        pings: choose.chance(1, 4),
        config: config(choose),
        ..Scenario::default()
    };
    if choose.chance(1, 3) {
        scenario.leaves = choose.below(u64::from(nodes) - 1) as u32;
        scenario.homes = choose.between(1, 3) as u32;
    }
    for _ in 0..choose.below(8) {
        let name = String::from(*choose.one(&WORDS[..3]));
        let after = Duration::from_micros(choose.below(4) / 3 * choose.below(20_000_000));
        scenario.files.push(ScenarioFile { node: node(choose, nodes), name, after });
    }
    if choose.chance(1, 5) {
        scenario.twins.push(pair(choose, nodes));
    }
    if choose.chance(1, 4) {
        let (every, down) = (choose.between(200_000, 5_000_000), choose.below(10_000_000));
        let (every, down) = (Duration::from_micros(every), Duration::from_micros(down));
        scenario.churn = Some(Churn { every, down, until: Duration::from_secs(50) });
    }
    for _ in 0..choose.between(1, 12) {
        let act = random_act(choose, nodes, &scenario.files);
        scenario.script.push(RoutingActionAt { at: moment(choose), act });
    }
    for _ in 0..choose.below(8) {
        let act = fault(choose, &scenario);
        scenario.faults.push(RoutingActionAt { at: moment(choose), act });
    }
    if choose.chance(1, 3) {
        scenario.config.dynamic = true;
        scenario.config.step_every = Duration::from_micros(choose.between(1_000, 2_400_000));
        scenario.config.merge_every = Duration::from_micros(choose.between(1_000, 5_000_000));
        scenario.config.enough = choose.between(1, 8) as u32;
    }
    // Drawn last: what was drawn before is as it was without firewalls.
    if choose.chance(1, 4) {
        for _ in 0..choose.between(1, 6) {
            let (node, closed) = (node(choose, nodes), choose.chance(3, 4));
            scenario.faults.push(RoutingActionAt {
                at: moment(choose),
                act: RoutingAction::Firewall { node, closed },
            });
        }
    }
    scenario.script.sort_by_key(|act| act.at);
    scenario.faults.sort_by_key(|act| act.at);
    scenario
}

fn moment(choose: &mut Choose) -> Instant {
    Instant::from_micros(choose.below(HORIZON.as_micros()))
}

fn node(choose: &mut Choose, nodes: u32) -> NodeId {
    NodeId(choose.below(nodes.into()) as u32)
}

fn pair(choose: &mut Choose, nodes: u32) -> (NodeId, NodeId) {
    let first = node(choose, nodes);
    let further = choose.between(1, u64::from(nodes) - 1) as u32;
    (first, NodeId((first.0 + further) % nodes))
}

/// Small tables and short lifetimes, so that a minute is enough to exceed them.
fn config(choose: &mut Choose) -> Config {
    let mut life = || Duration::from_micros(choose.between(100_000, 30_000_000));
    let (query_life, push_life, duplicate_life) = (life(), life(), life());
    let mut config = Config { query_life, push_life, duplicate_life, ..Config::default() };
    config.max_ttl = choose.between(1, 10) as u8;
    if choose.chance(1, 3) {
        config.queries_per_link = choose.between(1, 40) as u32;
    }
    if choose.chance(1, 4) {
        config.hits_per_query = choose.between(1, 3) as u32;
    }
    if choose.chance(1, 4) {
        config.push_routing = PushRouting::Broadcast;
    }
    config
}

fn random_act(choose: &mut Choose, nodes: u32, files: &[ScenarioFile]) -> RoutingAction {
    match choose.below(6) {
        0 if !files.is_empty() => {
            let of = choose.one(files).node;
            let further = choose.between(1, u64::from(nodes) - 1) as u32;
            RoutingAction::Push { node: NodeId((of.0 + further) % nodes), of }
        }
        1 => RoutingAction::Flood {
            node: node(choose, nodes),
            count: choose.between(1, 60) as u32,
            every: Duration::from_micros(choose.below(2) * choose.below(500_000)),
        },
        _ => RoutingAction::Search {
            node: node(choose, nodes),
            words: String::from(*choose.one(&WORDS)),
        },
    }
}

fn fault(choose: &mut Choose, scenario: &Scenario) -> RoutingAction {
    let nodes = scenario.nodes;
    let links: Vec<(u32, u32)> =
        super::Net::new(scenario).wires().iter().map(|wire| (wire.a, wire.b)).collect();
    let (a, b) = *choose.one(&links);
    let (from, to) = (NodeId(a), NodeId(b));
    match choose.below(5) {
        0 => RoutingAction::Kill { node: node(choose, nodes) },
        1 => RoutingAction::Restart { node: node(choose, nodes) },
        2 => RoutingAction::Heal { from, to },
        _ => RoutingAction::Cut { from, to },
    }
}
