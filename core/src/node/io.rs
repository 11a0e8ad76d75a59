//! The boundary between a node and its host: everything that can happen to a
//! node, everything it can ask for.
//!
//! File bytes do not pass through here. [`Output::Serve`] and
//! [`Output::Store`] hand a range to the host, which reports progress.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::swarm::{self, SwarmFile};
use crate::fetch::{self, DialError, FetchFailure, Get, PartRow, Source, StoreError};
use crate::id::{ConnId, FetchId, FileIndex, Guid, Sha1, Tth};
use crate::queue::{FileKey, Row};
use crate::thex::Tree;
use crate::time::{Duration, Instant};
use crate::unicast::{Conn, Order, Payload, Refusal, Side};

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
    /// The very first input: what the store remembered.
    Start(Restored),
    /// Somebody connected. `conn` is even and new; `local` is where it has
    /// found us, when the host knows.
    Accepted { conn: ConnId, peer: SocketAddr, local: Option<SocketAddr> },
    /// A dial of ours succeeded.
    Dialed { conn: ConnId, local: SocketAddr },
    /// A dial of ours failed.
    DialFailed { conn: ConnId, why: DialError },
    /// Bytes came in, in order, cut anywhere.
    Bytes {
        conn: ConnId,
        #[serde(with = "crate::hex")]
        data: Vec<u8>,
    },
    /// The connection is gone for reading and writing; nothing follows.
    Closed { conn: ConnId },
    /// So many bytes of earlier writes have not left yet.
    Backlog { conn: ConnId, bytes: u64 },
    /// So many bytes of the range being served have been taken by the peer, as
    /// far as the host can tell, counted from the start of that range. All of
    /// them have as soon as the host needs the file no more.
    Served { conn: ConnId, bytes: u64 },
    /// So many bytes of the range being stored are safe on disk, counted
    /// from the start of that range.
    Stored { conn: ConnId, bytes: u64 },
    /// The body being stored by [`Output::StoreBody`] is over, and all of it is
    /// safe on disk. `unread` had come in behind it; where the connection was
    /// its end, [`Input::Closed`] follows.
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
    /// The answer to [`Output::Verify`]. A host that cannot hash says `None`:
    /// a download whose hash nobody knows is whole then, any other fails.
    Verified { fetch: FetchId, sha1: Option<Sha1> },
    /// A file is shared from now on, or its entry changed (a hash came in).
    Shared(FileInfo),
    /// A file is no longer shared.
    Unshared { index: FileIndex },
    /// Datagrams came from one peer, one behind the other: each as long as
    /// `segment`, the last one possibly shorter.
    Datagrams {
        from: SocketAddr,
        segment: u32,
        #[serde(with = "crate::hex")]
        data: Payload,
    },
    /// The user wants something.
    Command(Command),
    /// The turn is over: messages and acknowledgements that are due leave now,
    /// together. Without this they leave with the next timeout, whose deadline
    /// is the present while something waits.
    Flush,
    /// An answer to [`Output::Swarm`].
    Swarm(swarm::Input),
    /// The answer to [`Output::Hash`]: what the piece that begins at `start` is
    /// in a hash tree (THEX). A host that cannot hash says `None`: pieces are
    /// not checked then.
    Hashed { fetch: FetchId, start: u64, tth: Option<Tth> },
    /// The answer to [`Output::Judge`]: whether these are the words of somebody
    /// who may be served.
    Judged { conn: ConnId, good: bool },
}

/// Something a node asks of its host.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Connect. `conn` is odd and new.
    Dial { conn: ConnId, to: SocketAddr },
    /// Send bytes, after everything asked for earlier on this connection.
    Write {
        conn: ConnId,
        #[serde(with = "crate::hex")]
        data: Vec<u8>,
    },
    /// Close. `flush` sends what is still to be written first; the host
    /// bounds that wait. No input about `conn` follows but `Closed`.
    Close { conn: ConnId, flush: bool },
    /// Send bytes `start..end` of a file, which may be none, after everything
    /// asked for earlier on this connection; report with [`Input::Served`].
    Serve { conn: ConnId, file: FileRef, start: u64, end: u64 },
    /// Write the next `end - start` bytes that come in on this connection to
    /// the file at `start`; report with [`Input::Stored`]. `early` are
    /// the first of them, which had already come in with the head. What
    /// comes in after them is [`Input::Bytes`] again.
    Store {
        conn: ConnId,
        file: FileRef,
        start: u64,
        end: u64,
        #[serde(with = "crate::hex")]
        early: Vec<u8>,
    },
    /// Write the body that comes in on this connection to a download, from its
    /// beginning: in chunks (RFC 9112 §7.1), or until the connection ends.
    /// Report with [`Input::Stored`], at the end with [`Input::BodyEnded`]. One
    /// that is longer than `most` bytes, or no chunks, ends the connection.
    StoreBody {
        conn: ConnId,
        fetch: FetchId,
        chunked: bool,
        most: u64,
        #[serde(with = "crate::hex")]
        early: Vec<u8>,
    },
    /// Make room for a download, or open it again.
    Allocate { fetch: FetchId, name: String, size: Option<u64> },
    /// Hash a finished download; answered with [`Input::Verified`].
    Verify { fetch: FetchId },
    /// A download is whole and right: give it its final name.
    Complete { fetch: FetchId },
    /// Remember something. Durable before any later output of the same list
    /// is carried out: that is the write-ahead rule.
    Persist(Op),
    /// An answer to the user.
    Answer(Answer),
    /// Send datagrams to one peer, cut from `data`: each as long as `segment`,
    /// the last one possibly shorter.
    Datagrams {
        to: SocketAddr,
        segment: u32,
        #[serde(with = "crate::hex")]
        data: Payload,
    },
    /// Messages of one connection for the application, each exactly once.
    Deliver { from: SocketAddr, conn: Conn, messages: Vec<Message> },
    /// Messages that were not taken, back to whoever sent them: the first of
    /// them for this reason, the others because they stand behind it.
    Refused { to: SocketAddr, messages: Vec<Message>, why: Refusal },
    /// After [`Refusal::Full`]: there is room again.
    Writable { to: SocketAddr },
    /// Something for a swarm.
    Swarm(swarm::Output),
    /// Hash bytes `start..end` of a download as they are on disk now, as one
    /// piece of a hash tree; answered with [`Input::Hashed`].
    Hash { fetch: FetchId, start: u64, end: u64 },
    /// Somebody says in these words (`Authorization`, RFC 7617) that it may be
    /// served; answered with [`Input::Judged`]. What it asks waits meanwhile.
    Judge { conn: ConnId, words: String },
}

