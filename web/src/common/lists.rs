//! Lists as JSON text.

/// Texts of JSON as a list.
pub(crate) fn list(mut items: impl Iterator<Item = String>) -> String {
    joined(&mut || items.next())
}

// Every iterator is of another type; this is one for all.
fn joined(next: &mut dyn FnMut() -> Option<String>) -> String {
    let mut out = String::from("[");
    while let Some(item) = next() {
        if out.len() > 1 {
            out.push(',');
        }
        out += &item;
    }
    out.push(']');
    out
}

/// A scenario in a list: id, title and text, and all of it.
// What only worlds need that are run, not replayed.
pub(crate) fn preset([id, title, text]: [&String; 3], scenario: &impl serde::Serialize) -> String {
    use super::json;
    let (id, title, text) = (json(id), json(title), json(text));
    format!(r#"{{"id":{id},"title":{title},"text":{text},"scenario":{}}}"#, json(scenario))
}
