//! What each address has of a place: its seats, and its relayed meetings.

use alloc::collections::BTreeMap;
use core::net::{IpAddr, SocketAddr};

use super::Config;
use crate::meet::OwnerHoldings;
use crate::meet::door::visitor_owner;
use crate::meet::holdings::customer;
use crate::time::{Duration, Instant};
use crate::wire::meet::MeetingId;

/// Addresses of which is known how many seats they took lately. When there are more,
/// those that took one only are forgotten: a flood of them keeps no other out. If as many
/// took two, all are. None has more seats for that: those it has are counted in
/// [`SeatOwners::seats`], which forgets nothing. Nor can names of meetings be tried faster
/// than without: one who has 16 384 addresses, or 137 customers' networks, has spent
/// 32 768 tries until one address may begin its 60 anew.
const OWNERS: usize = 16_384;

/// How many addresses' seats all IPv6 networks of a customer may take: it has 65 536.
const NETWORKS: u32 = 4;

/// The seats that one address, or all networks of a customer, took lately.
#[derive(Debug, Clone, Copy, Default)]
struct OwnerTally {
    since: Instant,
    taken: u32,
}

/// The seats of every address. Each socket has one at most.
#[derive(Debug, Clone)]
pub(super) struct SeatOwners {
    seats: OwnerHoldings<SocketAddr, MeetingId>,
    /// Of owners, and of their customers, by how much they may.
    tallies: BTreeMap<(u32, IpAddr), OwnerTally>,
    forgot: Instant,
}

impl SeatOwners {
    pub(super) const fn new() -> Self {
        let seats = OwnerHoldings::new();
        Self { seats, tallies: BTreeMap::new(), forgot: Instant::ZERO }
    }

    /// The meeting of a visitor.
    pub(super) fn meeting_at(&self, at: SocketAddr) -> Option<MeetingId> {
        self.seats.get(visitor_owner(at.ip()), at)
    }

    /// The visitors of the address that gives way to a newcomer, as it has the most seats;
    /// with their meetings.
    pub(super) fn crowd(
        &self,
        newcomer: SocketAddr,
    ) -> impl Iterator<Item = (SocketAddr, MeetingId)> + '_ {
        let most = self.seats.crowd(visitor_owner(newcomer.ip()));
        most.into_iter().flat_map(|owner| self.seats.iter(owner))
    }

    /// Counts one more seat, in the place of one that it has if it `gives_one_up`; false
    /// when the address has too many, or took too many lately.
    pub(super) fn count(
        &mut self,
        now: Instant,
        at: SocketAddr,
        (gives_one_up, config): (bool, &Config),
    ) -> bool {
        self.forget(now, config.seat_window);
        let owner = visitor_owner(at.ip());
        let seated = self.seats.count(owner) - u32::from(gives_one_up);
        if seated >= config.meetings_per_ip {
            return false;
        }
        let networks = owner.is_ipv6().then(|| (NETWORKS, customer(owner)));
        let both = [Some((1, owner)), networks];
        let counted = both.into_iter().flatten();
        if counted.clone().any(|who| self.tally(now, who, config) >= who.0 * config.seats_per_ip) {
            return false;
        }
        counted.for_each(|who| self.tallies.entry(who).or_default().taken += 1);
        true
    }

    /// How many seats were taken lately.
    fn tally(&mut self, now: Instant, who: (u32, IpAddr), config: &Config) -> u32 {
        if self.tallies.len() >= OWNERS && !self.tallies.contains_key(&who) {
            self.tallies.retain(|_, tally| tally.taken > 1);
            if self.tallies.len() >= OWNERS {
                self.tallies.clear();
            }
        }
        let tally = self.tallies.entry(who).or_default();
        if now.since(tally.since) >= config.seat_window {
            *tally = OwnerTally { since: now, taken: 0 };
        }
        tally.taken
    }

    /// A visitor has its seat.
    pub(super) fn came(&mut self, at: SocketAddr, id: MeetingId) {
        self.seats.add(visitor_owner(at.ip()), at, id);
    }

    /// A visitor has left its seat.
    pub(super) fn left(&mut self, at: SocketAddr) {
        self.seats.remove(visitor_owner(at.ip()), at);
    }

    /// Removes what is too old to matter. It walks the table, so it is rarely done.
    fn forget(&mut self, now: Instant, window: Duration) {
        if now.since(self.forgot) < window {
            return;
        }
        self.forgot = now;
        self.tallies.retain(|_, tally| now.since(tally.since) < window);
    }
}
