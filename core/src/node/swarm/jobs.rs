//! Transfers with peers: what the client wants transferred, on which
//! connection, and how it ended.

use alloc::collections::BTreeMap;
use core::net::SocketAddr;

use super::coordinator::send;
use super::cx::SwarmCx;
use super::io::{Output, SwarmAnswer, SwarmFile};
use super::peers::{AskedStep, AskingStep, Moving, RequestSide, Role, ServingSide, SwarmPeers};
use crate::id::ConnId;
use crate::node::{ConnEvent, ConnOutput, FileRef, Output as NodeOutput, StoreError};
use crate::swarm::client::JobOutcome;
use crate::time::Duration;
use crate::wire::http::ResponseHead;
use crate::wire::pdtp::{Hash, Reason, Text, peer, target_of};

/// The direction of a transfer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum JobDirection {
    FromSource,
    FromPeer,
    ToPeer,
}

/// A transfer that has been started.
#[derive(Debug, Clone)]
pub(super) struct Work {
    pub(super) url: Text,
    pub(super) file: SwarmFile,
    pub(super) size: u64,
    pub(super) way: JobDirection,
    /// The range being transferred, and the piece it belongs to.
    pub(super) range: (u64, u64),
    pub(super) piece: (u64, u64),
    /// The peer we connect to for it.
    pub(super) to: Option<SocketAddr>,
    /// Its connection, while bytes are being transferred.
    pub(super) conn: Option<ConnId>,
}

/// A digest requested from the host.
#[derive(Debug, Clone)]
pub(super) enum DigestRequest {
    /// Of the piece of this job, which took so long to transfer.
    Piece { job: u32, took: Duration },
    /// Of a whole file.
    Whole { url: Text },
}

/// Bytes transferred.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Totals {
    pub(super) from_source: u64,
    pub(super) from_peers: u64,
    pub(super) given: u64,
}

/// A job that ended, with its outcome.
pub(super) type EndedJob = Option<(u32, JobOutcome)>;

/// All transfers.
#[derive(Debug, Clone)]
pub(super) struct Jobs {
    pub(super) id: Text,
    running: BTreeMap<u32, Work>,
    asks: BTreeMap<u32, DigestRequest>,
    next_ask: u32,
    pub(super) totals: Totals,
}

impl Jobs {
    pub(super) const fn new(id: Text) -> Self {
        let totals = Totals { from_source: 0, from_peers: 0, given: 0 };
        Self { id, running: BTreeMap::new(), asks: BTreeMap::new(), next_ask: 0, totals }
    }

    pub(super) fn get(&self, job: u32) -> Option<&Work> {
        self.running.get(&job)
    }

    /// Ends a job.
    fn end(&mut self, job: u32, outcome: JobOutcome) -> EndedJob {
        let work = self.running.remove(&job)?;
        if matches!(outcome, JobOutcome::Whole { .. }) {
            let bytes = work.range.1 - work.range.0;
            match work.way {
                JobDirection::FromSource => self.totals.from_source += bytes,
                JobDirection::FromPeer => self.totals.from_peers += bytes,
                JobDirection::ToPeer => self.totals.given += bytes,
            }
        }
        Some((job, outcome))
    }

    fn broken(&mut self, job: u32, reason: Reason, bytes: u64) -> EndedJob {
        self.end(job, JobOutcome::Broken { reason, bytes })
    }

    /// Starts a transfer on a connection that we open: an idle one, or a new
    /// one.
    pub(super) fn ask(
        &mut self,
        job: u32,
        work: Work,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) -> EndedJob {
        let idle = work.to.and_then(|to| peers.reuse(to));
        self.running.insert(job, work);
        match idle {
            Some(conn) => {
                self.request(job, conn, true, peers, cx);
                None
            }
            None => self.dial(job, peers, cx),
        }
    }

    fn dial(&mut self, job: u32, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) -> EndedJob {
        let work = self.running.get_mut(&job)?;
        let to = work.to?;
        let Some(conn) = cx.dial_for_stranger(to) else {
            return self.broken(job, Reason::Connect, 0);
        };
        work.conn = Some(conn);
        let step = AskedStep::Dialing { job };
        peers.insert(conn, Role::Asked(RequestSide { to, step, keep: true }));
        None
    }

