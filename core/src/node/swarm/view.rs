//! The state of a node's part in swarms, as plain data.
#![allow(missing_docs)] // The fields are named by what they hold.

use alloc::vec::Vec;

use serde::Serialize;

use super::io::SwarmFile;
use crate::swarm::manager;
use crate::wire::pdtp::{Hash, Text};

/// Both parts, as far as they are configured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SwarmView {
    pub coordinator: Option<CoordinatorHalf>,
    pub client: Option<MemberView>,
}

/// The coordinator and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CoordinatorHalf {
    /// Bytes of files that the source has sent.
    pub sent: u64,
    /// Requests for pieces that it has refused.
    pub refused: u64,
    pub swarm: manager::View,
}

/// The client of a coordinator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MemberView {
    /// The coordinator is connected.
    pub online: bool,
    pub files: Vec<SwarmFileView>,
    /// Bytes received from sources and from peers, and bytes sent to peers.
    pub from_source: u64,
    pub from_peers: u64,
    pub given: u64,
    /// Peers that data was exchanged with.
    pub peers: u32,
    /// Transfers in progress, to us and from us.
    pub receiving: u32,
    pub sending: u32,
    /// Pieces whose digest was wrong.
    pub wrong: u32,
}

/// A file that is downloaded or offered.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct SwarmFileView {
    pub file: SwarmFile,
    pub url: Text,
    /// Size in bytes; 0 until it is known.
    pub size: u64,
    pub pieces: u32,
    /// Verified pieces on disk.
    pub held: u32,
    /// How many of these come from an earlier run.
    pub resumed: u32,
    /// The SHA-256 of the whole file, once it has its final name.
    pub done: Option<Hash>,
}
