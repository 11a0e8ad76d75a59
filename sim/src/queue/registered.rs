//! What the registry needs to know about servents and their queues.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::{Map, Value};
use servent_core::node::WorldEvent;
use servent_core::time::Instant;
use servent_core::trace::why::{self, RecordReason};
use servent_core::trace::{Event, NodeId, Record, RecordCause};

use super::check::QueueOracles;
use super::{Fault, Profile, Queue, QueueTally, QueueWorld, Role, Scenario, presets, random};
use crate::registry::{
    About, Drawing, DrawnWorlds, Fact, NodeInfo, Parts, PlayedRun, RegisteredProtocol, RunEnd,
    amount, fields,
};
use crate::{Oracle as _, Timeline};

/// How many links of a chain of causes are followed to find the client.
const CHAIN: usize = 12;
/// How many queue entries are shown in a node's state.
const CARDS: u32 = 50;
/// Nodes of a world that is small.
const FEW: u64 = 200;
/// Times its own length that a run goes on until every download has ended.
const SETTLING: u64 = 10;

/// The totals of each server's queue.
#[derive(Debug)]
pub struct ServerTallies(Vec<QueueTally>);

impl ServerTallies {
    /// The totals of a server's queue; `None` for a client.
    #[must_use]
    pub fn tally(&self, server: NodeId) -> Option<&QueueTally> {
        self.0.get(server.0 as usize)
    }
}

impl Drawing<Queue> for ServerTallies {
    fn new(scenario: &Scenario) -> Self {
        Self(scenario.servers.iter().map(|server| QueueTally::new(server.queue.slots)).collect())
    }

    fn observe(&mut self, _: &QueueWorld, record: &Record) {
        if let Some(tally) = self.0.get_mut(record.node.0 as usize) {
            tally.observe(record.at, &record.event);
        }
    }
}

/// What a run came to.
#[derive(Serialize)]
struct DownloadCounts {
    whole: u32,
    failed: u32,
}

/// Complete and failed downloads of each client.
fn outcomes(world: &QueueWorld) -> impl Iterator<Item = (u32, u32)> + '_ {
    let clients = world.profiles().iter().zip(0u32..).filter(|(p, _)| p.role == Role::Client);
    clients.map(|(_, id)| world.outcome(NodeId(id)))
}

fn is_done(world: &QueueWorld) -> bool {
    outcomes(world).all(|(whole, failed)| whole + failed > 0)
}

