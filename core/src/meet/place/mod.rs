//! The meeting place: a servent that both sides of a meeting can reach.

mod counters;
mod owners;
mod queue;
mod rate;
mod recent;
mod relay;
mod replies;
mod seats;
mod turns;

use alloc::collections::{BTreeMap, BTreeSet};
use core::hash::{BuildHasher as _, Hasher as _};
use core::net::{IpAddr, SocketAddr};

pub use self::counters::PlaceCounters;
use self::owners::SeatOwners;
use self::queue::DatagramBatch;
use self::recent::RecentMeetings;
use self::relay::{RelayTraffic, RelayedVisitor, Relays};
use self::replies::ReplyLimit;
use self::seats::{Meeting, MeetingSeat};
use self::turns::VisitorTurns;
use super::door::visitor_owner;
use super::{Config, Event};
use crate::address::hash_ip;
use crate::engine::{Engine, Fx, FxOf, earlier};
use crate::keyed::Key;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::wire::meet::{Introduction, MeetPacket, MeetRefusal, MeetSide, MeetingId, Registration};

/// How long a cookie is good, at least; at most twice as long.
const EPOCH: Duration = Duration::from_secs(30);
/// How long is remembered that a listener wants no more callers: a receiver waits so long for
/// its sender to come again. Where it is forgotten before, callers wait for nothing.
const ENDED_LASTS: Duration = Duration::from_secs(300);
/// How long a listener that meets one caller after the other may take to come again: one that
/// was introduced to a stranger that does not know the code waits two seconds.
const FREED_LASTS: Duration = Duration::from_secs(5);

/// Something that happens at a place.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // Fields are named by what they hold.
pub enum PlaceInput {
    /// A datagram about a meeting, of so many bytes.
    Packet { from: SocketAddr, packet: MeetPacket, bytes: u32 },
    /// Datagrams of another protocol, each `segment` bytes long but the last.
    Foreign { from: SocketAddr, segment: u32, bytes: u32 },
    /// A visitor has asked the place's other port to be answered from this one.
    Greet { to: SocketAddr, nonce: u64 },
    /// The visitor that came through the door has gone.
    Lost { at: SocketAddr },
    /// The place ends: all that are here are told, and no visitor is let in any more.
    Close,
}

/// Something a place wants.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Fields are named by what they hold.
pub enum PlaceOutput {
    /// Send a datagram.
    Packet { to: SocketAddr, packet: MeetPacket },
    /// Pass on the first so many bytes of what was just received (PA-13).
    Forward { to: SocketAddr, bytes: u32 },
    /// Keep so many bytes of it, behind the first ones: they wait, behind what waits of that
    /// visitor already.
    Hold { from: SocketAddr, skip: u32, bytes: u32 },
    /// Pass on the first so many bytes of what waits of a visitor.
    Release { from: SocketAddr, to: SocketAddr, bytes: u32 },
    /// Nothing of what waits of a visitor is passed on any more.
    Discard { from: SocketAddr },
    /// Have the place's other port greet a visitor.
    Elsewhere { to: SocketAddr, nonce: u64 },
}

pub(super) type PlaceEffects = Fx<PlaceOutput, Event>;

/// A meeting place (PA-10).
#[derive(Debug, Clone)]
pub struct MeetPlace {
    config: Config,
    key: Key,
    replies: ReplyLimit,
    meetings: BTreeMap<MeetingId, Meeting>,
    /// When each meeting has something to do.
    agenda: BTreeSet<(Instant, MeetingId)>,
    owners: SeatOwners,
    /// Whose turn it is in meetings that have many callers.
    turns: VisitorTurns,
    relays: Relays,
    /// Listeners that want no more callers, and what they have said: they prove it to those that
    /// know the code's first words.
    ended: RecentMeetings<u64>,
    /// Seats that are free between two callers of a listener, and its owner: no other may take
    /// such a seat.
    freed: RecentMeetings<IpAddr>,
    counters: PlaceCounters,
    closed: bool,
}

