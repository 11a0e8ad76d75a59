//! The differences between two states of a node.

use serde::Serialize;
use serde_json::Value;

/// A value that changed.
#[derive(Serialize)]
pub(crate) struct ValueChange {
    /// The path to it: names and indices, joined by dots.
    path: String,
    before: Value,
    after: Value,
}

/// The differences between two values, `null` where one of them has no such
/// entry.
pub(crate) fn changes(before: Value, after: Value) -> Vec<ValueChange> {
    let mut changes = Vec::new();
    compare(String::new(), before, after, &mut changes);
    changes
}

fn compare(path: String, before: Value, after: Value, changes: &mut Vec<ValueChange>) {
    if before == after {
        return;
    }
    let join =
        |key: &str| if path.is_empty() { key.to_owned() } else { [&path, ".", key].concat() };
    match (before, after) {
        (Value::Array(before), Value::Array(after)) => {
            compare(path, numbered(before), numbered(after), changes);
        }
        (Value::Object(mut before), Value::Object(after)) => {
            for (key, after) in after {
                let old = before.remove(&key).unwrap_or_default();
                compare(join(&key), old, after, changes);
            }
            for (key, old) in before {
                compare(join(&key), old, Value::Null, changes);
            }
        }
        (before, after) => changes.push(ValueChange { path, before, after }),
    }
}

/// A list as an object, its items by index.
fn numbered(list: Vec<Value>) -> Value {
    let items = list.into_iter().enumerate().map(|(i, item)| (i.to_string(), item));
    Value::Object(items.collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_change_names_its_path() {
        let before = json!({"a": 1, "b": [1, {"c": 2}], "d": 0});
        let after = json!({"a": 1, "b": [1, {"c": 3}, 4], "e": 0});
        let paths: Vec<String> = changes(before, after).into_iter().map(|c| c.path).collect();
        assert_eq!(paths, ["b.1.c", "b.2", "e", "d"]);
    }
}
