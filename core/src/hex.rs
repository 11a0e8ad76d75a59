//! Bytes and large numbers as hexadecimal text, for `#[serde(with = …)]`.

use alloc::string::String;
use alloc::vec::Vec;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serializer};

pub(crate) fn serialize<S: Serializer>(bytes: &impl AsRef<[u8]>, s: S) -> Result<S::Ok, S::Error> {
    s.serialize_str(&HEXLOWER.encode(bytes.as_ref()))
}

/// Reads digits of either case.
pub(crate) fn deserialize<'de, D: Deserializer<'de>, T: From<Vec<u8>>>(
    d: D,
) -> Result<T, D::Error> {
    let text = String::deserialize(d)?;
    HEXLOWER_PERMISSIVE.decode(text.as_bytes()).map(T::from).map_err(D::Error::custom)
}

/// A 64-bit number as 16 digits, because JavaScript's numbers are exact only up
/// to 2^53.
pub(crate) mod number {
    use super::*;

    pub(crate) fn serialize<S: Serializer>(number: &u64, s: S) -> Result<S::Ok, S::Error> {
        s.collect_str(&format_args!("{number:016x}"))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<u64, D::Error> {
        let text = String::deserialize(d)?;
        u64::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}
