//! Worlds of Servent's nodes that never really wait: links, disks, faults,
//! scenarios, oracles, keyframes and seek.
//!
//! | module | what it simulates |
//! |---|---|
//! | [`queue`] | servents over streams: uploads, queues, downloads |
//! | [`routing`] | the overlay: up to ten thousand routers |
//! | [`unicast`] | messages over datagrams that get lost |
//! | [`swarm`] | a coordinator, its source and its clients |
//!
//! Each has a scenario, its faults, presets, a generator of random scenarios
//! (`random`), oracles (`check`) and what is shown of it. [`Timeline`] travels
//! in time over any of them.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod act;
mod calendar;
mod check;
mod links;
pub mod queue;
pub mod routing;
mod seed;
mod strict;
pub mod swarm;
mod timeline;
pub mod unicast;
mod world;

pub use self::act::At;
pub use self::check::{LIMIT, Oracle, Violation};
pub use self::timeline::{Branch, Keyframes, Timeline};
pub use self::world::{Life, Protocol, World};
