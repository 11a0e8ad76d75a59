//! Three servents in memory that are recorded: one serves a file to two others
//! through its queue, they are neighbours, and they send each other messages.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::{ConnId, FileIndex, Sha1};
use servent_core::meet::{self, MeetKey, MeetSide, MeetingId, Visit};
use servent_core::node::{
    Config, ConnInput, ConnOutput, DiskInput, DownloadSource, FetchCommand, FetchInput,
    FetchOutput, FileInfo, Get, Input, MeetCommand, MessageCommand, MessageInput, MessageOutput,
    Node, NodeCommand, Output, OverlayCommand, RestoredNode, RunBit, UnicastMessage,
};
use servent_core::queue::FileKey;
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_core::trace::qlog;
use servent_core::trace::tape::{RecordingLog, Start};
use servent_core::unicast::{self, DeliveryOrder};

/// How long bytes take.
const LATENCY: Duration = Duration::from_millis(3);
const SIZE: u64 = 100_000;
const SHA1: Sha1 = Sha1([7; 20]);

/// The lives that are recorded.
pub(crate) const NAMES: [&str; 5] = ["queue-server", "queue-client", "routing", "unicast", "meet"];

/// Events that must be on the recording of a life.
pub(crate) fn reaches(name: &str) -> &'static [&'static str] {
    match name {
        "queue-server" => &["\"queue:told\"", "\"queue:started\"", "\"conn:sent\""],
        "queue-client" => &["\"fetch:done\"", "\"conn:response\""],
        "routing" => &["\"routing:"],
        "meet" => &["\"meet:knocked\"", "\"meet:chosen\"", "\"unicast:opened\""],
        _ => &["\"unicast:"],
    }
}

/// The recordings of all lives.
pub(crate) fn tapes() -> Vec<(&'static str, Vec<u8>)> {
    let mut queue = Stage::new(|config| config.queue.slots = 1);
    queue.share();
    for k in [1, 2] {
        let source =
            DownloadSource { at: at(0), target: "/get/1/song".into(), host: "server".into() };
        let get = Get { name: "song".into(), sha1: Some(SHA1), sources: [source].into() };
        queue.command(k, NodeCommand::Fetch(FetchCommand::Get(get)));
    }
    queue.run(900);

    let mut routing = Stage::new(|config| config.overlay.enabled = true);
    routing.share();
    for k in [1, 2] {
        routing.command(k, NodeCommand::Overlay(OverlayCommand::Join { at: at(0) }));
    }
    routing.run(20);
    let words = "song".into();
    routing.command(1, NodeCommand::Overlay(OverlayCommand::Search { search: 1, words }));
    routing.run(60);

    let mut unicast = Stage::new(|config| config.datagrams = Some(unicast::Config::default()));
    for n in 0..40_u8 {
        let messages =
            [UnicastMessage { order: DeliveryOrder::InOrder, data: vec![n; 100].into() }].into();
        unicast.command(1, NodeCommand::Messages(MessageCommand::Send { to: at(0), messages }));
        unicast.run(1);
    }
    unicast.command(1, NodeCommand::Messages(MessageCommand::Close { to: at(0) }));
    unicast.run(60);

    let mut meet = Stage::new(|config| {
        config.meet = Some(meet::Config { place: true, ..meet::Config::default() });
        config.datagrams = Some(unicast::Config { prove: true, ..unicast::Config::default() });
    });
    meet.meet();

    vec![
        ("queue-server", queue.tape(0)),
        ("queue-client", queue.tape(2)),
        ("routing", routing.tape(0)),
        ("unicast", unicast.tape(0)),
        ("meet", meet.tape(1)),
    ]
}

/// A servent that is recorded.
struct Recorded {
    node: Node,
    writer: RecordingLog,
    lines: Vec<String>,
    /// The other end of each of its connections.
    ends: BTreeMap<ConnId, (usize, ConnId)>,
    accepted: u64,
}

struct Stage {
    all: Vec<Recorded>,
    now: Instant,
    due: Vec<(Instant, usize, Input)>,
}

fn at(k: usize) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, k as u8 + 1], 6346))
}

impl Stage {
    fn new(change: impl Fn(&mut Config)) -> Self {
        let now = Instant::from_secs(1_700_000_000);
        let recorded = |k: usize| {
            let mut config = Config { agent: format!("museum {k}"), ..Config::default() };
            change(&mut config);
            let seed = k as u64 + 1;
            let start = Start::new(NodeId(0), &format!("n{k}"), seed, config.clone());
            let mut lines = Vec::new();
            let writer = RecordingLog::new(now, start, &mut lines);
            Recorded {
                node: Node::new(config, seed),
                writer,
                lines,
                ends: BTreeMap::new(),
                accepted: 0,
            }
        };
        let mut stage = Self { all: (0..3).map(recorded).collect(), now, due: Vec::new() };
        for k in 0..3 {
            let listen = Some(at(k));
            stage.give(k, Some(Input::Start(RestoredNode { listen, ..RestoredNode::default() })));
        }
        stage
    }

    /// The first one shares a file.
    fn share(&mut self) {
        let file = FileInfo {
            index: FileIndex(1),
            name: "song".into(),
            size: SIZE,
            sha1: Some(SHA1),
            key: FileKey(1),
            modified: None,
            tree: None,
            run: RunBit(false),
        };
        self.give(0, Some(Input::Disk(DiskInput::Shared(file))));
    }

