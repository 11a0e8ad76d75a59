//! The clients for which free slots are reserved: the first present entries of the queue.
//!
//! This rule lets no slot idle and no client jump the queue (decision §2.5). A
//! free slot is reserved for the first entry that is present: connected, or
//! disconnected on purpose to come back later. It is reserved until the
//! deadline that entry was told; then the entry counts as absent until it asks
//! again. Once the slot has been free for the reserve time it is *open*: the
//! first client of the queue that asks is served, whether or not it is present
//! or due, but the same obedient entry is passed only once. A newcomer is
//! served only when no client in the queue is inside its announced window.
//!
//! An address that has its share of the slots ([`super::shares`]) gets a
//! further claim only when no other in the queue wants the slot, and loses
//! that claim to any client that comes and has less. Among the clients of one
//! address the order is that of the queue as well: what is reserved for a later
//! one does not count for the share of an earlier one that comes back.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::IpAddr;

use crate::address::owner;
use crate::time::Instant;

/// Claims on free slots, by order of arrival; never more than there are free
/// slots.
#[derive(Debug, Clone, Default)]
pub(super) struct Claims {
    by_arrival: BTreeMap<u64, EntryClaim>,
    by_end: BTreeSet<(Instant, u64)>,
    by_since: BTreeSet<(Instant, u64)>,
    /// Claims within the share of each address, counted.
    within: BTreeMap<IpAddr, u32>,
    /// Claims beyond the share of their address.
    beyond: BTreeSet<u64>,
    /// For slots whose claim ended without an upload: since when each has been
    /// free.
    orphans: Vec<Instant>,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct EntryClaim {
    pub(super) entry: u32,
    pub(super) peer: IpAddr,
    /// Its address has its share of the slots even without this one.
    pub(super) beyond: bool,
    /// Since when the slot has been free.
    pub(super) since: Instant,
    /// From then on other clients of the queue may be served.
    pub(super) open_at: Instant,
    /// The deadline that the entry was told.
    pub(super) until: Instant,
}

/// A client that has no claim and wants a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Turn {
    /// Its order of arrival; `None` for a newcomer.
    pub(super) arrival: Option<u64>,
    /// Its address has its share of the slots.
    pub(super) beyond: bool,
    /// How many free slots there are for it.
    pub(super) slots: u32,
}

impl Claims {
    pub(super) fn len(&self) -> u32 {
        self.by_arrival.len() as u32
    }

    pub(super) fn has(&self, arrival: u64) -> bool {
        self.by_arrival.contains_key(&arrival)
    }

    /// True when a claim is within the share of its address.
    pub(super) fn is_within(&self, arrival: u64) -> bool {
        self.has(arrival) && !self.beyond.contains(&arrival)
    }

    /// Marks the last claim of an address as beyond its share, if some address
    /// has more claims than `most` allows it. False when there is none.
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

    /// Marks a claim as within the share of its address; false when there is no
    /// such claim.
    pub(super) fn promote(&mut self, arrival: u64) -> bool {
        let Some(claim) = self.by_arrival.get_mut(&arrival) else { return false };
        if self.beyond.remove(&arrival) {
            claim.beyond = false;
            *self.within.entry(owner(claim.peer)).or_default() += 1;
        }
        true
    }

    /// All claims, in order of arrival.
    pub(super) fn all(&self) -> impl Iterator<Item = &EntryClaim> {
        self.by_arrival.values()
    }

    /// How many claims are within the share of their address.
    pub(super) fn within(&self) -> u32 {
        self.len() - self.beyond.len() as u32
    }

    /// How many of those an address has.
    pub(super) fn within_of(&self, peer: IpAddr) -> u32 {
        self.within.get(&owner(peer)).copied().unwrap_or(0)
    }

    /// How many of those it has for clients that came before this one; a newcomer
    /// comes after all.
    pub(super) fn within_before(&self, peer: IpAddr, arrival: Option<u64>) -> u32 {
        let Some(arrival) = arrival else { return self.within_of(peer) };
        let counts = |claim: &EntryClaim| !claim.beyond && owner(claim.peer) == owner(peer);
        self.by_arrival.range(..arrival).filter(|(_, claim)| counts(claim)).count() as u32
    }

    /// True when a client without a claim may have one of its free slots: fewer
    /// than that are reserved for others.
    pub(super) fn let_in(&self, who: Turn, now: Instant) -> bool {
        let kept = self.before(who).filter(|claim| who.arrival.is_none() || now < claim.open_at);
        kept.count() < who.slots as usize
    }

    /// The entries that are passed when this client is served, because the
    /// slots reserved for them are open; none when there are enough slots for
    /// all of them.
    pub(super) fn passed_by(&self, who: Turn, now: Instant) -> impl Iterator<Item = u32> {
        let passes = self.before(who).count() >= who.slots as usize;
        let open = self.before(who).filter(move |claim| passes && claim.open_at <= now);
        open.map(|claim| claim.entry)
    }

