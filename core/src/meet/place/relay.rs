//! Passing on what the two sides of a meeting send, unread (PA-13).

use alloc::collections::{BTreeMap, BTreeSet};
use core::net::{IpAddr, SocketAddr};

use super::rate::{RateShare, SharedRate};
use super::{Config, Event, PlaceEffects, PlaceOutput};
use crate::meet::OwnerHoldings;
use crate::meet::door::visitor_owner;
use crate::meet::holdings::customer;
use crate::time::{Duration, Instant};
use crate::wire::meet::{MeetPacket, MeetRefusal};

/// An address that has all its relayed meetings gives one up for the next that was silent
/// for so long; one in which something goes on is worth more than the next.
const IDLE: Duration = Duration::from_secs(10);

/// A visitor that is to be relayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RelayedVisitor {
    pub(super) at: SocketAddr,
    /// The number of its registration: what it is told carries it.
    pub(super) number: u64,
    /// The bytes of one goodbye are set aside for it.
    pub(super) paid: bool,
}

/// One side of a relayed meeting.
#[derive(Debug, Clone)]
struct RelaySide {
    visitor: RelayedVisitor,
    /// Bytes passed on for it.
    bytes: u64,
    /// When it has sent something last.
    last: Instant,
    /// The first and the last of what was sent to it since then.
    unanswered: Option<(Instant, Instant)>,
}

impl RelaySide {
    const fn new(now: Instant, visitor: RelayedVisitor) -> Self {
        Self { visitor, bytes: 0, last: now, unanswered: None }
    }

    /// Something is sent to it; false when it has answered nothing of that for so long.
    /// Two that were silent both, and speak again, begin anew.
    fn is_sent(&mut self, now: Instant, patience: Duration) -> bool {
        let since = match self.unanswered {
            Some((since, last)) if now.since(last) < patience => since,
            _ => now,
        };
        self.unanswered = Some((since, now));
        now.since(since) < patience
    }
}

/// A relayed meeting.
#[derive(Debug, Clone)]
struct RelayPair {
    sides: [RelaySide; 2],
    /// A side has left: it ends then.
    left: Option<Instant>,
    /// Of what it is given a part: the network of that side which takes part in most.
    payer: IpAddr,
    share: RateShare,
    /// Its entry in the agenda; never later than its deadline.
    wake: Instant,
}

impl RelayPair {
    fn owners(&self) -> [IpAddr; 2] {
        self.sides.each_ref().map(|side| visitor_owner(side.visitor.at.ip()))
    }

    /// When one of them has sent something last.
    fn last(&self) -> Instant {
        let [one, other] = &self.sides;
        one.last.max(other.last)
    }

    fn deadline(&self, config: &Config) -> Instant {
        let [one, other] = &self.sides;
        let silent = one.last.min(other.last) + config.relay_silence;
        self.left.map_or(silent, |left| left.min(silent))
    }
}

/// All relayed meetings, and the rate they share.
#[derive(Debug, Clone)]
pub(super) struct Relays {
    config: Config,
    /// Each side's meeting, and which of its sides it is.
    sides: BTreeMap<SocketAddr, (u64, usize)>,
    pairs: BTreeMap<u64, RelayPair>,
    /// When each has to be looked at.
    agenda: BTreeSet<(Instant, u64)>,
    /// How many there have been.
    joined: u64,
    owners: OwnerHoldings<u64, ()>,
    rate: SharedRate,
}

impl Relays {
    pub(super) fn new(config: &Config) -> Self {
        Self {
            config: *config,
            sides: BTreeMap::new(),
            pairs: BTreeMap::new(),
            agenda: BTreeSet::new(),
            joined: 0,
            owners: OwnerHoldings::new(),
            rate: SharedRate::new(config.relay_rate),
        }
    }

    pub(super) fn pairs(&self) -> u64 {
        self.pairs.len() as u64
    }

    pub(super) fn has(&self, from: SocketAddr) -> bool {
        self.sides.contains_key(&from)
    }

