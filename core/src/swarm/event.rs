//! The events of the coordinator and of the clients of a swarm.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::id::ConnId;
use crate::time::Duration;

/// The number of a file of the coordinator, in the order they were added.
pub type FileNo = u32;

/// Something that happened in the swarm. `up` is the uploader's connection,
/// `None` for the source.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// A client registered with its id.
    Registered { client: ConnId, peer: IpAddr, active: bool },
    /// A client is gone.
    Left { client: ConnId },
    /// A client wants or provides pieces of a file.
    Joined { client: ConnId, file: FileNo, held: u32, wanted: u32 },
    /// A client has every piece it wanted.
    Finished { client: ConnId, file: FileNo, held: u32 },
    /// A client got its free piece (SW-7).
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
    /// The listener asked whether it may let a peer in, and was answered.
    Verified { client: ConnId, file: FileNo, piece: u32, authorized: bool },
    /// The downloader has the piece, and its hash is correct.
    Arrived { file: FileNo, piece: u32, down: ConnId, up: Option<ConnId> },
    /// Both sides confirmed the transfer; it counts (SW-5, SW-22).
    Confirmed {
        file: FileNo,
        piece: u32,
        down: ConnId,
        up: Option<ConnId>,
        bytes: u64,
        took: Duration,
        charged: bool,
    },
    /// A transfer ended without being confirmed.
    Failed { file: FileNo, piece: u32, down: ConnId, up: Option<ConnId>, why: Failure, offset: u64 },
    /// The beginning of a piece is downloaded again to find out who sent wrong
    /// bytes (SW-24).
    Refetch { file: FileNo, piece: u32, down: ConnId, up: Option<ConnId>, offset: u64 },
    /// A client was blamed as an uploader; `failures` are whole ones, after
    /// decay.
    Blamed { client: ConnId, by: ConnId, failures: u32 },
    /// A connect to a client failed, or such a failure was taken back (SW-3,
    /// SW-4).
    ConnectFailures { client: ConnId, count: u32 },
    /// Whether a client can be connected to has changed (SW-4, SW-17).
    Mode { client: ConnId, active: bool, forced: bool },
    /// A client has accepted a connection of a peer (SW-3).
    Accepted { client: ConnId },
    /// A client needs pieces and has no credit (SW-10).
    Stalled { client: ConnId, file: FileNo },
    /// A stalled client has credit again, or needs nothing more.
    Unstalled { client: ConnId, file: FileNo, after: Duration },
    /// A client is in quarantine: it neither uploads nor gets pieces (SW-25).
    Quarantined { client: ConnId, failures: u32 },
    /// A client is out of quarantine.
    Released { client: ConnId },
    /// Downloads that one upload earns, in thousandths (SW-11).
    Ratio { file: FileNo, ratio: u32 },
    /// Concurrent transfers of a client, found or requested (`told`) (SW-12).
    Concurrency { client: ConnId, download: u32, upload: u32, told: bool },
    /// The ledger row of an absent address was removed (SW-8).
    Purged { owner: IpAddr },
    /// A message of a client was refused.
    Refused { client: ConnId, why: SwarmRefusal },
    /// A failed piece that was charged is not tried again. `counted`: it has
    /// been paid for, because only the client itself says that it failed
    /// (SW-27).
    Settled { client: ConnId, file: FileNo, piece: u32, counted: bool },
    /// A file is no longer available (SW-29).
    Withdrawn { file: FileNo },
    /// A limit of the configuration was reached.
    Limit { limit: SwarmLimit },
}

