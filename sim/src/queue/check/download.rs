//! Downloads: all bytes stored before they are reported done, and done in the
//! end.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use super::super::host::files;
use super::super::scenario::Scenario;
use super::super::versions::FileEdition;
use crate::check::RecordViolations;
use servent_core::fetch::Event;
use servent_core::id::{FetchId, Sha1};
use servent_core::node::FileInfo;
use servent_core::ranges::join;
use servent_core::trace::NodeId;

#[derive(Debug, Clone, Default)]
struct Download {
    name: String,
    /// Stored ranges, in order and disjoint.
    have: Vec<(u64, u64)>,
    /// Bytes that a restart found on disk, wherever they are.
    found: u64,
    /// Its user is told that nothing but overlapping bytes vouches for one version.
    unvouched: bool,
    ended: bool,
}

/// Every download of every node.
#[derive(Debug, Clone, Default)]
pub(super) struct Downloads {
    all: BTreeMap<(NodeId, FetchId), Download>,
    /// The files of the world, and the version each server has.
    files: Vec<FileInfo>,
    editions: BTreeMap<NodeId, FileEdition>,
    /// Every version that there was, and its size.
    versions: BTreeMap<Sha1, u64>,
}

impl Downloads {
    /// Of a scenario, whose servers begin with the first version of each file.
    pub(super) fn new(scenario: &Scenario) -> Self {
        let mut new = Self { files: files(scenario), ..Self::default() };
        new.note_versions(FileEdition::default());
        if scenario.servers.iter().any(|server| server.corrupt) {
            // What a download ends with is judged by the hash it must have.
            new.versions.clear();
        }
        new
    }

    fn note_versions(&mut self, edition: FileEdition) {
        let files = self.files.iter().map(|file| edition.of_file(file));
        self.versions.extend(files.filter_map(|file| Some((file.sha1?, file.size))));
    }

    /// A server's files became others.
    pub(super) fn changed(&mut self, server: NodeId, size: Option<u64>) {
        let edition = self.editions.entry(server).or_default();
        *edition = edition.next(size);
        let edition = *edition;
        if !self.versions.is_empty() {
            self.note_versions(edition);
        }
    }

    /// What is whole is one version of a file, all of it.
    fn is_mixture(&self, sha1: Option<Sha1>, bytes: u64) -> bool {
        let version = sha1.map(|sha1| self.versions.get(&sha1));
        !self.versions.is_empty() && version.is_some_and(|size| size != Some(&bytes))
    }

    pub(super) fn observe(&mut self, event: &Event, found: &mut RecordViolations<'_>) {
        let node = found.node();
        match event {
            Event::Begun { fetch, name, have } => {
                let download = self.all.entry((node, *fetch)).or_default();
                download.name.clone_from(name);
                download.found = *have;
                if *have == 0 {
                    download.have.clear();
                }
            }
            Event::Stored { fetch, start, end } => {
                join(&mut self.all.entry((node, *fetch)).or_default().have, *start, *end);
            }
            Event::Corrupt { fetch, .. } | Event::VersionChanged { fetch, .. } => {
                let download = self.all.entry((node, *fetch)).or_default();
                download.have.clear();
                download.found = 0;
            }
            Event::Unvouched { fetch } => {
                self.all.entry((node, *fetch)).or_default().unvouched = true;
            }
            Event::Done { fetch, bytes, sha1 } => {
                let mixture = self.is_mixture(*sha1, *bytes);
                let download = self.all.entry((node, *fetch)).or_default();
                if mixture && !download.unvouched {
                    found.broken("one_version", "check.mixture", &[("bytes", bytes)]);
                }
                download.ended = true;
                let stored: u64 = download.have.iter().map(|(start, end)| end - start).sum();
                if stored != *bytes && stored + download.found < *bytes {
                    let missing = bytes - stored;
                    found.broken(
                        "complete",
                        "check.complete",
                        &[("missing", &missing), ("bytes", &bytes)],
                    );
                }
            }
            Event::Failed { fetch, why } => {
                let download = self.all.entry((node, *fetch)).or_default();
                download.ended = true;
                if *why != servent_core::fetch::FetchFailure::Cancelled {
                    found.broken(
                        "finish",
                        "check.failed",
                        &[("name", &download.name), ("why", &format_args!("{why:?}"))],
                    );
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(&self, found: &mut RecordViolations<'_>) {
        for ((node, _), download) in self.all.iter().filter(|(_, d)| !d.ended) {
            found.broken(
                "finish",
                "check.unfinished",
                &[("name", &download.name), ("client", &node.0)],
            );
        }
    }
}
