//! Words in texts, parts of them, and numbers as people read them.

use core::fmt;
use core::slice::SliceIndex;

/// Where a word stands last in a text. The searcher of the standard library is
/// made for long texts, and three kilobytes of the page's module; ours are a
/// line long.
pub(crate) fn find_last(text: &str, word: &str) -> Option<usize> {
    let at = |i: &usize| text.as_bytes()[*i..].starts_with(word.as_bytes());
    (0..=text.len().checked_sub(word.len())?).rev().find(at)
}

/// A part of a text; empty when it has no such part. An index in brackets would
/// do, but what the standard library has to say when it is wrong is four
/// kilobytes of the page's module, with all characters that can be printed.
pub(crate) fn part<R: SliceIndex<str, Output = str>>(text: &str, range: R) -> &str {
    text.get(range).unwrap_or_default()
}

/// True when a text has a word in it.
#[must_use]
pub fn holds(text: &str, word: &str) -> bool {
    find_last(text, word).is_some()
}

/// A number of bytes for people: in binary units, rounded, three digits.
#[derive(Debug, Clone, Copy)]
pub struct Size(pub u64);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
        let (mut unit, mut shift) = (0, 0);
        while self.0 >> shift >= 1_024 && unit < UNITS.len() {
            (unit, shift) = (unit + 1, shift + 10);
        }
        let Some(name) = unit.checked_sub(1).map(|unit| UNITS[unit]) else {
            return write!(f, "{} B", self.0);
        };
        let tenths = ((self.0 >> (shift - 10)) * 10 + 512) >> 10;
        match tenths {
            0..1_000 => write!(f, "{}.{} {name}", tenths / 10, tenths % 10),
            _ => write!(f, "{} {name}", (tenths + 5) / 10),
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn sizes_have_three_digits() {
        let says = |n: u64, text: &str| assert_eq!(Size(n).to_string(), text);
        says(0, "0 B");
        says(1_023, "1023 B");
        says(1_536, "1.5 KiB");
        says(102_348, "99.9 KiB");
        says(102_349, "100 KiB");
        says(1_048_575, "1024 KiB");
        says(3_000_000, "2.9 MiB");
        says(200 << 20, "200 MiB");
        says(u64::MAX, "16.0 EiB");
    }

    #[test]
    fn words_are_found_as_the_standard_library_finds_them() {
        for text in ["", "a", "aab", "GET / HTTP/1 HTTP/1.1", "äöü"] {
            for word in ["", "a", "ab", " HTTP/", "ö", "GET / HTTP/1 HTTP/1.12"] {
                assert_eq!(find_last(text, word), text.rfind(word), "{text} {word}");
                assert_eq!(holds(text, word), text.contains(word), "{text} {word}");
            }
        }
    }
}
