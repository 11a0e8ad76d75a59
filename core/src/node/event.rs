//! What a node reports to observers.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::fetch::{self, DialError};
use crate::id::{ConnId, FileIndex, NodeId};
use crate::wire::http::{HttpMethod, HttpVersion, RequestHead};
use crate::wire::unicast::PacketError;
use crate::{meet, queue, routing, swarm, unicast};

/// Every event, one variant per engine.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Event {
    /// Connections and requests.
    Conn(ConnEvent),
    /// The upload queue.
    Queue(queue::Event),
    /// Downloads.
    Fetch(fetch::Event),
    /// The environment of the nodes: faults and the disk.
    World(WorldEvent),
    /// The overlay.
    Routing(routing::Event),
    /// Reliable messages over datagrams.
    Unicast(unicast::Event),
    /// The coordinator of a swarm.
    Swarm(swarm::Event),
    /// A client of a swarm.
    Client(swarm::client::Event),
    /// Meetings.
    Meet(meet::Event),
}

/// Something that happened on a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum ConnEvent {
    /// The node has started.
    Started { restored_places: u32, restored_fetches: u32, shared: u32 },
    /// A peer connected to us.
    Accepted { conn: ConnId, peer: SocketAddr },
    /// We start to connect.
    Dialing { conn: ConnId, to: SocketAddr },
    /// We are connected.
    Dialed { conn: ConnId },
    /// We could not connect.
    DialFailed { conn: ConnId, why: DialError },
    /// A whole request head was received. `range` as requested; `-n` means the
    /// last n bytes.
    Request {
        conn: ConnId,
        method: String,
        target: String,
        range: Option<String>,
        agent: Option<String>,
        #[serde(default)]
        version: Minor,
    },
    /// We sent the head of a reply.
    Reply { conn: ConnId, status: u16, start: u64, end: u64 },
    /// A whole response head was received.
    Response { conn: ConnId, status: u16 },
    /// A `QUEUE` or `GIV` line was received.
    Line { conn: ConnId, line: String },
    /// A file body was sent completely.
    Sent { conn: ConnId, bytes: u64 },
    /// A limit was reached, and something was refused for it.
    Limit { conn: ConnId, limit: NodeLimit },
    /// We close the connection.
    Closing { conn: ConnId, why: String },
    /// The connection is gone.
    Closed { conn: ConnId },
    /// The node has stopped.
    Stopped,
    /// A datagram that is not of our protocol was received and dropped.
    Garbled { from: SocketAddr, bytes: u32, why: PacketError },
    /// The host broke its contract; its input was ignored.
    Misuse { fault: Misuse },
    /// A visitor uploads a file; `size` if it says how large it is.
    Incoming { conn: ConnId, name: String, size: Option<u64> },
    /// An uploaded file is complete and is in the inbox under this name.
    #[serde(rename = "kept")]
    Committed { conn: ConnId, name: String, bytes: u64 },
    /// What was to be said could not be saved in time and is not said: another
    /// reply takes its place.
    #[serde(rename = "unsaid")]
    Retracted { conn: ConnId },
    /// What is asked for belongs to another member of the site, or to none at
    /// the moment: the client is told where to ask.
    Elsewhere { conn: ConnId, to: Option<SocketAddr> },
    /// Others cannot connect to us, as a push shows that would not be needed
    /// otherwise; or one has connected after all.
    Firewall { closed: bool },
}

/// The minor version of HTTP/1 of a request: 0 or 1. It is no part of the digest
/// of a recording, so that those recorded before it was told still agree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Minor(pub u8);

impl Default for Minor {
    fn default() -> Self {
        Self(1)
    }
}

impl core::hash::Hash for Minor {
    fn hash<H: core::hash::Hasher>(&self, _: &mut H) {}
}

