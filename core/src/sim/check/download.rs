//! Downloads: byte-complete before they are called done, and done in the end.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::Verdicts;
use crate::fetch::Event;
use crate::id::FetchId;
use crate::table::Table;
use crate::trace::NodeId;

#[derive(Debug, Clone, Default)]
struct Download {
    name: String,
    /// Ranges stored, in order and apart.
    have: Vec<(u64, u64)>,
    /// Bytes that a restart found on disk, wherever they are.
    found: u64,
    ended: bool,
}

/// Every download of every node.
#[derive(Debug, Clone, Default)]
pub(super) struct Downloads {
    all: Table<(NodeId, FetchId), Download>,
}

impl Downloads {
    pub(super) fn see(&mut self, event: &Event, verdicts: &mut Verdicts<'_>) {
        let node = verdicts.record.node;
        match event {
            Event::Begun { fetch, name, have } => {
                let download = self.all.or_default((node, *fetch));
                download.name.clone_from(name);
                download.found = *have;
                if *have == 0 {
                    download.have.clear();
                }
            }
            Event::Stored { fetch, start, end } => {
                insert(&mut self.all.or_default((node, *fetch)).have, *start, *end);
            }
            Event::Corrupt { fetch, .. } => {
                let download = self.all.or_default((node, *fetch));
                download.have.clear();
                download.found = 0;
            }
            Event::Done { fetch, bytes, .. } => {
                let download = self.all.or_default((node, *fetch));
                download.ended = true;
                let stored: u64 = download.have.iter().map(|(start, end)| end - start).sum();
                if stored != *bytes && stored + download.found < *bytes {
                    let missing = bytes - stored;
                    let args = [("missing", format!("{missing}")), ("bytes", format!("{bytes}"))];
                    verdicts.violation("complete", "check.complete", args);
                }
            }
            Event::Failed { fetch, why } => {
                let download = self.all.or_default((node, *fetch));
                download.ended = true;
                if *why != crate::fetch::FetchFailure::Cancelled {
                    let args = [("name", download.name.clone()), ("why", format!("{why:?}"))];
                    verdicts.violation("finish", "check.failed", args);
                }
            }
            _ => {}
        }
    }

    pub(super) fn finish(&self, verdicts: &mut Verdicts<'_>) {
        for ((node, _), download) in self.all.iter().filter(|(_, d)| !d.ended) {
            let args = [("name", download.name.clone()), ("client", format!("{}", node.0))];
            verdicts.violation("finish", "check.unfinished", args);
        }
    }
}

/// Adds a range to a list of ranges that are in order and apart.
fn insert(list: &mut Vec<(u64, u64)>, mut start: u64, mut end: u64) {
    let from = list.partition_point(|(_, e)| *e < start);
    let to = list.partition_point(|(s, _)| *s <= end);
    if let (Some((first, _)), Some((_, last))) =
        (list.get(from), to.checked_sub(1).map(|i| list[i]))
        && from < to
    {
        start = start.min(*first);
        end = end.max(last);
    }
    list.splice(from..to, [(start, end)]);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let mut list = Vec::new();
        for (start, end) in [(10, 20), (40, 50), (0, 5), (20, 30), (25, 40), (60, 70), (61, 62)] {
            insert(&mut list, start, end);
        }
        assert_eq!(list, [(0, 5), (10, 50), (60, 70)]);
    }
}
