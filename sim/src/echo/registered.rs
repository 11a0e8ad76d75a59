//! What the registry needs to know about an echo.

use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::{Map, Value, json};
use servent_core::choose::Choose;
use servent_core::time::Instant;
use servent_core::trace::why::{self, RecordReason};
use servent_core::trace::{NodeId, Record, RecordCause};

use super::engine::EchoEvent;
use super::oracles::Oracles;
use super::scenario::{Act, Scenario};
use super::world::{Echo, EchoWorld, Event};
use crate::explore::walk;
use crate::links::datagram::DatagramLink;
use crate::registry::{
    About, BegunWalk, DrawnWorlds, Limits, NodeInfo, Parts, PlayedRun, RegisteredProtocol, RunEnd,
    amount, fields,
};
use crate::{At, Oracle as _};

/// What the nodes are called, and what they do.
const NODES: [(&str, &str); 2] = [("caller", "asks"), ("wall", "echoes")];

/// What a run came to.
#[derive(Default, Serialize)]
struct Questions {
    answered: u32,
    again: u32,
}

impl Questions {
    const fn count(&mut self, event: &Event) {
        match event {
            Event::Echo(EchoEvent::Answered { .. }) => self.answered += 1,
            Event::Echo(EchoEvent::Asked { again: true, .. }) => self.again += 1,
            _ => {}
        }
    }
}

fn preset(id: &str, title: &str, text: &str) -> Scenario {
    Scenario { id: id.into(), title: title.into(), text: text.into(), ..Scenario::default() }
}

fn draw(choose: &mut Choose, seed: u64) -> Scenario {
    let loss = (choose.below(5), 10);
    let link = DatagramLink { loss, until: Instant::from_secs(5), ..DatagramLink::default() };
    let questions = 1 + choose.below(20) as u32;
    let id = format!("random-echo-{seed}");
    Scenario { id, seed, questions, link, ..Scenario::default() }
}

impl RegisteredProtocol for Echo {
    const NAME: &'static str = "echo";
    const EXAMPLE: bool = true;
    const DRAWN: &'static [DrawnWorlds<Scenario>] = &[DrawnWorlds { name: "echo", draw }];
    type Oracles = Oracles;
    type Drawing = ();

    fn presets() -> Vec<Scenario> {
        let lost = At { at: Instant::ZERO, act: Act::Drop { from: NodeId(1), n: 2 } };
        let text = "Three questions, and every answer comes. Nothing is asked twice.";
        let echo = preset("echo", "An echo", text);
        let text = "The second answer is lost. The caller asks again, and hears it.";
        let again = preset("echo-again", "Ask again", text);
        vec![echo, Scenario { faults: vec![lost], ..again }]
    }

    fn about(scenario: &Scenario) -> About<'_> {
        About { id: &scenario.id, title: &scenario.title, text: &scenario.text }
    }

    fn parts(scenario: &mut Scenario) -> Parts<'_, Act> {
        let Scenario { seed, horizon, faults, .. } = scenario;
        Parts { seed, horizon, faults }
    }

    fn walk(scenario: &Scenario, limits: Limits) -> Option<BegunWalk> {
        Some(walk::<Self>(scenario, limits))
    }

    fn oracles(scenario: &Scenario, _: RunEnd) -> Oracles {
        Oracles::new(scenario)
    }

    fn play(scenario: &Scenario, how: RunEnd) -> PlayedRun {
        let (mut world, mut oracles) = (EchoWorld::new(scenario), Self::oracles(scenario, how));
        let (end, mut outcome) = (Instant::ZERO + scenario.horizon, Questions::default());
        let see = |record: &Record<Event>| {
            oracles.observe(record);
            outcome.count(&record.event);
        };
        world.watch(end, |_| false, see);
        if how != RunEnd::Open {
            oracles.finish(end);
        }
        let Questions { answered, again } = outcome;
        let asked = amount(u64::from(scenario.questions), "question");
        let sentence = format!("{answered} of {asked} answered, {again} asked again");
        PlayedRun::new(&world, &oracles).with(&outcome, sentence)
    }

    fn totals(_: &EchoWorld, records: &[Record<Event>]) -> Map<String, Value> {
        let mut outcome = Questions::default();
        records.iter().for_each(|record| outcome.count(&record.event));
        fields(&outcome)
    }

    fn names(_: &EchoWorld) -> Vec<String> {
        NODES.iter().map(|(name, _)| String::from(*name)).collect()
    }

    fn nodes(world: &EchoWorld, names: &[String]) -> Vec<NodeInfo> {
        let info = |(id, name): (NodeId, &String)| {
            NodeInfo::new(id, name, NODES[id.0 as usize].1, world.is_up(id))
        };
        (0..).map(NodeId).zip(names).map(info).collect()
    }

    fn other(
        _: &EchoWorld,
        _: &dyn Fn(u64) -> Option<(NodeId, RecordCause)>,
        record: &Record<Event>,
    ) -> Option<NodeId> {
        Some(NodeId(1 - record.node.0))
    }

    fn is_fault(event: &Event) -> bool {
        matches!(event, Event::Link(_))
    }

    fn why(record: &Record<Event>) -> RecordReason {
        why::named(&record.event, record.cause)
    }

    fn look(world: &EchoWorld, node: NodeId) -> serde_json::Result<Value> {
        Ok(world.node(node).map_or(Value::Null, |node| json!({ "open": node.open() })))
    }
}
