//! The download side: connections on which we ask. The fetch engine decides;
//! here bytes become heads, and bodies go past the node to the disk.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;
use core::net::IpAddr;

use super::conn::{Phase, Purpose};
use super::{ConnEvent, DialError, Effects, Event, Node, Op, Output, StoreError, tell};
use crate::engine::{Effect, Engine, Fx, FxOf};
use crate::fetch::{self, Fetches};
use crate::id::{ConnId, FetchId};
use crate::time::Instant;
use crate::wire::http::ResponseHead;
use crate::wire::queue::Line;

/// What is expected next of somebody we ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reply {
    /// The head of a reply.
    Head,
    /// So many bytes in all go to the disk; the host takes them off the wire.
    Storing(u64),
    /// So many more bytes are of no use.
    Skipping(u64),
}

impl Node {
    /// Gives the fetch engine an input and carries out what it wants.
    pub(super) fn fetch(&mut self, now: Instant, input: fetch::Input, fx: &mut Effects) {
        let mut said = Fx::new();
        self.fetches.handle(now, input, &mut said);
        self.obey_fetch(now, said, fx);
    }

    /// In the engine's own order, so that what is saved before a request is
    /// persisted before it is written.
    pub(super) fn obey_fetch(&mut self, now: Instant, mut said: FxOf<Fetches>, fx: &mut Effects) {
        for effect in said.drain() {
            let wanted = match effect {
                Effect::Event(event) => {
                    fx.event(Event::Fetch(event));
                    continue;
                }
                Effect::Output(wanted) => wanted,
            };
            match wanted {
                fetch::Output::Dial { conn, to } => {
                    if !self.dial_as(conn, to, Purpose::Fetch, fx) {
                        let why = DialError::NoDescriptor;
                        self.fetch(now, fetch::Input::DialFailed { conn, why }, fx);
                    }
                }
                fetch::Output::Write { conn, data } => fx.output(Output::Write { conn, data }),
                fetch::Output::Store { conn, fetch, start, end } => {
                    self.store(conn, fetch, start, end, fx);
                }
                fetch::Output::Skip { conn, bytes } => self.expect(conn, Reply::Skipping(bytes)),
                fetch::Output::Close { conn } => self.hang_up(conn, fx),
                fetch::Output::Allocate { fetch, name, size } => {
                    fx.output(Output::Allocate { fetch, name, size });
                }
                fetch::Output::Verify { fetch } => fx.output(Output::Verify { fetch }),
                fetch::Output::Complete { fetch } => fx.output(Output::Complete { fetch }),
                fetch::Output::Save(row) => {
                    self.parts.put(&row);
                    fx.output(Output::Persist(Op::Fetch(row)));
                }
                fetch::Output::Forget(fetch) => {
                    self.parts.remove(fetch);
                    fx.output(Output::Persist(Op::FetchGone(fetch)));
                }
                fetch::Output::Answer(answer) => fx.output(Output::Answer(answer.into())),
            }
        }
    }

    /// Where servers may call us back, for the fetch engine.
    pub(super) fn tell_callback(&mut self, now: Instant, fx: &mut Effects) {
        let at = self.listen.filter(|_| self.config.callable);
        self.fetch(now, fetch::Input::Listening(at), fx);
    }

    /// A `QUEUE` or a `GIV` opened this connection: from now on we ask on it,
    /// if a download of ours was waiting for that.
    pub(super) fn invited(&mut self, now: Instant, conn: ConnId, line: Line, fx: &mut Effects) {
        let Some(state) = self.conns.open(conn) else { return };
        let peer = state.peer;
        state.phase = Phase::Fetching(Reply::Head);
        self.conns.rest(conn);
        let input = match line {
            Line::Queue { ticket, server } => fetch::Input::Called { conn, peer, ticket, server },
            Line::Giv { index, servent, name } => {
                fetch::Input::Giv { conn, peer, index, servent, name }
            }
        };
        self.fetch(now, input, fx);
    }

    /// A dial for a download is through.
    pub(super) fn fetch_dialed(
        &mut self,
        now: Instant,
        conn: ConnId,
        local: IpAddr,
        fx: &mut Effects,
    ) {
        self.expect(conn, Reply::Head);
        self.fetch(now, fetch::Input::Dialed { conn, local }, fx);
    }

    /// Bytes came in on a connection on which we ask.
    pub(super) fn fetching_bytes(
        &mut self,
        now: Instant,
        conn: ConnId,
        data: Vec<u8>,
        fx: &mut Effects,
    ) {
        let Some(state) = self.conns.open(conn) else { return };
        state.push(data);
        self.replies(now, conn, fx);
    }

