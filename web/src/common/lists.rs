//! Lists as JSON text.

use serde::Serialize;

use super::json;

/// Texts of JSON as a list.
pub(crate) fn list(items: impl Iterator<Item = String>) -> String {
    let items: Vec<String> = items.collect();
    format!("[{}]", items.join(","))
}

/// A scenario in a list: id, title and text, and all of it.
pub(crate) fn preset([id, title, text]: [&String; 3], scenario: &impl Serialize) -> String {
    let (id, title, text) = (json(id), json(title), json(text));
    format!(r#"{{"id":{id},"title":{title},"text":{text},"scenario":{}}}"#, json(scenario))
}
