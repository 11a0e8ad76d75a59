//! Byte ranges. In code they are half-open, `start..end`; on the wire the last
//! byte is included.

use alloc::vec::Vec;
use core::fmt;

use super::head::decimal;
use crate::wire::scan::trim;

/// The range a `Range` header requests.
///
/// ```
/// use servent_core::wire::http::RangeSpec;
///
/// let last = RangeSpec::parse("bytes=-100").unwrap();
/// assert_eq!(last.resolve(1_000), Some((900, 1_000)));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RangeSpec {
    /// `a-`: from a byte to the end.
    From(u64),
    /// `a-b`: both bytes included.
    Between(u64, u64),
    /// `-n`: the last `n` bytes.
    Last(u64),
}

impl RangeSpec {
    /// Parses `bytes=…`. Several ranges, other units and malformed values are
    /// `None`: the header is then ignored (RFC 9110 §14.2).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = unit(text)?.split_once('-')?;
        let (first, last) = (trim(first), trim(last));
        match (first.is_empty(), last.is_empty()) {
            (true, true) => None,
            (true, false) => Some(Self::Last(decimal(last)?)),
            (false, true) => Some(Self::From(decimal(first)?)),
            (false, false) => {
                let (a, b) = (decimal(first)?, decimal(last)?);
                (a <= b).then_some(Self::Between(a, b))
            }
        }
    }

    /// The range `start..end` in a file of that size; `None` when it is empty,
    /// which means 416.
    #[must_use]
    pub fn resolve(self, size: u64) -> Option<(u64, u64)> {
        let (start, end) = match self {
            Self::From(a) => (a, size),
            Self::Between(a, b) => (a, b.saturating_add(1).min(size)),
            Self::Last(n) => (size.saturating_sub(n), size),
        };
        (start < end).then_some((start, end))
    }
}

impl fmt::Display for RangeSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::From(a) => write!(f, "bytes={a}-"),
            Self::Between(a, b) => write!(f, "bytes={a}-{b}"),
            Self::Last(n) => write!(f, "bytes=-{n}"),
        }
    }
}

/// The value of `Content-Range` in a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentRange {
    /// The range that follows, `start..end`; `None` in a 416.
    pub range: Option<(u64, u64)>,
    /// The size of the whole file, if told.
    pub size: Option<u64>,
}

impl ContentRange {
    /// Parses `bytes a-b/size`; Shareaza writes `bytes=a-b/size`. `a-b` and
    /// `size` may be `*`. A range beyond the size is `None`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (range, size) = unit(text)?.split_once('/')?;
        let size = match trim(size) {
            "*" => None,
            digits => Some(decimal(digits)?),
        };
        let range = match trim(range) {
            "*" => None,
            pair => {
                let (a, b) = pair.split_once('-')?;
                let (a, b) = (decimal(trim(a))?, decimal(trim(b))?);
                let end = b.checked_add(1)?;
                if a > b || size.is_some_and(|size| end > size) {
                    return None;
                }
                Some((a, end))
            }
        };
        Some(Self { range, size })
    }
}

impl fmt::Display for ContentRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.range {
            Some((start, end)) => write!(f, "bytes {start}-{}/", end.saturating_sub(1))?,
            None => f.write_str("bytes */")?,
        }
        match self.size {
            Some(size) => write!(f, "{size}"),
            None => f.write_str("*"),
        }
    }
}

/// The value of `X-Available-Ranges` for a partial file: the bytes a source
/// has.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AvailableRanges(Vec<(u64, u64)>);

impl AvailableRanges {
    /// Maximum number of ranges read from one header; more are ignored.
    pub(crate) const MOST: usize = 256;

    /// From ranges `start..end` in any order.
    #[must_use]
    pub fn new(mut ranges: Vec<(u64, u64)>) -> Self {
        ranges.retain(|(start, end)| start < end);
        ranges.sort_unstable();
        let mut merged: Vec<(u64, u64)> = Vec::with_capacity(ranges.len());
        for (start, end) in ranges {
            match merged.last_mut() {
                Some(last) if start <= last.1 => last.1 = last.1.max(end),
                _ => merged.push((start, end)),
            }
        }
        Self(merged)
    }

