//! A place, two people and their routers, as one world.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::meet::{self, MeetFailure, MeetKey, MeetSide, MeetingId, Visit};
use servent_core::node::{
    Config, Event, Input, MeetAnswer, MeetCommand, MessageCommand, MessageInput, MessageOutput,
    Node, NodeAnswer, NodeCommand, Output, RestoredNode, UnicastMessage,
};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{self, DeliveryOrder, UnicastPayload};
use servent_core::wire::meet::is_of_chosen_path;

use super::router::{Filtering, Mapping, NatRouter, RouterKind};
use crate::calendar::Calendar;

/// What a world is like. The first of each pair is the caller's.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Scenario {
    /// Draws what is lost and what the nodes draw.
    pub seed: u64,
    /// What stands before each.
    pub routers: [RouterKind; 2],
    /// Both are in the network of one router.
    pub together: bool,
    /// The place relays.
    pub relay: bool,
    /// How long a datagram takes from each to the place; between both the sum.
    pub delays: [Duration; 2],
    /// Datagrams of a thousand that are lost.
    pub loss: u32,
    /// How much later the second comes.
    pub apart: Duration,
    /// The caller comes first.
    pub caller_first: bool,
    /// The place has a second port.
    pub probes: bool,
    /// Messages that the caller sends.
    pub messages: u64,
}

/// How a meeting ended for one side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeetOutcome {
    /// The place has not answered.
    Silent,
    /// The other side did not come.
    Waiting,
    /// A direct path.
    Direct,
    /// Through the place.
    Relayed,
    /// No path.
    Unreachable,
}

/// Where a datagram ended, for the picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RouterArrowEnd {
    /// It arrived.
    Arrived,
    /// It was lost by chance.
    Lost,
    /// A router dropped it.
    Filtered,
}

/// One datagram: who sent it where, as which address, and how it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RouterArrow {
    /// When it was sent.
    pub at: Instant,
    /// The host: 0 the caller, 1 the listener, 2 and 3 the place.
    pub host: usize,
    /// The address it seemed to come from.
    pub seen: SocketAddr,
    /// Where it was sent.
    pub to: SocketAddr,
    /// How it ended.
    pub end: RouterArrowEnd,
}

/// The two people, and the two ports of the place.
const CALLER: usize = 0;
const LISTENER: usize = 1;
const PLACE: usize = 2;
const HOSTS: usize = 4;
/// The port of everything.
const PORT: u16 = 6_348;
/// The first port of those that knock from many.
const SPREAD: u16 = 50_000;
const KEY: MeetKey = MeetKey(0x6b6e_6f63, 0x6b65_7973);
const MEETING: MeetingId = MeetingId(*b"two of the words");
/// When a world ends at the latest.
const END: Duration = Duration::from_secs(60);

#[derive(Debug, Clone)]
enum MeetDue {
    Datagrams {
        to: usize,
        from: SocketAddr,
        segment: u32,
        data: UnicastPayload,
    },
    /// It comes to a router's outer address.
    Outside {
        at: usize,
        from: SocketAddr,
        to: SocketAddr,
        segment: u32,
        data: UnicastPayload,
    },
    Begin {
        host: usize,
    },
}

/// One of many sockets that has heard a peer.
#[derive(Debug, Clone, Copy)]
struct HearingSocket {
    at: SocketAddr,
    /// A path was chosen on it.
    chosen: bool,
}

#[derive(Debug, Clone)]
struct MeetHost {
    node: Node,
    local: SocketAddr,
    outcome: MeetOutcome,
    /// Which of its many sockets has heard a peer last.
    hears: BTreeMap<SocketAddr, HearingSocket>,
}

/// A world.
#[derive(Debug, Clone)]
pub struct MeetWorld {
    scenario: Scenario,
    now: Instant,
    begun: Instant,
    hosts: Vec<MeetHost>,
    /// The routers of the two; one is enough for both when they are together.
    routers: [NatRouter; 2],
    calendar: Calendar<MeetDue>,
    dice: Rng,
    arrived: Vec<u64>,
    /// When the first of them was there.
    first: Option<Instant>,
    strangers: u32,
    met_at: BTreeMap<usize, Instant>,
    arrows: Option<Vec<RouterArrow>>,
}

fn place(host: usize) -> SocketAddr {
    (Ipv4Addr::new(192, 0, 2, 1), PORT + (host - PLACE) as u16).into()
}

