//! The timers of a sender (UC-4, UC-8, UC-12).

use super::SenderEntry;
use crate::time::{Duration, Instant};
use crate::unicast::cx::UnicastCx;
use crate::unicast::rtt::Rtt;
use crate::unicast::{Config, ConnEnding, Event, RetransmitReason, Side};

/// Unanswered probes after which the congestion window is reset.
const STALLED: u32 = 3;
/// The same after which nothing seems to arrive, whatever its size.
const DARK: u32 = 2;

impl SenderEntry {
    /// True when something was sent and is not acknowledged: HA < HS.
    pub(in crate::unicast) const fn has_unacked(&self) -> bool {
        self.base < self.next
    }

    /// True when something waits, and nothing is in flight that could bring
    /// room.
    pub(in crate::unicast) fn is_blocked(&self) -> bool {
        !self.has_unacked() && !self.window.is_empty() && !self.has_room()
    }

    /// True when it is known to the peer and something is under way: then the
    /// path may be asked how much it carries.
    pub(in crate::unicast) const fn is_measuring(&self) -> bool {
        self.known && self.has_unacked() && self.probes < DARK
    }

    /// The task (UC-4): when HA < HS and both are the same as last time, the
    /// highest number is retransmitted, and only that one.
    pub(in crate::unicast) fn task(&mut self) {
        let pair = (self.highest_acked(), self.highest_sent());
        if self.has_unacked() && self.pair == pair {
            self.resend_tail();
        }
        self.ask_window |= self.is_blocked();
        self.pair = pair;
    }

    /// Retransmits the highest number sent, among those the receiver has room
    /// for: before its first answer we can only guess how many those are.
    pub(super) fn resend_tail(&mut self) {
        let seq = self.highest_sent().min(self.limit);
        if seq >= self.base {
            self.again.entry(seq).or_insert(RetransmitReason::Tail);
        } else {
            self.ask_window = true;
        }
    }

    /// The first of what is missing no longer waits for room in the window: what fills it
    /// may be lost, or beyond what the receiver takes, and only this makes room.
    fn let_first_go(&mut self) {
        if let Some((seq, RetransmitReason::Missing)) = self.again.first_key_value() {
            self.window[(seq - self.base) as usize].leave(&mut self.control);
        }
    }

    /// True when the receiver may be silent on purpose for longer than it is
    /// worth waiting on a fast path: then it is probed before anything is
    /// retransmitted. It answers a probe, and a first message, at once.
    fn asks_first(&self, rtt: &Rtt, config: &Config) -> bool {
        let polite = config.ack_delay.scaled(config.time_scale);
        self.known && self.probes == 0 && polite > rtt.smoothed().ratio(1, 2)
    }

    /// When the tail is to be probed.
    pub(in crate::unicast) fn probe_at(&self, rtt: &Rtt, config: &Config) -> Option<Instant> {
        if !self.has_unacked() && !self.is_blocked() {
            return None;
        }
        let asks = self.asks_first(rtt, config);
        let polite = if asks { Duration::ZERO } else { config.ack_delay.scaled(config.time_scale) };
        Some(self.sent_at.max(self.moved_at) + rtt.probe(self.probes, polite))
    }

    /// The same as the task, timed by the round trip and with back-off.
    pub(in crate::unicast) fn probe(&mut self, rtt: &Rtt, cx: &mut UnicastCx<'_>) {
        if self.probe_at(rtt, cx.config).is_none_or(|at| at > cx.now) {
            return;
        }
        let asks = self.asks_first(rtt, cx.config);
        self.probes += 1;
        self.sent_at = cx.now;
        if self.probes == STALLED {
            self.control.stalled(cx.now);
        }
        if self.probes >= DARK {
            self.doubt_again(cx.config);
        }
        if self.has_unacked() && !asks {
            self.resend_tail();
            self.let_first_go();
            if !self.known {
                // It is unknown whether the first message ever arrived.
                self.again.entry(self.base).or_insert(RetransmitReason::First);
            }
        } else {
            self.ask_window = true;
        }
    }

    /// When the peer counts as unreachable.
    fn unreachable_at(&self, config: &Config) -> Option<Instant> {
        let waits = (self.has_unacked() || self.is_blocked()) && !self.state.is_closing();
        let since = self.waiting_since.filter(|_| waits)?;
        let silence = if self.newest > 0 && !config.to_the_letter() {
            config.unreachable.max(config.blackout)
        } else {
            config.unreachable
        };
        Some(since + silence.scaled(config.time_scale))
    }

    /// Something was received from the peer.
    pub(in crate::unicast) fn note_received(&mut self, cx: &mut UnicastCx<'_>) {
        if self.waiting_since.is_some() {
            self.waiting_since = Some(cx.now);
        }
        if self.state.ending() == Some(ConnEnding::Unreachable) {
            self.state.touch(cx, self.conn, Side::Sender);
        }
    }

    /// Handles silence and reaping. `Some(true)`: CLOSED, with everything
    /// acknowledged; `Some(false)`: CLOSED without.
    pub(in crate::unicast) fn reap(&mut self, cx: &mut UnicastCx<'_>) -> Option<bool> {
        if self.unreachable_at(cx.config).is_some_and(|at| at <= cx.now) {
            let since = self.waiting_since.unwrap_or(cx.now);
            let (peer, silent) = (cx.peer, cx.now.since(since));
            cx.fx.event(Event::PeerUnreachable { peer, silent });
            self.state.close(cx, self.conn, Side::Sender, ConnEnding::Unreachable);
        }
        let closed = self.state.reap(cx, self.conn, Side::Sender);
        let done = self.window.is_empty();
        // The design waits for the deadline; a connection closed on purpose
        // need not.
        let asked = self.state.ending() == Some(ConnEnding::Asked);
        let early = asked && done && !cx.config.to_the_letter();
        (closed || early).then_some(done)
    }

    /// The earliest of its deadlines, except those of the task.
    pub(in crate::unicast) fn deadline(
        &self,
        rtt: &Rtt,
        now: Instant,
        config: &Config,
    ) -> Option<Instant> {
        let probe = self.probe_at(rtt, config).filter(|_| !config.to_the_letter());
        let ends = [self.unreachable_at(config), self.state.deadline(config)];
        // What could leave and did not waits for something else.
        let pace = Some(self.control.next()).filter(|at| *at > now && self.waits_for_pace());
        ends.into_iter().chain([probe, pace]).flatten().min()
    }
}
