//! What may happen next in a world whose timing is open (EX-1).

use alloc::string::String;
use alloc::vec::Vec;

use servent_core::time::Instant;

use super::fingerprint::Fingerprint;
use crate::registry::{InFlight, StoryStep};
use crate::{RegisteredProtocol, World};

/// A protocol whose worlds can be explored.
pub trait ExploredProtocol: RegisteredProtocol {
    /// Whether its nodes can crash.
    const CRASHES: bool;
    /// Whether its links are streams: what was sent first arrives first, and
    /// nothing is lost or doubled alone.
    const STREAMS: bool = false;
    /// Whether something is planned beside messages and timers, such as the end
    /// of a transfer.
    const PLANS: bool = false;

    /// Starts the nodes of a world that was just made.
    fn open(world: &mut World<Self>);
    /// The number of actions of a scenario.
    fn acts(scenario: &Self::Scenario) -> u32;
    /// Performs one of them.
    fn perform(world: &mut World<Self>, index: u32);
    /// The messages under way.
    fn flights(world: &World<Self>) -> Vec<InFlight>;
    /// What happens next of what takes its time, and when; see [`Self::PLANS`].
    fn planned(_: &World<Self>) -> Option<(u64, Instant)> {
        None
    }
    /// Delivers a message.
    fn deliver(world: &mut World<Self>, flight: u64);
    /// Loses a message.
    fn lose(world: &mut World<Self>, flight: u64);
    /// Makes a second copy of a message.
    fn double(world: &mut World<Self>, flight: u64);
    /// Adds everything that the future of a world depends on, and nothing that
    /// only counts or numbers what happened.
    fn fingerprint(world: &World<Self>, print: &mut Fingerprint);
    /// Adds everything that the further judgements of the oracles depend on.
    fn remember(oracles: &Self::Oracles, print: &mut Fingerprint) {
        print.add_debug(oracles);
    }
    /// A node dies without notice, and starts again at once.
    fn crash(world: &mut World<Self>, node: u32) {
        world.restart(node);
    }
    /// A message under way in words, for a story.
    fn tell(world: &World<Self>, flight: u64) -> String;
    /// The scenario in which the story happens by itself, if it has one.
    fn retell(scenario: &Self::Scenario, steps: &[StoryStep]) -> Option<Self::Scenario>;
}
