//! The upload side, outwards: what the queue decided, and every other reply.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::conn::{Phase, Timer, Transfer};
use super::parts::Subject;
use super::serve::{Asked, ReplyForm};
use super::{ConnEvent, Effects, Event, FileRef, Limit, Node, Output, tell};
use crate::engine::{Effect, Engine as _, Fx};
use crate::id::{ConnId, Guid};
use crate::queue::server::Verdict;
use crate::queue::{Dialect, Place, server};
use crate::time::{Duration, Instant};
use crate::wire::http::{Alts, ContentRange, HeadWriter};
use crate::wire::queue::{self as headers, Seconds};

impl Node {
    /// The queue's answer to the request at hand.
    pub(super) fn verdict(
        &mut self,
        now: Instant,
        conn: ConnId,
        verdict: Verdict,
        fx: &mut Effects,
    ) {
        let Some(asked) = self.asked.take().filter(|a| a.conn == conn) else { return };
        match verdict {
            Verdict::Start { ticket, told_ticket } => {
                self.start_body(now, &asked, told_ticket.then_some(ticket), fx);
            }
            Verdict::Wait(place) => self.wait(now, &asked, &place, fx),
            Verdict::Busy { retry_after, .. } => {
                let says = (503, "Busy", retry_after);
                self.come_back(now, conn, says, ReplyForm::CLOSE, fx);
            }
            Verdict::Hammering { retry_after } => {
                self.hammering(now, conn, retry_after, ReplyForm::CLOSE, fx);
            }
        }
    }

    /// A slot is given: the head, then the bytes.
    fn start_body(&mut self, now: Instant, asked: &Asked, ticket: Option<Guid>, fx: &mut Effects) {
        let &Asked { conn, start, end, .. } = asked;
        let Subject { size, file, .. } = asked.subject;
        let status = if asked.partial { 206 } else { 200 };
        let mut head = self.head(status, if asked.partial { "Partial Content" } else { "OK" });
        self.describe(&mut head, conn, &asked.subject);
        if asked.partial {
            head.header(
                "Content-Range",
                ContentRange { range: Some((start, end)), size: Some(size) },
            );
        }
        head.header("Content-Type", "application/octet-stream")
            .header("Content-Length", end - start);
        if let Some(ticket) = ticket {
            head.header("X-Queued", format_args!("ID={ticket}"));
        }
        asked.reply.announce(&mut head);
        say(conn, status, (start, end), head.finish(), fx);
        let last = end == size && !asked.piece;
        if start == end {
            self.queue(now, server::Input::Finished { conn, last }, fx);
            return self.replied(now, conn, asked.reply, "the client wants no more", fx);
        }
        let Some(state) = self.conns.open(conn) else { return };
        let keep = asked.reply.keep;
        let transfer = Transfer { start, end, sent: 0, last, keep, judged: 0 };
        state.phase = Phase::Sending(transfer.into());
        self.conns.wake(conn, now + self.config.limits.reader_window, Timer::Rate);
        fx.output(Output::Serve { conn, file, start, end });
    }

    /// A place in the line (AQ-3, PQ-4).
    fn wait(&mut self, now: Instant, asked: &Asked, place: &Place, fx: &mut Effects) {
        let conn = asked.conn;
        let mut head = self.head(503, "Queued");
        self.describe(&mut head, conn, &asked.subject);
        if asked.dialect == Dialect::Passive {
            return self.wait_in_words(now, conn, head, place, fx);
        }
        headers::write_place(&mut head, place);
        let mut reply = asked.reply;
        if !place.keep {
            // `write_place` has said so already.
            reply.keep = false;
        } else {
            reply.announce(&mut head);
        }
        say(conn, 503, (0, 0), head.finish(), fx);
        if let (true, Some(state)) = (reply.keep, self.conns.open(conn)) {
            // The queue hangs up when the place is lost; this is only the
            // backstop for one that is lost without a word.
            let grace = self.config.limits.request_deadline;
            state.phase = Phase::Serving { place_until: now + place.lifetime + grace };
        }
        let why = if place.keep { "the client wants no more" } else { "far back in the line" };
        self.replied(now, conn, reply, why, fx);
    }