    /// The claims that take precedence over a client without one: of clients
    /// that came earlier, and, when it has its share, of all that have less
    /// than theirs.
    fn before(&self, who: Turn) -> impl Iterator<Item = &EntryClaim> {
        let ahead = move |arrival: u64| who.arrival.is_none_or(|own| arrival < own);
        let before =
            move |&(&arrival, claim): &(&u64, &EntryClaim)| match (who.beyond, claim.beyond) {
                (true, false) => true,
                (false, true) => false,
                _ => ahead(arrival),
            };
        self.by_arrival.iter().filter(before).map(|(_, claim)| claim)
    }

    /// Reserves a slot.
    pub(super) fn add(&mut self, arrival: u64, claim: EntryClaim) {
        self.by_end.insert((claim.until, arrival));
        self.by_since.insert((claim.since, arrival));
        if claim.beyond {
            self.beyond.insert(arrival);
        } else {
            *self.within.entry(owner(claim.peer)).or_default() += 1;
        }
        let before = self.by_arrival.insert(arrival, claim);
        assert!(before.is_none(), "an entry that gets a claim has none");
    }

    /// Ends a claim; `orphaned` when its slot stays free, so that the next
    /// claim counts from the time the slot became free.
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

    /// Ends a claim because a slot is gone: the last one beyond a share if
    /// there is any, otherwise the one that arrived last. The slot that is gone
    /// is the one that has been free longest; its claimant takes over the other
    /// slot, which is not opened any earlier for that.
    pub(super) fn drop_last(&mut self) {
        let last = self.beyond.last().or_else(|| self.by_arrival.last_key_value().map(|(a, _)| a));
        let Some(&arrival) = last else { return };
        let last = self.by_arrival[&arrival];
        self.remove(arrival, false);
        if let Some(&oldest) = self.by_since.first()
            && oldest.0 < last.since
            && let Some(claim) = self.by_arrival.get_mut(&oldest.1)
        {
            // How long it takes to open depends on the claimant.
            claim.open_at = last.since + claim.open_at.since(claim.since);
            claim.since = last.since;
            self.by_since.remove(&oldest);
            self.by_since.insert((last.since, oldest.1));
        }
    }

    /// Ends all claims.
    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Since when the slot of the next claim has been free.
    pub(super) fn inherit(&mut self, now: Instant) -> Instant {
        self.orphans.pop().unwrap_or(now)
    }

    /// Returns what `inherit` gave, for the next claim.
    pub(super) fn bequeath(&mut self, since: Instant) {
        self.orphans.push(since);
    }

    /// No claim is left to inherit.
    pub(super) fn settled(&mut self) {
        self.orphans.clear();
    }

    /// When the first claim expires.
    pub(super) fn next(&self) -> Option<Instant> {
        self.by_end.first().map(|&(until, _)| until)
    }

