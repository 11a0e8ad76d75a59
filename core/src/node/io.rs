//! The boundary between a node and its host: everything that can happen to a
//! node, and everything it can ask for.
//!
//! File bytes do not pass through here. [`Output::Serve`] and
//! [`Output::Store`] hand a range to the host, which reports progress.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::collections::BTreeSet;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::inbox::InboxMessage;
use super::swarm::{self, SwarmFile};
use crate::fetch::{self, DialError, DownloadSource, FetchFailure, Get, PartRow, StoreError};
use crate::id::{ConnId, FetchId, FileIndex, Guid, Sha1, Tth};
use crate::lease::Partition;
use crate::lease::membership::Leader;
use crate::queue::{FileKey, QueuePolicy, StoredEntry};
use crate::thex::Tree;
use crate::time::{Duration, Instant};
use crate::unicast::{DeliveryOrder, MessageRefusal, Side, UnicastConnId, UnicastPayload};

/// Something that happened to a node.
///
/// ```
/// use servent_core::engine::{Engine, Fx};
/// use servent_core::id::ConnId;
/// use servent_core::node::{Config, ConnEvent, Event, Input, Misuse, Node};
/// use servent_core::time::Instant;
///
/// // What a host does wrong is said, not passed over.
/// let (mut node, mut fx) = (Node::new(Config::default(), 42), Fx::new());
/// node.handle(Instant::from_secs(1), Input::Closed { conn: ConnId(0) }, &mut fx);
/// let fault = Event::Conn(ConnEvent::Misuse { fault: Misuse::NotStarted });
/// assert!(fx.events().eq([&fault]));
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The very first input, with what the store remembered.
    Start(RestoredNode),
    /// A peer connected. `conn` is even and new; `local` is our address that it
    /// connected to, when the host knows it.
    Accepted { conn: ConnId, peer: SocketAddr, local: Option<SocketAddr> },
    /// A dial succeeded.
    Dialed { conn: ConnId, local: SocketAddr },
    /// A dial failed.
    DialFailed { conn: ConnId, why: DialError },
    /// Bytes were received, in order, split anywhere.
    Bytes {
        conn: ConnId,
        #[serde(with = "crate::hex")]
        data: Vec<u8>,
    },
    /// The connection is gone in both directions; no further input about it
    /// follows.
    Closed { conn: ConnId },
    /// So many bytes of earlier writes are still unsent.
    Backlog { conn: ConnId, bytes: u64 },
    /// So many bytes of the range being served have been taken by the peer, as
    /// far as the host can tell, counted from the start of that range. All of
    /// them count as taken as soon as the host does not need the file any more.
    Served { conn: ConnId, bytes: u64 },
    /// So many bytes of the range being stored are safe on disk, counted
    /// from the start of that range.
    Stored { conn: ConnId, bytes: u64 },
    /// The body being stored by [`Output::StoreBody`] has ended, and all of it
    /// is safe on disk. `unread` are bytes received after it; when the
    /// connection's end was the end of the body, [`Input::Closed`] follows.
    BodyEnded {
        conn: ConnId,
        #[serde(with = "crate::hex")]
        unread: Vec<u8>,
    },
    /// The range being stored cannot be written, or the file being served
    /// cannot be read any more.
    DiskFailed { conn: ConnId, why: StoreError },
    /// The answer to [`Output::Verify`] and [`Output::Hash`] when the part file
    /// cannot be read.
    VerifyFailed { fetch: FetchId, why: StoreError },
    /// The answer to [`Output::Verify`]. A host that cannot hash answers
    /// `None`: then a download whose hash was not known is complete, and any
    /// other fails.
    Verified { fetch: FetchId, sha1: Option<Sha1> },
    /// A file is shared from now on, or its entry changed (its hash became
    /// known).
    Shared(FileInfo),
    /// A file is no longer shared.
    Unshared { index: FileIndex },
    /// Datagrams of one peer, concatenated: each is `segment` bytes long, the
    /// last one may be shorter.
    Datagrams {
        from: SocketAddr,
        segment: u32,
        #[serde(with = "crate::hex")]
        data: UnicastPayload,
    },
    /// A command of the user.
    Command(NodeCommand),
    /// The host's turn is over: messages and acknowledgements that are due are
    /// sent now, together. Without this they are sent at the next timeout,
    /// whose deadline is the present as long as something waits.
    Flush,
    /// The host's answer to [`Output::Swarm`].
    Swarm(swarm::Input),
    /// The answer to [`Output::Hash`]: the hash tree node (THEX) of the piece
    /// that begins at `start`. A host that cannot hash answers `None`: then
    /// pieces are not checked.
    Hashed { fetch: FetchId, start: u64, tth: Option<Tth> },
    /// The answer to [`Output::Judge`]: whether the credentials are good.
    Judged { conn: ConnId, good: bool },
    /// What is to be saved cannot be saved for now. Until
    /// [`Input::StoreBack`], requests that would be promised something are told
    /// to come back, and nobody loses a place for being late. Requests that are
    /// held are answered when their time is over, as always.
    StoreAway,
    /// Everything can be saved again. Nobody is blamed for what they could not
    /// ask meanwhile.
    StoreBack,
    /// What is in the inbox, into which visitors may upload files; `None` when
    /// there is none, as before the first of these.
    Inbox { held: Option<InboxMessage> },
    /// The answer to [`Output::Keep`]: the file is in the inbox under this name.
    Kept { conn: ConnId, name: String },
    /// After [`Input::StoreAway`]: what waited to be said on this connection was
    /// given up before it could be saved, and nothing of it is said. The host asks [`Node::may_unsay`] first.
    /// `several`: these were several writes, so that nobody knows any more which
    /// replies are missing, and the connection must end.
    ///
    /// [`Node::may_unsay`]: super::Node::may_unsay
    Unsaid { conn: ConnId, several: bool },
    /// This servent is a member of a divided site: who answers for each part of
    /// it, as [`Partition`] counts them. Only parts that [`Input::Leads`] has given it
    /// are its own, until this says otherwise: then their places and slots are
    /// let go, and stay in the store for whoever leads them next.
    ///
    /// [`Partition`]: crate::lease::Partition
    Divided { leaders: Vec<Leader> },
    /// This servent leads these parts of its site from now on. `queue`: their
    /// places and slots, as the store remembers them, in order of arrival.
    Leads { parts: BTreeSet<Partition>, queue: Vec<StoredEntry> },
}

