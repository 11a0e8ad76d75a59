//! What happened in a run, as facts that predicates are asked of.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

pub use crate::registry::Fact;
use crate::registry::RegisteredProtocol;
use crate::{ScenarioError, World};
use servent_core::time::Instant;
use servent_core::trace::Record;

/// What a run comes to, by the name of each number. Times are microseconds.
pub type Totals = BTreeMap<String, f64>;

/// A run from its beginning to an instant.
#[derive(Debug, Clone)]
pub struct Course {
    /// What the nodes are called, by their numbers.
    pub names: Vec<String>,
    /// Everything that happened, in order.
    pub facts: Vec<Fact>,
    /// What it came to.
    pub totals: Totals,
}

impl Course {
    /// Runs a world from its beginning to an instant.
    ///
    /// # Errors
    /// When no world can be made of the scenario.
    pub fn run<P: RegisteredProtocol>(
        scenario: &P::Scenario,
        end: Instant,
    ) -> Result<Self, ScenarioError> {
        let mut world = World::<P>::try_new(scenario)?;
        let mut records = Vec::new();
        world.run_until(end, &mut records);
        let earlier = |i: u64| {
            let record = records.get(usize::try_from(i).ok()?)?;
            Some((record.node, record.cause))
        };
        let fact = |record: &Record<P::Event>| {
            let (kind, fields) = taken_apart(serde_json::to_value(&record.event).ok()?)?;
            let other = P::other(&world, &earlier, record).map(|node| node.0);
            Some(Fact { at: record.at, node: record.node.0, other, kind, fields })
        };
        let mut facts: Vec<Fact> = records.iter().filter_map(fact).collect();
        P::relate(&mut facts);
        Ok(Self { names: P::names(&world), facts, totals: numbers(&P::totals(&world, &records)) })
    }

    /// What a node is called.
    #[must_use]
    pub fn name(&self, node: u32) -> &str {
        self.names.get(node as usize).map_or("", String::as_str)
    }
}

/// An event as it is written: `{area: {what, …}}`.
fn taken_apart(event: Value) -> Option<(String, Map<String, Value>)> {
    let Value::Object(areas) = event else { return None };
    let (area, body) = areas.into_iter().next()?;
    let Value::Object(mut fields) = body else { return None };
    let what = fields.remove("what")?;
    Some(([area.as_str(), ".", what.as_str()?].concat(), fields))
}

/// The numbers among some totals; what is no number is left out.
fn numbers(totals: &Map<String, Value>) -> Totals {
    let number = |value: &Value| match value {
        Value::Bool(yes) => Some(f64::from(u8::from(*yes))),
        value => value.as_f64(),
    };
    totals.iter().filter_map(|(name, value)| Some((name.clone(), number(value)?))).collect()
}
