//! The protocols of Servent: sans-IO, `no_std`, deterministic.
//!
//! Servent shares files between peers: uploads wait in a fair queue (Active
//! Queueing, PARQ), an overlay finds files (Gnutella), messages travel over
//! datagrams reliably and in order (UNICAST3), and swarms hand pieces on
//! (PDTP). This crate makes every decision and carries out none of them: it
//! opens no socket or file, starts no thread, reads no clock and draws no
//! randomness from outside. A *host* passes instants and inputs in, and carries
//! out the outputs it gets back. Whatever happened can therefore be run again,
//! on any machine, to the same bit.
//!
//! # Choose your door
//!
//! | you want | start at | and see |
//! |---|---|---|
//! | a whole servent | [`node::Node`] | the loop below; [`host`], its contract with the host |
//! | only the upload queue | [`queue::server::QueueServer`], [`queue::client::QueueClient`] | `examples/queue_alone.rs` |
//! | reliable messages over datagrams | [`unicast::Endpoint`] | `examples/messages_over_udp.rs`; [`wire::unicast`] for its bytes |
//! | the overlay's routing | [`routing::Router`] | `examples/search_in_an_overlay.rs`; [`wire::gnutella`] for its bytes |
//! | a swarm | [`swarm::Manager`], [`swarm::client::SwarmClient`] | [`wire::pdtp`] for its bytes |
//! | to read or write a format | [`wire`] | [`wire::http`], [`wire::queue`] and those above |
//! | to run a recording again | [`trace::replay::Replay`] | `examples/replay_a_tape.rs` |
//! | nodes in memory, for tests of your own | the crate `servent-sim` | `Bench` there |
//! | worlds of nodes with faults and oracles | the crate `servent-sim` | its examples |
//!
//! Every engine among them has the shape of [`engine::Engine`], and may be
//! used alone. Their configurations are plain data with defaults, and name
//! every limit.
//!
//! # A host in 30 lines
//!
//! This one shares one file from memory with one client. A host with sockets
//! does the same; only where inputs come from, and where outputs go, differs.
//!
//! ```
//! use servent_core::engine::{Effect, Engine, Fx};
//! use servent_core::id::{ConnId, FileIndex, FileKey};
//! use servent_core::node::{Config, ConnInput, ConnOutput, FileInfo, Input, Node, Output, RestoredNode, RunBit};
//! use servent_core::time::Instant;
//!
//! let song = b"La, la, la.";
//! let name = "song.txt".into();
//! let file = FileInfo { index: FileIndex(1), name, size: 11, sha1: None, key: FileKey(7), modified: None, tree: None, run: RunBit(false) };
//! let peer = "192.0.2.7:50000".parse().unwrap();
//! let conn = ConnId(0);
//! let data = b"GET /get/1/song.txt HTTP/1.0\r\n\r\n".to_vec();
//! let mut todo = std::collections::VecDeque::from([
//!     Input::Start(RestoredNode { shared: vec![file], ..RestoredNode::default() }),
//!     Input::Connection(conn, ConnInput::Accepted { peer, local: None }),
//!     Input::Connection(conn, ConnInput::Bytes { data }),
//! ]);
//!
//! let mut node = Node::new(Config::default(), 42);
//! let (now, mut fx, mut sent) = (Instant::from_secs(1_000), Fx::new(), Vec::new());
//! while let Some(input) = todo.pop_front() {
//!     node.handle(now, input, &mut fx);
//!     for effect in fx.drain() {
//!         match effect {
//!             Effect::Output(Output::Connection(conn, wanted)) => match wanted {
//!                 ConnOutput::Write { data } => sent.extend(data),
//!                 ConnOutput::Serve { start, end, .. } => {
//!                     sent.extend(&song[start as usize..end as usize]);
//!                     let served = ConnInput::Served { bytes: end - start };
//!                     todo.push_back(Input::Connection(conn, served));
//!                 }
//!                 ConnOutput::Close { .. } => {
//!                     todo.push_back(Input::Connection(conn, ConnInput::Closed));
//!                 }
//!                 other => unreachable!("not asked of this host: {other:?}"),
//!             },
//!             Effect::Output(Output::Persist(_)) => {} // To disk, before the next output.
//!             Effect::Output(other) => unreachable!("not asked of this host: {other:?}"),
//!             Effect::Event(_) => {} // To be logged, or not.
//!         }
//!     }
//! }
//! assert!(sent.starts_with(b"HTTP/1.1 200 OK\r\n"));
//! assert!(sent.ends_with(song));
//! // A real host now sleeps until bytes come in or this deadline, then calls
//! // `handle_timeout` and goes round again.
//! assert!(node.poll_timeout().is_none_or(|(at, _timer)| at > now));
//! ```
//!
//! # Modules
//!
//! | module | what it holds |
//! |---|---|
//! | [`engine`], [`time`], [`rng`], [`id`], [`choose`] | the small tools that all modules use |
//! | [`trace`] | records, events, digests, the trace file |
//! | [`wire`] | bytes to messages and back; knows no time |
//! | [`queue`] | upload queueing: Active Queueing, PARQ, passive clients |
//! | [`fetch`] | downloads from several sources |
//! | [`routing`] | the overlay: where each message is sent, and when it is dropped |
//! | [`unicast`] | reliable, ordered messages over datagrams |
//! | [`meet`] | how two servents behind routers find each other |
//! | [`node`] | engines joined behind one byte boundary |
//! | [`lease`] | which servent of a site leads |
//! | [`swarm`] | pieces of files exchanged by many peers: coordinator and clients |
//!
//! Public items that are not listed here are for the other crates of this
//! workspace, and may change at any time.
#![no_std]
#![forbid(unsafe_code)]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(test)]
extern crate std;

#[doc(hidden)]
pub mod address;
pub mod choose;
mod clause;
pub mod engine;
pub mod fetch;
mod hex;
#[doc = include_str!("../docs/host.md")]
pub mod host {}
pub mod id;
#[doc(hidden)]
pub mod keyed;
pub mod lease;
pub mod meet;
pub mod node;
pub mod queue;
#[doc(hidden)]
pub mod ranges;
pub mod rng;
pub mod routing;
pub mod swarm;
#[doc(hidden)]
pub mod text;
#[doc(hidden)]
pub mod thex;
pub mod time;
pub mod trace;
pub mod unicast;
pub mod wire;
