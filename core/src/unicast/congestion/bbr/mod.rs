//! BBR (after draft-ietf-ccwg-bbr, version 3): a model of the path, its rate
//! and its own round trip, and a sender that keeps to it (PA-1).
//!
//! In integers: bytes, bytes per second, microseconds. Where it differs from
//! the draft, it is because of long lines that lose by themselves: what is
//! lost while nothing is queued does not count against the rate (`line_loss`),
//! and the second version's rule ends a probe, after which less is queued than
//! after the third's.

mod cycle;
mod line_loss;
mod round;

use self::line_loss::LineLoss;
use self::round::{RateFilter, RoundTally};
use super::{AckSample, Allowance, ControlPhase, LARGEST, LEAST_DATAGRAMS, Signal, initial_window};
use crate::time::{Duration, Instant};
use crate::unicast::Config;

/// Unbounded.
const NONE: u64 = u64::MAX;
/// Gains, in hundredths.
const STARTUP: u64 = 277;
const DRAIN: u64 = 50;
/// The window, in hundredths of the bandwidth-delay product.
const WINDOW: u64 = 200;
const WINDOW_UP: u64 = 225;
/// A little slower than the model says, so that no queue stays.
const MARGIN: u64 = 99;
/// After a loss this many tenths remain.
const BETA: u64 = 7;
/// Of a bound that was found, this share stays free for others.
const HEADROOM: (u64, u64) = (15, 100);
/// How long the shortest round trip is believed.
const MIN_RTT_LASTS: Duration = Duration::from_secs(10);
/// How often it is looked at, and for how long.
const PROBE_RTT_EVERY: Duration = Duration::from_secs(5);
const PROBE_RTT_TAKES: Duration = Duration::from_millis(200);
/// The round trip before one is measured, for the first pace.
const FIRST_TRIP: Duration = Duration::from_millis(1);
/// Noise of a round trip that is no queue: this, a thirty-second of it, and the
/// length of a train.
const NOISE: Duration = Duration::from_micros(150);

/// Where the present probe for more is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Feedback {
    None,
    Refilling,
    Starting,
    Coming,
    Stopping,
}

/// How long what was delivered in bursts was ahead of the rate.
#[derive(Debug, Clone)]
struct Aggregation {
    since: Instant,
    bytes: u64,
    /// The most of the last five round trips, and of the five before.
    most: (u64, u64),
    rounds: u32,
}

/// The controller.
#[derive(Debug, Clone)]
pub(in crate::unicast) struct Bbr {
    mtu: u64,
    /// An acknowledgement comes after this time, or so many bytes.
    ack_after: (Duration, u64),
    phase: ControlPhase,
    allowed: Allowance,
    // The model.
    rates: RateFilter,
    min_rtt: Option<Duration>,
    min_rtt_at: Instant,
    line_loss: LineLoss,
    /// Bounds found by losses: of the long term, and since the last probe.
    inflight_hi: u64,
    inflight_lo: u64,
    rate_lo: u64,
    aggregation: Aggregation,
    // Round trips.
    rounds: u64,
    round_ends: u64,
    round_began: bool,
    tally: RoundTally,
    /// The last whole round trip.
    last: RoundTally,
    // Start-up.
    full_rate: u64,
    full_rounds: u32,
    full_now: bool,
    /// The rate of the path was found.
    pub(super) filled: bool,
    // Probes for more.
    feedback: Feedback,
    /// What is lost now was sent by a probe.
    samples: bool,
    /// Bytes lost since it began, without those that were only late, and those sent until
    /// start-up was over: a host that was late reports them when the first probe is on.
    probe_lost: u64,
    startup_sent: u64,
    /// The highest number sent when start-up was over.
    drain_sent: u64,
    cycle_at: Instant,
    cycle_waits: Duration,
    cycle_rounds: u64,
    up_acks: u64,
    up_each: u64,
    up_rounds: u32,
    /// Decides how long is waited between two probes.
    dice: u64,
    // Probes for the round trip.
    probe_rtt_min: Option<Duration>,
    probe_rtt_at: Instant,
    probe_rtt_ends: Option<Instant>,
    /// The window before a probe for the round trip, or before a stall.
    saved: u64,
    stalled: bool,
}

impl Bbr {
    pub(super) fn new(mtu: u64, config: &Config) -> Self {
        Self::with_acks(mtu, (config.ack_delay.scaled(config.time_scale), config.ack_bytes))
    }

