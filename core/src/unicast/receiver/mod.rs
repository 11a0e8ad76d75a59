//! The receiving half of a connection: a window, its gaps, and what to tell the
//! sender about them.

mod acks;
mod gaps;
mod line;
mod reorder;
mod window;

pub(super) use self::acks::AckCause;
use self::gaps::Gaps;
use self::line::ReorderBuffer;
use self::reorder::ReorderPatience;
use self::window::GrantedWindow;
use super::cx::UnicastCx;
use super::rtt::Rtt;
use super::state::State;
use super::tombstones::{ConnEnd, Tombstone};
use super::{Config, ConnEnding, Event, Output, Rejection, Side, UnicastConnId};
use crate::time::{Duration, Instant};
use crate::wire::unicast::{Close, Data, MessageFragment, UnicastPayload};

/// Numbers beyond the first missing one for which all peers together get places: of 40
/// bytes each, and about 150 where every second number is missing.
const PLACES: u64 = 1 << 20;
/// So many places a connection gets in any case.
const PLACES_OF_ONE: u64 = 1_024;

/// A receiver entry (UC-6).
#[derive(Debug, Clone)]
pub(super) struct Receiver {
    pub(super) conn: UnicastConnId,
    pub(super) state: State,
    line: ReorderBuffer,
    gaps: Gaps,
    /// The highest number that arrived, and when.
    newest: u64,
    newest_at: Instant,
    /// The highest number known to exist.
    shown: u64,
    /// Datagrams with data so far.
    datagrams: u64,
    /// Delivered and not consumed yet.
    untaken_messages: u64,
    untaken_bytes: u64,
    /// Total bytes consumed: the window of bytes moves with it.
    taken_bytes: u64,
    /// The highest number that was ever announced as having room.
    promised: u64,
    /// The bytes of the connection that have room since some acknowledgement: what has been
    /// consumed, and what may wait. It is not taken back while anything arrives: when what had
    /// to wait for a lost message is there, all of it waits for the application.
    granted_bytes: u64,
    /// `promised` and `taken_bytes` at the last acknowledgement.
    told: (u64, u64),
    /// When the pending acknowledgement is to be sent at the latest.
    ack_due: Option<Instant>,
    last_ack: Option<Instant>,
    /// Bytes that have arrived since then.
    unacked: u64,
    /// Bytes granted.
    window: GrantedWindow,
    /// How long a gap may only be late, and what was requested too early.
    patience: ReorderPatience,
    /// Datagrams that arrived with a mark of congestion.
    marks: u64,
    /// No requests before this, because more is missing than fitted into the
    /// last one.
    ask_after: Instant,
    /// The task is making requests.
    asking: bool,
    /// The last number, from the sender's CLOSE.
    closed_at: Option<u64>,
}

impl Receiver {
    /// An entry whose first number to deliver is `next`, or the one in its
    /// tombstone.
    pub(super) fn open(
        conn: UnicastConnId,
        next: u64,
        tombstone: Option<&Tombstone>,
        cx: &mut UnicastCx<'_>,
    ) -> Self {
        let (next, early) =
            tombstone.map_or((next, &[][..]), |tombstone| (tombstone.next, &tombstone.early[..]));
        let (peer, side) = (cx.peer, Side::Receiver);
        cx.fx.event(Event::Opened { peer, conn, side, next });
        let promised = next - 1 + u64::from(cx.config.recv_messages);
        // What was delivered at once before has arrived; the rest is missing.
        let (mut gaps, mut newest) = (Gaps::default(), next - 1);
        for seq in early {
            if *seq > newest + 1 {
                gaps.open((newest + 1, seq - 1), (cx.now, cx.now), 0);
            }
            newest = *seq;
        }
        let line = ReorderBuffer::new(next, early, cx.config.max_message);
        *cx.places += line.places();
        Self {
            conn,
            state: State::open(cx.now),
            line,
            gaps,
            newest,
            newest_at: cx.now,
            shown: newest,
            datagrams: 0,
            untaken_messages: 0,
            untaken_bytes: 0,
            taken_bytes: 0,
            granted_bytes: 0,
            promised,
            told: (0, 0),
            ack_due: None,
            last_ack: None,
            unacked: 0,
            window: GrantedWindow::new(cx.now, cx.config),
            patience: ReorderPatience::default(),
            marks: 0,
            ask_after: Instant::ZERO,
            asking: false,
            closed_at: None,
        }
    }

    /// The first number that has not arrived.
    pub(super) const fn next(&self) -> u64 {
        self.line.next()
    }

    /// True when a number has arrived.
    pub(super) fn has(&self, seq: u64) -> bool {
        self.line.has(seq)
    }

    /// Numbers that are missing.
    pub(super) const fn missing(&self) -> u64 {
        self.gaps.missing()
    }

