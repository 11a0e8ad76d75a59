//! Strangers who do whatever some bytes tell them, against a node that serves
//! an honest client at the same time. Shared by the property test and the
//! fuzzer.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::{ConnId, FileIndex, Sha1};
use servent_core::node::{
    Config, ConnInput, ConnOutput, DialError, FileInfo, Input, Node, NodeLimits, Output,
    OverlayConfig, RestoredNode, RunBit, StoreError,
};
use servent_core::queue::{self, FileKey};
use servent_core::time::{Duration, Instant};
use servent_core::trace::Event;

/// Effects that one input may have.
const MAX_EFFECTS: usize = 2_000;
/// Bytes that the node may send because of one input.
const MAX_REPLY: usize = 256 * 1024;
/// The honest client may ask between 45 s and 120 s after its reply; the
/// strangers have less time than that.
const MAX_TIME: Duration = Duration::from_secs(110);
/// Requests a stranger need not invent.
const TEMPLATES: [&[u8]; 16] = [
    b"GET /get/1/song.ogg HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /get/1/song.ogg HTTP/1.1\r\nHost: x\r\nX-Queue: 0.1\r\n\r\n",
    b"GET /get/1/song.ogg HTTP/1.1\r\nHost: x\r\nX-Queue: 1.0\r\nX-Node: 9.9.9.9:9\r\n\r\n",
    b"GET /get/1/song.ogg HTTP/1.1\r\nHost: x\r\nX-Queue: 1.1\r\nRange: bytes=10-\r\n\r\n",
    b"HEAD /get/1/song.ogg HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
    b"GET /uri-res/N2R?urn:sha1:PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB HTTP/1.0\r\n\r\n",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n",
    b"QUEUE 6a074979f3201edbf323b6425fef4a53 1.2.3.4:5\r\n",
    b"GIV 1:6a074979f3201edbf323b6425fef4a53/song.ogg\n\n",
    b"HTTP/1.1 503 Queued\r\nX-Queue: position=1,pollMin=1,pollMax=2\r\n\r\n",
    b"GET /get/1/song.ogg HTTP/1.1\r\nHost: x\r\nX-Queue: 1.0\r\nX-Queued: position=1; ID=",
    b"GNUTELLA CONNECT/0.6\r\nUser-Agent: x\r\nX-Try: 1.2.3.4:5,9.8.7.6:5\r\n\r\n",
    b"GNUTELLA/0.6 200 OK\r\n\r\n",
    b"0123456789abcdef\0\x07\0\0\0\0\0",
    b"0123456789abcdeg\x80\x07\0\x07\0\0\0\0\0song\0",
];

/// The node, its honest client, and what the host of both keeps.
struct Play<'a> {
    data: &'a [u8],
    node: Node,
    now: Instant,
    open: BTreeSet<ConnId>,
    serving: BTreeMap<ConnId, (u64, u64)>,
    next: u64,
    victim: String,
}

/// Runs the strangers.
///
/// # Panics
/// When the node panics, grows past its limits, or the honest client loses
/// its place.
pub(crate) fn run(data: &[u8]) {
    let mut play = Play::begin(data);
    while let Some(op) = play.byte() {
        match op % 8 {
            0 => play.connect(),
            1 => play.say(),
            2 => play.ask(),
            3 => play.hang_up(),
            4 => play.wait(),
            5 => play.progress(),
            6 => play.report(),
            _ => play.end_with_an_id(),
        }
        play.check();
    }
}

fn honest(n: u8) -> SocketAddr {
    SocketAddr::from(([10, 0, 0, n], 4000))
}

