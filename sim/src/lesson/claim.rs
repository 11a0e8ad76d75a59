//! Claims: what is true of a run, or is not.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::{Map, Value};

use super::course::{Course, Fact};
use servent_core::time::Instant;

/// Something that can be true of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum RunClaim {
    /// So many events of a pattern happen.
    Count {
        /// Which.
        pattern: EventPattern,
        /// At least so many.
        least: u64,
        /// At most so many.
        most: u64,
    },
    /// A number that the run comes to lies between two others; one the run
    /// does not have lies nowhere.
    Total {
        /// Which, as `delivered`.
        name: String,
        /// At least so much.
        least: f64,
        /// At most so much.
        most: f64,
    },
    /// Something happens for the first time before something else does.
    Before {
        /// What comes first.
        first: EventPattern,
        /// What comes later, or never.
        then: EventPattern,
    },
    /// All of these.
    All(Vec<RunClaim>),
    /// One of these at least.
    Any(Vec<RunClaim>),
    /// Not this.
    Not(Box<RunClaim>),
}

/// Events alike.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EventPattern {
    /// The area and what, as `queue.lost`.
    pub event: String,
    /// Whose record it is, by name.
    pub node: Option<String>,
    /// The other node it is about, by name.
    pub about: Option<String>,
    /// Fields with these values; a node may be written by its name.
    pub with: Map<String, Value>,
    /// Not before this.
    pub from: Instant,
    /// Not after this.
    pub by: Option<Instant>,
}

impl RunClaim {
    /// Whether it is true of a run.
    #[must_use]
    pub fn holds(&self, course: &Course) -> bool {
        match self {
            Self::Count { pattern, least, most } => {
                let count = pattern.all(course).count() as u64;
                (*least..=*most).contains(&count)
            }
            Self::Total { name, least, most } => {
                course.totals.get(name).is_some_and(|total| (*least..=*most).contains(total))
            }
            Self::Before { first, then } => {
                let place = |pattern: &EventPattern| {
                    course.facts.iter().position(|f| pattern.fits(course, f))
                };
                let Some(one) = place(first) else { return false };
                place(then).is_none_or(|other| one < other)
            }
            Self::All(claims) => claims.iter().all(|claim| claim.holds(course)),
            Self::Any(claims) => claims.iter().any(|claim| claim.holds(course)),
            Self::Not(claim) => !claim.holds(course),
        }
    }
}

impl EventPattern {
    /// All events that fit, in order.
    pub fn all<'a>(&'a self, course: &'a Course) -> impl Iterator<Item = &'a Fact> {
        course.facts.iter().filter(|fact| self.fits(course, fact))
    }

    /// The first event that fits.
    #[must_use]
    pub fn first<'a>(&'a self, course: &'a Course) -> Option<&'a Fact> {
        self.all(course).next()
    }

    /// Whether an event is one of these.
    #[must_use]
    pub fn fits(&self, course: &Course, fact: &Fact) -> bool {
        let called = |wanted: &Option<String>, node: Option<u32>| {
            wanted.as_ref().is_none_or(|name| node.is_some_and(|node| course.name(node) == name))
        };
        let is = |(field, wanted): (&String, &Value)| {
            fact.fields.get(field).is_some_and(|value| same(course, value, wanted))
        };
        fact.kind == self.event
            && fact.at >= self.from
            && self.by.is_none_or(|by| fact.at <= by)
            && called(&self.node, Some(fact.node))
            && called(&self.about, fact.other)
            && self.with.iter().all(is)
    }
}

/// A field has the value that is wanted, or is the node of that name.
fn same(course: &Course, value: &Value, wanted: &Value) -> bool {
    let node = || {
        let number = u32::try_from(value.as_u64()?).ok()?;
        Some(course.name(number) == wanted.as_str()?)
    };
    value == wanted || node().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString as _;
    use alloc::vec;

    use super::*;

    fn fact(at: u64, node: u32, kind: &str, fields: Value) -> Fact {
        let Value::Object(fields) = fields else { panic!("fields are an object") };
        let (at, kind) = (Instant::from_secs(at), kind.to_string());
        Fact { at, node, other: Some(0), kind, fields }
    }

    fn course() -> Course {
        let facts = vec![
            fact(1, 1, "a.b", serde_json::json!({"to": 0, "why": "late"})),
            fact(3, 0, "a.c", serde_json::json!({})),
            fact(5, 1, "a.b", serde_json::json!({"to": 1})),
        ];
        let totals = [("sum".to_string(), 4.0)].into();
        Course { names: vec!["A".to_string(), "B".to_string()], facts, totals }
    }

    fn pattern_named(event: &str) -> EventPattern {
        EventPattern { event: event.to_string(), ..EventPattern::default() }
    }

    fn with(field: &str, value: Value) -> EventPattern {
        EventPattern {
            with: [(field.to_string(), value)].into_iter().collect(),
            ..pattern_named("a.b")
        }
    }

    #[test]
    fn a_pattern_fits_by_what_who_when_and_with_what() {
        let course = course();
        let count = |pattern: &EventPattern| pattern.all(&course).count();
        assert_eq!(count(&pattern_named("a.b")), 2);
        assert_eq!(count(&EventPattern { node: Some("A".to_string()), ..pattern_named("a.b") }), 0);
        assert_eq!(
            count(&EventPattern { about: Some("A".to_string()), ..pattern_named("a.b") }),
            2
        );
        assert_eq!(
            count(&EventPattern { by: Some(Instant::from_secs(4)), ..pattern_named("a.b") }),
            1
        );
        assert_eq!(count(&EventPattern { from: Instant::from_secs(5), ..pattern_named("a.b") }), 1);
        assert_eq!(count(&with("why", "late".into())), 1);
        assert_eq!(count(&with("to", "B".into())), 1, "a node by its name");
        assert_eq!(count(&with("to", 0.into())), 1, "and by its number");
        assert_eq!(count(&with("nothing", 0.into())), 0);
    }

    #[test]
    fn a_claim_is_true_or_not() {
        let course = course();
        let twice = RunClaim::Count { pattern: pattern_named("a.b"), least: 2, most: 2 };
        let never = RunClaim::Count { pattern: pattern_named("a.b"), least: 0, most: 0 };
        let before = |a, b| RunClaim::Before { first: pattern_named(a), then: pattern_named(b) };
        let sum = |least, most| RunClaim::Total { name: "sum".to_string(), least, most };
        assert!(twice.holds(&course) && !never.holds(&course));
        assert!(before("a.b", "a.c").holds(&course) && !before("a.c", "a.b").holds(&course));
        assert!(before("a.b", "x.y").holds(&course) && !before("x.y", "a.b").holds(&course));
        assert!(sum(4.0, 4.0).holds(&course) && !sum(5.0, 9.0).holds(&course));
        assert!(!RunClaim::All(vec![twice.clone(), never.clone()]).holds(&course));
        assert!(RunClaim::Any(vec![twice.clone(), never.clone()]).holds(&course));
        assert!(!RunClaim::Not(Box::new(twice)).holds(&course));
        let unknown = RunClaim::Total { name: "other".to_string(), least: 0.0, most: 9.0 };
        assert!(!unknown.holds(&course), "of what is not there nothing is true");
    }
}