    /// Takes heads, and bodies of no use, out of what came in.
    pub(super) fn replies(&mut self, now: Instant, conn: ConnId, fx: &mut Effects) {
        loop {
            let limits = self.head_limits();
            let Some(state) = self.conns.open(conn) else { return };
            let Phase::Fetching(reply) = &mut state.phase else { return };
            if state.unread.is_empty() {
                return;
            }
            match reply {
                Reply::Head => {}
                Reply::Skipping(left) => {
                    let used = usize::try_from(*left).unwrap_or(usize::MAX).min(state.unread.len());
                    *left -= used as u64;
                    if *left == 0 {
                        *reply = Reply::Head;
                    }
                    let bytes = mem::take(&mut state.unread);
                    state.keep_unread(bytes, used);
                    continue;
                }
                // The body is whole but not yet on disk; what follows waits.
                Reply::Storing(_) if state.unread.len() <= limits.bytes as usize => return,
                Reply::Storing(_) => return self.not_a_reply(now, conn, fx),
            }
            let bytes = mem::take(&mut state.unread);
            match ResponseHead::parse(&bytes, &limits) {
                Ok(None) => {
                    state.keep_unread(bytes, 0);
                    return;
                }
                Ok(Some((head, used))) => {
                    state.keep_unread(bytes, used);
                    tell(fx, ConnEvent::Response { conn, status: head.status });
                    self.fetch(now, fetch::Input::Head { conn, head }, fx);
                }
                Err(_) => return self.not_a_reply(now, conn, fx),
            }
        }
    }

    /// What came in is no reply: nothing on this connection can be trusted.
    fn not_a_reply(&mut self, now: Instant, conn: ConnId, fx: &mut Effects) {
        self.fetch(now, fetch::Input::Garbage { conn }, fx);
        self.close(now, conn, false, "not a reply we can read", fx);
    }

    /// A body goes to the disk: the host takes it off the wire, with what of
    /// it came in along with the head.
    fn store(&mut self, conn: ConnId, fetch: FetchId, start: u64, end: u64, fx: &mut Effects) {
        let Some(state) = self.conns.open(conn) else { return };
        let length = end.saturating_sub(start);
        if length == 0 || !matches!(state.phase, Phase::Fetching(_)) {
            return;
        }
        state.phase = Phase::Fetching(Reply::Storing(length));
        let mut early = mem::take(&mut state.unread);
        let ours = usize::try_from(length).unwrap_or(usize::MAX).min(early.len());
        let rest = early.split_off(ours);
        state.keep_unread(rest, 0);
        fx.output(Output::Store { conn, fetch, start, end, early });
    }

    /// So much of the body is safe on disk.
    pub(super) fn stored(&mut self, now: Instant, conn: ConnId, bytes: u64, fx: &mut Effects) {
        let Some(state) = self.conns.open(conn) else { return };
        let Phase::Fetching(Reply::Storing(length)) = state.phase else { return };
        let bytes = bytes.min(length);
        if bytes == length {
            state.phase = Phase::Fetching(Reply::Head);
        }
        self.fetch(now, fetch::Input::Stored { conn, bytes }, fx);
        self.replies(now, conn, fx);
    }

    /// The disk failed a connection: a part file, or a file being served.
    pub(super) fn disk_failed(
        &mut self,
        now: Instant,
        conn: ConnId,
        why: StoreError,
        fx: &mut Effects,
    ) {
        match self.conns.open(conn).map(|c| &c.phase) {
            Some(Phase::Fetching(_)) => {
                self.fetch(now, fetch::Input::DiskFailed { conn, why }, fx);
            }
            Some(Phase::Sending(_)) => self.unreadable(now, conn, why, fx),
            _ => {}
        }
    }

    fn expect(&mut self, conn: ConnId, next: Reply) {
        let Some(state) = self.conns.open(conn) else { return };
        if let Phase::Dialing(_) | Phase::Fresh | Phase::Fetching(_) = state.phase {
            state.phase =
                Phase::Fetching(if next == Reply::Skipping(0) { Reply::Head } else { next });
        }
    }

    /// Closes at the fetch engine's wish; it wants to hear no more of it.
    fn hang_up(&mut self, conn: ConnId, fx: &mut Effects) {
        let Some(state) = self.conns.open(conn) else { return };
        state.phase = Phase::Closing;
        state.unread = Vec::new();
        self.conns.rest(conn);
        tell(fx, ConnEvent::Closing { conn, why: String::from("the download is done with it") });
        fx.output(Output::Close { conn, flush: false });
    }
}
