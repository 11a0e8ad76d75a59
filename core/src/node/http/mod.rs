//! The service that serves files: what we share, the upload queue in front of
//! it, and the connections on which others send requests.
//!
//! | file | what it holds |
//! |---|---|
//! | `serving` | a connection that is served: heads out of bytes, bodies, deadlines |
//! | `exchange` | what is known of a connection |
//! | `request` | one request: what it asks for, what the queue says to it |
//! | `form` | the form on the page for them |
//! | `give` | uploads of visitors into the inbox |
//! | `guard` | a password, where one is wanted |
//! | `ahead` | which files requests name, for the host |
//! | `archive` | a folder as one file |
//! | `conditions` | only if the file is another, only if it is still the same |
//! | `reply` | replies in words |
//! | `page` | the list of what we share, for browsers |
//! | `list` | the same for programs |
//! | `browse` | the same as hits, for servents |
//! | `site` | which files belong to which member of a site |
//! | `store` | what is said while nothing can be saved |
//! | `push` | pushes requested of us for servents whose push proxy we are |

mod ahead;
mod archive;
mod browse;
mod conditions;
mod exchange;
mod form;
mod give;
mod guard;
mod links;
mod list;
mod page;
mod pages;
mod push;
mod reply;
mod request;
mod serving;
mod site;
mod store;

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use self::archive::NamedFolders;
use self::exchange::Exchange;
use self::give::Inbox;
use self::guard::Guard;
use self::reply::{Form, HttpReply};
use self::request::UploadRequest;
use super::connections::{ExpiredTimer, Owner, Timer};
use super::cx::NodeCx;
use super::service::{EngineCall, FollowUps, RunsEngine, Service};
use super::shelf::QueueRoom;
use super::{ConnEvent, ConnInput, Event, HttpCommand, Misuse, NodeLimit, NodeOp, Output};
use crate::engine::{Effect, Engine as _, Fx};
use crate::id::{ConnId, FileIndex, Guid};
use crate::lease::membership::Leader;
use crate::queue::server::{self, QueueServer, QueueVerdict};
use crate::queue::{self, PositionLoss, StoredEntry};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::wire::queue::SignalLine;

/// The service that serves files.
#[derive(Debug, Clone)]
pub(super) struct Http {
    pub(super) queue: QueueServer,
    follow_ups: FollowUps<server::Input>,
    /// What each connection is used for.
    exchanges: BTreeMap<ConnId, Exchange>,
    /// Requests that the queue has not answered yet, or whose answers it is
    /// holding back.
    asked: BTreeMap<ConnId, UploadRequest>,
    /// The address of this connection sends requests too often, as the queue has
    /// said just now; and when it may send the next one.
    hammering: Option<(ConnId, Duration)>,
    /// Pushes that the overlay is passing on, and how their replies are written.
    pushes: BTreeMap<ConnId, Form>,
    guard: Guard,
    /// Names by which browsers may know us, besides those of the configuration.
    hosts: Vec<String>,
    folders: NamedFolders,
    /// Nothing can be saved now, so nothing can be promised.
    mute: bool,
    inbox: Inbox,
    /// Who answers for each part of the site; `None`: we answer for everything.
    division: Option<Vec<Leader>>,
}

impl Service for Http {
    type Command = HttpCommand;
    type Restored = Vec<StoredEntry>;

    fn restore(&mut self, cx: &mut NodeCx<'_>, rows: Vec<StoredEntry>) {
        for row in rows {
            self.feed(cx, server::Input::Restore(row));
        }
    }

    fn resume(&mut self, cx: &mut NodeCx<'_>) {
        self.feed(cx, server::Input::Resume);
    }

    fn on(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, input: ConnInput) {
        match input {
            ConnInput::Dialed { local } => self.dialed(cx, conn, local),
            ConnInput::DialFailed { .. } | ConnInput::Closed => self.left(cx, conn, true),
            ConnInput::Backlog { bytes } => self.backlog(cx, conn, bytes),
            ConnInput::Served { bytes } => self.served(cx, conn, bytes),
            ConnInput::Stored { bytes } => self.stored(cx, conn, bytes),
            ConnInput::BodyEnded { unread } => self.upload_ended(cx, conn, unread),
            ConnInput::DiskFailed { why } => match self.exchanges.get(&conn) {
                Some(Exchange::Sending(_)) => self.unreadable(cx, conn, why),
                Some(Exchange::Receiving) => self.not_kept(cx, conn, why),
                _ => {}
            },
            ConnInput::Authenticated { good } => self.finish_authentication(cx, conn, good),
            ConnInput::Committed { name } => self.upload_committed(cx, conn, name),
            ConnInput::Retracted { several } => self.retract_replies(cx, conn, several),
            // The layer below handles these.
            ConnInput::Accepted { .. } | ConnInput::Bytes { .. } => {}
        }
    }

