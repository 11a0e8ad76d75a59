//! Passing on what the two sides of a meeting send, unread (PA-13).

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::mem;
use core::net::{IpAddr, SocketAddr};

use super::queue::{ALL, DatagramBatch, RelayQueue};
use super::rate::{RateShare, SharedRate};
use super::{Config, Event, PlaceEffects, PlaceOutput};
use crate::meet::OwnerHoldings;
use crate::meet::door::visitor_owner;
use crate::time::{Duration, Instant};
use crate::wire::meet::{MeetPacket, MeetRefusal};

/// An address that has all its relayed meetings gives one up for the next that was silent
/// for so long; one in which something goes on is worth more than the next.
const IDLE: Duration = Duration::from_secs(10);
/// How often it is looked whether what waits may go on: so often for each so many meetings
/// of which something waits, and at least so often. Each has a smaller part of the rate
/// then, and the rate saves up for longer than that ([`SharedRate`]).
const PUMP_EVERY: Duration = Duration::from_millis(2);
const PUMPED_TOGETHER: u64 = 64;
const PUMP_LATEST: Duration = Duration::from_millis(20);

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
    /// What it has sent and waits.
    queue: RelayQueue,
}

impl RelaySide {
    fn new(now: Instant, visitor: RelayedVisitor) -> Self {
        Self { visitor, bytes: 0, last: now, unanswered: None, queue: RelayQueue::default() }
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
    /// Of what it is given a part: the owner of that side which takes part in most.
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
    /// Those of which something waits, which of them had its turn first the last time, and
    /// when the next may go on.
    waiting: BTreeSet<u64>,
    turn: u64,
    pump_at: Option<Instant>,
    /// What it costs that something waits, of all together.
    held: u64,
    traffic: RelayTraffic,
}

/// What was passed on, and what was not because it was too much.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RelayTraffic {
    pub(super) passed: u64,
    pub(super) dropped: u64,
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
            waiting: BTreeSet::new(),
            turn: 0,
            pump_at: None,
            held: 0,
            traffic: RelayTraffic::default(),
        }
    }

    pub(super) const fn traffic(&self) -> RelayTraffic {
        self.traffic
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
        let payer = self.greater(owners);
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
                let (bytes, queue) = (side.bytes, mem::take(&mut side.queue));
                *side = RelaySide { bytes, queue, ..RelaySide::new(now, visitor) };
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
        self.waiting.remove(&id);
        pair.owners().into_iter().for_each(|owner| self.owners.remove(owner, id));
        for side in pair.sides {
            let RelayedVisitor { at, number, paid } = side.visitor;
            self.sides.remove(&at);
            if !side.queue.is_empty() {
                self.held -= u64::from(side.queue.cost());
                fx.output(PlaceOutput::Discard { from: at });
            }
            fx.event(Event::RelayEnded { peer: at, bytes: side.bytes });
            if let Some(why) = why(&side.visitor).filter(|_| paid) {
                let packet = MeetPacket::Refused { nonce: number, why };
                fx.output(PlaceOutput::Packet { to: at, packet });
            }
        }
    }

    /// Passes on datagrams of a visitor, as far as the rate allows it now; what is too much
    /// waits, as far as there is room.
    pub(super) fn pass(
        &mut self,
        now: Instant,
        (from, batch): (SocketAddr, DatagramBatch),
        fx: &mut PlaceEffects,
    ) {
        let Some((id, which)) = self.sides.get(&from).copied() else { return };
        self.pump(now, id, fx); // It came before.
        let Some(pair) = self.pairs.get_mut(&id) else { return };
        let [segment, all] = [batch.segment, batch.bytes];
        let is_next = pair.sides[which].queue.is_empty();
        let wanted = if is_next { all } else { 0 };
        let fits = self.rate.take(now, (pair.payer, &mut pair.share), (segment, wanted));
        let share = self.rate.fair(pair.payer);
        let side = &mut pair.sides[which];
        (side.bytes, side.last, side.unanswered) = (side.bytes + u64::from(fits), now, None);
        let before = side.queue.cost();
        let rest = DatagramBatch { segment, bytes: all - fits };
        let waits = side.queue.add(rest, (share, ALL.saturating_sub(self.held)));
        self.held += u64::from(side.queue.cost() - before);
        let other = &mut pair.sides[1 - which];
        let to = other.visitor.at;
        if !other.is_sent(now, self.config.relay_unanswered) {
            return self.end(id, |_| Some(MeetRefusal::Gone), fx);
        }
        self.traffic.passed += u64::from(fits);
        self.traffic.dropped += u64::from(all - fits - waits);
        if fits > 0 {
            fx.output(PlaceOutput::Forward { to, bytes: fits });
        }
        if waits > 0 {
            self.waiting.insert(id);
            let next = self.next_pump(now);
            self.pump_at.get_or_insert(next);
            fx.output(PlaceOutput::Hold { from, skip: fits, bytes: waits });
        }
        self.rate.set_waiting(!self.waiting.is_empty());
    }

    /// Passes on what waits of a meeting, as far as the rate allows it now: first of the side
    /// that has less, which acknowledges what the other one sends.
    fn pump(&mut self, now: Instant, id: u64, fx: &mut PlaceEffects) {
        if !self.waiting.contains(&id) {
            return;
        }
        let Some(pair) = self.pairs.get_mut(&id) else { return };
        let [one, other] = pair.sides.each_ref().map(|side| side.queue.cost());
        let at = pair.sides.each_ref().map(|side| side.visitor.at);
        for which in if other < one { [1, 0] } else { [0, 1] } {
            let side = &mut pair.sides[which];
            let before = side.queue.cost();
            while let Some(DatagramBatch { segment, bytes }) = side.queue.first() {
                let share = (pair.payer, &mut pair.share);
                let fits = self.rate.take(now, share, (segment, bytes));
                if fits == 0 {
                    break;
                }
                side.queue.pass(fits);
                side.bytes += u64::from(fits);
                self.traffic.passed += u64::from(fits);
                let (from, to) = (at[which], at[1 - which]);
                fx.output(PlaceOutput::Release { from, to, bytes: fits });
            }
            self.held -= u64::from(before - side.queue.cost());
        }
        if pair.sides.iter().all(|side| side.queue.is_empty()) {
            self.waiting.remove(&id);
        }
    }

    /// When what waits is looked at next.
    fn next_pump(&self, now: Instant) -> Instant {
        let crowds = 1 + self.waiting.len() as u64 / PUMPED_TOGETHER;
        now + PUMP_EVERY.ratio(crowds, 1).min(PUMP_LATEST)
    }

    /// The same of all meetings; each begins in its turn.
    fn pump_all(&mut self, now: Instant, fx: &mut PlaceEffects) {
        let (before, after) =
            (self.waiting.range(..=self.turn), self.waiting.range(self.turn + 1..));
        let ids: Vec<u64> = after.chain(before).copied().collect();
        self.turn = ids.first().copied().unwrap_or(0);
        ids.into_iter().for_each(|id| self.pump(now, id, fx));
        self.pump_at = (!self.waiting.is_empty()).then(|| self.next_pump(now));
        self.rate.set_waiting(self.pump_at.is_some());
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
        self.agenda_deadline().into_iter().chain(self.pump_at).min()
    }

    fn agenda_deadline(&self) -> Option<Instant> {
        self.agenda.first().map(|(at, _)| *at)
    }

    /// Passes on what waits, and ends those in which a side was silent for too long, or that
    /// a side has left.
    pub(super) fn run(&mut self, now: Instant, fx: &mut PlaceEffects) {
        if self.pump_at.is_some_and(|at| at <= now) {
            self.pump_all(now, fx);
        }
        while self.agenda_deadline().is_some_and(|at| at <= now)
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
