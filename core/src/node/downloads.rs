//! The download service: connections on which we send requests. The engine
//! [`fetch`] decides; here its requests become heads, and bodies go straight
//! from the host to the disk.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::net::{IpAddr, SocketAddr};

use super::connections::{Awaited, ConnPhase, Purpose};
use super::cx::NodeCx;
use super::parts::UnfinishedDownloads;
use super::{Config, ConnEvent, Event, FileRef, NodeOp, Output};
use crate::engine::{Effect, Engine as _, Fx, FxOf};
use crate::fetch::{self, DialError, Fetches, PartRow, StoreError};
use crate::id::{ConnId, FetchId};
use crate::thex::Tree;
use crate::time::Instant;
use crate::wire::http::{NotChunked, ResponseHead, chunks};
use crate::wire::queue::SignalLine;

/// The download service.
#[derive(Debug, Clone)]
pub(super) struct Downloads {
    engine: Fetches,
    /// The finished parts of unfinished downloads, for clients that ask us.
    pub(super) parts: UnfinishedDownloads,
}

impl Downloads {
    pub(super) fn new(config: &Config) -> Self {
        let engine = Fetches::new(config.fetch, config.agent.clone(), config.dialect);
        Self { engine, parts: UnfinishedDownloads::default() }
    }

    /// The state of all downloads.
    pub(super) fn view(&self) -> alloc::vec::Vec<fetch::FetchView> {
        self.engine.view()
    }

    /// Restores a download from the store.
    pub(super) fn restore(&mut self, cx: &mut NodeCx<'_>, row: PartRow) {
        self.parts.put(&Arc::new(row.clone()));
        self.handle(cx, fetch::Input::Restore(row));
    }

    /// Restores a download's hash tree, after the download itself.
    pub(super) fn restore_tree(&mut self, cx: &mut NodeCx<'_>, fetch: FetchId, tree: Arc<Tree>) {
        self.handle(cx, fetch::Input::RestoreTree(fetch, tree));
    }

    /// Our listening address has changed: servers may call us back there.
    pub(super) fn listening(&mut self, cx: &mut NodeCx<'_>) {
        let at = cx.us.listen.filter(|_| cx.config.callable);
        self.handle(cx, fetch::Input::Listening(at));
    }

    /// Gives the engine an input and carries out its outputs.
    pub(super) fn handle(&mut self, cx: &mut NodeCx<'_>, input: fetch::Input) {
        let mut said = Fx::new();
        self.engine.handle(cx.now, input, &mut said);
        self.obey(cx, said);
    }