impl MeetPlace {
    /// A place without meetings. `rng` draws the key of its cookies.
    #[must_use]
    pub fn new(config: Config, mut rng: Rng) -> Self {
        let key = Key::new(&mut rng);
        Self {
            replies: ReplyLimit::new(key.clone()),
            key,
            relays: Relays::new(&config),
            config,
            meetings: BTreeMap::new(),
            agenda: BTreeSet::new(),
            owners: SeatOwners::new(),
            turns: VisitorTurns::default(),
            ended: RecentMeetings::new(ENDED_LASTS),
            freed: RecentMeetings::new(FREED_LASTS),
            counters: PlaceCounters::default(),
            closed: false,
        }
    }

    /// What it has done.
    #[must_use]
    pub fn counters(&self) -> PlaceCounters {
        let (meetings, relayed) = (self.meetings.len() as u64, self.relays.pairs());
        let waiting = self.meetings.values().filter(|meeting| meeting.waits()).count() as u64;
        let RelayTraffic { passed, dropped } = self.relays.traffic();
        PlaceCounters {
            unanswered: self.replies.refused(),
            relayed_bytes: passed,
            over_rate_bytes: dropped,
            meetings,
            waiting,
            relayed,
            ..self.counters
        }
    }

    /// True when what is not about meetings is passed on for the visitor at that
    /// address.
    #[must_use]
    pub fn relays(&self, from: SocketAddr) -> bool {
        self.relays.has(from)
    }

    /// The cookie of an address in the epoch of `now`, or some epochs before.
    fn cookie(&self, now: Instant, of: SocketAddr, before: u64) -> u64 {
        let epoch = (now.as_micros() / EPOCH.as_micros()).wrapping_sub(before);
        let mut hasher = self.key.build_hasher();
        hash_ip(of.ip().to_canonical(), &mut hasher);
        hasher.write(&of.port().to_be_bytes());
        hasher.write(&epoch.to_be_bytes());
        hasher.finish()
    }

    /// True for a cookie that this address has received.
    fn has_given(&self, now: Instant, to: SocketAddr, cookie: u64) -> bool {
        (0..2).any(|before| self.cookie(now, to, before) == cookie)
    }

    /// Answers an address without a cookie, unless its network was answered too often.
    fn answer_stranger(&mut self, now: Instant, to: SocketAddr, nonce: u64, fx: &mut PlaceEffects) {
        if self.replies.admits_network(now, to) {
            self.tell_cookie(now, to, nonce, fx);
        }
    }

    /// Answers with a cookie; nothing is remembered, and the answer is shorter.
    fn tell_cookie(&mut self, now: Instant, to: SocketAddr, nonce: u64, fx: &mut PlaceEffects) {
        self.counters.cookies += 1;
        let cookie = self.cookie(now, to, 0);
        fx.output(PlaceOutput::Packet {
            to,
            packet: MeetPacket::Cookie { nonce, cookie, seen: to },
        });
    }

    fn packet(
        &mut self,
        now: Instant,
        (from, packet, bytes): (SocketAddr, MeetPacket, u32),
        fx: &mut PlaceEffects,
    ) {
        match packet {
            MeetPacket::Question { nonce } => self.answer_stranger(now, from, nonce, fx),
            MeetPacket::Register(it) => self.answer_registration(now, from, (it, bytes), fx),
            MeetPacket::Heard { nonce } => {
                if let Some(id) = self.owners.meeting_at(from)
                    && let Some(meeting) = self.meetings.get_mut(&id)
                    && let Some(seat) = meeting.seat_of(from, nonce)
                {
                    seat.settle(now, &self.config);
                    self.end_if_over(now, id, fx);
                    self.rearm(id);
                }
            }
            MeetPacket::Leave { nonce, meeting, side } => {
                if self.has_seat((meeting, side), (from, nonce)) {
                    self.vacate(meeting, side, false, fx);
                }
                // Its seat may be forgotten long since, or be one of another visit.
                self.relays.leave(now, from, nonce);
            }
            MeetPacket::Over { nonce, meeting, proof } => {
                let listener = MeetSide::Listener;
                if self.has_seat((meeting, listener), (from, nonce)) {
                    self.vacate(meeting, listener, false, fx);
                    self.ended.add(now, meeting, proof);
                }
            }
            MeetPacket::Elsewhere { nonce, cookie } => {
                if !self.has_given(now, from, cookie) {
                    self.answer_stranger(now, from, nonce, fx);
                } else if self.replies.admits_owner(now, from) {
                    let packet = MeetPacket::Waiting { nonce };
                    fx.output(PlaceOutput::Packet { to: from, packet });
                    fx.output(PlaceOutput::Elsewhere { to: from, nonce });
                }
            }
            // What only a place sends, and knocks, which are not for us.
            MeetPacket::Cookie { .. }
            | MeetPacket::Waiting { .. }
            | MeetPacket::Introduce(_)
            | MeetPacket::Refused { .. }
            | MeetPacket::Ended { .. }
            | MeetPacket::Knock(_) => {}
        }
    }

