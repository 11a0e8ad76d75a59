//! The download service: connections on which we send requests. The engine
//! [`fetch`] decides; here its requests become heads, and bodies go straight
//! from the host to the disk.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::mem;
use core::net::SocketAddr;

use super::connections::{NewDial, Owner};
use super::cx::NodeCx;
use super::service::{EngineCall, FollowUps, RunsEngine, Service};
use super::{
    Config, ConnEvent, ConnInput, ConnOutput, Event, FetchCommand, FetchInput, FetchOutput,
    FileRef, NodeLimit, NodeOp, Output,
};
use crate::engine::{Effect, Engine as _, Fx};
use crate::fetch::{self, DialError, Fetches, PartRow};
use crate::id::{ConnId, FetchId};
use crate::thex::Tree;
use crate::time::Instant;
use crate::wire::http::{NotChunked, ResponseHead, chunks};
use crate::wire::queue::SignalLine;

/// What is expected next on a connection on which we send requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Awaited {
    /// The head of a reply.
    Head,
    /// A body of so many bytes goes to the disk; the host takes it off the
    /// connection.
    Storing(u64),
    /// A body of unknown length goes to the disk; the host reports its end.
    StoringBody,
    /// So many more bytes are to be discarded.
    Skipping(u64),
    /// A body is collected as a whole: of so many bytes, or in chunks.
    Collecting(Option<u64>),
}

/// The download service.
#[derive(Debug, Clone)]
pub(super) struct Downloads {
    engine: Fetches,
    follow_ups: FollowUps<fetch::Input>,
    /// What is expected next on each connection.
    awaited: BTreeMap<ConnId, Awaited>,
}

/// What the store remembered of downloads.
#[derive(Debug)]
pub(super) struct RestoredFetches {
    pub(super) rows: Vec<PartRow>,
    /// The hash trees of some of them.
    pub(super) trees: Vec<(FetchId, Arc<Tree>)>,
    pub(super) paused: Vec<FetchId>,
}

impl Service for Downloads {
    type Command = FetchCommand;
    type Restored = RestoredFetches;

    fn restore(&mut self, cx: &mut NodeCx<'_>, restored: RestoredFetches) {
        if !cx.config.download {
            return;
        }
        self.listening(cx);
        for row in restored.rows {
            cx.shelf.parts.put(&Arc::new(row.clone()));
            self.feed(cx, fetch::Input::Restore(row));
        }
        for (fetch, tree) in restored.trees {
            self.feed(cx, fetch::Input::RestoreTree(fetch, tree));
        }
        for fetch in restored.paused {
            self.feed(cx, fetch::Input::RestorePaused(fetch));
        }
    }

    fn resume(&mut self, cx: &mut NodeCx<'_>) {
        if cx.config.download {
            self.feed(cx, fetch::Input::Resume);
        }
    }

    fn on(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, input: ConnInput) {
        match input {
            ConnInput::Dialed { local } => {
                self.awaited.insert(conn, Awaited::Head);
                self.feed(cx, fetch::Input::Dialed { conn, local: local.ip() });
            }
            ConnInput::DialFailed { why } => {
                self.feed(cx, fetch::Input::DialFailed { conn, why });
            }
            ConnInput::Closed => self.left(cx, conn),
            ConnInput::Backlog { bytes } if bytes > cx.config.limits.backlog => {
                cx.tell(ConnEvent::Limit { conn, limit: NodeLimit::Backlog });
                self.give_up(cx, conn, "requests pile up unread");
            }
            ConnInput::Stored { bytes } => self.stored(cx, conn, bytes),
            ConnInput::BodyEnded { unread } => self.body_ended(cx, conn, unread),
            ConnInput::DiskFailed { why } if self.awaited.contains_key(&conn) => {
                self.feed(cx, fetch::Input::DiskFailed { conn, why });
            }
            // Nothing is served, judged or kept here; the rest is for the layer
            // below.
            ConnInput::Accepted { .. }
            | ConnInput::Bytes { .. }
            | ConnInput::Backlog { .. }
            | ConnInput::Served { .. }
            | ConnInput::DiskFailed { .. }
            | ConnInput::Authenticated { .. }
            | ConnInput::Committed { .. }
            | ConnInput::Retracted { .. } => {}
        }
    }

