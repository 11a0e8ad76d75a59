//! A connection that we serve: heads from what was received, bodies being sent,
//! and how long we wait for either.

use core::mem;

use super::Http;
use super::exchange::{BodyTransfer, Exchange};
use super::guard::Passage;
use super::reply::{Form, ReplyWriter};
use crate::id::ConnId;
use crate::node::connections::{ExpiredTimer, Owner, Timer};
use crate::node::cx::NodeCx;
use crate::node::service::RunsEngine as _;
use crate::node::{ConnEvent, NodeLimit, StoreError};
use crate::queue::server;
use crate::time::{Duration, Instant};
use crate::wire::gnutella::Hello;
use crate::wire::http::{HeadError, RequestHead};

impl Http {
    /// Processes what is unread on a connection on which others send requests:
    /// answers as many as are complete and may be answered now.
    pub(super) fn read_requests(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let most = cx.config.limits.pipeline;
        let Some(state) = cx.io.open(conn) else { return };
        if let Some(Exchange::Sending(_) | Exchange::Listing(_) | Exchange::Receiving) =
            self.exchanges.get(&conn)
        {
            // A request received during a transfer waits for its end.
            let much = state.unread.len() > cx.config.limits.head_bytes as usize;
            if much || heads(&state.unread) > most {
                self.refuse(cx, conn, NodeLimit::Pipeline, None);
            }
            return;
        }
        let bytes = mem::take(&mut state.unread);
        let (mut used, mut answered) = (0, 0);
        while used < bytes.len() && cx.io.open(conn).is_some() {
            match self.exchanges.get(&conn) {
                None | Some(Exchange::Idle { .. }) => {}
                Some(Exchange::Held) => {
                    // It sent more, so it does not wait for its held answer any
                    // more.
                    self.feed(cx, server::Input::Answer { conn });
                    if matches!(self.exchanges.get(&conn), Some(Exchange::Held)) {
                        break;
                    }
                    continue;
                }
                Some(_) => break,
            }
            if answered > most {
                return self.refuse(cx, conn, NodeLimit::Pipeline, None);
            }
            let wishes = cx.wishes.len();
            match self.one_request(cx, conn, &bytes[used..]) {
                Some(taken) => used += taken,
                None => break,
            }
            answered += 1;
            if cx.wishes.len() > wishes {
                // It is answered when the overlay has passed the push on.
                break;
            }
        }
        if let Some(state) = cx.io.open(conn) {
            state.keep_unread(bytes, used);
            await_request(self, cx, conn, answered > 0);
        }
    }

    /// Parses one request, and answers it unless that is up to others. Returns
    /// the length of its head, or `None` when the head is not complete or must
    /// wait.
    fn one_request(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, bytes: &[u8]) -> Option<usize> {
        let error = match RequestHead::parse(bytes, &cx.config.limits.head()) {
            Ok(None) => return None,
            Ok(Some((head, used))) => {
                cx.io.pass_to(conn, Owner::Http)?;
                self.exchanges.entry(conn).or_insert(Exchange::IDLE);
                return match self.pass(cx, conn, &head, bytes.len()) {
                    Passage::Open if self.is_upload(&head) => {
                        Some(used + self.upload(cx, conn, &head, &bytes[used..]))
                    }
                    Passage::Open => {
                        self.request(cx, conn, &head);
                        Some(used)
                    }
                    Passage::Closed => Some(used),
                    Passage::Waits => None,
                };
            }
            Err(error) => error,
        };
        let writer = ReplyWriter::from_cx(cx);
        match error {
            HeadError::TooLong => {
                self.refuse(cx, conn, NodeLimit::HeadBytes, Some((431, "Request Too Large")));
            }
            HeadError::TooManyLines => {
                self.refuse(cx, conn, NodeLimit::HeadLines, Some((431, "Too Many Headers")));
            }
            HeadError::Version => {
                self.say(cx, conn, writer.short((505, "HTTP Version Not Supported"), Form::CLOSE));
            }
            HeadError::FirstLine | HeadError::Fields => {
                self.say(cx, conn, writer.short((400, "Bad Request"), Form::CLOSE));
            }
        }
        None
    }

    /// A limit is reached: reports it, answers if there is an answer, closes.
    pub(in crate::node) fn refuse(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        limit: NodeLimit,
        answer: Option<(u16, &str)>,
    ) {
        cx.tell(ConnEvent::Limit { conn, limit });
        if let Some(why) = answer {
            let writer = ReplyWriter::from_cx(cx);
            self.say(cx, conn, writer.short(why, Form::CLOSE));
        } else {
            let idle = matches!(self.exchanges.get(&conn), None | Some(Exchange::Idle { .. }));
            self.close(cx, conn, idle, "a limit was reached");
        }
    }

    /// A timer of a connection expired.
    pub(super) fn timer_expired(&mut self, cx: &mut NodeCx<'_>, expired: ExpiredTimer) {
        let ExpiredTimer { conn, timer, due } = expired;
        // What may be a peer of the overlay does not get an HTTP reply.
        let silent = |unread: &[u8]| Hello::BEGINS.as_bytes().starts_with(unread);
        let silent = cx.io.get(conn).is_none_or(|c| silent(&c.unread));
        match timer {
            Timer::Rate if self.receives(conn) => self.check_visitor(cx, conn, due),
            Timer::Rate => self.check_reader(cx, conn, due),
            Timer::List => self.list_on(cx, conn),
            Timer::Head => {
                let answer = if silent { None } else { Some((408, "Request Timeout")) };
                self.refuse(cx, conn, NodeLimit::RequestDeadline, answer);
            }
            Timer::Idle => self.refuse(cx, conn, NodeLimit::IdleDeadline, None),
        }
    }

