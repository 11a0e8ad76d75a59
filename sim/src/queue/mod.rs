//! Servents over streams: who shares, who downloads, and what goes wrong
//! between them.

mod calendar;
mod carry;
pub mod check;
mod deliver;
mod disk;
mod fault;
mod flow;
mod host;
mod link;
pub mod presets;
pub mod random;
mod scenario;
mod strike;
mod world;

pub use self::fault::{Fault, FaultAt};
pub use self::host::{Profile, Role};
pub use self::scenario::{Group, Scenario, Server, Variant};
pub use self::world::{Guest, Standing, World};
