//! Nodes of a swarm in memory: sockets, files and digests, in one queue.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use servent_core::engine::{Effect, Engine as _, Fx, FxOf};
use servent_core::id::{ConnId, FileIndex};
use servent_core::node::swarm::{self, SwarmFile};
use servent_core::node::{
    Config, ConnInput, ConnOutput, DialError, FileRef, Input, Node, NodeAnswer, NodeCommand,
    NodeOp, Output, RestoredNode,
};
use servent_core::swarm as engine;
use servent_core::swarm::FileSpec;
use servent_core::time::{Duration, Instant};
use servent_core::trace::replay::Replay;
use servent_core::trace::tape::{RecordingLog, Start};
use servent_core::trace::{Event, NodeId, qlog};
use servent_core::wire::pdtp::{Hash, url_of};

/// A digest: of what use it is to strangers does not matter here.
pub(crate) fn digest(bytes: &[u8]) -> Hash {
    let mut hash = [0_u8; 32];
    for (at, byte) in bytes.iter().enumerate() {
        let place = &mut hash[at % 32];
        *place = place.wrapping_mul(31).wrapping_add(*byte).wrapping_add(1);
    }
    Hash(hash)
}

pub(crate) fn noise(size: usize) -> Vec<u8> {
    (0..size).map(|n| (n as u32).wrapping_mul(2_654_435_761).to_be_bytes()[0]).collect()
}

pub(crate) fn spec(bytes: &[u8], chunk: usize) -> FileSpec {
    let hashes: Vec<Hash> = bytes.chunks(chunk).map(digest).collect();
    let (size, chunk) = (bytes.len() as u64, chunk as u64);
    FileSpec { url: url_of("film"), size, chunk, hashes: hashes.into(), sha256: None }
}

/// A body on its way to the disk.
struct Storing {
    file: SwarmFile,
    start: u64,
    length: u64,
    done: u64,
}

/// A node and what it acts upon.
pub(crate) struct Host {
    pub(crate) node: Node,
    pub(crate) at: SocketAddr,
    pub(crate) files: BTreeMap<SwarmFile, Vec<u8>>,
    pub(crate) shared: BTreeMap<FileIndex, Vec<u8>>,
    pub(crate) ops: Vec<NodeOp>,
    pub(crate) answers: Vec<NodeAnswer>,
    pub(crate) events: Vec<Event>,
    /// Accepts no peer.
    pub(crate) passive: bool,
    pub(crate) gone: bool,
    pub(crate) dialed: u32,
    conns: BTreeMap<ConnId, (usize, ConnId)>,
    storing: BTreeMap<ConnId, Storing>,
    next: u64,
    writer: RecordingLog,
    lines: Vec<String>,
}

enum Happens {
    Input(Box<Input>),
    /// Bytes arrive.
    Wire(ConnId, Vec<u8>),
}

/// All of them.
pub(crate) struct World {
    pub(crate) hosts: Vec<Host>,
    pub(crate) now: Instant,
    queue: VecDeque<(usize, Happens)>,
    /// What a stranger that is no node has received.
    pub(crate) told: BTreeMap<ConnId, Vec<u8>>,
}

/// The number of that stranger.
const STRANGER: usize = usize::MAX;

pub(crate) fn coordinator() -> swarm::Config {
    let rules = engine::Config { per_address: 1_000, ..engine::Config::default() };
    swarm::Config { coordinator: Some(rules), ..swarm::Config::default() }
}

pub(crate) fn client() -> swarm::Config {
    let config = engine::client::Config { id: "".into(), ..engine::client::Config::default() };
    swarm::Config { client: Some(config), ..swarm::Config::default() }
}

impl World {
    pub(crate) fn new() -> Self {
        let (hosts, told) = (Vec::new(), BTreeMap::new());
        Self { hosts, now: Instant::from_secs(1), queue: VecDeque::new(), told }
    }

    /// Starts a node; its number.
    pub(crate) fn start(&mut self, part: swarm::Config, restored: RestoredNode) -> usize {
        let at = self.next_address();
        self.start_at(at, part, RestoredNode { listen: Some(at), ..restored })
    }

