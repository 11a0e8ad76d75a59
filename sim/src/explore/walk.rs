//! A walk as the registry knows it, without the type of its protocol.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use super::choice::ExploredProtocol;
use super::explorer::{Explorer, Successor};
use super::story::tell;
use crate::ScenarioError;
use crate::registry::{
    Ended, ExpandedPart, Explored, Limits, TaggedScenario, ToldStory, WorldWalk,
};

/// A walk, and what it walks.
#[derive(Debug)]
struct ScenarioWalk<P: ExploredProtocol> {
    scenario: P::Scenario,
    limits: Limits,
    explorer: Explorer<P>,
}

/// A walk that begins where a scenario does.
///
/// # Errors
/// When no world can be made from it.
pub(crate) fn walk<P: ExploredProtocol>(
    scenario: &P::Scenario,
    limits: Limits,
) -> Result<Box<dyn WorldWalk>, ScenarioError>
where
    P::Scenario: Send + Sync,
    Explorer<P>: Send + Sync,
    Successor<P>: Send,
{
    let explorer = Explorer::new(scenario, limits.clone())?;
    Ok(Box::new(ScenarioWalk { scenario: scenario.clone(), limits, explorer }))
}

impl<P: ExploredProtocol> WorldWalk for ScenarioWalk<P>
where
    P::Scenario: Send + Sync,
    Explorer<P>: Send + Sync,
    Successor<P>: Send,
{
    fn found(&self) -> &Explored {
        self.explorer.found()
    }

    fn waiting(&self) -> usize {
        self.explorer.waiting()
    }

    fn expand(&self, part: Range<usize>) -> ExpandedPart {
        ExpandedPart(Box::new(self.explorer.expand(part)))
    }

    fn absorb(&mut self, parts: Vec<ExpandedPart>) -> Option<Ended> {
        let own = |part: ExpandedPart| part.0.downcast::<Vec<Vec<Successor<P>>>>().ok();
        let parts = parts.into_iter().filter_map(own);
        self.explorer.absorb(parts.flat_map(|part| *part).collect())
    }

    fn story(&self) -> Result<Option<ToldStory>, ScenarioError> {
        let found = self.explorer.found();
        let Some(violation) = &found.violation else { return Ok(None) };
        let story = tell::<P>(&self.scenario, &self.limits, &found.story, violation)?;
        let scenario = story.scenario.as_ref().and_then(TaggedScenario::new::<P>);
        Ok(Some(ToldStory { steps: story.steps, scenario }))
    }
}
