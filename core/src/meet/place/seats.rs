//! Who sits where: the two seats of a meeting.

use core::net::SocketAddr;

use super::Config;
use crate::meet::door::visitor_owner;
use crate::time::{Duration, Instant};
use crate::wire::meet::{MeetSide, Registration};
use crate::wire::unicast::UnicastPayload;

/// How many times the bytes of a visitor it is sent.
const AMPLIFICATION: u64 = 3;
/// So late may a visitor be that renews its seat.
const LATE: Duration = Duration::from_secs(1);
/// The bytes of a datagram that says that a meeting, or the place, ends.
const GOODBYE: u64 = 11;

/// A visitor in a meeting.
#[derive(Debug, Clone)]
pub(super) struct MeetingSeat {
    pub(super) at: SocketAddr,
    pub(super) nonce: u64,
    /// When it was taken, and when its visitor has registered last.
    pub(super) since: Instant,
    renewed: Instant,
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
    /// It is to meet one other only.
    pub(super) once: bool,
    /// The number of the visitor for whose goodbye bytes are counted as sent.
    paid_for: u64,
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
            since: before.as_ref().map_or(now, |seat| seat.since),
            renewed: now,
            until: now + config.forget_after,
            rtt: it.rtt,
            card: it.card.clone(),
            once: it.once,
            received: received.saturating_add(u64::from(bytes)),
            sent,
            // One that has moved, as its router has forgotten it, is introduced anew.
            introduced_to: before.as_ref().filter(|_| same).map_or(0, |seat| seat.introduced_to),
            introductions: before.as_ref().map_or(0, |seat| seat.introductions),
            paid_for: before.as_ref().filter(|_| same).map_or(0, |seat| seat.paid_for),
            introduce_at: before.and_then(|seat| seat.introduce_at),
        }
    }

    /// True when the visitor at that address may be the one that sits here.
    pub(super) fn is_of(&self, from: SocketAddr) -> bool {
        visitor_owner(self.at.ip()) == visitor_owner(from.ip())
    }

    /// True when its visitor is where it was a moment ago, and not at this address: its
    /// number, which any reader of its line knows, moves the seat to another network only
    /// when it has not been renewed in time.
    pub(super) fn is_elsewhere(&self, now: Instant, from: SocketAddr, config: &Config) -> bool {
        self.introduced_to == 0 && !self.is_of(from) && self.is_renewed(now, config)
    }

    /// True while a visitor keeps it that is to meet one other: another behind the same
    /// router waits for its turn.
    pub(super) fn is_kept(&self, now: Instant, config: &Config) -> bool {
        self.once && self.is_renewed(now, config)
    }

    /// True when its visitor has renewed it in time.
    fn is_renewed(&self, now: Instant, config: &Config) -> bool {
        now < self.renewed + config.keep_seat + LATE
    }

    /// True when it was introduced to another than this one, and wants no more.
    fn is_spent(&self, other: u64) -> bool {
        self.once && self.introduced_to != 0 && self.introduced_to != other
    }

    /// Counts bytes sent to it; false when they would be too many.
    pub(super) fn spend(&mut self, bytes: u64) -> bool {
        let fits = self.sent + bytes <= self.received.saturating_mul(AMPLIFICATION);
        if fits {
            self.sent += bytes;
        }
        fits
    }

    /// Sets the bytes of a goodbye aside, one for each visitor that it meets, or for itself
    /// alone; false when they would be too many.
    pub(super) fn pay_goodbye(&mut self, other: Option<u64>) -> bool {
        let paid = other.is_some_and(|other| other == self.paid_for) || self.spend(GOODBYE);
        if let Some(other) = other.filter(|_| paid) {
            self.paid_for = other;
        }
        paid
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

    /// The seats that are taken.
    pub(super) fn seats(&self) -> impl Iterator<Item = (MeetSide, &MeetingSeat)> {
        let both = [MeetSide::Caller, MeetSide::Listener];
        both.into_iter().filter_map(|side| Some((side, self.seat(side)?)))
    }

    /// True when one side waits for the other.
    pub(super) fn waits(&self) -> bool {
        self.seats.iter().flatten().count() == 1
    }

    /// True when that side was introduced to another than the one opposite, and wants no more.
    pub(super) fn is_spent(&self, side: MeetSide) -> bool {
        let other = self.seat(side.other()).map_or(0, |seat| seat.nonce);
        self.seat(side).is_some_and(|seat| seat.is_spent(other))
    }

    /// True when two have met, one of which was to meet one other only, and each was told.
    pub(super) fn is_over(&self) -> bool {
        let [Some(one), Some(other)] = &self.seats else { return false };
        let told = |seat: &MeetingSeat, other: &MeetingSeat| {
            seat.introduced_to == other.nonce && seat.introductions == 0
        };
        (one.once || other.once) && told(one, other) && told(other, one)
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