/// Something a node asks of its host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Open a connection. `conn` is odd and new.
    Dial { conn: ConnId, to: SocketAddr },
    /// Send bytes, after everything asked for earlier on this connection.
    Write {
        conn: ConnId,
        #[serde(with = "crate::hex")]
        data: Vec<u8>,
    },
    /// Close a connection. `flush` sends what is still to be written first; the
    /// host limits how long that may take. The only further input about `conn`
    /// is `Closed`.
    Close { conn: ConnId, flush: bool },
    /// Send bytes `start..end` of a file, which may be none, after everything
    /// asked for earlier on this connection; report with [`Input::Served`].
    Serve { conn: ConnId, file: FileRef, start: u64, end: u64 },
    /// Write the next `end - start` bytes received on this connection to the
    /// file at `start`; report with [`Input::Stored`]. `early` are the first of
    /// them, which were received along with the head. Bytes received after the
    /// range are [`Input::Bytes`] again.
    Store {
        conn: ConnId,
        file: FileRef,
        start: u64,
        end: u64,
        #[serde(with = "crate::hex")]
        early: Vec<u8>,
    },
    /// Write the body received on this connection to a download, from its first
    /// byte: in chunks (RFC 9112 §7.1), or until the connection ends. Report
    /// progress with [`Input::Stored`] and the end with [`Input::BodyEnded`]. A
    /// body that is longer than `most` bytes, or is not chunked as announced,
    /// ends the connection.
    StoreBody {
        conn: ConnId,
        fetch: FetchId,
        chunked: bool,
        most: u64,
        #[serde(with = "crate::hex")]
        early: Vec<u8>,
    },
    /// Create the part file of a download, or open it again.
    Allocate { fetch: FetchId, name: String, size: Option<u64> },
    /// Hash a finished download; answered with [`Input::Verified`].
    Verify { fetch: FetchId },
    /// A download is complete and verified: give it its final name.
    Complete { fetch: FetchId },
    /// Save a change. It is durable before any later output of the same list is
    /// carried out: that is the write-ahead rule.
    Persist(NodeOp),
    /// An answer to the user.
    Answer(NodeAnswer),
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
    Deliver { from: SocketAddr, conn: UnicastConnId, messages: Vec<InboxEntry> },
    /// Messages that were not accepted, back to their sender: the first one for
    /// this reason, the others because they come after it.
    Refused { to: SocketAddr, messages: Vec<InboxEntry>, why: MessageRefusal },
    /// After [`MessageRefusal::Full`]: there is room again.
    Writable { to: SocketAddr },
    /// An output of the swarm service.
    Swarm(swarm::Output),
    /// Hash bytes `start..end` of a download as they are on disk now, as one
    /// piece of a hash tree; answered with [`Input::Hashed`].
    Hash { fetch: FetchId, start: u64, end: u64 },
    /// A client sent these credentials (`Authorization`, RFC 7617); answered
    /// with [`Input::Judged`]. Its request waits until then.
    Judge { conn: ConnId, words: String },
    /// Write the body received on this connection, of `size` bytes or else in
    /// chunks of at most `most` bytes together, to a new file of the inbox that
    /// nobody sees yet; `early` are its first bytes. Progress and end are
    /// reported as for [`Output::Store`] and [`Output::StoreBody`]. When the
    /// connection ends before [`Output::Keep`], nothing is left of it.
    Incoming {
        conn: ConnId,
        size: Option<u64>,
        most: u64,
        #[serde(with = "crate::hex")]
        early: Vec<u8>,
    },
    /// Give the file received on this connection this name, or a similar one when
    /// that is taken: nothing is replaced. Answered with [`Input::Kept`] or
    /// [`Input::DiskFailed`].
    Keep { conn: ConnId, name: String },
}