    /// The second and the third meet at the first, and the second sends something.
    fn meet(&mut self) {
        for (k, side) in [(2, MeetSide::Listener), (1, MeetSide::Caller)] {
            let visit = Visit {
                places: vec![at(0)],
                probes: Vec::new(),
                meeting: MeetingId([5; 16]),
                key: MeetKey(6, 7),
                side,
                local: vec![at(k)],
                once: false,
            };
            self.command(k, NodeCommand::Meet(MeetCommand::Visit(visit)));
            self.run(1);
        }
        let messages =
            [UnicastMessage { order: DeliveryOrder::InOrder, data: vec![1; 100].into() }].into();
        self.command(1, NodeCommand::Messages(MessageCommand::Send { to: at(2), messages }));
        self.run(2);
    }

    fn command(&mut self, k: usize, command: NodeCommand) {
        self.give(k, Some(Input::Command(command)));
    }

    /// Passes a servent something, or runs its timers, and carries out what it
    /// asks for.
    fn give(&mut self, k: usize, input: Option<Input>) {
        let (one, mut fx) = (&mut self.all[k], Fx::new());
        match input {
            Some(input) => {
                one.writer.input(self.now, &input, &mut one.lines);
                one.node.handle(self.now, input, &mut fx);
            }
            None => {
                one.writer.timeout(self.now, &mut one.lines);
                one.node.handle_timeout(self.now, &mut fx);
            }
        }
        one.writer.effects(self.now, fx.as_slice(), &mut one.lines);
        for effect in fx.drain() {
            match effect {
                Effect::Output(Output::Connection(conn, wanted)) => {
                    self.connection(k, conn, wanted)
                }
                Effect::Output(Output::Fetch(wanted)) => self.download(k, wanted),
                Effect::Output(Output::Messages(MessageOutput::Datagrams {
                    to,
                    segment,
                    data,
                })) => {
                    let from = at(k);
                    let input = MessageInput::Datagrams { from, segment, data };
                    let other = (0..3).find(|other| at(*other) == to);
                    self.later(other.expect("it is known"), Input::Messages(input));
                }
                Effect::Output(_) | Effect::Event(_) => {}
            }
        }
    }

    fn later(&mut self, k: usize, input: Input) {
        self.due.push((self.now + LATENCY, k, input));
    }

    fn on(&mut self, (k, conn): (usize, ConnId), input: ConnInput) {
        self.later(k, Input::Connection(conn, input));
    }

    fn connection(&mut self, k: usize, conn: ConnId, wanted: ConnOutput) {
        if let ConnOutput::Dial { to } = wanted {
            let other = (0..3).find(|other| at(*other) == to).expect("it is known");
            let there = ConnId(2 * self.all[other].accepted);
            self.all[other].accepted += 1;
            self.all[k].ends.insert(conn, (other, there));
            self.all[other].ends.insert(there, (k, conn));
            let peer = SocketAddr::from(([10, 0, 0, k as u8 + 1], 50_000 + conn.0 as u16));
            self.on((other, there), ConnInput::Accepted { peer, local: Some(to) });
            return self.on((k, conn), ConnInput::Dialed { local: at(k) });
        }
        let other = self.all[k].ends[&conn];
        match wanted {
            ConnOutput::Write { data } => self.on(other, ConnInput::Bytes { data }),
            ConnOutput::Serve { start, end, .. } => {
                self.on((k, conn), ConnInput::Served { bytes: end - start });
                self.on(other, ConnInput::Stored { bytes: end - start });
            }
            ConnOutput::Close { .. } => {
                self.on(other, ConnInput::Closed);
                self.on((k, conn), ConnInput::Closed);
            }
            _ => {}
        }
    }

    fn download(&mut self, k: usize, wanted: FetchOutput) {
        match wanted {
            FetchOutput::Verify { fetch } => {
                self.later(k, Input::Fetch(FetchInput::Verified { fetch, sha1: Some(SHA1) }));
            }
            FetchOutput::Hash { fetch, start, .. } => {
                self.later(k, Input::Fetch(FetchInput::Hashed { fetch, start, tth: None }));
            }
            FetchOutput::Allocate { .. } | FetchOutput::Complete { .. } => {}
        }
    }

    /// Everything that happens in so many seconds.
    fn run(&mut self, seconds: u64) {
        let end = self.now + Duration::from_secs(seconds);
        loop {
            let timer = |k: usize| Some((self.all[k].node.poll_timeout()?.0, k));
            let timer = (0..3).filter_map(timer).min();
            let next = self.due.iter().enumerate().min_by_key(|(i, (when, ..))| (*when, *i));
            let next = next.map(|(i, (when, ..))| (*when, i));
            match (next, timer) {
                (Some((when, i)), timer) if timer.is_none_or(|(due, _)| when <= due) => {
                    if when > end {
                        break;
                    }
                    let (_, k, input) = self.due.remove(i);
                    self.now = self.now.max(when);
                    self.give(k, Some(input));
                }
                (_, Some((when, k))) if when <= end => {
                    self.now = self.now.max(when);
                    self.give(k, None);
                }
                _ => break,
            }
        }
        self.now = end;
    }

    fn tape(&mut self, k: usize) -> Vec<u8> {
        let one = &mut self.all[k];
        one.writer.checkpoint(self.now, &mut one.lines);
        one.lines.iter().map(|line| qlog::frame(line)).collect::<String>().into_bytes()
    }
}
