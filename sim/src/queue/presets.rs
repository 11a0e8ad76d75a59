//! The scenarios that come with the simulator.

use super::scenario::Scenario;

/// Every preset as JSON, in the order in which they teach best.
#[doc(hidden)]
pub const ALL: [&str; 8] = [
    include_str!("presets/one-cut-wire.json"),
    include_str!("presets/rush-hour.json"),
    include_str!("presets/impatient.json"),
    include_str!("presets/cut-the-wire.json"),
    include_str!("presets/aq-vs-parq.json"),
    include_str!("presets/newcomer.json"),
    include_str!("presets/server-restart.json"),
    include_str!("presets/leader-dies.json"),
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
            for variant in &scenario.variants {
                assert!(scenario.variant(&variant.name).is_some());
            }
        }
    }
}
