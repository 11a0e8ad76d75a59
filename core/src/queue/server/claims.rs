//! For whom free slots are kept: the first present entries of the line.
//!
//! This is the rule that lets no slot idle and nobody jump the line (decision
//! §2.5). A free slot belongs to the first entry that is present: connected,
//! or sent away to come back. It is kept for that entry until the deadline it
//! was told; then the entry counts as absent until it asks again. Once the
//! slot has stood free for the reserve it is *open*: whoever of the line asks
//! first is served, present or not yet due, but past the same obedient entry
//! only once. A newcomer is served only when nobody in line is inside the
//! window it was told.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use crate::time::Instant;

/// Claims by order of arrival; never more than there are free slots.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims {
    by_arrival: BTreeMap<u64, Claim>,
    by_end: BTreeSet<(Instant, u64)>,
    by_since: BTreeSet<(Instant, u64)>,
    /// Since when slots stand free whose claim ended without an upload.
    orphans: Vec<Instant>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) entry: u32,
    /// Since when the slot stands free.
    pub(super) since: Instant,
    /// From then on others of the line may be served.
    pub(super) open_at: Instant,
    /// The deadline the entry was told.
    pub(super) until: Instant,
}

impl Claims {
    pub(super) fn len(&self) -> u32 {
        self.by_arrival.len() as u32
    }

    pub(super) fn has(&self, arrival: u64) -> bool {
        self.by_arrival.contains_key(&arrival)
    }

    /// All of them, in order of arrival.
    pub(super) fn all(&self) -> impl Iterator<Item = &Claim> {
        self.by_arrival.values()
    }

    /// True when one of `free` slots may be given to the entry that came at
    /// `arrival`, or to a newcomer: fewer than that are kept for others.
    pub(super) fn let_in(&self, arrival: Option<u64>, free: u32, now: Instant) -> bool {
        let kept = match arrival {
            Some(arrival) => {
                let ahead = self.by_arrival.range(..arrival);
                ahead.filter(|(_, claim)| now < claim.open_at).count()
            }
            None => self.by_arrival.len(),
        };
        kept < free as usize
    }

    /// The entries that `arrival` is served past because their slots are open;
    /// none when there are slots enough for all of them.
    pub(super) fn passed_by(
        &self,
        arrival: u64,
        free: u32,
        now: Instant,
    ) -> impl Iterator<Item = u32> + use<'_> {
        let ahead = self.by_arrival.range(..arrival).map(|(_, claim)| claim);
        let passes = ahead.clone().count() >= free as usize;
        ahead.filter(move |claim| passes && claim.open_at <= now).map(|claim| claim.entry)
    }

    /// Keeps a slot.
    pub(super) fn add(&mut self, arrival: u64, claim: Claim) {
        self.by_end.insert((claim.until, arrival));
        self.by_since.insert((claim.since, arrival));
        let before = self.by_arrival.insert(arrival, claim);
        assert!(before.is_none(), "claims are the first present entries, so the next has none");
    }

    /// Ends a claim; `orphaned` when its slot stays free, so that the next in
    /// line inherits the time since it does.
    pub(super) fn remove(&mut self, arrival: u64, orphaned: bool) {
        if let Some(claim) = self.by_arrival.remove(&arrival) {
            self.by_end.remove(&(claim.until, arrival));
            self.by_since.remove(&(claim.since, arrival));
            if orphaned {
                self.orphans.push(claim.since);
            }
        }
    }

    /// Ends the claim that arrived last: a slot is gone. It was the one that
    /// stood free longest; whoever it was kept for waits for the other one,
    /// which is not open any sooner for that.
    pub(super) fn drop_last(&mut self) {
        let Some((&arrival, &last)) = self.by_arrival.last_key_value() else { return };
        self.remove(arrival, false);
        if let Some(&oldest) = self.by_since.first()
            && oldest.0 < last.since
            && let Some(claim) = self.by_arrival.get_mut(&oldest.1)
        {
            // How long others wait for it is the claimant's own.
            claim.open_at = last.since + claim.open_at.since(claim.since);
            claim.since = last.since;
            self.by_since.remove(&oldest);
            self.by_since.insert((last.since, oldest.1));
        }
    }

    /// Ends all claims, to begin anew.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Since when the slot stands free that the next claim will be for.
    pub(super) fn inherit(&mut self, now: Instant) -> Instant {
        self.orphans.pop().unwrap_or(now)
    }

    /// Gives an inheritance back, for the next in line.
    pub(super) fn bequeath(&mut self, since: Instant) {
        self.orphans.push(since);
    }

    /// Nobody is left to inherit.
    pub(super) fn settled(&mut self) {
        self.orphans.clear();
    }

    /// When the first claim lapses.
    pub(super) fn next(&self) -> Option<Instant> {
        self.by_end.first().map(|&(until, _)| until)
    }

    /// An entry whose claim has lapsed at `now`, and its arrival.
    pub(super) fn due(&self, now: Instant) -> Option<(u32, u64)> {
        let &(until, arrival) = self.by_end.first()?;
        (until <= now).then(|| (self.by_arrival[&arrival].entry, arrival))
    }
}
