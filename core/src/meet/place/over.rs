//! Meetings whose listener wants no more callers: those who come late are told.

use alloc::collections::{BTreeMap, BTreeSet};

use crate::time::{Duration, Instant};
use crate::wire::meet::MeetingId;

/// How long that is remembered: a receiver waits so long for its sender to come again.
const REMEMBERED: Duration = Duration::from_secs(300);
/// Of so many meetings. The one that ended first is forgotten for one more, and its callers wait
/// for a listener that does not come.
const MOST: usize = 1_024;

/// What is remembered.
#[derive(Debug, Clone, Default)]
pub(super) struct EndedMeetings {
    /// Until when, and what its listener has said.
    until: BTreeMap<MeetingId, (Instant, u64)>,
    order: BTreeSet<(Instant, MeetingId)>,
}

impl EndedMeetings {
    /// The listener of a meeting has left it for good, as it proves to those that know the
    /// code's first words.
    pub(super) fn add(&mut self, now: Instant, id: MeetingId, proof: u64) {
        self.remove(id);
        let until = now + REMEMBERED;
        self.until.insert(id, (until, proof));
        self.order.insert((until, id));
        while let Some((until, id)) = self.order.first().copied()
            && (until <= now || self.order.len() > MOST)
        {
            self.remove(id);
        }
    }

    /// A listener has come to it again.
    pub(super) fn remove(&mut self, id: MeetingId) {
        if let Some((until, _)) = self.until.remove(&id) {
            self.order.remove(&(until, id));
        }
    }

    /// What the listener of an ended meeting has said.
    pub(super) fn proof(&self, now: Instant, id: MeetingId) -> Option<u64> {
        self.until.get(&id).filter(|(until, _)| now < *until).map(|(_, proof)| *proof)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounded_number_is_remembered_for_a_bounded_time() {
        let (mut ended, now) = (EndedMeetings::default(), Instant::from_secs(1_000));
        let id = |n: u32| {
            let mut id = [0; 16];
            id[..4].copy_from_slice(&n.to_be_bytes());
            MeetingId(id)
        };
        for n in 0..=MOST as u32 {
            ended.add(now + Duration::from_millis(u64::from(n)), id(n), u64::from(n));
        }
        assert!(ended.proof(now, id(0)).is_none() && ended.proof(now, id(1)) == Some(1));
        ended.remove(id(1));
        assert!(ended.proof(now, id(1)).is_none(), "its listener has come again");
        let later = now + REMEMBERED + Duration::from_millis(3);
        assert!(ended.proof(later, id(3)).is_none() && ended.proof(later, id(4)) == Some(4));
        ended.add(later, id(2), 2);
        assert!(ended.until.len() < MOST && ended.until.len() == ended.order.len());
    }
}