    /// A place for somebody who knows nothing of places: often a person with
    /// a browser, who is told in words (PARQ §5).
    fn wait_in_words(
        &mut self,
        now: Instant,
        conn: ConnId,
        mut head: HeadWriter,
        place: &Place,
        fx: &mut Effects,
    ) {
        head.header("Retry-After", Seconds(place.retry_after));
        let text = format!(
            "All upload slots are taken. You are number {} of {} in line; ask again in {} seconds.\n",
            place.position,
            place.length,
            place.retry_after.as_secs_ceil()
        );
        self.send_text(now, conn, (503, head), ("text/plain", text), ReplyForm::CLOSE, fx);
    }

    /// Counts a request that needs no slot towards hammering; true when it
    /// was refused for that. Who holds a place keeps place and connection.
    pub(super) fn hammers(
        &mut self,
        now: Instant,
        conn: ConnId,
        mut reply: ReplyForm,
        fx: &mut Effects,
    ) -> bool {
        let Some(state) = self.conns.get(conn) else { return true };
        let placed = matches!(state.phase, Phase::Serving { place_until } if place_until > now);
        let light = server::Input::Light { conn, peer: state.peer.ip() };
        let mut said = Fx::new();
        self.queue.handle(now, light, &mut said);
        let mut refused = false;
        for effect in said.drain() {
            match effect {
                Effect::Event(event) => fx.event(Event::Queue(event)),
                Effect::Output(server::Output::Reply {
                    verdict: Verdict::Hammering { retry_after },
                    ..
                }) => {
                    refused = true;
                    reply.keep &= placed;
                    self.hammering(now, conn, retry_after, reply, fx);
                }
                Effect::Output(_) => unreachable!("a request without a place is only judged"),
            }
        }
        refused
    }

    /// An address asks too often.
    fn hammering(
        &mut self,
        now: Instant,
        conn: ConnId,
        retry_after: Duration,
        reply: ReplyForm,
        fx: &mut Effects,
    ) {
        self.come_back(now, conn, (429, "Too Many Requests", retry_after), reply, fx);
    }

    /// No place and no slot: a plain refusal that says when to come back.
    fn come_back(
        &mut self,
        now: Instant,
        conn: ConnId,
        (status, reason, retry_after): (u16, &str, Duration),
        reply: ReplyForm,
        fx: &mut Effects,
    ) {
        let text = format!("{reason}: ask again in {} seconds.\n", retry_after.as_secs_ceil());
        let mut head = self.head(status, reason);
        head.header("Retry-After", Seconds(retry_after));
        self.send_text(now, conn, (status, head), ("text/plain", text), reply, fx);
    }

    /// The head a `GET` of this file would have.
    pub(super) fn head_of_file(
        &mut self,
        now: Instant,
        conn: ConnId,
        subject: &Subject,
        reply: ReplyForm,
        fx: &mut Effects,
    ) {
        let mut head = self.head(200, "OK");
        self.describe(&mut head, conn, subject);
        head.header("Content-Type", "application/octet-stream")
            .header("Content-Length", subject.size);
        reply.announce(&mut head);
        say(conn, 200, (0, 0), head.finish(), fx);
        self.replied(now, conn, reply, "the client wants no more", fx);
    }

