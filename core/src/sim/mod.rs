//! A world of nodes that never really waits: calendar, links, disks, faults,
//! oracles, keyframes and seek.

mod event;
mod fault;
mod scenario;

pub use self::event::WorldEvent;
pub use self::fault::{Fault, FaultAt};
pub use self::scenario::{Group, Scenario, Server, Variant};
