//! A walk over every order of events of a small world, whatever its protocol.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::any::Any;
use core::fmt::Debug;
use core::ops::Range;

use serde::{Deserialize, Serialize};
use servent_core::time::Instant;

use super::tagged::TaggedScenario;
use crate::{ScenarioError, Violation};

/// Something that may happen next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum Choice {
    /// The next action of the scenario happens.
    Act { index: u32 },
    /// A message in flight arrives.
    Deliver { flight: u64 },
    /// It is lost.
    Lose { flight: u64 },
    /// It will arrive twice.
    Double { flight: u64 },
    /// A node's timer runs.
    Timer { node: u32 },
    /// Something happens that takes its time, and needs no message.
    Planned { number: u64 },
    /// A node dies without notice, and starts again at once.
    Crash { node: u32 },
}

/// A message under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InFlight {
    /// Its number in this world.
    pub id: u64,
    /// Its sender.
    pub from: u32,
    /// Its receiver.
    pub to: u32,
    /// Its number in this direction; that of the original for a copy.
    pub n: u32,
    /// When it was sent.
    pub sent: Instant,
    /// Whether it may arrive before others: on a stream only the oldest may.
    pub ready: bool,
}

/// How an exploration ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// There is no other state.
    Complete,
    /// A rule is broken.
    Broken,
    /// Stories would be longer than the limit `depth`.
    Depth,
    /// There are more states than the limit `states`.
    States,
    /// The host gave up.
    Cancelled,
}

/// What an exploration found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Explored {
    /// Different states.
    pub states: u64,
    /// Events that led from one to another.
    pub transitions: u64,
    /// Events of the longest story that leads to a new state.
    pub depth: u32,
    /// States in which nothing can happen any more.
    pub ends: u64,
    /// How it ended.
    pub ended: Ended,
    /// The broken rule.
    pub violation: Option<Violation>,
    /// The shortest story that leads there.
    pub story: Vec<Choice>,
}

/// A step of a story.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StoryStep {
    /// When, in the explored world.
    pub at: Instant,
    /// What was chosen.
    #[serde(flatten)]
    pub choice: Choice,
    /// The message it is about, in words.
    pub message: String,
    /// The messages that were sent in it.
    #[serde(skip)]
    pub sent: Vec<InFlight>,
}

/// The successors of some states, to be given back to the walk they are of.
#[derive(Debug)]
pub struct ExpandedPart(pub(crate) Box<dyn Any + Send>);

/// A story that breaks a rule: its steps, and the scenario in which it happens by
/// itself, when one was found that breaks the same rule.
#[derive(Debug, Clone)]
pub struct ToldStory {
    /// Its steps.
    pub steps: Vec<StoryStep>,
    /// The scenario.
    pub scenario: Option<TaggedScenario>,
}

/// A walk over all states of a world. It has no threads and no clock: its host
/// gives parts of a level to as many cores as it has, and the results back in
/// their order.
pub trait WorldWalk: Debug + Send + Sync {
    /// What was found so far.
    fn found(&self) -> &Explored;
    /// The number of states of this depth whose successors are not known.
    fn waiting(&self) -> usize;
    /// Finds the successors of a part of them. Changes nothing.
    fn expand(&self, part: Range<usize>) -> ExpandedPart;
    /// Takes the successors of the first states of this depth, in their order;
    /// returns how the walk ended, if it did.
    fn absorb(&mut self, parts: Vec<ExpandedPart>) -> Option<Ended>;
    /// The shortest story that breaks a rule, if one is broken.
    ///
    /// # Errors
    /// When no world can be made from the scenario.
    fn story(&self) -> Result<Option<ToldStory>, ScenarioError>;
}