impl Event {
    /// The file an event is about, to be given the number it has for a client that
    /// has several coordinators.
    pub(crate) const fn file_mut(&mut self) -> Option<&mut FileNo> {
        use Event as E;
        match self {
            E::Joined { file, .. }
            | E::Finished { file, .. }
            | E::Assigned { file, .. }
            | E::Granted { file, .. }
            | E::Verified { file, .. }
            | E::Arrived { file, .. }
            | E::Confirmed { file, .. }
            | E::Failed { file, .. }
            | E::Refetch { file, .. }
            | E::Stalled { file, .. }
            | E::Unstalled { file, .. }
            | E::Ratio { file, .. }
            | E::Settled { file, .. }
            | E::Withdrawn { file } => Some(file),
            E::Registered { .. }
            | E::Left { .. }
            | E::Free { .. }
            | E::Blamed { .. }
            | E::ConnectFailures { .. }
            | E::Mode { .. }
            | E::Accepted { .. }
            | E::Quarantined { .. }
            | E::Released { .. }
            | E::Concurrency { .. }
            | E::Purged { .. }
            | E::Refused { .. }
            | E::Limit { .. } => None,
        }
    }

    /// The clients an event is about, by their connections: the one it belongs
    /// to, and the other one.
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

/// How the uploader of a piece was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pick {
    /// Among stalled clients: the longest stalled (SW-19).
    Stalled,
    /// Among those within their ratio: the fastest (SW-20).
    Fastest,
    /// From the source: no peer has the piece (SW-16).
    Unseen,
    /// From the source: no peer can serve the piece (SW-15).
    Source,
    /// From the source: the piece failed elsewhere (SW-14).
    Retry,
    /// The same uploader, for the beginning again (SW-24).
    Again,
}

/// A selection in numbers: how many candidates each clause left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Funnel {
    /// Pieces the downloader needs; 1 when it is a piece that failed.
    pub needed: u32,
    /// Clients with a free slot that it can connect with (SW-15).
    pub reachable: u32,
    /// Of these, those with a piece it needs (SW-18).
    pub useful: u32,
    /// Of these, passive ones (SW-15).
    pub passive: u32,
    /// Of those of the chosen mode, stalled ones (SW-18).
    pub stalled: u32,
    /// Pieces that the chosen uploader could send (SW-21); from the source,
    /// pieces that no client has (SW-16).
    pub pieces: u32,
    /// Of these, pieces as rare as the chosen one (SW-21).
    pub rarest: u32,
    /// Copies of the chosen piece.
    pub copies: u32,
    /// Clients that wait and could use what the uploader has.
    pub waiting: u32,
    /// The side from which the selection started.
    pub led: Led,
}

/// The side from which a selection started.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Led {
    /// A downloader was waiting, and an uploader was searched for.
    #[default]
    Taker,
    /// An uploader had a free slot, and a downloader was searched for.
    Giver,
    /// The source had a free slot.
    Source,
}

/// Why a transfer ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Failure {
    /// No connection was established (SW-4).
    Connect,
    /// The bytes were not received (SW-23).
    Data,
    /// The bytes are wrong (SW-24).
    Hash,
    /// The uploader left: not its fault (SW-23).
    UploaderLeft,
    /// The downloader left.
    DownloaderLeft,
    /// The downloader did not report in time (SW-25).
    DownloaderSilent,
    /// The uploader did not report in time: the piece stays, no client is credited
    /// (SW-25).
    UploaderSilent,
    /// Neither's: the downloader has got the piece by another way.
    Elsewhere,
}

/// Why a message was refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwarmRefusal {
    /// It cannot be parsed.
    Unreadable,
    /// It is not one that a client may send.
    NotAClients,
    /// A message before `register`, or `register` twice.
    Order,
    /// Another client has this id.
    IdTaken,
    /// The file does not exist.
    UnknownFile,
    /// The range is outside of the file.
    BadRange,
    /// The transfer does not exist.
    UnknownTransfer,
    /// More concurrent transfers than the hard limit (SW-12).
    AboveHardLimit,
    /// The port changed too recently (SW-17).
    TooSoon,
    /// The client did not register in time.
    Silent,
    /// A limit is reached.
    Full,
}

/// A limit that was reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwarmLimit {
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
