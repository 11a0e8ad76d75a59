//! The world: two nodes, and the messages between them.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::engine::{EchoEvent, EchoInput, EchoMessage, EchoNode};
use super::scenario::{Act, Scenario};
use crate::At;
use crate::error::ScenarioError;
use crate::links::datagram::{DatagramLoss, Direction, Rule};
use crate::world::{Life, Protocol};
use servent_core::engine::Effect;
use servent_core::rng::Rng;
use servent_core::time::Instant;
use servent_core::trace::RecordCause;

/// The size of a message in bytes.
const BYTES: u32 = 8;

/// What is recorded.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// Of a node.
    Echo(EchoEvent),
    /// Of the link.
    Link(LinkEvent),
}

/// What happened to a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "what", rename_all = "snake_case")]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum LinkEvent {
    /// It was lost.
    Lost { n: u32, answer: bool, why: DatagramLoss },
}

/// The link between the two, and the messages on it.
#[derive(Debug, Clone)]
pub struct Echo {
    scenario: Arc<Scenario>,
    /// By sender.
    pub(super) ways: [Direction; 2],
    pub(super) flying: BTreeMap<u64, Flight>,
    launched: u64,
}

/// A message under way.
#[derive(Debug, Clone, Copy)]
pub(super) struct Flight {
    pub(super) to: u32,
    pub(super) message: EchoMessage,
    pub(super) sent: Instant,
    /// The record of its sending.
    pub(super) cause: RecordCause,
}

/// A world of an echo.
pub type EchoWorld = crate::World<Echo>;

/// A planned event: the user asks, or a message arrives.
#[derive(Debug, Clone, Copy)]
pub enum EchoPlan {
    Ask,
    Arrive(u64),
}

impl Protocol for Echo {
    type Scenario = Scenario;
    type Fault = Act;
    type Event = Event;
    type Host = EchoNode;
    type Node = ();
    type Due = EchoPlan;

    fn new(scenario: &Scenario) -> (Self, Vec<()>) {
        let dice = Rng::new(scenario.seed);
        let ways = [0, 1].map(|from| Direction::new(dice.fork("way", from)));
        let scenario = Arc::new(scenario.clone());
        (Self { scenario, ways, flying: BTreeMap::new(), launched: 0 }, vec![(); 2])
    }

    fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    fn faults(scenario: &Scenario) -> &[At<Act>] {
        &scenario.faults
    }

    fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.check()
    }

    fn admits(_: &EchoWorld, fault: &Act) -> Result<(), ScenarioError> {
        Scenario::admits(fault)
    }

    fn begin(world: &mut EchoWorld) {
        world.plan(Instant::ZERO, EchoPlan::Ask);
    }

    fn engine(_: &EchoWorld, _: u32, _: u32) -> EchoNode {
        EchoNode::default()
    }

    fn started(_: &mut EchoWorld, _: u32, _: RecordCause) {}

    fn happen(world: &mut EchoWorld, due: EchoPlan) {
        match due {
            EchoPlan::Ask => ask(world),
            EchoPlan::Arrive(number) => arrive(world, number),
        }
    }

    fn strike(world: &mut EchoWorld, fault: u32) {
        let Act::Drop { from, n } = world.faults()[fault as usize].act;
        world.net.ways[from.0 as usize].rules.insert(n, Rule::Drop);
    }

    fn carry_out(world: &mut EchoWorld, node: u32, cause: RecordCause) {
        let mut latest = cause;
        let mut fx = core::mem::take(&mut world.fx);
        for effect in fx.drain() {
            match effect {
                Effect::Event(event) => latest = Some(world.note(node, cause, Event::Echo(event))),
                Effect::Output(message) => launch(world, node, message, latest),
            }
        }
        world.fx = fx;
    }

    // No fault of an echo changes a node's life.

    fn told(_: Life) -> Event {
        unreachable!("the nodes of an echo neither crash nor stall")
    }

    fn crashed(_: &mut EchoWorld, _: u32, _: RecordCause) {}

    fn stalled(_: &mut EchoWorld, _: u32, _: RecordCause) {}

    fn resumed(_: &mut EchoWorld, _: u32, _: Instant, _: RecordCause) {}
}

/// The nodes start, and the caller's user wants all answers.
pub(super) fn ask(world: &mut EchoWorld) {
    (0..2).for_each(|node| world.boot(node, None));
    let questions = world.scenario().questions;
    world.give(0, EchoInput::Ask(questions), None);
}

/// A message arrives.
pub(super) fn arrive(world: &mut EchoWorld, number: u64) {
    if let Some(Flight { to, message, cause, .. }) = world.net.flying.remove(&number) {
        world.give(to, EchoInput::Message(message), cause);
    }
}

/// Puts a message on the link, which may lose it or carry it twice.
fn launch(world: &mut EchoWorld, node: u32, message: EchoMessage, cause: RecordCause) {
    let (scenario, now) = (Arc::clone(&world.net.scenario), world.now());
    let fate = world.net.ways[node as usize].send(&scenario.link, now, BYTES);
    if let Some(why) = fate.loss {
        let EchoMessage { n, answer } = message;
        world.note(node, cause, Event::Link(LinkEvent::Lost { n, answer, why }));
        return;
    }
    for due in [Some(fate.due), fate.copy].into_iter().flatten() {
        let number = fly(world, Flight { to: 1 - node, message, sent: now, cause });
        world.plan(due, EchoPlan::Arrive(number));
    }
}

/// Adds a message that is under way; returns its number.
pub(super) fn fly(world: &mut EchoWorld, flight: Flight) -> u64 {
    let number = world.net.launched;
    world.net.launched += 1;
    world.net.flying.insert(number, flight);
    number
}
