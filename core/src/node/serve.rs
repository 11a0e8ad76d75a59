//! The upload side, inwards: bytes of a connection to requests, a request to
//! a file and a range, and from there to the queue.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

use super::conn::{Phase, Timer};
use super::lines::{self, First};
use super::page::{self, Wanted};
use super::parts::Subject;
use super::{ConnEvent, Effects, FileRef, Limit, Node, tell};
use crate::id::{ConnId, FileIndex, Sha1};
use crate::queue::Dialect;
use crate::queue::server;
use crate::time::Instant;
use crate::wire::http::{
    Alts, HeadError, HeadLimits, HeadWriter, Method, RangeSpec, RequestHead, Target, Version,
};
use crate::wire::queue as headers;

/// A file body somebody asked for, while the queue decides.
#[derive(Debug, Clone)]
pub(super) struct Asked {
    pub(super) conn: ConnId,
    pub(super) subject: Subject,
    pub(super) start: u64,
    pub(super) end: u64,
    /// A range was asked for: 206 instead of 200.
    pub(super) partial: bool,
    /// Whoever names both ends of a piece that does not begin the file takes
    /// it piece by piece, in whatever order (AQ-9).
    pub(super) piece: bool,
    pub(super) dialect: Dialect,
    pub(super) reply: ReplyForm,
}

/// What every reply to a request depends on.
#[derive(Debug, Clone, Copy)]
pub(super) struct ReplyForm {
    /// The client wants, and knows how, to keep the connection.
    pub(super) keep: bool,
    /// It must be told so: its version would close by default.
    pub(super) say_keep: bool,
    /// Only the head.
    pub(super) head_only: bool,
}

impl ReplyForm {
    /// A reply after which the connection closes.
    pub(super) const CLOSE: Self = Self { keep: false, say_keep: false, head_only: false };

    /// Writes whether the connection is kept, where the client's version
    /// would take it otherwise.
    pub(super) fn announce(self, head: &mut HeadWriter) {
        if !self.keep {
            head.header("Connection", "close");
        } else if self.say_keep {
            head.header("Connection", "keep-alive");
        }
    }

    fn of(head: &RequestHead, dialect: Dialect) -> Self {
        // A place in the near part of the line is waited at on its connection,
        // so whoever says that it can queue can keep one, of whatever version.
        let queues = || dialect != Dialect::Passive && !head.headers.lists("Connection", "close");
        let keep = head.keep_alive() || queues();
        Self {
            keep,
            say_keep: keep && head.version == Version::Http10,
            head_only: head.method == Method::Head,
        }
    }
}

impl Node {
    /// The limits a head is read with.
    pub(super) fn head_limits(&self) -> HeadLimits {
        HeadLimits { bytes: self.config.limits.head_bytes, lines: self.config.limits.head_lines }
    }

    /// Bytes came in on a connection that serves, or may come to.
    pub(super) fn serving_bytes(
        &mut self,
        now: Instant,
        conn: ConnId,
        data: Vec<u8>,
        fx: &mut Effects,
    ) {
        let Some(state) = self.conns.open(conn) else { return };
        state.push(data);
        if !matches!(state.phase, Phase::Sending(_)) {
            return self.requests(now, conn, fx);
        }
        // A request that arrives while a transfer runs waits for its end.
        let ahead = heads(&state.unread);
        let limits = &self.config.limits;
        if ahead > limits.pipeline || state.unread.len() > limits.head_bytes as usize {
            self.refuse(now, conn, Limit::Pipeline, None, fx);
        }
    }