    /// True when a visitor has that seat: its number is known to itself and to us alone.
    fn has_seat(&self, (id, side): (MeetingId, MeetSide), (at, nonce): (SocketAddr, u64)) -> bool {
        let seat = self.meetings.get(&id).and_then(|meeting| meeting.seat(side));
        seat.is_some_and(|seat| (seat.at, seat.nonce) == (at, nonce))
    }

    fn answer_registration(
        &mut self,
        now: Instant,
        from: SocketAddr,
        (it, bytes): (Registration, u32),
        fx: &mut PlaceEffects,
    ) {
        // One whose cookie has expired is no stranger.
        let renews = self.has_seat((it.meeting, it.side), (from, it.nonce));
        let is_good = self.has_given(now, from, it.cookie);
        if !is_good && !renews {
            self.answer_stranger(now, from, it.nonce, fx);
        } else if self.replies.admits_owner(now, from) {
            if is_good {
                self.register(now, from, (it, bytes), fx);
            } else {
                self.tell_cookie(now, from, it.nonce, fx);
            }
        }
    }

    fn register(
        &mut self,
        now: Instant,
        from: SocketAddr,
        (it, bytes): (Registration, u32),
        fx: &mut PlaceEffects,
    ) {
        let (id, side, nonce) = (it.meeting, it.side, it.nonce);
        let seat = self.meetings.get(&id).and_then(|meeting| meeting.seat(side));
        let keeps = seat.is_some_and(|seat| seat.nonce == nonce);
        if side == MeetSide::Caller
            && let Some(proof) = self.ended.get(now, id)
        {
            // A caller that cannot check it waits like any other.
            fx.output(PlaceOutput::Packet { to: from, packet: MeetPacket::Ended { nonce, proof } });
        }
        // One that has moved asks again.
        if seat.is_some_and(|seat| keeps && seat.is_elsewhere(now, from, &self.config)) {
            return;
        }
        // One with the same number and another address is counted like every other.
        if !seat.is_some_and(|seat| keeps && seat.at == from) {
            if let Some(why) = self.refusal(now, from, &it, fx) {
                self.counters.refused += 1;
                fx.event(Event::TurnedAway { peer: from, reason: why });
                let packet = MeetPacket::Refused { nonce, why };
                return fx.output(PlaceOutput::Packet { to: from, packet });
            }
            self.leave_seats(from, Some((id, side)), fx);
        }
        if !keeps {
            if side == MeetSide::Listener {
                self.ended.remove(id);
                self.freed.remove(id);
            }
            self.vacate(id, side, false, fx);
            self.counters.seats += 1;
            fx.event(Event::Seated { peer: from, side });
            if side == MeetSide::Caller {
                self.turns.has_turn(now, (id, from));
            }
        }
        let meeting = self.meetings.entry(id).or_default();
        let before = meeting.take(side);
        if let Some(before) = &before {
            self.owners.left(before.at);
        }
        self.owners.came(from, id);
        meeting.put(side, MeetingSeat::new(now, from, &it, bytes, before, &self.config));
        self.introduce(now, id, side, fx);
        self.rearm(id);
    }

