//! The phases of BBR: start-up and drain once, then down, cruise, refill, up.

use super::line_loss::LineLoss;
use super::{BETA, Bbr, ControlPhase, Feedback, NONE, RoundTally};
use crate::time::{Duration, Instant};
use crate::unicast::congestion::{AckSample, LEAST_DATAGRAMS};

/// A rate that grew by less than a quarter in three round trips is the path's.
const GROWS: (u64, u64) = (5, 4);
const FULL_ROUNDS: u32 = 3;
/// At half the rate a queue of twice the product drains within so many round trips.
const DRAIN_ROUNDS: u64 = 3;
/// Between two probes for more: two to three seconds.
const WAITS: (u64, u64) = (2_000, 1_000);
/// After a start-up that ended with losses: so many round trips.
const FIRST_ROUNDS: u64 = 4;
/// Datagrams under way beyond those of the product, until a probe has shown anything.
const PROBE: u64 = 2;
/// But no more round trips than a Reno flow would need to fill as much again.
const RENO_ROUNDS: u64 = 63;

impl Bbr {
    /// Whether the rate has stopped growing.
    pub(super) fn look_for_full_pipe(&mut self, ack: &AckSample) {
        if self.full_now || !self.round_began || ack.rate.is_none_or(|sample| sample.limited) {
            return;
        }
        let highest = self.rates.highest();
        // A rate that a bound of ours holds says nothing of the path.
        if highest >= self.full_rate / GROWS.1 * GROWS.0 || self.is_held(ack) {
            (self.full_rate, self.full_rounds) = (highest, 0);
            return;
        }
        self.full_rounds += 1;
        self.full_now = self.full_rounds >= FULL_ROUNDS;
        self.filled |= self.full_now;
    }

    /// True when a probe has all under way that the long-term bound allows: the
    /// bound is raised then, round trip by round trip, until something is queued
    /// or lost.
    fn is_held(&self, ack: &AckSample) -> bool {
        self.phase == ControlPhase::Up
            && self.allowed.window >= self.inflight_hi
            && ack.before >= self.allowed.window / 8 * 7
    }

    const fn look_anew(&mut self, rate: u64) {
        (self.full_now, self.full_rounds, self.full_rate) = (false, 0, rate);
    }

    /// One step of the phases.
    pub(super) fn step(&mut self, now: Instant, ack: &AckSample) {
        match self.phase {
            ControlPhase::Startup => {
                self.leave_startup_on_loss(ack);
                if self.filled {
                    (self.drain_sent, self.cycle_rounds) = (ack.highest_sent, 0);
                    self.phase = ControlPhase::Drain;
                }
            }
            ControlPhase::Drain if ack.in_flight <= self.product(100) => {
                self.startup_sent = ack.highest_sent;
                self.begin_down(now, ack);
                if self.inflight_hi != NONE {
                    // What start-up found by losing is a guess: it is soon
                    // looked at again.
                    self.cycle_waits = self.min_rtt.unwrap_or_default().ratio(FIRST_ROUNDS, 1);
                }
            }
            ControlPhase::Down | ControlPhase::Cruise | ControlPhase::Refill | ControlPhase::Up => {
                self.cycle(now, ack)
            }
            _ => {}
        }
    }

    /// True when what start-up has queued should have drained by now.
    pub(super) fn drains_in_vain(&self) -> bool {
        self.phase == ControlPhase::Drain && self.cycle_rounds > DRAIN_ROUNDS
    }

    /// Start-up ends when a round trip with a queue lost too much.
    fn leave_startup_on_loss(&mut self, ack: &AckSample) {
        let RoundTally { delivered, lost, marked, .. } = self.last;
        let (lost, sent) = (lost + marked, delivered + lost);
        let queue = self
            .last
            .mean()
            .zip(self.min_rtt)
            .is_some_and(|(mean, least)| mean > least + least.ratio(1, 20) + super::NOISE);
        if self.round_began
            && queue
            && lost >= 6 * self.mtu
            && self.line_loss.is_exceeded(lost, sent, self.mtu)
        {
            self.filled = true;
            self.inflight_hi = self.product(100).max(self.last.most).max(ack.newly);
        }
    }

    fn cycle(&mut self, now: Instant, ack: &AckSample) {
        self.adapt_long_term(now, ack);
        match self.phase {
            ControlPhase::Down | ControlPhase::Cruise if self.is_probe_due(now) => {
                self.begin_refill(ack);
            }
            ControlPhase::Down if self.is_drained(ack) => self.phase = ControlPhase::Cruise,
            ControlPhase::Refill if self.round_began => {
                self.samples = true;
                self.begin_up(now, ack);
            }
            ControlPhase::Up if self.is_found(now, ack) => self.begin_down(now, ack),
            _ => {}
        }
    }