    /// Reads and answers as many requests as are there and may be answered.
    pub(super) fn requests(&mut self, now: Instant, conn: ConnId, fx: &mut Effects) {
        let Some(state) = self.conns.open(conn) else { return };
        let bytes = mem::take(&mut state.unread);
        let (mut used, mut answered) = (0, 0);
        while used < bytes.len() {
            match self.conns.open(conn).map(|c| &c.phase) {
                Some(Phase::Fresh | Phase::Serving { .. }) => {}
                _ => break,
            }
            if answered > self.config.limits.pipeline {
                return self.refuse(now, conn, Limit::Pipeline, None, fx);
            }
            match self.one_request(now, conn, &bytes[used..], fx) {
                Some(taken) => used += taken,
                None => break,
            }
            answered += 1;
        }
        let Some(state) = self.conns.open(conn) else { return };
        state.keep_unread(bytes, used);
        match state.phase {
            Phase::Fetching(_) => self.replies(now, conn, fx),
            Phase::Overlay => self.overlay_unread(now, conn, fx),
            _ => self.await_request(now, conn, answered > 0),
        }
    }

    /// Sets the deadline for what must come next on a serving connection.
    /// `answered`: a request was answered just now, so the time begins anew.
    pub(super) fn await_request(&mut self, now: Instant, conn: ConnId, answered: bool) {
        let Some(state) = self.conns.open(conn) else { return };
        let Phase::Serving { place_until } = state.phase else {
            return if matches!(state.phase, Phase::Fresh) && state.timer().is_none() {
                self.conns.wake(conn, now + self.config.limits.request_deadline, Timer::Head);
            };
        };
        let (partial, timer) = (!state.unread.is_empty(), state.timer());
        if partial && (answered || timer != Some(Timer::Head)) {
            self.conns.wake(conn, now + self.config.limits.request_deadline, Timer::Head);
        } else if !partial && (answered || timer.is_none()) {
            // Who holds a place is not idle until the place runs out.
            let until = place_until.max(now + self.config.limits.idle_deadline);
            self.conns.wake(conn, until, Timer::Idle);
        }
    }

    /// Reads one request (or the line that makes this connection something
    /// else) and answers it; how many bytes it had, or `None` when more must
    /// come first.
    fn one_request(
        &mut self,
        now: Instant,
        conn: ConnId,
        bytes: &[u8],
        fx: &mut Effects,
    ) -> Option<usize> {
        let state = self.conns.open(conn)?;
        let fresh = matches!(state.phase, Phase::Fresh);
        if fresh {
            match lines::first(bytes, self.config.limits.head_bytes) {
                First::More => return None,
                First::Http => {}
                First::Line(line, used) => {
                    self.line(now, conn, &line, fx);
                    return Some(used);
                }
                First::Overlay => return self.overlay_hello(now, conn, bytes, fx),
                First::Garbage => {
                    self.refuse(now, conn, Limit::Garbage, None, fx);
                    return None;
                }
            }
        }
        match RequestHead::parse(bytes, &self.head_limits()) {
            Ok(None) => None,
            Ok(Some((head, used))) => {
                if let Some(state) = self.conns.open(conn)
                    && matches!(state.phase, Phase::Fresh)
                {
                    state.phase = Phase::Serving { place_until: Instant::ZERO };
                }
                self.request(now, conn, &head, fx);
                Some(used)
            }
            Err(HeadError::TooLong) => {
                self.refuse(now, conn, Limit::HeadBytes, Some((431, "Request Too Large")), fx);
                None
            }
            Err(HeadError::TooManyLines) => {
                self.refuse(now, conn, Limit::HeadLines, Some((431, "Too Many Headers")), fx);
                None
            }
            Err(HeadError::Version) => {
                self.short(now, conn, 505, "HTTP Version Not Supported", ReplyForm::CLOSE, fx);
                None
            }
            Err(HeadError::FirstLine | HeadError::Fields) => {
                self.short(now, conn, 400, "Bad Request", ReplyForm::CLOSE, fx);
                None
            }
        }
    }

