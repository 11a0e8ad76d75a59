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
pub use self::scenario::{Group, Scenario, Server, Variant};
pub use self::site::Site;
pub use self::world::{Queue, Standing, World};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    totals::{QueueTotals, Tally},
    world::Guest,
};
