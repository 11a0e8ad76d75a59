//! CUBIC (RFC 9438): seven tenths of the window remain after a loss, then it
//! grows along a cubic curve through the window at which the loss occurred, but
//! never less than Reno's would (PA-4). Start-up ends when the round trip
//! grows (HyStart++, RFC 9406), not only when something is lost. In whole bytes
//! and milliseconds.

use super::{AckSample, Allowance, ControlPhase, LARGEST, Signal, initial_window};
use crate::time::{Duration, Instant};

/// The least window, in datagrams.
const LEAST: u64 = 2;
/// Slow start that may be too fast is slowed down by this.
const CAREFUL: u64 = 4;
/// And ends after so many round trips.
const CAREFUL_ROUNDS: u32 = 5;
/// Round trips measured before one counts as longer. Half of what the RFC says:
/// here an acknowledgement stands for two milliseconds.
const SAMPLES: u32 = 4;
/// A round trip is longer when it is so by an eighth, within these limits.
const LONGER: (Duration, Duration) = (Duration::from_millis(4), Duration::from_millis(16));

/// The controller.
#[derive(Debug, Clone)]
pub(in crate::unicast) struct Cubic {
    mtu: u64,
    window: u64,
    /// Below this the window doubles every round trip (slow start).
    slow_until: u64,
    /// The window the curve goes through, and since when.
    before: u64,
    since: Instant,
    /// What Reno's window would be, and where it grows as fast as Reno's own.
    reno: u64,
    reno_full: u64,
    /// Losses and marks of numbers up to this belong to the last reduction.
    recovered: u64,
    /// The state before the last reduction, and the bytes lost because of
    /// which it was made: should all of them turn out to have been late, it is
    /// undone.
    undo: Option<(Saved, u64)>,
    smoothed: Option<Duration>,
    hystart: HyStart,
}

#[derive(Debug, Clone, Copy)]
struct Saved {
    window: u64,
    slow_until: u64,
    before: u64,
    since: Instant,
    reno: u64,
}

/// Watches the round trip during slow start.
#[derive(Debug, Clone)]
struct HyStart {
    last: Option<Duration>,
    now: Option<Duration>,
    samples: u32,
    ends: u64,
    /// The round trip at which it became careful, and for how many rounds it
    /// has been.
    careful: Option<(Duration, u32)>,
}

impl HyStart {
    const NEW: Self = Self { last: None, now: None, samples: 0, ends: 0, careful: None };

    /// Takes an acknowledgement; true when slow start is over.
    fn acked(&mut self, ack: &AckSample) -> bool {
        if let Some(rtt) = ack.rtt {
            self.now = Some(self.now.map_or(rtt, |now| now.min(rtt)));
            self.samples += 1;
        }
        if let (Some(now), Some(last)) = (self.now, self.last)
            && self.samples >= SAMPLES
        {
            let longer = last.ratio(1, 8).max(LONGER.0).min(LONGER.1);
            match self.careful {
                None if now >= last + longer => self.careful = Some((now, 0)),
                Some((at, _)) if now < at => self.careful = None,
                _ => {}
            }
        }
        if ack.delivered >= self.ends {
            self.ends = ack.delivered + ack.in_flight;
            if let Some((_, rounds)) = &mut self.careful {
                *rounds += 1;
                if *rounds >= CAREFUL_ROUNDS {
                    return true;
                }
            }
            (self.last, self.samples) = (self.now.take().or(self.last), 0);
        }
        false
    }
}

impl Cubic {
    pub(super) fn new(mtu: u64) -> Self {
        Self {
            mtu,
            window: initial_window(mtu),
            slow_until: u64::MAX,
            before: 0,
            since: Instant::ZERO,
            reno: 0,
            reno_full: 0,
            recovered: 0,
            undo: None,
            smoothed: None,
            hystart: HyStart::NEW,
        }
    }

    /// The window, spread over a round trip: a quarter faster than that, so
    /// that pacing never keeps the window from being used, and twice in slow
    /// start.
    pub(super) fn allowance(&self) -> Allowance {
        let rate = self.smoothed.map(|rtt| {
            let gain = if self.is_slow() { 200 } else { 125 };
            let bytes = u128::from(self.window) * 10_000 * gain;
            u64::try_from(bytes / u128::from(rtt.as_micros().max(1))).unwrap_or(u64::MAX)
        });
        let quantum = super::quantum(self.smoothed.unwrap_or(Duration::ZERO));
        Allowance { window: self.window, rate, quantum, tight: true }
    }

    pub(super) const fn phase(&self) -> ControlPhase {
        if self.is_slow() { ControlPhase::Startup } else { ControlPhase::Avoidance }
    }

