//! Something that is done to a world, at an instant.

use alloc::string::String;

use serde::Serialize;

use servent_core::json::{self, Fill, FromJson, Json, Tagged, Wrong};
use servent_core::time::Instant;

/// Something that is done at an instant. In JSON `{"at": µs, "kill": {…}}`.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct At<A> {
    /// When.
    pub at: Instant,
    /// What.
    #[serde(flatten)]
    pub act: A,
}

impl<A: Tagged> Fill for At<A> {
    fn fill(&mut self, from: &Json) -> Result<(), Wrong> {
        (self.at, self.act) = at_and_what(from, "one thing to do, and `at`")?;
        Ok(())
    }
}

/// What stands beside `at` in an object, and that; without it the beginning.
/// `wanted` says what there should be.
pub(crate) fn at_and_what<A: Tagged>(from: &Json, wanted: &str) -> Result<(Instant, A), Wrong> {
    let Json::Object(entries) = from else { return Err(json::expected("an object")) };
    let mut others = entries.iter().filter(|(name, _)| name != "at");
    let (Some((name, content)), None) = (others.next(), others.next()) else {
        return Err(json::expected(wanted));
    };
    let what = A::from_variant(name, content).map_err(|wrong| wrong.within(name))?;
    let mut at = Instant::ZERO;
    if let Some(told) = from.get("at") {
        at.fill(told).map_err(|wrong| wrong.within("at"))?;
    }
    Ok((at, what))
}

impl<A: Tagged + FromJson> FromJson for At<A> {
    fn blank() -> Self {
        Self { at: Instant::ZERO, act: A::blank() }
    }
}

impl<A: Tagged + FromJson> At<A> {
    /// Reads one.
    ///
    /// # Errors
    /// A sentence that says what makes no sense.
    pub fn parse(text: &str) -> Result<Self, String> {
        Ok(json::read(&Json::parse(text)?)?)
    }
}
