//! Asking a place for a cookie, taking a seat there, and keeping it.

use alloc::vec::Vec;
use core::net::SocketAddr;

use super::super::{Config, Event, MeetFailure, is_door};
use super::{Visit, VisitEffects, VisitOutput};
use crate::address::canonical;
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::wire::meet::{MeetCard, MeetPacket, MeetRefusal, MeetSide, NatMapping, Registration};

/// The longest pause between two repetitions.
const SLOWEST: Duration = Duration::from_secs(1);
/// The pause after an introduction that was none: a place gives an address one seat a second
/// at most.
const DECEIVED: Duration = Duration::from_secs(2);
/// How long the second port of a place may take to answer.
const PROBE: Duration = Duration::from_millis(300);

/// The place that has answered.
#[derive(Debug, Clone, Copy)]
struct AnsweringPlace {
    at: SocketAddr,
    cookie: u64,
    seen: SocketAddr,
    rtt: Duration,
}

/// A question to one address.
#[derive(Debug, Clone, Copy)]
struct PlaceQuestion {
    to: SocketAddr,
    nonce: u64,
    /// It is for the second port of a place.
    probe: bool,
}

/// A visitor that has not been introduced yet.
#[derive(Debug, Clone)]
pub(super) struct PlaceAsking {
    questions: Vec<PlaceQuestion>,
    local: Vec<SocketAddr>,
    place: Option<AnsweringPlace>,
    /// How a second port sees us that has answered before the first.
    early: Option<SocketAddr>,
    /// How the second port of the place sees us, or that it does not answer.
    mapping: Option<NatMapping>,
    seat: bool,
    /// It was introduced to one that does not know the words, since it took its seat.
    deceived: bool,
    /// When it asked first and last, and when it asks again.
    since: Instant,
    asked: Instant,
    again: Instant,
    pause: Duration,
    /// When the place was heard last.
    heard: Instant,
}

impl PlaceAsking {
    pub(super) fn new(now: Instant, visit: &Visit, rng: &mut Rng) -> Self {
        let question = |to: &SocketAddr, probe, rng: &mut Rng| PlaceQuestion {
            to: canonical(*to),
            nonce: rng.next_u64(),
            probe,
        };
        let mut questions: Vec<_> =
            visit.places.iter().map(|to| question(to, false, rng)).collect();
        questions.extend(visit.probes.iter().map(|to| question(to, true, rng)));
        Self {
            questions,
            local: visit.local.iter().copied().map(canonical).collect(),
            place: None,
            early: None,
            mapping: visit.probes.is_empty().then_some(NatMapping::Unknown),
            seat: false,
            deceived: false,
            since: now,
            asked: now,
            again: now,
            pause: Duration::from_micros(0),
            heard: now,
        }
    }

    pub(super) fn place(&self) -> Option<SocketAddr> {
        self.place.map(|place| place.at)
    }

    /// How the place sees us.
    pub(super) fn located(&self) -> Option<(SocketAddr, NatMapping)> {
        self.place.map(|place| (place.seen, self.mapping.unwrap_or_default()))
    }

    /// The place has introduced one that does not know the words, and has no seat for us any
    /// more, or none that another could come to: takes it anew, soon.
    pub(super) fn deceived(&mut self, now: Instant) {
        self.heard = now;
        if !core::mem::replace(&mut self.deceived, true) {
            self.again = now + DECEIVED;
        }
    }

    /// Notes that the place has said something.
    pub(super) const fn hears(&mut self, now: Instant) {
        self.heard = now;
    }

    pub(super) const fn deadline(&self) -> Instant {
        self.again
    }

    /// Asks every address that has not answered.
    pub(super) fn ask(&mut self, now: Instant, config: &Config, fx: &mut VisitEffects) {
        for PlaceQuestion { to, nonce, probe } in &self.questions {
            if !probe {
                fx.event(Event::Asking { peer: *to });
            }
            let packet = MeetPacket::Question { nonce: *nonce };
            fx.output(VisitOutput::Packet { to: *to, packet });
        }
        self.asked = now;
        self.later(now, config);
    }

    fn later(&mut self, now: Instant, config: &Config) {
        let doubled = self.pause.ratio(2, 1);
        self.pause = doubled.max(config.ask_again).min(SLOWEST);
        self.again = now + self.pause;
    }

    /// What the place says; why the visit ends, if it does.
    pub(super) fn told(
        &mut self,
        now: Instant,
        (from, packet): (SocketAddr, &MeetPacket),
        (visit, ours, config): (&Visit, u64, &Config),
        fx: &mut VisitEffects,
    ) -> Option<MeetFailure> {
        match *packet {
            MeetPacket::Cookie { nonce, cookie, seen } => {
                if let Some(place) = self.place.as_mut().filter(|it| it.at == from)
                    && nonce == ours
                {
                    // The cookie of its earlier answer has expired, or our address
                    // has changed.
                    (place.cookie, place.seen, self.heard) = (cookie, canonical(seen), now);
                    self.register(now, (visit, ours, config), fx);
                    return None;
                }
                let asked = |it: &PlaceQuestion| (it.to, it.nonce) == (from, nonce);
                let question = self.questions.iter().copied().find(asked)?;
                self.answered(now, (question, cookie, canonical(seen)), fx);
                if self.place.is_some() && self.mapping.is_some() && !self.seat {
                    self.register(now, (visit, ours, config), fx);
                }
                None
            }
            MeetPacket::Waiting { nonce } if nonce == ours && self.place() == Some(from) => {
                self.heard = now;
                if !self.seat {
                    self.seat = true;
                    fx.event(Event::Waiting { peer: from });
                    fx.output(VisitOutput::Waiting { place: from });
                }
                self.again = now + config.keep_seat;
                self.pause = Duration::from_micros(0);
                None
            }
            // That the listener has ended is to be proven.
            MeetPacket::Refused { why: MeetRefusal::Over, .. } => None,
            MeetPacket::Refused { nonce, why } if nonce == ours && self.place() == Some(from) => {
                Some(MeetFailure::Refused { refusal: why })
            }
            MeetPacket::Ended { nonce, proof } if nonce == ours && self.place() == Some(from) => {
                let proven = proof == visit.key.end_proof(visit.meeting);
                let calls = visit.side == MeetSide::Caller;
                let refusal = MeetRefusal::Over;
                (calls && proven).then_some(MeetFailure::Refused { refusal })
            }
            _ => None,
        }
    }

