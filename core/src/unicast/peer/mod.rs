//! The state of one peer: both halves, unacknowledged ends, and whether its
//! address is proven. What it is sent, and how much, is in `speak`.

mod elsewhere;
mod size;
mod slices;
mod speak;

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

pub(super) use self::elsewhere::PathChange;
use self::size::PathSize;
use self::slices::Pieces;
use super::counters::HeardDatagrams;
use super::cx::UnicastCx;
use super::receiver::Receiver;
use super::rtt::Rtt;
use super::sender::{SenderEntry, part_size};
use super::tombstones::ConnEnd;
use super::{Config, ConnEnding, Event, Rejection, Side, UnicastConnId, UnicastLimit};
use crate::time::Instant;
use crate::wire::unicast::{
    Ack, AckCounts, Close, ConnBlock, Data, DeliveryOrder, Slice, UnicastPayload,
};

/// How many times CLOSE is sent before giving up.
const GOODBYES: u32 = 10;

/// A CLOSED connection whose end is not acknowledged.
#[derive(Debug, Clone)]
struct Farewell {
    close: Close,
    said: u32,
    at: Instant,
}

/// How much may be sent to a peer.
#[derive(Debug, Clone, Copy, Default)]
struct Budget {
    received: u64,
    sent: u64,
    /// It has proven that it receives what is sent to its address, or the
    /// application spoke first.
    free: bool,
    heard_at: Instant,
}

/// The state of one peer.
#[derive(Debug, Clone)]
pub(super) struct UnicastPeer {
    pub(super) sender: Option<SenderEntry>,
    pub(super) receiver: Option<Receiver>,
    pub(super) rtt: Rtt,
    farewells: Vec<Farewell>,
    /// A connection whose first message is to be requested, and when that may
    /// be done (UC-10).
    first_wanted: Option<(UnicastConnId, Instant)>,
    /// The connection whose first message was requested last.
    first_asked: Option<(UnicastConnId, Instant)>,
    /// An answer to a CLOSE, or to messages of an ended connection.
    answer: Option<ConnBlock>,
    budget: Budget,
    /// How large its datagrams are.
    path: PathSize,
    /// Pieces of a message from it (PA-6).
    pieces: Option<Pieces>,
    pub(super) heard: HeardDatagrams,
    /// Where it is, if not at the address that is its name (PA-9).
    pub(super) route: Option<SocketAddr>,
    /// Where the other side of a meeting was at first.
    pub(super) home: Option<SocketAddr>,
    /// Where it was before, and where it may be now.
    pub(super) left: Option<SocketAddr>,
    pub(super) candidate: Option<SocketAddr>,
    /// When something of a connection with it has come from where it is.
    spoke_at: Instant,
    /// The owner of its address, if the peer spoke first: it is counted.
    pub(super) stranger: Option<IpAddr>,
    /// The next run of the task ([`super::Profile::Unicast3`]).
    task_at: Option<Instant>,
    /// The task is the reason for this flush.
    task: bool,
    /// Its deadline in the endpoint's agenda.
    pub(super) wake: Option<Instant>,
    /// It is in the list of peers to be flushed.
    pub(super) dirty: bool,
}