/// A message sent in datagrams.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct InboxEntry {
    /// When it is delivered: in order, or as soon as it is complete.
    pub order: DeliveryOrder,
    /// Its bytes.
    #[serde(with = "crate::hex")]
    pub data: UnicastPayload,
}

/// A file the host can read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRef {
    /// A shared file.
    Shared(FileIndex),
    /// A download of ours, as far as it is on disk.
    Fetch(FetchId),
    /// A file of a swarm.
    Swarm(SwarmFile),
}

/// A file that others may download from us.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileInfo {
    /// Its number in URLs.
    pub index: FileIndex,
    /// Its name in URLs: the shared folder, the folders below it, and the
    /// file's own name, joined by slashes. Never used as a path.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-1, once known.
    pub sha1: Option<Sha1>,
    /// Identifies it for the queue; its content, or its name.
    pub key: FileKey,
    /// When it was last changed, on a host whose time is Unix time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<Instant>,
    /// Its hash tree, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Arc<Tree>>,
}

impl FileInfo {
    /// False when its content has changed, as far as can be seen.
    pub(super) fn is_the_content_of(&self, other: &Self) -> bool {
        let seen = |info: &Self| (info.key, info.size, info.modified);
        seen(self) == seen(other)
    }

    /// Its name without folders.
    #[must_use]
    pub fn leaf(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

/// What the store remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct RestoredNode {
    /// Our servent id; drawn and persisted on the first start.
    pub servent: Option<Guid>,
    /// Where others reach us, once the host listens.
    pub listen: Option<SocketAddr>,
    /// Places and slots of the upload queue, in order of arrival.
    pub queue: Vec<StoredEntry>,
    /// Downloads that are not finished.
    pub fetches: Vec<PartRow>,
    /// The hash trees of some of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<(FetchId, Arc<Tree>)>,
    /// Those that are paused: no source is asked until the user resumes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paused: Vec<FetchId>,
    /// What is shared at start.
    pub shared: Vec<FileInfo>,
    /// Hosts of the overlay.
    pub hosts: Vec<HostRow>,
    /// What is remembered of swarms.
    #[serde(default)]
    pub swarm: swarm::RestoredSwarm,
}

/// A host of the overlay, as written to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostRow {
    /// Where it listens.
    pub at: SocketAddr,
    /// When we heard of it last.
    pub heard: Instant,
}

