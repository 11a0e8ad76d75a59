//! What the registry needs to know about overlays.

use alloc::boxed::Box;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::{Map, Value};
use servent_core::routing::Router;
use servent_core::time::Instant;
use servent_core::trace::why::RecordReason;
use servent_core::trace::{NodeId, Record, RecordCause};

use super::check::RoutingOracles;
use super::shown::tally::TallyView;
use super::{
    Chart, Event, Routing, RoutingAction, RoutingTotals, RoutingWorld, Scenario, SearchEvent,
    presets, random, small, why,
};
use crate::explore::walk;
use crate::registry::{
    About, BegunWalk, Drawing, DrawnWorlds, Limits, NodeInfo, Parts, PlayedRun, RegisteredProtocol,
    RunEnd, SmallWorld, amount, fields,
};
use crate::{Keyframes, Oracle as _, Timeline};

/// With this many nodes a keyframe is large, so fewer are kept.
const CROWD: u32 = 1_000;
/// Nodes of a world that is small.
const FEW: u32 = 200;

impl Drawing<Routing> for Chart {
    fn new(_: &Scenario) -> Self {
        Self::default()
    }

    fn observe(&mut self, world: &RoutingWorld, record: &Record<Event>) {
        Self::observe(self, world.net(), record);
    }
}

/// What a run came to.
#[derive(Serialize)]
struct Searches {
    nodes: u32,
    searches: u32,
    answers: u32,
    tally: Option<Box<TallyView>>,
}

impl Searches {
    fn sentence(&self) -> String {
        let t = self.tally.as_deref();
        let of = |of: fn(&TallyView) -> u64| t.map_or(0, of);
        format!(
            "{} in {}, {} home; {}, {} useful, {} duplicate, {} dropped for other reasons, \
             {} lost",
            if self.searches == 1 {
                "1 search".to_string()
            } else {
                format!("{} searches", self.searches)
            },
            amount(u64::from(self.nodes), "servent"),
            amount(u64::from(self.answers), "answer"),
            amount(of(|t| t.sent), "message"),
            of(|t| t.useful),
            of(|t| t.duplicate),
            of(|t| t.dropped - t.duplicate),
            of(|t| t.lost),
        )
    }
}

/// The role of each node in the scenario's script, as one word.
fn roles(scenario: &Scenario) -> Vec<&'static str> {
    let mut roles = vec!["plain"; scenario.nodes as usize];
    for file in &scenario.files {
        roles[file.node.0 as usize] = "shares";
    }
    for step in scenario.script.iter().chain(&scenario.faults) {
        match step.act {
            RoutingAction::Search { node, .. } | RoutingAction::Push { node, .. } => {
                let role = &mut roles[node.0 as usize];
                *role = if matches!(*role, "shares" | "both") { "both" } else { "asks" };
            }
            RoutingAction::Flood { node, .. } => roles[node.0 as usize] = "floods",
            _ => {}
        }
    }
    for (first, second) in &scenario.twins {
        roles[first.0 as usize] = "twin";
        roles[second.0 as usize] = "twin";
    }
    roles
}

impl RegisteredProtocol for Routing {
    const NAME: &'static str = "routing";
    const DRAWN: &'static [DrawnWorlds<Scenario>] =
        &[DrawnWorlds { name: "routing", draw: random::draw }];
    type Oracles = RoutingOracles;
    type Drawing = Chart;

    fn presets() -> Vec<Scenario> {
        presets::all().collect()
    }

    fn about(scenario: &Scenario) -> About<'_> {
        About { id: &scenario.id, title: &scenario.title, text: &scenario.text }
    }

    fn parts(scenario: &mut Scenario) -> Parts<'_, RoutingAction> {
        let Scenario { seed, horizon, faults, .. } = scenario;
        Parts { seed, horizon, faults }
    }

    fn small_worlds() -> Vec<SmallWorld<Scenario>> {
        small::all()
    }

    fn is_small(scenario: &Scenario) -> bool {
        scenario.nodes <= FEW
    }

    fn walk(scenario: &Scenario, limits: Limits) -> Option<BegunWalk> {
        Some(walk::<Self>(scenario, limits))
    }

    fn oracles(scenario: &Scenario, end: RunEnd) -> RoutingOracles {
        let oracles = RoutingOracles::new(scenario);
        if end == RunEnd::Explored { oracles.open_timing() } else { oracles }
    }

    fn play(scenario: &Scenario, how: RunEnd) -> PlayedRun {
        let (mut world, mut oracles) = (RoutingWorld::new(scenario), Self::oracles(scenario, how));
        let end = Instant::ZERO + scenario.horizon;
        let (mut searches, mut answers) = (0, 0);
        let see = |record: &Record<Event>| {
            oracles.observe(record);
            match record.event {
                Event::App(SearchEvent::Searched { .. }) => searches += 1,
                Event::App(SearchEvent::Found { .. }) => answers += 1,
                _ => {}
            }
        };
        world.watch(end, |_| false, see);
        oracles.finish(end);
        let tally = world.tally(None).map(Box::new);
        let outcome = Searches { nodes: scenario.nodes, searches, answers, tally };
        let sentence = outcome.sentence();
        PlayedRun::new(&world, &oracles).with(&outcome, sentence)
    }

    fn totals(world: &RoutingWorld, records: &[Record<Event>]) -> Map<String, Value> {
        let mut chart = Chart::default();
        records.iter().for_each(|record| chart.observe(world.net(), record));
        let mut totals = fields(&world.tally(None));
        totals.append(&mut fields(&RoutingTotals::measure(world, &chart)));
        totals
    }

    /// A keyframe of a large overlay costs memory for every node that changed
    /// since the last one, and running on from it costs time for every message.
    fn keyframes(scenario: &Scenario) -> Keyframes {
        if scenario.nodes > CROWD {
            Keyframes { every: 2_048, most: 64 }
        } else {
            Keyframes { every: 1_024, most: 64 }
        }
    }

    fn names(world: &RoutingWorld) -> Vec<String> {
        let scenario = world.scenario();
        (0..scenario.nodes).map(|node| scenario.name(NodeId(node))).collect()
    }

    fn nodes(world: &RoutingWorld, names: &[String]) -> Vec<NodeInfo> {
        let roles = roles(world.scenario());
        let info = |((id, name), role): ((NodeId, &String), &'static str)| {
            NodeInfo::new(id, name, role, world.node(id).is_some())
        };
        (0..).map(NodeId).zip(names).zip(roles).map(info).collect()
    }

    fn other(
        world: &RoutingWorld,
        _: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record<Event>,
    ) -> Option<NodeId> {
        world.other(record)
    }

    fn is_fault(event: &Event) -> bool {
        event.is_fault()
    }

    fn why(record: &Record<Event>) -> RecordReason {
        why(record)
    }

    fn numbers(timeline: &Timeline<Self>, i: u64) -> Option<Value> {
        super::shown::numbers::list_numbers(timeline, i)
    }

    fn look(world: &RoutingWorld, node: NodeId) -> serde_json::Result<Value> {
        serde_json::to_value(world.node(node).map(Router::view))
    }
}
