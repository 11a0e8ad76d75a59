//! A host small enough to be obviously right: it carries out what a node
//! asks for in memory, at once, and keeps everything it saw.
#![allow(dead_code)] // Each test file uses its own part.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::net::SocketAddr;

use servent_core::engine::{Effect, Engine, Fx};
use servent_core::id::{ConnId, FetchId, FileIndex, Sha1};
use servent_core::node::{
    Config, ConnEvent, ConnInput, ConnOutput, FetchInput, FetchOutput, FileInfo, FileRef, Input,
    MessageOutput, Node, NodeAnswer, NodeLimit, NodeOp, Output, RestoredNode, RunBit,
};
use servent_core::queue::FileKey;
use servent_core::thex::TreeHasher;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Event;

pub(crate) mod pair;

/// A config for tests: all clients may come from one address.
pub(crate) fn config() -> Config {
    let mut config = Config::default();
    config.queue.slots = 1;
    config.queue.per_ip = 1_000;
    config.queue.hammer_requests = 100_000;
    config
}

/// A shared file with made-up content: every byte depends on its offset.
pub(crate) fn content(size: usize) -> Vec<u8> {
    (0..size).map(|i| (i * 31 + i / 251) as u8).collect()
}

/// The SHA-1 we pretend shared file `index` has.
pub(crate) fn sha(index: u32) -> Sha1 {
    Sha1([(index as u8).wrapping_add(1); 20])
}

/// When shared files were last changed: `Sun, 06 Nov 1994 08:49:37 GMT`.
pub(crate) const CHANGED: Instant = Instant::from_secs(784_111_777);

/// A node, its memory disk and its wires.
#[derive(Clone)]
pub(crate) struct Host {
    pub(crate) node: Node,
    pub(crate) now: Instant,
    pub(crate) files: BTreeMap<FileIndex, Vec<u8>>,
    /// Everything the node said, in order.
    pub(crate) log: Vec<Effect<Output, Event>>,
    /// What is on its way out, by connection.
    pub(crate) wire: BTreeMap<ConnId, VecDeque<u8>>,
    /// Connections the node has closed.
    pub hung_up: BTreeSet<ConnId>,
    pub(crate) dials: Vec<(ConnId, SocketAddr)>,
    pub(crate) parts: BTreeMap<FetchId, Vec<u8>>,
    pub(crate) answers: Vec<NodeAnswer>,
    pub(crate) ops: Vec<NodeOp>,
    /// Bodies stay here instead of leaving.
    pub(crate) stalled: bool,
    storing: BTreeMap<ConnId, Storing>,
    /// What visitors uploaded.
    pub(crate) inbox: BTreeMap<String, Vec<u8>>,
    /// What is arriving for it, and how long it will be.
    arriving: BTreeMap<ConnId, (Vec<u8>, Option<u64>)>,
    next: u64,
}

#[derive(Clone)]
struct Storing {
    fetch: FetchId,
    start: u64,
    length: u64,
    done: u64,
}

impl Host {
    /// A started node that shares files of these sizes, numbered from 0.
    pub(crate) fn new(config: Config, sizes: &[usize]) -> Self {
        let mut host = Self::blank(config, sizes);
        let shared = host.shared();
        let listen = Some("1.2.3.4:6346".parse().unwrap());
        host.input(Input::Start(RestoredNode { listen, shared, ..RestoredNode::default() }));
        host
    }

    /// The same, not started.
    pub(crate) fn blank(config: Config, sizes: &[usize]) -> Self {
        Self {
            node: Node::new(config, 7),
            now: Instant::from_secs(1_000),
            files: (0..).map(FileIndex).zip(sizes.iter().map(|n| content(*n))).collect(),
            log: Vec::new(),
            wire: BTreeMap::new(),
            hung_up: BTreeSet::new(),
            dials: Vec::new(),
            parts: BTreeMap::new(),
            answers: Vec::new(),
            ops: Vec::new(),
            stalled: false,
            storing: BTreeMap::new(),
            inbox: BTreeMap::new(),
            arriving: BTreeMap::new(),
            next: 0,
        }
    }

    /// The catalogue entries of its files.
    pub(crate) fn shared(&self) -> Vec<FileInfo> {
        self.files
            .iter()
            .map(|(index, bytes)| FileInfo {
                index: *index,
                name: format!("file {}.bin", index.0),
                size: bytes.len() as u64,
                sha1: Some(sha(index.0)),
                key: FileKey(u64::from(index.0) + 100),
                modified: Some(CHANGED),
                tree: None,
                run: RunBit(false),
            })
            .collect()
    }

    /// Gives the node an input and does what it asks, to the end.
    pub(crate) fn input(&mut self, input: Input) {
        let mut inputs = VecDeque::from([input]);
        let mut fx = Fx::new();
        while let Some(input) = inputs.pop_front() {
            self.node.handle(self.now, input, &mut fx);
            self.obey(&mut fx, &mut inputs);
        }
    }