    fn request(
        &mut self,
        job: u32,
        conn: ConnId,
        reused: bool,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        let (Some(work), Some(asked)) = (self.running.get_mut(&job), peers.asked(conn)) else {
            return;
        };
        work.conn = Some(conn);
        (asked.step, asked.keep) = (AskedStep::Head { job, reused }, true);
        let method = if work.way == JobDirection::ToPeer { "PUT" } else { "GET" };
        let head = peer::ask(method, target_of(&work.url), work.range, &self.id);
        peers.wake(conn, cx.after(cx.limits.turn));
        cx.write(conn, head);
    }

    /// The connection for a job is open.
    pub(super) fn dialed(&mut self, conn: ConnId, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
        if let Some(RequestSide { step: AskedStep::Dialing { job }, .. }) = peers.asked(conn) {
            let job = *job;
            self.request(job, conn, false, peers, cx);
        }
    }

    /// Sends the peer on `conn` the range it requested.
    pub(super) fn serve(
        &mut self,
        job: u32,
        work: Work,
        (conn, peers): (ConnId, &mut SwarmPeers),
        cx: &mut SwarmCx<'_>,
    ) -> EndedJob {
        let (file, size, (start, end)) = (work.file, work.size, work.range);
        self.running.insert(job, Work { conn: Some(conn), ..work });
        let waits = |asking: &mut ServingSide| matches!(asking.step, AskingStep::Verify { .. });
        if !peers.asking(conn).is_some_and(waits) {
            return self.broken(job, Reason::Data, 0);
        }
        let moving = Moving { job: Some(job), file, start, end, done: 0, since: cx.now };
        send(conn, moving, size, peers, cx);
        None
    }

    /// Receives what the peer on `conn` uploads.
    pub(super) fn take(
        &mut self,
        job: u32,
        work: Work,
        (conn, peers): (ConnId, &mut SwarmPeers),
        cx: &mut SwarmCx<'_>,
    ) -> EndedJob {
        let (file, (start, end)) = (work.file, work.range);
        self.running.insert(job, Work { conn: Some(conn), ..work });
        let asking = peers.asking(conn);
        let Some(ServingSide { step: AskingStep::Verify { put: Some((told, waits)) }, keep }) =
            asking
        else {
            return self.broken(job, Reason::Data, 0);
        };
        let (told, waits) = (*told, *waits);
        if told != Some(end - start) {
            *keep &= waits; // Otherwise the body is sent anyway.
            reply(conn, 416, peers, cx);
            return self.broken(job, Reason::Data, 0);
        }
        if waits {
            cx.write(conn, peer::CONTINUE.into());
        }
        let moving = Moving { job: Some(job), file, start, end, done: 0, since: cx.now };
        store(conn, moving, peers, cx);
        None
    }

    /// Aborts a job.
    pub(super) fn abort(&mut self, job: u32, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
        self.asks
            .retain(|_, ask| !matches!(ask, DigestRequest::Piece { job: of, .. } if *of == job));
        if let Some(conn) = self.running.remove(&job).and_then(|work| work.conn) {
            peers.remove(conn);
            cx.close(conn, false, "the transfer is broken off");
        }
    }

    /// Reads a peer's response.
    pub(super) fn read(
        &mut self,
        conn: ConnId,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) -> EndedJob {
        let (job, took) = match peers.asked(conn)?.step {
            AskedStep::Head { job, .. } => (job, None),
            AskedStep::Confirming { job, took } => (job, Some(took)),
            AskedStep::Idle => {
                peers.remove(conn);
                cx.close(conn, false, "a peer says what nobody asked");
                return None;
            }
            AskedStep::Dialing { .. } | AskedStep::Storing(_) | AskedStep::Sending(_) => {
                return None;
            }
        };
        let bytes = peers.unread(conn);
        match ResponseHead::parse(&bytes, &cx.head_limits()) {
            Ok(None) => {
                peers.put_back(conn, bytes, 0);
                None
            }
            Ok(Some((head, used))) => {
                peers.put_back(conn, bytes, used);
                cx.tell(ConnEvent::Response { conn, status: head.status });
                self.answered(conn, (job, took), &head, peers, cx)
            }
            Err(_) => {
                peers.remove(conn);
                cx.close(conn, false, "not a reply we can read");
                self.broken(job, Reason::Data, 0)
            }
        }
    }