    /// Why a visitor gets no seat, if it is refused.
    fn refusal(
        &mut self,
        now: Instant,
        from: SocketAddr,
        it: &Registration,
        fx: &mut PlaceEffects,
    ) -> Option<MeetRefusal> {
        let meeting = self.meetings.get(&it.meeting);
        let seat = meeting.and_then(|meeting| meeting.seat(it.side));
        // One that starts again may have another port; no other peer takes its seat before
        // it is forgotten. The number shows who it is until the other side was told it.
        let known = |seat: &MeetingSeat| seat.nonce == it.nonce && seat.introduced_to == 0;
        let calls = it.side == MeetSide::Caller;
        let freed = self.freed.get(now, it.meeting).filter(|_| !calls);
        let returns = freed == Some(visitor_owner(from.ip()));
        if seat.is_none() && freed.is_some() && !returns {
            return Some(MeetRefusal::Taken);
        }
        let waits = |seat: &MeetingSeat| calls && seat.is_kept(now, &self.config);
        let caller = (it.meeting, from);
        if let Some(seat) = seat.filter(|seat| !known(seat) && (!seat.is_of(from) || waits(seat))) {
            if calls && it.once {
                self.turns.waits(now, caller, seat.at);
            }
            return Some(MeetRefusal::Taken);
        }
        if calls && !seat.is_some_and(known) && self.turns.let_another(now, caller) {
            return Some(MeetRefusal::Taken);
        }
        if self.closed {
            return Some(MeetRefusal::Closing);
        }
        let gives_one_up =
            seat.is_some_and(|seat| seat.is_of(from)) || self.owners.meeting_at(from).is_some();
        if !returns && !self.owners.count(now, from, (gives_one_up, &self.config)) {
            return Some(MeetRefusal::TooMany);
        }
        let full = self.meetings.len() >= self.config.meetings as usize;
        let full = full && !self.meetings.contains_key(&it.meeting);
        (full && !self.make_room(from, fx)).then_some(MeetRefusal::Full)
    }

    /// A visitor leaves its seats, but for one that it may keep. It has one only: one that
    /// could have several would be counted once.
    fn leave_seats(
        &mut self,
        at: SocketAddr,
        kept: Option<(MeetingId, MeetSide)>,
        fx: &mut PlaceEffects,
    ) {
        let Some(id) = self.owners.meeting_at(at) else { return };
        for side in [MeetSide::Caller, MeetSide::Listener] {
            let seat = self.meetings.get(&id).and_then(|meeting| meeting.seat(side));
            if Some((id, side)) != kept && seat.is_some_and(|seat| seat.at == at) {
                self.vacate(id, side, false, fx);
            }
        }
    }

    /// All meetings are taken: the address that has the most seats, in the network that has
    /// the most, gives its oldest meeting up. So a few addresses cannot keep all others out,
    /// whether they wait or have met.
    fn make_room(&mut self, newcomer: SocketAddr, fx: &mut PlaceEffects) -> bool {
        let seated = |(at, id): (SocketAddr, MeetingId)| {
            let seats = self.meetings.get(&id)?.seats();
            seats.filter(|(_, seat)| seat.at == at).map(|(_, seat)| (seat.since, id)).min()
        };
        let oldest = self.owners.crowd(newcomer).filter_map(seated).min();
        let Some((_, id)) = oldest else { return false };
        for side in [MeetSide::Caller, MeetSide::Listener] {
            let meeting = self.meetings.get_mut(&id);
            let Some(seat) = meeting.and_then(|meeting| meeting.seat_mut(side)) else { continue };
            let (to, nonce) = (seat.at, seat.nonce);
            let packet = MeetPacket::Refused { nonce, why: MeetRefusal::Full };
            if seat.spend(packet.encode().len() as u64) {
                fx.output(PlaceOutput::Packet { to, packet });
            }
            fx.event(Event::TurnedAway { peer: to, reason: MeetRefusal::Full });
            self.vacate(id, side, false, fx);
        }
        true
    }

