//! Parsing a scenario without the key that names its protocol.
//!
//! A scenario refuses keys that it does not know, and serde's `flatten` would
//! lose that. So the key is skipped while the text is read, which also keeps the
//! line and column of every other mistake.

use alloc::string::String;
use core::fmt::{self, Formatter};
use core::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, StringDeserializer};
use serde::de::{DeserializeOwned, DeserializeSeed, IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::TAG;

/// A value that was an object with the key that names the protocol.
pub(super) struct Untagged<S>(pub(super) S);

impl<'de, S: DeserializeOwned> Deserialize<'de> for Untagged<S> {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        d.deserialize_map(Whole(PhantomData))
    }
}

/// Visits the object.
struct Whole<S>(PhantomData<S>);

impl<'de, S: DeserializeOwned> Visitor<'de> for Whole<S> {
    type Value = Untagged<S>;

    fn expecting(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str("a scenario")
    }

    fn visit_map<M: MapAccess<'de>>(self, map: M) -> Result<Self::Value, M::Error> {
        S::deserialize(MapAccessDeserializer::new(Skipping(map))).map(Untagged)
    }
}

/// The entries of the object but the one that names the protocol.
struct Skipping<M>(M);

impl<'de, M: MapAccess<'de>> MapAccess<'de> for Skipping<M> {
    type Error = M::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(
        &mut self,
        seed: K,
    ) -> Result<Option<K::Value>, M::Error> {
        while let Some(key) = self.0.next_key::<String>()? {
            if key != TAG {
                return seed.deserialize(StringDeserializer::new(key)).map(Some);
            }
            self.0.next_value::<IgnoredAny>()?;
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, M::Error> {
        self.0.next_value_seed(seed)
    }
}
