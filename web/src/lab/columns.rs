//! The density of records on a timeline.

use servent_core::time::Instant;

/// Columns in which records are counted before they are distributed over the
/// bins that a page asks for.
const COLUMNS: u64 = 4_096;

/// Records counted by their instants.
#[derive(Default)]
pub(crate) struct Columns {
    seen: u64,
    from: Instant,
    span: u64,
    columns: Vec<u32>,
}

impl Columns {
    /// For records between two instants.
    pub(crate) fn new(from: Instant, to: Instant) -> Self {
        let span = to.since(from).as_micros().max(1);
        Self { seen: 0, from, span, columns: vec![0; COLUMNS as usize] }
    }

    /// True while it can be extended to this end.
    pub(crate) fn serves(&self, to: Instant) -> bool {
        !self.columns.is_empty() && to.since(self.from).as_micros() <= self.span
    }

    /// The number of records counted.
    pub(crate) const fn seen(&self) -> u64 {
        self.seen
    }

    /// Counts a record.
    pub(crate) fn count(&mut self, at: Instant) {
        self.seen += 1;
        let column = at.since(self.from).ratio(COLUMNS, self.span + 1).as_micros() as usize;
        if let Some(count) = self.columns.get_mut(column) {
            *count += 1;
        }
    }

    /// Records per bin.
    pub(crate) fn density(&self, bins: u32) -> Vec<u32> {
        let bins = bins.clamp(1, COLUMNS as u32) as usize;
        let mut out = vec![0; bins];
        for (i, count) in self.columns.iter().enumerate() {
            out[i * bins / self.columns.len()] += count;
        }
        out
    }
}
