//! What happened, in an order that everybody agrees on.
//!
//! Engines emit events; a [`Recorder`] numbers them, ties each to its cause
//! and folds every effect into a running [`Digest`]. Two runs are the same
//! run when their digests are equal.
//!
//! A [`tape`] adds what a node was given, so that [`replay`] can run it
//! again; [`qlog`] is how both are written.

mod cause;
mod digest;
mod handover;
#[doc(hidden)]
pub mod pcapng;
#[doc(hidden)]
pub mod player;
#[doc(hidden)]
pub mod qlog;
mod record;
pub mod replay;
pub mod tape;
#[doc(hidden)]
pub mod why;

pub use self::digest::Digest;
pub use self::record::{Cause, Event, NodeId, Record, Recorder};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    cause::{Causes, Subject, subjects},
    handover::Handover,
};
