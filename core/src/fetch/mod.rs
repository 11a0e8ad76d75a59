//! Downloads: one file from several sources, resumed, checked, remembered.
//!
//! An engine of its own between [`crate::queue::client`], which holds one
//! place at one server, and the node, which owns the connections.

mod event;

pub use self::event::{Event, FetchFailure, SourceTrouble};