    /// Answers a registration; when the other side is there too, it is told.
    fn introduce(&mut self, now: Instant, id: MeetingId, side: MeetSide, fx: &mut PlaceEffects) {
        if self.meetings.get(&id).is_some_and(|meeting| meeting.is_spent(side.other())) {
            self.free(now, (id, side.other()), fx);
        }
        let Some(meeting) = self.meetings.get_mut(&id) else { return };
        let (Some(ours), Some(theirs)) = (meeting.seat(side), meeting.seat(side.other())) else {
            if let Some(ours) = meeting.seat_mut(side) {
                let packet = MeetPacket::Waiting { nonce: ours.nonce };
                if ours.spend(packet.encode().len() as u64) {
                    fx.output(PlaceOutput::Packet { to: ours.at, packet });
                }
            }
            return;
        };
        let relays = self.config.relay_rate > 0;
        let new = ours.introduced_to != theirs.nonce || theirs.introduced_to != ours.nonce;
        let (at, other) = (ours.at, theirs.at);
        if new {
            self.counters.introduced += 1;
            fx.event(Event::Introduced { peer: at, other, relayed: relays });
            meeting.begin(now, &self.config);
        }
        if relays {
            self.relay(now, id, fx);
        }
        let relays = self.relays.joins(at, other);
        let Some(meeting) = self.meetings.get_mut(&id) else { return };
        tell(meeting, side, relays, fx);
        if new {
            tell(meeting, side.other(), relays, fx);
        }
    }

    /// Passes on what the two of a meeting send from now on. The bytes of a goodbye are
    /// set aside for each: its seat may be forgotten when the meeting ends.
    fn relay(&mut self, now: Instant, id: MeetingId, fx: &mut PlaceEffects) {
        let Some(meeting) = self.meetings.get_mut(&id) else { return };
        let pair = [MeetSide::Caller, MeetSide::Listener].map(|side| {
            let other = meeting.seat(side.other())?.nonce;
            let seat = meeting.seat_mut(side)?;
            let paid = seat.pay_goodbye(Some(other));
            Some(RelayedVisitor { at: seat.at, number: seat.nonce, paid })
        });
        if let [Some(one), Some(other)] = pair {
            self.relays.join(now, [one, other], fx);
        }
    }

    /// A visitor that is not there any more: its seat is free, and the other side is told.
    fn lost(&mut self, at: SocketAddr, fx: &mut PlaceEffects) {
        self.leave_seats(at, None, fx);
        self.relays.lost(at, fx);
    }

    /// Tells all that are here that the place ends.
    fn close(&mut self, fx: &mut PlaceEffects) {
        self.closed = true;
        let mut told = BTreeSet::new();
        while let Some((id, meeting)) = self.meetings.first_key_value() {
            let id = *id;
            let seated = [MeetSide::Caller, MeetSide::Listener].map(|side| {
                let other = meeting.seat(side.other()).map(|seat| seat.nonce);
                Some((side, meeting.seat(side)?.clone(), other))
            });
            for (side, mut seat, other) in seated.into_iter().flatten() {
                let packet = MeetPacket::Refused { nonce: seat.nonce, why: MeetRefusal::Closing };
                if seat.pay_goodbye(other) {
                    told.insert((seat.at, seat.nonce));
                    fx.output(PlaceOutput::Packet { to: seat.at, packet });
                }
                self.vacate(id, side, false, fx);
            }
        }
        self.relays.close(&told, fx);
    }

    /// Frees the seats once the two were introduced and want to meet no other: the next two
    /// may come. A listener that wants to meet more keeps its own, whatever the caller wants.
    fn end_if_over(&mut self, now: Instant, id: MeetingId, fx: &mut PlaceEffects) {
        let Some(meeting) = self.meetings.get(&id).filter(|meeting| meeting.is_over()) else {
            return;
        };
        let listens_on = meeting.seat(MeetSide::Listener).is_some_and(|seat| !seat.once);
        self.vacate(id, MeetSide::Caller, false, fx);
        if !listens_on {
            self.free(now, (id, MeetSide::Listener), fx);
        }
    }