    /// The host reports how much of the range has been sent.
    pub(super) fn served(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, bytes: u64) {
        let Some(Exchange::Sending(transfer)) = self.exchanges.get_mut(&conn) else { return };
        let whole = transfer.end - transfer.start;
        let (before, next) = match &transfer.archive {
            Some(archive) => (archive.before, bytes >= archive.size),
            None => (0, false),
        };
        transfer.sent = transfer.sent.max(before.saturating_add(bytes).min(whole));
        let sent = transfer.sent;
        if sent < whole {
            self.feed(cx, server::Input::Progress { conn, bytes: sent });
            if next {
                self.archive_on(cx, conn);
            }
            return;
        }
        self.all_served(cx, conn);
    }

    /// The whole body has been sent, or has been given to the host.
    pub(super) fn all_served(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let Some(Exchange::Sending(mut done)) = self.exchanges.remove(&conn) else { return };
        self.exchanges.insert(conn, Exchange::IDLE);
        done.sent = done.end - done.start;
        cx.io.rest(conn);
        self.sent(cx, conn, &done);
        if done.keep {
            await_request(self, cx, conn, true);
            cx.io.read_again(conn);
        }
    }

    fn sent(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, done: &BodyTransfer) {
        cx.tell(ConnEvent::Sent { conn, bytes: done.sent });
        self.feed(
            cx,
            match (done.last, done.keep) {
                (false, false) => server::Input::Parted { conn },
                (last, _) => server::Input::Finished { conn, last },
            },
        );
        if !done.keep {
            self.close(cx, conn, true, "the client wants no more");
        }
    }

    /// Checks the rate of a reader at the end of a window, which was `due`.
    fn check_reader(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, due: Instant) {
        let Some(Exchange::Sending(transfer)) = self.exchanges.get_mut(&conn) else { return };
        let taken = transfer.sent - transfer.judged;
        transfer.judged = transfer.sent;
        let limits = &cx.config.limits;
        // A window of zero length would expire again at once.
        let length = limits.reader_window.max(Duration::from_millis(1));
        let window = u128::from(length.as_micros());
        // When we are this late, we were suspended ourselves, and the reader is
        // not to blame for what we did not send.
        let slept = cx.now.since(due) >= length;
        if slept || u128::from(taken) * 1_000_000 >= u128::from(limits.reader_rate) * window {
            return cx.io.wake(conn, cx.now + length, Timer::Rate);
        }
        cx.tell(ConnEvent::Limit { conn, limit: NodeLimit::ReaderRate });
        // We end it, so the slot is free at once and not reserved for its
        // owner.
        self.close(cx, conn, false, "the reader is too slow");
    }

    /// The file being served cannot be read to its end. The announced
    /// `Content-Length` cannot be kept, so the connection must break.
    pub(super) fn unreadable(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, why: StoreError) {
        let why = match why {
            StoreError::Changed => "the file changed while it was sent",
            StoreError::Denied => "the file may not be read",
            StoreError::Full | StoreError::Linked | StoreError::Failed => "the file cannot be read",
        };
        self.close(cx, conn, false, why);
    }
}

/// The connection waits for its next request, which may have been received
/// already.
pub(super) fn rest(http: &mut Http, cx: &mut NodeCx<'_>, conn: ConnId) {
    cx.io.rest(conn);
    http.exchanges.insert(conn, Exchange::IDLE);
    await_request(http, cx, conn, true);
    cx.io.read_again(conn);
}

/// Sets the deadline for what is expected next on a connection that we serve.
/// `answered`: a request was answered just now, so the time starts again.
pub(super) fn await_request(http: &Http, cx: &mut NodeCx<'_>, conn: ConnId, answered: bool) {
    let (now, limits) = (cx.now, &cx.config.limits);
    let Some(Exchange::Idle { place_until }) = http.exchanges.get(&conn) else { return };
    let Some(state) = cx.io.open(conn) else { return };
    let (partial, timer) = (!state.unread.is_empty(), state.timer());
    if partial && (answered || timer != Some(Timer::Head)) {
        cx.io.wake(conn, now + limits.request_deadline, Timer::Head);
    } else if !partial && (answered || timer.is_none()) {
        // A client with a place is not idle until the place expires.
        let idle = now + limits.idle_deadline;
        cx.io.wake(conn, place_until.map_or(idle, |until| until.max(idle)), Timer::Idle);
    }
}

/// How many complete heads there are in these bytes.
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
    use super::*;

    #[test]
    fn heads_are_counted_by_their_empty_lines() {
        assert_eq!(heads(b"GET / HTTP/1.1\r\nA: b\r\n\r\nGET / HTTP/1.1\n\nGET"), 2);
        assert_eq!(heads(b"GET / HTTP/1.1\r\nA: b\r\n"), 0);
    }
}
