//! Knocking at the addresses of the other side, and choosing a pair (PA-12).

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::super::{Config, Event, MeetFailure, is_no_host};
use super::budget::KnockBudget;
use super::guess::LastResort;
use super::knocker::Knocker;
use super::{VisitEffects, VisitOutput};
use crate::address::{LOWEST_PORT, Reach, owner, plausible, reach};
use crate::rng::Rng;
use crate::time::{Duration, Instant};
use crate::wire::meet::{Introduction, Knock, KnockStep, MeetCard, MeetSide, NatMapping};

/// When a choice is repeated to which the listener has not agreed; it doubles each time.
const CHOOSE_AGAIN: Duration = Duration::from_millis(100);

/// An address at which we knock.
#[derive(Debug, Clone, Copy)]
struct KnockCandidate {
    at: SocketAddr,
    nonce: u64,
    /// Knocks and choices that are left for it.
    left: u32,
}

/// What the caller has chosen.
#[derive(Debug, Clone, Copy)]
struct KnockChoice {
    at: SocketAddr,
    nonce: u64,
    /// What it was given with the answer.
    token: u64,
    /// When it says so again, how long it waits after that, and until when.
    again: Instant,
    pause: Duration,
    until: Instant,
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
pub(super) struct Knocking {
    knocker: Knocker,
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
    /// What the caller has chosen, and the listener has not agreed to.
    choice: Option<KnockChoice>,
    /// Both sides agree on this address, since then.
    agreed: Option<(SocketAddr, Instant)>,
}

/// Who was introduced to us.
pub(super) struct IntroducedSide<'a> {
    pub(super) place: SocketAddr,
    pub(super) it: &'a Introduction,
    pub(super) card: MeetCard,
    pub(super) name: MeetingName,
}

impl Knocking {
    pub(super) fn new(
        now: Instant,
        IntroducedSide { place, it, card, name }: IntroducedSide<'_>,
        (knocker, seen, ours): (Knocker, Option<SocketAddr>, NatMapping),
        (config, budget, rng): (&Config, &mut KnockBudget, &mut Rng),
        fx: &mut VisitEffects,
    ) -> Self {
        let begin = now + Duration::from_micros(u64::from(it.wait));
        let mut knocking = Self {
            knocker,
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
            // Neither network is this machine, whatever the place says of addresses.
            let inside = near && at != it.seen && reach(at.ip()) > Reach::Machine;
            let told_by = if inside { at.ip() } else { place.ip() };
            if !knocking.may_knock_at(at, told_by) || !knocking.add(now, at, (config, budget)) {
                fx.event(Event::Skipped { peer: at });
            }
        }
        let about = (it, &card, ours);
        // A place that has found out the words signs what it likes, such as hosts of our network.
        knocking.resort = LastResort::new(begin, about, (config, &mut knocking.rng))
            .filter(|_| knocking.may_knock_at(it.seen, place.ip()));
        let (peer, theirs) = (it.seen, card.mapping);
        let candidates = u32::try_from(knocking.candidates.len()).unwrap_or(u32::MAX);
        fx.event(Event::Met { peer, candidates, mapping: theirs, relayed: it.relays });
        if it.relays {
            let peer = name.name;
            fx.output(VisitOutput::Route { peer, to: place });
            fx.output(VisitOutput::Met { peer, at: place, relayed: true, ours, theirs });
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
            self.push(at, config);
        }
        fits
    }

    fn push(&mut self, at: SocketAddr, config: &Config) {
        let (nonce, left) = (self.rng.next_u64(), config.knocks);
        self.candidates.push(KnockCandidate { at, nonce, left });
    }

    pub(super) const fn place(&self) -> SocketAddr {
        self.place
    }

    /// The number of the other side's registration.
    pub(super) const fn other(&self) -> u64 {
        self.other
    }

    /// The other side, while its bytes pass through the place.
    pub(super) fn relayed_peer(&self) -> Option<SocketAddr> {
        (self.relays && self.agreed.is_none()).then_some(self.name.name)
    }

