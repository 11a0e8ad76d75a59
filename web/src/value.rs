//! Converting values to and from JavaScript.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_wasm_bindgen::Serializer;
use servent_core::time::Instant;
use wasm_bindgen::{JsError, JsValue};

/// The largest integer up to which JavaScript represents all integers exactly.
const LARGEST: u64 = (1 << 53) - 1;

/// The result of a query.
pub(crate) type QueryResult = Result<JsValue, JsError>;

/// Converts a value for JavaScript: plain objects, lists, numbers, `null`. A
/// number beyond 2^53 is rounded to the nearest that JavaScript can represent.
pub(crate) fn give(value: &(impl Serialize + ?Sized)) -> QueryResult {
    let serializer = Serializer::json_compatible();
    // The serializer refuses large numbers; of our values only the keys of real
    // files are that large.
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

/// Converts a value from JavaScript. Unknown keys are refused, because the
/// caller meant something by them.
pub(crate) fn take<T: DeserializeOwned>(value: JsValue) -> Result<T, JsError> {
    // By way of a tree: if it were read directly, an object would only be asked
    // for its known fields.
    Ok(serde_json::from_value(tree(value)?)?)
}

/// Converts any value from JavaScript completely.
pub(crate) fn tree(value: JsValue) -> Result<Value, JsError> {
    Ok(serde_wasm_bindgen::from_value(value)?)
}

/// An error with this sentence.
pub(crate) fn refused(why: impl AsRef<str>) -> JsError {
    JsError::new(why.as_ref())
}

/// An instant in microseconds.
pub(crate) fn us(at: Instant) -> f64 {
    at.as_micros() as f64
}

/// The instant at `us` microseconds; 0 if that is not a valid time.
pub(crate) fn instant(us: f64) -> Instant {
    Instant::from_micros(us as u64)
}
