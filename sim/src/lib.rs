//! Simulated worlds of Servent's nodes that run without real waiting: links,
//! disks, faults, scenarios, oracles, keyframes and seek.
//!
//! # A first world
//!
//! [`Bench`] hosts a few of the nodes the program runs, and carries bytes,
//! datagrams and files between them:
//!
//! ```
//! use servent_core::node::Config;
//! use servent_core::time::Duration;
//! use servent_sim::Bench;
//!
//! let mut bench = Bench::new(7);
//! let alice = bench.node("alice", Config::default());
//! let bob = bench.node("bob", Config::default());
//! bench.share(alice, "song.ogg", 3_000_000);
//! bench.get(bob, alice, "song.ogg");
//!
//! assert!(bench.run_until(Duration::from_secs(60), |bench| bench.fetched(bob) == 1));
//! for record in bench.records() {
//!     println!("{:?} node {} {:?}", record.at, record.node.0, record.event);
//! }
//! ```
//!
//! # Scenarios
//!
//! Worlds with users, faults and oracles are made from a scenario, which is a
//! struct or a JSON file:
//!
//! | module | what it simulates |
//! |---|---|
//! | [`queue`] | servents over streams: uploads, queues, downloads |
//! | [`routing`] | the overlay: up to ten thousand routers |
//! | [`unicast`] | messages over datagrams that get lost |
//! | [`swarm`] | a coordinator, its source and its clients |
//! | [`meet`] | people behind routers, and a place at which they meet |
//!
//! Each has a `Scenario`, actions, presets, a generator of random scenarios
//! (`random`), oracles (`check`) and views. [`World`] runs one; [`Timeline`]
//! travels in time over it, and opens a branch when something is done in its
//! past.
//!
//! ```
//! use servent_core::time::{Duration, Instant};
//! use servent_sim::Oracle as _;
//! use servent_sim::queue::{ClientGroup, QueueWorld, Scenario, check::QueueOracles};
//!
//! let clients = vec![ClientGroup { count: 4, size: 500_000, ..ClientGroup::default() }];
//! let scenario = Scenario { clients, ..Scenario::default() };
//! let (mut world, mut oracles) = (QueueWorld::new(&scenario), QueueOracles::new(&scenario));
//! let mut records = Vec::new();
//! world.run_until(Instant::from_secs(600), &mut records);
//! records.iter().for_each(|record| oracles.observe(record));
//! oracles.finish(world.now());
//! assert_eq!(oracles.violations(), []); // Each would print as a sentence.
//! ```
//!
//! Public items that are not listed here are for the other crates of this
//! workspace, and may change at any time.
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[macro_use]
pub mod registry;
mod action;
mod bench;
mod calendar;
mod check;
#[doc(hidden)]
pub mod echo;
mod error;
#[doc(hidden)]
pub mod explore;
#[doc(hidden)]
pub mod lesson;
mod links;
pub mod meet;
pub mod queue;
pub mod routing;
mod seed;
#[doc(hidden)]
pub mod shrink;
mod strict;
pub mod swarm;
mod timeline;
pub mod unicast;
mod world;

pub use self::action::At;
pub use self::bench::Bench;
pub use self::check::{LIMIT, Oracle, Violation};
pub use self::error::{ScenarioError, ScenarioMistake};
pub use self::registry::RegisteredProtocol;
pub use self::timeline::{Branch, Keyframes, Timeline};
pub use self::world::{Life, Protocol, World};
