//! What a protocol adds to a world.

use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use servent_core::engine::Engine;
use servent_core::time::Instant;
use servent_core::trace::RecordCause;

use super::World;
use crate::action::At;
use crate::error::ScenarioError;

/// A protocol: what its scenarios consist of, which engine each node runs, what
/// the nodes' users do, how outputs travel, and what is recorded.
///
/// The value itself is what connects the nodes, such as links and what is in
/// transit on them. [`World`] does the rest in the same way for all: it starts
/// nodes, passes them inputs, runs their timers, stalls, crashes and restarts
/// them, numbers records, and is cloned for keyframes. A clone of the value
/// must have the same future, and nothing in it may depend on a clock, on
/// outside randomness, or on the order of a hash map.
pub trait Protocol: Clone + Debug + Sized {
    /// What a world is made from.
    type Scenario: Clone + Debug;
    /// The faults and actions that can be injected into a running world.
    type Fault: Clone + Debug;
    /// What is recorded.
    type Event: Clone + Hash + Debug;
    /// The engine of each node.
    type Host: Engine<Input: Clone + Debug, Output: Clone + Debug, Event: Clone + Debug>
        + Clone
        + Debug;
    /// What a node has beside its engine: a disk, an application.
    type Node: Clone + Debug;
    /// The events that the protocol plans.
    type Due: Clone + Debug;

    /// What connects the nodes of a scenario, and the protocol's part of each
    /// node.
    fn new(scenario: &Self::Scenario) -> (Self, Vec<Self::Node>);

    /// The scenario it was made from.
    fn scenario(&self) -> &Self::Scenario;

    /// The faults of a scenario.
    fn faults(scenario: &Self::Scenario) -> &[At<Self::Fault>];

    /// Checks that a world can be made from a scenario.
    ///
    /// # Errors
    /// The first value that is invalid.
    fn check(scenario: &Self::Scenario) -> Result<(), ScenarioError>;

    /// Checks that an action is valid in a world, at any time.
    ///
    /// # Errors
    /// When it names nodes that do not exist, or exceeds a limit.
    fn admits(world: &World<Self>, fault: &Self::Fault) -> Result<(), ScenarioError>;

    /// Checks that a valid action is possible now.
    ///
    /// # Errors
    /// When a node that must be running is down, or it is too late.
    fn is_possible(_: &World<Self>, _: &Self::Fault) -> Result<(), ScenarioError> {
        Ok(())
    }

    /// Plans the first events.
    fn begin(world: &mut World<Self>);

    /// The engine of a node for its `start`-th start, counted from one.
    fn engine(world: &World<Self>, node: u32, start: u32) -> Self::Host;

    /// A node has just started: gives it its first inputs. The cause is the
    /// record of its restart, if it is one.
    fn started(world: &mut World<Self>, node: u32, cause: RecordCause);

    /// An event that the protocol planned is due.
    fn happen(world: &mut World<Self>, due: Self::Due);

    /// The fault with this number is due.
    fn strike(world: &mut World<Self>, fault: u32);

    /// Carries out a node's outputs: the effects in `world.fx`, in order.
    fn carry_out(world: &mut World<Self>, node: u32, cause: RecordCause);

    /// The event that records a change in a node's life.
    fn told(life: Life) -> Self::Event;

    /// A node has crashed: ends its connections. Its engine and the inputs
    /// waiting for it are gone already.
    fn crashed(world: &mut World<Self>, node: u32, cause: RecordCause);

    /// A node has been stalled.
    fn stalled(world: &mut World<Self>, node: u32, cause: RecordCause);

    /// A node's stall, which began at `since`, has ended; the inputs that
    /// waited have not been passed to it yet.
    fn resumed(world: &mut World<Self>, node: u32, since: Instant, cause: RecordCause);
}

/// A change in a node's life, made from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Life {
    /// It died without notice.
    Crashed,
    /// It is running again.
    Restarted,
    /// It is stalled.
    Stalled,
    /// The stall has ended.
    Resumed,
}
