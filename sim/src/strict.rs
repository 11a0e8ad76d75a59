//! Strict parsing of limits and intervals in a scenario. On a recording an unknown
//! key comes from a later program and is skipped; here it is a mistake in the
//! scenario, and refused.

use alloc::string::String;

use serde::de::{DeserializeOwned, Error as _};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

/// Parses a configuration and refuses keys that its default does not have.
pub(crate) fn deserialize<'de, C, D>(d: D) -> Result<C, D::Error>
where
    C: Default + Serialize + DeserializeOwned,
    D: Deserializer<'de>,
{
    let entries = Map::<String, Value>::deserialize(d)?;
    let known = serde_json::to_value(C::default()).map_err(D::Error::custom)?;
    if let Some(key) = entries.keys().find(|key| known.get(key.as_str()).is_none()) {
        return Err(D::Error::custom(format_args!("unknown field `{key}`")));
    }
    serde_json::from_value(Value::Object(entries)).map_err(D::Error::custom)
}
