//! Messages that no longer fit into a datagram: the path carries less than it
//! did when they were numbered, so they travel in pieces (PA-6).

use super::SenderEntry;
use crate::time::{Duration, Instant};
use crate::unicast::cx::UnicastCx;
use crate::unicast::packer::Packer;
use crate::unicast::rtt::Rtt;
use crate::unicast::{Config, Event, RetransmitReason};
use crate::wire::unicast::{ConnBlock, Slice};

/// Shorter darkness says nothing of the size of datagrams, on whatever path.
const DARK: Duration = Duration::from_millis(100);

/// Where fewer datagrams than this are under way, they may all be small.
const MUCH: u64 = 8;

/// Whether large datagrams still arrive: asked with a small one, once until there is
/// progress again, or with each probe that follows one without an answer.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum LargeDoubt {
    #[default]
    None,
    /// To be asked with the next datagram.
    Due,
    Asked(Instant),
    /// The small one has arrived, and none of the large ones before it.
    Confirmed,
}

/// The message that is being sent in pieces.
#[derive(Debug, Clone, Default)]
pub(in crate::unicast) struct Slices {
    /// Its number, and how much of it was sent.
    now: Option<(u64, u32)>,
}

impl Slices {
    /// Everything below `base` is acknowledged.
    pub(super) fn forget(&mut self, base: u64) {
        self.now.take_if(|(seq, _)| *seq < base);
    }

    /// True when a number is on its way in pieces.
    pub(super) fn has(&self, seq: u64) -> bool {
        self.now.is_some_and(|(now, _)| now == seq)
    }
}

impl SenderEntry {
    /// True when a message fits into no datagram of the present size.
    fn is_oversized(&self, seq: u64, packer: &Packer) -> bool {
        let slot = self.window.get((seq - self.base) as usize);
        slot.is_some_and(|slot| slot.payload.len() + super::OVERHEAD > packer.size())
    }

    /// True when a message that is due again is sent in pieces from now on.
    pub(super) fn slice(&mut self, seq: u64, packer: &Packer, cx: &mut UnicastCx<'_>) -> bool {
        if self.slices.now.is_some() || !self.is_oversized(seq, packer) {
            return false;
        }
        if let Some(why) = self.again.remove(&seq) {
            self.window[(seq - self.base) as usize].leave(&mut self.control);
            cx.counters.resent += 1;
            let (peer, conn) = (cx.peer, self.conn);
            cx.fx.event(Event::Resent { peer, conn, from: seq, to: seq, why });
        }
        self.slices.now = Some((seq, 0));
        true
    }

    /// The same for the next message that was never sent.
    pub(super) fn slice_new(&mut self, packer: &Packer, cx: &mut UnicastCx<'_>) -> bool {
        if !self.is_oversized(self.next, packer) {
            return false;
        }
        if self.slices.now.is_none() && self.has_room() {
            let seq = self.next;
            let bytes = self.window[(seq - self.base) as usize].payload.len() as u64;
            self.next += 1;
            self.flight += bytes;
            if seq == self.base {
                self.waiting_since = Some(cx.now);
            }
            cx.counters.sent += 1;
            cx.counters.sent_bytes += bytes;
            let (conn, first) = (self.conn, seq == self.base && !self.known);
            cx.trace(|peer| Event::Sent { peer, conn, from: seq, to: seq, bytes, first });
            self.slices.now = Some((seq, 0));
        }
        true
    }

    /// True when pieces wait.
    pub(in crate::unicast) const fn has_slices(&self) -> bool {
        self.slices.now.is_some()
    }

    /// Adds the next piece to a datagram, which it fills.
    pub(in crate::unicast) fn fill_slice(&mut self, packer: &mut Packer, cx: &mut UnicastCx<'_>) {
        let Some((seq, offset)) = self.slices.now else { return };
        let Some(slot) = self.window.get_mut((seq - self.base) as usize) else { return };
        let total = slot.payload.len();
        let left = packer.left().saturating_sub(super::OVERHEAD);
        let end = total.min(offset as usize + left);
        if end <= offset as usize || !self.control.open(cx.now) {
            return;
        }
        let bytes = slot.payload.slice(offset as usize..end);
        slot.sent_at = cx.now;
        slot.sends = slot.sends.max(1);
        let piece = Slice {
            conn: self.conn,
            seq,
            offset,
            total: total as u32,
            order: slot.order,
            continues: slot.continues,
            more: slot.more,
            bytes,
        };
        let length = piece.bytes.len() as u64;
        packer.push(ConnBlock::Slice(piece), 0);
        packer.close();
        let last = end == total;
        self.slices.now = if last { None } else { Some((seq, end as u32)) };
        if last {
            slot.sends = slot.sends.saturating_add(1);
        }
        self.sent_at = cx.now;
        self.control.sent(cx.now, (length, self.flight), None, cx.config);
    }