    /// Lets time pass, waking the node whenever it wants.
    pub(crate) fn wait(&mut self, length: Duration) {
        let end = self.now + length;
        let mut fx = Fx::new();
        while let Some((at, _)) = self.node.poll_timeout().filter(|(at, _)| *at <= end) {
            self.now = self.now.max(at);
            self.wake(&mut fx);
        }
        self.now = end;
    }

    /// Runs the timeout that is due.
    pub(crate) fn wake(&mut self, fx: &mut Fx<Output, Event>) {
        self.node.handle_timeout(self.now, fx);
        let next = self.node.poll_timeout();
        assert!(next.is_none_or(|(at, _)| at > self.now), "{next:?} is not after {:?}", self.now);
        let mut inputs = VecDeque::new();
        self.obey(fx, &mut inputs);
        for input in inputs {
            self.input(input);
        }
    }

    #[expect(clippy::too_many_lines, reason = "one arm for each output of the node")]
    fn obey(&mut self, fx: &mut Fx<Output, Event>, inputs: &mut VecDeque<Input>) {
        for effect in fx.drain() {
            self.log.push(effect.clone());
            let Effect::Output(output) = effect else { continue };
            match output {
                Output::Connection(conn, ConnOutput::Dial { to }) => self.dials.push((conn, to)),
                Output::Connection(conn, ConnOutput::Write { data }) => {
                    assert!(!self.hung_up.contains(&conn), "a write after the close");
                    self.wire.entry(conn).or_default().extend(data);
                }
                Output::Connection(conn, ConnOutput::Close { .. }) => {
                    assert!(self.hung_up.insert(conn), "closed twice");
                    self.arriving.remove(&conn);
                    inputs.push_back(Input::Connection(conn, ConnInput::Closed));
                }
                Output::Connection(conn, ConnOutput::Serve { file, start, end }) => {
                    let body = match file {
                        FileRef::Shared(index) => &self.files[&index],
                        FileRef::Fetch(fetch) => &self.parts[&fetch],
                        FileRef::Swarm(_) => unreachable!("it is in no swarm"),
                    };
                    let body = &body[start as usize..end as usize];
                    if !self.stalled {
                        self.wire.entry(conn).or_default().extend(body);
                        inputs.push_back(Input::Connection(
                            conn,
                            ConnInput::Served { bytes: end - start },
                        ));
                    }
                }
                Output::Connection(
                    conn,
                    ConnOutput::Store { file: FileRef::Fetch(fetch), start, end, early },
                ) => {
                    let storing = Storing { fetch, start, length: end - start, done: 0 };
                    self.storing.insert(conn, storing);
                    assert!(early.len() as u64 <= end - start);
                    if !early.is_empty() {
                        inputs.push_back(self.store(conn, &early));
                    }
                }
                Output::Fetch(FetchOutput::Verify { fetch }) => {
                    let found = self.verified(fetch);
                    inputs
                        .push_back(Input::Fetch(FetchInput::Verified { fetch, sha1: Some(found) }));
                }
                Output::Fetch(FetchOutput::Hash { fetch, start, end }) => {
                    let mut hasher = TreeHasher::of_piece(end - start);
                    hasher.update(&self.parts[&fetch][start as usize..end as usize]);
                    let tth = hasher.finish().map(|tree| tree.root());
                    inputs.push_back(Input::Fetch(FetchInput::Hashed { fetch, start, tth }));
                }
                Output::Connection(conn, ConnOutput::Incoming { size, early, .. }) => {
                    self.arriving.insert(conn, (early, size));
                    inputs.extend(self.arrived(conn));
                }
                Output::Connection(conn, ConnOutput::Commit { name }) => {
                    let (bytes, _) = self.arriving.remove(&conn).unwrap_or_default();
                    let taken = self.inbox.contains_key(&name);
                    let name = if taken { format!("{name} (2)") } else { name };
                    self.inbox.insert(name.clone(), bytes);
                    inputs.push_back(Input::Connection(conn, ConnInput::Committed { name }));
                }
                Output::Fetch(FetchOutput::Allocate { fetch, .. }) => {
                    self.parts.entry(fetch).or_default();
                }
                Output::Connection(_, ConnOutput::StoreBody { .. }) => {
                    unreachable!("its peers say how long a file is")
                }
                Output::Fetch(FetchOutput::Complete { .. })
                | Output::Connection(_, ConnOutput::Store { .. })
                | Output::Swarm(_)
                | Output::Connection(_, ConnOutput::Authenticate { .. }) => {}
                Output::Persist(op) => self.ops.push(op),
                Output::Answer(answer) => self.answers.push(answer),
                // To caches; they are in the log.
                Output::Messages(MessageOutput::Datagrams { .. }) => {}
                Output::Messages(
                    MessageOutput::Deliver { .. }
                    | MessageOutput::Refused { .. }
                    | MessageOutput::Writable { .. },
                ) => {
                    panic!("this node has no messages")
                }
            }
        }
    }

