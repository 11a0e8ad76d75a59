//! What the registry needs to know about meetings.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde_json::{Map, Value};
use servent_core::time::Instant;
use servent_core::trace::why::{self, RecordReason};
use servent_core::trace::{NodeId, Record, RecordCause};

use super::check::MeetOracles;
use super::diagram::MeetDiagram;
use super::event::{Event, PacketEvent, PersonEvent};
use super::scenario::{MeetAction, Scenario};
use super::totals::MeetTotals;
use super::world::{Meet, MeetWorld};
use super::{presets, random};
use crate::registry::{
    About, Drawing, DrawnWorlds, NodeInfo, Parts, PlayedRun, RegisteredProtocol, RunEnd, fields,
};
use crate::{Keyframes, Oracle as _};

impl Drawing<Meet> for MeetDiagram {
    fn new(scenario: &Scenario) -> Self {
        Self::new(scenario)
    }

    fn observe(&mut self, world: &MeetWorld, record: &Record<Event>) {
        Self::observe(self, world, record);
    }
}

/// The name of the meeting place: that of its host, which no language translates.
const PLACE: &str = "meet.example";

fn role(scenario: &Scenario, node: u32) -> &'static str {
    let people = scenario.people.len() as u32;
    if node == scenario.place() {
        "place"
    } else if node >= people {
        "router"
    } else if scenario.pairs.iter().any(|pair| pair.caller == node) {
        "caller"
    } else {
        "listener"
    }
}

impl RegisteredProtocol for Meet {
    const NAME: &'static str = "meet";
    const DRAWN: &'static [DrawnWorlds<Scenario>] =
        &[DrawnWorlds { name: "meet", draw: random::draw }];
    type Oracles = MeetOracles;
    type Drawing = MeetDiagram;

    fn presets() -> Vec<Scenario> {
        presets::all().collect()
    }

    fn about(scenario: &Scenario) -> About<'_> {
        About { id: &scenario.id, title: &scenario.title, text: &scenario.text }
    }

    fn parts(scenario: &mut Scenario) -> Parts<'_, MeetAction> {
        let Scenario { seed, horizon, faults, .. } = scenario;
        Parts { seed, horizon, faults }
    }

    fn oracles(scenario: &Scenario, _: RunEnd) -> MeetOracles {
        MeetOracles::new(scenario)
    }

    fn play(scenario: &Scenario, how: RunEnd) -> PlayedRun {
        let (mut world, mut oracles) = (MeetWorld::new(scenario), Self::oracles(scenario, how));
        let end = Instant::ZERO + scenario.horizon;
        let mut totals = MeetTotals::new(scenario);
        let see = |record: &Record<Event>| {
            oracles.observe(record);
            totals.count(record);
        };
        world.watch(end, |_| false, see);
        if how != RunEnd::Open {
            oracles.finish(end);
        }
        let sentence = totals.sentence();
        PlayedRun::new(&world, &oracles).with(&totals, sentence)
    }

    fn totals(world: &MeetWorld, records: &[Record<Event>]) -> Map<String, Value> {
        let mut totals = MeetTotals::new(world.scenario());
        records.iter().for_each(|record| totals.count(record));
        fields(&totals)
    }

    fn keyframes(_: &Scenario) -> Keyframes {
        Keyframes { every: 512, ..Keyframes::default() }
    }

    fn names(world: &MeetWorld) -> Vec<String> {
        let Scenario { people, routers, .. } = world.scenario();
        let people = people.iter().map(|person| person.name.clone());
        let routers = routers.iter().map(|router| router.name.clone());
        people.chain(routers).chain(core::iter::once(PLACE.to_string())).collect()
    }

    fn nodes(world: &MeetWorld, names: &[String]) -> Vec<NodeInfo> {
        let info = |(id, name): (NodeId, &String)| {
            NodeInfo::new(id, name, role(world.scenario(), id.0), world.is_up(id))
        };
        (0..).map(NodeId).zip(names).map(info).collect()
    }

    fn other(
        world: &MeetWorld,
        _: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record<Event>,
    ) -> Option<NodeId> {
        match &record.event {
            Event::Packet(PacketEvent::Sent { toward, .. }) => *toward,
            Event::Packet(
                PacketEvent::Arrived { sender, .. } | PacketEvent::Dropped { sender, .. },
            ) => Some(*sender),
            Event::Person(
                PersonEvent::Came { other }
                | PersonEvent::Connected { other, .. }
                | PersonEvent::Moved { other, .. }
                | PersonEvent::Alone { other, .. }
                | PersonEvent::Wrote { other, .. }
                | PersonEvent::Read { other, .. },
            ) => Some(*other),
            Event::Meet(event) => world.owner(record.node, event.peer()),
            _ => None,
        }
    }

    fn is_fault(event: &Event) -> bool {
        event.is_fault()
    }

    fn why(record: &Record<Event>) -> RecordReason {
        let (id, clause) = record.event.source().unzip();
        RecordReason { id, clause, ..why::named(&record.event, record.cause) }
    }

    fn look(world: &MeetWorld, node: NodeId) -> serde_json::Result<Value> {
        serde_json::to_value(world.look(node))
    }
}