impl MeetWorld {
    /// A world that has not begun.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let outside = |n: u8| IpAddr::from(Ipv4Addr::new(198, 51, 100, n));
        let at = |host: usize| match host {
            CALLER | LISTENER if scenario.routers[host].mapping == Mapping::None => {
                SocketAddr::new(outside(host as u8 + 1), PORT)
            }
            CALLER | LISTENER if scenario.together => {
                (Ipv4Addr::new(10, 0, 0, host as u8 + 1), PORT).into()
            }
            CALLER | LISTENER => (Ipv4Addr::new(10, host as u8, 0, 1), PORT).into(),
            host => place(host),
        };
        let hosts = (0..HOSTS).map(|host| {
            let node = Node::new(config(host, scenario), scenario.seed ^ host as u64);
            MeetHost { node, local: at(host), outcome: MeetOutcome::Silent, hears: BTreeMap::new() }
        });
        let router = |host: usize| NatRouter::new(scenario.routers[host], outside(host as u8 + 1));
        let begun = Instant::from_secs(1_000);
        let mut world = Self {
            scenario: scenario.clone(),
            now: begun,
            begun,
            hosts: hosts.collect(),
            routers: [router(CALLER), router(LISTENER)],
            calendar: Calendar::default(),
            dice: Rng::new(scenario.seed).fork("loss", 0),
            arrived: Vec::new(),
            first: None,
            strangers: 0,
            met_at: BTreeMap::new(),
            arrows: None,
        };
        (0..HOSTS).for_each(|host| world.input(host, Input::Start(RestoredNode::default())));
        let first = if scenario.caller_first { CALLER } else { LISTENER };
        world.calendar.plan(begun, MeetDue::Begin { host: first });
        world.begun = begun + scenario.apart;
        world.calendar.plan(world.begun, MeetDue::Begin { host: 1 - first });
        world
    }

    /// Remembers every datagram, for the picture.
    #[must_use]
    pub fn drawn(mut self) -> Self {
        self.arrows = Some(Vec::new());
        self
    }

    /// Runs until both have ended and all messages have arrived, or for a minute.
    pub fn run(&mut self) {
        let end = self.begun + END;
        while let Some(at) = self.next().filter(|at| *at <= end) {
            self.now = at;
            self.step(at);
            let over = self.hosts[..PLACE].iter().all(|host| host.outcome.is_final());
            if over && self.is_settled() {
                return;
            }
        }
    }

    /// Its scenario.
    #[must_use]
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// How the meeting ended for the caller and the listener.
    #[must_use]
    pub fn outcomes(&self) -> [MeetOutcome; 2] {
        [self.hosts[CALLER].outcome, self.hosts[LISTENER].outcome]
    }

    /// The messages that arrived.
    #[must_use]
    pub fn arrived(&self) -> &[u64] {
        &self.arrived
    }

    /// How long after both were there the first message arrived.
    #[must_use]
    pub fn first_byte(&self) -> Option<Duration> {
        Some(self.first?.since(self.begun))
    }

    /// Datagrams sent to addresses of neither side nor the place.
    #[must_use]
    pub const fn strangers(&self) -> u32 {
        self.strangers
    }

    /// How long both took to find the path they have in the end, from when both
    /// were there; in milliseconds.
    #[must_use]
    pub fn took(&self) -> Option<u64> {
        let last = self.met_at.values().max()?;
        Some(last.since(self.begun).as_millis())
    }

    /// Every datagram, if they were to be remembered.
    #[must_use]
    pub fn arrows(&self) -> &[RouterArrow] {
        self.arrows.as_deref().unwrap_or_default()
    }

    fn is_settled(&self) -> bool {
        let connected =
            matches!(self.hosts[CALLER].outcome, MeetOutcome::Direct | MeetOutcome::Relayed);
        // A relayed meeting may still become a direct one.
        let knocking = connected && self.scenario.relay && {
            let relayed = |host: &MeetHost| host.outcome == MeetOutcome::Relayed;
            self.hosts[..PLACE].iter().any(relayed)
                && self.now.since(self.begun) < Duration::from_secs(8)
        };
        !knocking && (!connected || self.arrived.len() as u64 >= self.scenario.messages)
    }

    fn next(&self) -> Option<Instant> {
        let timers = self.hosts.iter().filter_map(|host| host.node.poll_timeout());
        timers.map(|(at, _)| at).chain(self.calendar.next()).min()
    }

    fn step(&mut self, at: Instant) {
        while self.calendar.next().is_some_and(|due| due <= at) {
            let Some((_, due)) = self.calendar.pop() else { return };
            match due {
                MeetDue::Begin { host } => self.visit(host),
                MeetDue::Datagrams { to, from, segment, data } => {
                    self.input(
                        to,
                        Input::Messages(MessageInput::Datagrams { from, segment, data }),
                    );
                }
                MeetDue::Outside { at, from, to, segment, data } => {
                    self.enter(at, from, to, (segment, data));
                }
            }
        }
        for host in 0..HOSTS {
            let mut fx = Fx::new();
            while self.hosts[host].node.poll_timeout().is_some_and(|(due, _)| due <= at) {
                self.hosts[host].node.handle_timeout(at, &mut fx);
                self.carry_out(host, &mut fx);
            }
        }
    }

    fn visit(&mut self, host: usize) {
        let side = if host == CALLER { MeetSide::Caller } else { MeetSide::Listener };
        let probes = if self.scenario.probes { alloc::vec![place(PLACE + 1)] } else { Vec::new() };
        let visit = Visit {
            places: alloc::vec![place(PLACE)],
            probes,
            meeting: MEETING,
            key: KEY,
            side,
            local: alloc::vec![self.hosts[host].local],
        };
        self.command(host, NodeCommand::Meet(MeetCommand::Visit(visit)));
    }

    fn command(&mut self, host: usize, command: NodeCommand) {
        self.input(host, Input::Command(command));
    }

    fn input(&mut self, host: usize, input: Input) {
        let mut fx = Fx::new();
        self.hosts[host].node.handle(self.now, input, &mut fx);
        self.carry_out(host, &mut fx);
    }

    fn carry_out(&mut self, host: usize, fx: &mut Fx<Output, Event>) {
        let effects: Vec<_> = fx.drain().collect();
        for effect in effects {
            match effect {
                Effect::Output(Output::Messages(MessageOutput::Datagrams {
                    to,
                    segment,
                    data,
                })) => self.send(host, to, (segment, data)),
                Effect::Output(Output::Messages(MessageOutput::Deliver {
                    from, messages, ..
                })) => self.deliver(host, from, &messages),
                Effect::Output(Output::Answer(NodeAnswer::Meet(answer))) => {
                    self.answered(host, &answer);
                }
                _ => {}
            }
        }
    }

    fn answered(&mut self, host: usize, answer: &MeetAnswer) {
        let before = self.hosts[host].outcome;
        let outcome = match answer {
            MeetAnswer::Located { .. } | MeetAnswer::Waiting { .. } => MeetOutcome::Waiting,
            MeetAnswer::Met { relayed: true, .. } => MeetOutcome::Relayed,
            MeetAnswer::Met { .. } | MeetAnswer::Moved { .. } => MeetOutcome::Direct,
            MeetAnswer::Failed { relayed: true, .. } | MeetAnswer::Elsewhere { .. } => return,
            MeetAnswer::Spread { to, sockets, knock } => {
                let ip = self.hosts[host].local.ip();
                for port in SPREAD..SPREAD + *sockets as u16 {
                    let from = SocketAddr::new(ip, port);
                    self.leave(host, (from, *to), (knock.len() as u32, knock.clone()));
                }
                return;
            }
            MeetAnswer::Failed { why: MeetFailure::Silent, .. } => MeetOutcome::Silent,
            MeetAnswer::Failed { .. } => MeetOutcome::Unreachable,
        };
        self.hosts[host].outcome = outcome;
        if outcome.is_final() && outcome != before {
            self.met_at.insert(host, self.now);
        }
        if let MeetAnswer::Met { peer, .. } = answer
            && host == CALLER
        {
            let message = |n: u64| UnicastMessage {
                order: DeliveryOrder::InOrder,
                data: UnicastPayload::copy_from_slice(&n.to_be_bytes()),
            };
            let messages = (1..=self.scenario.messages).map(message).collect();
            let send = MessageCommand::Send { to: *peer, messages };
            self.command(host, NodeCommand::Messages(send));
        }
    }

    fn deliver(&mut self, host: usize, from: SocketAddr, messages: &[UnicastMessage]) {
        self.first.get_or_insert(self.now);
        for message in messages {
            let number = message.data[..].try_into().map(u64::from_be_bytes);
            self.arrived.extend(number);
        }
        let bytes = messages.iter().map(|message| message.data.len() as u64).sum();
        let messages = messages.len() as u64;
        let taken = MessageCommand::Taken { from, messages, bytes };
        self.command(host, NodeCommand::Messages(taken));
    }

    /// A datagram leaves a host.
    fn send(&mut self, host: usize, to: SocketAddr, (segment, data): (u32, UnicastPayload)) {
        let MeetHost { local, hears, .. } = &self.hosts[host];
        let from = hears.get(&to).map_or(*local, |it| it.at);
        self.leave(host, (from, to), (segment, data));
    }

    /// The same from one of its sockets.
    fn leave(
        &mut self,
        host: usize,
        (from, to): (SocketAddr, SocketAddr),
        (segment, data): (u32, UnicastPayload),
    ) {
        if host < PLACE && !self.is_known(host, to) {
            self.strangers += 1;
        }
        // In one network no router sees it.
        let neighbour = (0..PLACE).find(|other| self.hosts[*other].local == to);
        if self.scenario.together
            && host < PLACE
            && let Some(other) = neighbour
        {
            let due = self.now + Duration::from_micros(200);
            self.calendar.plan(due, MeetDue::Datagrams { to: other, from, segment, data });
            return self.draw(host, from, to, RouterArrowEnd::Arrived);
        }
        let router = self.router(host);
        let seen = match router {
            Some(at) => self.routers[at].leave(self.now, from, to),
            None => Some(from),
        };
        let Some(seen) = seen else { return self.draw(host, from, to, RouterArrowEnd::Filtered) };
        if self.dice.chance(u64::from(self.scenario.loss), 1_000) {
            return self.draw(host, seen, to, RouterArrowEnd::Lost);
        }
        let half = |host: usize| match host {
            CALLER | LISTENER => self.scenario.delays[host],
            _ => Duration::from_micros(0),
        };
        if to == place(PLACE) || to == place(PLACE + 1) {
            let (due, at) =
                (self.now + half(host), if to == place(PLACE) { PLACE } else { PLACE + 1 });
            self.calendar.plan(due, MeetDue::Datagrams { to: at, from: seen, segment, data });
            return self.draw(host, seen, to, RouterArrowEnd::Arrived);
        }
        let Some(at) = (0..PLACE).find(|at| self.routers[*at].outside == to.ip()) else {
            return self.draw(host, seen, to, RouterArrowEnd::Filtered); // No such address.
        };
        // Its own router, from inside: only one that hairpins returns it.
        if router == Some(at) && !self.routers[at].kind.hairpin {
            return self.draw(host, seen, to, RouterArrowEnd::Filtered);
        }
        let due = self.now + half(host) + half(at);
        self.calendar.plan(due, MeetDue::Outside { at, from: seen, to, segment, data });
        self.draw(host, seen, to, RouterArrowEnd::Arrived);
    }

    /// A datagram comes to a router.
    fn enter(
        &mut self,
        at: usize,
        from: SocketAddr,
        to: SocketAddr,
        (segment, data): (u32, UnicastPayload),
    ) {
        let router = &self.routers[at];
        let open = router.kind.mapping == Mapping::None
            && router.kind.filtering == Filtering::EndpointIndependent
            && to == self.hosts[at].local;
        let inside = if open { Some(to) } else { router.enter(self.now, from, to.port()) };
        let ip = inside.map(|inside| inside.ip());
        let host = (0..PLACE).find(|it| Some(self.hosts[*it].local.ip()) == ip);
        let Some(host) = host else { return self.draw(at, from, to, RouterArrowEnd::Filtered) };
        let (hears, chosen) = (&mut self.hosts[host].hears, is_of_chosen_path(&data));
        if let Some(at) = inside
            && (chosen || at.port() >= SPREAD)
            && (chosen || hears.get(&from).is_none_or(|it| !it.chosen))
        {
            hears.insert(from, HearingSocket { at, chosen });
        }
        self.input(host, Input::Messages(MessageInput::Datagrams { from, segment, data }));
    }

    /// The router of a host; both have the first when they are together.
    const fn router(&self, host: usize) -> Option<usize> {
        match host {
            LISTENER if self.scenario.together => Some(CALLER),
            CALLER | LISTENER => Some(host),
            _ => None,
        }
    }

    /// True for an address that one side may send to.
    fn is_known(&self, host: usize, to: SocketAddr) -> bool {
        let other = &self.hosts[1 - host];
        let outside = |at: usize| self.routers[at].outside;
        let theirs = self.router(1 - host).map(outside);
        to.ip() == place(PLACE).ip() || to.ip() == other.local.ip() || Some(to.ip()) == theirs
    }

    fn draw(&mut self, host: usize, seen: SocketAddr, to: SocketAddr, end: RouterArrowEnd) {
        let at = self.now;
        if let Some(arrows) = &mut self.arrows {
            arrows.push(RouterArrow { at, host, seen, to, end });
        }
    }
}

impl MeetOutcome {
    /// True when the side seeks no longer.
    const fn is_final(self) -> bool {
        matches!(self, Self::Direct | Self::Relayed | Self::Unreachable)
    }
}

fn config(host: usize, scenario: &Scenario) -> Config {
    let place = host >= PLACE;
    let relay_rate = if place && scenario.relay { 10_000_000 } else { 0 };
    let meet = meet::Config { place, relay_rate, ..meet::Config::default() };
    let datagrams = unicast::Config { prove: true, ..unicast::Config::default() };
    Config {
        http: false,
        download: false,
        datagrams: (!place).then_some(datagrams),
        meet: Some(meet),
        ..Config::default()
    }
}
