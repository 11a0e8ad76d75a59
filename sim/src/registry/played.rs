//! A run from its beginning to its end, and what it came to.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;
use serde_json::{Map, Value};
use servent_core::time::Duration;

use super::protocol::{RegisteredProtocol, fields};
use crate::{Oracle as _, Violation, World};

/// How a run is judged at its end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunEnd {
    /// It may be in the middle of something.
    Open,
    /// It goes on until everything is done.
    Settled,
    /// All that may happen has happened; it did at any time.
    Explored,
    /// Drawn worlds have a last part without faults: by its end everything must
    /// be done.
    Drawn,
}

/// One run.
#[derive(Debug, Clone, Serialize)]
pub struct PlayedRun {
    /// The id of its scenario.
    pub scenario: String,
    /// Its seed.
    pub seed: u64,
    /// How long it was, in the world's time.
    pub seconds: u64,
    /// The number of calendar events.
    pub events: u64,
    /// The number of records.
    pub records: u64,
    /// The fingerprint of all records.
    pub digest: String,
    /// What it came to, by the name of each number.
    #[serde(flatten)]
    pub outcome: Map<String, Value>,
    /// The same as a sentence.
    #[serde(skip)]
    pub sentence: String,
    /// The rules it broke.
    pub violations: Vec<Violation>,
}

impl PlayedRun {
    /// The run of a world that has ended, without what it came to.
    #[must_use]
    pub fn new<P: RegisteredProtocol>(world: &World<P>, oracles: &P::Oracles) -> Self {
        let mut scenario = world.scenario().clone();
        let parts = P::parts(&mut scenario);
        let (seed, horizon) = (*parts.seed, *parts.horizon);
        Self {
            scenario: P::about(&scenario).id.into(),
            seed,
            seconds: horizon.as_secs(),
            events: world.events(),
            records: world.records(),
            digest: format!("{:016x}", world.digest()),
            outcome: Map::new(),
            sentence: String::new(),
            violations: oracles.violations().to_vec(),
        }
    }

    /// The same with another length than the scenario's.
    #[must_use]
    pub fn lasting(self, length: Duration) -> Self {
        Self { seconds: length.as_secs(), ..self }
    }

    /// The same with what it came to, as numbers and as a sentence.
    #[must_use]
    pub fn with(self, outcome: &impl Serialize, sentence: String) -> Self {
        let outcome = fields(outcome);
        Self { outcome, sentence, ..self }
    }
}

/// `1 download`, `2 downloads`.
#[must_use]
pub fn amount(n: u64, one: &str) -> String {
    format!("{n} {one}{}", if n == 1 { "" } else { "s" })
}
