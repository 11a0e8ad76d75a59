//! One side of a meeting: it asks a place, takes its seat, and knocks.

mod ask;
mod budget;
mod guess;
mod knock;
mod knocker;

use alloc::vec::Vec;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use self::ask::PlaceAsking;
use self::budget::KnockBudget;
use self::knock::{IntroducedSide, Knocking, MeetingName};
use self::knocker::Knocker;
use super::name::meeting_peer;
use super::{Config, Event, MeetFailure};
use crate::address::canonical;
use crate::engine::{Engine, Fx, FxOf};
use crate::rng::Rng;
use crate::time::Instant;
use crate::wire::meet::{
    Introduction, Knock, KnockKey, MeetCard, MeetKey, MeetPacket, MeetRefusal, MeetSide, MeetingId,
    NatMapping,
};

/// What a visitor wants (PA-10).
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Visit {
    /// Addresses of the place: the first that answers is taken.
    pub places: Vec<SocketAddr>,
    /// Addresses that a second port of the place may have, by which a visitor sees
    /// how its router maps it (PA-11).
    pub probes: Vec<SocketAddr>,
    /// The meeting.
    pub meeting: MeetingId,
    /// The key of both sides.
    pub key: MeetKey,
    /// Which side we are.
    pub side: MeetSide,
    /// Our own addresses, with the port of our socket.
    pub local: Vec<SocketAddr>,
    /// We want to meet one other only: the place lets the next one have our seat then.
    #[serde(default, skip_serializing_if = "is_false")]
    pub once: bool,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
const fn is_false(it: &bool) -> bool {
    !*it
}

/// Something that happens to a visitor.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // Fields are named by what they hold.
pub enum VisitInput {
    /// Begin, or begin anew.
    Begin(Visit),
    /// Leave the place; knocks are not answered any more.
    End,
    /// A datagram about a meeting.
    Packet { from: SocketAddr, packet: MeetPacket },
    /// As a listener leave the place for good: callers that come later are told.
    Finish,
}

/// Something a visitor wants, or has found.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // Fields are named by what they hold.
pub enum VisitOutput {
    /// Send a datagram.
    Packet { to: SocketAddr, packet: MeetPacket },
    /// The place sees us at this address.
    Located { place: SocketAddr, seen: SocketAddr, mapping: NatMapping },
    /// We have our seat; the other side is not there yet.
    Waiting { place: SocketAddr },
    /// What is for this peer goes to that address from now on, and what comes from there
    /// is of that peer.
    Route { peer: SocketAddr, to: SocketAddr },
    /// The other side has come to a visit that is for one only, and may be found soon. The
    /// place sees it at this address.
    Introduced { place: SocketAddr, seen: SocketAddr },
    /// The other side is reached by this name: its own address, or a name for this
    /// meeting alone ([`super::is_meeting_peer`]). What is sent to it goes to `at` at first.
    Met { peer: SocketAddr, at: SocketAddr, relayed: bool, ours: NatMapping, theirs: NatMapping },
    /// A peer that was reached through the place is reached directly from now on
    /// (PA-13).
    Moved { peer: SocketAddr, to: SocketAddr },
    /// A peer that was reached through the place has left it, or the place ends: nothing
    /// reaches it any more (PA-13).
    Left { peer: SocketAddr, why: MeetRefusal },
    /// Send this to `to` from so many more sockets. What comes to one of them from
    /// there is received as always, and from then on what is sent there leaves by the
    /// one that heard last.
    Spread { to: SocketAddr, sockets: u32, packet: MeetPacket },
    /// There is no way (PA-15). After a meeting that is relayed this only says that
    /// it stays so.
    Failed { why: MeetFailure, relayed: bool },
}

pub(super) type VisitEffects = Fx<VisitOutput, Event>;

/// One side of a meeting.
#[derive(Debug, Clone)]
pub struct MeetVisitor {
    config: Config,
    rng: Rng,
    visit: Option<Visit>,
    /// The number of this visit at the place.
    nonce: u64,
    stage: VisitStage,
    /// Another side that was introduced when there was a direct path: it takes the place of
    /// the first when it has proved itself by knocks.
    next: Option<Knocking>,
    located: Option<(SocketAddr, NatMapping)>,
    /// What is left for knocks.
    budget: KnockBudget,
    /// It has met another side before.
    has_met: bool,
    /// The number of the other side with which an earlier visit had a direct path.
    direct_with: Option<u64>,
}

/// How far it is.
#[derive(Debug, Clone)]
enum VisitStage {
    Idle,
    Asking(PlaceAsking),
    Knocking(Knocking),
}

impl MeetVisitor {
    /// A visitor that has nothing to do.
    #[must_use]
    pub const fn new(config: Config, rng: Rng) -> Self {
        Self {
            config,
            rng,
            visit: None,
            nonce: 0,
            stage: VisitStage::Idle,
            next: None,
            located: None,
            budget: KnockBudget::new(),
            has_met: false,
            direct_with: None,
        }
    }

    /// True while it waits at a place, knocks, or answers knocks.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.visit.is_some()
    }

    fn begin(&mut self, now: Instant, visit: Visit, fx: &mut VisitEffects) {
        self.end(fx);
        self.nonce = self.rng.next_u64() | 1; // 0 means that there is none.
        let mut asking = PlaceAsking::new(now, &visit, &mut self.rng);
        asking.ask(now, &self.config, fx);
        self.stage = VisitStage::Asking(asking);
        self.visit = Some(visit);
    }

    /// The place that has answered.
    fn place(&self) -> Option<SocketAddr> {
        match &self.stage {
            VisitStage::Asking(asking) => asking.place(),
            VisitStage::Knocking(knocking) => Some(knocking.place()),
            VisitStage::Idle => None,
        }
    }

    /// Ends a visit, after which the listener is not met any more. A place of the version before
    /// does not know what that is, and hears that the seat is free.
    fn finish(&mut self, fx: &mut VisitEffects) {
        if let Some(visit) = self.visit.as_ref().filter(|visit| visit.side == MeetSide::Listener)
            && let Some(to) = self.place()
        {
            let Visit { key, meeting, .. } = *visit;
            let proof = key.end_proof(meeting);
            let packet = MeetPacket::Over { nonce: self.nonce, meeting, proof };
            fx.output(VisitOutput::Packet { to, packet });
        }
        self.end(fx);
    }

    fn end(&mut self, fx: &mut VisitEffects) {
        let place = self.place();
        let Some(visit) = self.visit.take() else { return };
        if let VisitStage::Knocking(knocking) = &self.stage
            && knocking.is_direct()
        {
            self.direct_with = Some(knocking.other());
        }
        if let Some(to) = place {
            let Visit { meeting, side, .. } = visit;
            let packet = MeetPacket::Leave { nonce: self.nonce, meeting, side };
            fx.output(VisitOutput::Packet { to, packet });
        }
        (self.stage, self.next, self.located) = (VisitStage::Idle, None, None);
    }

    fn packet(
        &mut self,
        now: Instant,
        (from, packet): (SocketAddr, MeetPacket),
        fx: &mut VisitEffects,
    ) {
        let Some(visit) = &self.visit else { return };
        let from = canonical(from);
        match packet {
            MeetPacket::Knock(knock) => self.knock(now, from, knock, fx),
            MeetPacket::Introduce(it) => self.introduced(now, from, it, fx),
            MeetPacket::Refused { nonce, why } if matches!(self.stage, VisitStage::Knocking(_)) => {
                if nonce == self.nonce {
                    self.left(from, why, fx);
                }
            }
            MeetPacket::Cookie { .. }
            | MeetPacket::Waiting { .. }
            | MeetPacket::Refused { .. }
            | MeetPacket::Ended { .. } => {
                let VisitStage::Asking(asking) = &mut self.stage else { return };
                let told = asking.told(now, (from, &packet), (visit, self.nonce, &self.config), fx);
                self.located = asking.located();
                if let Some(why) = told {
                    self.fail(from, why, fx);
                }
            }
            // What only a visitor sends.
            MeetPacket::Question { .. }
            | MeetPacket::Register(_)
            | MeetPacket::Heard { .. }
            | MeetPacket::Leave { .. }
            | MeetPacket::Elsewhere { .. }
            | MeetPacket::Over { .. } => {}
        }
    }

    /// The place says who the other side is, and where.
    fn introduced(
        &mut self,
        now: Instant,
        from: SocketAddr,
        it: Introduction,
        fx: &mut VisitEffects,
    ) {
        let Some(visit) = &self.visit else { return };
        if it.nonce != self.nonce {
            return;
        }
        if self.place() != Some(from) {
            return;
        }
        let heard =
            VisitOutput::Packet { to: from, packet: MeetPacket::Heard { nonce: self.nonce } };
        let met = match &mut self.stage {
            VisitStage::Knocking(knocking) => Some(knocking),
            _ => None,
        };
        let direct = met.as_ref().is_some_and(|knocking| knocking.is_direct());
        if let Some(knocking) =
            met.into_iter().chain(&mut self.next).find(|knocking| knocking.other() == it.other)
        {
            fx.output(heard);
            return knocking.seen_at(now, it.seen, (&self.config, &mut self.budget), fx);
        }
        if visit.once && matches!(self.stage, VisitStage::Knocking(_)) {
            fx.output(heard);
            return fx.event(Event::Skipped { peer: it.seen });
        }
        if self.direct_with == Some(it.other) {
            // It is reached directly already, or has gone: one that comes again has another
            // number. To meet it anew would end the connection.
            if let VisitStage::Asking(asking) = &mut self.stage {
                asking.hears(now); // It gets no other answer until that seat is forgotten.
            }
            fx.output(heard);
            return fx.event(Event::Skipped { peer: it.seen });
        }
        let Visit { key, meeting, side, once, .. } = *visit;
        let Some(card) = MeetCard::open(&it.card, key, (meeting, side.other(), it.other)) else {
            // A place that changed it, or a guess of the meeting's name: that is no meeting
            // for which we would give our seat up.
            if let VisitStage::Asking(asking) = &mut self.stage {
                asking.deceived(now);
            }
            return fx.event(Event::Unsigned { peer: from });
        };
        fx.output(heard);
        if once {
            fx.output(VisitOutput::Introduced { place: from, seen: it.seen });
        }
        // A place cannot put an end to a direct path: what it says is not taken for a fact.
        let it = Introduction { relays: it.relays && !direct, ..it };
        let (caller, listener) = match side {
            MeetSide::Caller => (self.nonce, it.other),
            MeetSide::Listener => (it.other, self.nonce),
        };
        let secret = MeetKey(self.rng.next_u64(), self.rng.next_u64());
        let knocker = Knocker { side, key: KnockKey { key, caller, listener }, secret };
        let (_, ours) = self.located.unwrap_or((from, NatMapping::Unknown));
        let seen = self.located.map(|(seen, _)| seen);
        let name = meeting_peer(self.rng.fork("peer", it.other ^ self.nonce).next_u64());
        let name = MeetingName { name, again: core::mem::replace(&mut self.has_met, true) };
        let knocking = Knocking::new(
            now,
            IntroducedSide { place: from, it: &it, card, name },
            (knocker, seen, ours),
            (&self.config, &mut self.budget, &mut self.rng),
            fx,
        );
        if direct {
            self.next = Some(knocking);
        } else {
            self.stage = VisitStage::Knocking(knocking);
        }
        self.run(now, fx);
    }

    /// The place passes nothing on any more: the other side has left, or the place ends.
    fn left(&mut self, from: SocketAddr, why: MeetRefusal, fx: &mut VisitEffects) {
        let VisitStage::Knocking(knocking) = &self.stage else { return };
        if knocking.place() != from || !matches!(why, MeetRefusal::Gone | MeetRefusal::Closing) {
            return;
        }
        // On a direct path the place has nothing to say.
        let Some(peer) = knocking.relayed_peer() else { return };
        fx.event(Event::TurnedAway { peer: from, reason: why });
        fx.output(VisitOutput::Left { peer, why });
        (self.visit, self.stage, self.next) = (None, VisitStage::Idle, None);
        self.located = None;
    }

    fn knock(&mut self, now: Instant, from: SocketAddr, knock: Knock, fx: &mut VisitEffects) {
        // Until we are introduced nothing is answered: the other side repeats it.
        let VisitStage::Knocking(knocking) = &mut self.stage else { return };
        let limits = (&self.config, &mut self.budget);
        if knocking.knocker().knows(&knock) {
            return knocking.heard(now, (from, knock), limits, fx);
        }
        let Some(next) = self.next.as_mut().filter(|next| next.knocker().knows(&knock)) else {
            return fx.event(Event::Unsigned { peer: from });
        };
        next.heard(now, (from, knock), limits, fx);
        if next.is_direct()
            && let Some(next) = self.next.take()
        {
            self.stage = VisitStage::Knocking(next);
        }
    }

    fn fail(&mut self, peer: SocketAddr, failure: MeetFailure, fx: &mut VisitEffects) {
        fx.event(Event::NoPath { peer, failure });
        fx.output(VisitOutput::Failed { why: failure, relayed: false });
        self.end(fx);
    }

    /// Does what is due.
    fn run(&mut self, now: Instant, fx: &mut VisitEffects) {
        let Some(visit) = &self.visit else { return };
        let limits = (&self.config, &mut self.budget);
        match &mut self.stage {
            VisitStage::Idle => {}
            VisitStage::Asking(asking) => {
                if let Some(peer) = asking.run(now, (visit, self.nonce, &self.config), fx) {
                    self.fail(peer, MeetFailure::Silent, fx);
                }
            }
            VisitStage::Knocking(knocking) => {
                if let Some((peer, failure)) = knocking.run(now, limits, fx) {
                    return self.fail(peer, failure, fx);
                }
                let limits = (&self.config, &mut self.budget);
                if let Some(next) = &mut self.next
                    && next.run(now, limits, fx).is_some()
                {
                    self.next = None; // It was not there, and nothing has changed.
                }
            }
        }
    }
}

impl Engine for MeetVisitor {
    type Input = VisitInput;
    type Output = VisitOutput;
    type Event = Event;

    fn handle(&mut self, now: Instant, input: VisitInput, fx: &mut FxOf<Self>) {
        match input {
            VisitInput::Begin(visit) => self.begin(now, visit, fx),
            VisitInput::End => self.end(fx),
            VisitInput::Finish => self.finish(fx),
            VisitInput::Packet { from, packet } => self.packet(now, (from, packet), fx),
        }
    }

    fn handle_timeout(&mut self, now: Instant, fx: &mut FxOf<Self>) {
        self.run(now, fx);
    }

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        match &self.stage {
            VisitStage::Idle => None,
            VisitStage::Asking(asking) => Some((asking.deadline(), "place")),
            VisitStage::Knocking(knocking) => {
                let deadlines = [Some(knocking), self.next.as_ref()].into_iter().flatten();
                deadlines.filter_map(Knocking::deadline).min().map(|at| (at, "knock"))
            }
        }
    }
}