    fn read(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        self.read_requests(cx, conn);
    }

    fn run_out(&mut self, cx: &mut NodeCx<'_>, expired: ExpiredTimer) {
        self.timer_expired(cx, expired);
    }

    fn command(&mut self, cx: &mut NodeCx<'_>, command: HttpCommand) {
        match command {
            HttpCommand::Giv { to, index } if self.offer_file(cx, to, index) => {}
            HttpCommand::Giv { index, .. } => {
                cx.tell(ConnEvent::Misuse { fault: Misuse::UnknownFile { index } });
            }
            HttpCommand::Slots { slots } => self.feed(cx, server::Input::Slots(slots)),
            HttpCommand::Policy { policy } => self.feed(cx, server::Input::Policy(policy)),
            HttpCommand::CheckAgain => self.guard.check_again(),
            HttpCommand::Hosts { hosts } => self.hosts = hosts,
        }
    }

    fn handle_timeout(&mut self, cx: &mut NodeCx<'_>) {
        if !self.mute {
            return self.feed_timeout(cx);
        }
        self.answer_held(cx, cx.now);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        if self.mute {
            // A client that is not answered must not lose a place for not asking;
            // one that is held need not wait any longer than otherwise.
            return self.queue.next_answer().map(|(at, _)| (at, "hold"));
        }
        self.queue.poll_timeout()
    }
}

impl RunsEngine<NodeCx<'_>> for Http {
    type Input = server::Input;
    type Output = server::Output;
    type Event = queue::Event;

    fn follow_ups(&mut self) -> &mut FollowUps<server::Input> {
        &mut self.follow_ups
    }

    fn call(
        &mut self,
        cx: &mut NodeCx<'_>,
        call: EngineCall<server::Input>,
        fx: &mut Fx<server::Output, queue::Event>,
    ) {
        match call {
            EngineCall::Input(input) => self.queue.handle(cx.now, input, fx),
            EngineCall::Timeout => self.queue.handle_timeout(cx.now, fx),
        }
        cx.shelf.queue = self.room();
    }

    fn carry_out(&mut self, cx: &mut NodeCx<'_>, effect: Effect<server::Output, queue::Event>) {
        match effect {
            Effect::Event(event) => cx.fx.event(Event::Queue(event)),
            Effect::Output(server::Output::Save(row)) => {
                cx.fx.output(Output::Persist(NodeOp::Queue(row)));
            }
            Effect::Output(server::Output::Forget(ticket)) => {
                cx.fx.output(Output::Persist(NodeOp::QueueGone(ticket)));
            }
            Effect::Output(server::Output::Call { ticket, to }) => self.call_back(cx, ticket, to),
            Effect::Output(server::Output::Hangup { conn, why }) => {
                self.close(cx, conn, true, loss(why));
            }
            Effect::Output(server::Output::Reply { conn, verdict }) => {
                self.replied(cx, conn, verdict);
            }
        }
    }
}

impl Http {
    pub(super) fn new(config: queue::Config, root: &Rng) -> Self {
        let queue = QueueServer::new(config, root.fork("queue", 0));
        Self {
            queue,
            follow_ups: FollowUps::default(),
            exchanges: BTreeMap::new(),
            asked: BTreeMap::new(),
            hammering: None,
            pushes: BTreeMap::new(),
            guard: Guard::default(),
            hosts: Vec::new(),
            folders: NamedFolders::default(),
            inbox: Inbox::default(),
            mute: false,
            division: None,
        }
    }

    /// Answers the requests that are held until `until` or shorter, with a place if there
    /// is no slot.
    pub(super) fn answer_held(&mut self, cx: &mut NodeCx<'_>, until: Instant) {
        while let Some((_, conn)) = self.queue.next_answer().filter(|(at, _)| *at <= until) {
            self.feed(cx, server::Input::Answer { conn });
        }
    }

    /// Whether the upload queue has room.
    pub(super) fn room(&self) -> QueueRoom {
        QueueRoom { has_room: self.queue.has_room(), has_free_slot: self.queue.free() > 0 }
    }

