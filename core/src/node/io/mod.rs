//! The boundary between a node and its host: everything that can happen to a
//! node, and everything it can ask for, each by the service it is about, so that
//! node and host match it once.
//!
//! File bytes do not pass through here. [`ConnOutput::Serve`] and
//! [`ConnOutput::Store`] hand a range to the host, which reports progress.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

mod command;
mod files;

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

pub use self::command::{
    FetchCommand, HttpCommand, MeetAnswer, MeetCommand, MessageCommand, NodeAnswer, NodeCommand,
    OverlayCommand, SearchHit, ServiceName,
};
pub use self::files::{FileInfo, FileRef, HostRow, NodeOp, RestoredNode, RunBit};
use super::inbox::InboxUsage;
use super::swarm;
use crate::fetch::{DialError, StoreError};
use crate::id::{ConnId, FetchId, FileIndex, Sha1, Tth};
use crate::lease::Partition;
use crate::lease::membership::Leader;
use crate::queue::StoredEntry;
use crate::unicast::{DeliveryOrder, MessageRefusal, UnicastConnId, UnicastPayload};

/// Something that happened to a node.
///
/// ```
/// use servent_core::engine::{Engine, Fx};
/// use servent_core::id::ConnId;
/// use servent_core::node::{Config, ConnEvent, ConnInput, Event, Input, Misuse, Node};
/// use servent_core::time::Instant;
///
/// // What a host does wrong is reported, not skipped.
/// let (mut node, mut fx) = (Node::new(Config::default(), 42), Fx::new());
/// let closed = Input::Connection(ConnId(0), ConnInput::Closed);
/// node.handle(Instant::from_secs(1), closed, &mut fx);
/// let fault = Event::Conn(ConnEvent::Misuse { fault: Misuse::NotStarted });
/// assert!(fx.events().eq([&fault]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The very first input, with what the store remembered.
    Start(RestoredNode),
    /// Something happened on a connection.
    Connection(ConnId, ConnInput),
    /// What is in the shared folders and in the inbox has changed.
    Disk(DiskInput),
    /// The answer to a [`FetchOutput`].
    Fetch(FetchInput),
    /// About datagrams, and the messages in them.
    Messages(MessageInput),
    /// The host's answer to [`Output::Swarm`].
    Swarm(swarm::Input),
    /// About the store, and the site that shares it.
    Site(SiteInput),
    /// A command of the user.
    Command(NodeCommand),
}

/// Something that happened on a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnInput {
    /// A peer connected. The number of the connection is even and new; `local`
    /// is our address that it connected to, when the host knows it.
    Accepted { peer: SocketAddr, local: Option<SocketAddr> },
    /// A dial succeeded.
    Dialed { local: SocketAddr },
    /// A dial failed.
    DialFailed { why: DialError },
    /// Bytes were received, in order, split anywhere.
    Bytes {
        #[serde(with = "crate::hex")]
        data: Vec<u8>,
    },
    /// The connection is gone in both directions; no further input about it
    /// follows.
    Closed,
    /// So many bytes of earlier writes are still unsent.
    Backlog { bytes: u64 },
    /// So many bytes of the range being served have been taken by the peer, as
    /// far as the host can tell, counted from the start of that range. All of
    /// them count as taken as soon as the host does not need the file any more.
    Served { bytes: u64 },
    /// So many bytes of the range being stored are safe on disk, counted
    /// from the start of that range.
    Stored { bytes: u64 },
    /// The body being stored by [`ConnOutput::StoreBody`] has ended, and all of
    /// it is safe on disk. `unread` are bytes received after it; when the
    /// connection's end was the end of the body, [`ConnInput::Closed`] follows.
    BodyEnded {
        #[serde(with = "crate::hex")]
        unread: Vec<u8>,
    },
    /// The range being stored cannot be written, or the file being served
    /// cannot be read any more.
    DiskFailed { why: StoreError },
    /// The answer to [`ConnOutput::Authenticate`]: whether the credentials are good.
    #[serde(rename = "judged")]
    Authenticated { good: bool },
    /// The answer to [`ConnOutput::Commit`]: the file is in the inbox under this
    /// name.
    #[serde(rename = "kept")]
    Committed { name: String },
    /// After [`SiteInput::StoreUnavailable`]: what waited to be said on this connection
    /// was given up before it could be saved, and nothing of it is said. The
    /// host asks [`Node::may_retract`] first. `several`: these were several
    /// writes, so that it is unknown which replies are missing, and the
    /// connection must end.
    ///
    /// [`Node::may_retract`]: super::Node::may_retract
    #[serde(rename = "unsaid")]
    Retracted { several: bool },
}

