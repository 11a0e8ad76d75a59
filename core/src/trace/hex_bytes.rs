//! Byte strings as hexadecimal text in a trace.

use alloc::string::String;
use alloc::vec::Vec;

use data_encoding::HEXLOWER_PERMISSIVE;
use serde::{Deserialize, Deserializer, Serializer};

/// Writes bytes as lower-case hexadecimal text.
///
/// # Errors
/// Those of the serializer.
pub fn serialize<S: Serializer>(bytes: &[u8], s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&HEXLOWER_PERMISSIVE.encode(bytes))
}

/// Reads hexadecimal text of either case.
///
/// # Errors
/// Those of the deserializer, and text that is not hexadecimal.
pub fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<Vec<u8>, D::Error> {
    let text = String::deserialize(d)?;
    HEXLOWER_PERMISSIVE
        .decode(text.as_bytes())
        .map_err(|_| serde::de::Error::custom("not hexadecimal"))
}
