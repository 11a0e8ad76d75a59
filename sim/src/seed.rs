//! The textual form of a scenario's seed: a number, or text in decimal or `0x…`
//! where a JavaScript number would lose digits.

use alloc::string::String;

use serde::{Deserialize, Deserializer, Serializer, de};

#[derive(Deserialize)]
#[serde(untagged, expecting = "a seed is a number, or text in decimal or 0x…")]
enum Seed {
    Number(u64),
    Text(String),
}

pub(crate) fn serialize<S: Serializer>(seed: &u64, s: S) -> Result<S::Ok, S::Error> {
    if *seed < 1 << 53 { s.serialize_u64(*seed) } else { s.collect_str(seed) }
}

pub(crate) fn deserialize<'de, D: Deserializer<'de>>(d: D) -> Result<u64, D::Error> {
    let text = match Seed::deserialize(d)? {
        Seed::Number(seed) => return Ok(seed),
        Seed::Text(text) => text,
    };
    let seed = match text.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16),
        None => text.parse(),
    };
    seed.map_err(|why| de::Error::custom(format_args!("seed `{text}`: {why}")))
}
