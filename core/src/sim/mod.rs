//! A world of nodes that never really waits: calendar, links, disks, faults,
//! oracles, keyframes and seek.

mod act;
mod agenda;
mod calendar;
mod carry;
pub mod check;
mod course;
mod deliver;
mod disk;
mod fault;
mod flow;
mod host;
pub mod ladder;
mod link;
pub mod overlay;
pub mod pieces;
pub mod presets;
mod scenario;
mod strike;
pub mod swarm;
mod timeline;
mod world;

pub use self::act::At;
pub use self::course::Course;
pub use self::fault::{Fault, FaultAt};
pub use self::host::{Profile, Role};
pub use self::scenario::{Group, Scenario, Server, Variant};
pub use self::timeline::{Branch, Keyframes, Timeline};
pub use self::world::{Guest, Standing, World};
pub use crate::node::WorldEvent;
