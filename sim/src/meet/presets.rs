//! The preset scenarios.

use super::scenario::Scenario;
use crate::error;

/// Every preset as JSON, in the order in which they teach best.
const ALL: [&str; 9] = [
    include_str!("presets/two-doors.json"),
    include_str!("presets/knock-early.json"),
    include_str!("presets/relay-first.json"),
    include_str!("presets/one-symmetric.json"),
    include_str!("presets/two-symmetric.json"),
    include_str!("presets/two-symmetric-relay.json"),
    include_str!("presets/udp-blocked.json"),
    include_str!("presets/mapping-expires.json"),
    include_str!("presets/one-home.json"),
];

/// The presets, ready to run.
pub fn all() -> impl Iterator<Item = Scenario> {
    ALL.iter().filter_map(|json| error::read(json).ok())
}

/// A preset by its id.
#[must_use]
pub fn find(id: &str) -> Option<Scenario> {
    all().find(|scenario| scenario.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_preset_can_be_read_and_says_what_it_is() {
        for json in ALL {
            let scenario: Scenario = error::read(json).expect("a preset parses");
            scenario.check().expect("a preset is possible");
            assert!(!scenario.title.is_empty());
            assert!(scenario.text.matches(". ").count() == 1, "two sentences: {}", scenario.text);
            assert_eq!(find(&scenario.id).as_ref(), Some(&scenario));
        }
    }
}