impl<'a> Play<'a> {
    /// One slot, taken by an honest client; the next honest client waits.
    fn begin(data: &'a [u8]) -> Self {
        let limits = NodeLimits { connections: 24, connections_per_ip: 8, ..NodeLimits::default() };
        let queue = queue::Config { slots: 1, capacity: 12, per_ip: 4, ..queue::Config::default() };
        let overlay = OverlayConfig { enabled: true, ..OverlayConfig::default() };
        let config = Config { limits, queue, overlay, ..Config::default() };
        let mut play = Play {
            data,
            node: Node::new(config, 1),
            now: Instant::from_secs(1),
            open: BTreeSet::new(),
            serving: BTreeMap::new(),
            next: 0,
            victim: String::new(),
        };
        let sha1 = Sha1::parse(b"PLSTHIPQGSSZTS5FJUPAKUZWUGYQYPFB");
        let file = FileInfo {
            index: FileIndex(1),
            name: "song.ogg".into(),
            size: 5_000_000,
            sha1,
            key: FileKey(1),
            modified: None,
            tree: None,
            run: RunBit(false),
        };
        let listen = Some(SocketAddr::from(([10, 0, 0, 99], 6346)));
        let restored = RestoredNode { listen, shared: vec![file], ..RestoredNode::default() };
        play.give(Input::Start(restored));
        for n in 1..=2 {
            let conn = play.accept(honest(n));
            play.give(Input::Connection(conn, ConnInput::Bytes { data: TEMPLATES[1].to_vec() }));
        }
        let view = play.node.view(1, 9);
        assert_eq!((view.queue.length, view.queue.free), (1, 0), "the honest clients are in");
        play.victim.clone_from(&view.queue.cards[0].ticket);
        play
    }

    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.data.split_first()?;
        self.data = rest;
        Some(*first)
    }

    fn stranger(&mut self) -> Option<ConnId> {
        let n = usize::from(self.byte()?);
        let strangers: Vec<_> = self.open.iter().filter(|conn| conn.0 > 2).collect();
        strangers.get(n.checked_rem(strangers.len())?).map(|conn| **conn)
    }

    fn accept(&mut self, peer: SocketAddr) -> ConnId {
        let conn = ConnId(self.next);
        self.next += 2;
        self.open.insert(conn);
        self.give(Input::Connection(conn, ConnInput::Accepted { peer, local: None }));
        conn
    }

    fn connect(&mut self) {
        let n = self.byte().unwrap_or_default();
        self.accept(SocketAddr::from(([10, 1, 0, n % 4], 5000)));
    }

    fn say(&mut self) {
        let (Some(conn), Some(length)) = (self.stranger(), self.byte()) else { return };
        let length = usize::from(length).min(self.data.len());
        let (said, rest) = self.data.split_at(length);
        self.data = rest;
        self.give(Input::Connection(conn, ConnInput::Bytes { data: said.to_vec() }));
    }

    fn ask(&mut self) {
        let (Some(conn), Some(which)) = (self.stranger(), self.byte()) else { return };
        let request = TEMPLATES[usize::from(which) % TEMPLATES.len()];
        self.give(Input::Connection(conn, ConnInput::Bytes { data: request.to_vec() }));
    }

    /// Ends a request that was left open with an id that no client has.
    fn end_with_an_id(&mut self) {
        let Some(conn) = self.stranger() else { return };
        let data = b"0000000000000000000000000000000a\r\n\r\n".to_vec();
        self.give(Input::Connection(conn, ConnInput::Bytes { data }));
    }

    fn hang_up(&mut self) {
        let Some(conn) = self.stranger() else { return };
        self.open.remove(&conn);
        self.serving.remove(&conn);
        self.give(Input::Connection(conn, ConnInput::Closed));
    }

    fn wait(&mut self) {
        let length = Duration::from_millis(u64::from(self.byte().unwrap_or_default()) * 20);
        self.now = (self.now + length).min(Instant::from_secs(1) + MAX_TIME);
        for _ in 0..100 {
            let Some((due, name)) = self.node.poll_timeout() else { return };
            if due > self.now {
                return;
            }
            let mut fx = Fx::new();
            self.node.handle_timeout(self.now, &mut fx);
            self.carry(fx);
            let next = self.node.poll_timeout().map(|(next, _)| next);
            assert!(next.is_none_or(|next| next > self.now), "{name} is due again at once");
        }
    }

    fn progress(&mut self) {
        let Some(conn) = self.stranger() else { return };
        let Some((sent, size)) = self.serving.get_mut(&conn) else { return };
        *sent = (*sent + 1_000_000).min(*size);
        let (bytes, done) = (*sent, sent == size);
        if done {
            self.serving.remove(&conn);
        }
        self.give(Input::Connection(conn, ConnInput::Served { bytes }));
    }

    fn report(&mut self) {
        let (Some(conn), Some(what)) = (self.stranger(), self.byte()) else { return };
        if what % 2 == 0 {
            self.give(Input::Connection(
                conn,
                ConnInput::Backlog { bytes: u64::from(what) * 4_096 },
            ));
        } else if self.serving.contains_key(&conn) {
            self.give(Input::Connection(conn, ConnInput::DiskFailed { why: StoreError::Changed }));
        }
    }

    fn give(&mut self, input: Input) {
        let mut fx = Fx::new();
        self.node.handle(self.now, input, &mut fx);
        self.carry(fx);
    }

    /// What a host does with effects; disks and dials always fail.
    fn carry(&mut self, mut fx: Fx<Output, Event>) {
        assert!(fx.len() <= MAX_EFFECTS, "{} effects of one input", fx.len());
        let mut reply = 0;
        let mut follow = Vec::new();
        for effect in fx.drain() {
            let Effect::Output(output) = effect else { continue };
            match output {
                Output::Connection(_, ConnOutput::Write { data, .. }) => reply += data.len(),
                Output::Connection(conn, ConnOutput::Close { .. }) => {
                    self.serving.remove(&conn);
                    if self.open.remove(&conn) {
                        follow.push(Input::Connection(conn, ConnInput::Closed));
                    }
                }
                Output::Connection(conn, ConnOutput::Serve { start, end, .. }) => {
                    self.serving.insert(conn, (0, end - start));
                }
                Output::Connection(conn, ConnOutput::Dial { .. }) => {
                    follow.push(Input::Connection(
                        conn,
                        ConnInput::DialFailed { why: DialError::Refused },
                    ));
                }
                Output::Connection(
                    conn,
                    ConnOutput::Store { .. }
                    | ConnOutput::StoreBody { .. }
                    | ConnOutput::Incoming { .. },
                ) => {
                    follow.push(Input::Connection(
                        conn,
                        ConnInput::DiskFailed { why: StoreError::Full },
                    ));
                }
                _ => {}
            }
        }
        assert!(reply <= MAX_REPLY, "{reply} bytes of reply to one input");
        for input in follow {
            self.give(input);
        }
    }

    /// The honest client stands where it stood, and nothing has outgrown its
    /// limit.
    fn check(&self) {
        let view = self.node.view(1, 64);
        let card = view.queue.cards.iter().find(|card| card.ticket == self.victim);
        let position = card.map(|card| card.position);
        assert_eq!(position, Some(1), "the honest client has lost its place");
        assert!(view.queue.length <= 12, "{} places", view.queue.length);
        assert!(view.connections <= 24, "{} connections", view.connections);
        assert!(view.queue.uploads.len() <= 1, "more uploads than slots");
    }
}