    fn is_drained(&self, ack: &AckSample) -> bool {
        ack.in_flight <= self.with_headroom().min(self.product(100))
    }

    /// A probe has shown that there is no more: a quarter of the product is
    /// queued, or the rate has stopped growing. So much more under way without a
    /// queue shows the opposite: the product is larger than it was known to be.
    fn is_found(&self, now: Instant, ack: &AckSample) -> bool {
        let trip = self.min_rtt.unwrap_or(Duration::ZERO);
        let long = now.since(self.cycle_at) > trip;
        // Where the product is a few datagrams, so many are under way at the least
        // window without any probe.
        let enough = self.product(125).max(LEAST_DATAGRAMS * self.mtu) + PROBE * self.mtu;
        let queued =
            ack.before.max(ack.in_flight) >= enough && self.has_queue(&self.tally) != Some(false);
        long && (queued || self.full_now)
    }

    fn is_probe_due(&self, now: Instant) -> bool {
        let waited = now.since(self.cycle_at) >= self.cycle_waits;
        let rounds = (self.product(100).min(self.allowed.window) / self.mtu).min(RENO_ROUNDS);
        waited || self.cycle_rounds >= rounds
    }

    pub(super) fn begin_down(&mut self, now: Instant, ack: &AckSample) {
        self.up_each = NONE;
        self.dice ^= self.dice << 13;
        self.dice ^= self.dice >> 7;
        self.dice ^= self.dice << 17;
        self.cycle_waits = Duration::from_millis(WAITS.0 + self.dice % WAITS.1);
        self.cycle_at = now;
        self.cycle_rounds = self.dice % 2;
        self.feedback = Feedback::Stopping;
        self.phase = ControlPhase::Down;
        self.begin_round(ack);
    }

    pub(super) fn begin_refill(&mut self, ack: &AckSample) {
        self.forget_short_term();
        self.probe_lost = 0;
        (self.up_rounds, self.up_acks) = (0, 0);
        self.feedback = Feedback::Refilling;
        self.phase = ControlPhase::Refill;
        self.begin_round(ack);
    }

    fn begin_up(&mut self, now: Instant, ack: &AckSample) {
        self.feedback = Feedback::Starting;
        self.phase = ControlPhase::Up;
        self.cycle_at = now;
        self.look_anew(self.rates.highest());
        self.raise_slope();
        self.begin_round(ack);
    }

    /// Adapts the long-term bound, and the filter of rates, to what a probe
    /// has shown.
    fn adapt_long_term(&mut self, now: Instant, ack: &AckSample) {
        if self.round_began {
            match self.feedback {
                Feedback::Starting => self.feedback = Feedback::Coming,
                Feedback::Stopping => {
                    if ack.rate.is_some_and(|sample| !sample.limited) {
                        self.rates.advance();
                    }
                    self.feedback = Feedback::None;
                    self.samples = false;
                }
                _ => {}
            }
        }
        let Some(sample) = ack.rate else { return };
        let lost = sample.lost.min(self.probe_lost) + ack.marked;
        let sent = sample.in_flight.max(self.mtu);
        // What is lost without a queue was not lost because of the probe, unless it is
        // more than any line loses.
        let queue = self.has_queue(&self.tally) != Some(false)
            || ack.marked > 0
            || LineLoss::is_policed(lost, sent, self.mtu);
        if queue && self.line_loss.is_exceeded(lost, sent, self.mtu) {
            if core::mem::take(&mut self.samples) {
                if !sample.limited {
                    let target = self.product(100).min(self.allowed.window);
                    self.inflight_hi = sample.in_flight.max(target / 10 * BETA);
                }
                if self.phase == ControlPhase::Up {
                    self.begin_down(now, ack);
                }
            }
            return;
        }
        if self.inflight_hi == NONE {
            return;
        }
        self.inflight_hi = self.inflight_hi.max(sample.in_flight);
        if self.phase == ControlPhase::Up {
            self.raise_bound(ack);
        }
    }

    /// The bound grows ever faster while a probe finds nothing wrong.
    fn raise_bound(&mut self, ack: &AckSample) {
        if ack.limited && self.allowed.window >= self.inflight_hi {
            self.up_acks += ack.newly;
            if self.up_acks >= self.up_each {
                let steps = self.up_acks / self.up_each;
                self.up_acks -= steps * self.up_each;
                self.inflight_hi = self.inflight_hi.saturating_add(steps * self.mtu);
            }
        }
        if self.round_began {
            self.raise_slope();
        }
    }

    fn raise_slope(&mut self) {
        let growth = self.mtu << self.up_rounds.min(30);
        self.up_rounds = (self.up_rounds + 1).min(30);
        self.up_each = (self.allowed.window / growth * self.mtu).max(self.mtu);
    }
}
