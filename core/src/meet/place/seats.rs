//! Who sits where: the two seats of a meeting, and how many seats an address has
//! taken.

use alloc::collections::{BTreeMap, BTreeSet};
use core::net::{IpAddr, SocketAddr};

use super::Config;
use crate::address::owner;
use crate::time::{Duration, Instant};
use crate::wire::meet::{MeetSide, MeetingId, Registration};
use crate::wire::unicast::UnicastPayload;

/// Addresses whose seats are counted.
const OWNERS: usize = 16_384;
/// How many times the bytes of a visitor it is sent.
const AMPLIFICATION: u64 = 3;
/// The bytes of a datagram that says that a meeting, or the place, ends.
const GOODBYE: u64 = 11;

/// A visitor in a meeting.
#[derive(Debug, Clone)]
pub(super) struct MeetingSeat {
    pub(super) at: SocketAddr,
    pub(super) nonce: u64,
    /// When it is forgotten.
    pub(super) until: Instant,
    rtt: u32,
    pub(super) card: UnicastPayload,
    received: u64,
    sent: u64,
    /// The number of the visitor it was introduced to.
    pub(super) introduced_to: u64,
    /// Introductions that are still to be sent, unless it confirms one.
    pub(super) introductions: u32,
    pub(super) introduce_at: Option<Instant>,
    /// The bytes of a goodbye are counted as sent.
    paid: bool,
}

impl MeetingSeat {
    /// The seat of a registration, which continues the one it had before.
    pub(super) fn new(
        now: Instant,
        at: SocketAddr,
        it: &Registration,
        bytes: u32,
        before: Option<Self>,
        config: &Config,
    ) -> Self {
        let same = before.as_ref().is_some_and(|before| before.at == at);
        let (received, sent) =
            before.as_ref().filter(|_| same).map_or((0, 0), |seat| (seat.received, seat.sent));
        Self {
            at,
            nonce: it.nonce,
            until: now + config.forget_after,
            rtt: it.rtt,
            card: it.card.clone(),
            received: received.saturating_add(u64::from(bytes)),
            sent,
            // One that has moved, as its router has forgotten it, is introduced anew.
            introduced_to: before.as_ref().filter(|_| same).map_or(0, |seat| seat.introduced_to),
            introductions: before.as_ref().map_or(0, |seat| seat.introductions),
            paid: before.as_ref().is_some_and(|seat| same && seat.paid),
            introduce_at: before.and_then(|seat| seat.introduce_at),
        }
    }

    /// True when the visitor at that address may be the one that sits here.
    pub(super) fn is_of(&self, from: SocketAddr) -> bool {
        owner(self.at.ip()) == owner(from.ip())
    }

    /// Counts bytes sent to it; false when they would be too many.
    pub(super) fn spend(&mut self, bytes: u64) -> bool {
        let fits = self.sent + bytes <= self.received.saturating_mul(AMPLIFICATION);
        if fits {
            self.sent += bytes;
        }
        fits
    }

    /// Sets the bytes of a goodbye aside; false when they would be too many.
    pub(super) fn pay_goodbye(&mut self) -> bool {
        self.paid = self.paid || self.spend(GOODBYE);
        self.paid
    }

    /// It has received its introduction, and needs the seat no longer: one whose
    /// visitor has died must not be in the way of the next.
    pub(super) fn settle(&mut self, now: Instant, config: &Config) {
        (self.introductions, self.introduce_at) = (0, None);
        self.until = self.until.min(now + config.settled_for);
    }

    fn deadline(&self) -> Instant {
        let again = self.introduce_at.filter(|_| self.introductions > 0);
        again.map_or(self.until, |at| at.min(self.until))
    }
}

/// The seats of a meeting.
#[derive(Debug, Clone, Default)]
pub(super) struct Meeting {
    seats: [Option<MeetingSeat>; 2],
    /// Its entry in the agenda.
    pub(super) wake: Option<Instant>,
}

impl Meeting {
    pub(super) fn seat(&self, side: MeetSide) -> Option<&MeetingSeat> {
        self.seats[place(side)].as_ref()
    }

    pub(super) fn seat_mut(&mut self, side: MeetSide) -> Option<&mut MeetingSeat> {
        self.seats[place(side)].as_mut()
    }

    /// The side that waits for the other.
    pub(super) fn alone(&self) -> Option<MeetSide> {
        match &self.seats {
            [Some(_), None] => Some(MeetSide::Caller),
            [None, Some(_)] => Some(MeetSide::Listener),
            _ => None,
        }
    }

    pub(super) fn take(&mut self, side: MeetSide) -> Option<MeetingSeat> {
        self.seats[place(side)].take()
    }

    pub(super) fn put(&mut self, side: MeetSide, seat: MeetingSeat) {
        self.seats[place(side)] = Some(seat);
    }

    /// The seat with this number, of a visitor at this address.
    pub(super) fn seat_of(&mut self, at: SocketAddr, nonce: u64) -> Option<&mut MeetingSeat> {
        self.seats.iter_mut().flatten().find(|seat| (seat.at, seat.nonce) == (at, nonce))
    }

