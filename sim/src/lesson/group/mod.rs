//! Lessons for a room: a class predicts what its own network will do, does it,
//! and hears from its own recording what happened.
//!
//! What is right is not known when the lesson is written, because every class is
//! another network: each sentence to choose has bounds on [`Facts`], and the facts
//! are those of the recording.

mod arrivals;
mod facts;
mod words;

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use servent_core::queue::QueuePolicy;

pub use self::arrivals::arrivals;
pub use self::facts::{Facts, NAMES};
pub use self::words::{group_in, groups_in};

/// The lessons for rooms that come with the program.
const ALL: [&str; 3] = [
    include_str!("../../../lessons/room/find-the-song.toml"),
    include_str!("../../../lessons/room/the-line.toml"),
    include_str!("../../../lessons/room/hand-on-the-film.toml"),
];

/// A lesson for a room.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupLesson {
    /// A short name.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// What it is about, in a sentence that gives nothing away.
    pub text: String,
    /// What the host of the room prepares.
    pub needs: String,
    /// What one knows at its end, by its name.
    pub concept: String,
    /// About how long it takes.
    pub minutes: u32,
    /// Its steps.
    #[serde(rename(deserialize = "step"))]
    pub steps: Vec<GroupStep>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupStep {
    /// What it is for.
    #[serde(rename = "do")]
    pub kind: GroupKind,
    /// What is said.
    pub text: String,
    /// The requirement behind it, as `RT-8`.
    #[serde(default)]
    pub clause: Option<String>,
    /// How the room is set up when this step begins.
    #[serde(default)]
    pub room: Deeds,
    /// Sentences to choose from.
    #[serde(default)]
    pub choices: Vec<GroupChoice>,
}

/// What a step is for, in the order in which a class comes through them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupKind {
    /// The scene.
    Say,
    /// What will happen? Every student commits, alone.
    Predict,
    /// With each other.
    Discuss,
    /// The same question, once more.
    Again,
    /// The class does it.
    Reveal,
    /// What did you see?
    Observe,
    /// What the recording says, and why it is so.
    Explain,
    /// The recording is looked at.
    Debrief,
}

/// How a room is set up; what is not said stays.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Deeds {
    /// Uploads at once, of the servent of the room; none when it is unplugged.
    pub slots: Option<u32>,
    /// Neighbours that pages look for.
    pub degree: Option<u32>,
    /// How far a search goes.
    pub ttl: Option<u8>,
    /// By which rule those who wait are told when to ask again.
    pub policy: Option<QueuePolicy>,
    /// The most bytes a second of all uploads of the room's servent together, until the
    /// lesson ends.
    pub rate: Option<u32>,
}

impl Deeds {
    /// What no room can do, in a sentence: a lesson may come from a stranger.
    fn excess(&self) -> Option<&'static str> {
        let within = |value: Option<u32>, least: u32, most: u32| {
            value.is_none_or(|value| (least..=most).contains(&value))
        };
        let all = [
            (within(self.slots, 0, 16), "a room has at most 16 `slots`"),
            (within(self.degree, 1, 8), "a page looks for 1 to 8 neighbours, its `degree`"),
            (within(self.ttl.map(u32::from), 1, 7), "a search goes 1 to 7 steps, its `ttl`"),
            (
                within(self.rate, 10_000, 100_000_000),
                "a `rate` is 10 000 to 100 000 000 bytes a second",
            ),
        ];
        all.into_iter().find_map(|(fits, why)| (!fits).then_some(why))
    }
}

/// A sentence to choose.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GroupChoice {
    /// The sentence.
    pub text: String,
    /// Said when it is what happened.
    pub why: String,
    /// It is what happened when all of these hold.
    #[serde(skip_serializing)]
    pub holds: Vec<Bound>,
}

/// A bound of a fact.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bound {
    /// Its name, one of [`NAMES`].
    pub fact: String,
    /// It is this or more.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// It is this or less.
    #[serde(default)]
    pub at_most: Option<f64>,
}

impl Bound {
    fn holds(&self, facts: &Facts) -> bool {
        let Some(value) = facts.get(&self.fact) else { return false };
        self.at_least.is_none_or(|least| value >= least)
            && self.at_most.is_none_or(|most| value <= most)
    }
}

/// Why a lesson for a room makes no sense, in a sentence.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct GroupError(String);

impl GroupLesson {
    /// Reads a lesson.
    ///
    /// # Errors
    /// A sentence says what makes no sense in it.
    pub fn parse(text: &str) -> Result<Self, GroupError> {
        let mut lesson: Self = toml::from_str(text).map_err(|why| GroupError(why.to_string()))?;
        let mut asked: Vec<GroupChoice> = Vec::new();
        for (n, step) in (1..).zip(&mut lesson.steps) {
            let no = |why: &str| Err(GroupError(alloc::format!("step {n}: {why}")));
            if let Some(why) = step.room.excess() {
                return no(why);
            }
            match step.kind {
                GroupKind::Predict | GroupKind::Observe => {
                    if !(2..=4).contains(&step.choices.len()) {
                        return no("it asks, so it needs two to four `choices`");
                    }
                    let bounds = step.choices.iter().flat_map(|choice| &choice.holds);
                    if bounds.clone().any(|bound| !NAMES.contains(&bound.fact.as_str())) {
                        return no("a recording tells no such fact");
                    }
                    if step.choices.iter().any(|choice| choice.holds.is_empty()) {
                        return no("every choice says in `holds` when it is what happened");
                    }
                    if step.kind == GroupKind::Predict {
                        asked.clone_from(&step.choices);
                    }
                }
                GroupKind::Again if asked.is_empty() => {
                    return no("nothing was asked before that could be asked again");
                }
                GroupKind::Again => step.choices.clone_from(&asked),
                _ if !step.choices.is_empty() => return no("nothing is asked in this step"),
                _ => {}
            }
        }
        Ok(lesson)
    }

    /// Which sentence of a step is what happened; `None` where nothing is asked, or
    /// where the facts are of no recording in which it happened.
    #[must_use]
    pub fn truth(&self, step: usize, facts: &Facts) -> Option<usize> {
        let choices = &self.steps.get(step)?.choices;
        choices.iter().position(|choice| choice.holds.iter().all(|bound| bound.holds(facts)))
    }
}

#[cfg(test)]
mod tests;
