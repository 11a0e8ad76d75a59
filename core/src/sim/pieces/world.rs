//! The world: calendar, links, and the engines in it.

mod wires;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use super::link::{Content, Link};
use super::scenario::{Habit, Scenario};
use crate::engine::{Effect, Engine as _, Fx};
use crate::id::ConnId;
use crate::rng::Rng;
use crate::swarm::client::{self, Client, Job, Request};
use crate::swarm::{self, Event, FileSpec, Input, Manager, Row};
use crate::table::Table;
use crate::time::{Duration, Instant};
use crate::wire::pdtp::{Hash, Message, Method, Reason, Span, Text};

/// Where the source is.
const SOURCE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(9, 9, 9, 9)), 80);
/// A connect that nobody answers is given up after this long.
const KNOCK: Duration = Duration::from_secs(3);

/// Something that will happen.
#[derive(Debug, Clone)]
enum Due {
    Arrive(u32),
    Vanish(u32),
    Restart,
    ToServer(u32, u64, Message),
    ToClient(u32, u64, Message),
    Incoming(u32, Request),
    Ended(u32, Job, client::Outcome),
    Left { conn: u64 },
    Timer(u32),
    ServerTimer,
}

/// A client and its machine.
#[derive(Debug, Clone)]
struct Peer {
    engine: Client,
    ip: IpAddr,
    group: usize,
    link: Link,
    disk: Table<u32, Content>,
    kept: Vec<u32>,
    /// Counts its lives; what belongs to an earlier one is lost.
    life: u64,
    up: bool,
    online: bool,
    done: Option<Instant>,
    timer: Option<Instant>,
}

/// A transfer between two peers: who began it, and then both jobs.
#[derive(Debug, Clone)]
struct Wire {
    from: u32,
    to: u32,
    began: (u32, Job),
    other: Option<(u32, Job)>,
    span: Span,
    begun: Option<Instant>,
}

/// How it went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outcome {
    /// When the last one that could finish did.
    pub makespan: Duration,
    /// The least that takes.
    pub bound: Duration,
    /// Clients that should have everything in the end, and those that have.
    pub wanting: u32,
    /// Clients that have everything.
    pub whole: u32,
    /// Pieces the source sent, in thousandths of the file.
    pub source_copies: u64,
    /// Messages to and from the coordinator for each thousand pieces.
    pub messages: u64,
    /// The same in frames, those of one turn sharing one.
    pub frames: u64,
}

/// A coordinator, its source and its clients.
#[derive(Debug, Clone)]
pub struct World {
    scenario: Scenario,
    manager: Manager,
    rng: Rng,
    peers: Vec<Peer>,
    source: Link,
    store: Table<IpAddr, Row>,
    calendar: Table<(Instant, u64), Due>,
    planned: u64,
    now: Instant,
    wires: Table<u64, Wire>,
    next_wire: u64,
    server_timer: Option<Instant>,
    frames: u64,
    last: Option<(Instant, u32, bool)>,
    events: Vec<(Instant, Event)>,
}

fn right(piece: u32) -> Hash {
    let mut hash = [7; 32];
    hash[..4].copy_from_slice(&piece.to_be_bytes());
    Hash(hash)
}