    /// Both sides are there: each is introduced until it confirms.
    pub(super) fn begin(&mut self, now: Instant, config: &Config) {
        let nonces = self.seats.each_ref().map(|seat| seat.as_ref().map_or(0, |seat| seat.nonce));
        for (seat, other) in self.seats.iter_mut().zip([nonces[1], nonces[0]]) {
            if let Some(seat) = seat {
                seat.introduced_to = other;
                seat.introductions = config.introductions;
                seat.introduce_at = Some(now + config.introduce_again);
            }
        }
    }

    /// One more introduction of a side is on its way.
    pub(super) fn again(&mut self, now: Instant, side: MeetSide, config: &Config) {
        if let Some(seat) = self.seat_mut(side) {
            seat.introductions = seat.introductions.saturating_sub(1);
            let at = now + config.introduce_again;
            seat.introduce_at = (seat.introductions > 0).then_some(at);
        }
    }

    /// How long a side waits until the other has been introduced too: both begin
    /// when the introduction of the farther one has arrived.
    pub(super) fn wait(&self, side: MeetSide) -> u32 {
        let half = |side| self.seat(side).map_or(0, |seat: &MeetingSeat| seat.rtt / 2);
        half(side.other()).saturating_sub(half(side)).min(1_000_000)
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        self.seats.iter().flatten().map(MeetingSeat::deadline).min()
    }
}

const fn place(side: MeetSide) -> usize {
    match side {
        MeetSide::Caller => 0,
        MeetSide::Listener => 1,
    }
}

/// What one address has taken.
#[derive(Debug, Clone, Copy, Default)]
struct OwnerTally {
    since: Instant,
    taken: u32,
    seated: u32,
}

/// The seats of every address.
#[derive(Debug, Clone, Default)]
pub(super) struct SeatOwners {
    tallies: BTreeMap<IpAddr, OwnerTally>,
    /// The meeting of each visitor, by its owner.
    meetings: BTreeMap<(IpAddr, SocketAddr), MeetingId>,
    /// Owners by how many visitors of theirs are seated.
    crowds: BTreeSet<(u32, IpAddr)>,
    forgot: Instant,
}

impl SeatOwners {
    /// The meeting of a visitor.
    pub(super) fn meeting_at(&self, at: SocketAddr) -> Option<MeetingId> {
        self.meetings.get(&(owner(at.ip()), at)).copied()
    }

    /// The visitors of the address that has the most seats, if that is more than a
    /// newcomer would have; with their meetings.
    pub(super) fn crowd(
        &self,
        newcomer: SocketAddr,
    ) -> impl Iterator<Item = (SocketAddr, MeetingId)> + '_ {
        let own = self.tallies.get(&owner(newcomer.ip())).map_or(0, |tally| tally.seated);
        let most = self.crowds.last().filter(|(seated, _)| *seated > own + 1);
        most.into_iter().flat_map(move |(_, of)| self.visitors(*of))
    }

    fn visitors(&self, of: IpAddr) -> impl Iterator<Item = (SocketAddr, MeetingId)> + '_ {
        let first = SocketAddr::from(([0; 4], 0));
        let from = self.meetings.range((of, first)..);
        from.take_while(move |((it, _), _)| *it == of).map(|((_, at), id)| (*at, *id))
    }

    /// Counts one more seat; false when the address has too many.
    pub(super) fn count(&mut self, now: Instant, at: SocketAddr, config: &Config) -> bool {
        self.forget(now, config.seat_window);
        let full = self.tallies.len() >= OWNERS;
        let owner = owner(at.ip());
        if full && !self.tallies.contains_key(&owner) {
            return false;
        }
        let tally = self.tallies.entry(owner).or_default();
        if now.since(tally.since) >= config.seat_window {
            (tally.since, tally.taken) = (now, 0);
        }
        if tally.taken >= config.seats_per_ip || tally.seated >= config.meetings_per_ip {
            return false;
        }
        tally.taken += 1;
        true
    }

    /// A visitor has its seat.
    pub(super) fn came(&mut self, at: SocketAddr, id: MeetingId) {
        let of = owner(at.ip());
        if self.meetings.insert((of, at), id).is_none() {
            self.seat(of, |seated| seated + 1);
        }
    }

    /// A visitor has left its seat.
    pub(super) fn left(&mut self, at: SocketAddr, id: MeetingId) {
        let of = owner(at.ip());
        if self.meetings.get(&(of, at)) == Some(&id) {
            self.meetings.remove(&(of, at));
            self.seat(of, |seated| seated.saturating_sub(1));
        }
    }

    fn seat(&mut self, of: IpAddr, change: impl Fn(u32) -> u32) {
        let tally = self.tallies.entry(of).or_default();
        self.crowds.remove(&(tally.seated, of));
        tally.seated = change(tally.seated);
        if tally.seated > 0 {
            self.crowds.insert((tally.seated, of));
        }
    }

    /// Removes what is too old to matter. It walks the table, so it is rarely done.
    fn forget(&mut self, now: Instant, window: Duration) {
        if now.since(self.forgot) < window {
            return;
        }
        self.forgot = now;
        self.tallies.retain(|_, tally| tally.seated > 0 || now.since(tally.since) < window);
    }
}
