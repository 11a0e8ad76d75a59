//! Whose turn it is where many come to one servent, each for a meeting of its own: one that asks
//! more often than the others does not come before those that have waited for longer.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use crate::meet::door::visitor_owner;
use crate::meet::holdings::neighbourhood;
use crate::time::{Duration, Instant};
use crate::wire::meet::MeetingId;

/// Visitors of a meeting of which is known since when they wait. When there are more, the one
/// that came last gives way, of the address and the network of which most wait.
const WAITING: usize = 128;
/// Networks and addresses of a meeting of which is known when they had their turn last.
const SERVED: usize = 128;
/// Meetings in which visitors have waited for each other lately, and for how long that is known.
const MEETINGS: usize = 1_024;
const REMEMBERED: Duration = Duration::from_secs(60);
/// One that has not asked for so long waits no more: a visitor asks again after 0.8 s at most, in
/// two steps that may be lost on their way.
const ASKS: Duration = Duration::from_secs(2);
/// Of those that had their turn equally long ago one that asks need not let another go first
/// that came no more than so much earlier: a class that comes at once waits for none of its own.
const TOGETHER: Duration = Duration::from_secs(3);

/// When the network of an address had its turn last, and when its owner had: `None`, which is
/// less, if neither is known.
type TurnRank = [Option<Instant>; 2];

/// One that was refused because it was another's turn.
#[derive(Debug, Clone, Copy)]
struct WaitingVisitor {
    rank: TurnRank,
    since: Instant,
    asked: Instant,
}

impl WaitingVisitor {
    fn is_there(&self, now: Instant) -> bool {
        now.since(self.asked) < ASKS
    }
}

/// Who waits for the seat of a meeting, and who had it.
#[derive(Debug, Clone, Default)]
struct MeetingTurns {
    asked: Instant,
    waiting: BTreeMap<SocketAddr, WaitingVisitor>,
    served: BTreeMap<TurnParty, Instant>,
}

/// The network of an address, or its owner.
type TurnParty = (usize, IpAddr);

/// Both of an address.
fn parties(at: SocketAddr) -> [TurnParty; 2] {
    let owner = visitor_owner(at.ip());
    [(0, neighbourhood(owner)), (1, owner)]
}

/// The party of which there are most, and whether they are more than `ours` with one more.
fn largest(all: impl Iterator<Item = TurnParty>, ours: TurnParty) -> Option<(TurnParty, bool)> {
    let mut counts = BTreeMap::<TurnParty, u32>::new();
    all.for_each(|it| *counts.entry(it).or_default() += 1);
    let own = counts.get(&ours).copied().unwrap_or(0);
    let (crowd, most) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    Some((crowd, most > own + 1))
}

impl MeetingTurns {
    fn rank(&self, at: SocketAddr) -> TurnRank {
        parties(at).map(|party| self.served.get(&party).copied())
    }

    /// One asks, and does not get the seat.
    fn waits(&mut self, now: Instant, at: SocketAddr) {
        self.asked = now;
        if let Some(it) = self.waiting.get_mut(&at).filter(|it| it.is_there(now)) {
            it.asked = now;
            return;
        }
        self.waiting.remove(&at);
        if self.waiting.len() >= WAITING {
            self.waiting.retain(|_, it| it.is_there(now));
        }
        if self.waiting.len() < WAITING || self.one_gives_way(at) {
            let rank = self.rank(at);
            self.waiting.insert(at, WaitingVisitor { rank, since: now, asked: now });
        }
    }

    /// The one that came last is forgotten, of the address that has most in the network that has
    /// most; false if the newcomer is of those.
    fn one_gives_way(&mut self, newcomer: SocketAddr) -> bool {
        let ours = parties(newcomer);
        let all = || self.waiting.keys().map(|at| parties(*at));
        let Some((crowd, larger)) = largest(all().map(|it| it[0]), ours[0]) else { return false };
        let within = if larger { crowd } else { ours[0] };
        let owners = all().filter(|it| it[0] == within).map(|it| it[1]);
        let Some((owner, busier)) = largest(owners, ours[1]) else { return false };
        let of_owner = self.waiting.iter().filter(|(at, _)| parties(**at)[1] == owner);
        let last = of_owner.max_by_key(|(_, it)| it.since).map(|(at, _)| *at);
        let last = last.filter(|_| larger || busier);
        last.is_some_and(|at| self.waiting.remove(&at).is_some())
    }

    /// True when the free seat is for another that waits.
    fn is_for_another(&self, now: Instant, at: SocketAddr) -> bool {
        let ours = self.waiting.get(&at).filter(|it| it.is_there(now));
        let (rank, since) = (self.rank(at), ours.map_or(now, |it| it.since));
        let first =
            |it: &WaitingVisitor| it.rank < rank || it.rank == rank && it.since + TOGETHER <= since;
        let mut others = self.waiting.iter().filter(|(other, _)| **other != at);
        others.any(|(_, it)| it.is_there(now) && first(it))
    }

    /// One has the seat: it is the last from now on, and its network is.
    fn has_turn(&mut self, now: Instant, at: SocketAddr) {
        self.waiting.remove(&at);
        parties(at).into_iter().for_each(|party| _ = self.served.insert(party, now));
        while self.served.len() > SERVED {
            let oldest = self.served.iter().min_by_key(|(_, at)| **at).map(|(party, _)| *party);
            let Some(party) = oldest else { break };
            self.served.remove(&party);
        }
        let ranks: Vec<_> = self.waiting.keys().map(|at| self.rank(*at)).collect();
        self.waiting.values_mut().zip(ranks).for_each(|(it, rank)| it.rank = rank);
    }
}

