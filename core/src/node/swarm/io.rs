//! The inputs, outputs and commands of a node's part in swarms, apart from
//! connections and their bytes.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::vec::Vec;
use core::hash::Hasher as _;
use core::net::{IpAddr, SocketAddr};

use serde::{Deserialize, Serialize};
use siphasher::sip::SipHasher13;

use crate::id::FileKey;
use crate::node::StoreError;
use crate::swarm::{FileSpec, LedgerRow};
use crate::wire::pdtp::{Hash, Text};

/// A file of a swarm, either one we coordinate or one we download. The host
/// chooses the number and never reuses it for another file.
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
    /// The answer to [`Output::Hash`] when the bytes cannot be read.
    HashFailed { ask: u32, why: StoreError },
    /// The answer to [`Output::Complete`].
    Completed { file: SwarmFile },
    /// The answer to [`Output::Complete`] when the file cannot get its final
    /// name.
    CompleteFailed { file: SwarmFile, why: StoreError },
    /// What the store of a divided site remembers of swarms whose parts
    /// [`node::SiteInput::Leads`] gives us next.
    ///
    /// [`node::SiteInput::Leads`]: crate::node::SiteInput::Leads
    Accounts { accounts: Vec<PartitionedAccount> },
}

/// What a node asks of its host for a swarm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Output {
    /// Create a file we download, or open it again.
    Allocate { file: SwarmFile, size: u64 },
    /// Compute the SHA-256 of bytes `start..end` as they are on disk now;
    /// answered with [`Input::Hashed`] or [`Input::HashFailed`].
    Hash { ask: u32, file: SwarmFile, start: u64, end: u64 },
    /// A file is complete and verified: give it its final name; answered with
    /// [`Input::Completed`] or [`Input::CompleteFailed`].
    Complete { file: SwarmFile },
}

/// What a user can command in swarms.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwarmCommand {
    /// Coordinate a file, and be its source.
    Serve { file: SwarmFile, spec: FileSpec },
    /// Announce a source that serves our files too, with so many slots;
    /// announced again with another number of slots, it replaces the former
    /// one. An unspecified address stands for our own, wherever a client has
    /// reached us.
    Source { at: SocketAddr, slots: u32 },
    /// Download a file; its coordinator is at one of these addresses, tried in
    /// order. All files of a node have the same coordinator.
    Want { file: SwarmFile, url: Text, coordinator: Vec<SocketAddr>, sha256: Option<Hash> },
    /// Offer a file that is here completely to a swarm that another node
    /// coordinates.
    Offer { file: SwarmFile, url: Text, coordinator: Vec<SocketAddr> },
    /// Stop downloading or offering a file; what there is of it is forgotten.
    Leave { file: SwarmFile },
}

/// What a node tells its user about a swarm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwarmAnswer {
    /// A file is complete, verified and has its final name.
    Done { file: SwarmFile, sha256: Hash },
    /// The file, complete or about to be downloaded, is not the one requested.
    Other { file: SwarmFile, sha256: Hash },
    /// No coordinator answers; it will be tried again.
    Unreachable { file: SwarmFile },
    /// The coordinator cannot or will not provide the file, or there is no
    /// client here that could ask it; the sentence says why.
    Refused { file: SwarmFile, why: String },
    /// A file is no longer provided, by us or by another: its source found it
    /// changed or gone (SW-29). The sentence says so.
    Withdrawn { file: SwarmFile, why: String },
    /// The file cannot be written to disk.
    DiskFailed { file: SwarmFile, why: StoreError },
}

/// A change to what is remembered of swarms.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SwarmOp {
    /// What an address has given and taken.
    Ledger(LedgerRow),
    /// An address that is forgotten.
    LedgerGone(IpAddr),
    /// A file we download, and its piece size. No piece of it is there yet.
    Part { file: SwarmFile, url: Text, size: u64, chunk: u64 },
    /// A piece of it is on disk and verified; this is its digest.
    Piece { file: SwarmFile, piece: u32, sha256: Hash },
    /// It is complete, or not wanted any more.
    PartGone(SwarmFile),
    /// What an address has given and taken in one swarm of a divided site.
    Account(PartitionedAccount),
    /// An address that is forgotten in that swarm.
    AccountGone { swarm: FileKey, owner: IpAddr },
}

/// What an address has given and taken in one swarm of a divided site. There each
/// swarm has a ledger of its own, because another member may lead the next one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PartitionedAccount {
    /// The swarm, as [`swarm_key`] names it.
    pub swarm: FileKey,
    /// The row of its ledger.
    pub row: LedgerRow,
}

/// What a swarm is called in a divided site: the same at all members, whatever
/// version of the file each of them has. Its part of the site follows from it. Part
/// of what is stored: never changed.
#[must_use]
pub fn swarm_key(url: &str) -> FileKey {
    let mut hasher = SipHasher13::new_with_keys(0, 2);
    hasher.write(url.as_bytes());
    FileKey(hasher.finish())
}

/// What the store remembered of swarms.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct RestoredSwarm {
    /// What addresses have given and taken.
    pub ledger: Vec<LedgerRow>,
    /// Files that are not complete yet.
    pub parts: Vec<PartialFile>,
}

/// A file we download, as far as it is on disk.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PartialFile {
    pub file: SwarmFile,
    pub url: Text,
    pub size: u64,
    pub chunk: u64,
    /// Pieces whose bytes are on disk and have the digest that was remembered:
    /// sorted runs `a..b`.
    pub have: Vec<(u32, u32)>,
}
