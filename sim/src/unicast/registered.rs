//! What the registry needs to know about worlds of datagrams.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::{Map, Value};
use servent_core::time::{Duration, Instant};
use servent_core::trace::why::RecordReason;
use servent_core::trace::{NodeId, Record, RecordCause};
use servent_core::unicast;

use super::check::UnicastOracles;
use super::{
    DatagramEvent, Diagram, Event, MessagingEvent, Scenario, Unicast, UnicastAction, UnicastTotals,
    UnicastWorld, presets, random, why,
};
use crate::explore::walk;
use crate::registry::{
    About, BegunWalk, Drawing, DrawnWorlds, Limits, NodeInfo, Parts, PlayedRun, RegisteredProtocol,
    RunEnd, SmallWorld, amount, fields,
};
use crate::{Keyframes, Oracle as _, Timeline};

impl Drawing<Unicast> for Diagram {
    fn new(_: &Scenario) -> Self {
        Self::default()
    }

    fn observe(&mut self, world: &UnicastWorld, record: &Record<Event>) {
        Self::observe(self, world, record);
    }
}

/// What a run came to.
#[derive(Default, Serialize)]
struct Messages {
    written: u64,
    read: u64,
    named: u64,
    lost: u64,
    resent: u64,
}

impl Messages {
    const fn count(&mut self, event: &Event) {
        match event {
            Event::App(MessagingEvent::Wrote { .. }) => self.written += 1,
            Event::App(MessagingEvent::Read { .. }) => self.read += 1,
            Event::Datagram(DatagramEvent::Lost { .. }) => self.lost += 1,
            Event::Unicast(unicast::Event::Undelivered { from, to, .. }) => {
                self.named += *to - *from + 1;
            }
            Event::Unicast(unicast::Event::Resent { from, to, .. }) => {
                self.resent += *to - *from + 1;
            }
            _ => {}
        }
    }

    fn sentence(&self) -> String {
        format!(
            "{} of {} read, {} named as undelivered, {} lost, {} sent again",
            self.read,
            amount(self.written, "message"),
            self.named,
            amount(self.lost, "datagram"),
            amount(self.resent, "message"),
        )
    }
}

/// A node's role in the script.
fn role(scenario: &Scenario, node: NodeId) -> &'static str {
    let (mut sends, mut receives) = (false, false);
    for step in scenario.script.iter().chain(&scenario.faults) {
        if let UnicastAction::Send(send) = &step.act {
            sends |= send.from == node;
            receives |= send.to == node;
        }
    }
    match (sends, receives) {
        (true, true) => "both",
        (true, false) => "sender",
        _ => "receiver",
    }
}

impl RegisteredProtocol for Unicast {
    const NAME: &'static str = "unicast";
    const DRAWN: &'static [DrawnWorlds<Scenario>] =
        &[DrawnWorlds { name: "unicast", draw: random::draw }];
    type Oracles = UnicastOracles;
    type Drawing = Diagram;

    fn presets() -> Vec<Scenario> {
        presets::all().collect()
    }

    fn about(scenario: &Scenario) -> About<'_> {
        About { id: &scenario.id, title: &scenario.title, text: &scenario.text }
    }

    fn parts(scenario: &mut Scenario) -> Parts<'_, UnicastAction> {
        let Scenario { seed, horizon, faults, .. } = scenario;
        Parts { seed, horizon, faults }
    }

    fn small_worlds() -> Vec<SmallWorld<Scenario>> {
        super::small::all()
    }

    fn walk(scenario: &Scenario, limits: Limits) -> Option<BegunWalk> {
        Some(walk::<Self>(scenario, limits))
    }

    /// A drawn world ends with a time in which nothing may be sent.
    fn oracles(scenario: &Scenario, end: RunEnd) -> UnicastOracles {
        let quiet = if end == RunEnd::Drawn { random::QUIET } else { Duration::ZERO };
        UnicastOracles::new(scenario).quiet_for(quiet)
    }

    fn play(scenario: &Scenario, how: RunEnd) -> PlayedRun {
        let (mut world, mut oracles) = (UnicastWorld::new(scenario), Self::oracles(scenario, how));
        let end = Instant::ZERO + scenario.horizon;
        let mut outcome = Messages::default();
        let see = |record: &Record<Event>| {
            oracles.observe(record);
            outcome.count(&record.event);
        };
        world.watch(end, |_| false, see);
        if how != RunEnd::Open {
            oracles.finish(end);
        }
        let sentence = outcome.sentence();
        PlayedRun::new(&world, &oracles).with(&outcome, sentence)
    }

    fn totals(world: &UnicastWorld, records: &[Record<Event>]) -> Map<String, Value> {
        let mut diagram = Diagram::default();
        records.iter().for_each(|record| diagram.observe(world, record));
        let mut totals = fields(&UnicastTotals::until(&diagram, world.now()));
        let shared = world.scenario().shared;
        for (id, name) in (0..).map(NodeId).zip(Self::names(world)) {
            if let Some(queued) = diagram.queued(id, shared, world.now()) {
                totals.insert(format!("queued.{name}"), (queued.as_micros() / 1_000).into());
            }
        }
        totals
    }

    fn keyframes(_: &Scenario) -> Keyframes {
        Keyframes { every: 512, ..Keyframes::default() }
    }

    fn names(world: &UnicastWorld) -> Vec<String> {
        world.scenario().nodes.iter().map(|party| party.name.clone()).collect()
    }

    fn nodes(world: &UnicastWorld, names: &[String]) -> Vec<NodeInfo> {
        let scenario = world.scenario();
        let info = |(id, name): (NodeId, &String)| {
            let info = NodeInfo::new(id, name, role(scenario, id), world.node(id).is_some());
            NodeInfo { profile: Some(scenario.profile), ..info }
        };
        (0..).map(NodeId).zip(names).map(info).collect()
    }

    fn other(
        world: &UnicastWorld,
        _: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record<Event>,
    ) -> Option<NodeId> {
        world.other(&record.event)
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

    fn look(world: &UnicastWorld, node: NodeId) -> serde_json::Result<Value> {
        serde_json::to_value(world.margins(node))
    }
}