    fn read(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        self.read_replies(cx, conn);
    }

    fn command(&mut self, cx: &mut NodeCx<'_>, command: FetchCommand) {
        self.feed(cx, command.into());
    }

    fn handle_timeout(&mut self, cx: &mut NodeCx<'_>) {
        self.feed_timeout(cx);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        self.engine.poll_timeout()
    }
}

impl RunsEngine<NodeCx<'_>> for Downloads {
    type Input = fetch::Input;
    type Output = fetch::Output;
    type Event = fetch::Event;

    fn follow_ups(&mut self) -> &mut FollowUps<fetch::Input> {
        &mut self.follow_ups
    }

    fn call(
        &mut self,
        cx: &mut NodeCx<'_>,
        call: EngineCall<fetch::Input>,
        fx: &mut Fx<fetch::Output, fetch::Event>,
    ) {
        match call {
            EngineCall::Input(input) => self.engine.handle(cx.now, input, fx),
            EngineCall::Timeout => self.engine.handle_timeout(cx.now, fx),
        }
    }

    /// In the engine's own order, so that what is saved before a request is
    /// persisted before the request is written.
    fn carry_out(&mut self, cx: &mut NodeCx<'_>, effect: Effect<fetch::Output, fetch::Event>) {
        match effect {
            Effect::Event(event) => cx.fx.event(Event::Fetch(event)),
            Effect::Output(wanted) => self.act(cx, wanted),
        }
    }
}

impl Downloads {
    pub(super) fn new(config: &Config) -> Self {
        let engine = Fetches::new(config.fetch, config.agent.clone(), config.dialect);
        Self { engine, follow_ups: FollowUps::default(), awaited: BTreeMap::new() }
    }

    /// The state of all downloads.
    pub(super) fn view(&self) -> Vec<fetch::FetchView> {
        self.engine.view()
    }

    /// How many places and slots are being given back.
    pub(super) fn leaving(&self) -> usize {
        self.engine.leaving()
    }

    /// Our listening address has changed: servers may call us back there.
    pub(super) fn listening(&mut self, cx: &mut NodeCx<'_>) {
        let at = cx.us.listen.filter(|_| cx.config.callable);
        self.feed(cx, fetch::Input::Listening(at));
    }

    fn act(&mut self, cx: &mut NodeCx<'_>, wanted: fetch::Output) {
        match wanted {
            fetch::Output::Dial { conn, to } => self.dial(cx, conn, to),
            fetch::Output::Write { conn, data } => cx.io.write(conn, data, cx.fx),
            fetch::Output::Store { conn, fetch, start, end } => {
                self.store(cx, conn, fetch, (start, end));
            }
            fetch::Output::StoreBody { conn, fetch, chunked } => {
                self.store_body(cx, conn, fetch, chunked);
            }
            fetch::Output::Skip { conn, bytes } => {
                let next = if bytes == 0 { Awaited::Head } else { Awaited::Skipping(bytes) };
                self.expect(conn, next);
            }
            fetch::Output::Collect { conn, length } => {
                self.expect(conn, Awaited::Collecting(length));
            }
            fetch::Output::Close { conn } => {
                // The engine expects no more input about it.
                self.awaited.remove(&conn);
                cx.close(conn, false, "the download is done with it");
            }
            fetch::Output::Allocate { fetch, name, size } => {
                cx.fx.output(Output::Fetch(FetchOutput::Allocate { fetch, name, size }));
            }
            fetch::Output::Verify { fetch } => {
                cx.fx.output(Output::Fetch(FetchOutput::Verify { fetch }));
            }
            fetch::Output::Hash { fetch, start, end } => {
                cx.fx.output(Output::Fetch(FetchOutput::Hash { fetch, start, end }));
            }
            fetch::Output::Complete { fetch } => {
                cx.fx.output(Output::Fetch(FetchOutput::Complete { fetch }));
            }
            fetch::Output::Save(row) => {
                cx.shelf.parts.put(&row);
                cx.fx.output(Output::Persist(NodeOp::Fetch(row)));
            }
            fetch::Output::SaveTree(fetch, tree) => {
                cx.fx.output(Output::Persist(NodeOp::Tree(fetch, tree)));
            }
            fetch::Output::Paused(fetch, paused) => {
                cx.fx.output(Output::Persist(NodeOp::Paused(fetch, paused)));
            }
            fetch::Output::Forget(fetch) => {
                cx.shelf.parts.remove(fetch);
                cx.fx.output(Output::Persist(NodeOp::FetchGone(fetch)));
            }
            fetch::Output::Answer(answer) => cx.fx.output(Output::Answer(answer.into())),
        }
    }