    fn with_acks(mtu: u64, ack_after: (Duration, u64)) -> Self {
        let window = initial_window(mtu);
        let rate = window * 1_000_000 / FIRST_TRIP.as_micros() * STARTUP / 100;
        Self {
            mtu,
            ack_after,
            phase: ControlPhase::Startup,
            allowed: Allowance { rate: Some(rate), ..Allowance::window(window) },
            rates: RateFilter::default(),
            min_rtt: None,
            min_rtt_at: Instant::ZERO,
            line_loss: LineLoss::default(),
            inflight_hi: NONE,
            inflight_lo: NONE,
            rate_lo: NONE,
            aggregation: Aggregation { since: Instant::ZERO, bytes: 0, most: (0, 0), rounds: 0 },
            rounds: 0,
            round_ends: 0,
            round_began: false,
            tally: RoundTally::default(),
            last: RoundTally::default(),
            full_rate: 0,
            full_rounds: 0,
            full_now: false,
            filled: false,
            feedback: Feedback::None,
            samples: false,
            probe_lost: 0,
            startup_sent: 0,
            drain_sent: 0,
            cycle_at: Instant::ZERO,
            cycle_waits: Duration::ZERO,
            cycle_rounds: 0,
            up_acks: 0,
            up_each: NONE,
            up_rounds: 0,
            dice: 0x9e37_79b9_7f4a_7c15,
            probe_rtt_min: None,
            probe_rtt_at: Instant::ZERO,
            probe_rtt_ends: None,
            saved: 0,
            stalled: false,
        }
    }

    pub(super) const fn allowance(&self) -> Allowance {
        self.allowed
    }

    pub(super) const fn phase(&self) -> ControlPhase {
        self.phase
    }

    pub(super) fn signal(&mut self, now: Instant, signal: Signal) {
        match signal {
            Signal::Acked(ack) => self.acked(now, &ack),
            Signal::Spurious(bytes) => {
                self.tally.lost = self.tally.lost.saturating_sub(bytes);
                self.probe_lost = self.probe_lost.saturating_sub(bytes);
            }
            Signal::Stalled => {
                // Whatever is under way is lost or late; the model of the path
                // stays, for it may only have been dark.
                self.saved = self.saved.max(self.allowed.window);
                self.allowed.window = LEAST_DATAGRAMS * self.mtu;
                self.stalled = true;
            }
            Signal::Resized(mtu) => self.mtu = mtu,
            Signal::Moved => *self = Self::with_acks(self.mtu, self.ack_after),
        }
    }

    fn acked(&mut self, now: Instant, ack: &AckSample) {
        self.count(ack);
        self.measure_rtt(now, ack);
        if core::mem::take(&mut self.stalled) {
            return self.resume(now, ack);
        }
        if self.round_began {
            self.end_round(ack);
        }
        self.measure_aggregation(now, ack);
        self.look_for_full_pipe(ack);
        self.step(now, ack);
        self.probe_rtt(now, ack);
        self.allow(ack);
        if self.round_began {
            self.tally = RoundTally::default();
        }
    }

    /// The path answers again: what was lost in the dark says nothing of it.
    fn resume(&mut self, now: Instant, ack: &AckSample) {
        (self.tally, self.last) = (RoundTally::default(), RoundTally::default());
        self.allowed.window = self.allowed.window.max(core::mem::take(&mut self.saved));
        self.round_ends = ack.delivered;
        self.begin_round(ack);
        if self.filled {
            self.begin_refill(ack);
        }
        self.cycle_at = now;
        self.allow(ack);
    }

    /// Counts round trips, and what happens in each.
    fn count(&mut self, ack: &AckSample) {
        self.tally.delivered += ack.newly;
        self.tally.lost += ack.lost;
        if ack.first_lost.is_some_and(|first| first > self.startup_sent) {
            self.probe_lost += ack.lost;
        }
        if ack.first_lost.is_some_and(|first| first > self.drain_sent) {
            self.tally.lost_later += ack.lost;
        }
        self.tally.marked += ack.marked;
        if let Some(rtt) = ack.rtt {
            self.tally.trip(rtt);
        }
        self.round_began = false;
        let Some(sample) = ack.rate else { return };
        self.tally.rate = self.tally.rate.max(sample.rate);
        self.tally.most = self.tally.most.max(sample.delivered);
        if sample.rate >= self.rates.highest() || !sample.limited {
            self.rates.take(sample.rate);
        }
        if sample.prior >= self.round_ends {
            self.begin_round(ack);
            self.rounds += 1;
            self.cycle_rounds += 1;
            self.round_began = true;
        }
    }

    const fn begin_round(&mut self, ack: &AckSample) {
        self.round_ends = ack.delivered;
    }

