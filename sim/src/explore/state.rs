//! A state of an explored world, and what may follow it.

use alloc::vec::Vec;

use servent_core::time::Instant;
use servent_core::trace::Record;

use super::choice::ExploredProtocol;
use super::fingerprint::Fingerprint;
use crate::registry::{Choice, InFlight, Limits, RunEnd};
use crate::{Oracle as _, ScenarioError, Violation, World};

/// A state: the world, what the oracles know, and what is left of the limits.
#[derive(Debug, Clone)]
pub struct ExploredState<P: ExploredProtocol> {
    world: World<P>,
    oracles: P::Oracles,
    /// Actions of the scenario that have happened.
    acts: u32,
    losses: u32,
    doubles: u32,
    crashes: u32,
}

impl<P: ExploredProtocol> ExploredState<P> {
    /// The state in which a scenario begins.
    ///
    /// # Errors
    /// When no world can be made from it.
    pub fn begin(scenario: &P::Scenario, limits: &Limits) -> Result<Self, ScenarioError> {
        let mut world = World::try_new(scenario)?;
        let mut oracles = P::oracles(scenario, RunEnd::Explored);
        world
            .choose(P::PLANS, |world| P::open(world))
            .iter()
            .for_each(|record| oracles.observe(record));
        let Limits { losses, doubles, crashes, .. } = *limits;
        Ok(Self { world, oracles, acts: 0, losses, doubles, crashes })
    }

    /// The world.
    #[must_use]
    pub const fn world(&self) -> &World<P> {
        &self.world
    }

    /// The first rule that is broken in it.
    #[must_use]
    pub fn violation(&self) -> Option<&Violation> {
        self.oracles.violations().first()
    }

    /// What may happen next, in an order that depends on nothing else.
    #[must_use]
    pub fn enabled(&self, limits: &Limits) -> Vec<Choice> {
        let mut all = Vec::new();
        if self.acts < P::acts(self.world.scenario()) {
            all.push(Choice::Act { index: self.acts });
        }
        let flights = P::flights(&self.world);
        let (loses, doubles) = (!P::STREAMS && self.losses > 0, !P::STREAMS && self.doubles > 0);
        for InFlight { id: flight, .. } in flights.iter().filter(|flight| flight.ready) {
            let flight = *flight;
            all.push(Choice::Deliver { flight });
            all.extend(loses.then_some(Choice::Lose { flight }));
            all.extend(doubles.then_some(Choice::Double { flight }));
        }
        let nodes = 0..self.world.count();
        // What is sent arrives in time or is lost; until then a later timer waits.
        let latest = flights.iter().map(|flight| flight.sent + limits.transit);
        let acting = self.acts < P::acts(self.world.scenario());
        let latest = latest.chain(acting.then_some(Instant::ZERO + limits.acting)).min();
        let due = nodes.clone().filter_map(|node| Some((self.world.due(node)?, node)));
        let planned =
            P::planned(&self.world).map(|(number, at)| (at.max(self.world.now()), number));
        let first = due.clone().map(|(at, _)| at).chain(planned.map(|(at, _)| at)).min();
        let may = |at: Instant| {
            Some(at) == first && latest.is_none_or(|latest| at <= latest) && at <= self.end()
        };
        for (at, node) in due {
            all.extend(may(at).then_some(Choice::Timer { node }));
        }
        let number = planned.filter(|(at, _)| may(*at)).map(|(_, number)| number);
        all.extend(number.map(|number| Choice::Planned { number }));
        if P::CRASHES && self.crashes > 0 {
            all.extend(nodes.map(|node| Choice::Crash { node }));
        }
        all
    }

    /// The instant after which nothing is explored.
    fn end(&self) -> Instant {
        Instant::ZERO + *P::parts(&mut self.world.scenario().clone()).horizon
    }

    /// What follows when something happens, and what was recorded meanwhile.
    #[must_use]
    pub fn after(&self, choice: Choice) -> (Self, Vec<Record<P::Event>>) {
        let mut next = self.clone();
        let records = next.world.choose(P::PLANS, |world| match choice {
            Choice::Act { index } => P::perform(world, index),
            Choice::Deliver { flight } => P::deliver(world, flight),
            Choice::Lose { flight } => P::lose(world, flight),
            Choice::Double { flight } => P::double(world, flight),
            Choice::Timer { node } => world.run_timer(node),
            Choice::Planned { number } => world.happen_in_time(number),
            Choice::Crash { node } => P::crash(world, node),
        });
        match choice {
            Choice::Act { .. } => next.acts += 1,
            Choice::Lose { .. } => next.losses -= 1,
            Choice::Double { .. } => next.doubles -= 1,
            Choice::Crash { .. } => next.crashes -= 1,
            Choice::Deliver { .. } | Choice::Timer { .. } | Choice::Planned { .. } => {}
        }
        records.iter().for_each(|record| next.oracles.observe(record));
        (next, records)
    }

    /// Nothing can happen any more: what was begun must be finished.
    pub(super) fn finish(&mut self) {
        let end = self.end().max(self.world.now());
        self.oracles.finish(end);
    }

    /// What decides whether two states are one.
    #[must_use]
    pub fn fingerprint(&self) -> Fingerprint {
        let mut print = Fingerprint::default();
        print.add(&(self.world.now(), self.acts, self.losses, self.doubles, self.crashes));
        P::fingerprint(&self.world, &mut print);
        P::remember(&self.oracles, &mut print);
        print
    }
}
