//! What a node's part in swarms looks like from outside.
#![allow(missing_docs)] // The fields are named by what they hold.

use alloc::vec::Vec;

use serde::Serialize;

use super::io::SwarmFile;
use crate::swarm::manager;
use crate::wire::pdtp::{Hash, Text};

/// Both halves, as far as they are configured.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct SwarmView {
    pub coordinator: Option<CoordinatorHalf>,
    pub client: Option<MemberView>,
}

/// The coordinator and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CoordinatorHalf {
    /// Bytes of files the source has sent.
    pub sent: u64,
    /// Requests for pieces it has refused.
    pub refused: u64,
    pub swarm: manager::View,
}

/// The client of somebody's coordinator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct MemberView {
    /// The coordinator is there.
    pub online: bool,
    pub files: Vec<FileView>,
    /// Bytes that came from a source, that came from peers, and that were
    /// given to peers.
    pub from_source: u64,
    pub from_peers: u64,
    pub given: u64,
    /// Peers anything went to or came from.
    pub peers: u32,
    /// Transfers that run now: towards us, and from us.
    pub receiving: u32,
    pub sending: u32,
    /// Pieces that were wrong.
    pub wrong: u32,
}

/// A file that is taken or given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FileView {
    pub file: SwarmFile,
    pub url: Text,
    /// Bytes; 0 until they are known.
    pub size: u64,
    pub pieces: u32,
    /// Pieces that are here and right.
    pub held: u32,
    /// Of these, from an earlier run.
    pub resumed: u32,
    /// The SHA-256 of the whole, once it has its name.
    pub done: Option<Hash>,
}
