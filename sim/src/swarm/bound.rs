//! Lower bounds: how soon all clients could have the file, and how much could
//! be held when.

use alloc::vec::Vec;

use super::scenario::Scenario;
use servent_core::time::{Duration, Instant};

/// The most rounds that are counted one by one.
const ROUNDS: u32 = 64;

/// Microseconds needed for `bytes` at `rate`.
fn micros(bytes: u128, rate: u128) -> u64 {
    u64::try_from(bytes * 1_000_000 / rate.max(1)).unwrap_or(u64::MAX)
}

impl Scenario {
    /// Size of the file in bytes.
    fn size(&self) -> u128 {
        u128::from(self.pieces) * u128::from(self.chunk)
    }

    /// Clients that must get the whole file.
    #[must_use]
    #[doc(hidden)]
    pub fn wanting(&self) -> u32 {
        self.clients.iter().filter(|group| group.expects()).map(|group| group.count).sum()
    }

    /// A lower bound of the makespan, the largest of these: `M + ⌊log2 N⌋`
    /// pieces one after the other when all have the same rate (Mundinger,
    /// Weber, Weiss 2008); what the source, all links together, and the links
    /// of those that can serve passive clients can carry; what the last client
    /// to arrive needs for itself.
    #[must_use]
    #[doc(hidden)]
    pub fn bound(&self) -> Duration {
        let (size, source) = (self.size(), u128::from(self.source_up));
        let expected = || self.clients.iter().filter(|group| group.expects() && group.count > 0);
        let up = |passive: bool| {
            let groups = self.clients.iter().filter(move |group| passive || !group.closed());
            groups.map(|group| u128::from(group.up) * u128::from(group.count)).sum::<u128>()
        };
        let passive: u32 = expected().filter(|group| group.closed()).map(|group| group.count).sum();
        let own = expected().map(|group| {
            let comes = Self::comes(group, group.count - 1).as_micros();
            comes.saturating_add(micros(size, group.down.into()))
        });
        let longest = [
            micros(size, source),
            micros(size * u128::from(self.wanting()), source + up(true)),
            micros(size * u128::from(passive), source + up(false)),
            own.max().unwrap_or(0),
            self.rounds().unwrap_or(0),
        ];
        Duration::from_micros(longest.into_iter().max().unwrap_or(0))
    }

    /// True when all send at the same rate, arrive at once, and receive no
    /// slower than they send.
    fn alike(&self) -> bool {
        let fits = |group: &super::PeerGroup| {
            let at_once = group.count <= 1 || group.spacing == Duration::ZERO;
            let alike = group.up == self.source_up && group.down >= group.up;
            alike && at_once && group.first == Duration::ZERO
        };
        self.wanting() > 0 && self.clients.iter().all(fits)
    }

    fn rounds(&self) -> Option<u64> {
        let piece = micros(self.chunk.into(), self.source_up.into());
        let rounds = u64::from(self.pieces) + u64::from(self.wanting().max(1).ilog2());
        self.alike().then(|| rounds.saturating_mul(piece))
    }

    /// The most pieces that all clients that must get the file can hold at an
    /// instant, in thousandths: what the links of those present can carry. When
    /// all have the same rate, at first only clients that have something can
    /// send, so that what is held doubles in each round.
    #[must_use]
    pub(crate) fn most_held(&self, at: Instant) -> u64 {
        let all = u64::from(self.wanting()) * u64::from(self.pieces) * 1_000;
        let now = at.as_micros();
        let mut bytes = u128::from(self.source_up) * u128::from(now);
        let mut taken = 0u128;
        for group in &self.clients {
            let here = self.presence(group, now);
            bytes += u128::from(group.up) * here;
            if group.expects() {
                taken += (u128::from(group.down) * here)
                    .min(self.size() * 1_000_000 * u128::from(group.count));
            }
        }
        let moved = bytes.min(taken) / u128::from(self.chunk.max(1)) / 1_000;
        let most = u64::try_from(moved).unwrap_or(u64::MAX).min(all);
        if self.alike() { most.min(self.doubled(now)) } else { most }
    }

    /// Client-microseconds that a group has been present.
    fn presence(&self, group: &super::PeerGroup, now: u64) -> u128 {
        let since = |index: u32| now.saturating_sub(Self::comes(group, index).as_micros());
        if group.spacing == Duration::ZERO {
            return u128::from(since(0)) * u128::from(group.count);
        }
        (0..group.count).map(|index| u128::from(since(index))).sum()
    }

    /// Pieces, in thousandths, that can be held when all have the same rate.
    fn doubled(&self, now: u64) -> u64 {
        let piece = micros(self.chunk.into(), self.source_up.into()).max(1);
        let peers = u64::from(self.count());
        let (mut held, mut senders, mut round) = (0u64, 1u64, 0u32);
        let (whole, part) = (now / piece, now % piece);
        while u64::from(round) < whole && round < ROUNDS && senders <= peers {
            held += senders;
            senders = (senders * 2).min(peers + 1);
            round += 1;
        }
        // From here on all receive in every round.
        let rest = whole - u64::from(round).min(whole);
        let each = senders.min(peers);
        let all = u64::from(self.wanting()) * u64::from(self.pieces) * 1_000;
        let held = held.saturating_add(each.saturating_mul(rest)).saturating_mul(1_000);
        held.saturating_add(each * 1_000 * part / piece).min(all)
    }

    /// Points of the bound: instants and what could be held by then.
    #[must_use]
    #[doc(hidden)]
    pub fn most_held_until(&self, to: Instant, points: u32) -> Vec<(Instant, u64)> {
        let step = |i: u32| {
            let at = u128::from(to.as_micros()) * u128::from(i) / u128::from(points.max(1));
            let at = Instant::from_micros(at as u64);
            (at, self.most_held(at))
        };
        (0..=points).map(step).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::scenario::PeerGroup;
    use super::*;

    #[test]
    fn what_can_be_held_is_all_at_the_bound_and_not_much_before() {
        for (count, pieces) in [(1, 4), (64, 64), (100, 7), (1_000, 64)] {
            let group = PeerGroup { count, ..PeerGroup::default() };
            let swarm = Scenario { pieces, clients: alloc::vec![group], ..Scenario::default() };
            let end = Instant::ZERO + swarm.bound();
            let all = u64::from(count) * u64::from(pieces) * 1_000;
            assert_eq!(swarm.most_held(end), all, "{count} × {pieces}");
            let before = Instant::ZERO + swarm.bound().ratio(9, 10);
            assert!(swarm.most_held(before) < all, "{count} × {pieces}");
            let curve = swarm.most_held_until(end, 50);
            assert!(curve.windows(2).all(|w| w[0].1 <= w[1].1), "it never falls");
        }
    }

    #[test]
    fn passive_clients_and_late_ones_need_longer() {
        let some =
            |count, passive| PeerGroup { count, passive, down: 1 << 40, ..PeerGroup::default() };
        let of = |clients| Scenario { clients, ..Scenario::default() }.bound();
        let open = of(alloc::vec![some(8, false)]);
        let hidden = of(alloc::vec![some(1, false), some(7, true)]);
        assert!(hidden > open, "seven passive ones are served by one and the source");
        let late = PeerGroup { first: Duration::from_secs(500), ..some(1, false) };
        assert!(of(alloc::vec![some(8, false), late]) >= Duration::from_secs(500));
    }
}
