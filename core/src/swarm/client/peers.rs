//! Admission of the peers that connect to us.

use super::io::{Event, Output, PeerRequest};
use super::jobs::Doing;
use super::{ClientEffects, SwarmClient};
use crate::time::{Duration, Instant};
use crate::wire::pdtp::{PdtpMessage, TransferKey, TransferMethod};

/// A peer whose authorization is being verified (SW-3).
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    pub(super) request: PeerRequest,
    pub(super) deadline: Instant,
    /// The coordinator was asked; before that, its announcement is expected.
    pub(super) asked: bool,
}

/// A peer that the coordinator has announced.
#[derive(Debug, Clone)]
pub(super) struct Allowed {
    about: TransferKey,
    until: Instant,
}

/// The statuses of refusals: 403, 404 and 503.
const FORBIDDEN: u16 = 403;
const NOT_FOUND: u16 = 404;
const BUSY: u16 = 503;

impl SwarmClient {
    pub(super) fn incoming(&mut self, now: Instant, request: PeerRequest, fx: &mut ClientEffects) {
        let known = self.file(&request.url);
        let piece = known.and_then(|at| Some((at, self.files[at].piece_of(request.span)?)));
        let Some((at, piece)) = piece else {
            self.refuse(&request, NOT_FOUND, fx);
            return;
        };
        let here = self.files[at].have.contains(piece);
        if here != (request.method == TransferMethod::Get) {
            self.refuse(&request, NOT_FOUND, fx);
            return;
        }
        if request.method == TransferMethod::Put && self.liars.has(&about(&request)) {
            self.refuse(&request, FORBIDDEN, fx);
            return;
        }
        let fits = |allowed: &Allowed| {
            let about = &allowed.about;
            (&about.peer_id, &about.url, about.span)
                == (&request.peer_id, &request.url, request.span)
        };
        self.allowed.retain(|allowed| allowed.until > now);
        if let Some(found) = self.allowed.iter().position(fits) {
            self.allowed.remove(found);
            self.admit(now, request, fx);
        } else if self.coordinator.is_none() || self.waiting.len() >= self.config.waiting as usize {
            self.refuse(&request, BUSY, fx);
        } else {
            // Once it has announced a peer it announces all of them, and an
            // announcement cannot take longer than an answer would.
            let asked = !(self.agreed.early && self.expects);
            let wait = if asked { self.config.verify_timeout } else { self.config.early_wait };
            if asked {
                fx.output(Output::Send(PdtpMessage::AskVerify(about(&request))));
            }
            let deadline = now + wait.max(Duration::from_micros(1));
            self.waiting.push(Waiting { request, deadline, asked });
        }
    }

    /// The coordinator answers a question, or announces a peer.
    pub(super) fn verified(
        &mut self,
        now: Instant,
        about: TransferKey,
        authorized: bool,
        fx: &mut ClientEffects,
    ) {
        self.expects |= authorized;
        let same = |peer: &Waiting| {
            let request = &peer.request;
            (&request.peer_id, &request.url, request.span)
                == (&about.peer_id, &about.url, about.span)
        };
        if let Some(found) = self.waiting.iter().position(same) {
            let request = self.waiting.remove(found).request;
            if authorized {
                self.admit(now, request, fx);
            } else {
                self.refuse(&request, FORBIDDEN, fx);
            }
        } else if authorized {
            if self.allowed.len() >= self.config.allowed as usize {
                self.allowed.pop_front();
            }
            self.allowed.push_back(Allowed { about, until: now + self.config.job_timeout });
        }
    }

    fn admit(&mut self, now: Instant, request: PeerRequest, fx: &mut ClientEffects) {
        let known = self.file(&request.url);
        let piece = known.and_then(|at| Some((at, self.files[at].piece_of(request.span)?)));
        let full = self.jobs.len() >= self.config.jobs as usize;
        let (Some((at, piece)), false) = (piece, full) else {
            self.refuse(&request, BUSY, fx);
            return;
        };
        let (about, conn) = (about(&request), request.conn);
        match request.method {
            TransferMethod::Get => {
                let job = self.enter(now, about, piece, Doing::Serve { conn, begun: false });
                self.queue.push_back(job.0);
                self.send_next(now, fx);
            }
            TransferMethod::Put => {
                let job = self.receive(now, about, (at, piece, None), fx);
                let whole = self.files[at].span(piece);
                let (url, span) = (request.url, request.span);
                fx.event(Event::Receiving { job, piece, from: None, source: false });
                fx.output(Output::Take { job, conn, url, span, piece: whole });
            }
        }
    }

    fn refuse(&self, request: &PeerRequest, status: u16, fx: &mut ClientEffects) {
        fx.event(Event::Refused { conn: request.conn, status });
        fx.output(Output::Refuse { conn: request.conn, status });
    }

    /// Asks about peers that were not announced in time, and refuses those the
    /// coordinator has not answered about.
    pub(super) fn unanswered(&mut self, now: Instant, fx: &mut ClientEffects) {
        while let Some(at) = self.waiting.iter().position(|peer| peer.deadline <= now) {
            let Waiting { request, asked, .. } = self.waiting.remove(at);
            if asked || self.coordinator.is_none() {
                self.refuse(&request, BUSY, fx);
                continue;
            }
            fx.output(Output::Send(PdtpMessage::AskVerify(about(&request))));
            let deadline = now + self.config.verify_timeout.max(Duration::from_micros(1));
            self.waiting.push(Waiting { request, deadline, asked: true });
        }
    }
}

/// How a request is named to the coordinator.
fn about(request: &PeerRequest) -> TransferKey {
    TransferKey {
        peer: request.peer,
        url: request.url.clone(),
        span: request.span,
        peer_id: request.peer_id.clone(),
    }
}
