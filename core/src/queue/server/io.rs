//! The inputs and outputs of the upload queue.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::{IpAddr, SocketAddr};

use crate::id::{ConnId, Guid};
use crate::queue::{
    Dialect, FileKey, PositionLoss, QueuePolicy, QueuePosition, QueueRefusal, StoredEntry,
};
use crate::time::Duration;

/// Something that happened in the queue or in a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// A place or slot from the store; these inputs come first, in order of
    /// arrival.
    Restore(StoredEntry),
    /// Everything is restored: deadlines count from now, owners are called.
    Resume,
    /// More is restored while others wait: like [`Input::Resume`], for the rows
    /// since the last of these.
    Joined,
    /// The files of these parts of the site belong to another servent from now
    /// on ([`Part::bit`]). Their places and slots are let go without a word to
    /// the store, which keeps them for that one; what is being sent is sent to
    /// its end.
    ///
    /// [`Part::bit`]: crate::lease::Partition::bit
    Release { parts: u64 },
    /// For a while no request could be answered. No client is late for that:
    /// one that has a place or a slot waiting has the time to come that a
    /// restart would give.
    Excuse,
    /// A `GET` for a file. Answered by one [`Output::Reply`] or
    /// [`Output::Hangup`] for its connection: in the same list, or later when
    /// the request is held ([`QueueRequest::waits`]). On a connection whose last
    /// request is held, [`Input::Answer`] must come first.
    Request(QueueRequest),
    /// Answer a held request now, with a place if there is no slot.
    Answer { conn: ConnId },
    /// A request that needs no slot: a `HEAD`, a listing, a file we do not
    /// have. It counts towards the rate limit like any other; refused by one
    /// [`Output::Reply`], otherwise there is no output.
    Light { conn: ConnId, peer: IpAddr },
    /// So many bytes of the range have been sent so far. It changes no
    /// decision, only the estimates of waiting times (PQ-15).
    Progress { conn: ConnId, bytes: u64 },
    /// All bytes of the range have been sent. `last`: the client needs no other
    /// range, because the file was sent to its end to a client that does not
    /// take it piece by piece.
    Finished { conn: ConnId, last: bool },
    /// All bytes of a range have been sent on a connection that closes after
    /// it: the client requests the next range on another connection, and the
    /// slot waits for that as long as it would on the same one.
    Parted { conn: ConnId },
    /// The connection was lost during a transfer; the slot may be reserved for
    /// its owner (PQ-14). A transfer that we end ourselves (a reader that
    /// stalls, a file that is gone) is [`Input::Gone`] instead.
    Broken { conn: ConnId },
    /// What was answered on this connection could not be saved, and was not
    /// said. A transfer that was to begin has not: its slot waits for the client
    /// to ask again. A place stays as it is, and its client may know an older
    /// position.
    Retracted { conn: ConnId },
    /// The connection is closed. Has no effect on a connection without place or
    /// slot.
    Gone { conn: ConnId },
    /// A client gives back the place or slot with this id, on this connection
    /// (QA-8).
    Leave { conn: ConnId, ticket: Guid },
    /// The number of upload slots from now on.
    Slots(u32),
    /// How waiting clients are told when to ask, from now on; times announced before
    /// stay valid.
    Policy(QueuePolicy),
    /// A call is over: `ok` when the `QUEUE` line was delivered.
    CallDone { ticket: Guid, ok: bool },
}

/// A client's request for a file, with its queueing headers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct QueueRequest {
    /// The connection it came on.
    pub conn: ConnId,
    /// The address of its other end.
    pub peer: IpAddr,
    /// The client's dialect.
    pub dialect: Dialect,
    /// The file, identified by content.
    pub file: FileKey,
    /// Bytes the reply would have.
    pub bytes: u64,
    /// Bytes of the file behind those: a client that takes it piece by piece comes for
    /// them, too (QA-5).
    pub rest: u64,
    /// The id in its `X-Queued`, if any.
    pub ticket: Option<Guid>,
    /// The position in its `X-Queued`, if any.
    pub told: Option<u32>,
    /// Its `X-Node`, not verified.
    pub callback: Option<SocketAddr>,
    /// It waits for a late answer: it said so, or is a plain client.
    pub waits: bool,
    /// It said that it may wake only once a minute (WB-7).
    pub sleeps: bool,
}

/// Something for the host to do, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    /// The answer to a request.
    Reply { conn: ConnId, verdict: QueueVerdict },
    /// Connect to `to` and send `QUEUE <ticket> <our address>`; report with
    /// [`Input::CallDone`].
    Call { ticket: Guid, to: SocketAddr },
    /// Close the connection, without answering a pending request.
    Hangup { conn: ConnId, why: PositionLoss },
    /// Save this place or slot, before any reply that follows.
    Save(StoredEntry),
    /// Delete it from the store, before any reply that follows.
    Forget(Guid),
}

/// The decision on a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QueueVerdict {
    /// Serve it now. `told_ticket`: the client speaks PARQ, so the reply may
    /// carry the id.
    Start { ticket: Guid, told_ticket: bool },
    /// 503 with a place in the queue.
    Wait(QueuePosition),
    /// A plain 503 with `Retry-After`.
    Busy { retry_after: Duration, why: QueueRefusal },
    /// 429 with `Retry-After`.
    Hammering { retry_after: Duration },
}
