//! What a lesson has to know of a protocol: which nodes there are, which of them a record is
//! about, and what a run comes to.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::course::Fact;
use crate::{At, Protocol, World, queue, routing, swarm, unicast};
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record, RecordCause};

/// How many links of a chain of causes are followed to find out who it was.
const CHAIN: usize = 12;

/// What a run comes to, by the name of each number. Times are microseconds.
pub type Totals = BTreeMap<String, f64>;

/// A protocol that lessons are about.
pub trait Subject:
    Protocol<
        Scenario: Serialize + DeserializeOwned,
        Event: Serialize + DeserializeOwned,
        Fault: DeserializeOwned,
    >
{
    /// A preset by its id.
    fn preset(id: &str) -> Option<Self::Scenario>;
    /// The seed, the length and the faults of a scenario.
    fn parts(scenario: &mut Self::Scenario) -> ScenarioParts<'_, Self::Fault>;
    /// What the nodes are called, by their numbers.
    fn names(world: &World<Self>) -> Vec<String>;
    /// The other node a record is about; of an earlier record its node and its
    /// cause are found by number.
    fn other(
        world: &World<Self>,
        earlier: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record<Self::Event>,
    ) -> Option<NodeId>;
    /// What the whole run comes to.
    fn totals(world: &World<Self>, records: &[Record<Self::Event>]) -> Totals;
    /// Completes which node the facts are about, where one alone does not tell.
    fn relate(_: &mut [Fact]) {}
}

/// What every scenario has, whatever its protocol.
#[derive(Debug)]
pub struct ScenarioParts<'a, F> {
    /// Every draw follows from it.
    pub seed: &'a mut u64,
    /// How long it is worth watching.
    pub horizon: &'a mut Duration,
    /// What is done to it.
    pub faults: &'a mut Vec<At<F>>,
}

/// The numbers among the fields of some totals; what is not there is left out.
fn numbers(totals: &impl Serialize) -> Totals {
    let Ok(Value::Object(fields)) = serde_json::to_value(totals) else { return Totals::new() };
    let number = |value: &Value| match value {
        Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
        value => value.as_f64(),
    };
    fields.iter().filter_map(|(name, value)| Some((name.clone(), number(value)?))).collect()
}

impl Subject for queue::Queue {
    fn preset(id: &str) -> Option<queue::Scenario> {
        queue::presets::find(id)
    }

    fn parts(scenario: &mut queue::Scenario) -> ScenarioParts<'_, queue::Fault> {
        let queue::Scenario { seed, horizon, faults, .. } = scenario;
        ScenarioParts { seed, horizon, faults }
    }

    fn names(world: &queue::QueueWorld) -> Vec<String> {
        world.profiles().iter().map(|profile| profile.name.clone()).collect()
    }

    /// The client a server's record is about: whichever node caused it.
    fn other(
        world: &queue::QueueWorld,
        earlier: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record,
    ) -> Option<NodeId> {
        let profiles = world.profiles();
        let is_client = |node: NodeId| {
            profiles.get(node.0 as usize).is_some_and(|profile| profile.role == queue::Role::Client)
        };
        if is_client(record.node) {
            return Some(record.node);
        }
        let mut cause = record.cause;
        for _ in 0..CHAIN {
            let (node, before) = earlier(cause?)?;
            if is_client(node) {
                return Some(node);
            }
            cause = before;
        }
        None
    }

    fn totals(world: &queue::QueueWorld, records: &[Record]) -> Totals {
        let slots = world.scenario().servers.first().map_or(0, |server| server.queue.slots);
        let mut tally = queue::QueueTally::new(slots);
        records.iter().filter(|record| record.node.0 == 0).for_each(|record| {
            tally.observe(record.at, &record.event);
        });
        numbers(&tally.until(world.now()))
    }

    /// A place belongs to the client that got it, also where a timer was the cause.
    fn relate(facts: &mut [Fact]) {
        let mut holders = BTreeMap::new();
        for fact in facts {
            let Some(ticket) = fact.fields.get("ticket").map(Value::to_string) else { continue };
            match fact.other {
                Some(client) => {
                    fact.other = Some(*holders.entry(ticket).or_insert(client));
                }
                None => fact.other = holders.get(&ticket).copied(),
            }
        }
    }
}

impl Subject for routing::Routing {
    fn preset(id: &str) -> Option<routing::Scenario> {
        routing::presets::find(id)
    }

    fn parts(scenario: &mut routing::Scenario) -> ScenarioParts<'_, routing::RoutingAction> {
        let routing::Scenario { seed, horizon, faults, .. } = scenario;
        ScenarioParts { seed, horizon, faults }
    }

    fn names(world: &routing::RoutingWorld) -> Vec<String> {
        let scenario = world.scenario();
        (0..scenario.nodes).map(|node| scenario.name(NodeId(node))).collect()
    }

    fn other(
        world: &routing::RoutingWorld,
        _: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record<routing::Event>,
    ) -> Option<NodeId> {
        world.other(record)
    }

    fn totals(world: &routing::RoutingWorld, records: &[Record<routing::Event>]) -> Totals {
        let mut chart = routing::Chart::default();
        records.iter().for_each(|record| chart.observe(world.net(), record));
        let mut totals = numbers(&world.tally(None));
        totals.append(&mut numbers(&routing::RoutingTotals::measure(world, &chart)));
        totals
    }
}

impl Subject for unicast::Unicast {
    fn preset(id: &str) -> Option<unicast::Scenario> {
        unicast::presets::find(id)
    }

    fn parts(scenario: &mut unicast::Scenario) -> ScenarioParts<'_, unicast::UnicastAction> {
        let unicast::Scenario { seed, horizon, faults, .. } = scenario;
        ScenarioParts { seed, horizon, faults }
    }

    fn names(world: &unicast::UnicastWorld) -> Vec<String> {
        world.scenario().nodes.iter().map(|party| party.name.clone()).collect()
    }

    fn other(
        world: &unicast::UnicastWorld,
        _: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record<unicast::Event>,
    ) -> Option<NodeId> {
        world.other(&record.event)
    }

    fn totals(world: &unicast::UnicastWorld, records: &[Record<unicast::Event>]) -> Totals {
        let mut diagram = unicast::Diagram::default();
        records.iter().for_each(|record| diagram.observe(world, record));
        numbers(&unicast::UnicastTotals::until(&diagram, world.now()))
    }
}

impl Subject for swarm::Swarm {
    fn preset(id: &str) -> Option<swarm::Scenario> {
        swarm::presets::find(id)
    }

    fn parts(scenario: &mut swarm::Scenario) -> ScenarioParts<'_, swarm::SwarmAction> {
        let swarm::Scenario { seed, horizon, faults, .. } = scenario;
        ScenarioParts { seed, horizon, faults }
    }

    fn names(world: &swarm::SwarmWorld) -> Vec<String> {
        let clients = (0..world.scenario().count()).map(swarm::name);
        clients.chain([String::from("coordinator")]).collect()
    }

    fn other(
        world: &swarm::SwarmWorld,
        _: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record<swarm::Event>,
    ) -> Option<NodeId> {
        let source = || record.event.is_from_source().then(|| world.coordinator());
        record.event.clients().1.map(NodeId).or_else(source)
    }

    fn totals(world: &swarm::SwarmWorld, records: &[Record<swarm::Event>]) -> Totals {
        let mut tally = swarm::SwarmTally::new(world.scenario());
        records.iter().for_each(|record| tally.observe(record));
        numbers(&tally.result(world))
    }
}

/// The instant so long after the beginning of a world.
pub(super) fn after(length: Duration) -> Instant {
    Instant::ZERO + length
}
