//! Exports a recording as a capture file for Wireshark.
//!
//! A recording contains what was received; what was sent is computed by running the
//! node again. Every connection becomes a TCP conversation with invented
//! sequence numbers, the serving side on port 8080, or on 6346 for a connection
//! of the overlay: the dissector of its messages cannot read HTTP heads.
//! Compressed messages are shown inflated. The events of an input are comments
//! on the packet they led to. File bytes are not on a recording: their packets have
//! the true length and are truncated after the headers. Datagrams are UDP with
//! their true bytes.

mod blocks;
mod flow;
mod packet;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use self::flow::TcpFlow;
use self::packet::{ACK, Ends, FIN, PSH, SYN, Segment};
use super::qlog::LineError;
use super::tape::RecordingLine;
use super::{Event, why};
use crate::engine::{Effect, Engine, Fx};
use crate::id::ConnId;
use crate::node::{ConnInput, ConnOutput, Input, MessageInput, MessageOutput, Node, Output};
use crate::time::Instant;
use crate::trace::{NodeId, Record};

/// The port on which dissectors expect HTTP.
const PORT: u16 = 8080;
/// Bytes of file content in one invented packet.
const SLICE: u64 = 32 * 1024;
/// Maximum length of a datagram.
const LONGEST_DATAGRAM: usize = 65_507;
/// Maximum length of a comment on a packet.
const COMMENT: usize = 16 * 1024;

/// Turns the lines of a recording into a capture, line by line.
#[derive(Debug, Clone)]
pub struct Exporter {
    out: Vec<u8>,
    node: Option<Node>,
    own: SocketAddr,
    flows: BTreeMap<ConnId, TcpFlow>,
    comment: String,
    packets: u64,
}

impl Default for Exporter {
    fn default() -> Self {
        Self::new()
    }
}