    const fn is_slow(&self) -> bool {
        self.window < self.slow_until
    }

    pub(super) fn signal(&mut self, now: Instant, signal: Signal) {
        match signal {
            Signal::Acked(ack) => self.acked(now, &ack),
            Signal::Spurious(bytes) => self.spurious(bytes),
            Signal::Stalled => {
                self.reduce(now, 0);
                self.window = LEAST * self.mtu;
                self.undo = None;
            }
            Signal::Resized(mtu) => self.mtu = mtu,
            Signal::Moved => *self = Self::new(self.mtu),
        }
    }

    fn acked(&mut self, now: Instant, ack: &AckSample) {
        if let Some(rtt) = ack.rtt {
            self.smoothed =
                Some(self.smoothed.map_or(rtt, |old| old.ratio(7, 8) + rtt.ratio(1, 8)));
        }
        if self.is_slow() && self.hystart.acked(ack) {
            self.slow_until = self.window;
            (self.before, self.since) = (self.window, now);
            (self.reno, self.reno_full) = (self.window, self.window);
        }
        if ack.limited && ack.newly > 0 {
            self.grow(now, ack.newly);
        }
        // A mark counts as a loss. Its number is not known: it is no higher than
        // the newest that has arrived, so a reduction answers all marks of the
        // window that was under way when it was made.
        let mark = (ack.marked > 0).then_some(ack.newest);
        if mark.max(ack.first_lost).is_some_and(|seq| seq > self.recovered) {
            self.reduce(now, ack.lost);
            self.recovered = ack.highest_sent;
        } else if let Some((_, bytes)) = &mut self.undo {
            *bytes += ack.lost;
        }
        if mark.is_some() {
            self.undo = None; // What was marked was marked, late or not.
        }
    }

    fn grow(&mut self, now: Instant, newly: u64) {
        if self.is_slow() {
            let step = if self.hystart.careful.is_some() { newly / CAREFUL } else { newly };
            self.window = (self.window + step).min(self.slow_until).min(LARGEST);
            return;
        }
        // Reno's window, with the share that a reduction to seven tenths takes
        // of the network: 9/17, until the window was what it was.
        let share = if self.reno < self.reno_full { (9, 17) } else { (1, 1) };
        let wide = u128::from(newly) * u128::from(self.mtu * share.0);
        self.reno += (wide / u128::from(self.window * share.1)) as u64;
        let ahead = now + self.smoothed.unwrap_or(Duration::ZERO);
        let most = self.window + self.window / 2;
        let target = self.curve(ahead).clamp(self.window, most);
        let wide = u128::from(target - self.window) * u128::from(newly);
        let step = (wide / u128::from(self.window)) as u64;
        let window = self.window + step.min(newly);
        self.window = window.max(self.reno.min(self.window + newly)).min(LARGEST);
    }

    /// `before + 0.4 × (t − K)³` datagrams, `K³ = before × 0.3 ÷ 0.4`.
    fn curve(&self, now: Instant) -> u64 {
        let k = cube_root(self.before / self.mtu * 750_000_000);
        let t = now.since(self.since).as_millis().min(100_000);
        let past = i128::from(t) - i128::from(k);
        let grown = past * past * past * 4 * i128::from(self.mtu) / 10_000_000_000;
        u64::try_from(i128::from(self.before) + grown).unwrap_or(0)
    }

    fn reduce(&mut self, now: Instant, lost: u64) {
        let Self { window, slow_until, before, since, reno, .. } = *self;
        self.undo = Some((Saved { window, slow_until, before, since, reno }, lost));
        // Fast convergence: a sender that loses before it was back makes room.
        let shrinks = !self.is_slow() && self.window < self.before;
        self.before = if shrinks { self.window * 17 / 20 } else { self.window };
        self.reno_full = self.window;
        self.window = (self.window * 7 / 10).max(LEAST * self.mtu);
        (self.slow_until, self.reno, self.since) = (self.window, self.window, now);
    }

    fn spurious(&mut self, bytes: u64) {
        let Some((saved, lost)) = &mut self.undo else { return };
        *lost = lost.saturating_sub(bytes);
        if *lost == 0 {
            let Saved { window, slow_until, before, since, reno } = *saved;
            self.window = self.window.max(window);
            (self.slow_until, self.before) = (slow_until, before);
            (self.since, self.reno) = (since, reno);
            self.undo = None;
        }
    }
}

fn cube_root(n: u64) -> u64 {
    let (mut low, mut high) = (0, 2_642_245);
    while low < high {
        let middle = u64::midpoint(low, high) + 1;
        if middle * middle * middle <= n { low = middle } else { high = middle - 1 }
    }
    low
}

#[cfg(test)]
#[path = "cubic_tests.rs"]
mod tests;
