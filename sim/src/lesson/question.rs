//! Questions, what people answer, and what the core says to it.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::claim::{EventPattern, RunClaim};
use super::course::{Course, Fact};

/// A question that a run answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Question {
    /// What is asked for.
    pub of: QuestionKind,
    /// Shown to students who are right.
    pub right: String,
    /// Shown to students who are wrong, where nothing else is.
    pub otherwise: String,
    /// The answer is another one with another seed.
    pub varies: bool,
}

/// What a question asks for.
#[derive(Debug, Clone, PartialEq)]
pub enum QuestionKind {
    /// One of several sentences: the one that is true.
    Choice(Vec<AnswerChoice>),
    /// A number.
    Number {
        /// Which.
        measure: Measure,
        /// So much more or less is right too.
        slack: f64,
        /// What is counted.
        unit: String,
        /// Answers that tempt.
        wrong: Vec<TemptingAnswer<f64>>,
    },
    /// A node: of the first event that fits.
    Point {
        /// Which event.
        pattern: EventPattern,
        /// The other node it is about, and not whose record it is.
        about: bool,
        /// Answers that tempt.
        wrong: Vec<TemptingAnswer<String>>,
    },
    /// In which order things happen for the first time; here in the one that
    /// is right, unless it varies.
    Order(Vec<OrderItem>),
}

/// A sentence that may be true.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerChoice {
    /// The sentence.
    pub text: String,
    /// When it is true.
    pub holds: RunClaim,
    /// Why one could think so though it is not; nothing where it is.
    pub wrong: Option<String>,
}

/// An answer that tempts, and why it is wrong.
#[derive(Debug, Clone, PartialEq)]
pub struct TemptingAnswer<A> {
    /// The answer.
    pub answer: A,
    /// Why it tempts, and why it is wrong.
    pub why: String,
}

/// A number of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Measure {
    /// How many events fit.
    Count(EventPattern),
    /// When the first one does, in seconds.
    Time(EventPattern),
    /// What the run comes to.
    Total(String),
}

/// Something that happens.
#[derive(Debug, Clone, PartialEq)]
pub struct OrderItem {
    /// What it is called.
    pub text: String,
    /// How it is recognised.
    pub pattern: EventPattern,
}

/// What a student answers, or what is right.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionReply {
    /// A choice, counted from 0.
    Choice(usize),
    /// A number.
    Number(f64),
    /// A node, by its name.
    Node(String),
    /// Items in an order, by their texts.
    Order(Vec<String>),
}

/// What the core says to an answer.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct AnswerVerdict {
    /// It is right.
    pub right: bool,
    /// What is right, in words.
    pub truth: String,
    /// Why; to a wrong answer, why it tempts.
    pub why: String,
}

/// Why a run does not answer a question.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct Undecided(pub String);

impl QuestionKind {
    /// What is right of a run.
    ///
    /// # Errors
    /// When nothing is, or two things are.
    pub fn truth(&self, course: &Course) -> Result<QuestionReply, Undecided> {
        match self {
            Self::Choice(choices) => the_one(choices, course),
            Self::Number { measure, .. } => measure.evaluate(course).map(QuestionReply::Number),
            Self::Point { pattern, about, .. } => {
                let fact = pattern.first(course).ok_or_else(|| never(pattern))?;
                let node = if *about { fact.other } else { Some(fact.node) };
                let node =
                    node.ok_or_else(|| Undecided("the event is about no node".to_string()))?;
                Ok(QuestionReply::Node(course.name(node).to_string()))
            }
            Self::Order(items) => {
                let mut placed = Vec::new();
                for item in items {
                    let fits = |fact: &Fact| item.pattern.fits(course, fact);
                    let place = course.facts.iter().position(fits);
                    placed.push((place.ok_or_else(|| never(&item.pattern))?, &item.text));
                }
                placed.sort_unstable();
                // At one node one thing comes of another, whatever the clock says.
                let tied = |a: &Fact, b: &Fact| a.at == b.at && a.node != b.node;
                let clash = placed.windows(2).find(|pair| {
                    let [(one, _), (other, _)] = pair else { return false };
                    one == other || tied(&course.facts[*one], &course.facts[*other])
                });
                if let Some([(_, a), (_, b)]) = clash {
                    return Err(Undecided(format!("“{a}” and “{b}” happen at the same instant")));
                }
                Ok(QuestionReply::Order(placed.into_iter().map(|(_, text)| text.clone()).collect()))
            }
        }
    }