/// A message that travels in datagrams.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Message {
    /// When it is delivered.
    pub order: Order,
    /// Its bytes.
    #[serde(with = "crate::hex")]
    pub data: Payload,
}

/// A file the host can read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRef {
    /// A shared file.
    Shared(FileIndex),
    /// A download of ours, as far as it has come.
    Fetch(FetchId),
    /// A file of a swarm.
    Swarm(SwarmFile),
}

/// A file somebody may download from us.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileInfo {
    /// Its number in URLs.
    pub index: FileIndex,
    /// Its name in URLs: the shared folder it is in, the folders below that,
    /// and its own, with slashes between them. Never used as a path.
    pub name: String,
    /// Bytes.
    pub size: u64,
    /// Its SHA-1, once it is known.
    pub sha1: Option<Sha1>,
    /// What it is, for the queue.
    pub key: FileKey,
    /// When it was last changed, on a host that counts from the Unix epoch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<Instant>,
    /// Its hash tree, once that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Arc<Tree>>,
}

impl FileInfo {
    /// Its name without any folder.
    #[must_use]
    pub fn leaf(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

/// What the store remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Restored {
    /// Our servent id; drawn and persisted on the first start.
    pub servent: Option<Guid>,
    /// Where others reach us, once the host listens.
    pub listen: Option<SocketAddr>,
    /// Places and slots of the upload queue, in order of arrival.
    pub queue: Vec<Row>,
    /// Downloads that are not finished.
    pub fetches: Vec<PartRow>,
    /// The hash trees of some of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<(FetchId, Arc<Tree>)>,
    /// Those of them that nobody is asked for until the user says so.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paused: Vec<FetchId>,
    /// What is shared at start.
    pub shared: Vec<FileInfo>,
    /// Others of the overlay.
    pub hosts: Vec<HostRow>,
    /// Of swarms.
    #[serde(default)]
    pub swarm: swarm::Restored,
}

/// Somebody of the overlay, as written to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostRow {
    /// Where it listens.
    pub at: SocketAddr,
    /// When we heard of it last.
    pub heard: Instant,
}

