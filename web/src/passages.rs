//! Passages of the specifications, restated for this project, by requirement
//! id.

use serde::Serialize;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::value::{QueryResult, give};

/// The texts of `docs/spec`.
const TEXTS: [&str; 7] = [
    include_str!("../../docs/spec/queue.md"),
    include_str!("../../docs/spec/routing.md"),
    include_str!("../../docs/spec/unicast.md"),
    include_str!("../../docs/spec/swarm.md"),
    include_str!("../../docs/spec/site.md"),
    include_str!("../../docs/spec/browser.md"),
    include_str!("../../docs/spec/explore.md"),
];

/// A passage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Passage {
    /// The id of its requirement.
    id: &'static str,
    /// Its text.
    text: String,
}

/// The chapter that contains the requested passage.
#[derive(Debug, Serialize)]
struct Chapter {
    /// The title of the text.
    title: &'static str,
    /// The title of the chapter.
    name: &'static str,
    /// All its passages, in order.
    passages: Vec<Passage>,
}

/// The chapter that contains a requirement, with its context; `undefined` for
/// an unknown id.
///
/// # Errors
/// When a value cannot be represented in JavaScript.
#[wasm_bindgen(unchecked_return_type = "Chapter | undefined")]
pub fn chapter(id: &str) -> QueryResult {
    let found = TEXTS.iter().flat_map(|text| chapters(text)).find(|chapter| chapter.has(id));
    found.map_or(Ok(wasm_bindgen::JsValue::UNDEFINED), |chapter| give(&chapter))
}

impl Chapter {
    fn has(&self, id: &str) -> bool {
        self.passages.iter().any(|passage| passage.id == id)
    }
}

fn chapters(text: &'static str) -> impl Iterator<Item = Chapter> {
    let mut parts = text.split("\n## ");
    let title = parts.next().and_then(|head| head.lines().next()).unwrap_or_default();
    let title = title.trim_start_matches("# ");
    parts.map(move |part| {
        let mut passages = part.split("\n### ");
        let name = passages.next().unwrap_or_default().trim();
        let passage = |passage: &'static str| {
            let (id, text) = passage.split_once('\n').unwrap_or((passage, ""));
            Passage { id: id.trim(), text: text.split_whitespace().collect::<Vec<_>>().join(" ") }
        };
        Chapter { title, name, passages: passages.map(passage).collect() }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_requirement_has_one_passage_and_every_passage_says_something() {
        let listed = include_str!("../../docs/requirements.txt").lines();
        let id = |line: &'static str| line.split_whitespace().next().filter(|id| id.contains('-'));
        let mut wanted: Vec<&str> =
            listed.filter(|line| !line.starts_with('#')).filter_map(id).collect();
        let all = TEXTS.iter().flat_map(|text| chapters(text));
        let passages: Vec<Passage> = all.flat_map(|chapter| chapter.passages).collect();
        assert!(passages.iter().all(|passage| passage.text.len() > 30));
        let mut told: Vec<&str> = passages.iter().map(|passage| passage.id).collect();
        wanted.sort_unstable();
        told.sort_unstable();
        assert_eq!(told, wanted);
    }
}
