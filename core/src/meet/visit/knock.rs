//! DoorKnocking at the addresses of the other side, and choosing a pair (PA-12).

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::super::{Config, Event, MeetFailure, is_no_host};
use super::budget::KnockBudget;
use super::guess::LastResort;
use super::{Visit, VisitEffects, VisitOutput, say};
use crate::address::{LOWEST_PORT, Reach, owner, plausible, reach};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::wire::meet::{Introduction, Knock, KnockStep, MeetCard, MeetSide, NatMapping};

/// How often a choice is repeated until the listener agrees.
const CHOOSE_AGAIN: Duration = Duration::from_millis(100);

/// An address at which we knock.
#[derive(Debug, Clone, Copy)]
struct KnockCandidate {
    at: SocketAddr,
    nonce: u64,
    /// Knocks that are left for it.
    left: u32,
}

/// What the other side of a meeting is called.
#[derive(Debug, Clone, Copy)]
pub(super) struct MeetingName {
    /// The name for this meeting alone.
    pub(super) name: SocketAddr,
    /// We have met another side before, which may have been at the same address.
    pub(super) again: bool,
}

/// A visitor that has been introduced.
#[derive(Debug, Clone)]
pub(super) struct DoorKnocking {
    place: SocketAddr,
    /// The number of the other side's registration.
    other: u64,
    name: MeetingName,
    relays: bool,
    ours: NatMapping,
    theirs: NatMapping,
    candidates: Vec<KnockCandidate>,
    /// Draws numbers for addresses that show up later.
    rng: Rng,
    /// When we knock next, how long we wait after that, and until when.
    again: Option<Instant>,
    pause: Duration,
    until: Instant,
    /// No longer than this, wherever the other side moves.
    latest: Instant,
    /// What is done when they do not help.
    resort: Option<LastResort>,
    /// There is no more of it.
    tried: bool,
    /// The pair that the caller has chosen, and when it says so again.
    choice: Option<(KnockCandidate, Instant)>,
    /// Both sides agree on this address.
    agreed: Option<SocketAddr>,
}

impl DoorKnocking {
    pub(super) fn new(
        now: Instant,
        (place, it, card, name): (SocketAddr, &Introduction, MeetCard, MeetingName),
        (seen, ours): (Option<SocketAddr>, NatMapping),
        (config, budget, rng): (&Config, &mut KnockBudget, &mut Rng),
        fx: &mut VisitEffects,
    ) -> Self {
        let begin = now + Duration::from_micros(u64::from(it.wait));
        let mut knocking = Self {
            place,
            other: it.other,
            name,
            relays: it.relays,
            ours,
            theirs: card.mapping,
            candidates: Vec::new(),
            rng: rng.fork("knocks", it.other),
            again: Some(begin),
            pause: config.knock_again,
            until: begin + config.knock_for,
            latest: begin + config.knock_for + config.knock_for,
            resort: None,
            tried: false,
            choice: None,
            agreed: None,
        };
        // The same router sees both: then their own addresses are in one network.
        let near = seen.is_some_and(|seen| owner(seen.ip()) == owner(it.seen.ip()));
        let near = near || reach(place.ip()) < Reach::World;
        for at in card.candidates.iter().chain([&it.seen]).copied() {
            let told_by = if near && at != it.seen { at.ip() } else { place.ip() };
            if !knocking.may_knock_at(at, told_by) || !knocking.add(now, at, (config, budget)) {
                fx.event(Event::Skipped { peer: at });
            }
        }
        let about = (it, &card, ours);
        knocking.resort = LastResort::new(begin, about, (config, &mut knocking.rng))
            .filter(|_| budget.take_resort(now, config));
        let (peer, theirs) = (it.seen, card.mapping);
        let candidates = u32::try_from(knocking.candidates.len()).unwrap_or(u32::MAX);
        fx.event(Event::Met { peer, candidates, mapping: theirs, relayed: it.relays });
        if it.relays {
            let peer = name.name;
            fx.output(VisitOutput::Route { peer, to: place });
            fx.output(VisitOutput::Met { peer, relayed: true, ours, theirs });
        }
        knocking
    }

    /// True for an address that is knocked at when one with this address tells it.
    fn may_knock_at(&self, at: SocketAddr, told_by: IpAddr) -> bool {
        at.port() >= LOWEST_PORT
            && at != self.place
            && !is_no_host(at.ip())
            && plausible(at.ip(), told_by)
    }

    /// The place sees the other side at another address than before: its router has
    /// forgotten the one that we know. It is knocked at as if we had just met.
    pub(super) fn seen_at(
        &mut self,
        now: Instant,
        at: SocketAddr,
        (config, budget): (&Config, &mut KnockBudget),
        fx: &mut VisitEffects,
    ) {
        let known = self.candidates.iter().any(|it| it.at == at);
        if known || self.choice.is_some() || self.agreed.is_some() {
            return;
        }
        if !self.may_knock_at(at, self.place.ip()) || !self.add(now, at, (config, budget)) {
            return fx.event(Event::Skipped { peer: at });
        }
        let until = (now + config.knock_for).min(self.latest);
        (self.again, self.pause, self.until) = (Some(now), config.knock_again, until);
    }

    /// One more address; false when there are too many.
    fn add(
        &mut self,
        now: Instant,
        at: SocketAddr,
        (config, budget): (&Config, &mut KnockBudget),
    ) -> bool {
        if self.candidates.iter().any(|it| it.at == at) {
            return true;
        }
        let fits = budget.take_address(now, config);
        if fits {
            let (nonce, left) = (self.rng.next_u64(), config.knocks);
            self.candidates.push(KnockCandidate { at, nonce, left });
        }
        fits
    }