    /// True when a connection awaits its next request, and has had one before.
    pub(super) fn is_idle(&self, conn: ConnId) -> bool {
        matches!(self.exchanges.get(&conn), Some(Exchange::Idle { .. }))
    }

    /// The range being sent on a connection, and how many bytes of it have been
    /// sent.
    pub(super) fn progress(&self, conn: ConnId) -> Option<(u64, u64, u64)> {
        match self.exchanges.get(&conn) {
            Some(Exchange::Sending(t)) => Some((t.start, t.end, t.sent)),
            _ => None,
        }
    }

    /// The queue answers a request.
    fn replied(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, verdict: QueueVerdict) {
        let Some(asked) = self.asked.remove(&conn) else {
            // It was only counted.
            if let QueueVerdict::Hammering { retry_after } = verdict {
                self.hammering = Some((conn, retry_after));
            }
            return;
        };
        let was_held = matches!(self.exchanges.get(&conn), Some(Exchange::Held));
        if cx.io.open(conn).is_none() {
            return;
        }
        self.exchanges.insert(conn, Exchange::IDLE);
        self.verdict(cx, conn, &asked, verdict);
        if was_held {
            serving::await_request(self, cx, conn, true);
        }
    }

    /// Bytes written to a connection pile up because the peer does not read
    /// them.
    fn backlog(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, bytes: u64) {
        if !self.list_behind(conn, bytes) && bytes > cx.config.limits.backlog {
            cx.tell(ConnEvent::Limit { conn, limit: NodeLimit::Backlog });
            self.close(cx, conn, false, "replies pile up unread");
        }
    }

    /// Calls a client back about its place: `QUEUE` is sent once the dial
    /// succeeds (PARQ §4).
    fn call_back(&mut self, cx: &mut NodeCx<'_>, ticket: Guid, to: SocketAddr) {
        match cx.dial_for_stranger(to, Owner::Http) {
            Some(conn) => drop(self.exchanges.insert(conn, Exchange::Calling { ticket })),
            None => self.feed(cx, server::Input::CallDone { ticket, ok: false }),
        }
    }

    /// Offers a file to a client that cannot reach us: `GIV` is sent once the
    /// dial succeeds. False when we share no such file.
    pub(super) fn offer_file(
        &mut self,
        cx: &mut NodeCx<'_>,
        to: SocketAddr,
        index: FileIndex,
    ) -> bool {
        let shared = cx.shelf.files.get(index).is_some();
        if shared && let Some(conn) = cx.dial_for_stranger(to, Owner::Http) {
            self.exchanges.insert(conn, Exchange::Offering { index });
        }
        shared
    }

    /// A dial succeeded: from now on the connection is like any other, and what
    /// the other end sends first decides what it is.
    fn dialed(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, local: SocketAddr) {
        let exchange = self.exchanges.remove(&conn);
        cx.io.pass_to(conn, Owner::Undecided);
        match exchange {
            Some(Exchange::Calling { ticket }) => {
                let server = Some(cx.us.reached_at(local));
                open_with(cx, conn, &SignalLine::Queue { ticket, server });
                self.feed(cx, server::Input::CallDone { ticket, ok: true });
            }
            Some(Exchange::Offering { index }) => {
                let name = cx.shelf.files.get(index).map(|file| String::from(file.leaf()));
                let Some(name) = name else {
                    return self.close(cx, conn, false, "the file is no longer shared");
                };
                let servent = cx.us.servent;
                open_with(cx, conn, &SignalLine::Giv { index, servent, name });
            }
            _ => {}
        }
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
        if cx.close(conn, flush, why) {
            self.left(cx, conn, false);
        }
    }

    /// A connection is lost or closed. `broke`: not by our decision.
    fn left(&mut self, cx: &mut NodeCx<'_>, conn: ConnId, broke: bool) {
        let input = match self.exchanges.remove(&conn) {
            Some(Exchange::Calling { ticket }) => server::Input::CallDone { ticket, ok: false },
            Some(Exchange::Offering { .. }) => return,
            Some(Exchange::Sending(_)) if broke => server::Input::Broken { conn },
            _ => {
                self.inbox.forget(conn);
                self.asked.remove(&conn);
                self.pushes.remove(&conn);
                self.guard.left(conn);
                server::Input::Gone { conn }
            }
        };
        self.feed(cx, input);
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
