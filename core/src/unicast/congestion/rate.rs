//! Delivery-rate samples (draft-cheng-iccrg-delivery-rate-estimation): how
//! many bytes arrived in the time between two acknowledgements, or were sent in
//! the time between two datagrams, whichever was longer.

use alloc::collections::VecDeque;

use crate::time::{Duration, Instant};
use crate::unicast::memory;

/// A datagram whose newest number is not known to have arrived.
#[derive(Debug, Clone)]
struct SentRecord {
    /// Its last number.
    last: u64,
    sent_at: Instant,
    /// When the datagram was sent whose acknowledgement was the last one before
    /// this was sent.
    first_sent_at: Instant,
    /// Bytes that had arrived by then, and since when that is known.
    delivered: u64,
    delivered_at: Instant,
    /// Bytes under way with it, and lost before it.
    in_flight: u64,
    lost: u64,
    limited: bool,
}

/// How fast the path delivered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(in crate::unicast) struct RateSample {
    /// Bytes per second.
    pub(in crate::unicast) rate: u64,
    /// Bytes that arrived while it was measured.
    pub(in crate::unicast) delivered: u64,
    /// Bytes that had arrived when the measured datagram was sent.
    pub(in crate::unicast) prior: u64,
    /// Bytes under way when it was sent, and those lost since.
    pub(in crate::unicast) in_flight: u64,
    pub(in crate::unicast) lost: u64,
    /// There was less to send than the path would have taken.
    pub(in crate::unicast) limited: bool,
}

/// What is needed to measure, for each datagram under way.
#[derive(Debug, Clone, Default)]
pub(in crate::unicast) struct RateSampler {
    records: VecDeque<SentRecord>,
    delivered: u64,
    delivered_at: Instant,
    first_sent_at: Instant,
    /// Until so much has arrived, samples are of a sender with little to send.
    limited_until: u64,
}

impl RateSampler {
    /// The measurement begins: what is under way already was sent before it.
    pub(in crate::unicast) const fn begin(&mut self, now: Instant) {
        (self.first_sent_at, self.delivered_at) = (now, now);
    }

    /// A datagram whose last number is `last` leaves; with it, `in_flight`
    /// bytes of `sent` are under way.
    pub(in crate::unicast) fn sent(
        &mut self,
        now: Instant,
        last: u64,
        (bytes, in_flight, lost): (u64, u64, u64),
    ) {
        if in_flight <= bytes {
            self.begin(now);
        }
        self.records.push_back(SentRecord {
            last,
            sent_at: now,
            first_sent_at: self.first_sent_at,
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            in_flight,
            lost,
            limited: self.limited_until > 0,
        });
    }

    /// There is nothing more to send, with `in_flight` bytes under way.
    pub(in crate::unicast) fn limit(&mut self, in_flight: u64) {
        self.limited_until = (self.delivered + in_flight).max(1);
    }

    /// Everything up to some point has arrived: `delivered` bytes ever, and
    /// `newest` is the highest number. Returns the bytes that are new, and the
    /// sample.
    pub(in crate::unicast) fn acked(
        &mut self,
        now: Instant,
        (newest, delivered, lost): (u64, u64, u64),
    ) -> (u64, Option<RateSample>) {
        let newly = delivered.saturating_sub(self.delivered);
        self.delivered += newly;
        if self.limited_until > 0 && self.delivered > self.limited_until {
            self.limited_until = 0;
        }
        if newly > 0 {
            self.delivered_at = now;
        }
        let mut found = None;
        while self.records.front().is_some_and(|record| record.last <= newest) {
            found = self.records.pop_front();
        }
        let sample = found.and_then(|record| {
            self.first_sent_at = record.sent_at;
            let sending = record.sent_at.since(record.first_sent_at);
            let arriving = now.since(record.delivered_at);
            let took = sending.max(arriving);
            let delivered = self.delivered - record.delivered;
            let rate = per_second(delivered, took)?;
            Some(RateSample {
                rate,
                delivered,
                prior: record.delivered,
                in_flight: record.in_flight,
                lost: lost.saturating_sub(record.lost),
                limited: record.limited,
            })
        });
        (newly, sample)
    }

    /// Bytes that have arrived.
    pub(in crate::unicast) const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Nothing that was sent counts any more.
    pub(in crate::unicast) fn forget(&mut self) {
        self.records.clear();
        memory::release(&mut self.records);
    }

    /// The same, and so many bytes have arrived, whatever was said before.
    pub(in crate::unicast) fn begin_from(&mut self, now: Instant, delivered: u64) {
        self.begin_anew(now);
        (self.delivered, self.limited_until) = (delivered, 0);
    }

    /// The same, and the measurement begins anew.
    pub(in crate::unicast) fn begin_anew(&mut self, now: Instant) {
        self.forget();
        self.begin(now);
    }
}

/// Bytes per second; `None` when no time has passed.
fn per_second(bytes: u64, time: Duration) -> Option<u64> {
    let rate = (u128::from(bytes) * 1_000_000).checked_div(u128::from(time.as_micros()))?;
    Some(u64::try_from(rate).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(n: u64) -> Instant {
        Instant::from_secs(1) + Duration::from_millis(n)
    }

    #[test]
    fn a_sample_is_what_arrived_between_two_acknowledgements() {
        let mut sampler = RateSampler::default();
        for n in 1..=10 {
            sampler.sent(ms(n), n, (1_000, n * 1_000, 0));
        }
        let (newly, sample) = sampler.acked(ms(21), (1, 1_000, 0));
        assert_eq!((newly, sample.unwrap().rate), (1_000, 50_000), "a round trip of 20 ms");
        let (newly, sample) = sampler.acked(ms(30), (10, 10_000, 0));
        let sample = sample.unwrap();
        assert_eq!((newly, sample.delivered, sample.prior), (9_000, 10_000, 0));
        assert_eq!(sample.rate, 10_000 * 1_000 / 29);
        sampler.sent(ms(31), 11, (1_000, 1_000, 0));
        assert_eq!(sampler.acked(ms(51), (11, 11_000, 0)).1.unwrap().rate, 50_000);
    }

    #[test]
    fn one_acknowledgement_for_many_says_no_more_than_what_was_sent() {
        let mut sampler = RateSampler::default();
        sampler.sent(ms(0), 1, (1_000, 1_000, 0));
        sampler.acked(ms(20), (1, 1_000, 0));
        for n in 2..=41 {
            sampler.sent(ms(20 + n), n, (1_000, (n - 1) * 1_000, 0));
        }
        sampler.acked(ms(99), (2, 2_000, 0));
        // The others' acknowledgements were held up and come at once.
        let (_, sample) = sampler.acked(ms(100), (41, 41_000, 0));
        assert!(sample.unwrap().rate <= 1_000_000, "a datagram a millisecond");
    }

    #[test]
    fn samples_of_a_sender_with_little_to_send_say_so() {
        let mut sampler = RateSampler::default();
        sampler.sent(ms(0), 1, (1_000, 1_000, 0));
        sampler.limit(1_000);
        sampler.sent(ms(1), 2, (1_000, 2_000, 0));
        assert!(!sampler.acked(ms(20), (1, 1_000, 0)).1.unwrap().limited);
        assert!(sampler.acked(ms(21), (2, 2_000, 0)).1.unwrap().limited);
        sampler.sent(ms(22), 3, (1_000, 1_000, 0));
        assert!(!sampler.acked(ms(42), (3, 3_000, 0)).1.unwrap().limited);
    }
}
