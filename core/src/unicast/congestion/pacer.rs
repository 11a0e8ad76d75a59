//! Pacing: a rate as deadlines (PA-2).

use super::Allowance;
use crate::time::{Duration, Instant};

/// The most bytes that are sent at once: what the system sends with one call.
const TRAIN: u64 = 64 * 1024;
/// How late a host may be and still send what it would have sent in time.
const SLACK: Duration = Duration::from_millis(2);

/// When the next datagram may leave.
#[derive(Debug, Clone)]
pub(in crate::unicast) struct Pacer {
    /// The instant, and the fraction of a microsecond beyond it, in units of
    /// one over the rate.
    next: Instant,
    beyond: u64,
    /// Datagrams of the present train may leave until `next` reaches this.
    train_end: Instant,
    /// No train begins before this.
    again: Instant,
    /// Something else than the pace keeps datagrams from leaving.
    held: bool,
}

impl Pacer {
    pub(in crate::unicast) const fn new() -> Self {
        let never = Instant::ZERO;
        Self { next: never, beyond: 0, train_end: never, again: never, held: false }
    }

    /// The time that the bytes of one train take: at least one datagram, at most
    /// what the system sends with one call.
    fn train(rate: u64, quantum: Duration, mtu: u64) -> Duration {
        let of = |bytes: u64| Duration::from_micros(bytes * 1_000_000 / rate.max(1));
        quantum.min(of(TRAIN.max(mtu))).max(of(mtu)).max(Duration::from_micros(1))
    }

    /// Begins a train if one is due: true when a datagram may leave now.
    pub(in crate::unicast) fn open(&mut self, now: Instant, allowed: Allowance, mtu: u64) -> bool {
        let Some(rate) = allowed.rate else { return true };
        if self.next() <= now {
            // A host that is late has the time that it missed. What waited for room in a
            // window that losses keep small has that of one datagram: an acknowledgement
            // would release it all, into a buffer that has no room for it.
            let (one, owed) = (Self::train(rate, Duration::ZERO, mtu), SLACK.ratio(1, 2));
            let waited = core::mem::take(&mut self.held) && allowed.tight && one < owed;
            let (slack, owed) = if waited { (one, one) } else { (SLACK, owed) };
            if self.next + slack < now {
                (self.next, self.beyond) = (now - owed, 0);
            }
            let train = Self::train(rate, allowed.quantum, mtu);
            // What is made up for leaves with several trains, not at once: a short buffer
            // has no room for it.
            let late = now.since(self.next);
            let made_up = late.min(allowed.quantum.max(one));
            self.train_end = self.next + made_up + train;
            if late > made_up {
                self.again = now + made_up;
            }
        }
        self.next < self.train_end
    }

    /// The same, without beginning a train.
    pub(in crate::unicast) fn is_open(&self, now: Instant, allowed: Allowance) -> bool {
        allowed.rate.is_none() || self.next() <= now || self.next < self.train_end
    }

    /// What is due does not leave, and not because of the pace.
    pub(in crate::unicast) const fn hold(&mut self) {
        self.held = true;
    }

    /// A datagram of so many bytes has left.
    pub(in crate::unicast) fn sent(&mut self, bytes: u64, allowed: Allowance) {
        let Some(rate) = allowed.rate.filter(|rate| *rate > 0) else { return };
        let takes = bytes.saturating_mul(1_000_000).saturating_add(self.beyond.min(rate));
        self.next += Duration::from_micros(takes / rate);
        self.beyond = takes % rate;
    }