    /// Connects to a source. The engine has numbered the connection itself.
    fn dial(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, to: SocketAddr) {
        let dial = NewDial { conn, to, owner: Owner::Downloads };
        let dials = if self.engine.is_told_by_others(to) {
            cx.io.dial_for_stranger(cx.now, dial, cx.fx)
        } else {
            cx.io.dial(dial, cx.fx)
        };
        if !dials {
            self.feed(cx, fetch::Input::DialFailed { conn, why: DialError::NoDescriptor });
        }
    }

    /// Sets what is expected next on a connection that is ours.
    fn expect(&mut self, conn: ConnId, next: Awaited) {
        if let Some(awaited) = self.awaited.get_mut(&conn) {
            *awaited = next;
        }
    }

    /// A `QUEUE` or `GIV` line opened this connection: from now on we send
    /// requests on it, if one of our downloads was waiting for it.
    pub(super) fn invited(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, line: SignalLine) {
        let Some(state) = cx.io.pass_to(conn, Owner::Downloads) else { return };
        let peer = state.peer;
        self.awaited.insert(conn, Awaited::Head);
        cx.io.rest(conn);
        let input = match line {
            SignalLine::Queue { ticket, server } => {
                fetch::Input::Called { conn, peer, ticket, server }
            }
            SignalLine::Giv { index, servent, name } => {
                fetch::Input::Giv { conn, peer, index, servent, name }
            }
        };
        self.feed(cx, input);
        cx.io.read_again(conn);
    }

