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
//!
//! An address that has its share of the slots ([`super::shares`]) claims another
//! only when nobody else of the line wants it, and gives that claim up for
//! whoever comes and has less.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::address::owner;
use crate::time::Instant;

/// Claims by order of arrival; never more than there are free slots.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims {
    by_arrival: BTreeMap<u64, Claim>,
    by_end: BTreeSet<(Instant, u64)>,
    by_since: BTreeSet<(Instant, u64)>,
    /// Claims within the share of each address; the others are beyond it.
    within: BTreeMap<IpAddr, u32>,
    /// The claims beyond.
    beyond: BTreeSet<u64>,
    /// Since when slots stand free whose claim ended without an upload.
    orphans: Vec<Instant>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct Claim {
    pub(super) entry: u32,
    pub(super) peer: IpAddr,
    /// Its address has its share of the slots without this one.
    pub(super) beyond: bool,
    /// Since when the slot stands free.
    pub(super) since: Instant,
    /// From then on others of the line may be served.
    pub(super) open_at: Instant,
    /// The deadline the entry was told.
    pub(super) until: Instant,
}

/// Somebody who has no claim and wants a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// When it came; `None` for a newcomer.
    pub(super) arrival: Option<u64>,
    /// Its address has its share of the slots.
    pub(super) beyond: bool,
    /// The slots that it may have one of.
    pub(super) slots: u32,
}

impl Claims {
    pub(super) fn len(&self) -> u32 {
        self.by_arrival.len() as u32
    }

    pub(super) fn has(&self, arrival: u64) -> bool {
        self.by_arrival.contains_key(&arrival)
    }

    /// True of a claim within the share of its address.
    pub(super) fn is_within(&self, arrival: u64) -> bool {
        self.has(arrival) && !self.beyond.contains(&arrival)
    }

    /// A claim within the share of its address that is beyond it now: `most` says
    /// how many an address may have. The last of them is beyond from here on;
    /// false when there is none.
    pub(super) fn demote(&mut self, most: impl Fn(IpAddr) -> u32) -> bool {
        let Some((&peer, _)) = self.within.iter().find(|&(&peer, &n)| n > most(peer)) else {
            return false;
        };
        let within = self.by_arrival.iter_mut().rev();
        let mut of = within.filter(|(_, one)| !one.beyond && owner(one.peer) == peer);
        let Some((&arrival, claim)) = of.next() else { return false };
        claim.beyond = true;
        self.beyond.insert(arrival);
        self.count_out(peer);
        true
    }

    fn count_out(&mut self, owner: IpAddr) {
        match self.within.get_mut(&owner) {
            Some(count) if *count > 1 => *count -= 1,
            _ => drop(self.within.remove(&owner)),
        }
    }

    /// A claim beyond the share of its address is within it now; false when
    /// there is none.
    pub(super) fn promote(&mut self, arrival: u64) -> bool {
        let Some(claim) = self.by_arrival.get_mut(&arrival) else { return false };
        if self.beyond.remove(&arrival) {
            claim.beyond = false;
            *self.within.entry(owner(claim.peer)).or_default() += 1;
        }
        true
    }

    /// All of them, in order of arrival.
    pub(super) fn all(&self) -> impl Iterator<Item = &Claim> {
        self.by_arrival.values()
    }

    /// Claims within the shares of those they are for.
    pub(super) fn within(&self) -> u32 {
        self.len() - self.beyond.len() as u32
    }

    /// Those of one address.
    pub(super) fn within_of(&self, peer: IpAddr) -> u32 {
        self.within.get(&owner(peer)).copied().unwrap_or(0)
    }

    /// True when somebody who has no claim may have one of the slots there are:
    /// fewer than that are kept for others.
    pub(super) fn let_in(&self, who: Turn, now: Instant) -> bool {
        let kept = self.before(who).filter(|claim| who.arrival.is_none() || now < claim.open_at);
        kept.count() < who.slots as usize
    }

    /// The entries that somebody is served past because their slots are open;
    /// none when there are slots enough for all of them.
    pub(super) fn passed_by(&self, who: Turn, now: Instant) -> impl Iterator<Item = u32> {
        let passes = self.before(who).count() >= who.slots as usize;
        let open = self.before(who).filter(move |claim| passes && claim.open_at <= now);
        open.map(|claim| claim.entry)
    }

    /// The claims that come before somebody without one: of whoever came
    /// earlier, and of everybody with less than its share when it has its own.
    fn before(&self, who: Turn) -> impl Iterator<Item = &Claim> {
        let ahead = move |arrival: u64| who.arrival.is_none_or(|own| arrival < own);
        let before = move |&(&arrival, claim): &(&u64, &Claim)| match (who.beyond, claim.beyond) {
            (true, false) => true,
            (false, true) => false,
            _ => ahead(arrival),
        };
        self.by_arrival.iter().filter(before).map(|(_, claim)| claim)
    }

    /// Keeps a slot.
    pub(super) fn add(&mut self, arrival: u64, claim: Claim) {
        self.by_end.insert((claim.until, arrival));
        self.by_since.insert((claim.since, arrival));
        if claim.beyond {
            self.beyond.insert(arrival);
        } else {
            *self.within.entry(owner(claim.peer)).or_default() += 1;
        }
        let before = self.by_arrival.insert(arrival, claim);
        assert!(before.is_none(), "whoever gets a claim has none");
    }

    /// Ends a claim; `orphaned` when its slot stays free, so that the next in
    /// line inherits the time since it does.
    pub(super) fn remove(&mut self, arrival: u64, orphaned: bool) {
        if let Some(claim) = self.by_arrival.remove(&arrival) {
            self.by_end.remove(&(claim.until, arrival));
            self.by_since.remove(&(claim.since, arrival));
            if !self.beyond.remove(&arrival) {
                self.count_out(owner(claim.peer));
            }
            if orphaned {
                self.orphans.push(claim.since);
            }
        }
    }

    /// Ends a claim: a slot is gone. The last of those beyond a share goes first,
    /// then the one that arrived last. The slot was the one that stood free
    /// longest; whoever it was kept for waits for the other one, which is not
    /// open any sooner for that.
    pub(super) fn drop_last(&mut self) {
        let last = self.beyond.last().or_else(|| self.by_arrival.last_key_value().map(|(a, _)| a));
        let Some(&arrival) = last else { return };
        let last = self.by_arrival[&arrival];
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
