//! The world of a lesson: a scenario of one of the protocols as data, changed
//! a little from step to step.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::course::Course;
use super::question::Undecided;
use super::vocabulary;
use crate::registry::{ProtocolId, RegisteredProtocol};
use crate::{At, ScenarioError, World};
use servent_core::time::{Duration, Instant};

/// What is changed of a world: what is done in it, and other settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct StageTweak {
    /// What is done, besides what the scenario says: `{at, cut: {…}}`.
    pub acts: Vec<Value>,
    /// Settings of the scenario by their ways, as `clients.0.size`.
    pub set: BTreeMap<String, Value>,
    /// Another seed.
    pub seed: Option<u64>,
}

/// Why a lesson has no such world, or no answer. Its `Display` is a sentence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum StageError {
    /// The scenario or an act cannot be read; the parser's message.
    #[error("{0}")]
    Data(String),
    /// The scenario makes no sense.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// A setting leads nowhere in the scenario.
    #[error("`{way}`: the scenario has no `{step}` there")]
    NoPlace {
        /// The whole way.
        way: String,
        /// Its part that is not there.
        step: String,
    },
    /// The lesson has fewer steps.
    #[error("there is no such step")]
    NoStep,
    /// The step has no question.
    #[error("nothing is asked in this step")]
    NoQuestion,
    /// The step has no goal.
    #[error("there is no goal in this step")]
    NoGoal,
    /// The stored solution does not reach the goal; why it is wrong.
    #[error("{0}")]
    NotReached(String),
    /// The run does not answer the question.
    #[error(transparent)]
    Undecided(#[from] Undecided),
}

impl From<serde_json::Error> for StageError {
    fn from(why: serde_json::Error) -> Self {
        Self::Data(why.to_string())
    }
}

/// A world, as data.
#[derive(Debug, Clone, PartialEq)]
pub struct LessonStage {
    /// Of which protocol.
    pub view: ProtocolId,
    /// Its scenario, every field.
    pub scenario: Value,
}

impl LessonStage {
    /// The world of a preset.
    #[must_use]
    pub fn preset(view: ProtocolId, id: &str) -> Option<Self> {
        let scenario = for_protocol!(view, preset(id))?;
        Some(Self { view, scenario })
    }

    /// The world of a scenario that need not have every field.
    ///
    /// # Errors
    /// What makes no sense in it.
    pub fn new(view: ProtocolId, scenario: Value) -> Result<Self, StageError> {
        let scenario = for_protocol!(view, whole(scenario, None))?;
        Ok(Self { view, scenario })
    }

    /// The same world, no longer than this.
    ///
    /// # Errors
    /// What makes no sense in it.
    pub fn shortened(self, length: Duration) -> Result<Self, StageError> {
        let scenario = for_protocol!(self.view, whole(self.scenario, Some(length)))?;
        Ok(Self { scenario, ..self })
    }

    /// The world with something changed.
    ///
    /// # Errors
    /// What makes no sense in it.
    pub fn with(&self, tweak: &StageTweak) -> Result<Self, StageError> {
        let mut scenario = self.scenario.clone();
        for (way, value) in &tweak.set {
            *place(&mut scenario, way)? = value.clone();
        }
        let scenario = for_protocol!(self.view, changed(scenario, tweak))?;
        Ok(Self { view: self.view, scenario })
    }

    /// How long it is watched.
    ///
    /// # Errors
    /// What makes no sense in it.
    pub fn length(&self) -> Result<Duration, StageError> {
        for_protocol!(self.view, length(self.scenario.clone()))
    }

    /// What happens in it, from the beginning to an instant or its end.
    ///
    /// # Errors
    /// What makes no sense in it.
    pub fn course(&self, end: Option<Instant>) -> Result<Course, StageError> {
        for_protocol!(self.view, course(self.scenario.clone(), end))
    }

    /// What its nodes are called, by their numbers.
    ///
    /// # Errors
    /// What makes no sense in it.
    pub fn names(&self) -> Result<Vec<String>, StageError> {
        for_protocol!(self.view, names(self.scenario.clone()))
    }

    /// What is wrong with the name of an event; `None` when worlds of this
    /// protocol have it.
    pub(super) fn wrong_name(&self, event: &str) -> Option<String> {
        for_protocol!(self.view, wrong_name(event))
    }
}

