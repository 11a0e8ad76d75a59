//! What a protocol adds to a world.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use servent_core::engine::Engine;
use servent_core::time::Instant;
use servent_core::trace::Cause;

use super::World;
use crate::act::At;
use crate::error::ScenarioError;

/// One of the protocols: what its scenarios are made of, which engine stands
/// behind each node, what the nodes' people do, how outputs travel, and what
/// is recorded.
///
/// The value itself is what lies between the nodes, such as links and what is
/// on them. [`World`] does the rest alike for all: it starts nodes, gives them
/// inputs, runs their timers, lets them stand still, crash and come back,
/// numbers what is recorded, and is cloned for keyframes. A clone of the value
/// must have the same future, and nothing in it may depend on a clock, on
/// dice from outside, or on the order of a hash map.
pub trait Protocol: Clone + Debug + Sized {
    /// What a world is made of.
    type Scenario: Clone + Debug;
    /// What can be done to a world while it runs.
    type Fault: Clone + Debug;
    /// What is recorded.
    type Event: Clone + Hash + Debug;
    /// The engine of each node.
    type Host: Engine<Input: Clone + Debug, Output: Clone + Debug, Event: Clone + Debug>
        + Clone
        + Debug;
    /// What a node has beside its engine: a disk, an application.
    type Node: Clone + Debug;
    /// What the protocol itself plans for an instant.
    type Due: Clone + Debug;

    /// What lies between the nodes of a scenario, and each node's part.
    fn new(scenario: &Self::Scenario) -> (Self, Vec<Self::Node>);

    /// The scenario it was made of.
    fn scenario(&self) -> &Self::Scenario;

    /// What goes wrong in a scenario.
    fn faults(scenario: &Self::Scenario) -> &[At<Self::Fault>];

    /// Checks that a world can be made of a scenario.
    ///
    /// # Errors
    /// The first thing that makes no sense.
    fn check(scenario: &Self::Scenario) -> Result<(), ScenarioError>;

    /// Checks that something can be done in a world, whenever that is.
    ///
    /// # Errors
    /// When it names nodes that there are not, or asks for too much.
    fn admits(world: &World<Self>, fault: &Self::Fault) -> Result<(), ScenarioError>;

    /// Checks, of what can be done in a world, that it can be done now.
    ///
    /// # Errors
    /// When somebody who would have to run is down, or it is too late.
    fn is_possible(_: &World<Self>, _: &Self::Fault) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Plans what happens first.
    fn begin(world: &mut World<Self>);

    /// The engine of a node that starts for the so-manieth time, counted from
    /// one.
    fn engine(world: &World<Self>, node: u32, start: u32) -> Self::Host;

    /// A node has just started: here it is given its first inputs. The cause
    /// is the record of its restart, if it is one.
    fn started(world: &mut World<Self>, node: u32, cause: Cause);

    /// Something the protocol planned is due.
    fn happen(world: &mut World<Self>, due: Self::Due);

    /// The fault with this number is due.
    fn strike(world: &mut World<Self>, fault: u32);

    /// Carries out what a node asked for: the effects in `world.fx`, in their
    /// order.
    fn carry_out(world: &mut World<Self>, node: u32, cause: Cause);

    /// How a change in a node's life is recorded.
    fn told(life: Life) -> Self::Event;

    /// A node has crashed: what it had to do with others ends. Its engine and
    /// what waited for it are gone already.
    fn crashed(world: &mut World<Self>, node: u32, cause: Cause);

    /// A node has begun to stand still.
    fn stalled(world: &mut World<Self>, node: u32, cause: Cause);

    /// A node goes on, having stood still since then; what waited for it has
    /// not been given to it yet.
    fn resumed(world: &mut World<Self>, node: u32, since: Instant, cause: Cause);
}

/// A change in a node's life that somebody made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It ended without a word.
    Crashed,
    /// It runs again.
    Restarted,
    /// It stands still.
    Stalled,
    /// It goes on.
    Resumed,
}