    /// The engine's next deadline.
    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.engine.poll_timeout()
    }

    /// Runs what is due.
    pub(super) fn handle_timeout(&mut self, cx: &mut NodeCx<'_>) {
        let mut said = Fx::new();
        self.engine.handle_timeout(cx.now, &mut said);
        self.obey(cx, said);
    }

    /// Carries out outputs in the engine's own order, so that what is saved
    /// before a request is persisted before the request is written.
    fn obey(&mut self, cx: &mut NodeCx<'_>, mut said: FxOf<Fetches>) {
        for effect in said.drain() {
            let wanted = match effect {
                Effect::Event(event) => {
                    cx.fx.event(Event::Fetch(event));
                    continue;
                }
                Effect::Output(wanted) => wanted,
            };
            match wanted {
                fetch::Output::Dial { conn, to } => {
                    let dials = if self.engine.is_told_by_others(to) {
                        cx.io.dial_for_stranger(cx.now, conn, (to, Purpose::Fetch), cx.fx)
                    } else {
                        cx.io.dial(conn, to, Purpose::Fetch, cx.fx)
                    };
                    if !dials {
                        let why = DialError::NoDescriptor;
                        self.handle(cx, fetch::Input::DialFailed { conn, why });
                    }
                }
                fetch::Output::Write { conn, data } => cx.io.write(conn, data, cx.fx),
                fetch::Output::Store { conn, fetch, start, end } => {
                    store(cx, conn, fetch, (start, end));
                }
                fetch::Output::StoreBody { conn, fetch, chunked } => {
                    store_body(cx, conn, fetch, chunked);
                }
                fetch::Output::Skip { conn, bytes } => expect(cx, conn, Awaited::Skipping(bytes)),
                fetch::Output::Collect { conn, length } => {
                    expect(cx, conn, Awaited::Collecting(length));
                }
                fetch::Output::Close { conn } => {
                    // The engine expects no more input about it.
                    cx.close(conn, false, "the download is done with it");
                }
                fetch::Output::Allocate { fetch, name, size } => {
                    cx.fx.output(Output::Allocate { fetch, name, size });
                }
                fetch::Output::Verify { fetch } => cx.fx.output(Output::Verify { fetch }),
                fetch::Output::Hash { fetch, start, end } => {
                    cx.fx.output(Output::Hash { fetch, start, end });
                }
                fetch::Output::Complete { fetch } => cx.fx.output(Output::Complete { fetch }),
                fetch::Output::Save(row) => {
                    self.parts.put(&row);
                    cx.fx.output(Output::Persist(NodeOp::Fetch(row)));
                }
                fetch::Output::SaveTree(fetch, tree) => {
                    cx.fx.output(Output::Persist(NodeOp::Tree(fetch, tree)));
                }
                fetch::Output::Paused(fetch, paused) => {
                    cx.fx.output(Output::Persist(NodeOp::Paused(fetch, paused)));
                }
                fetch::Output::Forget(fetch) => {
                    self.parts.remove(fetch);
                    cx.fx.output(Output::Persist(NodeOp::FetchGone(fetch)));
                }
                fetch::Output::Answer(answer) => cx.fx.output(Output::Answer(answer.into())),
            }
        }
    }

    /// A `QUEUE` or `GIV` line opened this connection: from now on we send
    /// requests on it, if one of our downloads was waiting for it.
    pub(super) fn invited(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, line: SignalLine) {
        let Some(state) = cx.io.open(conn) else { return };
        let peer: SocketAddr = state.peer;
        state.phase = ConnPhase::Fetching(Awaited::Head);
        cx.io.rest(conn);
        let input = match line {
            SignalLine::Queue { ticket, server } => {
                fetch::Input::Called { conn, peer, ticket, server }
            }
            SignalLine::Giv { index, servent, name } => {
                fetch::Input::Giv { conn, peer, index, servent, name }
            }
        };
        self.handle(cx, input);
    }

    /// A dial for a download succeeded.
    pub(super) fn dialed(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, local: IpAddr) {
        expect(cx, conn, Awaited::Head);
        self.handle(cx, fetch::Input::Dialed { conn, local });
    }

    /// Parses heads, and skips or collects bodies, from the unread bytes.
    pub(super) fn read(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let limits = cx.config.limits.head();
        let most = cx.config.fetch.tree_bytes;
        loop {
            let Some(state) = cx.io.open(conn) else { return };
            let ConnPhase::Fetching(awaited) = &mut state.phase else { return };
            if state.unread.is_empty() {
                return;
            }
            match awaited {
                Awaited::Head => {}
                Awaited::Skipping(left) => {
                    let used = usize::try_from(*left).unwrap_or(usize::MAX).min(state.unread.len());
                    *left -= used as u64;
                    if *left == 0 {
                        *awaited = Awaited::Head;
                    }
                    let bytes = mem::take(&mut state.unread);
                    state.keep_unread(bytes, used);
                    continue;
                }
                Awaited::Collecting(length) => match body(&state.unread, *length, most) {
                    Ok(None) => return,
                    Ok(Some((data, used))) => {
                        *awaited = Awaited::Head;
                        let bytes = mem::take(&mut state.unread);
                        state.keep_unread(bytes, used);
                        self.handle(cx, fetch::Input::Collected { conn, data });
                        continue;
                    }
                    Err(_) => return self.not_a_reply(cx, conn),
                },
                // The body is received but not yet on disk; what follows waits.
                Awaited::Storing(_) | Awaited::StoringBody
                    if state.unread.len() <= limits.bytes as usize =>
                {
                    return;
                }
                Awaited::Storing(_) | Awaited::StoringBody => return self.not_a_reply(cx, conn),
            }
            let bytes = mem::take(&mut state.unread);
            match ResponseHead::parse(&bytes, &limits) {
                Ok(None) => {
                    state.keep_unread(bytes, 0);
                    return;
                }
                Ok(Some((head, used))) => {
                    state.keep_unread(bytes, used);
                    cx.tell(ConnEvent::Response { conn, status: head.status });
                    // Redirects of web servers lead on to others of them, and
                    // each download follows only a few.
                    if matches!(head.status, 200 | 206 | 301..=308 | 503) {
                        cx.io.answered(conn);
                    }
                    self.handle(cx, fetch::Input::Head { conn, head });
                }
                Err(_) => return self.not_a_reply(cx, conn),
            }
        }
    }

    /// What was received is not a reply: nothing on this connection can be
    /// trusted.
    fn not_a_reply(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        self.handle(cx, fetch::Input::Garbage { conn });
        if cx.close(conn, false, "not a reply we can read").is_some() {
            self.left(cx, conn);
        }
    }

    /// This many bytes of the body are safe on disk.
    pub(super) fn stored(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, bytes: u64) {
        let Some(state) = cx.io.open(conn) else { return };
        let bytes = match state.phase {
            ConnPhase::Fetching(Awaited::StoringBody) => bytes,
            ConnPhase::Fetching(Awaited::Storing(length)) => {
                if bytes >= length {
                    state.phase = ConnPhase::Fetching(Awaited::Head);
                }
                bytes.min(length)
            }
            _ => return,
        };
        self.handle(cx, fetch::Input::Stored { conn, bytes });
        self.read(cx, conn);
    }

    /// A body of unknown length has ended, and is safe on disk.
    pub(super) fn body_ended(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, unread: Vec<u8>) {
        let Some(state) = cx.io.open(conn) else { return };
        if !matches!(state.phase, ConnPhase::Fetching(Awaited::StoringBody)) {
            return;
        }
        state.phase = ConnPhase::Fetching(Awaited::Head);
        state.keep_unread(unread, 0);
        self.handle(cx, fetch::Input::BodyEnded { conn });
        self.read(cx, conn);
    }

    /// The part file cannot be written.
    pub(super) fn disk_failed(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, why: StoreError) {
        self.handle(cx, fetch::Input::DiskFailed { conn, why });
    }

    /// A connection on which we sent requests, or were about to, is lost.
    pub(super) fn left(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        self.handle(cx, fetch::Input::Closed { conn });
    }
}

