//! When a receiver acknowledges, and with what (UC-2, UC-3, UC-5).

use super::Receiver;
use crate::time::{Duration, Instant};
use crate::unicast::cx::UnicastCx;
use crate::unicast::packer::Packer;
use crate::unicast::rtt::Rtt;
use crate::unicast::{Event, Side, UnicastLimit};
use crate::wire::unicast::{Ack, AckCounts, ConnBlock};
use alloc::vec::Vec;

/// Maximum bytes of a requested range: windows end below 2²¹ numbers.
const RANGE: usize = 6;

/// Requests of one number before each waits twice as long as the last: a
/// retransmission may be lost like anything else.
const STEADY: u32 = 3;

/// What causes an acknowledgement to be sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::unicast) enum AckCause {
    /// It is due.
    Due,
    /// A datagram is sent anyway.
    Company,
}

impl Receiver {
    /// Data arrived: an acknowledgement is due, at once when `urgent`.
    pub(super) fn arrived(&mut self, urgent: bool, cx: &mut UnicastCx<'_>) {
        let config = cx.config;
        let at = if config.to_the_letter() {
            // At once, unless the last one was recent: then by the task.
            let earliest =
                self.last_ack.map(|at| at + config.task_interval.scaled(config.time_scale));
            earliest.map_or(cx.now, |at| at.max(cx.now))
        } else if urgent {
            cx.now
        } else {
            cx.now + config.ack_delay.scaled(config.time_scale)
        };
        self.ack_by(at);
        self.hurry_if_window_moved(cx);
    }

    /// The sender requests an acknowledgement now. It sent everything up to
    /// `sent` more than a round trip ago, so what is not here is missing.
    pub(in crate::unicast) fn probed(&mut self, sent: u64, cx: &mut UnicastCx<'_>) {
        // The sender waits for something: that reopens a closing entry.
        self.state.touch(cx, self.conn, Side::Receiver);
        if !cx.config.to_the_letter() {
            self.show(sent.min(self.promised), (cx.now, cx.now));
        }
        self.arrived(true, cx);
        self.ack_by(cx.now);
    }

    fn ack_by(&mut self, at: Instant) {
        self.ack_due = Some(self.ack_due.map_or(at, |due| due.min(at)));
    }

    /// The room beyond the first missing number, in messages and bytes. It
    /// never falls below what was announced before.
    fn promise(&mut self, cx: &UnicastCx<'_>) -> (u64, u64) {
        let messages = u64::from(cx.config.recv_messages).saturating_sub(self.untaken_messages);
        self.promised = self.promised.max(self.next() - 1 + messages);
        let bytes = self.room(cx.config).saturating_sub(self.kept());
        (self.promised + 1 - self.next(), bytes)
    }

    /// A sender that waits for room must not wait for the delay: once a quarter
    /// of the window has been consumed, it is told.
    pub(super) fn hurry_if_window_moved(&mut self, cx: &mut UnicastCx<'_>) {
        self.promise(cx);
        let (told, told_bytes) = self.told;
        let messages = u64::from(cx.config.recv_messages).div_ceil(4);
        let bytes = self.window.bytes().div_ceil(4);
        if self.promised >= told.saturating_add(messages)
            || self.taken_bytes >= told_bytes.saturating_add(bytes)
        {
            self.ack_by(cx.now);
        }
    }

    /// True when there is something to send now.
    pub(in crate::unicast) fn must_speak(&self, cause: AckCause, cx: &UnicastCx<'_>) -> bool {
        let now = cx.now;
        let may_ask = self.asking || !cx.config.to_the_letter();
        let asks = self.gaps.next_due().is_some_and(|due| due.max(self.ask_after) <= now);
        let due = match cause {
            AckCause::Due => self.ack_due.is_some_and(|due| due <= now),
            AckCause::Company => {
                let pause = cx.config.ack_delay.scaled(cx.config.time_scale).ratio(1, 8);
                self.ack_due.is_some() && self.last_ack.is_none_or(|at| at + pause <= now)
            }
        };
        due || (asks && may_ask)
    }

    /// The task (UC-5): whatever is missing is requested.
    pub(in crate::unicast) fn task(&mut self, now: Instant) {
        self.gaps.hasten_fresh(now);
        self.asking = self.is_busy();
    }

    /// Adds the acknowledgement to a datagram; false when it has to wait for
    /// the next one.
    pub(in crate::unicast) fn speak(
        &mut self,
        packer: &mut Packer,
        rtt: &Rtt,
        cx: &mut UnicastCx<'_>,
    ) -> bool {
        let (messages, bytes) = self.promise(cx);
        let upto = self.next() - 1;
        let delay = cx.now.since(self.newest_at).as_micros();
        let conn = self.conn;
        let newest = self.newest;
        let counts = AckCounts {
            early: self.line.beyond_bytes(),
            late: self.patience.late_bytes(),
            marked: self.marks,
        };
        let wanted = Vec::new();
        let mut ack = Ack { conn, upto, newest, delay, messages, bytes, wanted, counts };
        let empty = crate::wire::unicast::block_len(&ConnBlock::Ack(ack.clone()));
        if empty > packer.left() {
            return false;
        }
        let fit = (packer.left() - empty) / RANGE;
        let most = fit.min(cx.config.request_ranges as usize);
        let letter = cx.config.to_the_letter();
        let most = if letter && !self.asking { 0 } else { most };
        let soon = Duration::from_micros(1);
        ack.wanted = self.gaps.ask(cx.now, most, |times| {
            if letter { soon } else { rtt.timeout(times.saturating_sub(STEADY)) }
        });
        let more = RANGE * ack.wanted.len();
        self.said(&ack, cx);
        packer.push(ConnBlock::Ack(ack), more)
    }

    /// Records what has been sent.
    fn said(&mut self, ack: &Ack, cx: &mut UnicastCx<'_>) {
        let (peer, conn, upto, newest) = (cx.peer, self.conn, ack.upto, ack.newest);
        self.told = (self.promised, self.taken_bytes);
        self.granted_bytes = self.granted_bytes.max(self.taken_bytes + self.kept() + ack.bytes);
        (self.ack_due, self.unacked) = (None, 0);
        self.last_ack = Some(cx.now);
        cx.counters.acks_sent += 1;
        cx.trace(|peer| Event::AckSent { peer, conn, upto, newest });
        let (Some((from, _)), Some((_, to))) = (ack.wanted.first(), ack.wanted.last()) else {
            return;
        };
        let count = ack.wanted.iter().map(|(first, last)| last - first + 1).sum();
        let ranges = ack.wanted.len() as u32;
        cx.counters.requested += count;
        cx.fx.event(Event::Requested { peer, conn, from: *from, to: *to, count, ranges });
    }

    /// What was to be sent must not be: it waits until the peer sends
    /// something, and requests wait for the longest timeout.
    pub(in crate::unicast) fn hush(&mut self, cx: &UnicastCx<'_>) {
        self.ack_due = None;
        self.ask_after = cx.now + cx.config.rto_max.scaled(cx.config.time_scale);
    }

    /// As many datagrams of requests as one turn may have were sent; the rest
    /// follows a moment later.
    pub(in crate::unicast) fn asked_enough(&mut self, cx: &mut UnicastCx<'_>) {
        let letter = cx.config.to_the_letter();
        let due = self.gaps.next_due().is_some_and(|due| due.max(self.ask_after) <= cx.now);
        if (self.asking || !letter) && due {
            self.ask_after = cx.now + cx.config.ack_delay.scaled(cx.config.time_scale);
            cx.limit(UnicastLimit::RequestRanges);
        }
        self.asking = false;
    }
}
