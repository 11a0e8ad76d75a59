//! What happened, in a deterministic order.
//!
//! Engines emit events; a [`Recorder`] numbers them, links each to its cause
//! and adds every effect to a running [`Digest`]. Two runs are the same when
//! their digests are equal.
//!
//! A [`tape`] also contains the inputs of a node, so that [`replay`] can run it
//! again; [`qlog`] is the format of both.

#[doc(hidden)]
pub mod again;
#[doc(hidden)]
pub mod branch;
mod cause;
mod digest;
mod handover;
mod numbered;
#[doc(hidden)]
pub mod pcapng;
#[doc(hidden)]
pub mod player;
#[doc(hidden)]
pub mod players;
#[doc(hidden)]
pub mod qlog;
mod record;
pub mod replay;
pub mod tape;
#[doc(hidden)]
pub mod why;

pub use self::digest::Digest;
pub use self::record::{Event, NodeId, Record, RecordCause, Recorder};

// For the other crates of this workspace; may change at any time.
#[doc(hidden)]
pub use self::{
    cause::{Causes, RecordSubject, subjects},
    handover::Handover,
};
