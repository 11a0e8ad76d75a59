//! A world of nodes that never really waits: calendar, links, disks, faults,
//! oracles, keyframes and seek.

mod event;

pub use self::event::WorldEvent;
