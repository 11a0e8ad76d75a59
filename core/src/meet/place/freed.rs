//! Seats of listeners that meet one caller after the other: between two of them such a seat is
//! free, and no other address may take it.

use alloc::collections::{BTreeMap, BTreeSet};
use core::net::{IpAddr, SocketAddr};

use crate::meet::door::visitor_owner;
use crate::time::{Duration, Instant};
use crate::wire::meet::MeetingId;

/// How long a listener may take to come again: one that was introduced to a stranger that does
/// not know the code waits two seconds.
const KEPT: Duration = Duration::from_secs(5);
/// Of so many meetings: the one that is free for the longest time is forgotten for one more.
const MOST: usize = 1_024;

/// Whose they were.
#[derive(Debug, Clone, Default)]
pub(super) struct FreedSeats {
    owners: BTreeMap<MeetingId, (Instant, IpAddr)>,
    order: BTreeSet<(Instant, MeetingId)>,
}

impl FreedSeats {
    /// The listener at this address has met one.
    pub(super) fn add(&mut self, now: Instant, id: MeetingId, at: SocketAddr) {
        self.remove(id);
        let until = now + KEPT;
        self.owners.insert(id, (until, visitor_owner(at.ip())));
        self.order.insert((until, id));
        while let Some((until, id)) = self.order.first().copied()
            && (until <= now || self.order.len() > MOST)
        {
            self.remove(id);
        }
    }

    /// It is taken again.
    pub(super) fn remove(&mut self, id: MeetingId) {
        if let Some((until, _)) = self.owners.remove(&id) {
            self.order.remove(&(until, id));
        }
    }

    /// True while the seat is kept.
    pub(super) fn has(&self, now: Instant, id: MeetingId) -> bool {
        self.owner(now, id).is_some()
    }

    /// True when it is kept for the visitor at this address.
    pub(super) fn is_of(&self, now: Instant, id: MeetingId, at: SocketAddr) -> bool {
        self.owner(now, id) == Some(visitor_owner(at.ip()))
    }

    fn owner(&self, now: Instant, id: MeetingId) -> Option<IpAddr> {
        self.owners.get(&id).filter(|(until, _)| now < *until).map(|(_, owner)| *owner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_is_kept_for_a_short_time() {
        let (mut freed, now) = (FreedSeats::default(), Instant::from_secs(1_000));
        let id = |n: u32| {
            let mut id = [0; 16];
            id[..4].copy_from_slice(&n.to_be_bytes());
            MeetingId(id)
        };
        let [one, other]: [SocketAddr; 2] =
            ["192.0.2.1:7000", "192.0.2.2:7000"].map(|at| at.parse().unwrap());
        for n in 0..=MOST as u32 {
            freed.add(now + Duration::from_millis(u64::from(n)), id(n), one);
        }
        assert!(!freed.has(now, id(0)) && freed.has(now, id(1)));
        assert!(freed.is_of(now, id(1), one) && !freed.is_of(now, id(1), other));
        let later = now + KEPT + Duration::from_millis(1);
        assert!(!freed.has(later, id(1)) && freed.has(later, id(2)));
        freed.remove(id(2));
        assert!(!freed.has(later, id(2)), "it is taken again");
        freed.add(later, id(0), other);
        assert!(freed.owners.len() < MOST && freed.owners.len() == freed.order.len());
    }
}
