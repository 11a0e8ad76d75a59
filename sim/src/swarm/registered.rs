//! What the registry needs to know about swarms.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec;
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::{Map, Value};
use servent_core::swarm::SwarmPolicy;
use servent_core::time::Instant;
use servent_core::trace::why::RecordReason;
use servent_core::trace::{NodeId, Record, RecordCause};

use super::check::SwarmOracles;
use super::{
    Event, Habit, Result, Scenario, Swarm, SwarmAction, SwarmTally, SwarmWorld, name, presets,
    random, small, why,
};
use crate::explore::walk;
use crate::registry::{
    About, BegunWalk, Drawing, DrawnWorlds, Limits, NodeInfo, Parts, PlayedRun, RegisteredProtocol,
    RunEnd, SmallWorld, fields,
};
use crate::{Keyframes, Oracle as _, Timeline, Violation};

/// With this many clients a keyframe is large, so fewer are kept.
const CROWD: u32 = 200;
/// Clients and pieces of a world that is small.
const FEW: (u32, u32) = (200, 2_000);

impl Drawing<Swarm> for SwarmTally {
    fn new(scenario: &Scenario) -> Self {
        Self::new(scenario)
    }

    fn observe(&mut self, _: &SwarmWorld, record: &Record<Event>) {
        Self::observe(self, record);
    }
}

/// What a run came to.
#[derive(Serialize)]
struct Shared {
    policy: SwarmPolicy,
    #[serde(flatten)]
    result: Result,
}

/// The name of a habit.
const fn role(habit: Habit) -> &'static str {
    match habit {
        Habit::Honest => "honest",
        Habit::FreeRider => "free_rider",
        Habit::Corrupt => "corrupt",
        Habit::Liar => "liar",
        Habit::Silent => "silent",
    }
}

fn unfinished(world: &SwarmWorld, result: &Result) -> Violation {
    Violation {
        seq: world.records(),
        at: world.now(),
        node: world.coordinator(),
        oracle: "swarm",
        key: "check.unfinished",
        args: vec![("whole", result.whole.to_string()), ("wanting", result.wanting.to_string())],
    }
}

/// The result as a sentence.
fn sentence(policy: SwarmPolicy, result: &Result) -> String {
    let seconds = |micros: u64| format!("{}.{:01}", micros / 1_000_000, micros / 100_000 % 10);
    let thousandths = |n: u64| format!("{}.{:03}", n / 1_000, n % 1_000);
    let bound = result.bound.as_micros();
    let how = match (result.at, result.deadlocked) {
        (Some(at), _) => format!(
            "all {} served after {} s, {} × the bound of {} s",
            result.wanting,
            seconds(at.as_micros()),
            thousandths(result.ratio),
            seconds(bound),
        ),
        (None, Some(since)) => format!(
            "DEADLOCK: nothing moves since {} s and {} of {} are not served; the bound is {} s",
            seconds(since.as_micros()),
            result.wanting - result.whole,
            result.wanting,
            seconds(bound),
        ),
        (None, None) => format!(
            "{} of {} served so far; the bound is {} s",
            result.whole,
            result.wanting,
            seconds(bound),
        ),
    };
    let policy = match policy {
        SwarmPolicy::Seed2004 => "seed2004",
        SwarmPolicy::Adaptive => "adaptive",
    };
    format!(
        "{policy}: {how}, source sent {} copies, {} control messages a piece,",
        thousandths(result.source_copies),
        thousandths(result.messages),
    )
}

impl RegisteredProtocol for Swarm {
    const NAME: &'static str = "swarm";
    const DRAWN: &'static [DrawnWorlds<Scenario>] =
        &[DrawnWorlds { name: "swarm", draw: random::draw }];
    type Oracles = SwarmOracles;
    type Drawing = SwarmTally;

    fn presets() -> Vec<Scenario> {
        presets::all()
    }

    fn about(scenario: &Scenario) -> About<'_> {
        About { id: &scenario.id, title: &scenario.title, text: &scenario.text }
    }

    fn parts(scenario: &mut Scenario) -> Parts<'_, SwarmAction> {
        let Scenario { seed, horizon, faults, .. } = scenario;
        Parts { seed, horizon, faults }
    }

    fn small_worlds() -> Vec<SmallWorld<Scenario>> {
        small::all()
    }

    fn is_small(scenario: &Scenario) -> bool {
        scenario.count() <= FEW.0 && scenario.pieces <= FEW.1
    }

    fn walk(scenario: &Scenario, limits: Limits) -> Option<BegunWalk> {
        Some(walk::<Self>(scenario, limits))
    }

    fn oracles(scenario: &Scenario, _: RunEnd) -> SwarmOracles {
        SwarmOracles::new(scenario)
    }

    /// Unless the end is open, every client that must get everything has to have
    /// it by then.
    fn play(scenario: &Scenario, how: RunEnd) -> PlayedRun {
        let (mut world, mut oracles) = (SwarmWorld::new(scenario), Self::oracles(scenario, how));
        let mut tally = SwarmTally::new(scenario);
        let end = Instant::ZERO + scenario.horizon;
        let see = |record: &Record<Event>| {
            oracles.observe(record);
            tally.observe(record);
        };
        world.watch(end, SwarmWorld::finished, see);
        if !world.finished() {
            world.run_until(end, &mut Vec::new());
        }
        let result = tally.result(&world);
        let unfinished =
            (how != RunEnd::Open && !result.finished).then(|| unfinished(&world, &result));
        let policy = scenario.swarm.policy;
        let sentence = sentence(policy, &result);
        let mut run = PlayedRun::new(&world, &oracles)
            .lasting(world.now().since(Instant::ZERO))
            .with(&Shared { policy, result }, sentence);
        run.violations.extend(unfinished);
        run
    }

    fn totals(world: &SwarmWorld, records: &[Record<Event>]) -> Map<String, Value> {
        let mut tally = SwarmTally::new(world.scenario());
        records.iter().for_each(|record| tally.observe(record));
        fields(&tally.result(world))
    }

    fn keyframes(scenario: &Scenario) -> Keyframes {
        if scenario.count() > CROWD {
            Keyframes { every: 16_384, most: 24 }
        } else {
            Keyframes { every: 1_024, most: 64 }
        }
    }

    fn names(world: &SwarmWorld) -> Vec<String> {
        let clients = (0..world.scenario().count()).map(name);
        clients.chain([String::from("coordinator")]).collect()
    }

    fn nodes(world: &SwarmWorld, names: &[String]) -> Vec<NodeInfo> {
        let info = |(id, name): (NodeId, &String)| {
            let (role, up) = match world.summary(id.0) {
                Some(glance) => (role(glance.habit), glance.up),
                None => ("coordinator", true),
            };
            NodeInfo::new(id, name, role, up)
        };
        (0..).map(NodeId).zip(names).map(info).collect()
    }

    fn other(
        world: &SwarmWorld,
        _: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record<Event>,
    ) -> Option<NodeId> {
        let source = || record.event.is_from_source().then(|| world.coordinator());
        record.event.clients().1.map(NodeId).or_else(source)
    }

    fn is_fault(event: &Event) -> bool {
        event.is_fault()
    }

    fn why(record: &Record<Event>) -> RecordReason {
        why::explain(record)
    }

    fn numbers(timeline: &Timeline<Self>, i: u64) -> Option<Value> {
        super::numbers::list_numbers(timeline, i)
    }

    fn look(world: &SwarmWorld, node: NodeId) -> serde_json::Result<Value> {
        if node == world.coordinator() {
            return serde_json::to_value(world.coordinator_view());
        }
        serde_json::to_value(world.client_view(node.0))
    }
}
