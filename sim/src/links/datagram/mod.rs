//! Links that carry datagrams, and lose, delay, duplicate and queue them.

mod link;

use alloc::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};

pub use self::link::{Burst, DatagramLink, Ratio};

/// Why a datagram was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DatagramLoss {
    /// A fault named it.
    Drop,
    /// By chance.
    Chance,
    /// The link is in its bad state.
    Burst,
    /// The queue of the link is full.
    Queue,
    /// It is larger than the link's MTU.
    Mtu,
    /// The link is cut.
    Cut,
    /// The receiver is down.
    Down,
}

/// What a fault decided about a future datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Drop,
    Delay(Duration),
    Duplicate(Duration),
}

/// What a link does to one datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LinkFate {
    /// When it arrives, or would have arrived.
    pub(crate) due: Instant,
    pub(crate) loss: Option<DatagramLoss>,
    /// A fault delays it.
    pub(crate) delayed: bool,
    /// When a second copy arrives.
    pub(crate) copy: Option<Instant>,
}

/// What waits for the rate of a link.
#[derive(Debug, Clone)]
pub(crate) struct LinkQueue {
    /// When everything in the queue will have been sent, and the fraction of a
    /// microsecond beyond it, in units of one over the rate: on a fast link a
    /// datagram takes a few microseconds, so what is cut off would add up.
    busy_until: Instant,
    beyond: u64,
}

impl LinkQueue {
    pub(crate) const EMPTY: Self = Self { busy_until: Instant::ZERO, beyond: 0 };

    /// When a datagram that is sent now leaves; `None` when there is no room for
    /// it.
    fn leaves(&mut self, link: &DatagramLink, now: Instant, bytes: u32) -> Option<Instant> {
        if link.rate == 0 {
            return Some(now);
        }
        let waits = self.busy_until.since(now);
        let waiting = u128::from(waits.as_micros()) * u128::from(link.rate) / 1_000_000;
        if waiting > u128::from(link.queue) {
            return None;
        }
        if self.busy_until < now {
            (self.busy_until, self.beyond) = (now, 0);
        }
        let takes = u64::from(bytes) * 1_000_000 + self.beyond;
        self.busy_until += Duration::from_micros(takes / link.rate);
        self.beyond = takes % link.rate;
        Some(self.busy_until)
    }
}

/// The state of one direction.
#[derive(Debug, Clone)]
pub(crate) struct Direction {
    dice: Rng,
    /// Datagrams sent so far.
    pub(crate) count: u32,
    bad: bool,
    pub(crate) queue: LinkQueue,
    pub(crate) cut: bool,
    /// Faults by the number of the datagram.
    pub(crate) rules: BTreeMap<u32, Rule>,
}

impl Direction {
    pub(crate) fn new(dice: Rng) -> Self {
        Self {
            dice,
            count: 0,
            bad: false,
            queue: LinkQueue::EMPTY,
            cut: false,
            rules: BTreeMap::new(),
        }
    }

    /// Sends the next datagram. The same number of random draws is made for
    /// each, whatever happens to it, so that the n-th datagram has the same
    /// luck in every run of a scenario.
    pub(crate) fn send(&mut self, link: &DatagramLink, now: Instant, bytes: u32) -> LinkFate {
        self.count += 1;
        let Self { dice, bad, .. } = self;
        let mut hits = |(n, of): (u64, u64)| dice.chance(n, of);
        let mut loss = hits(link.loss).then_some(DatagramLoss::Chance);
        if let Some(burst) = &link.burst {
            let (enter, leave) = (hits(burst.enter), hits(burst.leave));
            *bad = if *bad { !leave } else { enter };
            if hits(burst.loss) && *bad {
                loss = Some(DatagramLoss::Burst);
            }
        }
        let (mut twice, mut late) = (hits(link.duplicate), hits(link.reorder));
        let jitter = Duration::from_micros(dice.between(0, link.jitter.as_micros()));

        if link.until > Instant::ZERO && now >= link.until {
            (loss, twice, late) = (None, false, false);
        }

        let left = self.queue.leaves(link, now, bytes).unwrap_or_else(|| {
            loss = Some(DatagramLoss::Queue);
            now
        });
        let late = if late { link.late } else { Duration::ZERO };
        let due = left + link.latency.max(DatagramLink::LEAST) + jitter + late;
        if link.mtu > 0 && bytes > link.mtu {
            loss = Some(DatagramLoss::Mtu);
        }
        if self.cut {
            loss = Some(DatagramLoss::Cut);
        }
        let copy = (twice && loss.is_none()).then(|| due + link.late);
        self.ruled(LinkFate { due, loss, delayed: false, copy })
    }