impl World {
    /// A world at its beginning.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let rng = Rng::new(scenario.seed).fork("pieces", 0);
        let mut world = Self {
            manager: Manager::new(scenario.swarm.clone(), &rng),
            rng,
            peers: Vec::new(),
            source: Link::new(scenario.source_up, u64::MAX / 4),
            store: Table::new(),
            calendar: Table::new(),
            planned: 0,
            now: Instant::from_secs(1),
            wires: Table::new(),
            next_wire: 0,
            server_timer: None,
            frames: 0,
            last: None,
            events: Vec::new(),
            scenario: scenario.clone(),
        };
        world.open_server();
        for (number, group) in scenario.clients.iter().enumerate() {
            for index in 0..group.count {
                let id = world.peers.len() as u32;
                let host = if group.nat { id - index } else { id };
                let ip = IpAddr::V4(Ipv4Addr::from_bits(0x5000_0001 + host));
                world.peers.push(world.peer(id, number, ip));
                let at = world.now + group.first + group.spacing.ratio(index.into(), 1);
                world.plan(at, Due::Arrive(id));
            }
        }
        if let Some(after) = scenario.restart {
            world.plan(world.now + after, Due::Restart);
        }
        world
    }

    fn peer(&self, id: u32, number: usize, ip: IpAddr) -> Peer {
        let group = &self.scenario.clients[number];
        let config = client::Config {
            id: alloc::format!("c{id}").into(),
            listen_port: Some(1_000).filter(|_| !group.passive),
            max_download: group.most.map(|(down, _)| down),
            max_upload: group.most.map(|(_, up)| up),
            ..client::Config::default()
        };
        Peer {
            engine: Client::new(config),
            ip,
            group: number,
            link: Link::new(group.up, group.down),
            disk: Table::new(),
            kept: Vec::new(),
            life: 0,
            up: false,
            online: false,
            done: None,
            timer: None,
        }
    }

    fn url() -> Text {
        "http://9.9.9.9/file".into()
    }

    fn open_server(&mut self) {
        let hashes: Arc<[Hash]> = (0..self.scenario.pieces).map(right).collect();
        let size = u64::from(self.scenario.pieces) * self.scenario.chunk;
        let spec = FileSpec { url: Self::url(), size, chunk: self.scenario.chunk, hashes };
        let rows: Vec<Row> = self.store.values().cloned().collect();
        rows.into_iter().for_each(|row| self.server(Input::Restore(row)));
        self.server(Input::Serve(spec));
        self.server(Input::Source { addr: SOURCE, slots: self.scenario.source_slots });
    }

    fn plan(&mut self, at: Instant, due: Due) {
        self.planned += 1;
        self.calendar.insert((at, self.planned), due);
    }

    fn conn(&self, peer: u32) -> ConnId {
        ConnId(u64::from(peer) << 16 | self.peers[peer as usize].life)
    }

    fn group(&self, peer: u32) -> &super::Group {
        &self.scenario.clients[self.peers[peer as usize].group]
    }

    /// The coordinator.
    #[must_use]
    pub const fn manager(&self) -> &Manager {
        &self.manager
    }

    /// The time.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// Takes what the coordinator said of itself since the last time.
    pub fn take_events(&mut self) -> Vec<(Instant, Event)> {
        core::mem::take(&mut self.events)
    }

    /// True when everybody that can has everything.
    #[must_use]
    pub fn finished(&self) -> bool {
        (0..self.peers.len() as u32).all(|peer| self.served(peer) || !self.expected(peer))
    }

    fn served(&self, peer: u32) -> bool {
        self.peers[peer as usize].done.is_some()
    }

    /// Who does what it should and stays, or comes again, must get all.
    fn expected(&self, peer: u32) -> bool {
        let group = self.group(peer);
        let stays = group.vanishes.is_none() || group.returns.is_some();
        group.habit == Habit::Honest && stays
    }

    /// How it went so far.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        let all = 0..self.peers.len() as u32;
        let expected = all.filter(|peer| self.expected(*peer));
        let done = expected.clone().filter_map(|peer| self.peers[peer as usize].done);
        let counters = self.manager.counters();
        let per = |n: u64| n * 1_000 / counters.arrived.max(1);
        Outcome {
            makespan: done.clone().max().unwrap_or(self.now).since(Instant::from_secs(1)),
            bound: self.scenario.bound(),
            wanting: expected.count() as u32,
            whole: done.count() as u32,
            source_copies: counters.arrived_from_source * 1_000 / u64::from(self.scenario.pieces),
            messages: per(counters.sent + counters.heard),
            frames: per(self.frames),
        }
    }

    /// Runs until everybody is served or nothing more comes of it; true when
    /// everybody is.
    pub fn run(&mut self, oracle: &mut super::Oracle) -> bool {
        let end = Instant::from_secs(1) + self.scenario.horizon;
        while !self.finished() {
            if !self.step(end) {
                break;
            }
            for (at, event) in self.take_events() {
                oracle.see(at, &event);
            }
        }
        self.finished()
    }

    /// Lets everything of the next instant happen; false at the end.
    pub fn step(&mut self, end: Instant) -> bool {
        let Some(at) = self.calendar.first().map(|((at, _), _)| *at).filter(|at| *at <= end) else {
            return false;
        };
        self.now = at;
        while let Some(((at, order), _)) = self.calendar.first()
            && *at <= self.now
        {
            let key = (*at, *order);
            if let Some(due) = self.calendar.remove(&key) {
                self.happen(due);
            }
        }
        true
    }

    fn happen(&mut self, due: Due) {
        match due {
            Due::Arrive(peer) => self.arrive(peer),
            Due::Vanish(peer) => self.vanish(peer),
            Due::Restart => self.restart(),
            Due::ToServer(peer, life, message) if self.alive(peer, life) => {
                let silent = self.group(peer).habit == Habit::Silent;
                if !(silent && matches!(message, Message::Completed(_))) {
                    self.count_frame(peer, true);
                    let conn = self.conn(peer);
                    self.server(Input::Message { conn, message });
                }
            }
            Due::ToClient(peer, life, message) if self.alive(peer, life) => {
                self.client(peer, client::Input::Message(message));
            }
            Due::Incoming(peer, request) => {
                if self.peers[peer as usize].up {
                    self.client(peer, client::Input::Incoming(request));
                } else {
                    self.break_wire(request.conn.0, Reason::Connect);
                }
            }
            Due::Ended(peer, job, outcome) => {
                self.client(peer, client::Input::Ended { job, outcome });
            }
            Due::Left { conn } => self.arrived(conn),
            Due::Timer(peer) => {
                self.peers[peer as usize].timer = None;
                let mut fx = Fx::new();
                self.peers[peer as usize].engine.handle_timeout(self.now, &mut fx);
                self.follow(peer, fx);
            }
            Due::ServerTimer => {
                self.server_timer = None;
                let mut fx = Fx::new();
                self.manager.handle_timeout(self.now, &mut fx);
                self.follow_server(fx);
            }
            Due::ToServer(..) | Due::ToClient(..) => {}
        }
    }

    fn alive(&self, peer: u32, life: u64) -> bool {
        let peer = &self.peers[peer as usize];
        peer.up && peer.online && peer.life == life
    }

    /// Messages of one instant to or from one client share a frame.
    fn count_frame(&mut self, peer: u32, up: bool) {
        let key = Some((self.now, peer, up));
        if self.last != key {
            self.frames += 1;
        }
        self.last = key;
    }

    fn arrive(&mut self, at: u32) {
        let now = self.now;
        let chunk = self.scenario.chunk;
        let peer = &mut self.peers[at as usize];
        peer.up = true;
        peer.life += 1;
        peer.link.clear(now);
        let have = peer.kept.clone();
        self.client(at, client::Input::Want { url: Self::url(), chunk, have });
        if let Some(after) = self.group(at).vanishes
            && self.peers[at as usize].life == 1
        {
            self.plan(self.now + after, Due::Vanish(at));
        }
    }

    fn vanish(&mut self, at: u32) {
        if !self.peers[at as usize].up {
            return;
        }
        let conn = self.conn(at);
        self.peers[at as usize].up = false;
        if core::mem::take(&mut self.peers[at as usize].online) {
            self.server(Input::Closed { conn });
        }
        let touching = self.wires.iter().filter(|(_, wire)| wire.from == at || wire.to == at);
        let touching: Vec<u64> = touching.map(|(wire, _)| *wire).collect();
        for wire in touching {
            self.break_wire(wire, Reason::Data);
        }
        let (group, ip) = (self.peers[at as usize].group, self.peers[at as usize].ip);
        let fresh = self.peer(at, group, ip);
        let peer = &mut self.peers[at as usize];
        peer.engine = fresh.engine;
        peer.timer = None;
        let done = peer.done.is_some();
        if let Some(after) = self.group(at).returns
            && !done
        {
            self.plan(self.now + after, Due::Arrive(at));
        }
    }

    /// The coordinator is killed: everybody is cut off, the store stays.
    fn restart(&mut self) {
        self.manager = Manager::new(self.scenario.swarm.clone(), &self.rng.fork("again", 0));
        self.server_timer = None;
        self.open_server();
        for at in 0..self.peers.len() as u32 {
            if core::mem::take(&mut self.peers[at as usize].online) {
                self.peers[at as usize].life += 1;
                self.client(at, client::Input::Offline);
            }
        }
    }

    fn server(&mut self, input: Input) {
        let mut fx = Fx::new();
        self.manager.handle(self.now, input, &mut fx);
        self.follow_server(fx);
    }

    fn follow_server(&mut self, mut fx: Fx<swarm::Output, Event>) {
        for effect in fx.drain() {
            match effect {
                Effect::Event(event) => self.events.push((self.now, event)),
                Effect::Output(swarm::Output::Send { conn, message }) => {
                    let (peer, life) = ((conn.0 >> 16) as u32, conn.0 & 0xffff);
                    self.count_frame(peer, false);
                    let at = self.now + self.group(peer).latency;
                    self.plan(at, Due::ToClient(peer, life, message));
                }
                Effect::Output(swarm::Output::Close { conn }) => {
                    let (peer, life) = ((conn.0 >> 16) as u32, conn.0 & 0xffff);
                    if self.alive(peer, life) {
                        self.peers[peer as usize].online = false;
                        self.client(peer, client::Input::Offline);
                    }
                }
                Effect::Output(swarm::Output::Save(row)) => {
                    self.store.insert(row.owner, row);
                }
                Effect::Output(swarm::Output::Forget(owner)) => {
                    self.store.remove(&owner);
                }
            }
        }
        if let Some((at, _)) = self.manager.poll_timeout()
            && self.server_timer.is_none_or(|planned| at < planned)
        {
            self.server_timer = Some(at);
            self.plan(at.max(self.now), Due::ServerTimer);
        }
    }

    fn client(&mut self, at: u32, input: client::Input) {
        let mut fx = Fx::new();
        self.peers[at as usize].engine.handle(self.now, input, &mut fx);
        self.follow(at, fx);
    }

    fn follow(&mut self, at: u32, mut fx: Fx<client::Output, client::Event>) {
        for effect in fx.drain() {
            if let Effect::Output(output) = effect {
                self.carry_out(at, output);
            }
        }
        let peer = &self.peers[at as usize];
        if let Some((due, _)) = peer.engine.poll_timeout()
            && peer.timer.is_none_or(|planned| due < planned)
        {
            self.peers[at as usize].timer = Some(due);
            self.plan(due.max(self.now), Due::Timer(at));
        }
    }

    fn carry_out(&mut self, at: u32, output: client::Output) {
        use client::Output as O;
        match output {
            O::Connect => {
                self.peers[at as usize].online = true;
                let (conn, peer) = (self.conn(at), self.peers[at as usize].ip);
                self.server(Input::Opened { conn, peer });
                self.client(at, client::Input::Online { coordinator: SOURCE.ip() });
            }
            O::Send(message) => {
                let due = self.now + self.group(at).latency;
                self.plan(due, Due::ToServer(at, self.peers[at as usize].life, message));
            }
            O::Fetch { job, from, url, span, .. } if from == SOURCE => {
                self.download(at, job, &url, span);
            }
            O::Fetch { job, from, url, span, .. } => {
                self.knock(at, job, from, (url, span), Method::Get);
            }
            O::Push { job, to, url, span } => self.knock(at, job, to, (url, span), Method::Put),
            O::Serve { job, conn, .. } | O::Take { job, conn, .. } => {
                self.begin(at, job, conn.0);
            }
            O::Refuse { conn, .. } => self.break_wire(conn.0, Reason::Data),
            O::Abort { job } => {
                let of = |wire: &Wire| wire.began == (at, job) || wire.other == Some((at, job));
                let found = self.wires.iter().find(|(_, wire)| of(wire)).map(|(wire, _)| *wire);
                if let Some(wire) = found {
                    self.break_wire(wire, Reason::Data);
                }
            }
            O::Keep { piece, .. } => self.peers[at as usize].kept.push(piece),
            O::Done { .. } => {
                self.peers[at as usize].done.get_or_insert(self.now);
                if let Some(stays) = self.group(at).stays {
                    self.plan(self.now + stays, Due::Vanish(at));
                }
            }
            O::Info { .. } | O::Failed { .. } => {}
        }
    }
}
