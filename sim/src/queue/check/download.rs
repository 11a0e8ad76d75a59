//! Downloads: all bytes stored before they are reported done, and done in the
//! end.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::check::RecordViolations;
use servent_core::fetch::Event;
use servent_core::id::FetchId;
use servent_core::ranges::join;
use servent_core::trace::NodeId;

#[derive(Debug, Clone, Default)]
struct Download {
    name: String,
    /// Stored ranges, in order and disjoint.
    have: Vec<(u64, u64)>,
    /// Bytes that a restart found on disk, wherever they are.
    found: u64,
    ended: bool,
}

/// Every download of every node.
#[derive(Debug, Clone, Default)]
pub(super) struct Downloads {
    all: BTreeMap<(NodeId, FetchId), Download>,
}

impl Downloads {
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
            Event::Corrupt { fetch, .. } => {
                let download = self.all.entry((node, *fetch)).or_default();
                download.have.clear();
                download.found = 0;
            }
            Event::Done { fetch, bytes, .. } => {
                let download = self.all.entry((node, *fetch)).or_default();
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