    /// Answers one request, or lets the queue do it.
    fn request(&mut self, now: Instant, conn: ConnId, head: &RequestHead, fx: &mut Effects) {
        let method = match &head.method {
            Method::Get => "GET",
            Method::Head => "HEAD",
            Method::Other(other) => other,
        };
        tell(
            fx,
            ConnEvent::Request {
                conn,
                method: clip(method),
                target: clip(&head.target),
                range: head.headers.get("Range").map(clip),
                agent: head.headers.get("User-Agent").map(clip),
            },
        );
        let dialect = headers::spoken(&head.headers);
        let reply = ReplyForm::of(head, dialect);
        let target = Target::parse(&head.target);
        let found = match &target {
            Target::File { index, name } => self.numbered(*index, name, head),
            Target::Urn(sha1) => self.content(*sha1),
            Target::Root { .. } | Target::Other => None,
        };
        let found = found.filter(|subject| content_fits(subject, head) != Some(false));
        let light = found.is_none() || head.method != Method::Get;
        if light && self.hammers(now, conn, reply, fx) {
            return;
        }
        if let Method::Other(_) = head.method {
            return self.not_allowed(now, conn, fx);
        }
        if has_body(head) {
            // What follows would be read as the next request.
            return self.short(now, conn, 400, "Bad Request", ReplyForm::CLOSE, fx);
        }
        if let Target::Root { query } = target {
            let most = self.config.limits.index_page as usize;
            let html = page::page(&self.files, &Wanted::parse(&query), most);
            return self.page(now, conn, html, reply, fx);
        }
        match found {
            Some(subject) => self.file_request(now, conn, subject, (head, dialect), reply, fx),
            None => self.short(now, conn, 404, "Not Found", reply, fx),
        }
    }

    /// The shared file with this number, if it is the one that was meant: a
    /// number from yesterday may be another file today. The content decides
    /// where the request names it, the name otherwise (reference §3).
    fn numbered(&self, index: FileIndex, name: &str, head: &RequestHead) -> Option<Subject> {
        let info = self.files.get(index)?;
        let subject = Subject::from(info);
        let meant =
            content_fits(&subject, head).unwrap_or_else(|| info.name.eq_ignore_ascii_case(name));
        meant.then_some(subject)
    }

    /// A shared file with this content, or else a download of ours.
    fn content(&self, sha1: Sha1) -> Option<Subject> {
        let part = || self.parts.by_sha1(sha1).filter(|_| self.config.share_parts);
        self.files.by_sha1(sha1).map(Subject::from).or_else(part)
    }

    fn file_request(
        &mut self,
        now: Instant,
        conn: ConnId,
        subject: Subject,
        (head, dialect): (&RequestHead, Dialect),
        reply: ReplyForm,
        fx: &mut Effects,
    ) {
        let Some(peer) = self.conns.get(conn).map(|c| c.peer) else { return };
        if let FileRef::Shared(index) = subject.file {
            self.learn_alternates(index, head, peer.ip());
        }
        if reply.head_only {
            // Never queued, and never touches a place (reference §3).
            return self.head_of_file(now, conn, &subject, reply, fx);
        }
        // What is not one well-formed range is ignored, as HTTP wants it.
        let range = head.headers.get("Range").and_then(RangeSpec::parse);
        let whole = Some((0, subject.size));
        let wanted = range.map_or(whole, |range| range.resolve(subject.size));
        let Some((start, end)) = wanted.and_then(|(start, end)| subject.within(start, end)) else {
            if !self.hammers(now, conn, reply, fx) {
                self.unsatisfiable(now, conn, &subject, reply, fx);
            }
            return;
        };
        if let Some(state) = self.conns.open(conn) {
            // The queue says anew whether there is a place.
            state.phase = Phase::Serving { place_until: Instant::ZERO };
        }
        let claim = headers::Claim::parse(&head.headers);
        let request = server::Request {
            conn,
            peer: peer.ip().to_canonical(),
            dialect,
            file: subject.key,
            bytes: end - start,
            ticket: claim.ticket,
            told: claim.told,
            callback: headers::callback(&head.headers),
        };
        let partial = range.is_some() || end < subject.size;
        let piece = start > 0 && !matches!(range, None | Some(RangeSpec::From(_)));
        self.asked = Some(Asked { conn, subject, start, end, partial, piece, dialect, reply });
        self.queue(now, server::Input::Request(request), fx);
        self.asked = None;
    }