    /// Starts a client that accepts no peer.
    pub(crate) fn start_passive(&mut self) -> usize {
        let at = self.next_address();
        self.start_at(at, client(), RestoredNode::default())
    }

    fn next_address(&self) -> SocketAddr {
        let number = u8::try_from(self.hosts.len()).unwrap();
        SocketAddr::from(([10, 0, 0, number + 1], 6_086))
    }

    pub(crate) fn start_at(
        &mut self,
        at: SocketAddr,
        part: swarm::Config,
        restored: RestoredNode,
    ) -> usize {
        let config = Config { swarm: part, ..Config::default() };
        let (seed, mut lines) = (self.hosts.len() as u64 + 7, Vec::new());
        let start = Start::new(NodeId(0), "node", seed, config.clone());
        let writer = RecordingLog::new(self.now, start, &mut lines);
        let passive = restored.listen.is_none();
        self.hosts.push(Host {
            node: Node::new(config, seed),
            at,
            files: BTreeMap::new(),
            shared: BTreeMap::new(),
            ops: Vec::new(),
            answers: Vec::new(),
            events: Vec::new(),
            passive,
            gone: false,
            dialed: 0,
            conns: BTreeMap::new(),
            storing: BTreeMap::new(),
            next: 2,
            writer,
            lines,
        });
        let number = self.hosts.len() - 1;
        self.give(number, Input::Start(restored));
        number
    }

    pub(crate) fn tell(&mut self, host: usize, command: swarm::SwarmCommand) {
        self.give(host, Input::Command(NodeCommand::Swarm(command)));
    }

    pub(crate) fn serve(&mut self, host: usize, bytes: &[u8], chunk: usize) {
        let file = SwarmFile(0);
        self.hosts[host].files.insert(file, bytes.to_vec());
        self.tell(host, swarm::SwarmCommand::Serve { file, spec: spec(bytes, chunk) });
        let at = SocketAddr::from(([0, 0, 0, 0], self.hosts[host].at.port()));
        self.tell(host, swarm::SwarmCommand::Source { at, slots: 2 });
    }

    pub(crate) fn want(&mut self, host: usize, from: SocketAddr) {
        let (file, url) = (SwarmFile(1), url_of("film"));
        let coordinator = vec![from];
        self.tell(host, swarm::SwarmCommand::Want { file, url, coordinator, sha256: None });
    }

    pub(crate) fn give(&mut self, host: usize, input: Input) {
        self.run(host, Some(input));
    }

    fn run(&mut self, number: usize, input: Option<Input>) {
        let host = &mut self.hosts[number];
        if host.gone {
            return;
        }
        let mut fx: FxOf<Node> = Fx::new();
        match input {
            Some(input) => {
                host.writer.input(self.now, &input, &mut host.lines);
                host.node.handle(self.now, input, &mut fx);
            }
            None => {
                host.writer.timeout(self.now, &mut host.lines);
                host.node.handle_timeout(self.now, &mut fx);
            }
        }
        host.writer.effects(self.now, fx.as_slice(), &mut host.lines);
        for effect in fx.drain() {
            match effect {
                Effect::Event(event) => self.hosts[number].events.push(event),
                Effect::Output(output) => self.carry_out(number, output),
            }
        }
    }

    fn send(&mut self, from: usize, conn: ConnId, data: Vec<u8>) {
        match self.hosts[from].conns.get(&conn) {
            Some((STRANGER, _)) => self.told.entry(conn).or_default().extend(data),
            Some(&(to, far)) => self.queue.push_back((to, Happens::Wire(far, data))),
            None => {}
        }
    }

    fn hang_up(&mut self, from: usize, conn: ConnId) {
        if let Some((to, far)) = self.hosts[from].conns.remove(&conn) {
            self.queue.push_back((
                from,
                Happens::Input(Box::new(Input::Connection(conn, ConnInput::Closed))),
            ));
            if to != STRANGER {
                self.queue.push_back((
                    to,
                    Happens::Input(Box::new(Input::Connection(far, ConnInput::Closed))),
                ));
            }
        }
    }

