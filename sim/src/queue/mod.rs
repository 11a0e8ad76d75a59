//! Worlds of servents over streams: sharing, downloading, and faults.

pub mod check;
mod datagrams;
mod deliver;
mod disk;
mod fault;
mod faults;
mod host;
mod outputs;
pub mod presets;
pub mod random;
mod scenario;
mod site;
mod totals;
mod world;

pub use self::fault::{Fault, FaultAt};
pub use self::host::{Profile, Role};
pub use self::scenario::{ClientGroup, QueueVariant, Scenario, ScenarioServer};
pub use self::site::SimulatedSite;
pub use self::world::{NodeStanding, Queue, QueueWorld};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    totals::{QueueTally, QueueTotals},
    world::Guest,
};