    /// When it is to be asked whether large datagrams still arrive (PA-6): for longer than a
    /// round trip none did, though many are under way.
    pub(in crate::unicast) fn doubt_at(&self, rtt: &Rtt, config: &Config) -> Option<Instant> {
        let many = self.flight >= MUCH * self.control.mtu();
        let least = config.mtu_floor as usize;
        let large = |slot: &super::Slot| slot.payload.len() + super::OVERHEAD > least;
        let waits = many && self.known && self.doubt == LargeDoubt::None;
        let waits = waits && self.window.front().is_some_and(large);
        waits.then(|| self.large_at + rtt.smoothed().ratio(5, 4).max(DARK))
    }

    /// Asks, when it is time.
    pub(in crate::unicast) fn doubt(&mut self, rtt: &Rtt, now: Instant, config: &Config) {
        if self.doubt_at(rtt, config).is_some_and(|at| at <= now) {
            self.doubt = LargeDoubt::Due;
        }
    }

    /// Asks once more, while nothing arrives: a small datagram that is answered tells a path
    /// that loses large ones from one that loses everything.
    pub(super) fn doubt_again(&mut self, config: &Config) {
        if config.searches_size() && self.control.mtu() > u64::from(config.mtu_floor) {
            self.doubt = LargeDoubt::Due;
        }
    }

    /// Adds the question to a datagram. It shows no number: what is under way is not late.
    pub(in crate::unicast) fn fill_doubt(&mut self, packer: &mut Packer, now: Instant) {
        let probe = ConnBlock::Probe { conn: self.conn, sent: self.newest };
        if self.doubt == LargeDoubt::Due && packer.push(probe, 0) {
            self.doubt = LargeDoubt::Asked(now);
        }
    }

    /// An acknowledgement has come, which says that so many bytes have arrived: fewer than a
    /// large datagram has come in small ones. What comes much earlier than a
    /// round trip after the question, or much later, is no answer to it; a small datagram is
    /// faster than the large ones that were measured.
    pub(super) fn ease_doubt(&mut self, arrived: u64, rtt: &Rtt, now: Instant) {
        if arrived + super::OVERHEAD as u64 >= self.control.mtu() {
            (self.doubt, self.large_at) = (LargeDoubt::None, now);
        } else if let LargeDoubt::Asked(at) = self.doubt
            && at + rtt.least().ratio(3, 4) <= now
            && now <= at + rtt.smoothed() + rtt.smoothed()
        {
            self.doubt = LargeDoubt::Confirmed;
        }
    }

    /// The path carries only small ones from now on: asks for what the large ones had.
    pub(in crate::unicast) const fn settle_doubt(&mut self) {
        self.doubt = LargeDoubt::None;
        self.ask_window = true;
    }

    /// True when a small datagram arrived and none of the large ones before it; or when for
    /// two round trips, and for longer than a short darkness, nothing arrived of what was sent
    /// again and again, though something came from the peer: the sign of a path that lost its
    /// large datagrams. While nothing comes at all, nothing is known.
    pub(in crate::unicast) fn is_swallowed(&self, now: Instant, rtt: &Rtt) -> bool {
        if self.doubt == LargeDoubt::Confirmed {
            return true;
        }
        let trip = rtt.smoothed();
        let heard = self.waiting_since.is_some_and(|at| at > self.moved_at + trip);
        if !heard || now < self.moved_at + (trip + trip).max(DARK) {
            return false;
        }
        let lost = |(seq, why): (&u64, &RetransmitReason)| {
            let slot = self.window.get((*seq - self.base) as usize);
            *why != RetransmitReason::First && slot.is_some_and(|slot| slot.sends >= 2)
        };
        !self.again.is_empty() && self.again.iter().take(4).all(lost)
    }
}