    /// True when what one sends goes to the other.
    pub(super) fn joins(&self, one: SocketAddr, other: SocketAddr) -> bool {
        let pair = self.sides.get(&one).map(|(pair, _)| pair);
        one != other && pair.is_some() && pair == self.sides.get(&other).map(|(pair, _)| pair)
    }

    /// Two visitors are one meeting from now on.
    pub(super) fn join(&mut self, now: Instant, pair: [RelayedVisitor; 2], fx: &mut PlaceEffects) {
        let [one, other] = pair.map(|visitor| visitor.at);
        if one == other {
            return;
        }
        if self.joins(one, other) {
            self.continue_with(now, pair);
            return;
        }
        let stays = |number| pair.iter().any(|visitor| visitor.number == number);
        for at in [one, other] {
            if let Some((before, _)) = self.sides.get(&at).copied() {
                // A side that has moved is not gone.
                self.end(before, |side| (!stays(side.number)).then_some(MeetRefusal::Gone), fx);
            }
        }
        if !self.has_room(now, [one, other].map(|at| visitor_owner(at.ip())), fx) {
            return;
        }
        let id = self.joined;
        self.joined += 1;
        let wake = now + self.config.relay_silence;
        self.agenda.insert((wake, id));
        let (sides, share) = (pair.map(|it| RelaySide::new(now, it)), RateShare::default());
        let owners = [one, other].map(|at| visitor_owner(at.ip()));
        owners.into_iter().for_each(|owner| self.owners.add(owner, id, ()));
        let payer = customer(self.greater(owners));
        let pair = RelayPair { sides, left: None, payer, share, wake };
        self.sides.extend([(one, (id, 0)), (other, (id, 1))]);
        self.pairs.insert(id, pair);
    }

    /// True when these two addresses may have one more. If all are taken, the address that
    /// has the most gives one up: the one that was silent for longest.
    fn has_room(&mut self, now: Instant, owners: [IpAddr; 2], fx: &mut PlaceEffects) -> bool {
        for owner in owners {
            if self.owners.count(owner) < self.config.meetings_per_ip {
                continue;
            }
            let Some((last, id)) = self.quietest(owner) else { return false };
            if now.since(last) < IDLE {
                return false;
            }
            self.end(id, |_| Some(MeetRefusal::Gone), fx);
        }
        if self.pairs.len() < self.config.meetings as usize {
            return true;
        }
        let crowd = self.owners.crowd(self.greater(owners));
        let Some((_, id)) = crowd.and_then(|owner| self.quietest(owner)) else { return false };
        self.end(id, |_| Some(MeetRefusal::Full), fx);
        true
    }

    /// That of two owners which takes part in more meetings; the first if both are equal.
    fn greater(&self, [one, other]: [IpAddr; 2]) -> IpAddr {
        if self.owners.count(other) > self.owners.count(one) { other } else { one }
    }

    /// The meeting of an address that was silent for longest, and since when.
    fn quietest(&self, owner: IpAddr) -> Option<(Instant, u64)> {
        let ids = self.owners.iter(owner).map(|(id, ())| id);
        ids.filter_map(|id| Some((self.pairs.get(&id)?.last(), id))).min()
    }

    /// The same two have met again: a side that was started anew has another number.
    fn continue_with(&mut self, now: Instant, pair: [RelayedVisitor; 2]) {
        for visitor in pair {
            let Some((id, which)) = self.sides.get(&visitor.at) else { continue };
            let Some(pair) = self.pairs.get_mut(id) else { continue };
            let side = &mut pair.sides[*which];
            if side.visitor.number != visitor.number {
                let bytes = side.bytes;
                *side = RelaySide { bytes, ..RelaySide::new(now, visitor) };
                pair.left = None;
            }
        }
    }

