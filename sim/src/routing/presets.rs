//! The preset scenarios of the overlay.

use super::scenario::Scenario;

/// Every preset as JSON, in the order in which they teach best.
#[doc(hidden)]
pub const ALL: [&str; 11] = [
    include_str!("presets/round-and-back.json"),
    include_str!("presets/ring.json"),
    include_str!("presets/cycles.json"),
    include_str!("presets/way-back.json"),
    include_str!("presets/route-expired.json"),
    include_str!("presets/late-push.json"),
    include_str!("presets/flooder.json"),
    include_str!("presets/cut-return.json"),
    include_str!("presets/twins.json"),
    include_str!("presets/ten-thousand.json"),
    include_str!("presets/step-by-step.json"),
];

/// The presets, ready to run.
pub fn all() -> impl Iterator<Item = Scenario> {
    ALL.iter().filter_map(|json| Scenario::parse(json).ok())
}

/// A preset by its id.
#[must_use]
pub fn find(id: &str) -> Option<Scenario> {
    all().find(|s| s.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_read_and_says_what_it_is() {
        for json in ALL {
            let scenario = Scenario::parse(json).expect("a preset parses");
            assert!(!scenario.title.is_empty());
            assert!(scenario.text.matches(". ").count() == 1, "two sentences: {}", scenario.text);
            assert_eq!(find(&scenario.id).as_ref(), Some(&scenario));
        }
    }
}
