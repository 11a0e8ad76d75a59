//! One side of a meeting: it asks a place, takes its seat, and knocks.

mod ask;
mod budget;
mod guess;
mod knock;

use alloc::vec::Vec;
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use self::ask::PlaceAsking;
use self::budget::KnockBudget;
use self::knock::{DoorKnocking, MeetingName};
use super::name::meeting_peer;
use super::{Config, Event, MeetFailure};
use crate::address::canonical;
use crate::engine::{Engine, Fx, FxOf};
use crate::rng::Rng;
use crate::time::Instant;
use crate::wire::meet::{
    Introduction, Knock, KnockStep, MeetCard, MeetKey, MeetPacket, MeetRefusal, MeetSide,
    MeetingId, NatMapping,
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
    /// The other side is reached by this name: its own address, or a name for this
    /// meeting alone ([`super::is_meeting_peer`]).
    Met { peer: SocketAddr, relayed: bool, ours: NatMapping, theirs: NatMapping },
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
    located: Option<(SocketAddr, NatMapping)>,
    /// What is left for knocks in this visit.
    budget: KnockBudget,
    /// It has met another side before.
    has_met: bool,
}

/// How far it is.
#[derive(Debug, Clone)]
enum VisitStage {
    Idle,
    Asking(PlaceAsking),
    Knocking(DoorKnocking),
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
            located: None,
            budget: KnockBudget::new(),
            has_met: false,
        }
    }

    /// True while it waits at a place, knocks, or answers knocks.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.visit.is_some()
    }

    fn begin(&mut self, now: Instant, visit: Visit, fx: &mut VisitEffects) {
        self.end(fx);
        self.budget = KnockBudget::new();
        self.nonce = self.rng.next_u64() | 1; // 0 means that there is none.
        let mut asking = PlaceAsking::new(now, &visit, &mut self.rng);
        asking.ask(now, &self.config, fx);
        self.stage = VisitStage::Asking(asking);
        self.visit = Some(visit);
    }

    fn end(&mut self, fx: &mut VisitEffects) {
        let Some(visit) = self.visit.take() else { return };
        let place = match &self.stage {
            VisitStage::Asking(asking) => asking.place(),
            VisitStage::Knocking(knocking) => Some(knocking.place()),
            VisitStage::Idle => None,
        };
        if let Some(to) = place {
            let Visit { meeting, side, .. } = visit;
            let packet = MeetPacket::Leave { nonce: self.nonce, meeting, side };
            fx.output(VisitOutput::Packet { to, packet });
        }
        self.stage = VisitStage::Idle;
        self.located = None;
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
            MeetPacket::Cookie { .. } | MeetPacket::Waiting { .. } | MeetPacket::Refused { .. } => {
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
            | MeetPacket::Elsewhere { .. } => {}
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
        let place = match &self.stage {
            VisitStage::Asking(asking) => asking.place(),
            VisitStage::Knocking(knocking) => Some(knocking.place()),
            VisitStage::Idle => None,
        };
        if place != Some(from) {
            return;
        }
        fx.output(VisitOutput::Packet {
            to: from,
            packet: MeetPacket::Heard { nonce: self.nonce },
        });
        if let VisitStage::Knocking(knocking) = &mut self.stage
            && knocking.is_with(it.other)
        {
            return knocking.seen_at(now, it.seen, (&self.config, &mut self.budget), fx);
        }
        let Visit { key, meeting, side, .. } = *visit;
        let Some(card) = MeetCard::open(&it.card, key, meeting, side.other()) else {
            // A place that changed it, or a guess of the meeting's name.
            return fx.event(Event::Unsigned { peer: from });
        };
        let (_, ours) = self.located.unwrap_or((from, NatMapping::Unknown));
        let seen = self.located.map(|(seen, _)| seen);
        let name = meeting_peer(self.rng.fork("peer", it.other ^ self.nonce).next_u64());
        let name = MeetingName { name, again: core::mem::replace(&mut self.has_met, true) };
        let knocking = DoorKnocking::new(
            now,
            (from, &it, card, name),
            (seen, ours),
            (&self.config, &mut self.budget, &mut self.rng),
            fx,
        );
        self.stage = VisitStage::Knocking(knocking);
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
        (self.visit, self.stage, self.located) = (None, VisitStage::Idle, None);
    }

    fn knock(&mut self, now: Instant, from: SocketAddr, knock: Knock, fx: &mut VisitEffects) {
        let Some(visit) = &self.visit else { return };
        if knock.side == visit.side || !knock.is_signed(visit.key) {
            return fx.event(Event::Unsigned { peer: from });
        }
        // Until we are introduced nothing is answered: the other side repeats it.
        let VisitStage::Knocking(knocking) = &mut self.stage else { return };
        knocking.heard(now, (from, knock), (visit, &self.config, &mut self.budget), fx);
    }

    fn fail(&mut self, peer: SocketAddr, failure: MeetFailure, fx: &mut VisitEffects) {
        fx.event(Event::NoPath { peer, failure });
        fx.output(VisitOutput::Failed { why: failure, relayed: false });
        self.end(fx);
    }

    /// Does what is due.
    fn run(&mut self, now: Instant, fx: &mut VisitEffects) {
        let Some(visit) = &self.visit else { return };
        match &mut self.stage {
            VisitStage::Idle => {}
            VisitStage::Asking(asking) => {
                if let Some(peer) = asking.run(now, (visit, self.nonce, &self.config), fx) {
                    self.fail(peer, MeetFailure::Silent, fx);
                }
            }
            VisitStage::Knocking(knocking) => {
                if let Some((peer, failure)) = knocking.run(now, (visit, &self.config), fx) {
                    self.fail(peer, failure, fx);
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
            VisitStage::Knocking(knocking) => knocking.deadline().map(|at| (at, "knock")),
        }
    }
}

/// Sends a knock, or what follows one.
fn say((to, step, nonce): (SocketAddr, KnockStep, u64), visit: &Visit, fx: &mut VisitEffects) {
    let knock = Knock::signed(visit.key, visit.side, step, nonce);
    fx.event(Event::Knocked { peer: to, step });
    fx.output(VisitOutput::Packet { to, packet: MeetPacket::Knock(knock) });
}
