//! Transfers: what the coordinator orders, and how they end.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::io::{Event, Ignored, JobOutcome, Output, TransferJob};
use super::liars::PieceGiver;
use super::{ClientEffects, SwarmClient};
use crate::address::{may_dial, plausible};
use crate::id::ConnId;
use crate::time::{Duration, Instant};
use crate::wire::pdtp::{
    Completed, Hash, PdtpMessage, Reason, Span, TransferKey, TransferMethod, TransferOrder,
};

/// A transfer that is running, or waits for its turn to send.
#[derive(Debug, Clone)]
pub(super) struct RunningTransfer {
    /// How it is named in reports to the coordinator.
    pub(super) about: TransferKey,
    pub(super) piece: u32,
    pub(super) doing: Doing,
    pub(super) deadline: Instant,
}

/// What the transfer does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// Receives a piece; the digest it must have, if known.
    Receive { hash: Option<Hash> },
    /// We connect and send.
    Push { to: SocketAddr, begun: bool },
    /// We send to a peer that connected to us.
    Serve { conn: ConnId, begun: bool },
}

/// The ports on which a plain web server may listen as a source.
const WEB: [u16; 2] = [80, 443];

impl SwarmClient {
    /// The coordinator orders a connection to a peer. It must be able to know
    /// the address plausibly: it cannot make us connect into our private
    /// network, or to a system service.
    pub(super) fn ordered(&mut self, now: Instant, order: TransferOrder, fx: &mut ClientEffects) {
        let TransferOrder { about, port, method, hash } = order;
        let peer = SocketAddr::new(about.peer, port);
        let source = about.peer_id.is_empty();
        let honest = self.coordinator.is_some_and(|by| match source {
            true if WEB.contains(&port) => plausible(about.peer, by),
            _ => may_dial(peer, by),
        });
        let known = self.file(&about.url);
        let piece = known.and_then(|at| Some((at, self.files[at].piece_of(about.span)?)));
        let why = match piece {
            _ if !honest => Some(Ignored::Address),
            None => Some(Ignored::File),
            _ if method == TransferMethod::Get && self.liars.has(&about) => Some(Ignored::Liar),
            _ if self.jobs.len() >= self.config.jobs as usize => Some(Ignored::TooMany),
            _ => None,
        };
        let (Some((at, piece)), None) = (piece, why) else {
            fx.event(Event::Ignored { why: why.unwrap_or(Ignored::File) });
            let reason = if why == Some(Ignored::Liar) { Reason::Hash } else { Reason::Data };
            self.report(about, None, Some(reason), (None, None), fx);
            return;
        };
        match method {
            TransferMethod::Get => {
                if self.files[at].have.contains(piece) {
                    let url = about.url.clone();
                    let span = self.files[at].span(piece);
                    fx.output(Output::Send(PdtpMessage::Provide { url, span }));
                    return;
                }
                let (url, span) = (about.url.clone(), about.span);
                let job = self.receive(now, about, (at, piece, hash), fx);
                let piece_span = self.files[at].span(piece);
                fx.event(Event::Receiving { job, piece, from: Some(peer), source });
                fx.output(Output::Fetch { job, from: peer, url, span, piece: piece_span });
            }
            TransferMethod::Put => {
                let job = self.enter(now, about, piece, Doing::Push { to: peer, begun: false });
                self.queue.push_back(job.0);
                self.send_next(now, fx);
            }
        }
    }

    /// Registers a piece to be received; another job for the same piece is
    /// aborted.
    pub(super) fn receive(
        &mut self,
        now: Instant,
        about: TransferKey,
        (at, piece, hash): (usize, u32, Option<Hash>),
        fx: &mut ClientEffects,
    ) -> TransferJob {
        let url = self.files[at].url.clone();
        let old = self.jobs.iter().find(|(_, job)| {
            job.piece == piece && job.about.url == url && matches!(job.doing, Doing::Receive { .. })
        });
        if let Some(job) = old.map(|(job, _)| *job) {
            self.abort(job, fx);
        }
        self.enter(now, about, piece, Doing::Receive { hash })
    }

    pub(super) fn enter(
        &mut self,
        now: Instant,
        about: TransferKey,
        piece: u32,
        doing: Doing,
    ) -> TransferJob {
        let job = self.next_job;
        self.next_job = self.next_job.wrapping_add(1);
        let deadline = now + self.config.job_timeout.max(Duration::from_micros(1));
        self.jobs.insert(job, RunningTransfer { about, piece, doing, deadline });
        TransferJob(job)
    }

    pub(super) fn abort(&mut self, job: u32, fx: &mut ClientEffects) {
        if self.jobs.remove(&job).is_some() {
            self.queue.retain(|other| *other != job);
            fx.output(Output::Abort { job: TransferJob(job) });
        }
    }

