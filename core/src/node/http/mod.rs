//! The service that serves files: what we share, the upload queue in front of
//! it, and the connections on which others send requests.
//!
//! | file | what it holds |
//! |---|---|
//! | `serving` | a connection that is served: heads out of bytes, bodies, deadlines |
//! | `request` | one request: what it asks for, what the queue says to it |
//! | `form` | the form on the page for them |
//! | `give` | uploads of visitors into the inbox |
//! | `guard` | a password, where one is wanted |
//! | `archive` | a folder as one file |
//! | `conditions` | only if the file is another, only if it is still the same |
//! | `reply` | replies in words |
//! | `page` | the list of what we share, for browsers |
//! | `list` | the same for programs |
//! | `browse` | the same as hits, for servents |
//! | `site` | which files belong to which member of a site |
//! | `store` | what is said while nothing can be saved |
//! | `push` | pushes requested of us for servents whose push proxy we are |

mod archive;
mod browse;
mod conditions;
mod form;
mod give;
mod guard;
mod list;
mod page;
mod pages;
mod push;
mod reply;
mod request;
mod serving;
mod site;
mod store;

use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use self::give::Inbox;
use self::guard::Guard;
pub(super) use self::push::{Passed, PushWish};
use self::reply::HttpReply;
use self::request::UploadRequest;
pub(super) use self::request::{clip, request_received};
use super::catalog::Catalog;
use super::connections::{ConnPhase, Purpose, Timer};
use super::cx::NodeCx;
use super::{ConnEvent, Event, NodeOp, Output};
use crate::engine::{Effect, Engine as _, Fx, FxOf};
use crate::id::{ConnId, FileIndex, Guid};
use crate::lease::membership::Leader;
use crate::queue::server::{self, QueueServer};
use crate::queue::{self, PositionLoss};
use crate::rng::Rng;
use crate::time::Instant;
use crate::wire::queue::SignalLine;

/// One effect of the queue.
type QueueEffect = Effect<server::Output, queue::Event>;

/// The service that serves files.
#[derive(Debug, Clone)]
pub(super) struct Http {
    pub(super) queue: QueueServer,
    pub(super) files: Catalog,
    /// Requests whose answers the queue is holding back.
    held: BTreeMap<ConnId, UploadRequest>,
    guard: Guard,
    /// Nothing can be saved now, so nothing can be promised.
    mute: bool,
    inbox: Inbox,
    /// Who answers for each part of the site; `None`: we answer for everything.
    division: Option<Vec<Leader>>,
}

impl Http {
    pub(super) fn new(config: queue::Config, root: &Rng) -> Self {
        let queue = QueueServer::new(config, root.fork("queue", 0));
        Self {
            queue,
            files: Catalog::default(),
            held: BTreeMap::new(),
            guard: Guard::default(),
            inbox: Inbox::default(),
            mute: false,
            division: None,
        }
    }

    /// True while the queue holds back the answer on this connection.
    fn has_parked(&self, conn: ConnId) -> bool {
        self.held.contains_key(&conn)
    }

    /// Gives the queue an input that does not come from a request, and carries
    /// out its effects. While effects are carried out, the input waits for the
    /// last of them.
    pub(super) fn queue(&mut self, cx: &mut NodeCx<'_>, input: server::Input) {
        if let Some(follow_ups) = &mut cx.follow_ups {
            return follow_ups.push_back(input);
        }
        let mut said = Fx::new();
        self.queue.handle(cx.now, input, &mut said);
        self.obey_all(cx, said);
    }