    /// True while it knocks: nothing was chosen.
    const fn knocks(&self) -> bool {
        self.again.is_some() && self.choice.is_none()
    }

    /// True when both sides have agreed on a direct path.
    pub(super) const fn is_direct(&self) -> bool {
        self.agreed.is_some()
    }

    /// What it says to the other side, and hears from it.
    pub(super) const fn knocker(&self) -> &Knocker {
        &self.knocker
    }

    pub(super) fn deadline(&self) -> Option<Instant> {
        let choose = self.choice.map(|choice| choice.again.min(choice.until));
        let resort = self.resort.as_ref().filter(|_| self.knocks() && !self.tried);
        let resort = resort.map(LastResort::deadline);
        self.again.into_iter().chain(choose).chain(resort).min()
    }

    /// The other side knocked, and proved that it knows the key.
    pub(super) fn heard(
        &mut self,
        now: Instant,
        (from, knock): (SocketAddr, Knock),
        (config, budget): (&Config, &mut KnockBudget),
        fx: &mut VisitEffects,
    ) {
        let Knock { step, nonce, .. } = knock;
        fx.event(Event::Heard { peer: from, step });
        let knocker = self.knocker;
        match step {
            KnockStep::Ask => {
                self.answer((now, from), nonce, (config, budget), fx);
                // Its router may have given it another port for us: we knock there.
                let new = self.candidates.iter().all(|it| it.at != from);
                if new && self.knocks() && self.add(now, from, (config, budget)) {
                    self.ask((now, self.candidates.len() - 1), (config, budget), fx);
                }
            }
            KnockStep::Answer if knocker.side == MeetSide::Caller => {
                self.answered(now, (from, knock), (config, budget), fx);
            }
            KnockStep::Choose if knocker.side == MeetSide::Listener => {
                if !knocker.has_proved(from, &knock) {
                    // It may have been sent again by a stranger, or from another port of
                    // the caller's router: that one receives what it must return.
                    return self.answer((now, from), nonce, (config, budget), fx);
                }
                if self.may_move(now, from, config) {
                    knocker.say(from, knocker.agree(&knock), fx);
                    self.agree((now, from), budget, fx);
                }
            }
            KnockStep::Agree if knocker.side == MeetSide::Caller => {
                // One that comes late is as good, unless something else was chosen.
                let chosen = match self.choice {
                    Some(choice) => (choice.at, choice.nonce) == (from, nonce),
                    None => self.knocks(),
                };
                if chosen && knocker.has_proved(from, &knock) {
                    self.agree((now, from), budget, fx);
                }
            }
            KnockStep::Answer | KnockStep::Choose | KnockStep::Agree => {}
        }
    }

    /// Answers what seems to come from there, if that may be done once more.
    fn answer(
        &self,
        (now, to): (Instant, SocketAddr),
        nonce: u64,
        (config, budget): (&Config, &mut KnockBudget),
        fx: &mut VisitEffects,
    ) {
        if !budget.take_answer(now, to, config) {
            return fx.event(Event::Skipped { peer: to });
        }
        self.knocker.say(to, self.knocker.answer(to, nonce), fx);
    }

    /// An address answers: the caller chooses the first, until that is shown to be of no
    /// use.
    fn answered(
        &mut self,
        now: Instant,
        (from, knock): (SocketAddr, Knock),
        (config, budget): (&Config, &mut KnockBudget),
        fx: &mut VisitEffects,
    ) {
        let Knock { nonce, token, .. } = knock;
        if let Some(choice) = &mut self.choice {
            // The listener sees us at another address than when it answered first.
            if (choice.at, choice.nonce) == (from, nonce) && choice.token != token {
                choice.token = token;
                self.choose(now, (config, budget), fx);
            }
            return;
        }
        let guessed = self.resort.as_ref().is_some_and(|resort| resort.has_asked(from, nonce));
        let asked = guessed || self.candidates.iter().any(|it| it.nonce == nonce);
        if !asked || self.agreed.is_some() {
            return;
        }
        // It answers from where it is for us, whatever we thought.
        let known = self.candidates.iter().any(|it| it.at == from);
        if !known && guessed {
            self.push(from, config); // The port was taken when it was guessed.
        } else if !self.add(now, from, (config, budget)) {
            return;
        }
        let (again, pause, until) = (now, CHOOSE_AGAIN, now + config.choose_for);
        self.choice = Some(KnockChoice { at: from, nonce, token, again, pause, until });
        self.again = self.again.map(|_| until); // Unless it was given up by then.
        self.choose(now, (config, budget), fx);
    }