    /// Starts waiting uploads, as many as may send at once.
    pub(super) fn send_next(&mut self, now: Instant, fx: &mut ClientEffects) {
        loop {
            let begun = |job: &&RunningTransfer| {
                matches!(
                    job.doing,
                    Doing::Push { begun: true, .. } | Doing::Serve { begun: true, .. }
                )
            };
            if self.jobs.values().filter(begun).count() >= self.config.send_at_once as usize {
                return;
            }
            let Some(number) = self.queue.pop_front() else { return };
            let deadline = now + self.config.job_timeout.max(Duration::from_micros(1));
            let Some(running) = self.jobs.get_mut(&number) else { continue };
            running.deadline = deadline;
            let (job, piece) = (TransferJob(number), running.piece);
            let (url, span) = (running.about.url.clone(), running.about.span);
            match &mut running.doing {
                Doing::Push { to, begun } => {
                    *begun = true;
                    let to = *to;
                    fx.event(Event::Sending { job, piece, to: Some(to) });
                    fx.output(Output::Push { job, to, url, span });
                }
                Doing::Serve { conn, begun } => {
                    *begun = true;
                    let conn = *conn;
                    fx.event(Event::Sending { job, piece, to: None });
                    fx.output(Output::Serve { job, conn, url, span });
                }
                Doing::Receive { .. } => {}
            }
        }
    }

    /// A job ended: reports it.
    pub(super) fn ended(
        &mut self,
        now: Instant,
        job: TransferJob,
        outcome: JobOutcome,
        fx: &mut ClientEffects,
    ) {
        let Some(running) = self.jobs.remove(&job.0) else { return };
        self.queue.retain(|other| *other != job.0);
        fx.event(Event::Ended { job, whole: matches!(outcome, JobOutcome::Whole { .. }) });
        let RunningTransfer { about, piece, doing, .. } = running;
        match (doing, outcome) {
            (Doing::Receive { hash }, JobOutcome::Whole { hash: Some(found), took }) => {
                self.received(about, (piece, hash), (found, took), fx);
            }
            (Doing::Receive { .. }, JobOutcome::Whole { hash: None, .. }) => {
                self.report(about, None, Some(Reason::Data), (None, None), fx);
            }
            (Doing::Receive { .. }, JobOutcome::Broken { reason, bytes }) => {
                let offset = self.offset(&about, bytes);
                self.report(about, None, Some(reason), (offset, None), fx);
            }
            (_, JobOutcome::Whole { took, .. }) => {
                self.report(about, None, None, (None, Some(took)), fx);
            }
            (_, JobOutcome::Broken { reason, .. }) => {
                self.report(about, None, Some(reason), (None, None), fx);
            }
        }
        self.send_next(now, fx);
    }

    /// How many bytes of the piece are there, after a transfer of a part of it
    /// brought `bytes`.
    fn offset(&self, about: &TransferKey, bytes: u64) -> Option<u64> {
        let file = &self.files[self.file(&about.url)?];
        let whole = file.span(file.piece_of(about.span)?);
        Some(about.span.start - whole.start + bytes).filter(|offset| *offset > 0)
    }

    fn received(
        &mut self,
        about: TransferKey,
        (piece, expected): (u32, Option<Hash>),
        (found, took): (Hash, Duration),
        fx: &mut ClientEffects,
    ) {
        let Some(at) = self.file(&about.url) else { return };
        if expected == Some(found) {
            self.keep(at, piece, fx);
        } else {
            let mut giver = PieceGiver::from_transfer(&about);
            if expected.is_some() {
                giver.take().into_iter().for_each(|giver| self.liars.blame(giver));
                fx.event(Event::Wrong { piece });
            }
            self.files[at].judged.insert(piece, giver);
        }
        self.report(about, Some(found), None, (None, Some(took)), fx);
        self.finish(at, fx);
    }

    fn keep(&mut self, at: usize, piece: u32, fx: &mut ClientEffects) {
        let file = &mut self.files[at];
        file.keep(piece);
        file.judged.remove(&piece);
        fx.output(Output::Keep { url: file.url.clone(), piece });
        fx.event(Event::Kept { piece, held: file.held });
    }

    /// The coordinator has checked a digest.
    pub(super) fn digest_checked(
        &mut self,
        url: &str,
        span: Span,
        ok: bool,
        fx: &mut ClientEffects,
    ) {
        let Some(at) = self.file(url) else { return };
        let Some(piece) = self.files[at].piece_of(span) else { return };
        let Some(giver) = self.files[at].judged.remove(&piece) else { return };
        if ok {
            self.keep(at, piece, fx);
            self.finish(at, fx);
        } else {
            giver.into_iter().for_each(|giver| self.liars.blame(giver));
            fx.event(Event::Wrong { piece });
        }
    }

    pub(super) fn report(
        &self,
        about: TransferKey,
        hash: Option<Hash>,
        reason: Option<Reason>,
        (offset, took): (Option<u64>, Option<Duration>),
        fx: &mut ClientEffects,
    ) {
        if self.coordinator.is_some() {
            let took = took.map(Duration::as_micros);
            let report = Completed { about, hash, offset, reason, took };
            fx.output(Output::Send(PdtpMessage::Completed(report)));
        }
    }

    /// Aborts jobs that take too long.
    pub(super) fn overdue(&mut self, now: Instant, fx: &mut ClientEffects) {
        let late = self.jobs.iter().filter(|(_, job)| job.deadline <= now);
        let late: Vec<u32> = late.map(|(job, _)| *job).collect();
        for job in late {
            let Some(running) = self.jobs.remove(&job) else { continue };
            self.queue.retain(|other| *other != job);
            fx.event(Event::Overdue { job: TransferJob(job) });
            fx.output(Output::Abort { job: TransferJob(job) });
            self.report(running.about, None, Some(Reason::Data), (None, None), fx);
        }
        self.send_next(now, fx);
    }
}
