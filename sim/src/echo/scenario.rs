//! Scenarios of an echo.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::At;
use crate::error::{self, ScenarioError};
use crate::links::datagram::DatagramLink;
use servent_core::time::Duration;
use servent_core::trace::NodeId;

/// A world to be simulated: one caller, which is node 0, and one that echoes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// A short name for links and commands.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What there is to see.
    pub text: String,
    /// Seed of all random numbers.
    #[serde(with = "crate::seed")]
    pub seed: u64,
    /// How long the scenario runs.
    pub horizon: Duration,
    /// How many questions the caller asks.
    pub questions: u32,
    /// The link, in both directions.
    pub link: DatagramLink,
    /// Faults, in order of time.
    pub faults: Vec<At<Act>>,
}

/// What is done to an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum Act {
    /// The `n`-th message of a node is lost.
    Drop { from: NodeId, n: u32 },
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            id: String::from("echo"),
            title: String::new(),
            text: String::new(),
            seed: 1,
            horizon: Duration::from_secs(10),
            questions: 3,
            link: DatagramLink::default(),
            faults: Vec::new(),
        }
    }
}

impl Scenario {
    /// The most questions.
    const QUESTIONS: u32 = 1_000;

    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        error::within("questions", self.questions, 0..=Self::QUESTIONS)?;
        self.link.check().map_err(|wrong| wrong.within("link"))?;
        self.faults.iter().try_for_each(|fault| Self::admits(&fault.act))
    }

    pub(super) fn admits(Act::Drop { from, .. }: &Act) -> Result<(), ScenarioError> {
        Ok(error::there("node", from.0, 2)?)
    }
}