/// What a user can command a node to do.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeCommand {
    /// Download; answered with [`NodeAnswer::Fetching`], later `Fetched`. A `Get`
    /// whose name and SHA-1 (or sources) equal those of a remembered download
    /// continues it.
    Get(Get),
    /// Give up a download, and delete it with its bytes. One that is complete
    /// is only taken off the list; its file stays.
    Cancel { fetch: FetchId },
    /// Ask all sources of a download now, even before they allow it.
    AskNow { fetch: FetchId },
    /// Send no request of this download for so long.
    Sleep { fetch: FetchId, length: Duration },
    /// Connect to `to`, send `GIV` for a file and serve on that connection.
    Giv { to: SocketAddr, index: FileIndex },
    /// Expect a `GIV` from a servent for a download of ours.
    ExpectGiv { fetch: FetchId, servent: Guid, index: FileIndex },
    /// Connect to this host as a neighbour in the overlay, now and whenever
    /// there are too few neighbours.
    Join { at: SocketAddr },
    /// A host of the local network announced itself: it is used when we have
    /// too few neighbours. An address from farther away is ignored.
    Nearby { at: SocketAddr },
    /// Search the overlay for names with all these words, or for files by
    /// `urn:sha1:`; answered with [`NodeAnswer::Found`] as hits arrive.
    Search { search: u32, words: String },
    /// Stop sending a search to new neighbours.
    EndSearch { search: u32 },
    /// Ask a servent that cannot be reached to connect to us (`GIV`); answered
    /// with [`NodeAnswer::NoWay`] when no route to it is known. Its push `proxies`
    /// are asked first, one after the other; `via` is a neighbour that is said
    /// to have a route.
    AskPush {
        servent: Guid,
        index: FileIndex,
        via: Option<SocketAddr>,
        #[serde(default)]
        proxies: Vec<SocketAddr>,
    },
    /// Change the number of upload slots.
    Slots { slots: u32 },
    /// Others reach us at a new address from now on.
    Listening { at: SocketAddr },
    /// Send messages in this order; [`Output::Refused`] returns those there is
    /// no room for.
    SendMessages { to: SocketAddr, messages: Vec<InboxEntry> },
    /// The application has consumed this many of the delivered messages and
    /// bytes; without this the peer's window closes.
    TakenMessages { from: SocketAddr, messages: u64, bytes: u64 },
    /// Send the messages still queued for a peer, then close our half of the
    /// connection (UC-7).
    CloseMessages { to: SocketAddr },
    /// Drop one half of a connection without a trace: for a peer that does not
    /// answer, for tests and faults.
    ForgetMessages { peer: SocketAddr, side: Side },
    /// A command to the swarm service; answered with [`NodeAnswer::Swarm`].
    Swarm(swarm::SwarmCommand),
    /// Stop: say goodbye, save, answer [`NodeAnswer::Stopped`].
    Stop,
    /// Where a source of a download redirects us, after [`NodeAnswer::Moved`];
    /// `None` when it leads nowhere.
    Moved { fetch: FetchId, from: DownloadSource, to: Option<DownloadSource> },
    /// Ask no source of a download until [`NodeCommand::Resume`], even after a
    /// restart.
    Pause { fetch: FetchId },
    /// Continue a download that is paused, or that ended without its file.
    Resume { fetch: FetchId },
    /// The host did not run for so long, as the tab of a browser that was put to
    /// sleep; or only its network was away (zero). What failed meanwhile says
    /// nothing: sources and neighbours are tried at once, as far as they
    /// themselves want no pause. Whoever waits in our queue is not blamed for
    /// what could not be answered. May come before timers that are due (WB-7).
    Woke { slept: Duration },
    /// Tell whoever waits by this rule when to ask, from now on.
    Policy { policy: QueuePolicy },
}

