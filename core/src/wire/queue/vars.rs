//! `name=value` settings, as both dialects write them.

use crate::wire::http::Headers;

/// The most settings read from the headers of one name.
const MOST: usize = 64;

/// The settings in all headers of a name. Active Queueing parts them by
/// commas, PARQ by semicolons; peers mix both, put blanks anywhere, and
/// quote values, inside which neither parts anything.
pub(super) struct Vars<'a> {
    headers: &'a Headers,
    name: &'static str,
}

impl<'a> Vars<'a> {
    pub(super) const fn new(headers: &'a Headers, name: &'static str) -> Self {
        Self { headers, name }
    }

    /// The value of the first setting of that name, in any case, whose value
    /// `read` understands.
    pub(super) fn find<T>(&self, key: &str, read: impl Fn(&str) -> Option<T>) -> Option<T> {
        self.settings()
            .filter(|(k, _)| k.eq_ignore_ascii_case(key))
            .find_map(|(_, value)| read(value))
    }

    /// Every setting, in order.
    pub(super) fn settings(&self) -> impl Iterator<Item = (&'a str, &'a str)> {
        self.pieces().filter_map(|piece| {
            let (key, value) = piece.split_once('=')?;
            let value = value.trim().trim_matches('"').trim();
            Some((key.trim(), value))
        })
    }

    /// Everything between separators, blanks cut off.
    pub(super) fn pieces(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.headers.all(self.name).flat_map(split).take(MOST)
    }
}

/// Splits at `,` and `;` outside of quotes.
fn split(value: &str) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    value
        .split(move |c| {
            quoted ^= c == '"';
            !quoted && (c == ',' || c == ';')
        })
        .map(str::trim)
        .filter(|piece| !piece.is_empty())
}
