//! What the coordinator and the clients of a swarm say of themselves.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::id::ConnId;
use crate::time::Duration;

/// A file of the coordinator, in the order in which they came.
pub type FileNo = u32;

/// Something that happened in the swarm. `up` is the uploader's connection,
/// `None` for the source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// A client is known by its id.
    Registered { client: ConnId, peer: IpAddr, active: bool },
    /// It is gone.
    Left { client: ConnId },
    /// It wants or provides pieces of a file.
    Joined { client: ConnId, file: FileNo, held: u32, wanted: u32 },
    /// It has every piece it wanted.
    Finished { client: ConnId, file: FileNo, held: u32 },
    /// It has its free piece (SW-7).
    Free { client: ConnId },
    /// A piece was assigned.
    Assigned {
        file: FileNo,
        piece: u32,
        down: ConnId,
        up: Option<ConnId>,
        put: bool,
        why: Pick,
        charged: bool,
        funnel: Option<Funnel>,
    },
    /// A stalled client got a piece it has not earned (§4).
    Granted { client: ConnId, file: FileNo, grants: u64, aged: bool },
    /// The listener asked and may let it in, or not.
    Verified { client: ConnId, file: FileNo, piece: u32, authorized: bool },
    /// The downloader has the piece, and its hash is right.
    Arrived { file: FileNo, piece: u32, down: ConnId, up: Option<ConnId> },
    /// Both sides confirmed; the transfer counts (SW-5, SW-22).
    Confirmed {
        file: FileNo,
        piece: u32,
        down: ConnId,
        up: Option<ConnId>,
        bytes: u64,
        took: Duration,
        charged: bool,
    },
    /// A transfer ended without that.
    Failed { file: FileNo, piece: u32, down: ConnId, up: Option<ConnId>, why: Failure, offset: u64 },
    /// The beginning of a piece is fetched again to see whose fault it is
    /// (SW-24).
    Refetch { file: FileNo, piece: u32, down: ConnId, up: Option<ConnId>, offset: u64 },
    /// Somebody failed as an uploader; failures are whole ones, faded.
    Blamed { client: ConnId, by: ConnId, failures: u32 },
    /// A connect to it failed, or is taken back (SW-3, SW-4).
    ConnectFailures { client: ConnId, count: u32 },
    /// It can or can not be connected to (SW-4, SW-17).
    Mode { client: ConnId, active: bool, forced: bool },
    /// It has accepted a peer (SW-3).
    Accepted { client: ConnId },
    /// It needs pieces and has no credit (SW-10).
    Stalled { client: ConnId, file: FileNo },
    /// It has credit again, or needs nothing.
    Unstalled { client: ConnId, file: FileNo, after: Duration },
    /// It is not asked for pieces and given none (SW-25).
    Quarantined { client: ConnId, failures: u32 },
    /// That is over.
    Released { client: ConnId },
    /// Downloads an upload earns, in thousandths (SW-11).
    Ratio { file: FileNo, ratio: u32 },
    /// Transfers at once of a client, found or told (SW-12).
    Concurrency { client: ConnId, download: u32, upload: u32, told: bool },
    /// The row of an absent address is forgotten (SW-8).
    Purged { owner: IpAddr },
    /// A message was not obeyed.
    Refused { client: ConnId, why: Refusal },
    /// A failed piece that was charged is not tried again; `counted`: it has
    /// been paid for, because only the client itself says that it failed
    /// (SW-27).
    Settled { client: ConnId, file: FileNo, piece: u32, counted: bool },
    /// A file is not to be had any more (SW-29).
    Withdrawn { file: FileNo },
    /// A limit of the configuration was reached.
    Limit { limit: Limit },
}

