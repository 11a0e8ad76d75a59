//! Seconds in headers.

use core::fmt;

use crate::time::Duration;
use crate::wire::scan::{split_once, trim};

/// A duration in seconds. Whole seconds are printed as an integer, which is all
/// that strangers ever see; when the schedule is scaled down for a test, exact
/// decimals are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Seconds(pub Duration);

impl Seconds {
    /// Parses a number of seconds, with or without decimals; what is finer than
    /// a microsecond is cut off, and what is too large becomes the longest
    /// [`Duration`].
    #[must_use]
    pub fn parse(text: &str) -> Option<Duration> {
        let text = trim(text);
        let (whole, part) = split_once(text, b'.').unwrap_or((text, ""));
        if whole.is_empty() || !whole.bytes().chain(part.bytes()).all(|b| b.is_ascii_digit()) {
            return None;
        }
        let mut micros = 0;
        for i in 0..6 {
            let digit = part.as_bytes().get(i).map_or(0, |b| b - b'0');
            micros = micros * 10 + u64::from(digit);
        }
        let whole = whole.parse().map_or(Duration::MAX, Duration::from_secs);
        Some(whole + Duration::from_micros(micros))
    }
}

impl fmt::Display for Seconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let micros = self.0.as_micros();
        write!(f, "{}", micros / 1_000_000)?;
        let (mut part, mut digits) = (micros % 1_000_000, 6);
        if part == 0 {
            return Ok(());
        }
        while part.is_multiple_of(10) {
            part /= 10;
            digits -= 1;
        }
        write!(f, ".{part:0digits$}")
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn seconds_are_whole_unless_they_are_not() {
        assert_eq!(Seconds(Duration::from_secs(290)).to_string(), "290");
        assert_eq!(Seconds(Duration::from_millis(1_450)).to_string(), "1.45");
        assert_eq!(Seconds(Duration::from_micros(7)).to_string(), "0.000007");
        assert_eq!(Seconds::parse(" 30 "), Some(Duration::from_secs(30)));
        assert_eq!(Seconds::parse("0.5"), Some(Duration::from_millis(500)));
        assert_eq!(Seconds::parse("1.00000099"), Some(Duration::from_secs(1)));
        assert_eq!(Seconds::parse("99999999999999999999"), Some(Duration::MAX));
    }

    #[test]
    fn what_is_no_number_is_none() {
        for text in ["", "-1", "+1", "1e3", ".5", "1.2.3", "Fri, 31 Dec 1999", "١"] {
            assert_eq!(Seconds::parse(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_length_of_time_round_trips(micros: u64) {
            let length = Duration::from_micros(micros);
            prop_assert_eq!(Seconds::parse(&Seconds(length).to_string()), Some(length));
        }
    }
}