impl Exporter {
    /// A capture without packets.
    #[must_use]
    pub fn new() -> Self {
        let mut out = Vec::new();
        blocks::header(&mut out);
        Self {
            out,
            node: None,
            own: SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), PORT),
            flows: BTreeMap::new(),
            comment: String::new(),
            packets: 0,
        }
    }

    /// Takes the next line. A line that cannot be parsed, or a gap, ends the
    /// capture: what was sent after it is not known.
    pub fn feed(&mut self, line: Result<RecordingLine, LineError>) {
        match line {
            Ok(RecordingLine::Start(start)) => {
                self.node = Some(Node::new(start.config, start.seed))
            }
            Ok(RecordingLine::Input { at, input }) => {
                self.before(at, &input);
                self.run(at, |node, fx| node.handle(at, input, fx));
            }
            Ok(RecordingLine::Timeout { at }) => {
                self.run(at, |node, fx| node.handle_timeout(at, fx))
            }
            Ok(RecordingLine::Gap { .. }) | Err(_) => self.node = None,
            Ok(_) => {}
        }
    }

    /// The number of packets.
    #[must_use]
    pub const fn packets(&self) -> u64 {
        self.packets
    }

    /// The capture file.
    #[must_use]
    pub fn finish(self) -> Vec<u8> {
        self.out
    }

    /// The packets of an input.
    fn before(&mut self, at: Instant, input: &Input) {
        if self.node.is_none() {
            return;
        }
        match input {
            Input::Start(restored) => {
                if let Some(listen) = restored.listen {
                    self.own = SocketAddr::new(listen.ip(), PORT);
                }
            }
            Input::Connection(conn, ConnInput::Accepted { peer, .. }) => {
                let ours = same_family(self.own, *peer);
                let mut flow = TcpFlow::new(ours, *peer, false);
                flow.open(at);
                self.flows.insert(*conn, flow);
            }
            Input::Connection(conn, ConnInput::Dialed { local }) => {
                if let Some(flow) = self.flows.get_mut(conn) {
                    flow.ours = *local;
                    flow.open(at);
                }
            }
            Input::Connection(conn, ConnInput::Bytes { data }) => self.data(at, *conn, false, data),
            Input::Connection(conn, ConnInput::Served { bytes }) => {
                self.content(at, *conn, true, *bytes)
            }
            Input::Connection(conn, ConnInput::Stored { bytes }) => {
                self.content(at, *conn, false, *bytes)
            }
            Input::Connection(conn, ConnInput::Closed) => {
                self.close(at, *conn, false);
                self.flows.remove(conn);
            }
            Input::Connection(conn, ConnInput::DialFailed { .. }) => drop(self.flows.remove(conn)),
            Input::Messages(MessageInput::Datagrams { from, segment, data }) => {
                self.datagrams(at, *from, false, *segment, data);
            }
            _ => {}
        }
    }

    fn run(&mut self, at: Instant, go: impl FnOnce(&mut Node, &mut Fx<Output, Event>)) {
        let Some(node) = &mut self.node else { return };
        let mut fx = Fx::new();
        go(node, &mut fx);
        for effect in fx.drain() {
            match effect {
                Effect::Event(event) => self.remark(at, event),
                Effect::Output(output) => self.after(at, output),
            }
        }
    }

    /// The packets of an output.
    fn after(&mut self, at: Instant, output: Output) {
        match output {
            Output::Connection(conn, ConnOutput::Dial { to }) => {
                let theirs = SocketAddr::new(to.ip(), PORT);
                let ours = same_family(self.own, theirs);
                self.flows.insert(conn, TcpFlow::new(ours, theirs, true));
            }
            Output::Connection(conn, ConnOutput::Write { data }) => {
                self.data(at, conn, true, &data)
            }
            Output::Connection(conn, ConnOutput::Serve { .. }) => {
                if let Some(flow) = self.flows.get_mut(&conn) {
                    flow.served = 0;
                }
            }
            Output::Connection(
                conn,
                ConnOutput::Store { early, .. }
                | ConnOutput::StoreBody { early, .. }
                | ConnOutput::Incoming { early, .. },
            ) => {
                if let Some(flow) = self.flows.get_mut(&conn) {
                    // Those were written along with the head.
                    flow.stored = early.len() as u64;
                }
            }
            Output::Connection(conn, ConnOutput::Close { .. }) => self.close(at, conn, true),
            Output::Messages(MessageOutput::Datagrams { to, segment, data }) => {
                self.datagrams(at, to, true, segment, &data)
            }
            _ => {}
        }
    }

    /// Keeps an event as a comment for the next packet.
    fn remark(&mut self, at: Instant, event: Event) {
        let record = Record { seq: 0, at, node: NodeId(0), cause: None, event };
        let why = why::explain(&record);
        let clause = why.clause.map(|c| format!(" [{c}]")).unwrap_or_default();
        let line = format!("{} {}{clause}\n", why.key, why.args);
        if self.comment.len() + line.len() <= COMMENT {
            self.comment.push_str(&line);
        }
    }

    /// The three packets that open a connection, before its first other packet:
    /// `first`, or none.
    fn begin(&mut self, conn: ConnId, first: &[u8]) {
        let Some(flow) = self.flows.get_mut(&conn) else { return };
        let by_us = flow.by_us;
        let Some(at) = flow.begins(first) else { return };
        self.segment(at, conn, by_us, &[], 0, SYN);
        self.segment(at, conn, !by_us, &[], 0, SYN | ACK);
        self.segment(at, conn, by_us, &[], 0, ACK);
    }

    /// Bytes of a connection.
    fn data(&mut self, at: Instant, conn: ConnId, by_us: bool, data: &[u8]) {
        self.begin(conn, data);
        let shown = self.flows.get_mut(&conn).map(|flow| flow.shown(by_us, data));
        for piece in shown.unwrap_or_default() {
            self.segment(at, conn, by_us, &piece, 0, ACK | PSH);
        }
    }

    fn close(&mut self, at: Instant, conn: ConnId, by_us: bool) {
        self.begin(conn, &[]);
        let Some(flow) = self.flows.get_mut(&conn).filter(|f| !f.closed) else { return };
        flow.closed = true;
        self.segment(at, conn, by_us, &[], 0, FIN | ACK);
    }

    /// File content up to `bytes` of its range.
    fn content(&mut self, at: Instant, conn: ConnId, by_us: bool, bytes: u64) {
        let Some(flow) = self.flows.get_mut(&conn) else { return };
        let shown = if by_us { &mut flow.served } else { &mut flow.stored };
        let mut left = bytes.saturating_sub(*shown);
        *shown = bytes.max(*shown);
        while left > 0 {
            let slice = left.min(SLICE);
            self.segment(at, conn, by_us, &[], slice as u32, ACK);
            left -= slice;
        }
    }

    /// Datagrams, split from `data`, between us and a peer.
    fn datagrams(&mut self, at: Instant, peer: SocketAddr, by_us: bool, each: u32, data: &[u8]) {
        let ours = same_family(self.own, peer);
        for data in data.chunks((each as usize).clamp(1, LONGEST_DATAGRAM)) {
            let (from, to) = if by_us { (ours, peer) } else { (peer, ours) };
            let bytes = Ends { from, to }.datagram(data);
            let whole = bytes.len() as u32;
            blocks::packet(&mut self.out, peer.is_ipv6(), at, &bytes, whole, &self.comment);
            self.comment.clear();
            self.packets += 1;
        }
    }

    /// One packet, or several when `data` is long. `absent` bytes follow that
    /// are not captured.
    fn segment(
        &mut self,
        at: Instant,
        conn: ConnId,
        by_us: bool,
        data: &[u8],
        absent: u32,
        flags: u8,
    ) {
        let Some(flow) = self.flows.get_mut(&conn) else { return };
        let mut pieces = data.chunks(SLICE as usize);
        let mut piece = pieces.next().unwrap_or_default();
        loop {
            let (from, to) =
                if by_us { (flow.ours, flow.theirs) } else { (flow.theirs, flow.ours) };
            let (number, acknowledged) = if by_us {
                (&mut flow.sent, flow.received)
            } else {
                (&mut flow.received, flow.sent)
            };
            let segment = Segment {
                ends: Ends { from, to },
                number: *number,
                acknowledged: if flags & ACK == 0 { 0 } else { acknowledged },
                flags,
                data: piece,
                absent,
            };
            let phantom = u32::from(flags & (SYN | FIN) != 0);
            *number = number.wrapping_add(piece.len() as u32 + absent + phantom);
            let (bytes, whole) = segment.print();
            blocks::packet(&mut self.out, from.is_ipv6(), at, &bytes, whole, &self.comment);
            self.comment.clear();
            self.packets += 1;
            match pieces.next() {
                Some(next) => piece = next,
                None => return,
            }
        }
    }
}

/// Our own address as `other` sees it: of the same family, and not `0.0.0.0`.
fn same_family(own: SocketAddr, other: SocketAddr) -> SocketAddr {
    if own.is_ipv4() == other.is_ipv4() && !own.ip().is_unspecified() {
        own
    } else if other.ip().is_loopback() {
        SocketAddr::new(other.ip(), own.port())
    } else if other.is_ipv4() {
        SocketAddr::from(([10, 0, 0, 1], own.port()))
    } else {
        SocketAddr::from(([0xfd00, 0, 0, 0, 0, 0, 0, 1], own.port()))
    }
}