    /// A round trip is over: what it says of the line, and of who else is on
    /// it.
    fn end_round(&mut self, ack: &AckSample) {
        let RoundTally { delivered, lost, lost_later, marked, .. } = self.tally;
        let sent = delivered + lost;
        if self.drains_in_vain() && LineLoss::is_policed(lost_later, sent, self.mtu) {
            // At half the rate the path still drops: start-up has measured a burst that
            // something let through, and the path's rate is what arrives now.
            self.rates.restart(self.tally.rate);
        }
        // Where nothing is queued two percent more are forgiven; where something
        // is, a loss beyond the line's own is a full buffer.
        let innocent = if self.is_clear() {
            self.line_loss.add(lost, sent, self.mtu);
            let line = &self.line_loss;
            let exceeds = |lost, sent| line.is_exceeded(lost, sent, self.mtu);
            // What drops all that is too much does so in each round trip.
            let alone = !exceeds(self.last.lost, self.last.delivered + self.last.lost);
            !exceeds(lost, sent) || alone && line.is_burst(lost, sent, self.mtu)
        } else {
            self.line_loss.explains(lost, sent, self.mtu)
        };
        if !innocent || marked > 0 {
            self.lower_bounds(ack);
        }
        self.last = self.tally.clone();
    }

    /// True when nothing was queued in the present round trip.
    fn is_clear(&self) -> bool {
        self.has_queue(&self.tally) == Some(false)
    }

    /// Whether something was queued in a round trip, if that is known.
    fn has_queue(&self, tally: &RoundTally) -> Option<bool> {
        let (mean, least) = (tally.mean()?, self.min_rtt?);
        // A train is no shorter than a datagram.
        let one = self.mtu.saturating_mul(1_000_000).checked_div(self.rate()).unwrap_or(0);
        let train = self.allowed.quantum.max(Duration::from_micros(one));
        Some(mean > least + least.ratio(1, 32) + train + NOISE)
    }

    /// Others need room: bounds until the next probe.
    fn lower_bounds(&mut self, ack: &AckSample) {
        use ControlPhase::{Drain, Refill, Startup, Up};
        // What start-up has lost is known while its queue drains.
        if matches!(self.phase, Startup | Drain | Refill | Up) {
            return;
        }
        let cut = |bound: u64, at_first: u64, at_least: u64| {
            let bound = if bound == NONE { at_first } else { bound };
            at_least.max(bound / 10 * BETA)
        };
        let in_flight = self.allowed.window.min(ack.before.max(self.tally.most));
        self.rate_lo = cut(self.rate_lo, self.rates.highest(), self.tally.rate);
        self.inflight_lo = cut(self.inflight_lo, in_flight, self.tally.most);
    }

    fn measure_aggregation(&mut self, now: Instant, ack: &AckSample) {
        let rate = self.rate();
        let Aggregation { since, bytes, most, rounds } = &mut self.aggregation;
        let expected = bytes_in(rate, now.since(*since));
        if *bytes <= expected {
            (*since, *bytes) = (now, 0);
        }
        let expected = bytes_in(rate, now.since(*since));
        *bytes += ack.newly;
        let extra = bytes.saturating_sub(expected).min(self.allowed.window);
        most.0 = most.0.max(extra);
        if self.round_began {
            *rounds += 1;
            if *rounds >= 5 {
                (*rounds, *most) = (0, (0, most.0));
            }
        }
    }

    fn measure_rtt(&mut self, now: Instant, ack: &AckSample) {
        let probe_due = now >= self.probe_rtt_at + PROBE_RTT_EVERY;
        if let Some(rtt) = ack.rtt {
            // Close to the shortest is as good as the shortest: then there is
            // no queue, and no need to look for a shorter one.
            let near = |least: Duration| rtt <= least + least.ratio(1, 32) + NOISE;
            if self.probe_rtt_min.is_none_or(near) || probe_due && !self.filled {
                let least = self.probe_rtt_min.map_or(rtt, |least| least.min(rtt));
                (self.probe_rtt_min, self.probe_rtt_at) = (Some(least), now);
            }
        }
        let expired = now >= self.min_rtt_at + MIN_RTT_LASTS;
        if let Some(least) = self.probe_rtt_min
            && (expired || self.min_rtt.is_none_or(|before| least <= before))
        {
            (self.min_rtt, self.min_rtt_at) = (Some(least), self.probe_rtt_at);
        }
    }

    /// Enters, and leaves, the probe for the path's own round trip.
    fn probe_rtt(&mut self, now: Instant, ack: &AckSample) {
        let due = now >= self.probe_rtt_at + PROBE_RTT_EVERY;
        if self.phase != ControlPhase::ProbeRtt {
            if due && self.filled && ack.in_flight > 0 {
                self.saved = self.saved.max(self.allowed.window);
                self.phase = ControlPhase::ProbeRtt;
                self.feedback = Feedback::Stopping;
                (self.probe_rtt_ends, self.probe_rtt_min) = (None, None);
                self.begin_round(ack);
            }
            return;
        }
        match self.probe_rtt_ends {
            None if ack.in_flight <= self.probe_rtt_window() => {
                self.probe_rtt_ends = Some(now + PROBE_RTT_TAKES);
                self.probe_rtt_min = ack.rtt;
            }
            Some(ends) if now >= ends => {
                self.probe_rtt_at = now;
                self.allowed.window = self.allowed.window.max(core::mem::take(&mut self.saved));
                self.forget_short_term();
                self.begin_down(now, ack);
                self.phase = ControlPhase::Cruise;
            }
            _ => {}
        }
    }

