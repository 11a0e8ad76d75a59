//! What happened, in an order that everybody agrees on.
//!
//! Engines emit events; a [`Recorder`] numbers them, ties each to its cause
//! and folds every effect into a running [`Digest`]. Two runs are the same
//! run when their digests are equal.

mod digest;
pub mod hex_bytes;
mod record;

pub use self::digest::Digest;
pub use self::record::{Cause, Event, NodeId, Record, Recorder};
