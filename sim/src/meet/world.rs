//! The world: people, routers and a meeting place, and the datagrams between them.

use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use servent_core::engine::Effect;
use servent_core::meet::{MeetFailure, MeetKey, MeetSide, MeetingId, Visit};
use servent_core::node::{
    Input, MeetAnswer, MeetCommand, MessageCommand, MessageInput, MessageOutput, NodeAnswer,
    NodeCommand, Output, RestoredNode, UnicastMessage,
};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, RecordCause};
use servent_core::unicast::{DeliveryOrder, UnicastPayload};

use super::event::{Event, MeetIncident, PersonEvent};
use super::host::{AtPort, MeetHost, MeetOutcome, MeetSite};
use super::network::FlyingDatagrams;
use super::router::NatRouter;
use super::scenario::{MeetAction, PairSetup, Scenario};
use crate::At;
use crate::error::{ScenarioError, ScenarioMistake};
use crate::world::{Life, Protocol};

/// The first port of those that knock from many.
pub(super) const SPREAD: u16 = 50_000;
const KEY: MeetKey = MeetKey(0x6b6e_6f63, 0x6b65_7973);
const MEETING: [u8; 16] = *b"two of the words";

/// What connects the nodes.
#[derive(Debug, Clone)]
pub struct Meet {
    pub(super) scenario: Arc<Scenario>,
    pub(super) dice: Rng,
    pub(super) launched: u32,
}

/// A world of meetings.
pub type MeetWorld = crate::World<Meet>;

/// A planned event.
#[derive(Debug, Clone)]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum MeetPlan {
    /// Everything but the people starts.
    Open,
    /// A person comes.
    Come { person: u32 },
    /// A person sends a message.
    Write { person: u32, n: u64 },
    /// Datagrams arrive at a person or the place.
    Arrive(FlyingDatagrams),
    /// They come to a router's outer address.
    Enter(FlyingDatagrams),
}

impl Protocol for Meet {
    type Scenario = Scenario;
    type Fault = MeetAction;
    type Event = Event;
    type Host = MeetHost;
    type Node = MeetSite;
    type Due = MeetPlan;

    fn new(scenario: &Scenario) -> (Self, Vec<MeetSite>) {
        let dice = Rng::new(scenario.seed).fork("loss", 0);
        let nodes = vec![MeetSite::default(); scenario.place() as usize + 1];
        (Self { scenario: Arc::new(scenario.clone()), dice, launched: 0 }, nodes)
    }

    fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    fn faults(scenario: &Scenario) -> &[At<MeetAction>] {
        &scenario.faults
    }

    fn check(scenario: &Scenario) -> Result<(), ScenarioError> {
        scenario.check()
    }

    fn admits(world: &MeetWorld, fault: &MeetAction) -> Result<(), ScenarioError> {
        world.scenario().admits(fault)
    }

    fn is_possible(world: &MeetWorld, fault: &MeetAction) -> Result<(), ScenarioError> {
        match fault {
            MeetAction::Crash { node } if !world.is_up(*node) => {
                Err(ScenarioMistake::DownAlready { node: node.0 }.into())
            }
            _ => Ok(()),
        }
    }

    fn begin(world: &mut MeetWorld) {
        world.plan(Instant::ZERO, MeetPlan::Open);
        for pair in world.scenario().pairs.clone() {
            let mut coming = [(pair.caller_at, pair.caller), (pair.listener_at, pair.listener)];
            coming.sort_by_key(|(at, _)| *at);
            for (at, person) in coming {
                world.plan(at, MeetPlan::Come { person });
            }
        }
    }

    fn engine(world: &MeetWorld, node: u32, start: u32) -> MeetHost {
        let scenario = world.scenario();
        let people = scenario.people.len() as u32;
        let seed = scenario.seed ^ u64::from(node) ^ u64::from(start - 1) << 32;
        if node < people {
            MeetHost::person(scenario, seed)
        } else if node == scenario.place() {
            MeetHost::place(scenario, seed)
        } else {
            let router = node - people;
            let kind = scenario.routers[router as usize].kind();
            MeetHost::Router(NatRouter::new(kind, Scenario::outside(router)))
        }
    }

    fn started(world: &mut MeetWorld, node: u32, cause: RecordCause) {
        let ports = match &world.slot(node).engine {
            Some(MeetHost::Person(_)) => 1,
            Some(MeetHost::Place(_)) => 2,
            _ => 0,
        };
        for port in 0..ports {
            let what = Input::Start(RestoredNode::default());
            world.give(node, AtPort { port, what }, cause);
        }
        if world.own(node).came {
            visit(world, node, cause);
        }
    }

