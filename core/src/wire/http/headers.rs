//! The fields of a head, in the order they came.

use alloc::string::String;
use alloc::vec::Vec;

/// Header fields. Names are compared without regard to case; a name may
/// occur several times.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Headers {
    /// Names and values, one after the other: two allocations for a head
    /// instead of two for every field.
    text: String,
    /// For each field where its name ends, and where its value does.
    ends: Vec<(usize, usize)>,
}

impl Headers {
    /// Room for so many fields of so many bytes in all.
    pub(super) fn with_capacity(fields: usize, bytes: usize) -> Self {
        Self { text: String::with_capacity(bytes), ends: Vec::with_capacity(fields) }
    }

    /// Adds a field after the others.
    pub fn push(&mut self, name: &str, value: &str) {
        self.text.push_str(name);
        let name_end = self.text.len();
        self.text.push_str(value);
        self.ends.push((name_end, self.text.len()));
    }

    /// The first value of a name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.all(name).next()
    }

    /// Every value of a name, in order.
    pub fn all<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a str> {
        self.iter().filter(move |(n, _)| n.eq_ignore_ascii_case(name)).map(|(_, v)| v)
    }

    /// Every value of a name in one list, with commas between; empty when
    /// there is none.
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

    /// True when a comma-separated list of that name holds `token`, in any
    /// case.
    #[must_use]
    pub fn lists(&self, name: &str, token: &str) -> bool {
        self.all(name).flat_map(|v| v.split(',')).any(|t| t.trim().eq_ignore_ascii_case(token))
    }

    /// All fields, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        let mut start = 0;
        self.ends.iter().map(move |&(name, value)| {
            let field = (&self.text[start..name], &self.text[name..value]);
            start = value;
            field
        })
    }

    /// How many fields there are.
    #[must_use]
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True when there is no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
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