    /// An answer in words.
    #[must_use]
    pub fn worded(&self, reply: &QuestionReply) -> String {
        match (self, reply) {
            (Self::Choice(choices), QuestionReply::Choice(i)) => {
                choices.get(*i).map(|choice| choice.text.clone()).unwrap_or_default()
            }
            (Self::Number { unit, .. }, QuestionReply::Number(number)) => {
                // Thousandths are as fine as a guess can be.
                let number = (number * 1_000.0) as i64 as f64 / 1_000.0;
                if unit.is_empty() { format!("{number}") } else { format!("{number} {unit}") }
            }
            (_, QuestionReply::Node(name)) => name.clone(),
            (_, QuestionReply::Order(texts)) => texts.join(" → "),
            (_, QuestionReply::Choice(i)) => i.to_string(),
            (_, QuestionReply::Number(number)) => number.to_string(),
        }
    }

    /// Whether an answer comes close enough to another one.
    #[must_use]
    pub fn agrees(&self, reply: &QuestionReply, truth: &QuestionReply) -> bool {
        match (self, reply, truth) {
            (
                Self::Number { slack, .. },
                QuestionReply::Number(said),
                QuestionReply::Number(is),
            ) => (said - is).abs() <= slack + 1e-9,
            _ => reply == truth,
        }
    }

    /// Why a wrong answer tempts.
    fn tempting(&self, reply: &QuestionReply) -> Option<String> {
        match (self, reply) {
            (Self::Choice(choices), QuestionReply::Choice(i)) => choices.get(*i)?.wrong.clone(),
            (Self::Number { wrong, slack, .. }, QuestionReply::Number(said)) => wrong
                .iter()
                .find(|one| (one.answer - said).abs() <= slack + 1e-9)
                .map(|one| one.why.clone()),
            (Self::Point { wrong, .. }, QuestionReply::Node(name)) => {
                wrong.iter().find(|one| one.answer == *name).map(|one| one.why.clone())
            }
            _ => None,
        }
    }

    /// The answer its author thinks right; `None` where the author does not say.
    #[must_use]
    pub fn expected(&self) -> Option<QuestionReply> {
        match self {
            Self::Choice(choices) => {
                choices.iter().position(|choice| choice.wrong.is_none()).map(QuestionReply::Choice)
            }
            Self::Order(items) => {
                Some(QuestionReply::Order(items.iter().map(|item| item.text.clone()).collect()))
            }
            Self::Number { .. } | Self::Point { .. } => None,
        }
    }
}

impl Question {
    /// What the core says to an answer, from a run.
    ///
    /// # Errors
    /// When the run does not answer the question.
    pub fn grade(
        &self,
        course: &Course,
        reply: &QuestionReply,
    ) -> Result<AnswerVerdict, Undecided> {
        let truth = self.of.truth(course)?;
        let right = self.of.agrees(reply, &truth);
        let why = if right { Some(self.right.clone()) } else { self.of.tempting(reply) };
        let why = why.unwrap_or_else(|| self.otherwise.clone());
        Ok(AnswerVerdict { right, truth: self.of.worded(&truth), why })
    }
}

impl Measure {
    fn evaluate(&self, course: &Course) -> Result<f64, Undecided> {
        match self {
            Self::Count(pattern) => Ok(pattern.all(course).count() as f64),
            Self::Time(pattern) => {
                let fact = pattern.first(course).ok_or_else(|| never(pattern))?;
                Ok(fact.at.as_micros() as f64 / 1e6)
            }
            Self::Total(name) => {
                let known = || course.totals.keys().cloned().collect::<Vec<_>>().join(", ");
                course.totals.get(name).copied().ok_or_else(|| {
                    Undecided(format!("the run has no total `{name}`; it has {}", known()))
                })
            }
        }
    }
}

/// The only sentence that is true.
fn the_one(choices: &[AnswerChoice], course: &Course) -> Result<QuestionReply, Undecided> {
    let mut holding = (0..).zip(choices).filter(|(_, choice)| choice.holds.holds(course));
    let Some((i, one)) = holding.next() else {
        return Err(Undecided("no choice is true".to_string()));
    };
    match holding.next() {
        None => Ok(QuestionReply::Choice(i)),
        Some((_, other)) => {
            Err(Undecided(format!("“{}” and “{}” are both true", one.text, other.text)))
        }
    }
}

fn never(pattern: &EventPattern) -> Undecided {
    Undecided(format!("no `{}` as described happens", pattern.event))
}
