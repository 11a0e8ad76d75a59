//! What a user can command, by service, and what the user is answered.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use super::UnicastMessage;
use crate::fetch::{self, DownloadSource, FetchFailure, Get};
use crate::id::{FetchId, FileIndex, Guid, Sha1};
use crate::meet::{MeetFailure, MeetRefusal, NatMapping, Visit};
use crate::node::swarm;
use crate::queue::QueuePolicy;
use crate::time::{Duration, Instant};
use crate::unicast::Side;
use crate::wire::unicast::UnicastPayload;

/// What a user can command a node to do. A command for a service that is not
/// configured is answered with [`NodeAnswer::Off`].
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeCommand {
    /// About downloads.
    Fetch(FetchCommand),
    /// About what we serve.
    Http(HttpCommand),
    /// About neighbours and searches.
    Overlay(OverlayCommand),
    /// About messages over datagrams.
    Messages(MessageCommand),
    /// About meetings; answered with [`NodeAnswer::Meet`].
    Meet(MeetCommand),
    /// About swarms; answered with [`NodeAnswer::Swarm`].
    Swarm(swarm::SwarmCommand),
    /// Others reach us at a new address from now on.
    Listening { at: SocketAddr },
    /// The host did not run for so long, as the tab of a browser that was put to
    /// sleep; or only its network was away (zero). What failed meanwhile says
    /// nothing: sources and neighbours are tried at once, as far as they
    /// themselves want no pause. Clients in our queue are not blamed for what
    /// could not be answered. May come before timers that are due (WB-7).
    Woke { slept: Duration },
    /// The host's clock on the wall shows this now: it was set since the start, or goes
    /// wrong. What people and servers read is dated by it from now on; what was promised
    /// stays where it is.
    Wall { at: Instant },
    /// Stop: say goodbye, save, answer [`NodeAnswer::Stopped`].
    Stop,
}

/// What a user can command about downloads.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FetchCommand {
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
    /// Expect a `GIV` from a servent for a download of ours.
    ExpectGiv { fetch: FetchId, servent: Guid, index: FileIndex },
    /// Where a source of a download redirects us, after [`NodeAnswer::Moved`];
    /// `None` when it leads nowhere.
    Moved { fetch: FetchId, from: DownloadSource, to: Option<DownloadSource> },
    /// Ask no source of a download until [`FetchCommand::Resume`], even after a
    /// restart.
    Pause { fetch: FetchId },
    /// Continue a download that is paused, or that ended without its file.
    Resume { fetch: FetchId },
    /// Continue a download from these sources instead of those so far, whose
    /// addresses have expired. Bytes that are there already are compared; sources
    /// whose bytes differ are given up.
    Relink { fetch: FetchId, sources: Vec<DownloadSource> },
}

/// What a user can command about what we serve.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HttpCommand {
    /// Connect to `to`, send `GIV` for a file and serve on that connection.
    Giv { to: SocketAddr, index: FileIndex },
    /// Change the number of upload slots.
    Slots { slots: u32 },
    /// Tell clients in the queue by this rule when to ask, from now on.
    Policy { policy: QueuePolicy },
    /// The host has another password: credentials that were good are checked again.
    CheckAgain,
    /// Browsers may know us by these names too, instead of those of the last such
    /// command.
    Hosts { hosts: Vec<String> },
}

/// What a user can command about the overlay.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OverlayCommand {
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
    /// Clients that no push helps meet us at this place, with this code: hits say so
    /// while others cannot connect to us.
    Meets { at: SocketAddr, code: String },
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
    /// The host runs a meeting place at this UDP port: neighbours are told, and may be met
    /// there ([`NodeAnswer::Place`]).
    RunsPlace { port: u16 },
    /// The place that was told last does not answer: another neighbour's is told, if there
    /// is one ([`NodeAnswer::Place`]).
    OtherPlace,
}

/// What a user can command about messages over datagrams.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MessageCommand {
    /// Send messages in this order; [`MessageOutput::Refused`] returns those
    /// there is no room for.
    ///
    /// [`MessageOutput::Refused`]: super::MessageOutput::Refused
    Send { to: SocketAddr, messages: Vec<UnicastMessage> },
    /// The application has consumed this many of the delivered messages and
    /// bytes; without this the peer's window closes.
    Taken { from: SocketAddr, messages: u64, bytes: u64 },
    /// Send the messages still queued for a peer, then close our half of the
    /// connection (UC-7).
    Close { to: SocketAddr },
    /// Drop one half of a connection without a trace: for a peer that does not
    /// answer, for tests and faults.
    Forget { peer: SocketAddr, side: Side },
    /// Close our half of the connection at once: the peer is told that what it has not
    /// received does not come (UC-8).
    Abandon { to: SocketAddr },
}

