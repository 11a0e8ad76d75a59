//! An action on a world, at an instant.

use alloc::format;
use alloc::string::String;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::error::{self, ScenarioError};
use servent_core::time::Instant;

/// An action at an instant. In JSON `{"at": µs, "kill": {…}}`; without `at` it
/// happens at the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "Map<String, Value>", bound(deserialize = "A: DeserializeOwned"))]
pub struct At<A> {
    /// The instant.
    pub at: Instant,
    /// The action.
    #[serde(flatten)]
    pub act: A,
}

impl<A: DeserializeOwned> TryFrom<Map<String, Value>> for At<A> {
    type Error = serde_json::Error;

    /// A flattened field cannot reject unknown keys beside it: `at` is taken
    /// out, and exactly one entry must be left.
    fn try_from(mut entries: Map<String, Value>) -> Result<Self, Self::Error> {
        let within = |name: &str, why| Self::Error::custom(format!("`{name}`: {why}"));
        let at = entries.remove("at").map(serde_json::from_value).transpose();
        let at = at.map_err(|why| within("at", why))?.unwrap_or_default();
        let (Some(name), 1) = (entries.keys().next().cloned(), entries.len()) else {
            return Err(Self::Error::custom("expected one thing to do, and `at`"));
        };
        let act = serde_json::from_value(Value::Object(entries));
        Ok(Self { at, act: act.map_err(|why| within(&name, why))? })
    }
}

impl<A: DeserializeOwned> At<A> {
    /// Parses one from JSON.
    ///
    /// # Errors
    /// When the text is not such an action.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        error::read(text)
    }
}