/// Sends a body to the disk: the host takes it off the connection, starting
/// with the part that was received along with the head.
fn store(cx: &mut NodeCx<'_>, conn: ConnId, fetch: FetchId, (start, end): (u64, u64)) {
    let Some(state) = cx.io.open(conn) else { return };
    let length = end.saturating_sub(start);
    if length == 0 || !matches!(state.phase, ConnPhase::Fetching(_)) {
        return;
    }
    state.phase = ConnPhase::Fetching(Awaited::Storing(length));
    let mut early = mem::take(&mut state.unread);
    let ours = usize::try_from(length).unwrap_or(usize::MAX).min(early.len());
    let rest = early.split_off(ours);
    state.keep_unread(rest, 0);
    cx.fx.output(Output::Store { conn, file: FileRef::Fetch(fetch), start, end, early });
}

/// The same for a body of unknown length.
fn store_body(cx: &mut NodeCx<'_>, conn: ConnId, fetch: FetchId, chunked: bool) {
    let most = cx.config.fetch.largest;
    let Some(state) = cx.io.open(conn) else { return };
    if !matches!(state.phase, ConnPhase::Fetching(_)) {
        return;
    }
    state.phase = ConnPhase::Fetching(Awaited::StoringBody);
    let early = mem::take(&mut state.unread);
    cx.fx.output(Output::StoreBody { conn, fetch, chunked, most, early });
}

/// A body that is collected as a whole, once all of it has been received.
fn body(
    bytes: &[u8],
    length: Option<u64>,
    most: u64,
) -> Result<Option<(Vec<u8>, usize)>, NotChunked> {
    let most = usize::try_from(most).unwrap_or(usize::MAX);
    let Some(length) = length else { return chunks(bytes, most) };
    let whole = usize::try_from(length).ok().and_then(|length| bytes.get(..length));
    Ok(whole.map(|body| (body.to_vec(), body.len())))
}

/// Sets what is expected next on a connection on which we send requests.
fn expect(cx: &mut NodeCx<'_>, conn: ConnId, next: Awaited) {
    let Some(state) = cx.io.open(conn) else { return };
    if let ConnPhase::Dialing(_) | ConnPhase::Fresh | ConnPhase::Fetching(_) = state.phase {
        state.phase =
            ConnPhase::Fetching(if next == Awaited::Skipping(0) { Awaited::Head } else { next });
    }
}