    /// The mesh: who else has this file, from the request's own words.
    fn learn_alternates(
        &mut self,
        index: FileIndex,
        head: &RequestHead,
        teller: core::net::IpAddr,
    ) {
        let teller = teller.to_canonical();
        let most = self.config.limits.alternates;
        for at in Alts::parse(&head.headers.joined("X-Alt")).0 {
            if Some(at) != self.listen {
                self.files.learn(index, at, teller, most);
            }
        }
        for at in Alts::parse(&head.headers.joined("X-NAlt")).0 {
            self.files.unlearn(index, at, teller);
        }
        // Who can be called and says which parts it has is a source itself.
        if head.headers.get("X-Available-Ranges").is_some_and(|r| r.contains('-'))
            && let Some(at) = headers::callback(&head.headers)
            && at.ip().to_canonical() == teller
        {
            self.files.learn(index, at, teller, most);
        }
    }
}

/// Whether a file has the content that the request names. `None` when it names
/// none, or when we do not know yet what the file has.
fn content_fits(subject: &Subject, head: &RequestHead) -> Option<bool> {
    let have = subject.sha1?;
    head.headers
        .all("X-Gnutella-Content-URN")
        .flat_map(|v| v.split(','))
        .filter_map(|urn| Sha1::parse_urn(urn.trim_ascii().as_bytes()))
        .map(|wanted| wanted == have)
        .reduce(|all, one| all && one)
}

/// As much of a stranger's words as an event repeats.
pub(super) fn clip(text: &str) -> String {
    const MOST: usize = 256;
    if text.len() <= MOST { text.into() } else { text.chars().take(MOST).collect() }
}

/// True when a body follows the head, which no request of ours has.
fn has_body(head: &RequestHead) -> bool {
    head.headers.get("Transfer-Encoding").is_some()
        || head.headers.all("Content-Length").any(|n| n.trim_ascii() != "0")
}

/// How many whole heads are in there.
fn heads(bytes: &[u8]) -> u32 {
    let (mut count, mut blank) = (0, true);
    for &b in bytes {
        match b {
            b'\n' if blank => count += 1,
            b'\n' => blank = true,
            b'\r' => {}
            _ => blank = false,
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::{Engine, Fx};
    use crate::node::{Config, Input, Restored};

    proptest! {
        #[test]
        fn unread_bytes_stay_within_the_limits(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3_000), 0..30),
            line in "(GET /|HEAD /get/1/|X|\r\n| HTTP/1.1\r\n|A: ){0,9}",
        ) {
            let mut node = Node::new(Config::default(), 1);
            let mut fx = Fx::new();
            node.handle(Instant::ZERO, Input::Start(Restored::default()), &mut fx);
            let (conn, peer) = (ConnId(0), "9.9.9.9:9".parse().unwrap());
            node.handle(Instant::ZERO, Input::Accepted { conn, peer }, &mut fx);
            let mut data = line.into_bytes();
            for piece in pieces {
                data.extend(piece);
                node.handle(Instant::ZERO, Input::Bytes { conn, data }, &mut fx);
                data = vec![b'x'; 7];
                let unread = &node.conns.get(conn).unwrap().unread;
                prop_assert!(unread.len() <= node.config.limits.head_bytes as usize);
                prop_assert!(unread.capacity() <= 2 * unread.len());
            }
        }
    }

    #[test]
    fn heads_are_counted_by_their_empty_lines() {
        assert_eq!(heads(b"GET / HTTP/1.1\r\nA: b\r\n\r\nGET / HTTP/1.1\n\nGET"), 2);
        assert_eq!(heads(b"GET / HTTP/1.1\r\nA: b\r\n"), 0);
    }
}
