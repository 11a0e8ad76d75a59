//! From tree to type.

use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::{Json, Wrong};
use crate::hex_bytes;
use crate::id::FileKey;
use crate::id::NodeId;
use crate::id::{ConnId, FetchId, FileIndex, Guid, Sha1};
use crate::time::{Duration, Instant};

/// Something that can take over what stands in a tree.
pub trait Fill {
    /// Takes it over.
    ///
    /// # Errors
    /// A sentence that says what should stand there.
    fn fill(&mut self, from: &Json) -> Result<(), Wrong>;

    /// True when it need not stand there.
    fn optional(&self) -> bool {
        false
    }
}

/// Something that can be made from a tree.
pub trait FromJson: Fill + Sized {
    /// What is to be filled.
    fn blank() -> Self;

    /// Reads a list of them that is written as one text; false when it is not.
    fn list(_text: &str, _into: &mut Vec<Self>) -> bool {
        false
    }
}

/// One of several things, told apart by a name.
pub trait Tagged: Sized {
    /// Reads what a name stands for.
    ///
    /// # Errors
    /// The name stands for nothing, or the content does not fit it.
    fn from_variant(name: &str, content: &Json) -> Result<Self, Wrong>;
}

/// Makes something from a tree.
///
/// # Errors
/// A sentence that says what is wrong where.
pub fn read<T: FromJson>(from: &Json) -> Result<T, Wrong> {
    let mut it = T::blank();
    it.fill(from)?;
    Ok(it)
}

/// What holds for the entries of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// What is missing keeps its default, what is unknown is skipped.
    Lenient,
    /// What is missing keeps its default, what is unknown is refused.
    Known,
    /// What is missing is refused, what is unknown is skipped.
    Whole,
    /// What is missing or unknown is refused.
    Exact,
}

/// Fills places by the names of an object.
///
/// # Errors
/// A sentence that names the entry.
pub fn fields(from: &Json, rule: Rule, into: &mut [(&str, &mut dyn Fill)]) -> Result<(), Wrong> {
    let Json::Object(entries) = from else { return Err(expected("an object")) };
    for (name, place) in into.iter_mut() {
        match from.get(name) {
            Some(value) => place.fill(value).map_err(|wrong| wrong.within(name))?,
            None if matches!(rule, Rule::Lenient | Rule::Known) || place.optional() => {}
            None => return Err(Wrong::new(&["missing field `", name, "`"])),
        }
    }
    if matches!(rule, Rule::Known | Rule::Exact) {
        for (name, _) in entries {
            if !into.iter().any(|(known, _)| known == name) {
                return Err(Wrong::new(&["unknown field `", name, "`"]));
            }
        }
    }
    Ok(())
}

/// The name and the content of a variant: `"name"` or `{"name": content}`.
pub fn variant(from: &Json) -> Result<(&str, &Json), Wrong> {
    match from {
        Json::Text(name) => Ok((name, &Json::Null)),
        Json::Object(entries) => match &entries[..] {
            [(name, content)] => Ok((name, content)),
            _ => Err(expected("an object with one entry")),
        },
        _ => Err(expected("a name, or an object with one entry")),
    }
}

/// There is no variant of that name.
pub fn unknown_variant(name: &str) -> Wrong {
    Wrong::new(&["unknown variant `", name, "`"])
}

/// Something else was expected.
pub fn expected(what: &str) -> Wrong {
    Wrong::new(&["expected ", what])
}

fn number(from: &Json, most: u64) -> Result<u64, Wrong> {
    from.as_u64().filter(|n| *n <= most).ok_or_else(|| expected("a whole number in its range"))
}

fn text(from: &Json) -> Result<&str, Wrong> {
    from.as_str().ok_or_else(|| expected("text"))
}

macro_rules! numbers {
    ($($type:ty: $blank:expr, $most:expr, $n:ident => $make:expr;)*) => {$(
        impl Fill for $type {
            fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
                let $n = number(from, $most)?;
                *self = $make;
                Ok(())
            }
        }
        impl FromJson for $type {
            fn blank() -> Self {
                $blank
            }
        }
    )*};
}
const U32: u64 = u32::MAX as u64;
numbers! {
    u16: 0, u64::from(u16::MAX), n => n as u16;
    u32: 0, U32, n => n as u32;
    u64: 0, u64::MAX, n => n;
    Duration: Self::ZERO, u64::MAX, n => Self::from_micros(n);
    Instant: Self::ZERO, u64::MAX, n => Self::from_micros(n);
    ConnId: Self(0), u64::MAX, n => Self(n);
    FileKey: Self(0), u64::MAX, n => Self(n);
    FetchId: Self(0), U32, n => Self(n as u32);
    FileIndex: Self(0), U32, n => Self(n as u32);
    NodeId: Self(0), U32, n => Self(n as u32);
}

impl Fill for u8 {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        *self = number(from, u64::from(Self::MAX))? as Self;
        Ok(())
    }
}
impl FromJson for u8 {
    fn blank() -> Self {
        0
    }
    /// Bytes are hexadecimal digits.
    fn list(text: &str, into: &mut Vec<Self>) -> bool {
        hex_bytes::decode(text.as_bytes()).map(|bytes| *into = bytes).is_some()
    }
}

impl Fill for i64 {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        *self = match from {
            Json::Negative(n) => *n,
            _ => number(from, Self::MAX as u64)? as Self,
        };
        Ok(())
    }
}
impl FromJson for i64 {
    fn blank() -> Self {
        0
    }
}