    /// How long a datagram sent now would wait for those before it.
    pub(crate) const fn waits(&self, now: Instant) -> Duration {
        self.queue.busy_until.since(now)
    }

    /// The fate of a datagram that a fault may have decided about.
    fn ruled(&mut self, mut fate: LinkFate) -> LinkFate {
        match self.rules.remove(&self.count) {
            Some(Rule::Drop) => LinkFate { loss: Some(DatagramLoss::Drop), copy: None, ..fate },
            Some(Rule::Delay(by)) => {
                fate.due += by;
                fate.delayed = fate.loss.is_none();
                fate
            }
            Some(Rule::Duplicate(by)) if fate.loss.is_none() => {
                LinkFate { copy: Some(fate.due + by), ..fate }
            }
            _ => fate,
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec::Vec;

    use super::*;

    fn losses(link: &DatagramLink, sizes: impl Iterator<Item = u32>) -> Vec<bool> {
        let mut direction = Direction::new(Rng::new(5));
        sizes.map(|bytes| direction.send(link, Instant::ZERO, bytes).loss.is_some()).collect()
    }

    #[test]
    fn the_nth_datagram_has_the_same_luck_whatever_it_is() {
        let burst = Some(Burst { enter: (1, 20), leave: (1, 3), loss: (9, 10) });
        let link = DatagramLink {
            loss: (1, 20),
            jitter: Duration::from_millis(3),
            burst,
            ..DatagramLink::default()
        };
        let short = losses(&link, (0..2_000).map(|_| 20));
        assert_eq!(short, losses(&link, (0..2_000).map(|n| 20 + n % 900)));
        let lost = short.iter().filter(|lost| **lost).count();
        // One in twenty, and nine tenths of the three in twenty-three in the
        // bad state.
        assert!((250..420).contains(&lost), "{lost}");
        let runs = short.windows(2).filter(|pair| pair[0] && pair[1]).count();
        assert!(runs * 3 > lost, "losses come in bursts: {runs} of {lost}");
    }

    #[test]
    fn a_slow_link_makes_a_queue_and_loses_what_finds_it_full() {
        let link = DatagramLink { rate: 10_000, queue: 2_000, ..DatagramLink::default() };
        let mut direction = Direction::new(Rng::new(1));
        let fates: Vec<LinkFate> =
            (0..5).map(|_| direction.send(&link, Instant::ZERO, 1_000)).collect();
        let due = |n: u64| Instant::ZERO + link.latency + Duration::from_millis(100 * n);
        assert_eq!(fates[2].due, due(3), "the third waits for two others");
        assert_eq!(fates[2].loss, None);
        assert_eq!(fates[3].loss, Some(DatagramLoss::Queue));
    }

    #[test]
    fn a_rule_takes_its_datagram_and_no_other() {
        let mut direction = Direction::new(Rng::new(1));
        direction.rules.insert(2, Rule::Drop);
        direction.rules.insert(3, Rule::Delay(Duration::from_secs(1)));
        direction.rules.insert(4, Rule::Duplicate(Duration::from_secs(2)));
        let link = DatagramLink::default();
        let fates: Vec<LinkFate> =
            (0..5).map(|_| direction.send(&link, Instant::ZERO, 9)).collect();
        let due = Instant::ZERO + link.latency;
        assert_eq!(fates[0], LinkFate { due, loss: None, delayed: false, copy: None });
        assert_eq!(fates[1].loss, Some(DatagramLoss::Drop));
        assert_eq!(fates[2].due, due + Duration::from_secs(1));
        assert_eq!(fates[3].copy, Some(due + Duration::from_secs(2)));
        assert_eq!(fates[4], fates[0]);
    }
}
