//! What an oracle says when two records of a run cannot both be right.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;
use servent_core::time::Instant;
use servent_core::trace::NodeId;

/// A rule that a run broke.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Violation {
    /// The record that cannot be right.
    pub seq: u64,
    /// When.
    pub at: Instant,
    /// Where.
    pub node: NodeId,
    /// Which rule.
    pub oracle: &'static str,
    /// The key of its sentence.
    pub key: &'static str,
    /// What goes into the sentence, name and value.
    pub args: Vec<(&'static str, String)>,
}

/// The most violations that are kept: the first ones matter.
pub const LIMIT: usize = 100;