    fn happen(world: &mut MeetWorld, due: MeetPlan) {
        match due {
            MeetPlan::Open => (0..world.count()).for_each(|node| world.boot(node, None)),
            MeetPlan::Come { person } => come(world, person),
            MeetPlan::Write { person, n } => write(world, person, n..=n, None),
            MeetPlan::Arrive(datagrams) => datagrams.arrive(world),
            MeetPlan::Enter(datagrams) => datagrams.enter(world),
        }
    }

    fn strike(world: &mut MeetWorld, fault: u32) {
        match world.faults()[fault as usize].act {
            MeetAction::Drop { node, n } => {
                world.own_mut(node.0).doomed.insert(n);
            }
            MeetAction::Crash { node } => {
                world.crash(node.0);
            }
            MeetAction::Restart { node } => world.restart(node.0),
        }
    }

    fn carry_out(world: &mut MeetWorld, node: u32, cause: RecordCause) {
        let mut latest = cause;
        let mut fx = core::mem::take(&mut world.fx);
        for effect in fx.drain() {
            match effect {
                Effect::Event(event) => latest = Some(world.note(node, cause, event)),
                Effect::Output(output) => carry(world, node, output, latest),
            }
        }
        world.fx = fx;
    }

    fn told(life: Life) -> Event {
        Event::World(match life {
            Life::Crashed => MeetIncident::Crashed,
            Life::Restarted => MeetIncident::Restarted,
            Life::Stalled => MeetIncident::Stalled,
            Life::Resumed => MeetIncident::Resumed,
        })
    }

    fn crashed(world: &mut MeetWorld, node: u32, _: RecordCause) {
        let site = world.own_mut(node);
        let (sent, came, doomed) = (site.sent, site.came, core::mem::take(&mut site.doomed));
        *site = MeetSite { sent, came, doomed, ..MeetSite::default() };
    }

    fn stalled(_: &mut MeetWorld, _: u32, _: RecordCause) {}

    fn resumed(_: &mut MeetWorld, _: u32, _: Instant, _: RecordCause) {}
}

/// A person wants to meet the other one.
fn come(world: &mut MeetWorld, person: u32) {
    world.own_mut(person).came = true;
    if world.slot(person).engine.is_some() {
        visit(world, person, None);
    }
}

fn visit(world: &mut MeetWorld, person: u32, cause: RecordCause) {
    let scenario = Arc::clone(&world.net.scenario);
    let Some((number, pair)) = scenario.pair_of(person) else { return };
    let side = if person == pair.caller { MeetSide::Caller } else { MeetSide::Listener };
    let mut meeting = MEETING;
    meeting[0] ^= number as u8;
    let visit = Visit {
        places: vec![Scenario::place_at(0)],
        probes: if scenario.second_port { vec![Scenario::place_at(1)] } else { Vec::new() },
        meeting: MeetingId(meeting),
        key: MeetKey(KEY.0 ^ number as u64, KEY.1),
        side,
        local: vec![scenario.local(person)],
        once: false,
    };
    let came = tell(world, person, cause, |other| PersonEvent::Came { other });
    command(world, person, NodeCommand::Meet(MeetCommand::Visit(visit)), came.or(cause));
}

/// Records what a person does, or is told.
fn tell(
    world: &mut MeetWorld,
    person: u32,
    cause: RecordCause,
    event: impl FnOnce(NodeId) -> PersonEvent,
) -> RecordCause {
    let (_, pair) = world.net.scenario.pair_of(person)?;
    let other = NodeId(pair.other(person)?);
    Some(world.note(person, cause, Event::Person(event(other))))
}

fn command(world: &mut MeetWorld, person: u32, command: NodeCommand, cause: RecordCause) {
    world.give(person, AtPort { port: 0, what: Input::Command(command) }, cause);
}

/// Carries out what a servent wants.
fn carry(world: &mut MeetWorld, node: u32, output: AtPort<Output>, cause: RecordCause) {
    let AtPort { port, what } = output;
    match what {
        Output::Messages(MessageOutput::Datagrams { to, segment, data }) => {
            let from = local(world, node, port, to);
            FlyingDatagrams::leave(world, node, (from, to), (segment, data), cause);
        }
        Output::Messages(MessageOutput::Deliver { from, messages, .. }) => {
            read(world, node, from, &messages, cause);
        }
        Output::Answer(NodeAnswer::Meet(answer)) => answered(world, node, &answer, cause),
        _ => {}
    }
}

/// The address that a servent sends from.
fn local(world: &MeetWorld, node: u32, port: usize, to: SocketAddr) -> SocketAddr {
    if node == world.scenario().place() {
        return Scenario::place_at(port);
    }
    let heard = world.own(node).hears.get(&to).map(|it| it.at);
    heard.unwrap_or_else(|| world.scenario().local(node))
}

