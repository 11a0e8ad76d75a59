//! What may happen next in a world whose timing is open (EX-1).

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use servent_core::time::Instant;

use super::fingerprint::Fingerprint;
use super::story::StoryStep;
use crate::{RegisteredProtocol, World};

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

/// A protocol whose worlds can be explored.
pub trait ExploredProtocol: RegisteredProtocol {
    /// Whether its nodes can crash.
    const CRASHES: bool;

    /// Starts the nodes of a world that was just made.
    fn open(world: &mut World<Self>);
    /// The number of actions of a scenario.
    fn acts(scenario: &Self::Scenario) -> u32;
    /// Performs one of them.
    fn perform(world: &mut World<Self>, index: u32);
    /// The messages under way.
    fn flights(world: &World<Self>) -> Vec<InFlight>;
    /// Delivers a message.
    fn deliver(world: &mut World<Self>, flight: u64);
    /// Loses a message.
    fn lose(world: &mut World<Self>, flight: u64);
    /// Makes a second copy of a message.
    fn double(world: &mut World<Self>, flight: u64);
    /// Adds everything that the future of a world depends on, and nothing that
    /// only counts or numbers what happened.
    fn fingerprint(world: &World<Self>, print: &mut Fingerprint);
    /// A message under way in words, for a story.
    fn tell(world: &World<Self>, flight: u64) -> String;
    /// The scenario in which the story happens by itself, if it has one.
    fn retell(scenario: &Self::Scenario, steps: &[StoryStep]) -> Option<Self::Scenario>;
}