    /// Frees the seat of one that has met another. A listener comes again for the next, and
    /// keeps it for that.
    fn free(&mut self, now: Instant, (id, side): (MeetingId, MeetSide), fx: &mut PlaceEffects) {
        let seat = self.meetings.get(&id).and_then(|meeting| meeting.seat(side));
        if let Some(seat) = seat.filter(|_| side == MeetSide::Listener) {
            self.freed.add(now, id, visitor_owner(seat.at.ip()));
        }
        self.vacate(id, side, false, fx);
    }

    /// Frees a seat, if it is taken.
    fn vacate(&mut self, id: MeetingId, side: MeetSide, silent: bool, fx: &mut PlaceEffects) {
        let Some(meeting) = self.meetings.get_mut(&id) else { return };
        if let Some(seat) = meeting.take(side) {
            self.owners.left(seat.at);
            fx.event(Event::Left { peer: seat.at, silent });
        }
        self.rearm(id);
    }

    /// Notes when a meeting has something to do next; forgets an empty one.
    fn rearm(&mut self, id: MeetingId) {
        let Some(meeting) = self.meetings.get_mut(&id) else { return };
        let next = meeting.deadline();
        if let Some(before) = meeting.wake.take() {
            self.agenda.remove(&(before, id));
        }
        match next {
            Some(at) => {
                meeting.wake = Some(at);
                self.agenda.insert((at, id));
            }
            None => {
                self.meetings.remove(&id);
            }
        }
    }

    fn due(&mut self, now: Instant, id: MeetingId, fx: &mut PlaceEffects) {
        for side in [MeetSide::Caller, MeetSide::Listener] {
            let Some(meeting) = self.meetings.get_mut(&id) else { return };
            let Some(seat) = meeting.seat(side) else { continue };
            if seat.until <= now {
                self.vacate(id, side, true, fx);
            } else if seat.introduce_at.is_some_and(|at| at <= now) {
                let other = meeting.seat(side.other()).map(|other| other.at);
                let relays = other.is_some_and(|other| self.relays.joins(seat.at, other));
                meeting.again(now, side, &self.config);
                tell(meeting, side, relays, fx);
            }
        }
        self.end_if_over(now, id, fx);
        self.rearm(id);
    }
}

/// Introduces the other side to one, within three times the bytes it has sent.
fn tell(meeting: &mut Meeting, side: MeetSide, relays: bool, fx: &mut PlaceEffects) {
    let wait = meeting.wait(side);
    let Some(theirs) = meeting.seat(side.other()) else { return };
    let (seen, other, card) = (theirs.at, theirs.nonce, theirs.card.clone());
    let Some(ours) = meeting.seat_mut(side) else { return };
    let packet =
        MeetPacket::Introduce(Introduction { nonce: ours.nonce, wait, relays, seen, other, card });
    let bytes = packet.encode().len() as u64;
    if ours.spend(bytes) {
        fx.output(PlaceOutput::Packet { to: ours.at, packet });
    }
}

impl Engine for MeetPlace {
    type Input = PlaceInput;
    type Output = PlaceOutput;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: PlaceInput, fx: &mut FxOf<Self>) {
        match input {
            PlaceInput::Packet { from, packet, bytes } => {
                self.packet(now, (from, packet, bytes), fx);
            }
            PlaceInput::Greet { to, nonce } => self.tell_cookie(now, to, nonce, fx),
            PlaceInput::Foreign { from, segment, bytes } => {
                self.relays.pass(now, (from, DatagramBatch { segment, bytes }), fx);
            }
            PlaceInput::Lost { at } => self.lost(at, fx),
            PlaceInput::Close => self.close(fx),
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        while let Some(&(due, id)) = self.agenda.first().filter(|(due, _)| *due <= now) {
            self.agenda.remove(&(due, id));
            if let Some(meeting) = self.meetings.get_mut(&id) {
                meeting.wake = None;
            }
            self.due(now, id, fx);
        }
        self.relays.run(now, fx);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        let meeting = self.agenda.first().map(|(at, _)| (*at, "meeting"));
        earlier(meeting, self.relays.deadline().map(|at| (at, "relay")))
    }
}