/// What a host must not do.
#[derive(
    Debug,
    Clone,
    Copy,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    thiserror::Error,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Misuse {
    /// An input came before [`super::Input::Start`].
    #[error("an input came before the start")]
    NotStarted,
    /// [`super::Input::Start`] came twice.
    #[error("the node was started twice")]
    StartedTwice,
    /// A connection was accepted under an odd number; those are the node's own.
    #[error("connection {} was accepted under an odd number, and those are the node's own", .conn.0)]
    Parity { conn: ConnId },
    /// A connection was accepted under a number that is in use.
    #[error("connection {} was accepted under the number of one that is there", .conn.0)]
    Repeated { conn: ConnId },
    /// A dial was reported that the node had not asked for, or twice.
    #[error("connection {} is none that is being dialed", .conn.0)]
    NotDialing { conn: ConnId },
    /// A file was named that is not shared.
    #[error("file {} is not shared", .index.0)]
    UnknownFile { index: FileIndex },
}

/// The limits of [`super::NodeLimits`] and [`super::InboxLimits`] that a peer can run into.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeLimit {
    /// Connections in total.
    Connections,
    /// Connections of one address.
    ConnectionsPerIp,
    /// Bytes of a head.
    HeadBytes,
    /// Lines of a head.
    HeadLines,
    /// Time to receive a whole head.
    RequestDeadline,
    /// Time without a request on a kept connection.
    IdleDeadline,
    /// Minimum rate of a reader.
    ReaderRate,
    /// Requests sent before earlier ones are answered.
    Pipeline,
    /// Unsent reply bytes.
    Backlog,
    /// Not a protocol we speak.
    Garbage,
    /// Failed dials to targets that strangers named.
    StrangerDials,
    /// Bytes of one file of the inbox.
    InboxFile,
    /// Bytes of the inbox.
    InboxBytes,
    /// Files of the inbox.
    InboxFiles,
    /// Bytes of the name of a file of the inbox.
    InboxName,
    /// Uploads into the inbox at the same time.
    InboxUploads,
    /// Minimum rate of a visitor who uploads.
    InboxRate,
}

/// What happens to a node from outside: a fault, or its end.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum WorldEvent {
    /// The links between two nodes were cut.
    Cut { other: NodeId },
    /// The node was killed; what it had not flushed is lost.
    Crashed,
    /// The node was restarted from its disk.
    Restarted,
    /// The node is stalled.
    Stalled,
    /// The node runs again after a stall.
    Resumed,
    /// A firewall was closed, so that no host can connect to the node, or opened
    /// again.
    Firewall { closed: bool },
    /// Its clock is off by this many microseconds.
    Clock { offset: i64 },
    /// Its user pressed a button: `ask_now`, `sleep`, `get`, `cancel`.
    User { action: String },
    /// It leads its site: it took the lease with this fencing number.
    Leads { fence: u64 },
    /// It stands by until the leader of the site is silent.
    StandsBy,
    /// Another member leads the site: it writes nothing any more, and ends.
    Replaced,
    /// The store of the site has what it wrote with this fencing number: all
    /// that its records before number `until` decided.
    Saved { fence: u64, until: u64 },
    /// It cannot reach the store of its site, or can again.
    StoreAway { away: bool },
    /// A fault: the store of the site is gone, or there again.
    Store { away: bool },
    /// A fault: the way between it and the store is cut, or there again.
    Apart { apart: bool },
    /// It leads these parts of its site and no other: a bit for each, the first 32
    /// in `low`.
    Parts { low: u32, high: u32 },
    /// The files that it shares became others of the same names, of that size if it is
    /// another one.
    Changed { size: Option<u64> },
}

/// The event that a whole request head was received.
pub(super) fn request_received(conn: ConnId, head: &RequestHead) -> ConnEvent {
    let method = match &head.method {
        HttpMethod::Get => "GET",
        HttpMethod::Head => "HEAD",
        HttpMethod::Other(other) => other,
    };
    ConnEvent::Request {
        conn,
        method: clip(method),
        target: clip(&head.target),
        range: head.headers.get("Range").map(clip),
        agent: head.headers.get("User-Agent").map(clip),
        version: Minor(u8::from(head.version == HttpVersion::Http11)),
    }
}

/// A stranger's text, cut to the length that an event repeats.
pub(super) fn clip(text: &str) -> String {
    const MOST: usize = 256;
    if text.len() <= MOST { text.into() } else { text.chars().take(MOST).collect() }
}
