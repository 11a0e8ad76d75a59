//! A run that breaks a rule, made smaller: the scenario that a user looks at has
//! the fewest nodes, actions and faults that still break the same rule (EX-5).

use std::path::PathBuf;
use std::time::Duration;

use servent::Clock;
use servent_sim::Violation;
use servent_sim::registry::{RunEnd, TaggedScenario};
use servent_sim::shrink::shrink;

/// A person at the terminal waits no longer for a smaller world.
const LONGEST: Duration = Duration::from_secs(30);
/// More runs make hardly anything smaller.
const RUNS: u32 = 4_000;

/// Shrinks a scenario that broke a rule, and writes the small one to a file.
pub(super) fn keep(scenario: &TaggedScenario, broken: &Violation, end: RunEnd) -> Option<PathBuf> {
    let clock = Clock::new();
    let begun = clock.now();
    let mut goes_on = |runs| {
        runs < RUNS && u128::from(clock.now().since(begun).as_micros()) < LONGEST.as_micros()
    };
    let small = shrink(scenario, broken.key, end, &mut goes_on)?.scenario;
    let file = PathBuf::from(format!("{}-small.json", scenario.about().id));
    let text = serde_json::to_string_pretty(&small).ok()?;
    std::fs::write(&file, text).ok()?;
    Some(file)
}
