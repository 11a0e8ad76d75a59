//! Values that several owners share, written as if each had its own.
//!
//! A download is remembered after every reply, and by more than one: what it
//! consists of is shared instead of copied.

use alloc::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::{Fill, FromJson, Json, Wrong};

/// Writes the value.
///
/// # Errors
/// Those of the serializer.
pub(crate) fn serialize<T: Serialize, S: Serializer>(it: &Arc<T>, s: S) -> Result<S::Ok, S::Error> {
    (**it).serialize(s)
}

/// Reads a value that nobody shares yet.
///
/// # Errors
/// Those of the deserializer.
pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
    d: D,
) -> Result<Arc<T>, D::Error> {
    T::deserialize(d).map(Arc::new)
}

impl<T: Fill + Clone> Fill for Arc<T> {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        Self::make_mut(self).fill(from)
    }
}
impl<T: FromJson + Clone> FromJson for Arc<T> {
    fn blank() -> Self {
        Self::new(T::blank())
    }
}