    /// A question was answered.
    fn answered(
        &mut self,
        now: Instant,
        (question, cookie, seen): (PlaceQuestion, u64, SocketAddr),
        fx: &mut VisitEffects,
    ) {
        self.questions.retain(|it| it.nonce != question.nonce);
        match self.place {
            None if !question.probe => {
                let (at, rtt) = (question.to, now.since(self.asked));
                self.place = Some(AnsweringPlace { at, cookie, seen, rtt });
                // Other addresses of the place are not needed any more; a second
                // port is, if it is of the same kind.
                self.questions.retain(|it| it.probe && it.to.is_ipv4() == at.is_ipv4());
                (self.heard, self.pause) = (now, Duration::from_micros(0));
                if is_door(seen.ip()) {
                    self.mapping = Some(NatMapping::Blocked);
                    self.questions.clear(); // A second port is not reached either.
                } else if self.local.contains(&seen) {
                    self.mapping = Some(NatMapping::None);
                } else if let Some(early) = self.early.filter(|it| it.is_ipv4() == seen.is_ipv4()) {
                    self.mapping = Some(mapped(seen, early));
                } else if self.questions.is_empty() && self.mapping.is_none() {
                    self.mapping = Some(NatMapping::Unknown);
                }
                self.again =
                    now + if self.mapping.is_some() { Duration::from_micros(1) } else { PROBE };
                let unknown = self.questions.iter().filter(|_| self.mapping.is_none());
                for PlaceQuestion { to, nonce, .. } in unknown {
                    // One that is lost costs a direct path to some.
                    let packet = MeetPacket::Question { nonce: *nonce };
                    fx.output(VisitOutput::Packet { to: *to, packet });
                }
            }
            Some(place) if question.probe && self.mapping.is_none() => {
                self.mapping = Some(mapped(place.seen, seen));
            }
            None => self.early = Some(seen), // The second port was faster.
            Some(_) => {}
        }
        if let Some(place) = self.place
            && let Some(mapping) = self.mapping
        {
            fx.event(Event::Located { peer: place.at, seen: place.seen, mapping });
            fx.output(VisitOutput::Located { place: place.at, seen: place.seen, mapping });
        }
    }

    /// Takes the seat, or keeps it.
    fn register(
        &mut self,
        now: Instant,
        (visit, nonce, config): (&Visit, u64, &Config),
        fx: &mut VisitEffects,
    ) {
        let Some(AnsweringPlace { at, cookie, rtt, seen }) = self.place else { return };
        let mapping = self.mapping.unwrap_or_default();
        let mut candidates = self.local.clone();
        if !is_door(seen.ip()) && !candidates.contains(&seen) {
            // Signed: ports are guessed only at an address that we say is ours.
            candidates.insert(0, seen);
        }
        let card = MeetCard { mapping, candidates };
        let packet = MeetPacket::Register(Registration {
            nonce,
            cookie,
            meeting: visit.meeting,
            side: visit.side,
            rtt: u32::try_from(rtt.as_micros()).unwrap_or(u32::MAX),
            card: card.seal(visit.key, (visit.meeting, visit.side, nonce)),
            once: visit.once,
        });
        fx.output(VisitOutput::Packet { to: at, packet });
        self.deceived = false;
        self.later(now, config);
    }

    /// Does what is due; the address of a place that was silent for too long.
    pub(super) fn run(
        &mut self,
        now: Instant,
        (visit, nonce, config): (&Visit, u64, &Config),
        fx: &mut VisitEffects,
    ) -> Option<SocketAddr> {
        if self.again > now {
            return None;
        }
        let Some(place) = self.place else {
            if now.since(self.since) >= config.place_silence {
                let first = visit.places.first().copied();
                return Some(first.unwrap_or_else(|| ([0, 0, 0, 0], 0).into()));
            }
            self.ask(now, config, fx);
            return None;
        };
        let patience =
            if self.seat { config.keep_seat + config.place_silence } else { config.place_silence };
        if now.since(self.heard) >= patience {
            return Some(place.at);
        }
        if self.mapping.is_none() {
            // The second port does not answer: how we are mapped stays unknown.
            self.mapping = Some(NatMapping::Unknown);
            self.questions.clear();
            let mapping = NatMapping::Unknown;
            fx.event(Event::Located { peer: place.at, seen: place.seen, mapping });
            fx.output(VisitOutput::Located { place: place.at, seen: place.seen, mapping });
        }
        self.register(now, (visit, nonce, config), fx);
        None
    }
}

/// How a router maps that shows two ports of a place these addresses.
fn mapped(one: SocketAddr, other: SocketAddr) -> NatMapping {
    if one == other { NatMapping::Same } else { NatMapping::Varies }
}
