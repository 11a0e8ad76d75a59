//! Decides whose turn it is: free slots are reserved for the first present
//! entries of the queue, within the share of each address.

use core::net::IpAddr;

use super::claims::{EntryClaim, Turn};
use super::tables::entry::{Patience, QueueEntry};
use super::{QueueEffects, QueueServer};
use crate::queue::Event;
use crate::time::Instant;

/// How many present entries may be skipped because their address has its share.
/// Nothing is reserved for those further back, but they get a slot when they
/// ask.
const PASSED_OVER: u32 = 64;

impl QueueServer {
    /// Slots that no client uses.
    #[must_use]
    pub fn free(&self) -> u32 {
        self.config.slots.saturating_sub(self.uploads.len() as u32)
    }

    /// The same for a client with less than its share: slots that others hold
    /// beyond their share count as free.
    pub(super) fn free_within(&self) -> u32 {
        (self.config.slots + self.shares.lent()).saturating_sub(self.uploads.len() as u32)
    }

    /// True when a newcomer would get a place: while it is false, query hits
    /// say busy (AQ-12).
    #[must_use]
    pub fn has_room(&self) -> bool {
        self.length() < self.config.capacity || self.claims.within() < self.free_within()
    }

    /// True when an address has its share of the slots, including those that
    /// are reserved for it.
    fn has_its_share(&self, peer: IpAddr) -> bool {
        self.shares.slots_held(peer) + self.claims.within_of(peer) >= self.shares.share()
    }

    fn turn(&self, arrival: Option<u64>, peer: IpAddr) -> Turn {
        // What is reserved for a later client of its address is no reason to pass
        // it over: among those of one address, too, the first is first.
        let before = self.claims.within_before(peer, arrival);
        let beyond = self.shares.slots_held(peer) + before >= self.shares.share();
        Turn { arrival, beyond, slots: if beyond { self.free() } else { self.free_within() } }
    }

    /// True when an entry of the queue may have a slot now.
    pub(super) fn is_next(&self, at: u32, now: Instant) -> bool {
        let QueueEntry { arrival, peer, .. } = self.places.slab[at];
        self.claims.has(arrival) || self.claims.let_in(self.turn(Some(arrival), peer), now)
    }

    /// True when a newcomer may have a slot now.
    pub(super) fn lets_in(&self, peer: IpAddr, now: Instant) -> bool {
        self.claims.let_in(self.turn(None, peer), now)
    }

    /// An entry is about to be served: marks the entries it passes.
    pub(super) fn passes(&mut self, at: u32, now: Instant) {
        let QueueEntry { arrival, peer, .. } = self.places.slab[at];
        if self.claims.has(arrival) {
            return;
        }
        for other in self.claims.passed_by(self.turn(Some(arrival), peer), now) {
            self.places.slab[other].patience = Patience::Passed;
        }
    }

    /// Ends expired claims, and reserves the free slots for the first present
    /// entries of the queue. Must run after a change of either, and before a
    /// newcomer is served.
    pub(super) fn settle(&mut self, now: Instant, fx: &mut QueueEffects) {
        while let Some((at, arrival)) = self.claims.due(now) {
            let entry = &self.places.slab[at];
            self.line.set_present(entry.seat, false);
            fx.event(Event::Lapsed { ticket: entry.ticket });
            self.claims.remove(arrival, true);
        }
        self.drop_claims();
        self.claim_shares(now, fx);
        self.drop_claims();
        self.claim_the_rest(now, fx);
        self.claims.settled();
    }

    /// Ends claims for which there is no slot.
    fn drop_claims(&mut self) {
        let shares = &self.shares;
        while self.claims.demote(|peer| shares.share().saturating_sub(shares.slots_held(peer))) {}
        while self.claims.within() > self.free_within().min(self.line.present())
            || self.claims.len() > self.free().max(self.claims.within())
        {
            self.claims.drop_last();
        }
    }

    /// Reserves slots for entries whose address has less than its share.
    fn claim_shares(&mut self, now: Instant, fx: &mut QueueEffects) {
        let (mut rank, mut passed_over) = (1, 0);
        while self.claims.within() < self.free_within().min(self.line.present())
            && passed_over < PASSED_OVER
            && let Some(at) = self.line.present_at(rank)
        {
            let QueueEntry { arrival, peer, .. } = self.places.slab[at];
            if self.claims.is_within(arrival) {
                rank += 1;
            } else if self.has_its_share(peer) {
                (rank, passed_over) = (rank + 1, passed_over + 1);
            } else if !self.claims.promote(arrival) {
                self.claim(now, at, false, fx);
            }
        }
    }

    /// Reserves the remaining slots for the first entries, whatever their
    /// address.
    fn claim_the_rest(&mut self, now: Instant, fx: &mut QueueEffects) {
        let mut rank = 1;
        while self.claims.len() < self.free().min(self.line.present())
            && let Some(at) = self.line.present_at(rank)
        {
            if self.claims.has(self.places.slab[at].arrival) || self.claim(now, at, true, fx) {
                rank += 1;
            }
        }
    }

    /// Reserves a slot for an entry; false when it is too late for that, and
    /// the entry is marked absent.
    fn claim(&mut self, now: Instant, at: u32, beyond: bool, fx: &mut QueueEffects) -> bool {
        let since = self.claims.inherit(now);
        let entry = &self.places.slab[at];
        let (peer, until) = (entry.peer, entry.deadline.min(entry.awaited));
        let reserve = self.config.entitled_reserve.scaled(self.config.time_scale);
        let open_at =
            if entry.patience == Patience::Proven { Instant::MAX } else { since + reserve };
        if until <= now {
            self.line.set_present(entry.seat, false);
            self.claims.bequeath(since);
            fx.event(Event::Lapsed { ticket: entry.ticket });
            return false;
        }
        let claim = EntryClaim { entry: at, peer, beyond, since, open_at, until };
        self.claims.add(entry.arrival, claim);
        fx.event(Event::Entitled { ticket: entry.ticket });
        self.call_back(now, at, fx);
        true
    }
}
