//! The preset scenarios.

use super::scenario::Scenario;

/// Every preset as JSON, in the order in which they teach best.
#[doc(hidden)]
pub const ALL: [&str; 10] = [
    include_str!("presets/lose-middle.json"),
    include_str!("presets/lose-last.json"),
    include_str!("presets/lose-first.json"),
    include_str!("presets/lose-ack.json"),
    include_str!("presets/five-percent.json"),
    include_str!("presets/burst.json"),
    include_str!("presets/close-in-flight.json"),
    include_str!("presets/receiver-restart.json"),
    include_str!("presets/fill-the-queue.json"),
    include_str!("presets/two-controllers.json"),
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
    use alloc::vec::Vec;

    use super::*;

    #[test]
    fn every_preset_can_be_read_and_says_what_it_is() {
        for json in ALL {
            let scenario = Scenario::parse(json).expect("a preset parses");
            assert!(!scenario.title.is_empty());
            assert!(scenario.text.matches(". ").count() == 1, "two sentences: {}", scenario.text);
            assert_eq!(find(&scenario.id).as_ref(), Some(&scenario));
            let names: Vec<_> = scenario.variants.iter().map(|v| v.name.as_str()).collect();
            let mixed = scenario.nodes.iter().any(|node| node.congestion.is_some());
            let told: &[&str] = match (mixed, scenario.shared) {
                // What differs is in one world.
                (true, _) => &[],
                (false, true) => &["bbr", "cubic"],
                (false, false) => &["unicast3", "adaptive"],
            };
            assert_eq!(names, told, "{}", scenario.id);
        }
    }
}