    fn carry_out(&mut self, number: usize, output: Output) {
        match output {
            Output::Connection(conn, ConnOutput::Dial { to }) => self.dial(number, conn, to),
            Output::Connection(conn, ConnOutput::Write { data }) => self.send(number, conn, data),
            Output::Connection(conn, ConnOutput::Close { .. }) => self.hang_up(number, conn),
            Output::Connection(conn, ConnOutput::Serve { file, start, end }) => {
                let host = &self.hosts[number];
                let bytes = match file {
                    FileRef::Swarm(file) => &host.files[&file],
                    FileRef::Shared(index) => &host.shared[&index],
                    FileRef::Fetch(_) => unreachable!("no node downloads"),
                };
                let data = bytes[start as usize..end as usize].to_vec();
                self.send(number, conn, data);
                let served = Input::Connection(conn, ConnInput::Served { bytes: end - start });
                self.queue.push_back((number, Happens::Input(Box::new(served))));
            }
            Output::Connection(
                conn,
                ConnOutput::Store { file: FileRef::Swarm(file), start, end, early },
            ) => {
                let storing = Storing { file, start, length: end - start, done: 0 };
                self.hosts[number].storing.insert(conn, storing);
                self.queue.push_front((number, Happens::Wire(conn, early)));
            }
            Output::Swarm(wanted) => self.wanted(number, wanted),
            Output::Persist(op) => self.hosts[number].ops.push(op),
            Output::Answer(answer) => self.hosts[number].answers.push(answer),
            other => unreachable!("no node asks for {other:?}"),
        }
    }

    fn wanted(&mut self, number: usize, output: swarm::Output) {
        let host = &mut self.hosts[number];
        let input = match output {
            swarm::Output::Allocate { file, size } => {
                return host.files.entry(file).or_default().resize(size as usize, 0);
            }
            swarm::Output::Hash { ask, file, start, end } => {
                let sha256 = digest(&host.files[&file][start as usize..end as usize]);
                swarm::Input::Hashed { ask, sha256 }
            }
            swarm::Output::Complete { file } => swarm::Input::Completed { file },
        };
        self.queue.push_back((number, Happens::Input(Box::new(Input::Swarm(input)))));
    }

    fn dial(&mut self, number: usize, conn: ConnId, to: SocketAddr) {
        self.hosts[number].dialed += 1;
        let there = self.hosts.iter().position(|h| h.at == to && !h.gone && !h.passive);
        let Some(far) = there else {
            let why = DialError::Refused;
            self.queue.push_back((
                number,
                Happens::Input(Box::new(Input::Connection(conn, ConnInput::DialFailed { why }))),
            ));
            return;
        };
        let local = SocketAddr::new(self.hosts[number].at.ip(), 50_000);
        let accepted = ConnId(self.hosts[far].next);
        self.hosts[far].next += 2;
        self.hosts[far].conns.insert(accepted, (number, conn));
        self.hosts[number].conns.insert(conn, (far, accepted));
        let (peer, at) = (local, Some(to));
        let input = Input::Connection(accepted, ConnInput::Accepted { peer, local: at });
        self.queue.push_back((far, Happens::Input(Box::new(input))));
        self.queue.push_back((
            number,
            Happens::Input(Box::new(Input::Connection(conn, ConnInput::Dialed { local }))),
        ));
    }

    /// A stranger that is no node connects and says something.
    pub(crate) fn stranger(&mut self, to: usize, text: &str) -> ConnId {
        let conn = ConnId(self.hosts[to].next);
        self.hosts[to].next += 2;
        self.hosts[to].conns.insert(conn, (STRANGER, conn));
        let peer = "10.9.9.9:9".parse().unwrap();
        let local = Some(self.hosts[to].at);
        self.give(to, Input::Connection(conn, ConnInput::Accepted { peer, local }));
        self.give(to, Input::Connection(conn, ConnInput::Bytes { data: text.as_bytes().to_vec() }));
        conn
    }

