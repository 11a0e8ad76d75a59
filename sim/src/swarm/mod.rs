//! A swarm without a network: one coordinator, its source, and as many
//! clients as a scenario says, each the engine the program runs. What the
//! swarm matrix shows.
//!
//! Bytes move over links with a rate each way; an upload uses the sender's
//! link alone until it is through, as the engine lets one send at a time.
//! What is said to the coordinator takes a client's latency.
//!
//! Records are those of the client they are about; those about nobody in
//! particular are the coordinator's, whose number is the one behind all
//! clients.

mod act;
mod bound;
pub mod check;
mod event;
mod host;
pub mod presets;
pub mod random;
mod scenario;
mod tally;
mod view;
#[doc(hidden)]
pub mod why;
mod world;

pub use self::act::{Act, ActAt};
pub use self::event::{Event, Happening};
pub use self::scenario::{Group, Habit, Scenario, Variant};
pub use self::world::{Outcome, Swarm, World};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    event::client_of,
    tally::{Result, Tally},
    view::{Again, Cell, ClientRow, ClientView, CoordinatorView, Glance, Moving, name},
    world::Running,
};

/// The first client's address; the others follow.
const FIRST: u32 = 0x5000_0001;