    /// The list of files for a browser.
    pub(super) fn page(
        &mut self,
        now: Instant,
        conn: ConnId,
        html: String,
        reply: ReplyForm,
        fx: &mut Effects,
    ) {
        let mut head = self.head(200, "OK");
        head.header("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
            .header("X-Content-Type-Options", "nosniff");
        self.send_text(now, conn, (200, head), ("text/html; charset=utf-8", html), reply, fx);
    }

    /// The range asked for is not in the file, or not here yet.
    pub(super) fn unsatisfiable(
        &mut self,
        now: Instant,
        conn: ConnId,
        subject: &Subject,
        reply: ReplyForm,
        fx: &mut Effects,
    ) {
        let size = subject.size;
        let mut head = self.head(416, "Range Not Satisfiable");
        self.describe(&mut head, conn, subject);
        head.header("Content-Range", ContentRange { range: None, size: Some(size) });
        let text = format!("The file has {size} bytes.\n");
        self.send_text(now, conn, (416, head), ("text/plain", text), reply, fx);
    }

    /// Only `GET` and `HEAD` are served here.
    pub(super) fn not_allowed(&mut self, now: Instant, conn: ConnId, fx: &mut Effects) {
        let mut head = self.head(405, "Method Not Allowed");
        head.header("Allow", "GET, HEAD");
        let text = String::from("Only GET and HEAD.\n");
        self.send_text(now, conn, (405, head), ("text/plain", text), ReplyForm::CLOSE, fx);
    }

    /// A reply that says no more than its reason.
    pub(super) fn short(
        &mut self,
        now: Instant,
        conn: ConnId,
        status: u16,
        reason: &str,
        reply: ReplyForm,
        fx: &mut Effects,
    ) {
        let head = self.head(status, reason);
        self.send_text(
            now,
            conn,
            (status, head),
            ("text/plain", format!("{reason}.\n")),
            reply,
            fx,
        );
    }

    /// A limit is reached: say so, answer if there is an answer, hang up.
    pub(super) fn refuse(
        &mut self,
        now: Instant,
        conn: ConnId,
        limit: Limit,
        answer: Option<(u16, &str)>,
        fx: &mut Effects,
    ) {
        tell(fx, ConnEvent::Limit { conn, limit });
        if let Some((status, reason)) = answer {
            self.short(now, conn, status, reason, ReplyForm::CLOSE, fx);
        } else {
            let idle = matches!(
                self.conns.get(conn).map(|c| &c.phase),
                Some(Phase::Fresh | Phase::Serving { .. })
            );
            self.close(now, conn, idle, "a limit was reached", fx);
        }
    }

    /// The head every reply begins with.
    fn head(&self, status: u16, reason: &str) -> HeadWriter {
        let mut head = HeadWriter::status(status, reason);
        head.header("Server", &self.config.agent);
        head
    }

    /// What there is to know of a file: the mesh travels with every reply,
    /// queued or not (PQ-17).
    fn describe(&self, head: &mut HeadWriter, conn: ConnId, subject: &Subject) {
        head.header("Accept-Ranges", "bytes");
        if let Some(sha1) = subject.sha1 {
            head.header("X-Gnutella-Content-URN", format_args!("urn:sha1:{sha1}"));
        }
        if let Some(available) = &subject.available {
            head.header("X-Available-Ranges", available);
        }
        let FileRef::Shared(index) = subject.file else { return };
        let Some(peer) = self.conns.get(conn).map(|c| c.peer.ip().to_canonical()) else { return };
        let most = self.config.limits.alternates_told as usize;
        let alternates = Alts(self.files.alternates(index, peer).take(most).collect());
        if !alternates.0.is_empty() {
            head.header("X-Alt", alternates);
        }
    }

    fn send_text(
        &mut self,
        now: Instant,
        conn: ConnId,
        (status, mut head): (u16, HeadWriter),
        (kind, text): (&str, String),
        reply: ReplyForm,
        fx: &mut Effects,
    ) {
        head.header("Content-Type", kind).header("Content-Length", text.len());
        reply.announce(&mut head);
        let mut data = head.finish();
        if !reply.head_only {
            data.extend_from_slice(text.as_bytes());
        }
        say(conn, status, (0, 0), data, fx);
        self.replied(now, conn, reply, "the reply ends the connection", fx);
    }

    /// A reply is written whole: the connection waits for the next request,
    /// or ends.
    pub(super) fn replied(
        &mut self,
        now: Instant,
        conn: ConnId,
        reply: ReplyForm,
        why: &str,
        fx: &mut Effects,
    ) {
        if !reply.keep {
            self.close(now, conn, true, why, fx);
        }
    }
}

/// Sends a reply, whole or all but its body, in one piece.
fn say(conn: ConnId, status: u16, range: (u64, u64), data: Vec<u8>, fx: &mut Effects) {
    let (start, end) = range;
    tell(fx, ConnEvent::Reply { conn, status, start, end });
    fx.output(Output::Write { conn, data });
}