/// What is in the shared folders and in the inbox has changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DiskInput {
    /// A file is shared from now on, or its entry changed (its hash became
    /// known).
    Shared(FileInfo),
    /// A file is no longer shared.
    Unshared { index: FileIndex },
    /// What is in the inbox, into which visitors may upload files; `None` when
    /// there is none, as before the first of these.
    Inbox { held: Option<InboxUsage> },
}

/// The answer to a [`FetchOutput`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchInput {
    /// The answer to [`FetchOutput::Verify`]. A host that cannot hash answers
    /// `None`: then a download whose hash was not known is complete, and any
    /// other fails.
    Verified { fetch: FetchId, sha1: Option<Sha1> },
    /// The answer to [`FetchOutput::Hash`]: the hash tree node (THEX) of the
    /// piece that begins at `start`. A host that cannot hash answers `None`:
    /// then pieces are not checked.
    Hashed { fetch: FetchId, start: u64, tth: Option<Tth> },
    /// The answer to [`FetchOutput::Verify`] and [`FetchOutput::Hash`] when the
    /// part file cannot be read.
    VerifyFailed { fetch: FetchId, why: StoreError },
}

/// About datagrams, and the messages in them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageInput {
    /// Datagrams of one peer, concatenated: each is `segment` bytes long, the
    /// last one may be shorter.
    Datagrams {
        from: SocketAddr,
        segment: u32,
        #[serde(with = "crate::hex")]
        data: UnicastPayload,
    },
    /// The host's turn is over: messages and acknowledgements that are due are
    /// sent now, together. Without this they are sent at the next timeout,
    /// whose deadline is the present as long as something waits.
    Flush,
    /// What the system said of the path of datagrams.
    Path(PathNews),
}

/// What a system says of the path to a peer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathNews {
    /// It refused to send a datagram of so many bytes to it.
    TooLarge { to: SocketAddr, bytes: u32 },
    /// So many datagrams that it received from it had a mark of congestion (RFC
    /// 3168).
    Marked { from: SocketAddr, datagrams: u64 },
    /// So many datagrams left for it with a mark of our own: its acknowledgements tell
    /// whether marks arrive (RFC 9002 §8.3).
    TestMarks { to: SocketAddr, datagrams: u64 },
}

/// About the store, and the site that shares it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SiteInput {
    /// What is to be saved cannot be saved for now. Until
    /// [`SiteInput::StoreAvailable`], requests that would be promised something are
    /// told to come back, and no client loses a place for being late. Requests
    /// that are held are answered when their time is over, as always.
    #[serde(rename = "store_away")]
    StoreUnavailable,
    /// Everything can be saved again. No client is blamed for what it could not
    /// ask meanwhile.
    #[serde(rename = "store_back")]
    StoreAvailable,
    /// This servent is a member of a divided site: who answers for each part of
    /// it, as [`Partition`] counts them. Only parts that [`SiteInput::Leads`] has
    /// given it are its own, until this says otherwise: then their places and
    /// slots are let go, and stay in the store for the member that leads them
    /// next.
    Divided { leaders: Vec<Leader> },
    /// This servent leads these parts of its site from now on. `queue`: their
    /// places and slots, as the store remembers them, in order of arrival.
    Leads { parts: BTreeSet<Partition>, queue: Vec<StoredEntry> },
}

/// Something a node asks of its host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// To be done with a connection.
    Connection(ConnId, ConnOutput),
    /// To be done with the file of a download.
    Fetch(FetchOutput),
    /// Save a change. It is durable before any later output of the same list is
    /// carried out: that is the write-ahead rule.
    Persist(NodeOp),
    /// About datagrams, and the messages in them.
    Messages(MessageOutput),
    /// An output of the swarm service.
    Swarm(swarm::Output),
    /// An answer to the user.
    Answer(NodeAnswer),
}

