//! What goes into the server and what comes out of it.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use core::net::{IpAddr, SocketAddr};

use crate::id::{ConnId, Guid};
use crate::queue::{Dialect, FileKey, Loss, Place, Refusal, Row};
use crate::time::Duration;

/// Something that happened to the line or to a slot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Input {
    /// A place or slot from the store; before anything else and in order of
    /// arrival.
    Restore(Row),
    /// Everything is restored: deadlines run from now, owners are called.
    Resume,
    /// A `GET` for a file. Answered by one [`Output::Reply`] or
    /// [`Output::Hangup`] for its connection: in the same list, or in a later
    /// one when the request is held ([`Request::waits`]). On a connection whose
    /// last request is held, [`Input::Answer`] comes first.
    Request(Request),
    /// A held request is to be answered now, by a place if there is no slot.
    Answer { conn: ConnId },
    /// A request that needs no slot: a `HEAD`, a list, a file we do not have.
    /// Counts like any other towards hammering; refused with one
    /// [`Output::Reply`], else there is no output.
    Light { conn: ConnId, peer: IpAddr },
    /// So many bytes of the range have left by now. Nothing is decided by it;
    /// what is told of the time to come follows it (PQ-15).
    Progress { conn: ConnId, bytes: u64 },
    /// All bytes of the range have left. `last`: nothing is left to ask for,
    /// the file was sent to its end by somebody who takes it in one piece.
    Finished { conn: ConnId, last: bool },
    /// All bytes of a piece have left on a connection that closes after it: the
    /// next is asked for on another, and the slot waits as long as for one on
    /// the same.
    Parted { conn: ConnId },
    /// The connection was lost in the middle of a transfer; its slot may be
    /// held for the owner (PQ-14). A transfer we end ourselves (a reader
    /// that stalls, a file that is gone) is [`Input::Gone`] instead.
    Broken { conn: ConnId },
    /// The connection is closed. Harmless for connections that hold nothing.
    Gone { conn: ConnId },
    /// How many uploads may run at once from now on.
    Slots(u32),
    /// A call is over: `ok` when the `QUEUE` line was delivered.
    CallDone { ticket: Guid, ok: bool },
}

/// Who asks for what, and what it says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Request {
    /// The connection it came on.
    pub conn: ConnId,
    /// The address of its other end.
    pub peer: IpAddr,
    /// The language it speaks.
    pub dialect: Dialect,
    /// The file, by content.
    pub file: FileKey,
    /// Bytes it would get now.
    pub bytes: u64,
    /// The id in its `X-Queued`, if any.
    pub ticket: Option<Guid>,
    /// The position in its `X-Queued`, if any.
    pub told: Option<u32>,
    /// Its `X-Node`, as claimed.
    pub callback: Option<SocketAddr>,
    /// It waits for its answer a while: it said so, or is a plain client.
    pub waits: bool,
}

/// Something for the host to do, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Output {
    /// The answer to a request.
    Reply { conn: ConnId, verdict: Verdict },
    /// Connect to `to` and say `QUEUE <ticket> <our address>`; report with
    /// [`Input::CallDone`].
    Call { ticket: Guid, to: SocketAddr },
    /// Close the connection, without an answer if one is due.
    Hangup { conn: ConnId, why: Loss },
    /// Remember this place or slot, before any reply that follows.
    Save(Row),
    /// Forget it, before any reply that follows.
    Forget(Guid),
}

/// What becomes of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Serve it now. `told_ticket`: the client speaks PARQ, so the reply may
    /// carry the id.
    Start { ticket: Guid, told_ticket: bool },
    /// 503 with a place in the line.
    Wait(Place),
    /// A plain 503 with `Retry-After`.
    Busy { retry_after: Duration, why: Refusal },
    /// 429 with `Retry-After`.
    Hammering { retry_after: Duration },
}