    /// The queue's next deadline.
    pub(super) fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if self.mute {
            // Who is not answered must not lose a place for not asking; who is held
            // need not wait any longer than otherwise.
            return self.queue.next_answer().map(|(at, _)| (at, "hold"));
        }
        self.queue.poll_timeout()
    }

    /// Runs the queue's expired timers.
    pub(super) fn handle_timeout(&mut self, cx: &mut NodeCx<'_>) {
        if self.mute {
            while let Some((_, conn)) = self.queue.next_answer().filter(|(at, _)| *at <= cx.now) {
                self.queue(cx, server::Input::Answer { conn });
            }
            return;
        }
        let mut said = Fx::new();
        self.queue.handle_timeout(cx.now, &mut said);
        self.obey_all(cx, said);
    }

    fn obey_all(&mut self, cx: &mut NodeCx<'_>, said: FxOf<QueueServer>) {
        self.carry_out(cx, said, Self::obey);
    }

    /// Carries out all effects of one call of the queue, and only then gives it
    /// the inputs that follow from them: events and saved rows keep the order in
    /// which the queue decided, so that no row replaces a later one.
    fn carry_out(
        &mut self,
        cx: &mut NodeCx<'_>,
        mut said: FxOf<QueueServer>,
        mut each: impl FnMut(&mut Self, &mut NodeCx<'_>, QueueEffect),
    ) {
        cx.follow_ups = Some(VecDeque::new());
        for effect in said.drain() {
            each(self, cx, effect);
        }
        while let Some(input) = cx.follow_ups.as_mut().and_then(VecDeque::pop_front) {
            self.queue.handle(cx.now, input, &mut said);
            for effect in said.drain() {
                self.obey(cx, effect);
            }
        }
        cx.follow_ups = None;
    }

    /// Carries out one effect of the queue.
    fn obey(&mut self, cx: &mut NodeCx<'_>, said: QueueEffect) {
        match said {
            Effect::Event(event) => cx.fx.event(Event::Queue(event)),
            Effect::Output(server::Output::Save(row)) => {
                cx.fx.output(Output::Persist(NodeOp::Queue(row)));
            }
            Effect::Output(server::Output::Forget(ticket)) => {
                cx.fx.output(Output::Persist(NodeOp::QueueGone(ticket)));
            }
            Effect::Output(server::Output::Call { ticket, to }) => self.call(cx, ticket, to),
            Effect::Output(server::Output::Hangup { conn, why }) => {
                self.close(cx, conn, true, loss(why));
            }
            Effect::Output(server::Output::Reply { conn, verdict }) => {
                // Its answer was held back until now.
                let asked = self.held.remove(&conn);
                if let (Some(asked), Some(state)) = (asked, cx.io.open(conn)) {
                    state.phase = ConnPhase::Serving { place_until: Instant::ZERO };
                    self.verdict(cx, conn, &asked, verdict);
                    serving::await_request(cx, conn, true);
                }
            }
        }
    }

    /// Calls a client back about its place: `QUEUE` is sent once the dial
    /// succeeds (PARQ §4).
    fn call(&mut self, cx: &mut NodeCx<'_>, ticket: Guid, to: SocketAddr) {
        let conn = cx.io.number();
        if !cx.io.dial_for_stranger(cx.now, conn, (to, Purpose::Call(ticket)), cx.fx) {
            self.queue(cx, server::Input::CallDone { ticket, ok: false });
        }
    }

    /// Offers a file to a client that cannot reach us: `GIV` is sent once the
    /// dial succeeds. False when we share no such file.
    pub(super) fn give(&self, cx: &mut NodeCx<'_>, to: SocketAddr, index: FileIndex) -> bool {
        let shared = self.files.get(index).is_some();
        if shared {
            let conn = cx.io.number();
            cx.io.dial_for_stranger(cx.now, conn, (to, Purpose::Giv(index)), cx.fx);
        }
        shared
    }

    /// The dial to a client we call back succeeded: from now on its connection
    /// is served, and queued, like any other.
    pub(super) fn call_dialed(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        ticket: Guid,
        local: SocketAddr,
    ) {
        let server = Some(cx.us.reached_at(local));
        open_with(cx, conn, &SignalLine::Queue { ticket, server });
        self.queue(cx, server::Input::CallDone { ticket, ok: true });
    }

    /// The dial to a client that cannot reach us succeeded.
    pub(super) fn give_dialed(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, index: FileIndex) {
        let Some(name) = self.files.get(index).map(|f| String::from(f.leaf())) else {
            return self.close(cx, conn, false, "the file is no longer shared");
        };
        let servent = cx.us.servent;
        open_with(cx, conn, &SignalLine::Giv { index, servent, name });
    }

    /// Writes a complete reply, and closes the connection if it is the last.
    fn say(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, reply: HttpReply) {
        let (keep, why) = (reply.keep, reply.why);
        self.write(cx, conn, reply);
        if !keep {
            self.close(cx, conn, true, why);
        }
    }

    /// Writes a reply, without the bytes of a file.
    #[allow(clippy::unused_self)] // Like `say`.
    fn write(&self, cx: &mut NodeCx<'_>, conn: ConnId, reply: HttpReply) {
        let HttpReply { status, range: (start, end), data, .. } = reply;
        cx.tell(ConnEvent::Reply { conn, status, start, end });
        cx.io.write(conn, data, cx.fx);
    }

    /// Closes a connection. The queue learns of it now, not when the host
    /// reports it gone.
    pub(super) fn close(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, flush: bool, why: &str) {
        if let Some(was) = cx.close(conn, flush, why) {
            self.left(cx, conn, &was, false);
        }
    }

    /// A connection is lost or closed. `broke`: not by our decision.
    pub(super) fn left(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, was: &ConnPhase, broke: bool) {
        match was {
            ConnPhase::Sending(_) if broke => self.queue(cx, server::Input::Broken { conn }),
            ConnPhase::Fresh
            | ConnPhase::Serving { .. }
            | ConnPhase::Held
            | ConnPhase::Sending(_)
            | ConnPhase::Listing(_)
            | ConnPhase::Receiving => {
                self.inbox.forget(conn);
                self.held.remove(&conn);
                self.guard.left(conn);
                self.queue(cx, server::Input::Gone { conn });
            }
            ConnPhase::Dialing(Purpose::Call(ticket)) => {
                self.queue(cx, server::Input::CallDone { ticket: *ticket, ok: false });
            }
            _ => {}
        }
    }
}

/// Writes the line that opens a connection we dialed.
fn open_with(cx: &mut NodeCx<'_>, conn: ConnId, line: &SignalLine) {
    cx.io.write(conn, line.to_bytes(), cx.fx);
    cx.io.wake(conn, cx.now + cx.config.limits.request_deadline, Timer::Head);
}

/// Why the queue closes a connection, in words.
const fn loss(why: PositionLoss) -> &'static str {
    match why {
        PositionLoss::TooEarly => "asked too early",
        PositionLoss::Overdue => "did not ask in time",
        PositionLoss::ConnectionLost => "the place is lost",
        PositionLoss::WrongPosition => "claimed a position it was never told",
        PositionLoss::BrokeTooOften => "broke its connection too often",
        PositionLoss::Unreachable => "did not answer the calls",
        PositionLoss::Replaced => "took another place instead",
        PositionLoss::Left => "the client has left",
    }
}