    /// When the next train may leave.
    pub(in crate::unicast) fn next(&self) -> Instant {
        self.next.max(self.again)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MTU: u64 = 1_400;

    fn paced(rate: u64) -> Allowance {
        Allowance { rate: Some(rate), ..Allowance::window(0) }
    }

    /// Bytes that leave at an instant.
    fn train(pacer: &mut Pacer, now: Instant, allowed: Allowance) -> u64 {
        let mut bytes = 0;
        while pacer.open(now, allowed, MTU) {
            pacer.sent(MTU, allowed);
            bytes += MTU;
        }
        bytes
    }

    #[test]
    fn a_second_carries_the_rate_and_a_train_is_a_millisecond_or_64_kib_of_it() {
        for rate in [20_000, 200_000, 12_500_000, 125_000_000, 1_000_000_000] {
            let (mut pacer, allowed) = (Pacer::new(), paced(rate));
            let begin = Instant::from_secs(9);
            let (mut now, mut sent, mut longest) = (begin, 0, 0);
            while now < begin + Duration::from_secs(1) {
                let bytes = train(&mut pacer, now, allowed);
                assert!(bytes > 0, "it is due");
                if now > begin {
                    longest = longest.max(bytes);
                }
                sent += bytes;
                now = now.max(pacer.next());
            }
            let most = (rate / 1_000).clamp(MTU, TRAIN) + MTU;
            assert!(longest <= most, "{rate}: {longest}");
            let far = rate / 200 + 3 * MTU;
            assert!(sent.abs_diff(rate) < far, "{rate}: {sent}");
        }
    }

    #[test]
    fn a_host_that_is_late_makes_up_for_two_milliseconds_a_train_at_a_time() {
        let (mut pacer, allowed) = (Pacer::new(), paced(10_000_000));
        train(&mut pacer, Instant::from_secs(1), allowed);
        let late = pacer.next() + Duration::from_millis(2);
        // Two trains each time, one after the other, until it is in time again.
        assert!((20_000..22_000).contains(&train(&mut pacer, late, allowed)));
        assert_eq!(pacer.next(), late + Duration::from_millis(1));
        let due = pacer.next();
        let second = train(&mut pacer, due, allowed);
        assert!((18_000..22_000).contains(&second), "{second}");
        let due = pacer.next();
        let third = train(&mut pacer, due, allowed);
        assert!((8_000..13_000).contains(&third), "{third}");
        let idle = late + Duration::from_secs(60);
        assert!(train(&mut pacer, idle, allowed) < 25_000);
    }

    #[test]
    fn what_waited_for_a_tight_window_leaves_at_the_rate_and_not_all_at_once() {
        let (mut pacer, allowed) = (Pacer::new(), paced(10_000_000));
        let allowed = Allowance { tight: true, ..allowed };
        train(&mut pacer, Instant::from_secs(1), allowed);
        pacer.hold();
        let released = pacer.next() + Duration::from_millis(2);
        // A train of a millisecond, the datagram in which it ends, and one more.
        assert!((10_000..13_000).contains(&train(&mut pacer, released, allowed)));
        let late = pacer.next() + Duration::from_millis(1);
        assert!(train(&mut pacer, late, allowed) > 18_000, "only once");
    }

    #[test]
    fn what_waited_for_a_window_that_has_no_bound_makes_up_for_its_time() {
        let (mut pacer, allowed) = (Pacer::new(), paced(10_000_000));
        train(&mut pacer, Instant::from_secs(1), allowed);
        pacer.hold();
        let released = pacer.next() + Duration::from_millis(2);
        assert!((20_000..22_000).contains(&train(&mut pacer, released, allowed)));
    }

    #[test]
    fn a_train_for_which_there_was_no_room_keeps_none_waiting() {
        let (mut pacer, allowed) = (Pacer::new(), paced(100_000));
        train(&mut pacer, Instant::from_secs(1), allowed);
        // A datagram takes 14 ms, and each time the window turns out to be full.
        for late in [0, 500, 1_500, 40_000] {
            let now = pacer.next() + Duration::from_micros(late);
            assert!(pacer.open(now, allowed, MTU));
            pacer.hold();
            assert!(pacer.open(now + Duration::from_millis(1), allowed, MTU), "{late}");
        }
    }

    #[test]
    fn without_a_rate_everything_leaves_at_once() {
        let mut pacer = Pacer::new();
        for _ in 0..1_000 {
            assert!(pacer.open(Instant::from_secs(1), Allowance::FREE, MTU));
            pacer.sent(MTU, Allowance::FREE);
        }
    }
}