    /// Parses heads, and skips or collects bodies, from the unread bytes.
    fn read_replies(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let limits = cx.config.limits.head();
        let most = cx.config.fetch.tree_bytes;
        loop {
            let Some(state) = cx.io.open(conn) else { return };
            let Some(awaited) = self.awaited.get_mut(&conn) else { return };
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
                        self.feed(cx, fetch::Input::Collected { conn, data });
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
                Ok(None) if begins_a_reply(&bytes) => {
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
                    self.feed(cx, fetch::Input::Head { conn, head });
                }
                _ if is_tls(&bytes) => {
                    self.feed(cx, fetch::Input::SpeaksTls { conn });
                    return self.give_up(cx, conn, "it speaks TLS");
                }
                _ => return self.not_a_reply(cx, conn),
            }
        }
    }

    /// What was received is not a reply: nothing on this connection can be
    /// trusted.
    fn not_a_reply(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        self.feed(cx, fetch::Input::Garbage { conn });
        self.give_up(cx, conn, "not a reply we can read");
    }

    /// Closes a connection that the engine still counts on.
    fn give_up(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, why: &str) {
        if cx.close(conn, false, why) {
            self.left(cx, conn);
        }
    }

    /// This many bytes of the body are safe on disk.
    fn stored(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, bytes: u64) {
        let Some(awaited) = self.awaited.get_mut(&conn) else { return };
        let bytes = match awaited {
            Awaited::StoringBody => bytes,
            Awaited::Storing(length) => {
                let length = *length;
                if bytes >= length {
                    *awaited = Awaited::Head;
                }
                bytes.min(length)
            }
            Awaited::Head | Awaited::Skipping(_) | Awaited::Collecting(_) => return,
        };
        self.feed(cx, fetch::Input::Stored { conn, bytes });
        cx.io.read_again(conn);
    }

    /// A body of unknown length has ended, and is safe on disk.
    fn body_ended(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, unread: Vec<u8>) {
        let Some(state) = cx.io.open(conn) else { return };
        let Some(awaited @ Awaited::StoringBody) = self.awaited.get_mut(&conn) else { return };
        *awaited = Awaited::Head;
        state.keep_unread(unread, 0);
        self.feed(cx, fetch::Input::BodyEnded { conn });
        cx.io.read_again(conn);
    }

    /// A connection on which we sent requests, or were about to, is lost.
    fn left(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        self.awaited.remove(&conn);
        self.feed(cx, fetch::Input::Closed { conn });
    }

    /// Sends a body to the disk: the host takes it off the connection, starting
    /// with the part that was received along with the head.
    fn store(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        fetch: FetchId,
        (start, end): (u64, u64),
    ) {
        let length = end.saturating_sub(start);
        let Some(state) = cx.io.open(conn).filter(|_| length > 0) else { return };
        let Some(awaited) = self.awaited.get_mut(&conn) else { return };
        *awaited = Awaited::Storing(length);
        let mut early = mem::take(&mut state.unread);
        let ours = usize::try_from(length).unwrap_or(usize::MAX).min(early.len());
        let rest = early.split_off(ours);
        state.keep_unread(rest, 0);
        let file = FileRef::Fetch(fetch);
        cx.fx.output(Output::Connection(conn, ConnOutput::Store { file, start, end, early }));
    }

    /// The same for a body of unknown length.
    fn store_body(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, fetch: FetchId, chunked: bool) {
        let most = cx.config.fetch.largest;
        let Some(state) = cx.io.open(conn) else { return };
        let Some(awaited) = self.awaited.get_mut(&conn) else { return };
        *awaited = Awaited::StoringBody;
        let early = mem::take(&mut state.unread);
        let wanted = ConnOutput::StoreBody { fetch, chunked, most, early };
        cx.fx.output(Output::Connection(conn, wanted));
    }
}

impl From<FetchInput> for fetch::Input {
    fn from(input: FetchInput) -> Self {
        match input {
            FetchInput::Verified { fetch, sha1 } => Self::Verified { fetch, sha1 },
            FetchInput::Hashed { fetch, start, tth } => Self::Hashed { fetch, start, tth },
            FetchInput::VerifyFailed { fetch, why } => Self::VerifyFailed { fetch, why },
        }
    }
}

impl From<FetchCommand> for fetch::Input {
    fn from(command: FetchCommand) -> Self {
        match command {
            FetchCommand::Get(get) => Self::Get(get),
            FetchCommand::Cancel { fetch } => Self::Cancel { fetch },
            FetchCommand::AskNow { fetch } => Self::AskNow { fetch },
            FetchCommand::Sleep { fetch, length } => Self::Sleep { fetch, length },
            FetchCommand::ExpectGiv { fetch, servent, index } => {
                Self::ExpectGiv { fetch, servent, index }
            }
            FetchCommand::Moved { fetch, from, to } => Self::Moved { fetch, from, to },
            FetchCommand::Pause { fetch } => Self::Pause { fetch },
            FetchCommand::Resume { fetch } => Self::GoOn { fetch },
            FetchCommand::Relink { fetch, sources } => Self::Relink { fetch, sources },
        }
    }
}

/// True for the beginning of a TLS record: an alert, with which a server answers
/// what it cannot decrypt, or a handshake.
fn is_tls(bytes: &[u8]) -> bool {
    matches!(bytes, [0x15 | 0x16, 3, ..])
}

/// True for the first bytes of a reply: those of another protocol are known before
/// their head ends, which they may never do.
fn begins_a_reply(bytes: &[u8]) -> bool {
    // An empty line may be left of a GIV, or of the reply before.
    let line = bytes.iter().skip_while(|byte| matches!(byte, b'\r' | b'\n'));
    line.zip(b"HTTP/").all(|(came, due)| came.eq_ignore_ascii_case(due))
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
