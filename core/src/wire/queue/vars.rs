//! `name=value` settings, as both dialects write them.

use crate::wire::http::Headers;
use crate::wire::scan::{find, find_either, split_once, trim};

/// Maximum number of settings read from all headers of one name.
const MOST: usize = 64;

/// The settings in all headers of one name. Active Queueing separates them by
/// commas, PARQ by semicolons; peers mix both, put blanks anywhere, and quote
/// values, in which neither separates.
pub(super) struct Vars<'a> {
    headers: &'a Headers,
    name: &'static str,
}

impl<'a> Vars<'a> {
    pub(super) const fn new(headers: &'a Headers, name: &'static str) -> Self {
        Self { headers, name }
    }

    /// Every setting, in order.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.pieces().filter_map(|piece| {
            let (key, value) = split_once(piece, b'=')?;
            let value = trim(trim(value).trim_matches('"'));
            Some((trim(key), value))
        })
    }

    /// The items between separators, trimmed.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.headers.all(self.name).flat_map(split).take(MOST)
    }
}

/// Splits at `,` and `;` outside of quotes.
fn split(value: &str) -> impl Iterator<Item = &str> {
    let quotes = find(b'"', value.as_bytes()).is_some();
    let mut rest = Some(value);
    let pieces = core::iter::from_fn(move || {
        let text = rest?;
        let end = if quotes {
            let mut quoted = false;
            text.bytes().position(|b| {
                quoted ^= b == b'"';
                !quoted && matches!(b, b',' | b';')
            })
        } else {
            find_either([b',', b';'], text.as_bytes())
        };
        rest = end.map(|end| &text[end + 1..]);
        Some(end.map_or(text, |end| &text[..end]))
    });
    pieces.map(trim).filter(|piece| !piece.is_empty())
}

/// Fills `place` with the first value that `read` understands.
pub(super) fn first<'v, T>(
    place: &mut Option<T>,
    value: &'v str,
    read: impl FnOnce(&'v str) -> Option<T>,
) {
    if place.is_none() {
        *place = read(value);
    }
}
