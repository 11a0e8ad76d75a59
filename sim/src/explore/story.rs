//! A story: what happened on the way to a state, step by step.

use alloc::string::String;
use alloc::vec::Vec;

use servent_core::time::Instant;

use super::choice::ExploredProtocol;
use super::state::ExploredState;
use crate::registry::{About, Choice, Limits, RunEnd, StoryStep};
use crate::{Oracle as _, ScenarioError, Violation, World};

/// A story that breaks a rule.
#[derive(Debug, Clone)]
pub struct Story<P: ExploredProtocol> {
    /// Its steps.
    pub steps: Vec<StoryStep>,
    /// The scenario in which it happens by itself; `None` when no scenario was
    /// found that breaks the same rule.
    pub scenario: Option<P::Scenario>,
}

/// Tells a story: its steps, and the scenario in which it happens by itself,
/// verified by running it.
///
/// # Errors
/// When no world can be made from the scenario.
pub fn tell<P: ExploredProtocol>(
    scenario: &P::Scenario,
    limits: &Limits,
    choices: &[Choice],
    violation: &Violation,
) -> Result<Story<P>, ScenarioError> {
    let mut state = ExploredState::<P>::begin(scenario, limits)?;
    let mut steps = Vec::new();
    for choice in choices {
        let before: Vec<u64> = P::flights(state.world()).iter().map(|flight| flight.id).collect();
        let message = match choice {
            Choice::Deliver { flight } | Choice::Lose { flight } | Choice::Double { flight } => {
                P::tell(state.world(), *flight)
            }
            _ => String::new(),
        };
        let (next, _) = state.after(*choice);
        let flights = P::flights(next.world()).into_iter();
        let sent = flights.filter(|flight| !before.contains(&flight.id)).collect();
        steps.push(StoryStep { at: next.world().now(), choice: *choice, message, sent });
        state = next;
    }
    let retold = P::retell(scenario, &steps);
    let scenario = retold.filter(|scenario| breaks::<P>(scenario, violation));
    Ok(Story { steps, scenario })
}

/// True when a run of a scenario breaks the same rule.
fn breaks<P: ExploredProtocol>(scenario: &P::Scenario, violation: &Violation) -> bool {
    let Ok(mut world) = World::<P>::try_new(scenario) else { return false };
    let mut oracles = P::oracles(scenario, RunEnd::Settled);
    let end = Instant::ZERO + *P::parts(&mut scenario.clone()).horizon;
    world.watch(end, |_| false, |record| oracles.observe(record));
    oracles.finish(end);
    oracles.violations().iter().any(|found| found.key == violation.key)
}

impl<P: ExploredProtocol> Story<P> {
    /// The description of the scenario, if it has one.
    #[must_use]
    pub fn about(&self) -> Option<About<'_>> {
        self.scenario.as_ref().map(P::about)
    }
}