/// A servent tells its person how the meeting goes.
fn answered(world: &mut MeetWorld, node: u32, answer: &MeetAnswer, cause: RecordCause) {
    if node == world.scenario().place() {
        return;
    }
    let site = world.own_mut(node);
    match answer {
        MeetAnswer::Located { seen, mapping, .. } => {
            (site.located, site.outcome) = (Some((*seen, *mapping)), MeetOutcome::Waiting);
        }
        MeetAnswer::Waiting { .. } => site.outcome = MeetOutcome::Waiting,
        MeetAnswer::Met { peer, relayed, .. } => {
            site.outcome = if *relayed { MeetOutcome::Relayed } else { MeetOutcome::Direct };
            (site.peer, site.path) = (Some(*peer), Some(*peer));
            let (peer, relayed) = (*peer, *relayed);
            let connected = |other| PersonEvent::Connected { other, peer, relayed };
            let cause = tell(world, node, cause, connected);
            speak(world, node, cause);
        }
        MeetAnswer::Moved { to, .. } => {
            (site.outcome, site.path) = (MeetOutcome::Direct, Some(*to));
            tell(world, node, cause, |other| PersonEvent::Moved { other, to: *to });
        }
        MeetAnswer::Spread { to, sockets, knock } => {
            let IpAddr::V4(ip) = world.scenario().local(node).ip() else { return };
            for port in SPREAD..SPREAD + *sockets as u16 {
                let (ways, data) = ((SocketAddr::from((ip, port)), *to), knock.clone());
                FlyingDatagrams::leave(world, node, ways, (data.len() as u32, data), cause);
            }
        }
        MeetAnswer::Failed { why, relayed: false } => {
            let silent = matches!(why, MeetFailure::Silent);
            site.outcome = if silent { MeetOutcome::Silent } else { MeetOutcome::Unreachable };
            tell(world, node, cause, |other| PersonEvent::Alone { other, failure: *why });
        }
        MeetAnswer::Failed { relayed: true, .. }
        | MeetAnswer::Left { .. }
        | MeetAnswer::Introduced { .. }
        | MeetAnswer::Elsewhere { .. } => {}
    }
}

/// A caller that has a path sends its messages.
fn speak(world: &mut MeetWorld, person: u32, cause: RecordCause) {
    let scenario = Arc::clone(&world.net.scenario);
    let Some((_, pair)) = scenario.pair_of(person) else { return };
    let PairSetup { caller, messages, every, .. } = *pair;
    if caller != person || messages == 0 {
        return;
    }
    if every == Duration::ZERO {
        return write(world, person, 1..=messages, cause);
    }
    for n in 1..=messages {
        let at = world.now() + every.ratio(n - 1, 1);
        world.plan(at, MeetPlan::Write { person, n });
    }
}

fn write(
    world: &mut MeetWorld,
    person: u32,
    numbers: core::ops::RangeInclusive<u64>,
    cause: RecordCause,
) {
    let Some(to) = world.own(person).peer else { return };
    let mut latest = cause;
    let mut messages = Vec::new();
    for n in numbers {
        world.own_mut(person).wrote = n;
        latest = tell(world, person, cause, |other| PersonEvent::Wrote { other, n });
        let data = UnicastPayload::copy_from_slice(&n.to_be_bytes());
        messages.push(UnicastMessage { order: DeliveryOrder::InOrder, data });
    }
    let send = MessageCommand::Send { to, messages };
    command(world, person, NodeCommand::Messages(send), latest);
}

/// Messages have arrived: the person reads them at once.
fn read(
    world: &mut MeetWorld,
    person: u32,
    from: SocketAddr,
    messages: &[UnicastMessage],
    cause: RecordCause,
) {
    for message in messages {
        let Ok(number) = message.data[..].try_into().map(u64::from_be_bytes) else { continue };
        world.own_mut(person).read = number;
        tell(world, person, cause, |other| PersonEvent::Read { other, n: number });
    }
    let bytes = messages.iter().map(|message| message.data.len() as u64).sum();
    let messages = messages.len() as u64;
    let taken = MessageCommand::Taken { from, messages, bytes };
    command(world, person, NodeCommand::Messages(taken), cause);
}

impl MeetWorld {
    /// How a meeting stands for a person.
    ///
    /// # Panics
    /// When there is no such node.
    #[must_use]
    pub fn site(&self, node: NodeId) -> &MeetSite {
        &self.known(node).own
    }
}

/// An input with datagrams.
pub(super) fn datagrams(from: SocketAddr, (segment, data): (u32, UnicastPayload)) -> Input {
    Input::Messages(MessageInput::Datagrams { from, segment, data })
}