impl UnicastPeer {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            sender: None,
            receiver: None,
            rtt: Rtt::new(config),
            farewells: Vec::new(),
            first_wanted: None,
            first_asked: None,
            answer: None,
            budget: Budget::default(),
            path: PathSize::new(config),
            pieces: None,
            heard: HeardDatagrams::default(),
            route: None,
            home: None,
            left: None,
            candidate: None,
            spoke_at: Instant::ZERO,
            stranger: None,
            task_at: None,
            task: false,
            wake: None,
            dirty: false,
        }
    }

    /// The application sends to it. A peer that was never heard, or so long ago
    /// that it would be forgotten by now, may be sent to without proof:
    /// otherwise a peer that spoke, fell silent and started again could never
    /// be reached.
    pub(super) fn invited(&mut self, now: Instant, config: &Config) {
        self.budget.free |= self.remembered_until(config).is_none_or(|until| until <= now);
    }

    /// The application sends a message.
    pub(super) fn send(
        &mut self,
        payload: UnicastPayload,
        order: DeliveryOrder,
        cx: &mut UnicastCx<'_>,
    ) {
        let size = self.path.size();
        let sender = self.sender.get_or_insert_with(|| SenderEntry::open(u64::from(size), cx));
        sender.send(payload, order, part_size(size, cx.config), cx);
    }

    /// The size of datagrams to it.
    pub(super) const fn datagram_size(&self) -> u32 {
        self.path.size()
    }

    /// So many datagrams of it arrived with a mark of congestion (PA-7).
    pub(super) fn marked(&mut self, datagrams: u64) {
        if let Some(receiver) = &mut self.receiver {
            receiver.marked(datagrams);
        }
    }

    /// So many datagrams left for it with a mark of our own.
    pub(super) fn test_marks(&mut self, datagrams: u64) {
        if let Some(sender) = &mut self.sender {
            sender.test_marks(datagrams);
        }
    }

    /// The system refused to send a datagram of so many bytes to it (PA-6).
    pub(super) fn refused(&mut self, bytes: u32, cx: &mut UnicastCx<'_>) {
        if self.path.refused(bytes, cx.now, cx.config) {
            self.resized(cx);
        }
    }

    fn resized(&mut self, cx: &mut UnicastCx<'_>) {
        let bytes = self.path.size();
        if let Some(sender) = &mut self.sender {
            sender.resize(cx.now, u64::from(bytes));
        }
        cx.fx.event(Event::Resized { peer: cx.peer, bytes });
    }

    /// The application has consumed so much of what was delivered.
    pub(super) fn taken(&mut self, messages: u64, bytes: u64, cx: &mut UnicastCx<'_>) {
        if let Some(receiver) = &mut self.receiver {
            receiver.taken(messages, bytes, cx);
        }
    }

    /// The data of a connection in one datagram begins.
    pub(super) fn datagram(&mut self, conn: UnicastConnId) {
        if let Some(receiver) = self.receiver.as_mut().filter(|it| it.conn == conn) {
            receiver.datagram();
        }
    }

    /// A datagram of so many bytes was received from its address.
    pub(super) fn received(&mut self, bytes: u32, now: Instant) {
        self.budget.heard_at = now;
        self.budget.received = self.budget.received.saturating_add(u64::from(bytes));
    }

    /// True for what only a host says that has received something of our connection.
    pub(super) fn is_about_ours(&self, block: &ConnBlock) -> bool {
        let about = matches!(
            block,
            ConnBlock::Ack(_) | ConnBlock::Request(_) | ConnBlock::SizeFound { .. }
        );
        about && self.speaks(block.conn())
    }

    /// Only its send budget is left.
    fn is_idle(&self) -> bool {
        let halves = self.sender.is_none() && self.receiver.is_none();
        let words = self.first_wanted.is_none() && self.answer.is_none();
        halves && words && self.farewells.is_empty()
    }

    /// How long an unproven peer is remembered after its last datagram: when
    /// the application answers, it must be known that the peer spoke first.
    fn remembered_until(&self, config: &Config) -> Option<Instant> {
        let Budget { received, free, heard_at, .. } = self.budget;
        (received > 0 && !free).then(|| heard_at + config.conn_close.scaled(config.time_scale))
    }

    /// Nothing at all is left of it.
    pub(super) fn is_over(&self, now: Instant, config: &Config) -> bool {
        self.is_idle() && self.remembered_until(config).is_none_or(|until| until <= now)
    }

    /// Handles one block of a datagram.
    pub(super) fn block(
        &mut self,
        block: ConnBlock,
        thin: bool,
        token: impl FnOnce() -> u64,
        cx: &mut UnicastCx<'_>,
    ) {
        match block {
            ConnBlock::Data(data) => self.data(data, thin, token, cx),
            ConnBlock::Ack(ack) => match &mut self.sender {
                Some(sender) if sender.conn == ack.conn => {
                    self.budget.free = true;
                    sender.ack(ack, &mut self.rtt, cx);
                    if sender.is_deceived(&self.rtt) {
                        sender.state.close(cx, sender.conn, Side::Sender, ConnEnding::Deceived);
                        self.depart(true, cx);
                    }
                }
                _ => self.unknown(ack.conn, cx),
            },
            ConnBlock::Request(request) => match &mut self.sender {
                Some(sender) if sender.conn == request.conn => {
                    self.budget.free = true;
                    sender.note_received(cx);
                    sender.first_wanted(request, &self.rtt, cx);
                }
                _ => self.unknown(request.conn, cx),
            },
            ConnBlock::Close(close) => self.closed_by_peer(close, cx),
            ConnBlock::Closed { conn, upto } => self.closed_confirmed(conn, upto, cx),
            ConnBlock::Probe { conn, sent } => match &mut self.receiver {
                Some(receiver) if receiver.conn == conn => receiver.probed(sent, cx),
                _ => self.ask_first(conn, Rejection::NotOpen, cx),
            },
            ConnBlock::SizeProbe { conn, size } => {
                if self.receiver.as_ref().is_some_and(|it| it.conn == conn) {
                    self.answer = Some(ConnBlock::SizeFound { conn, size });
                }
            }
            ConnBlock::SizeFound { conn, size } => {
                if self.speaks(conn) && self.path.found(size, cx.now) {
                    self.resized(cx);
                }
            }
            ConnBlock::Challenge { conn, token } => {
                if self.has(conn) {
                    self.answer = Some(ConnBlock::Response { conn, token });
                }
            }
            // One from its own address says nothing new.
            ConnBlock::Response { .. } => {}
            ConnBlock::Slice(piece) => self.piece(piece, token, cx),
        }
    }

    /// The connection that it is known by.
    pub(super) fn conn(&self) -> Option<UnicastConnId> {
        let receiver = self.receiver.as_ref().map(|it| it.conn);
        receiver.or_else(|| self.sender.as_ref().map(|it| it.conn))
    }

    /// True when one of its halves is of that connection.
    pub(super) fn has(&self, conn: UnicastConnId) -> bool {
        self.speaks(conn) || self.receiver.as_ref().is_some_and(|it| it.conn == conn)
    }

    /// True when a connection is the one that sends to it.
    fn speaks(&self, conn: UnicastConnId) -> bool {
        self.sender.as_ref().is_some_and(|sender| sender.conn == conn)
    }

    fn piece(&mut self, piece: Slice, token: impl FnOnce() -> u64, cx: &mut UnicastCx<'_>) {
        if self.receiver.as_ref().is_none_or(|it| it.conn != piece.conn) {
            return self.ask_first(piece.conn, Rejection::NotOpen, cx);
        }
        if piece.total > cx.config.max_message.min(65_000) {
            return cx.reject(piece.conn, Rejection::TooLong);
        }
        let (conn, seq) = (piece.conn, piece.seq);
        let Some(message) = Pieces::add(&mut self.pieces, piece) else { return };
        let (first, again, token_back) = (false, true, None);
        let messages = alloc::vec![message];
        self.data(Data { conn, seq, first, again, token: token_back, messages }, false, token, cx);
    }

    /// The receiver confirms that a connection has ended.
    fn closed_confirmed(&mut self, conn: UnicastConnId, upto: u64, cx: &mut UnicastCx<'_>) {
        let before = self.farewells.len();
        self.farewells.retain(|farewell| farewell.close.conn != conn);
        if self.farewells.len() < before {
            self.budget.free = true;
        } else if let Some(mut sender) = self.sender.take_if(|sender| sender.conn == conn) {
            // Nothing we still have will ever be delivered there.
            self.budget.free = true;
            sender.settle(upto);
            sender.release(cx);
            sender.abandon(cx);
            closed(&sender, ConnEnding::Finished, cx);
        } else {
            cx.reject(conn, Rejection::UnknownConnection);
        }
    }

    /// A late message about a connection that we have closed is not a fault.
    fn unknown(&mut self, conn: UnicastConnId, cx: &mut UnicastCx<'_>) {
        if self.farewells.iter().all(|farewell| farewell.close.conn != conn) {
            cx.reject(conn, Rejection::UnknownConnection);
        }
    }

    fn data(
        &mut self,
        data: Data,
        thin: bool,
        token: impl FnOnce() -> u64,
        cx: &mut UnicastCx<'_>,
    ) {
        let conn = data.conn;
        if self.receiver.as_ref().is_none_or(|receiver| receiver.conn != conn)
            && !self.admit(&data, token, cx)
        {
            return;
        }
        if let Some(sender) = &mut self.sender {
            sender.note_received(cx);
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.data(data, thin, &mut self.rtt, cx);
            if receiver.is_finished() {
                self.end_receiver(ConnEnding::Finished, cx);
            }
        }
    }

    /// Decides on data of a connection without an entry (UC-10).
    fn admit(&mut self, data: &Data, token: impl FnOnce() -> u64, cx: &mut UnicastCx<'_>) -> bool {
        let conn = data.conn;
        let tombstone = cx.tombstones.get(cx.now, cx.peer, conn).cloned();
        match tombstone.as_ref().map(|tombstone| (tombstone.end, tombstone.next)) {
            Some((ConnEnd::Finished, next)) => {
                let upto = next - 1;
                self.answer = Some(if data.last() > upto {
                    ConnBlock::Closed { conn, upto }
                } else {
                    ConnBlock::Ack(late_ack(conn, upto, cx.config))
                });
                cx.reject(conn, Rejection::Ended);
                return false;
            }
            Some((ConnEnd::Replaced, _)) => {
                cx.reject(conn, Rejection::Ended);
                return false;
            }
            Some((ConnEnd::Dropped, _)) | None => {}
        }
        if !data.first {
            self.ask_first(conn, Rejection::NotOpen, cx);
            return false;
        }
        if cx.config.whole && tombstone.is_none() && data.seq > 1 {
            self.answer = Some(ConnBlock::Closed { conn, upto: 0 });
            cx.reject(conn, Rejection::Ended);
            return false;
        }
        let proven = data.token.is_some_and(|told| told == token());
        self.budget.free |= proven;
        // Any host can forge a source address; only a peer that receives what is sent to
        // that address may replace this connection by another, or answer in the name of a
        // peer that we have called.
        let suffices = proven || self.receiver.is_none() && (cx.has_heard_us || !cx.config.prove);
        if !suffices {
            self.ask_first(conn, Rejection::Unproven, cx);
            return false;
        }
        if self.receiver.is_some() {
            self.end_receiver(ConnEnding::Replaced, cx);
        }
        self.first_wanted = None;
        self.receiver = Some(Receiver::open(conn, data.seq, tombstone.as_ref(), cx));
        true
    }

    /// Notes a connection whose first message is to be requested: at most one,
    /// and the same one not again before its answer can have arrived.
    fn ask_first(&mut self, conn: UnicastConnId, why: Rejection, cx: &mut UnicastCx<'_>) {
        cx.reject(conn, why);
        let pause = if cx.config.to_the_letter() {
            cx.config.task_interval.scaled(cx.config.time_scale)
        } else {
            self.rtt.smoothed()
        };
        let before = self.first_asked.filter(|(asked, _)| *asked == conn);
        let at = before.map_or(cx.now, |(_, at)| (at + pause).max(cx.now));
        self.first_wanted = Some((conn, at));
    }

    fn closed_by_peer(&mut self, close: Close, cx: &mut UnicastCx<'_>) {
        let conn = close.conn;
        match &mut self.receiver {
            Some(receiver) if receiver.conn == conn => {
                let abandoned = close.abandoned;
                if receiver.close(close) {
                    let finished = receiver.is_finished();
                    let why = if abandoned && !finished {
                        ConnEnding::Abandoned
                    } else {
                        ConnEnding::Finished
                    };
                    self.end_receiver(why, cx);
                }
            }
            _ => {
                let upto = cx
                    .tombstones
                    .get(cx.now, cx.peer, conn)
                    .map_or(0, |tombstone| tombstone.next - 1);
                self.answer = Some(ConnBlock::Closed { conn, upto });
            }
        }
    }

    fn end_receiver(&mut self, why: ConnEnding, cx: &mut UnicastCx<'_>) {
        let Some(receiver) = self.receiver.take() else { return };
        if matches!(why, ConnEnding::Finished | ConnEnding::Abandoned) {
            let (conn, upto) = (receiver.conn, receiver.next() - 1);
            self.answer = Some(ConnBlock::Closed { conn, upto });
        }
        receiver.bury(why, cx);
    }

    /// The application closes the connection (UC-7).
    pub(super) fn close(&mut self, cx: &mut UnicastCx<'_>) {
        if let Some(sender) = &mut self.sender {
            let conn = sender.conn;
            sender.state.close(cx, conn, Side::Sender, ConnEnding::Asked);
        }
    }

    /// The application ends the connection and does not wait for what is still to be sent.
    pub(super) fn abandon(&mut self, cx: &mut UnicastCx<'_>) {
        self.close(cx);
        let unsent = self.sender.as_ref().is_some_and(|it| it.has_unacked() || it.is_blocked());
        self.depart(unsent, cx);
    }

    /// Drops an entry without a trace.
    pub(super) fn forget(&mut self, side: Side, cx: &mut UnicastCx<'_>) {
        match side {
            Side::Receiver => self.end_receiver(ConnEnding::Forgotten, cx),
            Side::Sender => {
                if let Some(mut sender) = self.sender.take() {
                    sender.release(cx);
                    sender.abandon(cx);
                    closed(&sender, ConnEnding::Forgotten, cx);
                }
            }
        }
    }

    /// Another peer is at its address: nothing more comes from it, and nothing reaches it.
    pub(super) fn displaced(&mut self, cx: &mut UnicastCx<'_>) {
        (self.first_wanted, self.answer) = (None, None);
        self.farewells.clear();
        self.end_receiver(ConnEnding::Replaced, cx);
        if let Some(mut sender) = self.sender.take() {
            sender.release(cx);
            sender.abandon(cx);
            closed(&sender, ConnEnding::Replaced, cx);
        }
    }

    /// Runs expired timers.
    pub(super) fn run(&mut self, cx: &mut UnicastCx<'_>) {
        if self.task_at.is_some_and(|at| at <= cx.now) {
            self.task_at = None;
            self.task = true;
            cx.trace(|peer| Event::Task { peer });
            if let Some(sender) = &mut self.sender {
                sender.task();
            }
            if let Some(receiver) = &mut self.receiver {
                receiver.task(cx.now);
            }
        }
        if let Some(sender) = &mut self.sender {
            if !cx.config.to_the_letter() {
                sender.probe(&self.rtt, cx);
                if self.path.may_shrink(cx.config) {
                    sender.doubt(&self.rtt, cx.now, cx.config);
                }
                if sender.is_swallowed(cx.now, &self.rtt) && self.path.shrink(cx.now, cx.config) {
                    let bytes = self.path.size();
                    sender.resize(cx.now, u64::from(bytes));
                    sender.settle_doubt();
                    cx.fx.event(Event::Resized { peer: cx.peer, bytes });
                }
            }
            if let Some(done) = sender.reap(cx) {
                self.depart(!done, cx);
            }
        }
        if let Some(receiver) = &mut self.receiver {
            receiver.rest(cx);
            let conn = receiver.conn;
            if receiver.state.reap(cx, conn, Side::Receiver) {
                self.end_receiver(ConnEnding::Idle, cx);
            }
        }
    }

    /// The sender entry is CLOSED: tells the other side (UC-8).
    fn depart(&mut self, abandoned: bool, cx: &mut UnicastCx<'_>) {
        let Some(mut sender) = self.sender.take() else { return };
        let why = sender.state.ending().unwrap_or(ConnEnding::Idle);
        sender.release(cx);
        sender.abandon(cx);
        closed(&sender, why, cx);
        if self.farewells.len() >= cx.config.farewells as usize {
            self.farewells.remove(0);
            cx.limit(UnicastLimit::Farewells);
        }
        let close = Close { conn: sender.conn, last: sender.highest_sent(), abandoned };
        self.farewells.push(Farewell { close, said: 0, at: cx.now });
    }

    /// When [`UnicastPeer::run`] or a flush has something to do.
    pub(super) fn next_wake(&mut self, now: Instant, config: &Config) -> Option<Instant> {
        let letter = config.to_the_letter();
        if letter {
            self.schedule_task(now, config);
        }
        let sender = self.sender.as_ref().and_then(|s| s.deadline(&self.rtt, now, config));
        let busy = self.sender.as_ref().is_some_and(SenderEntry::is_measuring);
        let size = self.path.deadline().filter(|_| busy && !letter);
        let receiver = self.receiver.as_ref().and_then(|r| r.deadline(config));
        let reap = self.receiver.as_ref().and_then(|r| r.state.deadline(config));
        let first = self.first_wanted.filter(|_| !letter).map(|(_, at)| at);
        let farewell = self.farewells.iter().map(|farewell| farewell.at).min();
        let forget = self.remembered_until(config).filter(|_| self.is_idle());
        let large = !letter && self.path.may_shrink(config);
        let doubt =
            self.sender.as_ref().filter(|_| large).and_then(|s| s.doubt_at(&self.rtt, config));
        let own = [doubt, reap, first, farewell, forget, self.task_at, size, self.silent_at()];
        own.into_iter().chain([sender, receiver]).flatten().min()
    }

    /// There is one task for all peers: it runs at whole multiples of its
    /// period.
    fn schedule_task(&mut self, now: Instant, config: &Config) {
        let sends = self.sender.as_ref().is_some_and(|s| s.has_unacked() || s.is_blocked());
        let receives = self.receiver.as_ref().is_some_and(Receiver::is_busy);
        if !sends && !receives && self.first_wanted.is_none() {
            self.task_at = None;
        } else if self.task_at.is_none() {
            let period = config.task_interval.scaled(config.time_scale).as_micros();
            let next = (now.as_micros() / period).saturating_add(1).saturating_mul(period);
            self.task_at = Some(Instant::from_micros(next));
        }
    }
}

/// Acknowledges messages that are sent after the end was seen.
fn late_ack(conn: UnicastConnId, upto: u64, config: &Config) -> Ack {
    let (messages, bytes) = (u64::from(config.recv_messages), config.recv_start);
    let (wanted, counts) = (Vec::new(), AckCounts::default());
    Ack { conn, upto, newest: upto, delay: 0, messages, bytes, wanted, counts }
}

fn closed(sender: &SenderEntry, why: ConnEnding, cx: &mut UnicastCx<'_>) {
    let (peer, conn, side) = (cx.peer, sender.conn, Side::Sender);
    let last = sender.highest_acked();
    cx.fx.event(Event::Closed { peer, conn, side, last, why });
}