impl Fill for bool {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        let Json::Bool(it) = from else { return Err(expected("true or false")) };
        *self = *it;
        Ok(())
    }
}
impl FromJson for bool {
    fn blank() -> Self {
        false
    }
}

macro_rules! texts {
    ($($type:ty: $what:literal, $blank:expr, $text:ident => $parse:expr;)*) => {$(
        impl Fill for $type {
            fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
                let $text = text(from)?;
                *self = $parse.ok_or_else(|| expected($what))?;
                Ok(())
            }
        }
        impl FromJson for $type {
            fn blank() -> Self {
                $blank
            }
        }
    )*};
}
texts! {
    String: "text", Self::new(), text => Some(text.into());
    Guid: "an id of 32 hexadecimal digits", Self::default(), text => Self::parse(text.as_bytes());
    Sha1: "a SHA-1 of 32 base-32 digits", Self([0; 20]), text => Self::parse(text.as_bytes());
    IpAddr: "an IP address", [0; 4].into(), text => text.parse().ok();
    SocketAddr: "an address with a port", ([0; 4], 0).into(), text => text.parse().ok();
}

impl<T: FromJson> Fill for Option<T> {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        *self = if *from == Json::Null { None } else { Some(read(from)?) };
        Ok(())
    }
    fn optional(&self) -> bool {
        true
    }
}
impl<T: FromJson> FromJson for Option<T> {
    fn blank() -> Self {
        None
    }
}

impl<T: FromJson> Fill for Vec<T> {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        self.clear();
        match from {
            Json::List(list) => {
                for item in list {
                    self.push(read(item)?);
                }
                Ok(())
            }
            Json::Text(text) if T::list(text, self) => Ok(()),
            _ => Err(expected("a list")),
        }
    }
}
impl<T: FromJson> FromJson for Vec<T> {
    fn blank() -> Self {
        Self::new()
    }
}

impl<A: FromJson, B: FromJson> Fill for (A, B) {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        let Json::List(list) = from else { return Err(expected("a pair")) };
        let [a, b] = &list[..] else { return Err(expected("a pair")) };
        self.0.fill(a)?;
        self.1.fill(b)
    }
}
impl<A: FromJson, B: FromJson> FromJson for (A, B) {
    fn blank() -> Self {
        (A::blank(), B::blank())
    }
}

/// Reads a struct field by field. What a field is without its entry is its
/// default after `default`, and nothing to go on with after `blank`.
#[macro_export]
macro_rules! struct_from_json {
    (@blank default $($field:ident)*) => { Self::default() };
    (@blank blank $($field:ident)*) => { Self { $($field: $crate::json::FromJson::blank()),* } };
    ($type:ty, $blank:ident, $rule:ident, { $($field:ident),* $(,)? }) => {
        impl $crate::json::Fill for $type {
            fn fill(&mut self, from: &$crate::json::Json) -> Result<(), $crate::json::Wrong> {
                // No field can be forgotten: this names them all.
                let Self { $($field),* } = self;
                $crate::json::fields(from, $crate::json::Rule::$rule, &mut [
                    $((stringify!($field), $field)),*
                ])
            }
        }
        impl $crate::json::FromJson for $type {
            fn blank() -> Self {
                $crate::json::struct_from_json!(@blank $blank $($field)*)
            }
        }
    };
}
pub use crate::struct_from_json;

/// Reads an enum whose variants are named from the outside; the first
/// argument after the type is what is to be filled.
#[macro_export]
macro_rules! enum_from_json {
    (@variant $name:ident $content:ident) => { Self::$name };
    (@variant $name:ident $content:ident ($one:ident)) => {
        Self::$name($crate::json::read($content)?)
    };
    (@variant $name:ident $content:ident ($one:ident, $two:ident)) => {{
        let ($one, $two) = $crate::json::read($content)?;
        Self::$name($one, $two)
    }};
    (@variant $name:ident $content:ident { $($field:ident),* }) => {{
        let mut it = Self::$name { $($field: $crate::json::FromJson::blank()),* };
        if let Self::$name { $($field),* } = &mut it {
            $crate::json::fields($content, $crate::json::Rule::Whole, &mut [
                $((stringify!($field), $field)),*
            ])?;
        }
        it
    }};
    ($type:ty, $blank:expr, {
        $($tag:literal => $name:ident $(($($one:ident),+))? $({ $($field:ident),* })?),* $(,)?
    }) => {
        impl $crate::json::Tagged for $type {
            fn from_variant(
                name: &str,
                content: &$crate::json::Json,
            ) -> Result<Self, $crate::json::Wrong> {
                let _ = content;
                Ok(match name {
                    $($tag => $crate::json::enum_from_json!(@variant $name content $(($($one),+))? $({ $($field),* })?),)*
                    _ => return Err($crate::json::unknown_variant(name)),
                })
            }
        }
        impl $crate::json::Fill for $type {
            fn fill(&mut self, from: &$crate::json::Json) -> Result<(), $crate::json::Wrong> {
                let (name, content) = $crate::json::variant(from)?;
                *self = $crate::json::Tagged::from_variant(name, content).map_err(|wrong| wrong.within(name))?;
                Ok(())
            }
        }
        impl $crate::json::FromJson for $type {
            fn blank() -> Self {
                $blank
            }
        }
    };
}
pub use crate::enum_from_json;
