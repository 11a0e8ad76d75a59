//! The inputs and outputs of a client of a swarm.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::id::ConnId;
use crate::time::Duration;
use crate::wire::pdtp::{Hash, PdtpMessage, Reason, Span, Text, TransferMethod};

/// A job that the host does for the client: one transfer with a peer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TransferJob(pub u32);

/// A request of a peer, received by our listener.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct PeerRequest {
    /// The connection to answer on.
    pub conn: ConnId,
    pub peer: IpAddr,
    /// `X-PDTP-Peer-Id`.
    pub peer_id: Text,
    pub method: TransferMethod,
    pub url: Text,
    pub span: Span,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum JobOutcome {
    /// All bytes were transferred. `hash` is the digest of the whole piece as
    /// it is on disk now; only the receiving side needs it.
    Whole { hash: Option<Hash>, took: Duration },
    /// The transfer failed; `bytes` of the span are on disk.
    Broken { reason: Reason, bytes: u64 },
}

/// Something that happened to the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// The connection to the coordinator, at this address, is open.
    Online { coordinator: IpAddr },
    /// The connection is lost, or could not be opened.
    Offline,
    /// A message of the coordinator.
    Message(PdtpMessage),
    /// Download a file. `have` are the verified pieces on disk, for pieces of
    /// `chunk` bytes.
    Want { url: Text, chunk: u64, have: Vec<u32> },
    /// Offer a file to others: all of it is on disk and verified.
    Offer { url: Text },
    /// Stop downloading or offering a file.
    Leave { url: Text },
    /// The port on which peers are accepted from now on; `None` for none
    /// (SW-17).
    Listen { port: Option<u16> },
    /// A peer sent a request.
    Incoming(PeerRequest),
    /// A peer that has not been answered yet is gone.
    Gone { conn: ConnId },
    /// A job ended.
    Ended { job: TransferJob, outcome: JobOutcome },
}

/// Something for the host to do, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// Connect to the coordinator; answered by [`Input::Online`] or
    /// [`Input::Offline`].
    Connect,
    /// Send a message to the coordinator. Messages of one turn may share a
    /// frame once the coordinator has agreed to `merge`.
    Send(PdtpMessage),
    /// `GET` the span from the peer, write it to its position, then read the
    /// whole piece back for its digest.
    Fetch { job: TransferJob, from: SocketAddr, url: Text, span: Span, piece: Span },
    /// `PUT` the span to the peer.
    Push { job: TransferJob, to: SocketAddr, url: Text, span: Span },
    /// Answer the peer's `GET` with its span.
    Serve { job: TransferJob, conn: ConnId, url: Text, span: Span },
    /// Accept the peer's `PUT`, write the span and read the piece back for its
    /// digest.
    Take { job: TransferJob, conn: ConnId, url: Text, span: Span, piece: Span },
    /// Answer the peer with this status, without a body.
    Refuse { conn: ConnId, status: u16 },
    /// Abort a job; its end need not be reported.
    Abort { job: TransferJob },
    /// Size and pieces of the file are known: make room for it.
    Info { url: Text, size: u64, chunk: u64, sha256: Option<Hash> },
    /// The piece is verified: save that it is there. Comes before anything that
    /// offers the piece to others.
    Keep { url: Text, piece: u32 },
    /// Every piece is there.
    Done { url: Text },
    /// The file cannot be downloaded; the sentence says why.
    Failed { url: Text, why: String },
    /// The file is no longer available; the sentence says why (SW-29).
    Withdrawn { url: Text, why: String },
    /// Another coordinator has the file (ST-4): hang up. With an address, connect
    /// there, which is answered as [`Output::Connect`] is.
    Leave { to: Option<SocketAddr> },
    /// The coordinator's site answers there, too: where to connect when none of
    /// the addresses that are known answers.
    Others { at: Vec<SocketAddr> },
}

/// The events of the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// The coordinator is connected.
    Online,
    /// The coordinator is not connected; the next attempt follows after
    /// `retry`.
    Offline { retry: Duration },
    /// A piece is being received; `from` is `None` for a peer's `PUT`.
    Receiving { job: TransferJob, piece: u32, from: Option<SocketAddr>, source: bool },
    /// A piece, or a part of one, is being sent; `to` is `None` for a peer's
    /// `GET`.
    Sending { job: TransferJob, piece: u32, to: Option<SocketAddr> },
    /// A job ended.
    Ended { job: TransferJob, whole: bool },
    /// A job took too long.
    Overdue { job: TransferJob },
    /// A piece is verified and on disk.
    Kept { piece: u32, held: u32 },
    /// A piece has a wrong digest.
    Wrong { piece: u32 },
    /// A peer's request was refused.
    Refused { conn: ConnId, status: u16 },
    /// A message of the coordinator was ignored.
    Ignored { why: Ignored },
    /// The coordinator reported an error.
    Complaint { message: String },
    /// A file is complete.
    Done,
    /// The coordinator says that another one has the file, and we go there (ST-4).
    Moved { to: SocketAddr },
    /// We were sent on so often that it is tried again from the beginning, after a
    /// pause: the members of a site do not agree yet.
    Astray { to: SocketAddr },
}

/// Why a message of the coordinator is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ignored {
    /// An address that the coordinator cannot plausibly know.
    Address,
    /// A file or piece that is not ours.
    File,
    /// More concurrent transfers than agreed.
    TooMany,
    /// A peer that sent three wrong pieces.
    Liar,
    /// A message that only clients send.
    NotACoordinators,
}