/// What a node tells its user.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum NodeAnswer {
    /// The number of the download.
    Fetching { fetch: FetchId },
    /// The download is complete, verified and has its final name.
    Fetched { fetch: FetchId, bytes: u64, sha1: Option<Sha1> },
    /// The download ended without its file.
    Failed { fetch: FetchId, why: FetchFailure },
    /// A hit of the overlay.
    Found(SearchHit),
    /// No route is known to the servent that should connect to us.
    NoWay { servent: Guid },
    /// A host we wanted as a neighbour refused, and says why.
    Refused { at: SocketAddr, status: u16, reason: String },
    /// No such download.
    Unknown { fetch: FetchId },
    /// An answer of the swarm service.
    Swarm(swarm::SwarmAnswer),
    /// Everybody is told and everything is saved.
    Stopped,
    /// The command is for a service that is not configured.
    Off { service: Service },
    /// A source redirects us, with the value of its `Location`. The host
    /// resolves it and gives [`NodeCommand::Moved`].
    Moved { fetch: FetchId, from: DownloadSource, to: String },
    /// A visitor has uploaded a file; it is in the inbox under this name.
    Received { name: String, bytes: u64, from: SocketAddr },
}

/// The services a node can be configured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Service {
    /// Serve files: [`super::Config::http`].
    Http,
    /// Download: [`super::Config::download`].
    Downloads,
    /// Take part in the overlay: [`super::OverlayConfig::enabled`].
    Overlay,
    /// Send and receive messages over datagrams: [`super::Config::datagrams`].
    Datagrams,
    /// Coordinate swarms, or take part in them: [`super::Config::swarm`].
    Swarm,
}

impl From<fetch::FetchAnswer> for NodeAnswer {
    fn from(answer: fetch::FetchAnswer) -> Self {
        match answer {
            fetch::FetchAnswer::Fetching { fetch } => Self::Fetching { fetch },
            fetch::FetchAnswer::Fetched { fetch, bytes, sha1 } => {
                Self::Fetched { fetch, bytes, sha1 }
            }
            fetch::FetchAnswer::Failed { fetch, why } => Self::Failed { fetch, why },
            fetch::FetchAnswer::Unknown { fetch } => Self::Unknown { fetch },
            fetch::FetchAnswer::Moved { fetch, from, to } => Self::Moved { fetch, from, to },
        }
    }
}

/// A file found through the overlay.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SearchHit {
    /// The search it answers.
    pub search: u32,
    /// Where the servent listens.
    pub at: SocketAddr,
    /// The file's number there.
    pub index: FileIndex,
    /// Its name.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Its SHA-1, if told.
    pub sha1: Option<Sha1>,
    /// The servent that has it.
    pub servent: Guid,
    /// It cannot be reached: a push is needed.
    pub push: bool,
    /// All its upload slots are taken.
    pub busy: bool,
    /// How many times the hit was relayed on its way to us.
    pub hops: u8,
    /// The neighbour it came through.
    pub from: IpAddr,
    /// Where that neighbour listens, if known: it has the route back.
    pub through: Option<SocketAddr>,
    /// Its push proxies.
    #[serde(default)]
    pub proxies: Vec<SocketAddr>,
}

/// A change of durable state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeOp {
    /// Our servent id.
    Servent(Guid),
    /// A place or slot, new or changed.
    Queue(StoredEntry),
    /// A place or slot that is gone.
    QueueGone(Guid),
    /// A download, new or changed.
    Fetch(Arc<PartRow>),
    /// A download that is finished or given up; its hash tree goes with it.
    FetchGone(FetchId),
    /// A host of the overlay, new or heard of again.
    Host(HostRow),
    /// A host of the overlay that is forgotten.
    HostGone(SocketAddr),
    /// A change to what is remembered of swarms.
    Swarm(swarm::SwarmOp),
    /// The hash tree of a download, or that it has none any more.
    Tree(FetchId, Option<Arc<Tree>>),
    /// Whether a download is paused.
    Paused(FetchId, bool),
}