    fn probe_rtt_window(&self) -> u64 {
        (self.product(100) / 2).max(LEAST_DATAGRAMS * self.mtu)
    }

    const fn forget_short_term(&mut self) {
        (self.rate_lo, self.inflight_lo) = (NONE, NONE);
    }

    /// The rate of the model.
    fn rate(&self) -> u64 {
        self.rates.highest().min(self.rate_lo)
    }

    /// So many hundredths of the bandwidth-delay product.
    fn product(&self, gain: u64) -> u64 {
        self.min_rtt.map_or(initial_window(self.mtu), |rtt| {
            (bytes_in(self.rate(), rtt).saturating_mul(gain) / 100).min(LARGEST)
        })
    }

    /// What the window should become.
    fn target(&self, gain: u64) -> u64 {
        let Some(rtt) = self.min_rtt else { return initial_window(self.mtu) };
        let product = self.under_way(rtt).saturating_mul(gain) / 100;
        let train = 3 * (self.rate() / 1_000).clamp(self.mtu, 64 * 1024);
        let (now, before) = self.aggregation.most;
        (product + train + now.max(before)).min(LARGEST)
    }

    /// Bytes under way without a queue. Until an acknowledgement is sent, what arrived
    /// still counts.
    fn under_way(&self, trip: Duration) -> u64 {
        let (delay, bytes) = self.ack_after;
        bytes_in(self.rate(), trip + delay).min(bytes_in(self.rate(), trip) + bytes)
    }

    /// Sets the window and the rate.
    fn allow(&mut self, ack: &AckSample) {
        let (pace, window) = match self.phase {
            ControlPhase::Startup => (STARTUP, WINDOW),
            ControlPhase::Drain => (DRAIN, WINDOW),
            ControlPhase::Down => (90, WINDOW),
            ControlPhase::Up => (125, WINDOW_UP),
            _ => (100, WINDOW),
        };
        if self.min_rtt.is_some() && self.rates.highest() > 0 {
            let rate = self.line_loss.compensated(self.rate(), self.mtu);
            self.allowed.quantum = super::quantum(self.min_rtt.unwrap_or(FIRST_TRIP));
            let rate = (u128::from(rate) * u128::from(pace * MARGIN) / 10_000) as u64;
            let before = self.allowed.rate.unwrap_or(0);
            if self.filled || rate > before || self.rounds == 1 {
                self.allowed.rate = Some(rate.max(self.least_rate()));
            }
        }
        let least = LEAST_DATAGRAMS * self.mtu;
        let target = self.target(window);
        let grown = self.allowed.window.saturating_add(ack.newly);
        self.allowed.window = if self.filled {
            grown.min(target)
        } else if self.allowed.window < target || ack.delivered < initial_window(self.mtu) {
            grown
        } else {
            self.allowed.window
        };
        let bound = match self.phase {
            ControlPhase::ProbeRtt => self.probe_rtt_window(),
            ControlPhase::Cruise => self.with_headroom(),
            ControlPhase::Down | ControlPhase::Refill | ControlPhase::Up => self.inflight_hi,
            _ => NONE,
        };
        let bound = bound.min(self.inflight_lo);
        self.allowed.tight = bound < target;
        self.allowed.window = self.allowed.window.min(bound).clamp(least, LARGEST);
    }

    /// A datagram in each round trip: no line is slower, and after a time in which only
    /// repairs arrived the model may say anything.
    fn least_rate(&self) -> u64 {
        let trip = self.last.mean().or(self.min_rtt).unwrap_or(FIRST_TRIP).as_micros();
        (self.mtu * 1_000_000).checked_div(trip).unwrap_or(self.mtu).max(self.mtu)
    }

    /// The long-term bound, less what stays free for others; but no less than what
    /// the rate needs without a queue.
    fn with_headroom(&self) -> u64 {
        if self.inflight_hi == NONE {
            return NONE;
        }
        let headroom = self.inflight_hi / HEADROOM.1 * HEADROOM.0;
        let rest = (self.inflight_hi - headroom.max(self.mtu)).max(LEAST_DATAGRAMS * self.mtu);
        let needs = self.min_rtt.map_or(0, |rtt| self.under_way(rtt));
        rest.max(needs.min(self.inflight_hi))
    }
}

/// Bytes that a rate makes in a time.
fn bytes_in(rate: u64, time: Duration) -> u64 {
    let bytes = u128::from(rate) * u128::from(time.as_micros()) / 1_000_000;
    u64::try_from(bytes).unwrap_or(LARGEST).min(LARGEST)
}
