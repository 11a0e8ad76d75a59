//! The sending half of a connection: numbers messages and keeps them until
//! they are acknowledged.

mod control;
mod false_acks;
mod fill;
mod marks;
mod slices;
mod timers;

use alloc::collections::BTreeMap;
use alloc::collections::VecDeque;

use self::control::{Reveals, SendControl};
use self::false_acks::FalseAcks;
use self::slices::LargeDoubt;
pub(super) use self::slices::Slices;

use super::congestion::{Allowance, ControlPhase};
use super::cx::UnicastCx;
use super::memory;
use super::rtt::Rtt;
use super::state::State;
use super::{
    Config, DeliveryOrder, Event, MessageRefusal, Output, Rejection, RetransmitReason, Room, Side,
    UnicastConnId, UnicastLimit,
};
use crate::time::{Duration, Instant};
use crate::wire::unicast::{Ack, FirstMessageRequest, UnicastPayload};

/// Bytes of a datagram that a message's number, flags and block may take: a
/// part of a long message must leave them free.
const OVERHEAD: usize = 9 + 9 + 8 + 3 + 3;
/// This part of a send window must be free, and as much as the longest message takes,
/// before more is taken.
const LEAST_FREE: u64 = 16;

/// A message that is not acknowledged.
#[derive(Debug, Clone)]
struct Slot {
    payload: UnicastPayload,
    sent_at: Instant,
    sends: u32,
    /// The receiver misses it, and it was not sent again yet: it is not under way.
    lost: bool,
    order: DeliveryOrder,
    continues: bool,
    more: bool,
}

/// A sender entry (UC-6).
#[derive(Debug, Clone)]
pub(super) struct SenderEntry {
    pub(super) conn: UnicastConnId,
    pub(super) state: State,
    /// The messages `base`, `base + 1`, …: first those in flight, then those
    /// not sent yet. `base - 1` is HA.
    window: VecDeque<Slot>,
    base: u64,
    /// The next number to be sent for the first time; `next - 1` is HS.
    next: u64,
    /// Bytes in the window, and how many of them are in flight.
    bytes: u64,
    flight: u64,
    /// The receiver's room: the highest number, and bytes beyond HA.
    limit: u64,
    limit_bytes: u64,
    control: SendControl,
    /// Messages whose datagrams have become too large for the path.
    slices: Slices,
    doubt: LargeDoubt,
    /// When a large datagram was last seen to arrive, or the first one left.
    large_at: Instant,
    /// Bytes that may be buffered.
    window_bytes: u64,
    /// The receiver knows the connection.
    known: bool,
    /// The token it wants back with the first message.
    token: Option<u64>,
    /// It requested the first message and may miss all others.
    opening: bool,
    /// What is to be retransmitted in this turn.
    again: BTreeMap<u64, RetransmitReason>,
    /// The highest number the receiver is known to have.
    newest: u64,
    lies: FalseAcks,
    /// When something was last sent, when there was last progress, and since
    /// when we have been waiting for the peer.
    sent_at: Instant,
    moved_at: Instant,
    /// Since when the peer is reached on this path, and how long after it was sent
    /// something may still arrive on the one before.
    path_since: Instant,
    old_path_lasts: Duration,
    waiting_since: Option<Instant>,
    /// Probes since the last progress.
    probes: u32,
    /// The receiver's window is to be probed.
    ask_window: bool,
    /// HA and HS at the last run of the task (UC-4).
    pair: (u64, u64),
    full: bool,
}

impl SenderEntry {
    pub(super) fn open(size: u64, cx: &mut UnicastCx<'_>) -> Self {
        let conn = UnicastConnId(cx.rng.next_u64());
        cx.fx.event(Event::Opened { peer: cx.peer, conn, side: Side::Sender, next: 1 });
        Self {
            conn,
            state: State::open(cx.now),
            window: VecDeque::new(),
            base: 1,
            next: 1,
            bytes: 0,
            flight: 0,
            limit: u64::from(cx.config.initial_messages),
            limit_bytes: cx.config.initial_flight,
            control: SendControl::new(cx.config, size),
            slices: Slices::default(),
            doubt: LargeDoubt::None,
            large_at: cx.now,
            window_bytes: cx.config.send_start.min(cx.config.send_bytes),
            known: false,
            token: None,
            opening: false,
            again: BTreeMap::new(),
            newest: 0,
            lies: FalseAcks::default(),
            sent_at: cx.now,
            moved_at: cx.now,
            path_since: Instant::ZERO,
            old_path_lasts: Duration::ZERO,
            waiting_since: None,
            probes: 0,
            ask_window: false,
            pair: (0, 0),
            full: false,
        }
    }

