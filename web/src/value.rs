//! Values on their way to JavaScript and back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_wasm_bindgen::Serializer;
use servent_core::time::Instant;
use wasm_bindgen::{JsError, JsValue};

/// What a question is answered with.
pub(crate) type Answer = Result<JsValue, JsError>;

/// A value as JavaScript has it: plain objects, lists, numbers, `null`.
pub(crate) fn give(value: &(impl Serialize + ?Sized)) -> Answer {
    Ok(value.serialize(&Serializer::json_compatible())?)
}

/// A value from JavaScript. A name the type does not know is refused: whoever
/// wrote it meant something by it.
pub(crate) fn take<T: DeserializeOwned>(value: JsValue) -> Result<T, JsError> {
    // By way of a tree: read directly, an object is only asked for the fields
    // it should have.
    let tree: Value = serde_wasm_bindgen::from_value(value)?;
    Ok(serde_json::from_value(tree)?)
}

/// An error with this sentence.
pub(crate) fn refused(why: impl AsRef<str>) -> JsError {
    JsError::new(why.as_ref())
}

/// Microseconds of an instant.
pub(crate) fn us(at: Instant) -> f64 {
    at.as_micros() as f64
}

/// An instant of so many microseconds; what is none is the beginning.
pub(crate) fn instant(us: f64) -> Instant {
    Instant::from_micros(us as u64)
}