/// What a user can tell a node.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Download; answered with [`Answer::Fetching`], later `Fetched`. A get
    /// whose name and SHA-1 (or sources) equal a remembered one goes on with it.
    Get(Get),
    /// Give a download up and forget it and its bytes. One that is whole is only
    /// told of no more; its file stays.
    Cancel { fetch: FetchId },
    /// Ask all sources of a download now, allowed or not.
    AskNow { fetch: FetchId },
    /// Ask nobody for so long.
    Sleep { fetch: FetchId, length: Duration },
    /// Connect to `to`, send `GIV` for a file and serve on that connection.
    Giv { to: SocketAddr, index: FileIndex },
    /// Expect a `GIV` from a servent for a download of ours.
    ExpectGiv { fetch: FetchId, servent: Guid, index: FileIndex },
    /// Have somebody for a neighbour in the overlay, now and whenever there
    /// are too few.
    Join { at: SocketAddr },
    /// Somebody of the local network says it is there: of use when we have
    /// too few neighbours. An address from farther away is not believed.
    Nearby { at: SocketAddr },
    /// Ask the overlay for names with all these words, or for files by
    /// `urn:sha1:`; answered with [`Answer::Found`] as hits come in.
    Search { search: u32, words: String },
    /// New neighbours are not asked any more.
    EndSearch { search: u32 },
    /// Ask a servent that cannot be reached to connect to us (`GIV`);
    /// answered with [`Answer::NoWay`] when nobody knows the way. Its push
    /// `proxies` are asked first, one after the other; `via` is a neighbour
    /// that is said to know the way.
    AskPush {
        servent: Guid,
        index: FileIndex,
        via: Option<SocketAddr>,
        #[serde(default)]
        proxies: Vec<SocketAddr>,
    },
    /// Change the number of upload slots.
    Slots { slots: u32 },
    /// We are reached at another address from now on.
    Listening { at: SocketAddr },
    /// Send messages, in their order; [`Output::Refused`] gives back what
    /// there is no room for.
    SendMessages { to: SocketAddr, messages: Vec<Message> },
    /// So much of what was delivered has been consumed; without this the
    /// peer's window closes.
    TakenMessages { from: SocketAddr, messages: u64, bytes: u64 },
    /// Send the messages that are kept for a peer, then end our half of the
    /// connection (UC-7).
    CloseMessages { to: SocketAddr },
    /// Drop a half of a connection as if it had never been: for a peer that
    /// does not answer, for tests and faults.
    ForgetMessages { peer: SocketAddr, side: Side },
    /// Something in a swarm; answered with [`Answer::Swarm`].
    Swarm(swarm::Command),
    /// Finish: say goodbye, save, answer [`Answer::Stopped`].
    Stop,
    /// Where a source of a download sends us, as [`Answer::Moved`] told;
    /// `None` when that is nowhere.
    Moved { fetch: FetchId, from: Source, to: Option<Source> },
    /// Ask nobody for a download until [`Command::Resume`], over restarts too.
    Pause { fetch: FetchId },
    /// Go on with a download that is paused, or ended without its file.
    Resume { fetch: FetchId },
}

/// What a node tells its user.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Answer {
    /// The download has this number.
    Fetching { fetch: FetchId },
    /// The download is whole, checked and named.
    Fetched { fetch: FetchId, bytes: u64, sha1: Option<Sha1> },
    /// The download ended without its file.
    Failed { fetch: FetchId, why: FetchFailure },
    /// The overlay found something.
    Found(Hit),
    /// Nobody knows the way to a servent that was to connect to us.
    NoWay { servent: Guid },
    /// Whom we wanted for a neighbour does not want us, and says why.
    Refused { at: SocketAddr, status: u16, reason: String },
    /// No such download.
    Unknown { fetch: FetchId },
    /// How it goes in a swarm.
    Swarm(swarm::Answer),
    /// Everything is said and saved.
    Stopped,
    /// The command is for a service that is not configured.
    Off { service: Service },
    /// A source says that the file is elsewhere, in the words of its
    /// `Location`. The host looks that up and gives [`Command::Moved`].
    Moved { fetch: FetchId, from: Source, to: String },
}

/// What a node can be configured to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Service {
    /// Give files away: [`super::Config::http`].
    Http,
    /// Download: [`super::Config::download`].
    Downloads,
    /// Take part in the overlay: [`super::Overlay::enabled`].
    Overlay,
    /// Send and receive messages over datagrams: [`super::Config::datagrams`].
    Datagrams,
    /// Coordinate swarms, or take part in them: [`super::Config::swarm`].
    Swarm,
}

impl From<fetch::Answer> for Answer {
    fn from(answer: fetch::Answer) -> Self {
        match answer {
            fetch::Answer::Fetching { fetch } => Self::Fetching { fetch },
            fetch::Answer::Fetched { fetch, bytes, sha1 } => Self::Fetched { fetch, bytes, sha1 },
            fetch::Answer::Failed { fetch, why } => Self::Failed { fetch, why },
            fetch::Answer::Unknown { fetch } => Self::Unknown { fetch },
            fetch::Answer::Moved { fetch, from, to } => Self::Moved { fetch, from, to },
        }
    }
}

/// A file that the overlay found.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Hit {
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
    /// Its hash, if told.
    pub sha1: Option<Sha1>,
    /// Who has it.
    pub servent: Guid,
    /// It cannot be reached: ask by push.
    pub push: bool,
    /// All its slots are taken.
    pub busy: bool,
    /// Links between that servent and us, but for the last.
    pub hops: u8,
    /// The neighbour it came through.
    pub from: IpAddr,
    /// Where that neighbour listens, as far as known: it knows the way back.
    pub through: Option<SocketAddr>,
    /// Who passes pushes on to it.
    #[serde(default)]
    pub proxies: Vec<SocketAddr>,
}

/// A change of durable state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// Our servent id.
    Servent(Guid),
    /// A place or slot, new or changed.
    Queue(Row),
    /// A place or slot that is no more.
    QueueGone(Guid),
    /// A download, new or changed.
    Fetch(Arc<PartRow>),
    /// A download that is finished or given up, and its hash tree with it.
    FetchGone(FetchId),
    /// Somebody of the overlay, new or heard of again.
    Host(HostRow),
    /// Somebody of the overlay who is forgotten.
    HostGone(SocketAddr),
    /// A change of what is remembered of swarms.
    Swarm(swarm::Op),
    /// The hash tree of a download, or that it has none any more.
    Tree(FetchId, Option<Arc<Tree>>),
    /// Whether a download is paused.
    Paused(FetchId, bool),
}