    /// How much of a file for the inbox is there, if its length is known.
    fn arrived(&self, conn: ConnId) -> Option<Input> {
        let (bytes, size) = self.arriving.get(&conn)?;
        size.map(|_| Input::Connection(conn, ConnInput::Stored { bytes: bytes.len() as u64 }))
    }

    /// Our SHA-1 is the number of the file that has this content.
    fn verified(&self, fetch: FetchId) -> Sha1 {
        let part = &self.parts[&fetch];
        let same = self.files.iter().find(|(_, bytes)| *bytes == part);
        same.map_or(Sha1([0; 20]), |(index, _)| sha(index.0))
    }

    fn store(&mut self, conn: ConnId, bytes: &[u8]) -> Input {
        let storing = self.storing.get_mut(&conn).unwrap();
        let part = self.parts.entry(storing.fetch).or_default();
        let at = (storing.start + storing.done) as usize;
        part.resize(part.len().max(at + bytes.len()), 0);
        part[at..at + bytes.len()].copy_from_slice(bytes);
        storing.done += bytes.len() as u64;
        let done = storing.done;
        if done == storing.length {
            self.storing.remove(&conn);
        }
        Input::Connection(conn, ConnInput::Stored { bytes: done })
    }

    /// Bytes come in; those that belong to a body go to the disk.
    pub(crate) fn bytes(&mut self, conn: ConnId, mut data: &[u8]) {
        if let Some(storing) = self.storing.get(&conn) {
            let ours = data.len().min((storing.length - storing.done) as usize);
            let input = self.store(conn, &data[..ours]);
            self.input(input);
            data = &data[ours..];
        }
        if let Some((file, Some(size))) = self.arriving.get_mut(&conn) {
            let ours = data.len().min(*size as usize - file.len());
            file.extend_from_slice(&data[..ours]);
            data = &data[ours..];
            self.arrived(conn).into_iter().for_each(|input| self.input(input));
        }
        if !data.is_empty() {
            self.input(Input::Connection(conn, ConnInput::Bytes { data: data.to_vec() }));
        }
    }

    /// A peer connects.
    pub(crate) fn accept(&mut self, peer: &str) -> ConnId {
        self.accept_at(peer, None)
    }

    /// The same; `local` is our address that it connected to.
    pub(crate) fn accept_at(&mut self, peer: &str, local: Option<SocketAddr>) -> ConnId {
        let conn = ConnId(self.next);
        self.next += 2;
        self.input(Input::Connection(
            conn,
            ConnInput::Accepted { peer: peer.parse().unwrap(), local },
        ));
        conn
    }

    /// A peer says something; what the node answered to it.
    pub(crate) fn say(&mut self, conn: ConnId, text: &str) -> String {
        self.bytes(conn, text.as_bytes());
        self.heard(conn)
    }

    /// What the node has written on a connection and the peer has not read yet.
    pub(crate) fn heard(&mut self, conn: ConnId) -> String {
        let bytes: Vec<u8> = self.wire.remove(&conn).unwrap_or_default().into();
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Connects and asks for file 0 in a dialect.
    pub(crate) fn ask(&mut self, peer: &str, extra: &str) -> (ConnId, String) {
        let conn = self.accept(peer);
        let reply = self.say(conn, &get(0, extra));
        (conn, reply)
    }

    /// True when a limit was reported.
    pub(crate) fn hit(&self, limit: NodeLimit) -> bool {
        self.log.iter().any(|e| {
            matches!(e, Effect::Event(Event::Conn(ConnEvent::Limit { limit: l, .. })) if *l == limit)
        })
    }

    /// The log without what tells a run in pieces from a run in one.
    pub(crate) fn outputs(&self) -> Vec<&Output> {
        let outputs = self.log.iter().filter_map(|e| match e {
            Effect::Output(o) => Some(o),
            Effect::Event(_) => None,
        });
        outputs.collect()
    }
}

/// A request for a file, with further header lines.
pub(crate) fn get(index: u32, extra: &str) -> String {
    format!("GET /get/{index}/file%20{index}.bin HTTP/1.1\r\nHost: x\r\n{extra}\r\n")
}

/// The value of a header in a reply.
pub(crate) fn header<'a>(reply: &'a str, name: &str) -> Option<&'a str> {
    let head = reply.split("\r\n\r\n").next()?;
    head.lines().filter_map(|l| l.split_once(": ")).find_map(|(n, v)| (n == name).then_some(v))
}

/// The status of a reply.
pub(crate) fn status(reply: &str) -> u16 {
    reply.get(9..12).and_then(|s| s.parse().ok()).unwrap_or_default()
}

/// A variable of an `X-Queued` or `X-Queue` header.
pub(crate) fn var<'a>(reply: &'a str, name: &str) -> &'a str {
    let queued = header(reply, "X-Queued").or_else(|| header(reply, "X-Queue")).unwrap_or("");
    let mut vars = queued.split([';', ',']).filter_map(|v| v.trim().split_once('='));
    vars.find_map(|(n, v)| (n == name).then_some(v)).unwrap_or("")
}
