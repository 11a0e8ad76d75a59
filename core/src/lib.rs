//! The protocols of Servent: sans-IO, `no_std`, deterministic.
//!
//! Nothing in this crate opens a socket or a file, starts a thread, reads a
//! clock or throws a die. A host hands in instants and inputs and carries out
//! the outputs it gets back; see [`engine`] for the one shape everything has.
//!
//! | module | what it holds |
//! |---|---|
//! | [`engine`], [`time`], [`rng`], [`id`], [`keyed`], [`choose`] | the small tools everybody uses |
//! | [`trace`] | records, events, digests, the trace file |
//! | [`wire`] | bytes to messages and back; knows no time |
//! | [`queue`] | upload queueing: Active Queueing, PARQ, passive clients |
//! | [`fetch`] | downloads from several sources |
//! | [`routing`] | the overlay: what becomes of every message |
//! | [`unicast`] | reliable, ordered messages over datagrams |
//! | [`node`] | engines joined behind one byte boundary |
//! | [`swarm`] | pieces of files between many: coordinator and clients |
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

pub mod address;
pub mod choose;
mod clause;
pub mod engine;
pub mod fetch;
mod hex;
pub mod id;
pub mod keyed;
pub mod node;
pub mod queue;
pub mod ranges;
pub mod rng;
pub mod routing;
pub mod swarm;
pub mod text;
pub mod time;
pub mod trace;
pub mod unicast;
pub mod wire;