/// What a user can command about meetings.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MeetCommand {
    /// Find the other side of a meeting through a place, instead of whatever was
    /// sought before (PA-10).
    Visit(Visit),
    /// Seek no longer; a connection that was found stays.
    End,
    /// As a place: greet a visitor that has asked our other port for it
    /// ([`MeetAnswer::Elsewhere`]).
    Greet { to: SocketAddr, nonce: u64 },
    /// As a place: the visitor that came through the door has gone.
    Lost { at: SocketAddr },
    /// As a place: tell all that are here that it ends.
    Close,
    /// As a listener: seek no longer, and want no more callers.
    Finish,
}

/// What a node tells its user about a meeting.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "news")]
pub enum MeetAnswer {
    /// The place sees us at this address (PA-11).
    Located { place: SocketAddr, seen: SocketAddr, mapping: NatMapping },
    /// The other side is not there yet.
    Waiting { place: SocketAddr },
    /// The other side has come to a visit that is for one only, and may be found soon. The
    /// place sees it at this address.
    Introduced { place: SocketAddr, seen: SocketAddr },
    /// The other side is reached by this name from now on: its own address, or a name for
    /// this meeting alone ([`crate::meet::is_meeting_peer`]), as when the place relays
    /// (PA-13). What is sent to it goes to the address `at` at first.
    Met { peer: SocketAddr, at: SocketAddr, relayed: bool, ours: NatMapping, theirs: NatMapping },
    /// What is sent to a peer goes to its own address from now on (PA-13).
    Moved { peer: SocketAddr, to: SocketAddr },
    /// A peer that was reached through the place has left it, or the place ends: nothing
    /// reaches it any more (PA-13).
    Left { peer: SocketAddr, why: MeetRefusal },
    /// A visitor asks to be greeted from the other port of our place
    /// ([`MeetCommand::Greet`]).
    Elsewhere { to: SocketAddr, nonce: u64 },
    /// The host is to send this to `to` from so many more sockets (PA-12). What comes to
    /// one of them from there goes into the node as always, and from then on what the
    /// node sends there leaves by the one that heard last.
    Spread {
        to: SocketAddr,
        sockets: u32,
        #[serde(with = "crate::hex")]
        knock: UnicastPayload,
    },
    /// There is no path; or, where it is relayed, no direct one (PA-15).
    Failed { why: MeetFailure, relayed: bool },
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
    /// The servent of hits to a search, which are told after this, can be met at this
    /// place with this code.
    Meets { search: u32, servent: Guid, at: SocketAddr, code: String },
    /// No route is known to the servent that should connect to us.
    NoWay { servent: Guid },
    /// A host we wanted as a neighbour refused, and says why.
    Refused { at: SocketAddr, status: u16, reason: String },
    /// No such download.
    Unknown { fetch: FetchId },
    /// About a meeting.
    Meet(MeetAnswer),
    /// An answer of the swarm service.
    Swarm(swarm::SwarmAnswer),
    /// All peers are told and everything is saved.
    Stopped,
    /// The command is for a service that is not configured.
    Off { service: ServiceName },
    /// A source redirects us, with the value of its `Location`. The host
    /// resolves it and gives [`FetchCommand::Moved`].
    Moved { fetch: FetchId, from: DownloadSource, to: String },
    /// A visitor has uploaded a file; it is in the inbox under this name.
    Received { name: String, bytes: u64, from: SocketAddr },
    /// Others cannot connect to us, and a neighbour runs this meeting place: the host may wait
    /// there, and say so by [`OverlayCommand::Meets`].
    Place { at: SocketAddr },
    // The next one stands behind this: digests of recordings count how many are before it.
}

/// The services a node can be configured with.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ServiceName {
    /// Serve files: [`crate::node::Config::http`].
    Http,
    /// Download: [`crate::node::Config::download`].
    Downloads,
    /// Take part in the overlay: [`crate::node::OverlayConfig::enabled`].
    Overlay,
    /// Send and receive messages over datagrams: [`crate::node::Config::datagrams`].
    Datagrams,
    /// Meet others, or let them meet: [`crate::node::Config::meet`].
    Meet,
    /// Coordinate swarms, or take part in them: [`crate::node::Config::swarm`].
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
