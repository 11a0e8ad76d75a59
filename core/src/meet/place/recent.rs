//! What a place remembers of a meeting for a short time.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::time::{Duration, Instant};
use crate::wire::meet::MeetingId;

/// Of so many meetings: the one that is remembered for the longest time is forgotten for one
/// more.
const MOST: usize = 1_024;

/// Something about each of some meetings, for the same time each.
#[derive(Debug, Clone)]
pub(super) struct RecentMeetings<T> {
    lasts: Duration,
    /// Until when, and what.
    about: BTreeMap<MeetingId, (Instant, T)>,
    order: BTreeSet<(Instant, MeetingId)>,
}

impl<T: Copy> RecentMeetings<T> {
    pub(super) const fn new(lasts: Duration) -> Self {
        Self { lasts, about: BTreeMap::new(), order: BTreeSet::new() }
    }

    pub(super) fn add(&mut self, now: Instant, id: MeetingId, about: T) {
        self.remove(id);
        let until = now + self.lasts;
        self.about.insert(id, (until, about));
        self.order.insert((until, id));
        while let Some((until, id)) = self.order.first().copied()
            && (until <= now || self.order.len() > MOST)
        {
            self.remove(id);
        }
    }

    pub(super) fn remove(&mut self, id: MeetingId) {
        if let Some((until, _)) = self.about.remove(&id) {
            self.order.remove(&(until, id));
        }
    }

    pub(super) fn get(&self, now: Instant, id: MeetingId) -> Option<T> {
        self.about.get(&id).filter(|(until, _)| now < *until).map(|(_, about)| *about)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_is_remembered_for_a_bounded_time() {
        let lasts = Duration::from_secs(300);
        let (mut recent, now) = (RecentMeetings::new(lasts), Instant::from_secs(1_000));
        let id = |n: u32| {
            let mut id = [0; 16];
            id[..4].copy_from_slice(&n.to_be_bytes());
            MeetingId(id)
        };
        for n in 0..=MOST as u32 {
            recent.add(now + Duration::from_millis(u64::from(n)), id(n), n);
        }
        assert!(recent.get(now, id(0)).is_none() && recent.get(now, id(1)) == Some(1));
        recent.remove(id(1));
        assert!(recent.get(now, id(1)).is_none());
        let later = now + lasts + Duration::from_millis(3);
        assert!(recent.get(later, id(3)).is_none() && recent.get(later, id(4)) == Some(4));
        recent.add(later, id(2), 2);
        assert!(recent.about.len() < MOST && recent.about.len() == recent.order.len());
    }
}