    /// Says what was chosen, if that may be said once more.
    fn choose(
        &mut self,
        now: Instant,
        (config, budget): (&Config, &mut KnockBudget),
        fx: &mut VisitEffects,
    ) {
        let Some(choice) = &mut self.choice else { return };
        let candidate = self.candidates.iter_mut().find(|it| it.at == choice.at && it.left > 0);
        let candidate = candidate.filter(|_| budget.take_knock(now, choice.at, config));
        choice.again = if let Some(candidate) = candidate {
            candidate.left -= 1;
            let knock = self.knocker.choose(choice.at, (choice.nonce, choice.token));
            self.knocker.say(choice.at, knock, fx);
            now + choice.pause
        } else {
            choice.until
        };
        choice.pause = choice.pause.ratio(2, 1);
    }

    /// Knocks once at a candidate.
    fn ask(
        &mut self,
        (now, which): (Instant, usize),
        (config, budget): (&Config, &mut KnockBudget),
        fx: &mut VisitEffects,
    ) {
        let Some(candidate) = self.candidates.get_mut(which).filter(|it| it.left > 0) else {
            return;
        };
        if !budget.take_knock(now, candidate.at, config) {
            return;
        }
        candidate.left -= 1;
        self.knocker.say(candidate.at, self.knocker.ask(candidate.nonce), fx);
    }

    /// True when the caller may choose that address: it has chosen nothing, or may have
    /// given up what it chose before, as it does after a while.
    fn may_move(&self, now: Instant, to: SocketAddr, config: &Config) -> bool {
        self.agreed.is_none_or(|(at, since)| {
            let chooses = now <= self.latest + config.choose_for;
            at == to || chooses && now.since(since) >= config.choose_for.ratio(1, 2)
        })
    }

    /// Both sides use this pair from now on.
    fn agree(
        &mut self,
        (now, at): (Instant, SocketAddr),
        budget: &mut KnockBudget,
        fx: &mut VisitEffects,
    ) {
        if self.agreed.is_some_and(|(agreed, _)| agreed == at) {
            return;
        }
        budget.give_back(at);
        let first = self.agreed.replace((at, now)).is_none();
        (self.again, self.choice) = (None, None);
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
            fx.output(VisitOutput::Met { peer, at, relayed: false, ours, theirs });
        }
    }

    /// Ordinary knocks have not helped for a while.
    fn try_harder(
        &mut self,
        now: Instant,
        (config, budget): (&Config, &mut KnockBudget),
        fx: &mut VisitEffects,
    ) {
        let knocks = self.knocks();
        if let Some(resort) = self.resort.as_mut().filter(|_| knocks && !self.tried) {
            let dice = (budget, &mut self.rng);
            self.tried = !resort.run(now, (&self.knocker, config), dice, fx);
        }
    }

    /// Does what is due; why there is no path, when all was tried.
    pub(super) fn run(
        &mut self,
        now: Instant,
        (config, budget): (&Config, &mut KnockBudget),
        fx: &mut VisitEffects,
    ) -> Option<(SocketAddr, MeetFailure)> {
        if let Some(choice) = &self.choice {
            if now >= choice.until {
                // What answered does not answer any more: as if it never had.
                self.choice = None;
            } else if now >= choice.again {
                self.choose(now, (config, budget), fx);
            }
        }
        self.try_harder(now, (config, budget), fx);
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
        for which in 0..self.candidates.len() {
            self.ask((now, which), (config, budget), fx);
        }
        self.again =
            Some((now.max(again) + self.pause).min(self.until.max(now + Duration::from_micros(1))));
        self.pause = self.pause.ratio(3, 2).min(config.knock_slowest);
        None
    }
}