    /// HA: everything up to this is acknowledged.
    pub(super) const fn highest_acked(&self) -> u64 {
        self.base - 1
    }

    /// HS: everything up to this was sent.
    pub(super) const fn highest_sent(&self) -> u64 {
        self.next - 1
    }

    /// The last number assigned to a message.
    pub(super) fn last(&self) -> u64 {
        self.highest_acked() + self.window.len() as u64
    }

    /// The highest number the receiver has room for.
    pub(super) const fn limit(&self) -> u64 {
        self.limit
    }

    /// Bytes buffered, and how many of them are in flight.
    pub(super) const fn bytes(&self) -> (u64, u64) {
        (self.bytes, self.flight)
    }

    /// Bytes that are not sent yet.
    pub(super) const fn unsent(&self) -> u64 {
        self.bytes - self.flight
    }

    /// The free space of the send window.
    pub(super) fn room(&self, config: &Config) -> Room {
        let messages = u64::from(config.send_messages).saturating_sub(self.window.len() as u64);
        Room { messages, bytes: self.window_bytes.saturating_sub(self.bytes) }
    }

    /// The messages in the send window, and their bytes.
    pub(super) fn held(&self) -> (u64, u64) {
        (self.window.len() as u64, self.bytes)
    }

    /// Numbers a message and buffers it, or returns it.
    pub(super) fn send(
        &mut self,
        payload: UnicastPayload,
        order: DeliveryOrder,
        part: usize,
        cx: &mut UnicastCx<'_>,
    ) {
        let room = self.room(cx.config);
        let parts = payload.len().div_ceil(part).max(1) as u64;
        if parts > room.messages || payload.len() as u64 > room.bytes {
            return self.refuse(payload, order, room, cx);
        }
        self.state.touch(cx, self.conn, Side::Sender);
        self.bytes += payload.len() as u64;
        let slot = |payload, continues, more| {
            let (sent_at, sends, lost) = (Instant::ZERO, 0, false);
            Slot { payload, sent_at, sends, lost, order, continues, more }
        };
        if parts == 1 {
            return self.window.push_back(slot(payload, false, false));
        }
        for from in (0..payload.len()).step_by(part) {
            let to = payload.len().min(from + part);
            let (continues, more) = (from > 0, to < payload.len());
            self.window.push_back(slot(payload.slice(from..to), continues, more));
        }
    }

    fn refuse(
        &mut self,
        payload: UnicastPayload,
        order: DeliveryOrder,
        room: Room,
        cx: &mut UnicastCx<'_>,
    ) {
        let peer = cx.peer;
        cx.counters.refused += 1;
        cx.fx.output(Output::Refused { peer, order, payload, why: MessageRefusal::Full });
        if !self.full {
            self.full = true;
            let Room { messages, bytes } = room;
            cx.fx.event(Event::Full { peer, messages, bytes });
        }
    }

