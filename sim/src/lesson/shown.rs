//! A lesson as a page shows it: all that is asked, and nothing that answers.

use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use super::{
    Help, Lesson, LessonGoal, LessonStep, Question, QuestionKind, StepKind, Task, WorldSetting,
};
use crate::registry::ProtocolId;
use servent_core::time::Instant;

/// A lesson.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LessonView {
    /// A short name for links.
    pub id: String,
    /// The view it is shown in.
    pub view: ProtocolId,
    /// What it is called.
    pub title: String,
    /// What it is about.
    pub text: String,
    /// What one knows at its end.
    pub concept: String,
    /// About how long it takes.
    pub minutes: u32,
    /// How much of the way is shown.
    pub help: Help,
    /// It is the exit test of a course.
    pub exit_test: bool,
    /// The preset its world is, unchanged.
    pub preset: Option<String>,
    /// Its steps.
    pub steps: Vec<StepView>,
}

/// A step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct StepView {
    /// What it is for.
    pub kind: StepKind,
    /// What is said.
    pub text: String,
    /// Where the clock stands when it begins.
    pub at: Option<Instant>,
    /// Where what is shown ends.
    pub until: Option<Instant>,
    /// The requirement behind it.
    pub clause: Option<String>,
    /// Its world is not the lesson's.
    pub other_world: bool,
    /// What is to be done.
    pub task: Option<TaskView>,
}

/// What is to be done in a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskView {
    /// A question.
    Question(QuestionView),
    /// A goal.
    Goal {
        /// Deeds at most.
        budget: u32,
        /// Settings that may be changed.
        settings: Vec<WorldSetting>,
    },
}

/// A question.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionView {
    /// One of these sentences.
    Choice(Vec<String>),
    /// A number of this unit.
    Number(String),
    /// A node.
    Node {},
    /// These in an order; not shown in the one that is right.
    Order(Vec<String>),
}

impl From<&Lesson> for LessonView {
    fn from(lesson: &Lesson) -> Self {
        let Lesson { id, title, text, concept, preset, .. } = lesson.clone();
        let (view, minutes, help) = (lesson.view, lesson.minutes, lesson.help);
        let exit_test = lesson.exit_test;
        let steps = lesson.steps.iter().map(StepView::from).collect();
        Self { id, view, title, text, concept, minutes, help, exit_test, preset, steps }
    }
}

impl From<&LessonStep> for StepView {
    fn from(step: &LessonStep) -> Self {
        let LessonStep { kind, text, at, until, clause, tweak, task, .. } = step.clone();
        let task = match &task {
            Task::Nothing => None,
            Task::Question(question) => Some(TaskView::Question(question.into())),
            Task::Goal(LessonGoal { budget, settings, .. }) => {
                Some(TaskView::Goal { budget: *budget, settings: settings.clone() })
            }
        };
        // Where a question's run ends would tell something of its answer.
        let until =
            until.filter(|_| matches!(kind, StepKind::Reveal | StepKind::Say | StepKind::Explain));
        let other_world = tweak != super::StageTweak::default();
        Self { kind, text, at, until, clause, other_world, task }
    }
}

impl From<&Question> for QuestionView {
    fn from(question: &Question) -> Self {
        match &question.of {
            QuestionKind::Choice(choices) => {
                Self::Choice(choices.iter().map(|choice| choice.text.clone()).collect())
            }
            QuestionKind::Number { unit, .. } => Self::Number(unit.clone()),
            QuestionKind::Point { .. } => Self::Node {},
            QuestionKind::Order(items) => {
                let mut texts: Vec<String> = items.iter().map(|item| item.text.clone()).collect();
                texts.sort();
                Self::Order(texts)
            }
        }
    }
}
