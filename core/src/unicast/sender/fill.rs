//! Fills the datagrams of a turn with a sender's messages.

use alloc::vec::Vec;

use super::control::SendControl;
use super::{SenderEntry, Slot};
use crate::time::Instant;
use crate::unicast::cx::UnicastCx;
use crate::unicast::packer::Packer;
use crate::unicast::{Event, RetransmitReason};
use crate::wire::unicast::{ConnBlock, Data, MessageFragment, block_len, message_len};

impl Slot {
    fn message(&mut self, now: Instant) -> MessageFragment {
        self.sent_at = now;
        self.sends = self.sends.saturating_add(1);
        let Self { order, continues, more, .. } = *self;
        MessageFragment { order, continues, more, payload: self.payload.clone() }
    }

    /// It no longer waits as one that was lost.
    pub(super) fn leave(&mut self, control: &mut SendControl) {
        if core::mem::take(&mut self.lost) {
            control.waited(self.payload.len() as u64);
        }
    }
}

impl SenderEntry {
    /// True when something is to be retransmitted.
    pub(in crate::unicast) fn has_again(&self) -> bool {
        !self.again.is_empty()
    }

    /// True when what is sent next begins the connection for a peer that does not know it.
    pub(in crate::unicast) fn begins(&self) -> bool {
        let unsent = self.next == self.base && !self.window.is_empty();
        !self.known && (unsent || self.again.contains_key(&self.base))
    }

    /// An empty block that begins with `seq`.
    fn block(&self, seq: u64, again: bool) -> Data {
        let first = seq == self.base && !self.known;
        let token = self.token.filter(|_| first);
        Data { conn: self.conn, seq, first, again, token, messages: Vec::new() }
    }

    /// The number to be sent again next, and why. What was lost waits for its turn; a
    /// question about the first message or the tail does not, not even behind what waits:
    /// its answer may be all that can end the wait.
    fn due_again(&mut self, now: Instant) -> Option<(u64, RetransmitReason)> {
        let (&seq, &why) = self.again.first_key_value()?;
        let Slot { lost, payload, .. } = &self.window[(seq - self.base) as usize];
        let needs = u64::from(*lost && !payload.is_empty());
        let waits = why == RetransmitReason::Missing
            && (!self.control.open(now) || self.control.room(self.flight) < needs);
        if !waits {
            return Some((seq, why));
        }
        let (&tail, &why) = self.again.last_key_value()?;
        (why != RetransmitReason::Missing).then_some((tail, why))
    }

    /// Adds retransmissions to a datagram, as far as they fit: successive
    /// numbers share a block.
    pub(in crate::unicast) fn fill_again(&mut self, packer: &mut Packer, cx: &mut UnicastCx<'_>) {
        while let Some((seq, why)) = self.due_again(cx.now) {
            if self.slice(seq, packer, cx) {
                continue;
            }
            let mut data = self.block(seq, true);
            let mut left = packer.left().saturating_sub(block_len(&ConnBlock::Data(data.clone())));
            let (mut takes, mut bytes) = (0, 0);
            let mut at = seq;
            while self.again.get(&at) == Some(&why) {
                let slot = &mut self.window[(at - self.base) as usize];
                let cost = message_len(slot.payload.len());
                if cost > left {
                    break;
                }
                left -= cost;
                takes += cost;
                bytes += slot.payload.len() as u64;
                slot.leave(&mut self.control);
                data.messages.push(slot.message(cx.now));
                self.again.remove(&at);
                at += 1;
            }
            if data.messages.is_empty() {
                return;
            }
            let count = data.messages.len() as u64;
            cx.counters.resent += count;
            cx.counters.probes += if why == RetransmitReason::Tail { count } else { 0 };
            let (peer, conn, from, to) = (cx.peer, self.conn, seq, data.last());
            cx.fx.event(Event::Resent { peer, conn, from, to, why });
            packer.push(ConnBlock::Data(data), takes);
            self.sent_at = cx.now;
            self.control.sent(cx.now, (bytes, self.flight), None, cx.config);
        }
    }

