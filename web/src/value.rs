//! Values on their way to JavaScript and back.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_wasm_bindgen::Serializer;
use servent_core::time::Instant;
use wasm_bindgen::{JsError, JsValue};

/// The largest whole number up to which JavaScript has every one.
const LARGEST: u64 = (1 << 53) - 1;

/// What a question is answered with.
pub(crate) type Answer = Result<JsValue, JsError>;

/// A value as JavaScript has it: plain objects, lists, numbers, `null`. A
/// number beyond 2^53 is rounded to the nearest that JavaScript has.
pub(crate) fn give(value: &(impl Serialize + ?Sized)) -> Answer {
    let serializer = Serializer::json_compatible();
    // The serializer refuses large numbers; of what we give only the keys of
    // real files are so large.
    value.serialize(&serializer).or_else(|_| {
        let mut tree = serde_json::to_value(value)?;
        round(&mut tree);
        Ok(tree.serialize(&serializer)?)
    })
}

fn round(tree: &mut Value) {
    match tree {
        Value::Number(number) if number.as_u64().is_some_and(|n| n > LARGEST) => {
            *tree = number.as_f64().into();
        }
        Value::Array(items) => items.iter_mut().for_each(round),
        Value::Object(fields) => fields.values_mut().for_each(round),
        _ => {}
    }
}

/// A value from JavaScript. A name the type does not know is refused: whoever
/// wrote it meant something by it.
pub(crate) fn take<T: DeserializeOwned>(value: JsValue) -> Result<T, JsError> {
    // By way of a tree: read directly, an object is only asked for the fields
    // it should have.
    Ok(serde_json::from_value(tree(value)?)?)
}

/// Any value from JavaScript, read to its end.
pub(crate) fn tree(value: JsValue) -> Result<Value, JsError> {
    Ok(serde_wasm_bindgen::from_value(value)?)
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
