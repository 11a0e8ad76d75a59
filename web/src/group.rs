//! Lessons for a room, and what its recording says about them.

use servent_core::time::Instant;
use servent_sim::lesson::group::{arrivals, group_in, groups_in};
use wasm_bindgen::prelude::wasm_bindgen;

use crate::value::{QueryResult, give};

/// Lessons for rooms, and the worlds that are made of what a class did.
#[wasm_bindgen]
pub struct Groups;

#[wasm_bindgen]
impl Groups {
    /// Every lesson for a room, in a language; in English where it is not in that one.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "any[]")]
    pub fn all(language: &str) -> QueryResult {
        give(&groups_in(language))
    }

    /// One of them by its name; `null` when there is none.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "any")]
    pub fn find(id: &str, language: &str) -> QueryResult {
        give(&group_in(id, language))
    }

    /// Who came to the line of the room's servent since an instant, in microseconds
    /// since 1970, as a scenario with both rules; `null` when no client did.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "any")]
    pub fn arrivals(recording: &[u8], since: f64) -> QueryResult {
        give(&arrivals(recording, Instant::from_micros(since as u64)))
    }
}
