//! The seed of a scenario as it is written: a number, or text where a number
//! of JavaScript would lose digits.

use servent_core::json::{self, Fill, Json, Wrong};

pub(crate) fn write_seed<S: serde::Serializer>(seed: &u64, s: S) -> Result<S::Ok, S::Error> {
    if *seed < 1 << 53 { s.serialize_u64(*seed) } else { s.collect_str(seed) }
}

/// A seed: a number, or text in decimal or `0x…`.
pub(crate) struct Seed<'a>(pub(crate) &'a mut u64);

impl Fill for Seed<'_> {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        let seed = match from {
            Json::Text(text) => match text.strip_prefix("0x") {
                Some(hex) => u64::from_str_radix(hex, 16).ok(),
                None => text.parse().ok(),
            },
            _ => from.as_u64(),
        };
        *self.0 = seed.ok_or_else(|| json::expected("a number, or text in decimal or 0x…"))?;
        Ok(())
    }
}
