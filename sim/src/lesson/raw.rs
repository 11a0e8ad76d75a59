//! A lesson as it is written, before anything is known to make sense.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use super::{Help, Kind, Topic};

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lesson {
    pub(super) id: Spanned<String>,
    pub(super) view: Topic,
    pub(super) title: Spanned<String>,
    pub(super) text: String,
    pub(super) concept: Spanned<String>,
    #[serde(default = "minutes")]
    pub(super) minutes: u32,
    pub(super) help: Help,
    pub(super) world: Spanned<World>,
    pub(super) step: Vec<Spanned<Step>>,
}

const fn minutes() -> u32 {
    6
}

/// A preset or a scenario, and what is changed of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct World {
    pub(super) preset: Option<Spanned<String>>,
    pub(super) scenario: Option<Value>,
    pub(super) seconds: Option<Spanned<f64>>,
    pub(super) seed: Option<u64>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Step {
    pub(super) r#do: Spanned<Kind>,
    pub(super) text: Spanned<String>,
    pub(super) id: Option<Spanned<String>>,
    pub(super) at: Option<Spanned<f64>>,
    pub(super) until: Option<Spanned<f64>>,
    pub(super) clause: Option<String>,
    pub(super) seed: Option<u64>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, Value>,
    pub(super) choices: Option<Spanned<Vec<Spanned<Choice>>>>,
    pub(super) number: Option<Spanned<Number>>,
    pub(super) point: Option<Spanned<Point>>,
    pub(super) order: Option<Spanned<Vec<Spanned<Item>>>>,
    pub(super) same_as: Option<Spanned<String>>,
    pub(super) right: Option<String>,
    pub(super) otherwise: Option<String>,
    #[serde(default)]
    pub(super) varies: bool,
    pub(super) goal: Option<Spanned<Goal>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Choice {
    pub(super) text: String,
    pub(super) holds: Spanned<Claim>,
    pub(super) wrong: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Number {
    pub(super) count: Option<Spanned<Pattern>>,
    pub(super) time: Option<Spanned<Pattern>>,
    pub(super) total: Option<String>,
    #[serde(default)]
    pub(super) slack: f64,
    #[serde(default)]
    pub(super) unit: String,
    #[serde(default)]
    pub(super) wrong: Vec<Tempting<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Point {
    pub(super) at: Spanned<Pattern>,
    #[serde(default)]
    pub(super) other: bool,
    #[serde(default)]
    pub(super) wrong: Vec<Tempting<Spanned<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tempting<A> {
    pub(super) answer: A,
    pub(super) why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    pub(super) text: String,
    pub(super) first: Spanned<Pattern>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Goal {
    pub(super) holds: Spanned<Claim>,
    #[serde(default)]
    pub(super) unmet: Vec<String>,
    #[serde(default = "one")]
    pub(super) budget: u32,
    #[serde(default)]
    pub(super) settings: Vec<Spanned<Setting>>,
    pub(super) solution: Spanned<Tweak>,
    #[serde(default)]
    pub(super) wrong: Vec<Attempt>,
}

const fn one() -> u32 {
    1
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Setting {
    pub(super) key: Spanned<String>,
    pub(super) text: String,
    pub(super) values: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Tweak {
    #[serde(default)]
    pub(super) acts: Vec<Value>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Attempt {
    pub(super) answer: Spanned<Tweak>,
    pub(super) why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Pattern {
    pub(super) event: Spanned<String>,
    pub(super) node: Option<Spanned<String>>,
    pub(super) about: Option<Spanned<String>>,
    #[serde(default)]
    pub(super) with: Map<String, Value>,
    pub(super) from: Option<Spanned<f64>>,
    pub(super) by: Option<Spanned<f64>>,
}

/// Every kind of claim has keys of its own.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Claim {
    pub(super) happens: Option<Pattern>,
    pub(super) never: Option<Pattern>,
    pub(super) total: Option<String>,
    pub(super) at_least: Option<f64>,
    pub(super) at_most: Option<f64>,
    pub(super) first: Option<Pattern>,
    pub(super) then: Option<Pattern>,
    pub(super) all: Option<Vec<Spanned<Claim>>>,
    pub(super) any: Option<Vec<Spanned<Claim>>>,
}