    /// Handles an acknowledgement (UC-2, UC-5).
    pub(super) fn ack(&mut self, ack: Ack, rtt: &mut Rtt, cx: &mut UnicastCx<'_>) {
        let sent = self.highest_sent();
        if self.is_false(&ack) {
            self.lies.add(cx.now);
            return cx.reject(ack.conn, Rejection::BeyondSent);
        }
        self.lies = FalseAcks::default();
        cx.counters.acks_received += 1;
        self.known = true;
        self.token = None;
        self.note_received(cx);
        if ack.upto < self.highest_acked() {
            // Overtaken by a later one; or from a receiver that started again
            // and waits for what we no longer have, which does not keep the
            // connection alive.
            return;
        }
        self.state.note_mention(cx.now);
        let trip = self.measure(&ack, rtt, cx);
        let in_flight = self.control.in_flight(self.flight);
        let limited = self.control.room(self.flight) < u64::from(cx.config.mtu)
            || self.control.is_paced(cx.now);
        let before = self.base;
        let (early, delivered) = (self.control.early(), self.control.delivered());
        let fresh = self.forget(ack.upto) && early == 0;
        self.control.arrived(ack.counts.early, self.flight);
        let arrived = self.base > before || self.control.early() > early;
        let bytes = self.control.delivered().saturating_sub(delivered);
        if cx.config.searches_size() {
            self.ease_doubt(bytes, rtt, cx.now);
        }
        if arrived || ack.newest > self.newest {
            self.moved_at = cx.now;
            self.probes = 0;
        }
        let exposes = self.exposes(&ack, before);
        self.newest = if exposes { ack.newest } else { self.newest.max(ack.newest) };
        if exposes {
            self.control.was_deceived(cx.now);
        }
        self.limit = ack.upto.saturating_add(ack.messages);
        self.limit_bytes = ack.bytes;
        let (conn, highest_acked) = (self.conn, self.highest_acked());
        cx.trace(|peer| Event::Acked { peer, conn, highest_acked, highest_sent: sent });
        let (lost, first_lost) = self.want(&ack.wanted, rtt, cx);
        let reveals = Reveals {
            newest: ack.newest,
            highest_sent: sent,
            before: in_flight,
            lost,
            first_lost,
            rtt: trip,
            fresh,
            limited,
            counts: ack.counts,
        };
        self.control.reveal(cx.now, self.flight, reveals);
        self.show_control(lost, trip.unwrap_or(rtt.smoothed()), rtt.least(), cx);
        self.fit_window(cx);
        if core::mem::take(&mut self.opening) && self.has_unacked() && !cx.config.to_the_letter() {
            // Its window is open now; the highest number shows it what it
            // misses.
            self.resend_tail();
        }
        self.writable(cx);
    }

    /// Shows in what is traced how the controller has decided.
    fn show_control(&mut self, lost: u64, trip: Duration, least: Duration, cx: &mut UnicastCx<'_>) {
        if !cx.config.trace_messages {
            return;
        }
        let Some((Allowance { window, rate, .. }, phase)) = self.control.take_change() else {
            return;
        };
        let conn = self.conn;
        cx.trace(|peer| Event::Controlled { peer, conn, phase, window, rate, trip, least, lost });
    }

    /// Measures a round trip, if `newest` is new and was sent only once.
    fn measure(&self, ack: &Ack, rtt: &mut Rtt, cx: &mut UnicastCx<'_>) -> Option<Duration> {
        if ack.newest <= self.newest || ack.newest < self.base {
            return None;
        }
        let slot = self.window.get((ack.newest - self.base) as usize)?;
        if slot.sends != 1 || self.went_elsewhere(slot) {
            return None;
        }
        let whole = cx.now.since(slot.sent_at);
        let trip = rtt.acknowledged(cx.now, whole, Duration::from_micros(ack.delay));
        let (smoothed, variation, timeout) = (rtt.smoothed(), rtt.variation(), rtt.timeout(0));
        cx.trace(|peer| Event::Rtt { peer, smoothed, variation, timeout });
        Some(trip)
    }

    /// Drops everything up to `upto`; true when nothing of it was sent again. The cost
    /// depends on what is dropped, never on what is kept (decision 2).
    fn forget(&mut self, upto: u64) -> bool {
        let (mut freed, mut once) = (0, true);
        while self.base <= upto {
            let Some(mut slot) = self.window.pop_front() else { break };
            slot.leave(&mut self.control);
            freed += slot.payload.len() as u64;
            once &= slot.sends == 1;
            self.base += 1;
        }
        self.bytes -= freed;
        self.flight -= freed;
        self.control.freed(freed);
        while self.again.first_key_value().is_some_and(|(seq, _)| *seq < self.base) {
            self.again.pop_first();
        }
        self.slices.forget(self.base);
        if self.window.is_empty() {
            self.control.rest();
            memory::release(&mut self.window);
        }
        once
    }