impl Event {
    /// The clients it is about, by their connections: whose record it is, and
    /// the other one.
    #[must_use]
    pub const fn clients(&self) -> (Option<ConnId>, Option<ConnId>) {
        use Event as E;
        match self {
            E::Registered { client, .. }
            | E::Left { client }
            | E::Joined { client, .. }
            | E::Finished { client, .. }
            | E::Free { client }
            | E::Granted { client, .. }
            | E::Verified { client, .. }
            | E::ConnectFailures { client, .. }
            | E::Mode { client, .. }
            | E::Accepted { client }
            | E::Stalled { client, .. }
            | E::Unstalled { client, .. }
            | E::Quarantined { client, .. }
            | E::Released { client }
            | E::Concurrency { client, .. }
            | E::Settled { client, .. }
            | E::Refused { client, .. } => (Some(*client), None),
            E::Blamed { client, by, .. } => (Some(*client), Some(*by)),
            E::Assigned { down, up, .. }
            | E::Arrived { down, up, .. }
            | E::Confirmed { down, up, .. }
            | E::Failed { down, up, .. }
            | E::Refetch { down, up, .. } => (Some(*down), *up),
            E::Ratio { .. } | E::Purged { .. } | E::Withdrawn { .. } | E::Limit { .. } => {
                (None, None)
            }
        }
    }
}

/// How a piece's uploader was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// Among stalled clients: the longest stalled (SW-19).
    Stalled,
    /// Among those within their ratio: the fastest (SW-20).
    Fastest,
    /// From the source: no peer has it (SW-16).
    Unseen,
    /// From the source: no peer could serve it (SW-15).
    Source,
    /// From the source: a piece that failed elsewhere (SW-14).
    Retry,
    /// The same uploader, the beginning again (SW-24).
    Again,
}

/// The selection in numbers: what each clause left over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Funnel {
    /// Pieces the downloader needs; 1 when it is one that failed.
    pub needed: u32,
    /// Clients with a free slot it may connect with at all (SW-15).
    pub reachable: u32,
    /// Of these, with a piece it needs (SW-18).
    pub useful: u32,
    /// Of these, passive ones (SW-15).
    pub passive: u32,
    /// Of those of the mode that was taken, stalled ones (SW-18).
    pub stalled: u32,
    /// Pieces the one that was taken could give (SW-21); from the source,
    /// pieces nobody has (SW-16).
    pub pieces: u32,
    /// Of these, as rare as the one that was taken (SW-21).
    pub rarest: u32,
    /// Copies of the piece that was taken.
    pub copies: u32,
    /// Clients that wait and could use what the uploader has.
    pub waiting: u32,
    /// Who was asked first.
    pub led: Led,
}

/// From which side a transfer was found.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Led {
    /// The downloader waited, and an uploader was looked for.
    #[default]
    Taker,
    /// An uploader had a free slot, and somebody was looked for to use it.
    Giver,
    /// The source had a free slot.
    Source,
}

/// Why a transfer ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// No connection came about (SW-4).
    Connect,
    /// The bytes did not come (SW-23).
    Data,
    /// The bytes are wrong (SW-24).
    Hash,
    /// The uploader left: nobody's fault (SW-23).
    UploaderLeft,
    /// The downloader left.
    DownloaderLeft,
    /// The downloader did not report in time (SW-25).
    DownloaderSilent,
    /// The uploader did not: the piece stays, nobody is credited (SW-25).
    UploaderSilent,
    /// Nobody's: the downloader has got the piece by another way.
    Elsewhere,
}

/// Why a message was not obeyed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It can not be read.
    Unreadable,
    /// It is not one a client may say.
    NotAClients,
    /// Something before `register`, or `register` twice.
    Order,
    /// Somebody else has this id.
    IdTaken,
    /// There is no such file.
    UnknownFile,
    /// The range is outside of the file.
    BadRange,
    /// There is no such transfer.
    UnknownTransfer,
    /// More transfers at once than anybody may have (SW-12).
    AboveHardLimit,
    /// The port changed a moment ago (SW-17).
    TooSoon,
    /// It did not register in time.
    Silent,
    /// There are too many already.
    Full,
}

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Limit {
    /// [`super::Config::clients`]
    Clients,
    /// [`super::Config::per_address`]
    PerAddress,
    /// [`super::Config::ledger`]
    Ledger,
    /// [`super::Config::files`]
    Files,
    /// [`super::Config::pieces`]
    Pieces,
    /// [`super::Config::files_per_client`]
    FilesPerClient,
}
