//! What goes into a client of a swarm and what comes out of it.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::id::ConnId;
use crate::time::Duration;
use crate::wire::pdtp::{Hash, Message, Method, Reason, Span, Text};

/// Something the host does for the client: one transfer with a peer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Job(pub u32);

/// A request of a peer that arrived at our listener.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Request {
    /// The connection; the answer is for it.
    pub conn: ConnId,
    pub peer: IpAddr,
    /// `X-PDTP-Peer-Id`.
    pub peer_id: Text,
    pub method: Method,
    pub url: Text,
    pub span: Span,
}

/// How a job ended.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// All bytes went over. `hash` is the digest of the whole piece as it is
    /// on disk now; only whoever received needs it.
    Whole { hash: Option<Hash>, took: Duration },
    /// They did not; `bytes` of the span are on disk.
    Broken { reason: Reason, bytes: u64 },
}

/// Something for the client.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Input {
    /// The connection to the coordinator at this address is there.
    Online { coordinator: IpAddr },
    /// It is gone, or could not be made.
    Offline,
    /// The coordinator said something.
    Message(Message),
    /// Download a file. `have` are the pieces that are on disk and right,
    /// for pieces of `chunk` bytes.
    Want { url: Text, chunk: u64, have: Vec<u32> },
    /// Give a file to others: all of it is on disk and right.
    Offer { url: Text },
    /// Neither any longer.
    Leave { url: Text },
    /// It accepts its peers here from now on; nowhere when `None` (SW-17).
    Listen { port: Option<u16> },
    /// A peer asks for something.
    Incoming(Request),
    /// A peer that has no answer yet has gone.
    Gone { conn: ConnId },
    /// A job ended.
    Ended { job: Job, outcome: Outcome },
}

/// Something for the host to do, in order.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Output {
    /// Connect to the coordinator; [`Input::Online`] or [`Input::Offline`]
    /// answers.
    Connect,
    /// Say it to the coordinator. Messages of one turn may share a frame once
    /// the coordinator agreed to `merge`.
    Send(Message),
    /// `GET` the span from the peer, write it to its place, then read the
    /// whole piece back for its digest.
    Fetch { job: Job, from: SocketAddr, url: Text, span: Span, piece: Span },
    /// `PUT` the span to the peer.
    Push { job: Job, to: SocketAddr, url: Text, span: Span },
    /// Answer the peer's `GET` with its span.
    Serve { job: Job, conn: ConnId, url: Text, span: Span },
    /// Take what the peer `PUT`s, write it and read the piece back.
    Take { job: Job, conn: ConnId, url: Text, span: Span, piece: Span },
    /// Answer the peer with this status and nothing else.
    Refuse { conn: ConnId, status: u16 },
    /// Break a job off; its end need not be told.
    Abort { job: Job },
    /// What is known of the file: make room for it.
    Info { url: Text, size: u64, chunk: u64, sha256: Option<Hash> },
    /// The piece is right: remember that it is there. Stands before anything
    /// that offers it to others.
    Keep { url: Text, piece: u32 },
    /// Every piece is there.
    Done { url: Text },
    /// The file cannot be had; the sentence says why.
    Failed { url: Text, why: String },
    /// The file cannot be had any more; the sentence says why (SW-29).
    Withdrawn { url: Text, why: String },
}

/// What the client says of itself.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "what")]
#[non_exhaustive]
pub enum Event {
    /// The coordinator is there, or gone.
    Online,
    /// The next attempt to connect comes after so long.
    Offline { retry: Duration },
    /// A piece is being fetched or taken; `from` is `None` for a `PUT`.
    Receiving { job: Job, piece: u32, from: Option<SocketAddr>, source: bool },
    /// A piece, or a part of one, is being sent; `to` is `None` for a `GET`.
    Sending { job: Job, piece: u32, to: Option<SocketAddr> },
    /// A job ended.
    Ended { job: Job, whole: bool },
    /// A job took too long.
    Overdue { job: Job },
    /// A piece is right and here.
    Kept { piece: u32, held: u32 },
    /// A piece is wrong.
    Wrong { piece: u32 },
    /// A peer is not let in.
    Refused { conn: ConnId, status: u16 },
    /// The coordinator said something that is not followed.
    Ignored { why: Ignored },
    /// The coordinator complains.
    Complaint { message: String },
    /// All of a file is here.
    Done,
}

/// Why something of the coordinator is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Ignored {
    /// Nobody there can honestly know such an address.
    Address,
    /// A file or a piece that is none of ours.
    File,
    /// More at once than agreed.
    TooMany,
    /// A peer whose pieces were wrong three times.
    Liar,
    /// Only clients say that.
    NotACoordinators,
}