    /// The highest number that arrived.
    pub(super) const fn newest(&self) -> u64 {
        self.newest
    }

    /// The highest number known to exist.
    pub(super) const fn shown(&self) -> u64 {
        self.shown
    }

    /// Bytes that wait for earlier ones.
    pub(super) const fn held_bytes(&self) -> u64 {
        self.line.early_bytes() + self.line.part_bytes()
    }

    /// Delivered and not consumed yet: messages and bytes.
    pub(super) const fn untaken(&self) -> (u64, u64) {
        (self.untaken_messages, self.untaken_bytes)
    }

    /// The data of this connection in one datagram begins.
    pub(super) fn datagram(&mut self) {
        self.datagrams += 1;
    }

    /// Takes the messages of a block (UC-11). `thin`: the datagram is much
    /// larger than the messages, so those that wait must not keep its memory.
    pub(super) fn data(&mut self, data: Data, thin: bool, rtt: &mut Rtt, cx: &mut UnicastCx<'_>) {
        self.state.touch(cx, self.conn, Side::Receiver);
        let (conn, from, to, again) = (self.conn, data.seq, data.last(), data.again);
        cx.trace(|peer| Event::Received { peer, conn, from, to, again });
        let (held, places) = (self.held_bytes(), self.line.places());
        let (mut duplicates, mut wrong) = (None, None);
        for (seq, message) in (data.seq..).zip(data.messages) {
            match self.message(seq, message, (again, thin), rtt, cx) {
                Ok(true) => {}
                Ok(false) => {
                    cx.counters.duplicates += 1;
                    duplicates = Some(duplicates.map_or((seq, seq), |(from, _)| (from, seq)));
                }
                Err(why) => wrong = Some(why),
            }
        }
        *cx.held = *cx.held + self.held_bytes() - held;
        *cx.places = *cx.places + self.line.places() - places;
        if let Some((from, to)) = duplicates {
            cx.fx.event(Event::Duplicate { peer: cx.peer, conn, from, to });
        }
        if let Some(why) = wrong {
            cx.reject(conn, why);
        }
        let patience = if cx.config.to_the_letter() {
            Duration::ZERO
        } else {
            self.patience.lasts(rtt.smoothed())
        };
        self.gaps.overtaken(self.datagrams, u64::from(cx.config.reorder), (cx.now, patience));
        if again {
            // A retransmission means that the sender is waiting: request the
            // gaps without delay.
            if patience == Duration::ZERO {
                self.gaps.hasten_fresh(cx.now);
            }
        }
        let many = self.unacked >= cx.config.ack_bytes;
        let urgent = duplicates.is_some() || wrong.is_some() || data.first || again || many;
        self.arrived(urgent, cx);
    }

    /// Takes one message; `Ok(false)` if it was received before.
    fn message(
        &mut self,
        seq: u64,
        mut message: MessageFragment,
        (again, thin): (bool, bool),
        rtt: &mut Rtt,
        cx: &mut UnicastCx<'_>,
    ) -> Result<bool, Rejection> {
        if self.line.has(seq) {
            return Ok(false);
        }
        if seq > self.promised {
            return Err(Rejection::BeyondWindow);
        }
        let bytes = message.payload.len() as u64;
        let early = seq != self.line.next();
        // A message in order never waits for room that early ones take: they
        // wait for it. So the bound is twice the window, but a sender that
        // keeps to its window stays within one.
        let held = if early { self.line.early_bytes() } else { 0 };
        if self.kept() + held + bytes > self.room(cx.config)
            || (early && *cx.held + bytes > cx.config.recv_total)
            || (early && !self.has_place(seq, cx))
        {
            return Err(Rejection::NoRoom);
        }
        if seq > self.newest {
            self.newest = seq;
            self.newest_at = cx.now;
        }
        if seq > self.shown {
            self.show(seq - 1, (cx.now, cx.now + rtt.smoothed()));
            self.shown = seq;
        } else if !self.gaps.is_empty()
            && let Some(gap) = self.gaps.fill(seq)
        {
            if again && gap.asked == 1 {
                rtt.sample(cx.now, cx.now.since(gap.asked_at));
            }
            self.patience.filled(gap, (again, bytes), cx.now);
        }
        self.unacked += bytes;
        self.window.add(bytes, rtt, cx);
        if early && thin {
            message.payload = UnicastPayload::copy_from_slice(&message.payload);
        }
        let (conn, peer) = (self.conn, cx.peer);
        let (mut messages, mut delivered) = (0, 0);
        let result = self.line.put(seq, message, &mut |whole| {
            messages += 1;
            delivered += whole.payload.len() as u64;
            let line::Whole { seq, order, payload } = whole;
            cx.fx.output(Output::Deliver { peer, conn, order, payload });
            cx.trace(|peer| Event::Delivered { peer, conn, number: seq });
        });
        self.untaken_messages += messages;
        self.untaken_bytes += delivered;
        cx.counters.delivered += messages;
        cx.counters.delivered_bytes += delivered;
        result.map(|()| true)
    }

