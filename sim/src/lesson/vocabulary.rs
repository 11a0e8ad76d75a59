//! Which events a protocol has, asked of the types that write them.

use alloc::format;
use alloc::string::{String, ToString as _};
use core::fmt::{self, Debug, Display};
use core::iter::once;

use serde::de::value::{MapAccessDeserializer, MapDeserializer};
use serde::de::{self, DeserializeOwned};

/// Why something that has only the name of an event is not one.
#[derive(Debug)]
enum RefusedPattern {
    /// This is no name; these are.
    Name(String, &'static [&'static str]),
    /// The name is known, and the rest is missing.
    Rest,
}

impl Display for RefusedPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        Debug::fmt(self, f)
    }
}

impl core::error::Error for RefusedPattern {}

impl de::Error for RefusedPattern {
    fn custom<T: Display>(_: T) -> Self {
        Self::Rest
    }

    fn unknown_variant(name: &str, known: &'static [&'static str]) -> Self {
        Self::Name(name.to_string(), known)
    }
}

/// What is wrong with the name of an event, an area and what happens; `None`
/// when the protocol has it, whether it ever happens or not.
pub(super) fn wrong_name<E: DeserializeOwned>(event: &str) -> Option<String> {
    let (area, what) = event.split_once('.')?;
    let inner = MapDeserializer::<_, RefusedPattern>::new(once(("what", what)));
    let outer = MapDeserializer::new(once((area, inner)));
    match E::deserialize(MapAccessDeserializer::new(outer)) {
        Err(RefusedPattern::Name(name, known)) => {
            Some(format!("there is no event `{event}`: `{name}` is none of {}", known.join(", ")))
        }
        _ => None,
    }
}