    /// Parses `bytes 0-10,20-30`. Invalid ranges are ignored; `None` when the
    /// unit is missing.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let pieces = unit(text)?.split(',').take(Self::MOST).filter_map(|piece| {
            let (a, b) = piece.split_once('-')?;
            Some((decimal(trim(a))?, decimal(trim(b))?.checked_add(1)?))
        });
        Some(Self::new(pieces.collect()))
    }

    /// The ranges `start..end`, sorted and disjoint.
    #[must_use]
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.0
    }
}

impl fmt::Display for AvailableRanges {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("bytes")?;
        for (i, (start, end)) in self.0.iter().enumerate() {
            let before = if i == 0 { " " } else { "," };
            write!(f, "{before}{start}-{}", end - 1)?;
        }
        Ok(())
    }
}

/// What follows the unit `bytes` and its `=` or blank.
fn unit(text: &str) -> Option<&str> {
    let (unit, rest) = trim(text).split_at_checked(5)?;
    if !unit.eq_ignore_ascii_case("bytes") || !rest.starts_with([' ', '=', '\t']) {
        return None;
    }
    Some(rest.trim_start_matches([' ', '\t', '=']))
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_range_resolves_to_half_open_bytes() {
        let resolve = |text, size| RangeSpec::parse(text).and_then(|r| r.resolve(size));
        assert_eq!(resolve("bytes=0-0", 10), Some((0, 1)));
        assert_eq!(resolve("bytes=5-", 10), Some((5, 10)));
        assert_eq!(resolve("bytes=5-100", 10), Some((5, 10)));
        assert_eq!(resolve("bytes=-3", 10), Some((7, 10)));
        assert_eq!(resolve("bytes=-30", 10), Some((0, 10)));
        assert_eq!(resolve("Bytes = 2 - 3", 10), Some((2, 4)));
        assert_eq!(resolve("bytes=10-", 10), None);
        assert_eq!(resolve("bytes=-0", 10), None);
        assert_eq!(resolve("bytes=0-", 0), None);
        assert_eq!(resolve("bytes=0-18446744073709551615", 10), Some((0, 10)));
    }

    #[test]
    fn what_is_no_single_range_is_ignored() {
        for text in ["bytes=3-2", "bytes=-", "bytes=a-b", "bytes=0-1,4-5", "lines=0-1", "", "bytes"]
        {
            assert_eq!(RangeSpec::parse(text), None, "{text}");
        }
        assert_eq!(RangeSpec::parse("bytes=99999999999999999999-"), None);
    }

    #[test]
    fn content_range_is_read_as_shareaza_writes_it_too() {
        let want = Some(ContentRange { range: Some((3, 8)), size: Some(10) });
        assert_eq!(ContentRange::parse("bytes 3-7/10"), want);
        assert_eq!(ContentRange::parse("bytes=3-7/10"), want);
        assert_eq!(
            ContentRange::parse("bytes */10"),
            Some(ContentRange { range: None, size: Some(10) })
        );
        assert_eq!(ContentRange::parse("bytes 3-17/10"), None);
        assert_eq!(ContentRange::parse("bytes 8-7/10"), None);
    }

    #[test]
    fn available_ranges_come_out_sorted_and_apart() {
        let ranges = AvailableRanges::parse("bytes 20-30, 0-10,x,5-15,31-40").unwrap();
        assert_eq!(ranges.as_slice(), [(0, 16), (20, 41)]);
        assert_eq!(ranges.to_string(), "bytes 0-15,20-40");
        assert_eq!(AvailableRanges::parse("bytes").map(|r| r.0), None);
        assert_eq!(AvailableRanges::parse("bytes ").map(|r| r.0), None);
        assert_eq!(AvailableRanges::parse("bytes=7-3").map(|r| r.0), Some(vec![]));
    }

    proptest! {
        #[test]
        fn ranges_round_trip(a in 0..u64::MAX, n in 1..1_000_000_u64) {
            let end = a.saturating_add(n);
            let spec = RangeSpec::Between(a, end - 1);
            prop_assert_eq!(RangeSpec::parse(&spec.to_string()), Some(spec));
            let content = ContentRange { range: Some((a, end)), size: Some(u64::MAX) };
            prop_assert_eq!(ContentRange::parse(&content.to_string()), Some(content));
        }

        #[test]
        fn any_text_is_read_without_harm(text in "(bytes)?[ =]?[-0-9,*/ ]{0,60}|\\PC{0,40}") {
            let _ = RangeSpec::parse(&text).map(|r| r.resolve(100));
            let _ = ContentRange::parse(&text);
            let _ = AvailableRanges::parse(&text);
        }
    }
}