/// The turns of all meetings in which one visitor waits for another.
#[derive(Debug, Clone, Default)]
pub(super) struct VisitorTurns(BTreeMap<MeetingId, MeetingTurns>);

impl VisitorTurns {
    /// A visitor asks while another has the seat, which is there.
    pub(super) fn waits(
        &mut self,
        now: Instant,
        (id, at): (MeetingId, SocketAddr),
        seated: SocketAddr,
    ) {
        if !self.0.contains_key(&id) {
            self.make_room(now);
        }
        let turns = self.0.entry(id).or_insert_with(|| {
            let mut turns = MeetingTurns::default();
            turns.has_turn(now, seated);
            turns
        });
        if at != seated {
            turns.waits(now, at);
        }
    }

    /// A visitor asks for a seat that is free; true when it is for another, and this one waits.
    pub(super) fn let_another(&mut self, now: Instant, (id, at): (MeetingId, SocketAddr)) -> bool {
        let Some(turns) = self.0.get_mut(&id) else { return false };
        let another = turns.is_for_another(now, at);
        if another {
            turns.waits(now, at);
        }
        another
    }

    /// A visitor has its seat.
    pub(super) fn has_turn(&mut self, now: Instant, (id, at): (MeetingId, SocketAddr)) {
        if let Some(turns) = self.0.get_mut(&id) {
            turns.has_turn(now, at);
        }
    }

    /// Forgets the meetings in which none waits; if there are none, that which was asked for
    /// longest ago.
    fn make_room(&mut self, now: Instant) {
        if self.0.len() < MEETINGS {
            return;
        }
        self.0.retain(|_, turns| now.since(turns.asked) < REMEMBERED);
        let oldest = self.0.iter().min_by_key(|(_, turns)| turns.asked).map(|(id, _)| *id);
        if let Some(id) = oldest.filter(|_| self.0.len() >= MEETINGS) {
            self.0.remove(&id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: MeetingId = MeetingId([1; 16]);

    fn at(network: u8, host: u8, port: u16) -> SocketAddr {
        ([198, 51, network, host], port).into()
    }

    fn second(n: u64) -> Instant {
        Instant::from_secs(1_000 + n)
    }

    #[test]
    fn one_that_has_stopped_asking_is_not_waited_for() {
        let mut turns = VisitorTurns::default();
        turns.waits(second(0), (ID, at(1, 1, 1)), at(2, 1, 1));
        assert!(turns.let_another(second(1), (ID, at(2, 1, 2))));
        assert!(!turns.let_another(second(2), (ID, at(2, 1, 2))), "it has left");
        assert!(!turns.let_another(second(2), (ID, at(1, 1, 1))));
    }

    #[test]
    fn those_of_one_address_let_one_go_first_that_has_waited_for_longer() {
        let mut turns = VisitorTurns::default();
        let (early, late) = (at(1, 1, 1), at(1, 1, 2));
        (0..4).for_each(|n| turns.waits(second(n), (ID, early), at(1, 1, 3)));
        assert!(turns.let_another(second(4), (ID, late)), "it came four seconds later");
        turns.has_turn(second(4), (ID, early));
        assert!(!turns.let_another(second(4), (ID, late)));
        turns.waits(second(5), (ID, early), late);
        assert!(!turns.let_another(second(5), (ID, late)), "they have come together");
        assert!(!turns.let_another(second(5), (ID, early)));
    }

    #[test]
    fn what_is_known_of_a_crowd_is_bounded_and_none_is_forgotten_for_it() {
        let mut turns = VisitorTurns::default();
        let few = at(1, 1, 1);
        for port in 1..=5_000_u16 {
            turns.waits(second(0), (ID, at(2, port.to_be_bytes()[1], port)), at(2, 1, 1));
        }
        turns.waits(second(0), (ID, few), at(2, 1, 1));
        for port in 1..=5_000_u16 {
            turns.waits(second(1), (ID, at(2, port.to_be_bytes()[0], port)), at(2, 1, 1));
        }
        assert_eq!(turns.0[&ID].waiting.len(), WAITING);
        assert!(turns.0[&ID].waiting.contains_key(&few));
        for n in 0..=255 {
            turns.has_turn(second(2), (ID, at(n, 1, 1)));
        }
        assert_eq!(turns.0[&ID].served.len(), SERVED);
    }

    #[test]
    fn meetings_in_which_none_waits_any_more_are_forgotten() {
        let mut turns = VisitorTurns::default();
        let id = |n: usize| MeetingId((n as u128).to_be_bytes());
        for n in 0..2 * MEETINGS {
            let now = second(0) + Duration::from_millis(n as u64);
            turns.waits(now, (id(n), at(1, 1, 1)), at(2, 1, 1));
        }
        assert_eq!(turns.0.len(), MEETINGS);
        assert!(turns.0.contains_key(&id(2 * MEETINGS - 1)));
        turns.waits(second(100), (ID, at(1, 1, 1)), at(2, 1, 1));
        assert_eq!(turns.0.len(), 1);
    }
}
