//! JSON as a tree, what is read out of it, and how everything is written.
//!
//! Tapes, scenarios and faults are read here and not with serde: a derived
//! reader is compiled for every type it reads and is most of the page's module,
//! while here a type is a list of names and places to fill, and one function
//! fills them. Numbers stay what they are: no float is ever made.

mod fill;
mod parse;
mod write;

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use serde::ser::{Serialize, SerializeMap, Serializer};

pub use self::fill::{Fill, FromJson, Rule, Tagged, fields, read};
pub use self::fill::{enum_from_json, expected, struct_from_json, unknown_variant, variant};
pub use self::write::print;

/// A JSON value. The entries of an object keep their order.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Json {
    /// `null`.
    #[default]
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// A number from 0 on, without a fraction.
    Whole(u64),
    /// A number below 0, without a fraction.
    Negative(i64),
    /// Any other number, as it was written. It is shown as text.
    Real(Box<str>),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object; of equal names the last counts.
    Object(Vec<(String, Json)>),
}

/// Why something cannot be read: a sentence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong(String);

impl Wrong {
    /// With the parts of a sentence.
    #[must_use]
    pub fn new(sentence: &[&str]) -> Self {
        Self(sentence.concat())
    }

    /// The same about something inside of `name`.
    #[must_use]
    pub fn within(self, name: &str) -> Self {
        Self::new(&["`", name, "`: ", &self.0])
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<Wrong> for String {
    fn from(wrong: Wrong) -> Self {
        wrong.0
    }
}

impl Json {
    /// Reads a text.
    ///
    /// # Errors
    /// A sentence with the line and the column where it is not JSON.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        parse::parse(text)
    }

    /// The entry of an object.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(entries) = self else { return None };
        entries.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// A number from 0 on.
    #[must_use]
    pub const fn as_u64(&self) -> Option<u64> {
        if let Self::Whole(n) = self { Some(*n) } else { None }
    }

    /// A text.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        if let Self::Text(text) = self { Some(text) } else { None }
    }

    /// The text of it.
    #[must_use]
    pub fn print(&self) -> String {
        print(self)
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => s.serialize_unit(),
            Self::Bool(it) => s.serialize_bool(*it),
            Self::Whole(n) => s.serialize_u64(*n),
            Self::Negative(n) => s.serialize_i64(*n),
            Self::Real(text) => s.serialize_str(text),
            Self::Text(text) => s.serialize_str(text),
            Self::List(list) => s.collect_seq(list),
            Self::Object(entries) => {
                let mut map = s.serialize_map(Some(entries.len()))?;
                for (name, value) in entries {
                    map.serialize_entry(name.as_str(), value)?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests;
