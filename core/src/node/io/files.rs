//! Files, and what is remembered of them and of everything else: what the host
//! stores for a node, and gives back when it starts.
#![allow(missing_docs)] // The fields of a variant are named by what they hold.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::hash::{Hash, Hasher};
use core::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::fetch::PartRow;
use crate::id::{FetchId, FileIndex, Guid, Sha1};
use crate::node::swarm::{self, SwarmFile};
use crate::queue::{FileKey, StoredEntry};
use crate::thex::Tree;
use crate::time::Instant;

/// A file the host can read from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileRef {
    /// A shared file.
    Shared(FileIndex),
    /// A download of ours, as far as it is on disk.
    Fetch(FetchId),
    /// A file of a swarm.
    Swarm(SwarmFile),
}

/// A file that others may download from us.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct FileInfo {
    /// Its number in URLs.
    pub index: FileIndex,
    /// Its name in URLs: the shared folder, the folders below it, and the
    /// file's own name, joined by slashes. Never used as a path.
    pub name: String,
    /// Its size in bytes.
    pub size: u64,
    /// Its SHA-1, once known.
    pub sha1: Option<Sha1>,
    /// Identifies it for the queue; its content, or its name.
    pub key: FileKey,
    /// When it was last changed, on a host whose time is Unix time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<Instant>,
    /// Its hash tree, once known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tree: Option<Arc<Tree>>,
    /// Whether it may be run.
    #[serde(default, skip_serializing_if = "RunBit::is_unset")]
    pub run: RunBit,
}

/// Whether a file may be run by those who may read it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RunBit(pub bool);

impl RunBit {
    const fn is_unset(&self) -> bool {
        !self.0
    }
}

/// An unset one adds nothing to the digest, so recordings made before there was one
/// stay valid.
impl Hash for RunBit {
    fn hash<H: Hasher>(&self, state: &mut H) {
        if self.0 {
            state.write_u8(1);
        }
    }
}

impl FileInfo {
    /// False when its content has changed, as far as can be seen.
    pub(in crate::node) fn is_the_content_of(&self, other: &Self) -> bool {
        let seen = |info: &Self| (info.key, info.size, info.modified);
        seen(self) == seen(other)
    }

    /// Its name without folders.
    #[must_use]
    pub fn leaf(&self) -> &str {
        self.name.rsplit('/').next().unwrap_or(&self.name)
    }
}

/// What the store remembered.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct RestoredNode {
    /// Our servent id; drawn and persisted on the first start.
    pub servent: Option<Guid>,
    /// Where others reach us, once the host listens.
    pub listen: Option<SocketAddr>,
    /// Places and slots of the upload queue, in order of arrival.
    pub queue: Vec<StoredEntry>,
    /// Downloads that are not finished.
    pub fetches: Vec<PartRow>,
    /// The hash trees of some of them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub trees: Vec<(FetchId, Arc<Tree>)>,
    /// Those that are paused: no source is asked until the user resumes them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paused: Vec<FetchId>,
    /// What is shared at start.
    pub shared: Vec<FileInfo>,
    /// Hosts of the overlay.
    pub hosts: Vec<HostRow>,
    /// What is remembered of swarms.
    #[serde(default)]
    pub swarm: swarm::RestoredSwarm,
}

/// A host of the overlay, as written to the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct HostRow {
    /// Where it listens.
    pub at: SocketAddr,
    /// When we heard of it last.
    pub heard: Instant,
}

/// A change of durable state.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NodeOp {
    /// Our servent id.
    Servent(Guid),
    /// A place or slot, new or changed.
    Queue(StoredEntry),
    /// A place or slot that is gone.
    QueueGone(Guid),
    /// A download, new or changed.
    Fetch(Arc<PartRow>),
    /// A download that is finished or given up; its hash tree goes with it.
    FetchGone(FetchId),
    /// A host of the overlay, new or heard of again.
    Host(HostRow),
    /// A host of the overlay that is forgotten.
    HostGone(SocketAddr),
    /// A change to what is remembered of swarms.
    Swarm(swarm::SwarmOp),
    /// The hash tree of a download, or that it has none any more.
    Tree(FetchId, Option<Arc<Tree>>),
    /// Whether a download is paused.
    Paused(FetchId, bool),
}