    pub(super) const fn place(&self) -> SocketAddr {
        self.place
    }

    /// The other side, while its bytes pass through the place.
    pub(super) fn relayed_peer(&self) -> Option<SocketAddr> {
        (self.relays && self.agreed.is_none()).then_some(self.name.name)
    }

    /// True when the other side is the visitor with this number.
    pub(super) const fn is_with(&self, other: u64) -> bool {
        self.other == other
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let choose = self.choice.filter(|_| self.agreed.is_none()).map(|(_, at)| at);
        let resort = self.resort.as_ref().filter(|_| self.again.is_some() && !self.tried);
        let resort = resort.map(LastResort::deadline);
        self.again.into_iter().chain(choose).chain(resort).min()
    }

    /// The other side knocked, and proved that it knows the key.
    pub(super) fn heard(
        &mut self,
        now: Instant,
        (from, knock): (SocketAddr, Knock),
        (visit, config, budget): (&Visit, &Config, &mut KnockBudget),
        fx: &mut VisitEffects,
    ) {
        let Knock { step, nonce, .. } = knock;
        fx.event(Event::Heard { peer: from, step });
        match step {
            KnockStep::Ask => {
                say((from, KnockStep::Answer, nonce), visit, fx);
                // Its router may have given it another port for us: we knock there.
                let new = self.candidates.iter().all(|it| it.at != from);
                if new && self.again.is_some() && self.add(now, from, (config, budget)) {
                    let nonce = self.candidates.last().map_or(0, |it| it.nonce);
                    say((from, KnockStep::Ask, nonce), visit, fx);
                }
            }
            KnockStep::Answer => {
                let asked = self.candidates.iter().any(|it| it.nonce == nonce)
                    || self.resort.as_ref().is_some_and(|resort| resort.has_asked(nonce));
                if !asked {
                    return;
                }
                if visit.side == MeetSide::Caller && self.choice.is_none() {
                    // It answers from where it is for us, whatever we thought.
                    let chosen = KnockCandidate { at: from, nonce, left: 0 };
                    self.choice = Some((chosen, now + CHOOSE_AGAIN));
                    self.again = None;
                    say((from, KnockStep::Choose, chosen.nonce), visit, fx);
                }
            }
            KnockStep::Choose if visit.side == MeetSide::Listener => {
                say((from, KnockStep::Agree, nonce), visit, fx);
                self.agree(from, fx);
            }
            KnockStep::Agree if visit.side == MeetSide::Caller => {
                if self.choice.is_some_and(|(chosen, _)| (chosen.at, chosen.nonce) == (from, nonce))
                {
                    self.agree(from, fx);
                }
            }
            KnockStep::Choose | KnockStep::Agree => {}
        }
    }

    /// Both sides use this pair from now on.
    fn agree(&mut self, at: SocketAddr, fx: &mut VisitEffects) {
        if self.agreed == Some(at) {
            return;
        }
        let first = self.agreed.replace(at).is_none();
        self.again = None;
        fx.event(Event::Chosen { peer: at });
        let MeetingName { name, again } = self.name;
        if self.relays {
            fx.output(VisitOutput::Moved { peer: name, to: at });
        } else if first {
            let peer = if again { name } else { at };
            if again {
                fx.output(VisitOutput::Route { peer, to: at });
            }
            let (ours, theirs) = (self.ours, self.theirs);
            fx.output(VisitOutput::Met { peer, relayed: false, ours, theirs });
        }
    }

    /// Ordinary knocks have not helped for a while.
    fn try_harder(
        &mut self,
        now: Instant,
        (visit, config): (&Visit, &Config),
        fx: &mut VisitEffects,
    ) {
        if let Some(resort) = self.resort.as_mut().filter(|_| self.again.is_some() && !self.tried) {
            self.tried = !resort.run(now, (visit, config), &mut self.rng, fx);
        }
    }

    /// Does what is due; why there is no path, when all was tried.
    pub(super) fn run(
        &mut self,
        now: Instant,
        (visit, config): (&Visit, &Config),
        fx: &mut VisitEffects,
    ) -> Option<(SocketAddr, MeetFailure)> {
        if let Some((chosen, at)) = self.choice
            && at <= now
            && self.agreed.is_none()
        {
            if now >= self.until + config.knock_slowest {
                // What answered does not answer any more: as if it never had.
                self.choice = None;
                self.again = Some(self.until);
            } else {
                self.choice = Some((chosen, now + CHOOSE_AGAIN));
                say((chosen.at, KnockStep::Choose, chosen.nonce), visit, fx);
            }
        }
        self.try_harder(now, (visit, config), fx);
        let again = self.again.filter(|at| *at <= now)?;
        if now >= self.until {
            self.again = None;
            let (ours, theirs) = (self.ours, self.theirs);
            let failure = MeetFailure::Unreachable { ours, theirs };
            if self.relays {
                fx.event(Event::NoPath { peer: self.place, failure });
                fx.output(VisitOutput::Failed { why: failure, relayed: true });
                return None;
            }
            return Some((self.place, failure));
        }
        for KnockCandidate { at, nonce, left } in &mut self.candidates {
            if *left > 0 {
                *left -= 1;
                say((*at, KnockStep::Ask, *nonce), visit, fx);
            }
        }
        self.again =
            Some((now.max(again) + self.pause).min(self.until.max(now + Duration::from_micros(1))));
        self.pause = self.pause.ratio(3, 2).min(config.knock_slowest);
        None
    }
}