    /// Lets the window follow what is under way; gives it back when nothing is
    /// (PA-3).
    fn fit_window(&mut self, cx: &mut UnicastCx<'_>) {
        let start = cx.config.send_start.min(cx.config.send_bytes);
        let wanted = if self.window.is_empty() {
            start
        } else {
            let ahead = self.control.allowed().window.min(self.limit_bytes);
            let wanted = ahead.saturating_mul(2).saturating_add(self.control.early());
            wanted.saturating_add(start).min(cx.config.send_bytes).max(self.window_bytes)
        };
        self.window_bytes = cx.regrow(self.window_bytes, wanted, start);
    }

    /// Gives back what its window had grown by.
    pub(super) fn release(&mut self, cx: &mut UnicastCx<'_>) {
        let start = cx.config.send_start.min(cx.config.send_bytes);
        self.window_bytes = cx.regrow(self.window_bytes, start, start);
    }

    /// The path carries datagrams of another size now.
    pub(super) fn resize(&mut self, now: Instant, size: u64) {
        self.control.resize(now, size);
    }

    /// The peer is reached on another path. What was sent on the old one may still arrive
    /// so long after that.
    pub(super) fn moved(&mut self, now: Instant, old_path_lasts: Duration) {
        (self.path_since, self.old_path_lasts) = (now, old_path_lasts);
        self.control.moved(now, self.flight);
    }

    /// True for a message that was last sent on another path.
    fn went_elsewhere(&self, slot: &Slot) -> bool {
        slot.sends > 0 && slot.sent_at < self.path_since
    }

    /// So many datagrams left with a mark of our own (PA-7).
    pub(super) fn test_marks(&mut self, datagrams: u64) {
        self.control.test_marks(datagrams, self.flight);
    }

    /// True when datagrams may say that they may be marked.
    pub(super) const fn heeds_marks(&self) -> bool {
        self.control.heeds_marks()
    }

    /// The rate and the window it may use, and its phase.
    pub(super) fn control(&self) -> (Allowance, ControlPhase) {
        (self.control.allowed(), self.control.phase())
    }

    /// The bytes under way.
    pub(super) const fn under_way(&self) -> u64 {
        self.control.in_flight(self.flight)
    }

    /// Marks for retransmission what the receiver reports missing, and nothing
    /// else (UC-5). Returns the bytes, and the lowest number.
    fn want(
        &mut self,
        wanted: &[(u64, u64)],
        rtt: &Rtt,
        cx: &mut UnicastCx<'_>,
    ) -> (u64, Option<u64>) {
        let most = cx.config.answer_messages as usize;
        let (mut lost, mut lowest, mut full) = (0, None, false);
        for (first, last) in wanted {
            for seq in (*first).max(self.base)..=*last {
                // What finds no room is requested again; it is not under way either.
                full |= self.again.len() >= most;
                let slot = &self.window[(seq - self.base) as usize];
                // What was sent less than a round trip ago cannot have been
                // missed yet: the request was sent before, or twice. For a
                // first transmission the shortest round trip ever measured
                // counts; for a retransmission, which is requested again by a
                // timer, the smoothed one.
                let trip = if slot.sends > 1 { rtt.smoothed() } else { rtt.least() };
                let elsewhere = self.went_elsewhere(slot);
                let fresh = if elsewhere { self.old_path_lasts } else { trip.ratio(7, 8) };
                if slot.sent_at + fresh > cx.now || self.slices.has(seq) {
                    continue;
                }
                let slot = &mut self.window[(seq - self.base) as usize];
                if !core::mem::replace(&mut slot.lost, true) {
                    let bytes = slot.payload.len() as u64;
                    self.control.wait(bytes);
                    if !elsewhere {
                        lost += bytes;
                        lowest = lowest.or(Some(seq));
                    }
                }
                if !full {
                    self.again.insert(seq, RetransmitReason::Missing);
                }
            }
        }
        if full {
            cx.limit(UnicastLimit::AnswerMessages);
        }
        (lost, lowest)
    }

