//! Shrinking: from a scenario that breaks a rule to a small one that breaks the
//! same rule (EX-5).
//!
//! A scenario is data, and so it is shrunk, whatever its protocol: settings go back
//! to their defaults, faults, actions, clients and nodes are left out, and counts
//! become smaller. Every candidate is run, and kept only when the same rule breaks.

use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use crate::registry::{RunEnd, TaggedScenario};

/// What is never left out: it says which scenario this is, and how long it is.
const NAMES: [&str; 5] = ["id", "title", "text", "seed", "horizon"];
/// Numbers that say how much there is of something.
const COUNTS: [&str; 8] =
    ["count", "nodes", "size", "pieces", "questions", "degree", "ttl", "slots"];

/// A scenario that was shrunk.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShrunkScenario {
    /// The scenario.
    pub scenario: TaggedScenario,
    /// The runs it took.
    pub runs: u32,
}

/// A step on the way to a value in a scenario.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Step {
    Key(String),
    Index(usize),
}

/// A search for a smaller scenario.
struct Search<'a> {
    best: TaggedScenario,
    key: &'a str,
    end: RunEnd,
    runs: u32,
    goes_on: &'a mut dyn FnMut(u32) -> bool,
    given_up: bool,
}

/// Shrinks a scenario that breaks the rule with this key, for as long as the host
/// `goes_on`; it is asked with the number of runs so far. `None` when the scenario
/// does not break the rule.
pub fn shrink(
    scenario: &TaggedScenario,
    key: &str,
    end: RunEnd,
    goes_on: &mut dyn FnMut(u32) -> bool,
) -> Option<ShrunkScenario> {
    let best = scenario.clone();
    let mut search = Search { best, key, end, runs: 0, goes_on, given_up: false };
    if !search.breaks(scenario) {
        return None;
    }
    while !search.given_up {
        let before = search.best.clone();
        search.settings();
        search.lists();
        search.counts();
        if search.best == before {
            break;
        }
    }
    Some(ShrunkScenario { scenario: search.best, runs: search.runs })
}

impl Search<'_> {
    /// Runs a scenario; true when the rule breaks.
    fn breaks(&mut self, scenario: &TaggedScenario) -> bool {
        self.given_up |= !(self.goes_on)(self.runs);
        if self.given_up {
            return false;
        }
        self.runs += 1;
        let seed = scenario.seed();
        let run = seed.and_then(|seed| scenario.play(seed, self.end));
        run.is_ok_and(|run| run.violations.iter().any(|broken| broken.key == self.key))
    }

    /// Keeps a candidate that is another scenario and breaks the rule.
    fn try_with(&mut self, change: impl FnOnce(&mut Map<String, Value>)) -> bool {
        let mut candidate = self.best.clone();
        change(&mut candidate.scenario);
        // With every field again, so that nothing is tried twice.
        let Some(candidate) = candidate.whole() else { return false };
        let better = candidate != self.best && self.breaks(&candidate);
        if better {
            self.best = candidate;
        }
        better
    }

    /// Settings, back to their defaults.
    fn settings(&mut self) {
        // The default of a list, or of a length, may be more than what there is.
        let kept = |key: &str, value: &Value| NAMES.contains(&key) || value.is_array();
        let fields = self.best.scenario.iter().filter(|(key, value)| !kept(key, value));
        let keys: Vec<String> = fields.map(|(key, _)| key.clone()).collect();
        for key in &keys {
            self.try_with(|fields| drop(fields.remove(key)));
        }
    }

    /// Entries of lists, many at once, then one by one.
    fn lists(&mut self) {
        for way in ways(&self.best.scenario, &|value| is_list(value)) {
            let length = |search: &Self| {
                let list = at(&search.best.scenario, &way).and_then(Value::as_array);
                list.map_or(0, Vec::len)
            };
            let mut size = length(self);
            while size > 0 {
                let mut from = length(self).saturating_sub(size);
                loop {
                    let left_out = from..(from + size).min(length(self));
                    self.try_with(|fields| {
                        if let Some(Value::Array(list)) = at_mut(fields, &way) {
                            list.drain(left_out);
                        }
                    });
                    match from.checked_sub(size) {
                        Some(earlier) => from = earlier.min(length(self).saturating_sub(size)),
                        None => break,
                    }
                }
                size /= 2;
            }
        }
    }

    /// Counts, as small as they can be.
    fn counts(&mut self) {
        for way in ways(&self.best.scenario, &Value::is_u64) {
            let Some(Step::Key(name)) = way.last() else { continue };
            if !COUNTS.contains(&name.as_str()) {
                continue;
            }
            let Some(n) = at(&self.best.scenario, &way).and_then(Value::as_u64) else { continue };
            let mut step = n;
            while step > 0 {
                let now = at(&self.best.scenario, &way).and_then(Value::as_u64).unwrap_or(0);
                let Some(less) = now.checked_sub(step) else {
                    step /= 2;
                    continue;
                };
                let smaller = self.try_with(|fields| {
                    if let Some(value) = at_mut(fields, &way) {
                        *value = less.into();
                    }
                });
                step = if smaller { step.min(less) } else { step / 2 };
            }
        }
    }
}

/// A list of things, and not a ratio.
fn is_list(value: &Value) -> bool {
    value.as_array().is_some_and(|list| list.first().is_some_and(|item| !item.is_number()))
}

/// The ways to all values that are wanted, outer ones first.
fn ways(fields: &Map<String, Value>, wanted: &dyn Fn(&Value) -> bool) -> Vec<Vec<Step>> {
    let mut all = Vec::new();
    let mut open: Vec<(Vec<Step>, &Value)> =
        fields.iter().map(|(key, value)| (alloc::vec![Step::Key(key.clone())], value)).collect();
    while let Some((way, value)) = open.pop() {
        if wanted(value) {
            all.push(way.clone());
        }
        let below = |step| [way.as_slice(), &[step]].concat();
        match value {
            Value::Object(fields) => open
                .extend(fields.iter().map(|(key, value)| (below(Step::Key(key.clone())), value))),
            Value::Array(list) => open
                .extend(list.iter().enumerate().map(|(i, value)| (below(Step::Index(i)), value))),
            _ => {}
        }
    }
    all.sort_by_key(Vec::len);
    all
}

fn at<'a>(fields: &'a Map<String, Value>, way: &[Step]) -> Option<&'a Value> {
    let Some((Step::Key(first), rest)) = way.split_first() else { return None };
    rest.iter().try_fold(fields.get(first)?, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(i) => value.get(i),
    })
}

fn at_mut<'a>(fields: &'a mut Map<String, Value>, way: &[Step]) -> Option<&'a mut Value> {
    let Some((Step::Key(first), rest)) = way.split_first() else { return None };
    rest.iter().try_fold(fields.get_mut(first)?, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(i) => value.get_mut(*i),
    })
}