    /// Handles a peer's response. `took` is how long sending the body of a
    /// `PUT` took, once all of it is sent.
    fn answered(
        &mut self,
        conn: ConnId,
        (job, took): (u32, Option<Duration>),
        head: &ResponseHead,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) -> EndedJob {
        let asked = peers.asked(conn)?;
        let work = self.running.get_mut(&job)?;
        let (file, (start, end)) = (work.file, work.range);
        let moving = Moving { job: Some(job), file, start, end, done: 0, since: cx.now };
        if work.way == JobDirection::ToPeer && took.is_none() && head.status == 100 {
            asked.step = AskedStep::Sending(moving);
            peers.wake(conn, cx.after(cx.limits.stall));
            cx.fx.output(NodeOutput::Connection(
                conn,
                ConnOutput::Serve { file: FileRef::Swarm(file), start, end },
            ));
            return None;
        }
        if work.way != JobDirection::ToPeer && peer::brings(head, work.range) {
            asked.keep = head.keep_alive();
            store(conn, moving, peers, cx);
            return None;
        }
        // After any other response there may be a body, which we would not
        // read.
        asked.keep = head.content_length() == Some(0) && head.keep_alive();
        work.conn = None;
        let took = took.filter(|_| (200..300).contains(&head.status));
        if took.is_some() {
            cx.io.answered(conn);
        }
        peers.release(conn, cx);
        match took {
            Some(took) => self.end(job, JobOutcome::Whole { hash: None, took }),
            None => self.broken(job, Reason::Data, 0),
        }
    }

    /// All bytes of a transfer have been sent.
    pub(super) fn sent(
        &mut self,
        conn: ConnId,
        moving: Moving,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) -> EndedJob {
        let took = cx.now.since(moving.since);
        let job = moving.job?;
        if let Some(asked) = peers.asked(conn) {
            asked.step = AskedStep::Confirming { job, took };
            peers.wake(conn, cx.after(cx.limits.turn));
            return self.read(conn, peers, cx);
        }
        self.end(job, JobOutcome::Whole { hash: None, took })
    }

    /// All bytes of a transfer are on disk: requests the digest of their piece.
    pub(super) fn stored(
        &mut self,
        conn: ConnId,
        moving: Moving,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) {
        if peers.asked(conn).is_some() {
            cx.io.answered(conn);
            peers.release(conn, cx);
        } else {
            reply(conn, 201, peers, cx);
        }
        let Some(job) = moving.job else { return };
        let Some(work) = self.running.get_mut(&job) else { return };
        work.conn = None;
        let (file, piece) = (work.file, work.piece);
        self.digest(
            DigestRequest::Piece { job, took: cx.now.since(moving.since) },
            file,
            piece,
            cx,
        );
    }

    /// Requests a digest from the host.
    pub(super) fn digest(
        &mut self,
        what: DigestRequest,
        file: SwarmFile,
        (start, end): (u64, u64),
        cx: &mut SwarmCx<'_>,
    ) {
        let ask = self.next_ask;
        self.next_ask = ask.wrapping_add(1);
        self.asks.insert(ask, what);
        cx.output(Output::Hash { ask, file, start, end });
    }

    /// What a digest was requested for, if that still matters.
    pub(super) fn asked(&mut self, ask: u32) -> Option<DigestRequest> {
        self.asks.remove(&ask)
    }

    /// The host reports the digest of a job's piece, or that it cannot be read.
    pub(super) fn hashed(
        &mut self,
        job: u32,
        took: Duration,
        found: Result<Hash, StoreError>,
        cx: &mut SwarmCx<'_>,
    ) -> EndedJob {
        match found {
            Ok(hash) => self.end(job, JobOutcome::Whole { hash: Some(hash), took }),
            Err(why) => {
                let file = self.running.get(&job)?.file;
                cx.answer(SwarmAnswer::DiskFailed { file, why });
                self.broken(job, Reason::Data, 0)
            }
        }
    }