/// What a host is to do with a connection.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ConnOutput {
    /// Open it. Its number is odd and new.
    Dial { to: SocketAddr },
    /// Send bytes, after everything asked for earlier on this connection.
    Write {
        #[serde(with = "crate::hex")]
        data: Vec<u8>,
    },
    /// Close it. `flush` sends what is still to be written first; the host
    /// limits how long that may take. The only further input about it is
    /// [`ConnInput::Closed`].
    Close { flush: bool },
    /// Send bytes `start..end` of a file, which may be none, after everything
    /// asked for earlier on this connection; report with [`ConnInput::Served`].
    Serve { file: FileRef, start: u64, end: u64 },
    /// Write the next `end - start` bytes received on this connection to the
    /// file at `start`; report with [`ConnInput::Stored`]. `early` are the first
    /// of them, which were received along with the head. Bytes received after
    /// the range are [`ConnInput::Bytes`] again.
    Store {
        file: FileRef,
        start: u64,
        end: u64,
        #[serde(with = "crate::hex")]
        early: Vec<u8>,
    },
    /// Write the body received on this connection to a download, from its first
    /// byte: in chunks (RFC 9112 §7.1), or until the connection ends. Report
    /// progress with [`ConnInput::Stored`] and the end with
    /// [`ConnInput::BodyEnded`]. A body that is longer than `most` bytes, or is
    /// not chunked as announced, ends the connection.
    StoreBody {
        fetch: FetchId,
        chunked: bool,
        most: u64,
        #[serde(with = "crate::hex")]
        early: Vec<u8>,
    },
    /// The client sent these credentials (`Authorization`, RFC 7617); answered
    /// with [`ConnInput::Authenticated`]. Its request waits until then.
    #[serde(rename = "judge")]
    Authenticate { words: String },
    /// Write the body received on this connection, of `size` bytes or else in
    /// chunks of at most `most` bytes together, to a new file of the inbox that
    /// is hidden until it has its name; `early` are its first bytes. Progress
    /// and end are reported as for [`ConnOutput::Store`] and
    /// [`ConnOutput::StoreBody`]. When the connection ends before
    /// [`ConnOutput::Commit`], nothing is left of it.
    Incoming {
        size: Option<u64>,
        most: u64,
        #[serde(with = "crate::hex")]
        early: Vec<u8>,
    },
    /// Give the file received on this connection this name, or a similar one when
    /// that is taken: nothing is replaced. Answered with [`ConnInput::Committed`] or
    /// [`ConnInput::DiskFailed`].
    #[serde(rename = "keep")]
    Commit { name: String },
}

/// What a host is to do with the file of a download.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchOutput {
    /// Create the part file, or open it again.
    Allocate { fetch: FetchId, name: String, size: Option<u64> },
    /// Hash bytes `start..end` as they are on disk now, as one piece of a hash
    /// tree; answered with [`FetchInput::Hashed`].
    Hash { fetch: FetchId, start: u64, end: u64 },
    /// Hash a finished download; answered with [`FetchInput::Verified`].
    Verify { fetch: FetchId },
    /// A download is complete and verified: give it its final name.
    Complete { fetch: FetchId },
}

/// What a host is to do with datagrams, and with the messages in them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageOutput {
    /// Send datagrams to one peer, cut from `data`: each is `segment` bytes
    /// long, the last one may be shorter.
    Datagrams {
        to: SocketAddr,
        segment: u32,
        #[serde(with = "crate::hex")]
        data: UnicastPayload,
    },
    /// Messages of one connection for the application, each delivered exactly
    /// once.
    Deliver { from: SocketAddr, conn: UnicastConnId, messages: Vec<UnicastMessage> },
    /// Messages that were not accepted, back to their sender: the first one for
    /// this reason, the others because they come after it.
    Refused { to: SocketAddr, messages: Vec<UnicastMessage>, why: MessageRefusal },
    /// After [`MessageRefusal::Full`]: there is room again.
    Writable { to: SocketAddr },
}

/// A message sent in datagrams.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct UnicastMessage {
    /// When it is delivered: in order, or as soon as it is complete.
    pub order: DeliveryOrder,
    /// Its bytes.
    #[serde(with = "crate::hex")]
    pub data: UnicastPayload,
}
