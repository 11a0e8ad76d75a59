//! What goes through a node's boundary for its part in swarms, beside
//! connections and their bytes.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};

use crate::node::StoreError;
use crate::swarm::{FileSpec, Row};
use crate::wire::pdtp::{Hash, Text};

/// A file of a swarm: one we coordinate, or one we take. The host chooses the
/// number and never uses it for another file.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct SwarmFile(pub u32);

/// What the host answers.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Input {
    /// The answer to [`Output::Hash`].
    Hashed { ask: u32, sha256: Hash },
    /// The same when the bytes cannot be read.
    HashFailed { ask: u32, why: StoreError },
    /// The answer to [`Output::Complete`].
    Completed { file: SwarmFile },
    /// The same when the file cannot have its name.
    CompleteFailed { file: SwarmFile, why: StoreError },
}

/// What a node asks of its host for a swarm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Make room for a file we take, or open it again.
    Allocate { file: SwarmFile, size: u64 },
    /// The SHA-256 of bytes `start..end` as they are on disk now; answered
    /// with [`Input::Hashed`] or [`Input::HashFailed`].
    Hash { ask: u32, file: SwarmFile, start: u64, end: u64 },
    /// A file is whole and right: give it its final name; answered with
    /// [`Input::Completed`] or [`Input::CompleteFailed`].
    Complete { file: SwarmFile },
}

/// What a user wants in a swarm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Command {
    /// Coordinate a file, and be its source.
    Serve { file: SwarmFile, spec: FileSpec },
    /// Files can be had from here too, so many pieces at once; with other
    /// slots to change them. An unspecified address is our own, wherever a
    /// client has reached us.
    Source { at: SocketAddr, slots: u32 },
    /// Take a file; its coordinator is at one of these addresses, tried in
    /// order. All files of a node have the same coordinator.
    Want { file: SwarmFile, url: Text, coordinator: Vec<SocketAddr>, sha256: Option<Hash> },
    /// Give a file, all of which is here, to a swarm somebody else coordinates.
    Offer { file: SwarmFile, url: Text, coordinator: Vec<SocketAddr> },
    /// Neither any longer; what there is of it is forgotten.
    Leave { file: SwarmFile },
}

/// What a node tells its user of a swarm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// A file is whole, checked, and has its name.
    Done { file: SwarmFile, sha256: Hash },
    /// A file is whole, or about to be fetched, and not what was asked for.
    Other { file: SwarmFile, sha256: Hash },
    /// No coordinator answers; it is tried again.
    Unreachable { file: SwarmFile },
    /// The coordinator cannot or will not give the file, or there is no client
    /// here that could ask it; the sentence says why.
    Refused { file: SwarmFile, why: String },
    /// A file is not given any more, ours or somebody else's: its source
    /// found it changed or gone (SW-29). The sentence says so.
    Withdrawn { file: SwarmFile, why: String },
    /// The disk does not take the file.
    DiskFailed { file: SwarmFile, why: StoreError },
}

/// A change of what is remembered of swarms.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Op {
    /// What an address has given and taken.
    Ledger(Row),
    /// An address that is forgotten.
    LedgerGone(IpAddr),
    /// A file we take, and what its pieces are. None of them is there yet.
    Part { file: SwarmFile, url: Text, size: u64, chunk: u64 },
    /// A piece of it is there and right; this is its digest.
    Piece { file: SwarmFile, piece: u32, sha256: Hash },
    /// It is whole, or not wanted any more.
    PartGone(SwarmFile),
}

/// What the store remembered of swarms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Restored {
    /// What addresses have given and taken.
    pub ledger: Vec<Row>,
    /// Files that are not whole yet.
    pub parts: Vec<Part>,
}

/// A file we take, as far as it is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Part {
    pub file: SwarmFile,
    pub url: Text,
    pub size: u64,
    pub chunk: u64,
    /// Pieces whose bytes are there and have the digest that was remembered:
    /// sorted runs `a..b`.
    pub have: Vec<(u32, u32)>,
}
