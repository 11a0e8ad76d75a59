//! The header fields of a head, in order.

use alloc::string::String;
use alloc::vec::Vec;

use crate::wire::scan::{find, trim};

/// Header fields. Names are compared case-insensitively; a name may occur
/// several times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Headers {
    /// All names and values in one text: two allocations for a head instead of
    /// two for every field.
    text: String,
    fields: Vec<Field>,
}

/// The position of a field in the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Field {
    name: u32,
    name_end: u32,
    end: u32,
    /// The mark of its name.
    mark: u32,
}

/// A hash that distinguishes most names: length, first and last letter.
fn mark(name: &[u8]) -> u32 {
    let letter = |b: Option<&u8>| u32::from(b.map_or(0, u8::to_ascii_lowercase));
    (name.len() as u32) << 16 | letter(name.first()) << 8 | letter(name.last())
}

impl Headers {
    /// Fields whose values are neither folded nor invalid UTF-8, of about so
    /// many bytes in total. They are validated all at once, which is cheaper.
    pub(super) fn whole<'a>(
        fields: impl ExactSizeIterator<Item = (&'a str, &'a [u8])>,
        bytes: usize,
    ) -> Option<Self> {
        let mut text = Vec::with_capacity(bytes);
        let mut places = Vec::with_capacity(fields.len());
        for (name, value) in fields {
            let (start, mark) = (text.len() as u32, mark(name.as_bytes()));
            text.extend_from_slice(name.as_bytes());
            let name_end = text.len() as u32;
            text.extend_from_slice(value);
            places.push(Field { name: start, name_end, end: text.len() as u32, mark });
        }
        if find(b'\n', &text).is_some() {
            return None;
        }
        // A name is ASCII and never empty, so no character can begin in one
        // field and end in another.
        Some(Self { text: String::from_utf8(text).ok()?, fields: places })
    }

    /// Appends a field.
    pub fn push(&mut self, name: &str, value: &str) {
        let (start, mark) = (self.text.len() as u32, mark(name.as_bytes()));
        self.text.push_str(name);
        let name_end = self.text.len() as u32;
        self.text.push_str(value);
        let end = self.text.len() as u32;
        self.fields.push(Field { name: start, name_end, end, mark });
    }

    /// The first value of a field.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// All values of a field, in order.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        let wanted = mark(name.as_bytes());
        let alike = self.fields.iter().filter(move |field| field.mark == wanted);
        alike
            .map(|field| self.cut(field))
            .filter(|(n, _)| n.eq_ignore_ascii_case(name))
            .map(|f| f.1)
    }

    fn cut(&self, field: &Field) -> (&str, &str) {
        let Field { name, name_end, end, .. } = *field;
        let name_end = name_end as usize;
        (&self.text[name as usize..name_end], &self.text[name_end..end as usize])
    }

    /// All values of a field as one comma-separated list; empty when there are
    /// none.
    #[must_use]
    pub fn joined(&self, name: &str) -> String {
        let mut out = String::new();
        for value in self.all(name) {
            if !out.is_empty() {
                out.push_str(", ");
            }
            out.push_str(value);
        }
        out
    }

    /// True when the comma-separated list of a field contains `token`,
    /// case-insensitively.
    #[must_use]
    pub fn lists(&self, name: &str, token: &str) -> bool {
        self.all(name).flat_map(|v| v.split(',')).any(|t| trim(t).eq_ignore_ascii_case(token))
    }

    /// All fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.fields.iter().map(|field| self.cut(field))
    }

    /// How many fields there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.fields.len()
    }

    /// True when there are no fields.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_in_any_case_and_repeats_are_joined() {
        let mut h = Headers::default();
        h.push("X-Queue", "position=1");
        h.push("x-QUEUE", "length=2");
        h.push("Connection", "Upgrade, Close");
        assert_eq!(h.get("x-queue"), Some("position=1"));
        assert_eq!(h.joined("X-QUEUE"), "position=1, length=2");
        assert_eq!(h.joined("X-Other"), "");
        assert!(h.lists("connection", "close"));
        assert!(!h.lists("connection", "clos"));
    }
}