    /// Ends a node without a word.
    pub(crate) fn kill(&mut self, number: usize) {
        let conns: Vec<ConnId> = self.hosts[number].conns.keys().copied().collect();
        conns.into_iter().for_each(|conn| self.hang_up(number, conn));
        self.hosts[number].gone = true;
    }

    fn happen(&mut self, number: usize, what: Happens) {
        match what {
            Happens::Input(input) => self.give(number, *input),
            Happens::Wire(conn, data) => {
                let host = &mut self.hosts[number];
                let mut rest = &data[..];
                if let Some(storing) = host.storing.get_mut(&conn) {
                    let ours = rest.len().min((storing.length - storing.done) as usize);
                    let at = (storing.start + storing.done) as usize;
                    let file = host.files.get_mut(&storing.file).unwrap();
                    file[at..at + ours].copy_from_slice(&rest[..ours]);
                    storing.done += ours as u64;
                    let bytes = storing.done;
                    if storing.done == storing.length {
                        host.storing.remove(&conn);
                    }
                    rest = &rest[ours..];
                    self.give(number, Input::Connection(conn, ConnInput::Stored { bytes }));
                }
                if !rest.is_empty() {
                    self.give(
                        number,
                        Input::Connection(conn, ConnInput::Bytes { data: rest.to_vec() }),
                    );
                }
            }
        }
    }

    /// Runs until `done`, at most for so long.
    #[track_caller]
    pub(crate) fn until(&mut self, most: Duration, done: impl Fn(&Self) -> bool) {
        let end = self.now + most;
        while !done(self) {
            if let Some((number, what)) = self.queue.pop_front() {
                self.happen(number, what);
                continue;
            }
            let due = |host: &Host| host.node.poll_timeout().filter(|_| !host.gone);
            let next = self.hosts.iter().enumerate();
            let next = next.filter_map(|(n, host)| Some((due(host)?.0, n))).min();
            let Some((at, number)) = next.filter(|(at, _)| *at <= end) else {
                panic!("nothing more happens by {end:?}");
            };
            self.now = self.now.max(at);
            self.run(number, None);
        }
    }

    pub(crate) fn is_whole(&self, number: usize) -> bool {
        self.hosts[number].answers.iter().any(|answer| {
            matches!(answer, NodeAnswer::Swarm(swarm::SwarmAnswer::Done { file: SwarmFile(1), .. }))
        })
    }

    /// What a store would give back.
    pub(crate) fn remembered(&self, number: usize) -> swarm::RestoredSwarm {
        let mut restored = swarm::RestoredSwarm::default();
        let (mut ledger, mut part) = (BTreeMap::new(), None);
        let mut pieces = Vec::new();
        for op in &self.hosts[number].ops {
            let NodeOp::Swarm(op) = op else { continue };
            match op.clone() {
                swarm::SwarmOp::Ledger(row) => drop(ledger.insert(row.owner, row)),
                swarm::SwarmOp::LedgerGone(owner) => drop(ledger.remove(&owner)),
                swarm::SwarmOp::Part { file, url, size, chunk } => {
                    pieces.clear();
                    part = Some(swarm::PartialFile { file, url, size, chunk, have: Vec::new() });
                }
                swarm::SwarmOp::Piece { piece, .. } => pieces.push(piece),
                swarm::SwarmOp::PartGone(_) => part = None,
                swarm::SwarmOp::Account(_) | swarm::SwarmOp::AccountGone { .. } => {}
            }
        }
        pieces.sort_unstable();
        restored.ledger = ledger.into_values().collect();
        restored.parts = part
            .map(|part| swarm::PartialFile {
                have: pieces.iter().map(|p| (*p, p + 1)).collect(),
                ..part
            })
            .into_iter()
            .collect();
        restored
    }

    /// Runs the recording of a node again: how much of it was verified.
    pub(crate) fn replay(&mut self, number: usize) -> (u64, u64, u64) {
        let host = &mut self.hosts[number];
        host.writer.checkpoint(self.now, &mut host.lines);
        let mut replay = Replay::new();
        host.lines.iter().for_each(|line| replay.feed(qlog::parse(line.as_bytes())));
        let report = replay.report();
        (report.verified, report.checkpoints, report.damaged)
    }
}