    /// A visitor leaves: what it has sent last is still passed on, then the other side is
    /// told.
    pub(super) fn leave(&mut self, now: Instant, from: SocketAddr, number: u64) {
        let Some((id, which)) = self.sides.get(&from).copied() else { return };
        let Some(pair) = self.pairs.get_mut(&id) else { return };
        let side = &mut pair.sides[which];
        // Its number is known to itself and to us alone.
        if side.visitor.number == number && pair.left.is_none() {
            side.visitor.paid = false; // It knows.
            pair.left = Some(now + self.config.relay_farewell);
            self.rearm(id);
        }
    }

    /// A visitor that is not there any more.
    pub(super) fn lost(&mut self, at: SocketAddr, fx: &mut PlaceEffects) {
        if let Some((id, _)) = self.sides.get(&at).copied() {
            self.end(id, |side| (side.at != at).then_some(MeetRefusal::Gone), fx);
        }
    }

    /// The place ends: all are told but those that know already.
    pub(super) fn close(&mut self, told: &BTreeSet<(SocketAddr, u64)>, fx: &mut PlaceEffects) {
        let known = |side: &RelayedVisitor| told.contains(&(side.at, side.number));
        let why = |side: &RelayedVisitor| (!known(side)).then_some(MeetRefusal::Closing);
        while let Some((id, _)) = self.pairs.first_key_value() {
            self.end(*id, why, fx);
        }
    }

    /// Ends a meeting, and tells each side why, if there is a reason for it.
    fn end(
        &mut self,
        id: u64,
        why: impl Fn(&RelayedVisitor) -> Option<MeetRefusal>,
        fx: &mut PlaceEffects,
    ) {
        let Some(pair) = self.pairs.remove(&id) else { return };
        self.agenda.remove(&(pair.wake, id));
        pair.owners().into_iter().for_each(|owner| self.owners.remove(owner, id));
        for side in pair.sides {
            let RelayedVisitor { at, number, paid } = side.visitor;
            self.sides.remove(&at);
            fx.event(Event::RelayEnded { peer: at, bytes: side.bytes });
            if let Some(why) = why(&side.visitor).filter(|_| paid) {
                let packet = MeetPacket::Refused { nonce: number, why };
                fx.output(PlaceOutput::Packet { to: at, packet });
            }
        }
    }

    /// Where datagrams of a visitor go, and how many bytes of them the rate allows;
    /// `None` for one that is in no relayed meeting.
    pub(super) fn pass(
        &mut self,
        now: Instant,
        from: SocketAddr,
        (segment, bytes): (u32, u32),
        fx: &mut PlaceEffects,
    ) -> Option<(SocketAddr, u32)> {
        let (id, which) = self.sides.get(&from).copied()?;
        let pair = self.pairs.get_mut(&id)?;
        let fits = self.rate.take(now, (pair.payer, &mut pair.share), (segment, bytes));
        let side = &mut pair.sides[which];
        (side.bytes, side.last, side.unanswered) = (side.bytes + u64::from(fits), now, None);
        let other = &mut pair.sides[1 - which];
        let to = other.visitor.at;
        if !other.is_sent(now, self.config.relay_unanswered) {
            self.end(id, |_| Some(MeetRefusal::Gone), fx);
            return None;
        }
        Some((to, fits))
    }

    /// Sets the entry of a meeting to its deadline. One that is too early may stay: it is
    /// put off when it is due, not with every datagram.
    fn rearm(&mut self, id: u64) {
        let Some(pair) = self.pairs.get_mut(&id) else { return };
        let deadline = pair.deadline(&self.config);
        self.agenda.remove(&(pair.wake, id));
        self.agenda.insert((deadline, id));
        pair.wake = deadline;
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.agenda.first().map(|(at, _)| *at)
    }

    /// Ends those in which a side was silent for too long, or that a side has left.
    pub(super) fn run(&mut self, now: Instant, fx: &mut PlaceEffects) {
        while self.deadline().is_some_and(|at| at <= now)
            && let Some((_, id)) = self.agenda.pop_first()
        {
            let Some(pair) = self.pairs.get(&id) else { continue };
            if pair.deadline(&self.config) > now {
                self.rearm(id);
            } else {
                self.end(id, |_| Some(MeetRefusal::Gone), fx);
            }
        }
    }
}
