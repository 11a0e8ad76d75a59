//! When a run has shown what was asked, so that a verdict need not wait for its end.

use alloc::vec::Vec;

use super::claim::{EventPattern, RunClaim};
use super::course::Course;
use super::question::{Measure, QuestionKind, QuestionReply};
use super::{Lesson, LessonStep, StageError, StepKind, Task};
use servent_core::time::Instant;

impl Lesson {
    /// When a step that shows something has shown what was asked before it; `None`
    /// where only its end does.
    ///
    /// # Errors
    /// There is no such step, or no world can be made of it.
    pub fn decided(&self, step: usize) -> Result<Option<Instant>, StageError> {
        let LessonStep { kind, until, seen, .. } = self.step(step)?;
        let before = self.steps[..step].iter().rposition(|one| one.kind == StepKind::Predict);
        let (StepKind::Reveal, Some(before)) = (kind, before) else { return Ok(None) };
        let (asked, stage) = (&self.steps[before], self.stage(step)?);
        let Task::Question(question) = &asked.task else { return Ok(None) };
        let from = asked.at.unwrap_or_default();
        let at = if let Some(seen) = seen {
            seen.decided(&stage.course(*until)?, from)
        } else if stage == self.stage(before)? {
            question.of.decided(&stage.course(asked.until)?, from)
        } else {
            None
        };
        Ok(at.filter(|at| *at > from && until.is_none_or(|until| *at <= until)))
    }
}

impl QuestionKind {
    /// When what happened has answered it.
    fn decided(&self, course: &Course, from: Instant) -> Option<Instant> {
        match self {
            Self::Choice(choices) => {
                let Ok(QuestionReply::Choice(i)) = self.truth(course) else { return None };
                choices.get(i)?.holds.decided(course, from)
            }
            Self::Number { measure: Measure::Count(pattern), .. } => {
                pattern.all(course).last().map(|fact| fact.at)
            }
            Self::Number { measure: Measure::Time(pattern), .. } | Self::Point { pattern, .. } => {
                first(pattern, course)
            }
            Self::Number { measure: Measure::Total(_), .. } => None,
            Self::Order(items) => {
                let all: Option<Vec<Instant>> =
                    items.iter().map(|item| first(&item.pattern, course)).collect();
                all?.into_iter().max()
            }
        }
    }
}

impl RunClaim {
    /// When what happened has made it true, or shown it once more after `from`;
    /// `None` where it is not true, or true because something never happens.
    fn decided(&self, course: &Course, from: Instant) -> Option<Instant> {
        if !self.holds(course) {
            return None;
        }
        match self {
            Self::Count { pattern, least: 0, .. } => pattern.by,
            Self::Count { pattern, least, .. } => {
                let enough = usize::try_from(*least).ok()? - 1;
                let mut later = pattern.all(course).map(|fact| fact.at).skip(enough);
                let made = later.next()?;
                Some(if made > from { made } else { later.find(|at| *at > from).unwrap_or(made) })
            }
            Self::Before { first: pattern, .. } => first(pattern, course),
            Self::All(claims) => claims.iter().filter_map(|one| one.decided(course, from)).max(),
            Self::Any(claims) => claims.iter().filter_map(|one| one.decided(course, from)).min(),
            Self::Total { .. } | Self::Not(_) => None,
        }
    }
}

fn first(pattern: &EventPattern, course: &Course) -> Option<Instant> {
    pattern.first(course).map(|fact| fact.at)
}