fn preset<P: RegisteredProtocol>(id: &str) -> Option<Value> {
    let found = P::presets().into_iter().find(|scenario| P::about(scenario).id == id);
    serde_json::to_value(found?).ok()
}

fn read<P: RegisteredProtocol>(scenario: Value) -> Result<P::Scenario, StageError> {
    let scenario = serde_json::from_value(scenario)?;
    P::check(&scenario)?;
    Ok(scenario)
}

fn written<P: RegisteredProtocol>(scenario: &P::Scenario) -> Result<Value, StageError> {
    P::check(scenario)?;
    serde_json::to_value(scenario).map_err(StageError::from)
}

fn whole<P: RegisteredProtocol>(
    scenario: Value,
    length: Option<Duration>,
) -> Result<Value, StageError> {
    let mut scenario = read::<P>(scenario)?;
    let horizon = P::parts(&mut scenario).horizon;
    *horizon = length.unwrap_or(*horizon);
    written::<P>(&scenario)
}

fn changed<P: RegisteredProtocol>(
    scenario: Value,
    tweak: &StageTweak,
) -> Result<Value, StageError> {
    let mut scenario = read::<P>(scenario)?;
    let parts = P::parts(&mut scenario);
    *parts.seed = tweak.seed.unwrap_or(*parts.seed);
    for act in &tweak.acts {
        let act: At<P::Fault> = serde_json::from_value(act.clone())?;
        parts.faults.push(act);
    }
    written::<P>(&scenario)
}

fn length<P: RegisteredProtocol>(scenario: Value) -> Result<Duration, StageError> {
    Ok(*P::parts(&mut read::<P>(scenario)?).horizon)
}

fn course<P: RegisteredProtocol>(
    scenario: Value,
    end: Option<Instant>,
) -> Result<Course, StageError> {
    let mut scenario = read::<P>(scenario)?;
    let end = end.unwrap_or(Instant::ZERO + *P::parts(&mut scenario).horizon);
    Course::run::<P>(&scenario, end).map_err(StageError::from)
}

fn wrong_name<P: RegisteredProtocol>(event: &str) -> Option<String> {
    vocabulary::wrong_name::<P::Event>(event)
}

fn names<P: RegisteredProtocol>(scenario: Value) -> Result<Vec<String>, StageError> {
    let world = World::<P>::try_new(&read::<P>(scenario)?)?;
    Ok(P::names(&world))
}

/// The place in a scenario that a way leads to.
fn place<'a>(mut tree: &'a mut Value, way: &str) -> Result<&'a mut Value, StageError> {
    for step in way.split('.') {
        let next = match tree {
            Value::Object(fields) => fields.get_mut(step),
            Value::Array(items) => step.parse::<usize>().ok().and_then(|i| items.get_mut(i)),
            _ => None,
        };
        tree = next.ok_or_else(|| StageError::NoPlace { way: way.into(), step: step.into() })?;
    }
    Ok(tree)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_world_is_changed_by_ways_acts_and_a_seed() {
        let stage = LessonStage::preset(ProtocolId::Queue, "one-cut-wire").expect("a preset");
        let tweak = json!({"acts": [{"at": 5, "crash": {"node": 0}}], "set": {"clients.0.size": 7}, "seed": 9});
        let tweak: StageTweak = serde_json::from_value(tweak).unwrap();
        let other = stage.with(&tweak).unwrap();
        assert_eq!(other.scenario["clients"][0]["size"], 7);
        assert_eq!(other.scenario["seed"], 9);
        let count = |stage: &LessonStage| stage.scenario["faults"].as_array().map(Vec::len);
        assert_eq!(count(&other), count(&stage).map(|n| n + 1));
        for (way, why) in [("clientz.0", "no `clientz`"), ("clients.9.size", "no `9`")] {
            let set = [(way.to_string(), json!(1))].into_iter().collect();
            let told =
                stage.with(&StageTweak { set, ..StageTweak::default() }).unwrap_err().to_string();
            assert!(told.contains(why), "{told}");
        }
        let acts = alloc::vec![json!({"crash": {"node": 99}})];
        let told =
            stage.with(&StageTweak { acts, ..StageTweak::default() }).unwrap_err().to_string();
        assert!(told.contains("there is no node 99"), "{told}");
    }
}