impl RegisteredProtocol for Queue {
    const NAME: &'static str = "queue";
    const DRAWN: &'static [DrawnWorlds<Scenario>] = &[
        DrawnWorlds { name: "queue", draw: random::draw },
        DrawnWorlds { name: "restarts", draw: random::draw_restarts },
        DrawnWorlds { name: "versions", draw: random::draw_versions },
        DrawnWorlds { name: "site", draw: random::draw_site },
        DrawnWorlds { name: "divided", draw: random::draw_divided },
    ];
    type Oracles = QueueOracles;
    type Drawing = ServerTallies;

    fn presets() -> Vec<Scenario> {
        presets::all().collect()
    }

    fn about(scenario: &Scenario) -> About<'_> {
        About { id: &scenario.id, title: &scenario.title, text: &scenario.text }
    }

    fn parts(scenario: &mut Scenario) -> Parts<'_, Fault> {
        let Scenario { seed, horizon, faults, .. } = scenario;
        Parts { seed, horizon, faults }
    }

    fn is_small(scenario: &Scenario) -> bool {
        scenario.nodes() <= FEW
    }

    fn oracles(scenario: &Scenario, _: RunEnd) -> QueueOracles {
        QueueOracles::new(scenario)
    }

    fn play(scenario: &Scenario, how: RunEnd) -> PlayedRun {
        let (mut world, mut oracles) = (QueueWorld::new(scenario), Self::oracles(scenario, how));
        let end = Instant::ZERO + scenario.horizon;
        let settling = if how == RunEnd::Settled { SETTLING } else { 1 };
        let last = Instant::ZERO + scenario.horizon.ratio(settling, 1);
        world.watch(end, |_| false, |record| oracles.observe(record));
        world.watch(last, is_done, |record| oracles.observe(record));
        let ended = world.now().max(end);
        if how != RunEnd::Open {
            oracles.finish(ended);
        }
        let (whole, failed) = outcomes(&world).fold((0, 0), |(w, f), (a, b)| (w + a, f + b));
        let sentence = format!("{} whole, {failed} failed", amount(u64::from(whole), "download"));
        PlayedRun::new(&world, &oracles)
            .lasting(ended.since(Instant::ZERO))
            .with(&DownloadCounts { whole, failed }, sentence)
    }

    fn totals(world: &QueueWorld, records: &[Record]) -> Map<String, Value> {
        let slots = world.scenario().servers.first().map_or(0, |server| server.queue.slots);
        let mut tally = QueueTally::new(slots);
        records.iter().filter(|record| record.node.0 == 0).for_each(|record| {
            tally.observe(record.at, &record.event);
        });
        fields(&tally.until(world.now()))
    }

    fn names(world: &QueueWorld) -> Vec<String> {
        world.profiles().iter().map(|profile| profile.name.clone()).collect()
    }

    fn nodes(world: &QueueWorld, names: &[String]) -> Vec<NodeInfo> {
        let info = |((id, profile), name): ((NodeId, &Profile), &String)| {
            let role = match profile.role {
                Role::Server => "server",
                Role::Client => "client",
            };
            let info = NodeInfo::new(id, name, role, world.is_up(id));
            NodeInfo { dialect: Some(profile.dialect), ..info }
        };
        (0..).map(NodeId).zip(world.profiles()).zip(names).map(info).collect()
    }

    /// The client a server's record is about: the one that caused it.
    fn other(
        world: &QueueWorld,
        earlier: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record,
    ) -> Option<NodeId> {
        let profiles = world.profiles();
        let is_client = |node: NodeId| {
            profiles.get(node.0 as usize).is_some_and(|profile| profile.role == Role::Client)
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

    fn is_fault(event: &Event) -> bool {
        use WorldEvent::{Leads, Replaced, Saved, StandsBy, StoreAway};
        let follows = |event: &WorldEvent| {
            matches!(event, Leads { .. } | Replaced | Saved { .. } | StandsBy | StoreAway { .. })
        };
        matches!(event, Event::World(event) if !follows(event))
    }

    fn why(record: &Record) -> RecordReason {
        why::explain(record)
    }

    fn case(timeline: &Timeline<Self>, i: u64) -> Option<&'static str> {
        let record = timeline.record(i)?;
        let told = |event: &Event| serde_json::to_value(event).unwrap_or_default();
        let earlier = (0..i).rev().filter_map(|j| timeline.record(j));
        let site = timeline.world().scenario().site.is_some();
        let queue = matches!(record.event, Event::Queue(_));
        let earlier = earlier.filter(|old| (site && queue) || old.node == record.node);
        let earlier = earlier.map(|old| (old.at, told(&old.event)));
        super::cases::case_of(record.at, &told(&record.event), earlier)
    }

    fn numbers(timeline: &Timeline<Self>, i: u64) -> Option<Value> {
        let record = timeline.record(i)?;
        let Event::Queue(event) = &record.event else { return None };
        let earlier = (0..i).rev().filter_map(|j| timeline.record(j));
        // Members of a site have one queue: any of them may have told it.
        let site = timeline.world().scenario().site.is_some();
        let earlier = earlier.filter(|old| site || old.node == record.node);
        let told = earlier.filter_map(|old| match &old.event {
            Event::Queue(event) => Some((old.at, event.clone())),
            _ => None,
        });
        super::numbers::list_numbers(record.at, event, told)
    }

    fn look(world: &QueueWorld, node: NodeId) -> serde_json::Result<Value> {
        serde_json::to_value(world.view(node, 1, CARDS))
    }
}
