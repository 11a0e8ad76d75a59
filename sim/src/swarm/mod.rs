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
pub mod why;
mod world;

pub use self::act::{Act, ActAt};
pub use self::event::{Event, Happening, client_of};
pub use self::scenario::{Group, Habit, Scenario, Variant};
pub use self::tally::{Result, Tally};
pub use self::view::{Again, Cell, ClientRow, ClientView, CoordinatorView, Glance, Moving, name};
pub use self::world::{Outcome, Running, Swarm, World};

/// The first client's address; the others follow.
const FIRST: u32 = 0x5000_0001;
