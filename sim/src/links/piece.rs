//! Links for pieces of files, and the content of pieces.

use alloc::vec::Vec;

use servent_core::time::{Duration, Instant};
use servent_core::wire::pdtp::{Hash, Span};

/// Both directions of a client's access link.
#[derive(Debug, Clone)]
pub(crate) struct AccessLink {
    pub(crate) up: u64,
    pub(crate) down: u64,
    up_free: Instant,
    down_free: Instant,
}

impl AccessLink {
    pub(crate) const fn new(up: u64, down: u64) -> Self {
        Self { up, down, up_free: Instant::ZERO, down_free: Instant::ZERO }
    }

    /// Nothing is in transit any more.
    pub(crate) const fn clear(&mut self, now: Instant) {
        self.up_free = now;
        self.down_free = now;
    }

    /// Delays everything in transit.
    pub(crate) fn delay(&mut self, by: Duration) {
        self.up_free += by;
        self.down_free += by;
    }
}

fn time(bytes: u64, rate: u64) -> Duration {
    let micros = u128::from(bytes) * 1_000_000 / u128::from(rate.max(1));
    Duration::from_micros((micros as u64).max(1))
}

/// When that many bytes start to leave, and when they have arrived: the
/// sender's link carries one transfer after the other, and so does the
/// receiver's.
pub(crate) fn carry(
    now: Instant,
    bytes: u64,
    from: &mut AccessLink,
    to: &mut AccessLink,
) -> (Instant, Instant) {
    let begin = now.max(from.up_free);
    let left = begin + time(bytes, from.up.min(to.down));
    let arrived = left.max(to.down_free + time(bytes, to.down));
    from.up_free = left;
    to.down_free = arrived;
    (begin, arrived)
}

/// What a disk holds of a piece: spans, and whether they are wrong.
#[derive(Debug, Clone, Default)]
pub(crate) struct PieceContent(Vec<(u64, u64, bool)>);

impl PieceContent {
    pub(crate) fn write(&mut self, span: Span, wrong: bool) {
        let (start, end) = (span.start, span.end.unwrap_or(span.start));
        let mut parts = Vec::new();
        for &(a, b, was) in &self.0 {
            if a < start {
                parts.push((a, b.min(start), was));
            }
            if b > end {
                parts.push((a.max(end), b, was));
            }
        }
        parts.push((start, end, wrong));
        parts.retain(|(a, b, _)| a < b);
        self.0 = parts;
    }

    /// True if some of it is wrong.
    pub(crate) fn is_wrong(&self) -> bool {
        self.0.iter().any(|(.., wrong)| *wrong)
    }

    /// The digest of a complete piece: the expected one, if all of it is right.
    pub(crate) fn digest(&self, piece: Span, right: Hash) -> Hash {
        let length: u64 = self.0.iter().filter(|(.., wrong)| !wrong).map(|(a, b, _)| b - a).sum();
        let whole = piece.end.is_some_and(|end| end - piece.start == length);
        if whole { right } else { Hash([0xff; 32]) }
    }
}