    /// Tells the application that it may go on once half of the room beyond what
    /// was sent is free. What was sent keeps its room until it is acknowledged,
    /// on a line that loses for several round trips: half of the whole window
    /// may never be free there while there is something left to send.
    fn writable(&mut self, cx: &mut UnicastCx<'_>) {
        let Room { messages, bytes } = self.room(cx.config);
        let is_free = |free: u64, window: u64, sent: u64, least: u64| {
            let least = least.max(window / LEAST_FREE).min(window.div_ceil(2));
            free >= window.saturating_sub(sent).div_ceil(2) && free >= least
        };
        let (most, sent) = (u64::from(cx.config.send_messages), self.next - self.base);
        let longest = u64::from(cx.config.max_message);
        if self.full
            && is_free(messages, most, sent, 1)
            && is_free(bytes, self.window_bytes, self.flight, longest)
        {
            self.full = false;
            let peer = cx.peer;
            cx.fx.output(Output::Writable { peer });
            cx.fx.event(Event::Writable { peer, messages, bytes });
        }
    }

    /// The receiver does not know the connection (UC-10): sends only the first
    /// message that is still buffered, marked as the first.
    pub(super) fn first_wanted(
        &mut self,
        request: FirstMessageRequest,
        rtt: &Rtt,
        cx: &UnicastCx<'_>,
    ) {
        let told = self.token == Some(request.token);
        if cx.config.prove && told && self.is_fresh(self.base, rtt, cx.now) {
            // Each datagram that arrived before the proof caused such a
            // request.
            return;
        }
        self.known = false;
        if cx.config.prove && !told && self.newest == 0 && self.base == 1 {
            self.token = Some(request.token);
            return self.begin_anew();
        }
        self.opening = true;
        self.token = Some(request.token);
        if self.base < self.next {
            self.again.entry(self.base).or_insert(RetransmitReason::First);
        } else {
            // A window that was announced before belongs to an entry that is
            // gone.
            let config = cx.config;
            self.limit = self.limit.max(self.base - 1 + u64::from(config.initial_messages));
            self.limit_bytes = self.limit_bytes.max(config.initial_flight);
        }
    }

    /// True when a number was sent less than a round trip ago.
    fn is_fresh(&self, seq: u64, rtt: &Rtt, now: Instant) -> bool {
        let slot = self.window.get((seq - self.base) as usize);
        slot.is_some_and(|slot| now < slot.sent_at + rtt.smoothed())
    }

    /// The receiver ignored everything before it knew us ([`Config::prove`]):
    /// nothing is lost, and everything is sent as if for the first time.
    fn begin_anew(&mut self) {
        let sent = (self.next - self.base) as usize;
        self.window.range_mut(..sent).for_each(|slot| (slot.sends, slot.lost) = (0, false));
        self.again.clear();
        (self.next, self.flight) = (self.base, 0);
        self.control.begin_anew();
    }

    /// The final acknowledgement: everything up to `upto` was delivered.
    pub(super) fn settle(&mut self, upto: u64) {
        if upto <= self.highest_sent() {
            self.forget(upto);
        }
    }

    /// Reports what was never acknowledged; nothing is kept.
    pub(super) fn abandon(&mut self, cx: &mut UnicastCx<'_>) {
        let (peer, conn, from, to) = (cx.peer, self.conn, self.base, self.last());
        if from <= to {
            cx.counters.undelivered += to - from + 1;
            cx.fx.event(Event::Undelivered { peer, conn, from, to });
        }
        if self.full {
            let Room { messages, bytes } =
                Room { messages: u64::from(cx.config.send_messages), bytes: self.window_bytes };
            cx.fx.output(Output::Writable { peer });
            cx.fx.event(Event::Writable { peer, messages, bytes });
        }
    }
}

/// The longest part of a message that fits into a datagram of so many bytes.
pub(super) fn part_size(size: u32, config: &Config) -> usize {
    size.clamp(200, 65_000) as usize - OVERHEAD - config.seal.len()
}
