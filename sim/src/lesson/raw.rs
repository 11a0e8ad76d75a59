//! A lesson as it is written, before anything is known to make sense.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;
use serde_json::{Map, Value};
use toml::Spanned;

use super::{Help, StepKind};
use crate::registry::ProtocolId;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawLesson {
    pub(super) id: Spanned<String>,
    pub(super) view: ProtocolId,
    pub(super) title: Spanned<String>,
    pub(super) text: String,
    pub(super) concept: Spanned<String>,
    #[serde(default = "minutes")]
    pub(super) minutes: u32,
    pub(super) help: Help,
    #[serde(default)]
    pub(super) exit_test: bool,
    pub(super) world: Spanned<RawWorld>,
    pub(super) step: Vec<Spanned<RawStep>>,
}

const fn minutes() -> u32 {
    6
}

/// A preset or a scenario, and what is changed of it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawWorld {
    pub(super) preset: Option<Spanned<String>>,
    pub(super) scenario: Option<Value>,
    pub(super) seconds: Option<Spanned<f64>>,
    pub(super) seed: Option<u64>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawStep {
    pub(super) r#do: Spanned<StepKind>,
    pub(super) text: Spanned<String>,
    pub(super) id: Option<Spanned<String>>,
    pub(super) at: Option<Spanned<f64>>,
    pub(super) until: Option<Spanned<f64>>,
    pub(super) seen: Option<Spanned<RawClaim>>,
    pub(super) clause: Option<String>,
    pub(super) seed: Option<u64>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, Value>,
    pub(super) choices: Option<Spanned<Vec<Spanned<RawChoice>>>>,
    pub(super) number: Option<Spanned<RawNumber>>,
    pub(super) point: Option<Spanned<Point>>,
    pub(super) order: Option<Spanned<Vec<Spanned<RawItem>>>>,
    pub(super) same_as: Option<Spanned<String>>,
    pub(super) right: Option<String>,
    pub(super) otherwise: Option<String>,
    #[serde(default)]
    pub(super) varies: bool,
    pub(super) goal: Option<Spanned<RawGoal>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawChoice {
    pub(super) text: String,
    pub(super) holds: Spanned<RawClaim>,
    pub(super) wrong: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawNumber {
    pub(super) count: Option<Spanned<RawPattern>>,
    pub(super) time: Option<Spanned<RawPattern>>,
    pub(super) total: Option<String>,
    #[serde(default)]
    pub(super) slack: f64,
    #[serde(default)]
    pub(super) unit: String,
    #[serde(default)]
    pub(super) wrong: Vec<RawTempting<f64>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Point {
    pub(super) at: Spanned<RawPattern>,
    #[serde(default)]
    pub(super) other: bool,
    #[serde(default)]
    pub(super) wrong: Vec<RawTempting<Spanned<String>>>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTempting<A> {
    pub(super) answer: A,
    pub(super) why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawItem {
    pub(super) text: String,
    pub(super) first: Spanned<RawPattern>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawGoal {
    pub(super) holds: Spanned<RawClaim>,
    #[serde(default)]
    pub(super) unmet: Vec<String>,
    #[serde(default = "one")]
    pub(super) budget: u32,
    #[serde(default)]
    pub(super) settings: Vec<Spanned<RawSetting>>,
    pub(super) solution: Spanned<RawTweak>,
    #[serde(default)]
    pub(super) wrong: Vec<RawAttempt>,
}

const fn one() -> u32 {
    1
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawSetting {
    pub(super) key: Spanned<String>,
    pub(super) text: String,
    pub(super) values: Vec<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawTweak {
    #[serde(default)]
    pub(super) acts: Vec<Value>,
    #[serde(default)]
    pub(super) set: BTreeMap<String, Value>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawAttempt {
    pub(super) answer: Spanned<RawTweak>,
    pub(super) why: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RawPattern {
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
pub(super) struct RawClaim {
    pub(super) happens: Option<RawPattern>,
    pub(super) never: Option<RawPattern>,
    pub(super) total: Option<String>,
    pub(super) at_least: Option<f64>,
    pub(super) at_most: Option<f64>,
    pub(super) first: Option<RawPattern>,
    pub(super) then: Option<RawPattern>,
    pub(super) all: Option<Vec<Spanned<RawClaim>>>,
    pub(super) any: Option<Vec<Spanned<RawClaim>>>,
}