    /// A disk error ended a transfer.
    pub(super) fn disk_failed(
        &mut self,
        role: &Role,
        why: StoreError,
        cx: &mut SwarmCx<'_>,
    ) -> EndedJob {
        let stored = match role {
            Role::Asking(ServingSide { step: AskingStep::Storing(moving), .. })
            | Role::Asked(RequestSide { step: AskedStep::Storing(moving), .. }) => moving,
            _ => return self.gone(role),
        };
        if matches!(why, StoreError::Full | StoreError::Denied) {
            cx.answer(SwarmAnswer::DiskFailed { file: stored.file, why });
        }
        self.broken(stored.job?, Reason::Data, stored.done)
    }

    /// A connection is lost or was given up.
    pub(super) fn gone(&mut self, role: &Role) -> EndedJob {
        match role {
            Role::Asking(ServingSide { step: AskingStep::Storing(moving), .. })
            | Role::Asked(RequestSide { step: AskedStep::Storing(moving), .. }) => {
                self.broken(moving.job?, Reason::Data, moving.done)
            }
            Role::Asking(ServingSide { step: AskingStep::Sending(moving), .. })
            | Role::Asked(RequestSide { step: AskedStep::Sending(moving), .. }) => {
                self.broken(moving.job?, Reason::Data, 0)
            }
            Role::Asked(RequestSide { step: AskedStep::Dialing { job }, .. }) => {
                self.broken(*job, Reason::Connect, 0)
            }
            Role::Asked(RequestSide {
                step: AskedStep::Head { job, .. } | AskedStep::Confirming { job, .. },
                ..
            }) => self.broken(*job, Reason::Data, 0),
            Role::Asking(_) | Role::Asked(_) | Role::Client(_) | Role::Coordinator(_) => None,
        }
    }

    /// The peer closed the connection. If it had been idle, the peer may have
    /// closed it before it received the request: then the request is repeated
    /// once, on another connection.
    pub(super) fn hung_up(
        &mut self,
        role: &Role,
        peers: &mut SwarmPeers,
        cx: &mut SwarmCx<'_>,
    ) -> EndedJob {
        match role {
            Role::Asked(RequestSide { step: AskedStep::Head { job, reused: true }, .. }) => {
                self.dial(*job, peers, cx)
            }
            role => self.gone(role),
        }
    }
}

/// Passes the body that follows to the disk, starting with what has been
/// received of it.
fn store(conn: ConnId, moving: Moving, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
    let Moving { file, start, end, .. } = moving;
    let mut early = peers.unread(conn);
    let ours = usize::try_from(end - start).unwrap_or(usize::MAX).min(early.len());
    let rest = early.split_off(ours);
    peers.put_back(conn, rest, 0);
    match peers.role(conn) {
        Some(Role::Asking(asking)) => asking.step = AskingStep::Storing(moving),
        Some(Role::Asked(asked)) => asked.step = AskedStep::Storing(moving),
        _ => return,
    }
    peers.wake(conn, cx.after(cx.limits.stall));
    cx.fx.output(NodeOutput::Connection(
        conn,
        ConnOutput::Store { file: FileRef::Swarm(file), start, end, early },
    ));
}

/// Answers a peer's request without a body; the next one may follow.
pub(super) fn reply(conn: ConnId, status: u16, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
    let Some(asking) = peers.asking(conn) else { return };
    asking.step = AskingStep::Head;
    let keep = asking.keep;
    cx.tell(ConnEvent::Reply { conn, status, start: 0, end: 0 });
    cx.write(conn, peer::status(status, keep));
    rest(conn, peers, cx);
}

/// A request is finished: waits for the next one, if there can be one.
pub(super) fn rest(conn: ConnId, peers: &mut SwarmPeers, cx: &mut SwarmCx<'_>) {
    let Some(asking) = peers.asking(conn) else { return };
    asking.step = AskingStep::Head;
    if asking.keep {
        peers.wake(conn, cx.after(cx.limits.idle));
        // What was received meanwhile is processed now.
        cx.again.push(conn);
    } else {
        peers.remove(conn);
        cx.close(conn, true, "the peer wants no more");
    }
}