    /// An entry whose claim has expired at `now`, and its arrival.
    pub(super) fn due(&self, now: Instant) -> Option<(u32, u64)> {
        let &(until, arrival) = self.by_end.first()?;
        (until <= now).then(|| (self.by_arrival[&arrival].entry, arrival))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Rng;
    use crate::time::Duration;

    /// All claims as a plain list, in order of arrival.
    type Model = Vec<(u64, EntryClaim)>;

    fn peer(n: u64) -> IpAddr {
        IpAddr::from([10, 0, 0, n as u8])
    }

    fn at(s: u64) -> Instant {
        Instant::from_secs(s)
    }

    fn within(model: &[(u64, EntryClaim)], peer: IpAddr) -> usize {
        model.iter().filter(|(_, claim)| !claim.beyond && claim.peer == peer).count()
    }

    fn add(claims: &mut Claims, model: &mut Model, arrival: u64, dice: &mut Rng) {
        let (since, open) = (at(dice.below(50)), dice.below(60));
        let claim = EntryClaim {
            entry: arrival as u32 * 3,
            peer: peer(dice.below(4)),
            beyond: dice.chance(1, 3),
            since,
            open_at: since + Duration::from_secs(open),
            until: at(dice.below(99)),
        };
        claims.add(arrival, claim);
        model.push((arrival, claim));
        model.sort_by_key(|(arrival, _)| *arrival);
    }

    /// The last beyond a share goes, or the last of all; the slot that was free
    /// for the longest is gone, and its claimant gets the other one.
    fn drop_last(model: &mut Model) {
        let beyond = model.iter().rposition(|(_, claim)| claim.beyond);
        let Some(last) = beyond.or_else(|| model.len().checked_sub(1)) else { return };
        let (_, gone) = model.remove(last);
        let oldest = model.iter_mut().min_by_key(|(arrival, claim)| (claim.since, *arrival));
        if let Some((_, claim)) = oldest.filter(|(_, claim)| claim.since < gone.since) {
            let opens = claim.open_at.since(claim.since);
            (claim.since, claim.open_at) = (gone.since, gone.since + opens);
        }
    }

    /// A client with more than so many within its share keeps the first of them.
    fn demote_all(model: &mut [(u64, EntryClaim)], most: usize) {
        for n in 0..4 {
            let of = |(_, claim): &&mut (u64, EntryClaim)| !claim.beyond && claim.peer == peer(n);
            model.iter_mut().filter(of).skip(most).for_each(|(_, claim)| claim.beyond = true);
        }
    }

    fn compare(claims: &Claims, model: &[(u64, EntryClaim)], dice: &mut Rng) {
        let times = |claim: &EntryClaim| (claim.entry, claim.since, claim.open_at, claim.beyond);
        assert!(claims.all().map(times).eq(model.iter().map(|(_, claim)| times(claim))));
        assert_eq!(claims.len() as usize, model.len());
        for n in 0..4 {
            assert_eq!(claims.within_of(peer(n)) as usize, within(model, peer(n)));
            assert_eq!(claims.within_before(peer(n), None), claims.within_of(peer(n)));
            let arrival = dice.below(41);
            let before = &model[..model.partition_point(|(other, _)| *other < arrival)];
            let found = claims.within_before(peer(n), Some(arrival));
            assert_eq!(found as usize, within(before, peer(n)));
        }
        let some = (0..4).filter(|n| within(model, peer(*n)) > 0).count();
        assert_eq!(claims.within.len(), some, "nothing is kept of addresses without claims");
        let inside = model.iter().filter(|(_, claim)| !claim.beyond).count();
        assert_eq!(claims.within() as usize, inside);
        for arrival in 0..40 {
            let found = model.iter().find(|(other, _)| *other == arrival);
            assert_eq!(claims.has(arrival), found.is_some());
            assert_eq!(claims.is_within(arrival), found.is_some_and(|(_, claim)| !claim.beyond));
        }
        let first = model.iter().map(|(arrival, claim)| (claim.until, *arrival)).min();
        assert_eq!(claims.next(), first.map(|(until, _)| until));
        for now in [0, dice.below(99), 99].map(at) {
            let due = first.filter(|(until, _)| *until <= now);
            let due = due.map(|(_, arrival)| (arrival as u32 * 3, arrival));
            assert_eq!(claims.due(now), due);
            let arrival = Some(dice.below(40)).filter(|_| dice.chance(2, 3));
            let who = Turn { arrival, beyond: dice.chance(1, 2), slots: dice.below(9) as u32 };
            turn(claims, model, who, now);
        }
    }

    /// The entries that come before another: those with less than their share before those
    /// with all of it, and among equals the one that arrived first.
    fn turn(claims: &Claims, model: &[(u64, EntryClaim)], who: Turn, now: Instant) {
        let own = (who.beyond, who.arrival.unwrap_or(u64::MAX));
        let before: Vec<_> = model.iter().filter(|(a, c)| (c.beyond, *a) < own).collect();
        let open = |claim: &EntryClaim| claim.open_at <= now;
        let kept = before.iter().filter(|(_, c)| who.arrival.is_none() || !open(c)).count();
        assert_eq!(claims.let_in(who, now), kept < who.slots as usize, "{who:?}");
        let passed = before.iter().filter(|(_, c)| before.len() >= who.slots as usize && open(c));
        assert!(claims.passed_by(who, now).eq(passed.map(|(_, claim)| claim.entry)));
    }

    #[test]
    fn claims_are_what_a_plain_list_of_them_says() {
        let mut dice = Rng::new(1);
        let (mut claims, mut model) = (Claims::default(), Model::new());
        for _ in 0..3_000 {
            let arrival = dice.below(40);
            let known = model.iter().position(|(other, _)| *other == arrival);
            match (dice.below(12), known) {
                (0..5, None) => add(&mut claims, &mut model, arrival, &mut dice),
                (0..3, Some(place)) => {
                    claims.remove(arrival, false);
                    model.remove(place);
                }
                (3..6, _) => {
                    assert_eq!(claims.promote(arrival), known.is_some());
                    known.into_iter().for_each(|place| model[place].1.beyond = false);
                }
                (6, _) => {
                    let most = dice.below(4) as usize;
                    while claims.demote(|_| most as u32) {}
                    demote_all(&mut model, most);
                }
                (7, _) => {
                    claims.drop_last();
                    drop_last(&mut model);
                }
                _ => {}
            }
            compare(&claims, &model, &mut dice);
        }
        claims.clear();
        compare(&claims, &[], &mut dice);
    }

    #[test]
    fn a_slot_whose_claim_ended_has_been_free_since_then_for_the_next_claim_only() {
        let (mut claims, mut dice) = (Claims::default(), Rng::new(2));
        let mut model = Model::new();
        (0..2).for_each(|arrival| add(&mut claims, &mut model, arrival, &mut dice));
        claims.remove(0, true);
        claims.remove(1, false);
        assert_eq!(claims.inherit(at(500)), model[0].1.since);
        assert_eq!(claims.inherit(at(500)), at(500), "there was but one");
        claims.bequeath(at(7));
        claims.settled();
        assert_eq!(claims.inherit(at(501)), at(501));
        claims.bequeath(at(8));
        assert_eq!(claims.inherit(at(502)), at(8));
    }
}