    /// Adds messages that were never sent to a datagram, as far as it and the
    /// windows allow.
    pub(in crate::unicast) fn fill_new(&mut self, packer: &mut Packer, cx: &mut UnicastCx<'_>) {
        if !self.control.open(cx.now) || self.slice_new(packer, cx) {
            return;
        }
        let allowed = self.allowed();
        let mut data = self.block(self.next, false);
        let mut left = packer.left().saturating_sub(block_len(&ConnBlock::Data(data.clone())));
        let (mut takes, mut bytes) = (0, 0);
        let index = (self.next - self.base) as usize;
        if let Some(slot) = self.window.get(index) {
            // Successive messages are alike: guessing once saves growing step
            // by step.
            let alike = left / message_len(slot.payload.len());
            let waiting = (self.window.len() - index).min(alike + 1);
            let within = (self.limit + 1).saturating_sub(self.next);
            data.messages.reserve(waiting.min(usize::try_from(within).unwrap_or(waiting)));
        }
        for (slot, seq) in self.window.range_mut(index..).zip(self.next..=self.limit) {
            let length = slot.payload.len();
            let cost = message_len(length);
            if cost > left || bytes + length as u64 > allowed {
                break;
            }
            left -= cost;
            takes += cost;
            bytes += length as u64;
            data.messages.push(slot.message(cx.now));
            self.next = seq + 1;
        }
        if data.messages.is_empty() {
            return;
        }
        if data.seq == self.base {
            // Nothing was in flight, so no answer was due.
            self.waiting_since = Some(cx.now);
            if cx.config.searches_size() {
                self.large_at = cx.now;
            }
        }
        self.flight += bytes;
        self.sent_at = cx.now;
        self.control.sent(cx.now, (bytes, self.flight), Some(data.last()), cx.config);
        cx.counters.sent += data.messages.len() as u64;
        cx.counters.sent_bytes += bytes;
        let (conn, from, to, first) = (self.conn, data.seq, data.last(), data.first);
        cx.trace(|peer| Event::Sent { peer, conn, from, to, bytes, first });
        packer.push(ConnBlock::Data(data), takes);
    }

    /// Maximum bytes that may be added to those in flight.
    fn allowed(&self) -> u64 {
        let granted = self.limit_bytes.saturating_sub(self.flight);
        granted.min(self.control.room(self.flight))
    }

    /// True when the windows have room for the next message.
    pub(in crate::unicast) fn has_room(&self) -> bool {
        let slot = self.window.get((self.next - self.base) as usize);
        slot.is_some_and(|slot| {
            self.next <= self.limit && slot.payload.len() as u64 <= self.allowed()
        })
    }

    /// True when [`SenderEntry::fill_new`] would send something now.
    pub(in crate::unicast) fn may_send(&self, now: Instant) -> bool {
        self.control.is_open(now) && self.has_room()
    }

    /// True when it adds something to a datagram that is sent now.
    pub(in crate::unicast) fn speaks_now(&self, now: Instant) -> bool {
        self.may_send(now) || (self.has_again() && self.control.is_open(now))
    }

    /// True when only the pace keeps something from being sent.
    pub(super) fn waits_for_pace(&self) -> bool {
        let lost = || {
            let first = self.again.first_key_value();
            first.is_some_and(|(_, why)| *why == RetransmitReason::Missing)
                && self.control.room(self.flight) > 0
        };
        self.has_room() || self.has_slices() || lost()
    }

    /// The end of a turn: notes when there is less to send, or less may be sent, than might
    /// be under way, for then the rate says nothing about the path.
    pub(in crate::unicast) fn note_idle(&mut self, now: Instant) {
        let sends = !self.again.is_empty() || (self.next - self.base) < self.window.len() as u64;
        let granted = self.limit_bytes.saturating_sub(self.flight);
        let held = sends && (granted == 0 || self.next > self.limit);
        let idle = (!sends || held) && self.control.is_open(now);
        if (idle || self.control.is_capped(now)) && self.control.room(self.flight) > 0 {
            self.control.idle(self.flight);
        }
        if !self.waits_for_pace() {
            self.control.hold();
        }
    }

    /// Adds a probe of the receiver's window, if one is due.
    pub(in crate::unicast) fn fill_probe(&mut self, packer: &mut Packer, cx: &UnicastCx<'_>) {
        let probe = ConnBlock::Probe { conn: self.conn, sent: self.highest_sent() };
        if self.ask_window && packer.push(probe, 0) {
            self.ask_window = false;
            self.sent_at = cx.now;
        }
    }
}
