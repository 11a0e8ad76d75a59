//! Worlds of servents over streams: sharing, downloading, and faults.

#[doc(hidden)]
pub mod cases;
pub mod check;
mod contents;
mod datagrams;
mod deliver;
mod disk;
mod fault;
mod faults;
mod host;
#[doc(hidden)]
pub mod numbers;
mod outputs;
pub mod presets;
pub mod random;
mod registered;
mod scenario;
mod site;
mod totals;
mod versions;
mod world;

pub use self::fault::{Fault, FaultAt};
pub use self::host::{Profile, Role};
pub use self::scenario::{ClientGroup, QueueVariant, Scenario, ScenarioServer};
pub use self::site::SimulatedSite;
pub use self::versions::VersionMark;
pub use self::world::{NodeStanding, Queue, QueueWorld};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    registered::ServerTallies,
    totals::{QueueTally, QueueTotals},
    world::Guest,
};
