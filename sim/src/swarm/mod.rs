//! Simulated swarms: one coordinator, its source, and as many clients as a
//! scenario says, each the engine the program runs. The swarm matrix of the
//! page shows them.
//!
//! Links have a rate each way; an upload has the sender's link to itself until
//! it is complete, because the engine sends one at a time. Messages to the
//! coordinator take a client's latency.
//!
//! Records belong to the client they are about; all others belong to the
//! coordinator, whose number follows those of the clients.

mod action;
mod bound;
pub mod check;
mod event;
mod host;
#[doc(hidden)]
pub mod numbers;
pub mod presets;
pub mod random;
mod registered;
mod scenario;
mod small;
mod tally;
mod view;
#[doc(hidden)]
pub mod why;
mod world;

pub use self::action::{SwarmAction, SwarmActionAt};
pub use self::event::{Event, SwarmIncident};
pub use self::scenario::{Habit, PeerGroup, Scenario, SwarmVariant};
pub use self::world::{Swarm, SwarmOutcome, SwarmWorld};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    event::{client_of, connection},
    tally::{Result, SwarmTally},
    view::{Again, Cell, ClientRow, ClientSummary, ClientView, CoordinatorView, Moving, name},
    world::AssignedTransfer,
};

/// The first client's address; the others follow.
const FIRST: u32 = 0x5000_0001;