    /// True when there is a place for a number that arrived early. One far ahead takes
    /// memory for all before it, however small its datagram is.
    fn has_place(&self, seq: u64, cx: &UnicastCx<'_>) -> bool {
        let (has, wants) = (self.line.places(), self.line.places_with(seq));
        wants <= has.max(PLACES_OF_ONE) || *cx.places + (wants - has) <= PLACES
    }

    /// Bytes in order that wait for the application or for the rest of their message.
    fn kept(&self) -> u64 {
        self.untaken_bytes + self.line.part_bytes()
    }

    /// Bytes that may wait for the application or for earlier ones.
    fn room(&self, config: &Config) -> u64 {
        let room = (self.window.bytes() + self.line.early_bytes()).min(config.recv_bytes);
        room.max(self.granted_bytes.saturating_sub(self.taken_bytes))
    }

    /// All numbers beyond what was known, up to `seq`, are missing; to be
    /// requested at `due` at the latest.
    fn show(&mut self, seq: u64, (now, due): (Instant, Instant)) {
        if seq > self.shown {
            self.gaps.open((self.shown + 1, seq), (now, due), self.datagrams);
            self.shown = seq;
        }
    }

    /// The application has consumed so much.
    pub(super) fn taken(&mut self, messages: u64, bytes: u64, cx: &mut UnicastCx<'_>) {
        self.untaken_messages = self.untaken_messages.saturating_sub(messages);
        self.taken_bytes += bytes.min(self.untaken_bytes);
        self.untaken_bytes = self.untaken_bytes.saturating_sub(bytes);
        self.hurry_if_window_moved(cx);
    }

    /// Handles CLOSE: true when the entry is to be removed now (UC-9);
    /// otherwise it is removed when everything before has been delivered.
    pub(super) fn close(&mut self, close: Close) -> bool {
        self.closed_at = Some(close.last);
        close.abandoned || self.is_finished()
    }

    /// Everything up to the sender's CLOSE has been delivered.
    pub(super) fn is_finished(&self) -> bool {
        self.closed_at.is_some_and(|last| self.next() > last)
    }

    /// Removes the entry and leaves a tombstone.
    pub(super) fn bury(mut self, why: ConnEnding, cx: &mut UnicastCx<'_>) {
        self.window.release(self.newest_at, true, cx);
        let end = match why {
            ConnEnding::Finished | ConnEnding::Abandoned => ConnEnd::Finished,
            ConnEnding::Replaced => ConnEnd::Replaced,
            _ => ConnEnd::Dropped,
        };
        *cx.held -= self.held_bytes();
        *cx.places -= self.line.places();
        let (peer, conn, side, last) = (cx.peer, self.conn, Side::Receiver, self.next() - 1);
        if let Some((from, to)) = self.line.unfinished() {
            // Its parts are acknowledged, so the sender cannot report it.
            cx.counters.undelivered += 1;
            cx.fx.event(Event::Undelivered { peer, conn, from, to });
        }
        cx.fx.event(Event::Closed { peer, conn, side, last, why });
        cx.bury(conn, self.next(), self.line.gone(), end);
    }

    /// The next deadline of its own timers: acknowledgements and requests.
    pub(super) fn deadline(&self, config: &Config) -> Option<Instant> {
        let ask = self.gaps.next_due().filter(|_| !config.to_the_letter());
        let ask = ask.map(|due| due.max(self.ask_after));
        let idle = self.window.deadline(self.newest_at, config);
        [self.ack_due, ask, idle].into_iter().flatten().min()
    }

    /// Gives back what it has not used for long (PA-3).
    pub(super) fn rest(&mut self, cx: &mut UnicastCx<'_>) {
        if self.window.release(self.newest_at, false, cx) {
            // What was granted and not used is given back as well: the next acknowledgement
            // says so. Nothing of it is under way after so long.
            self.granted_bytes = self.taken_bytes + self.kept();
        }
    }

    /// The sender reaches us on another path; what it has sent on the old one may still
    /// come for so long.
    pub(super) fn moved(&mut self, now: Instant, old_path_lasts: Duration) {
        self.patience.moved(now + old_path_lasts);
    }

    /// Something got lost for certain: requests it at once, and says what has
    /// arrived.
    pub(super) fn hasten(&mut self, cx: &mut UnicastCx<'_>) {
        self.gaps.hasten_fresh(cx.now);
        self.arrived(true, cx);
    }

    /// So many datagrams arrived with a mark of congestion (PA-7).
    pub(super) fn marked(&mut self, datagrams: u64) {
        self.marks += datagrams;
    }

    /// True when the task has something to do here.
    pub(super) fn is_busy(&self) -> bool {
        !self.gaps.is_empty()
    }
}
