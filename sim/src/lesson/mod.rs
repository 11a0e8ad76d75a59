//! Lessons: what a world will do is asked first, then shown, then explained.
//!
//! A lesson is one file of TOML ([`Lesson::parse`]; docs/lessons.md shows how
//! to write one). What is right is never written down for the page: it is
//! computed from a run of the lesson's world, so an answer that a change of the
//! rules makes wrong is found by [`Lesson::check`] and not by a class.

mod check;
mod claim;
mod course;
mod decided;
mod file;
pub mod group;
mod question;
mod raw;
mod shown;
mod stage;
mod vocabulary;
mod words;

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use servent_core::time::Instant;

use crate::registry::ProtocolId;

pub use self::check::{Finding, Report};
pub use self::claim::{EventPattern, RunClaim};
pub use self::course::{Course, Fact, Totals};
pub use self::file::LessonError;
pub use self::question::{
    AnswerChoice, AnswerVerdict, Measure, OrderItem, Question, QuestionKind, QuestionReply,
    TemptingAnswer, Undecided,
};
pub use self::shown::{LessonView, QuestionView, StepView, TaskView};
pub use self::stage::{LessonStage, StageError, StageTweak};
pub use self::words::{all_in, find_in};

/// The lessons that come with the simulator, in the order in which they teach
/// best: six for each protocol, in two rounds of less and less help, of unicast one
/// more, and one about two people who meet. Then the exit tests of the courses.
#[doc(hidden)]
pub const ALL: &[&str] = &[
    include_str!("../../lessons/polling-windows.toml"),
    include_str!("../../lessons/cut-the-wire.toml"),
    include_str!("../../lessons/newcomer.toml"),
    include_str!("../../lessons/server-restart.toml"),
    include_str!("../../lessons/three-languages.toml"),
    include_str!("../../lessons/hang-up.toml"),
    include_str!("../../lessons/flood.toml"),
    include_str!("../../lessons/way-back.toml"),
    include_str!("../../lessons/late-push.toml"),
    include_str!("../../lessons/mesh.toml"),
    include_str!("../../lessons/hop-limit.toml"),
    include_str!("../../lessons/late-answer.toml"),
    include_str!("../../lessons/lose-the-middle.toml"),
    include_str!("../../lessons/lose-the-last.toml"),
    include_str!("../../lessons/lose-the-first.toml"),
    include_str!("../../lessons/lose-the-ack.toml"),
    include_str!("../../lessons/restart.toml"),
    include_str!("../../lessons/close-in-flight.toml"),
    include_str!("../../lessons/fill-the-queue.toml"),
    include_str!("../../lessons/free-piece.toml"),
    include_str!("../../lessons/two-for-one.toml"),
    include_str!("../../lessons/deadlock.toml"),
    include_str!("../../lessons/rarest-first.toml"),
    include_str!("../../lessons/liar.toml"),
    include_str!("../../lessons/firewalls.toml"),
    include_str!("../../lessons/two-doors.toml"),
    include_str!("../../lessons/test-waiting.toml"),
    include_str!("../../lessons/test-finding.toml"),
    include_str!("../../lessons/test-mending.toml"),
    include_str!("../../lessons/test-sharing.toml"),
];

/// A lesson.
#[derive(Debug, Clone, PartialEq)]
pub struct Lesson {
    /// A short name for links.
    pub id: String,
    /// The view it is shown in.
    pub view: ProtocolId,
    /// What it is called.
    pub title: String,
    /// What it is about, in a sentence that gives nothing away.
    pub text: String,
    /// What one knows at its end, by its name.
    pub concept: String,
    /// About how long it takes.
    pub minutes: u32,
    /// How much of the way is shown.
    pub help: Help,
    /// It stands at the end of a course, and asks about worlds that were not shown.
    pub exit_test: bool,
    /// Its world.
    pub stage: LessonStage,
    /// The preset its world is, unchanged.
    pub preset: Option<String>,
    /// What is done in it.
    pub steps: Vec<LessonStep>,
}

/// How much of the way a lesson shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Help {
    /// Every step is worked out.
    Worked,
    /// Steps are left to the learner.
    Partial,
    /// There is a goal, and nothing else.
    Goal,
}

/// What a step is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StepKind {
    /// Something is told.
    Say,
    /// What will happen is asked, before it is shown.
    Predict,
    /// It is shown.
    Reveal,
    /// What was seen is asked.
    Observe,
    /// It is explained, and gets its name.
    Explain,
    /// Something is to be brought about.
    Goal,
    /// What was asked before is asked of another world.
    Exit,
    /// Whatever one likes.
    Free,
}

/// A step of a lesson.
#[derive(Debug, Clone, PartialEq)]
pub struct LessonStep {
    /// What it is for.
    pub kind: StepKind,
    /// What is said.
    pub text: String,
    /// Where the clock stands when it begins.
    pub at: Option<Instant>,
    /// Where it stops: what happens later answers nothing in this step.
    pub until: Option<Instant>,
    /// What has been seen when the verdict comes; where it does not say, what was asked
    /// tells it.
    pub seen: Option<RunClaim>,
    /// The requirement behind it, as `AQ-7`.
    pub clause: Option<String>,
    /// How its world differs from the lesson's.
    pub tweak: StageTweak,
    /// What is to be done.
    pub task: Task,
}

/// What is to be done in a step.
#[derive(Debug, Clone, PartialEq)]
pub enum Task {
    /// Nothing but to read and look.
    Nothing,
    /// A question is to be answered.
    Question(Question),
    /// Something is to be brought about.
    Goal(LessonGoal),
}

/// Something that is to be brought about.
#[derive(Debug, Clone, PartialEq)]
pub struct LessonGoal {
    /// When it is.
    pub claim: RunClaim,
    /// By so many deeds at most.
    pub budget: u32,
    /// Settings that may be changed, each an action.
    pub settings: Vec<WorldSetting>,
    /// Shown to students who did it.
    pub right: String,
    /// Shown to students who did not, where nothing else is.
    pub otherwise: String,
    /// Of a claim of several conditions: what is said where this one does not hold.
    pub unmet: Vec<String>,
    /// One way to do it.
    pub solution: StageTweak,
    /// Ways that tempt.
    pub wrong: Vec<TemptingAnswer<StageTweak>>,
}

/// A setting of a world that may be changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WorldSetting {
    /// Its way in the scenario, as `swarm.policy`.
    pub key: String,
    /// What it is called.
    pub text: String,
    /// The values it may have.
    pub values: Vec<serde_json::Value>,
}

/// How an attempt at a goal went.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct GoalAttempt {
    /// It was reached with every seed that was tried.
    pub right: bool,
    /// So many seeds were tried; the smallest one that fails ends it.
    pub tried: u64,
    /// The seed with which it was not reached.
    pub failed: Option<u64>,
    /// Why; or what is wrong with the attempt itself.
    pub why: String,
}

/// What is right in a step, for a teacher who corrects answers on paper.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct LessonAnswer {
    /// What is right, in words; of a goal, nothing.
    pub truth: String,
    /// Why, or what is shown to students who reached the goal.
    pub why: String,
    /// One way to reach the goal, tried before it is told.
    pub solution: Option<StageTweak>,
}

/// Every lesson there is.
///
/// # Panics
/// Never: a test reads them all.
#[must_use]
pub fn all() -> Vec<Lesson> {
    ALL.iter().filter_map(|text| Lesson::parse(text).ok()).collect()
}

/// A lesson by its id.
#[must_use]
pub fn find(id: &str) -> Option<Lesson> {
    all().into_iter().find(|lesson| lesson.id == id)
}

impl Lesson {
    /// The world of a step.
    ///
    /// # Errors
    /// There is no such step, or no world can be made of it.
    pub fn stage(&self, step: usize) -> Result<LessonStage, StageError> {
        self.stage.with(&self.step(step)?.tweak)
    }

    /// What the core says to an answer.
    ///
    /// # Errors
    /// Nothing is asked there, or the run does not answer it.
    pub fn grade(&self, step: usize, reply: &QuestionReply) -> Result<AnswerVerdict, StageError> {
        let LessonStep { task: Task::Question(question), until, .. } = self.step(step)? else {
            return Err(StageError::NoQuestion);
        };
        let course = self.stage(step)?.course(*until)?;
        Ok(question.grade(&course, reply)?)
    }

    /// What is right in a step: computed from a run, as everything that is
    /// said of answers.
    ///
    /// # Errors
    /// Nothing is asked there, the run does not answer it, or the way to a goal
    /// does not lead there.
    pub fn answer(&self, step: usize) -> Result<LessonAnswer, StageError> {
        let LessonStep { task, until, .. } = self.step(step)?;
        match task {
            Task::Nothing => Err(StageError::NoQuestion),
            Task::Question(question) => {
                let course = self.stage(step)?.course(*until)?;
                let truth = question.of.truth(&course)?;
                let (truth, why) = (question.of.worded(&truth), question.right.clone());
                Ok(LessonAnswer { truth, why, solution: None })
            }
            Task::Goal(goal) => {
                let attempt = self.attempt(step, &goal.solution, 0)?;
                if !attempt.right {
                    return Err(StageError::NotReached(attempt.why));
                }
                let solution = Some(goal.solution.clone());
                Ok(LessonAnswer { truth: String::new(), why: attempt.why, solution })
            }
        }
    }

    /// Tries what a student did to reach a goal, with the lesson's own seed and
    /// then the smallest others.
    ///
    /// # Errors
    /// There is no goal in this step, or no world can be made of it.
    pub fn attempt(
        &self,
        step: usize,
        tweak: &StageTweak,
        seeds: u64,
    ) -> Result<GoalAttempt, StageError> {
        let Task::Goal(goal) = &self.step(step)?.task else {
            return Err(StageError::NoGoal);
        };
        let no = |tried, failed, why| Ok(GoalAttempt { right: false, tried, failed, why });
        if let Some(why) = goal.refused(tweak) {
            return no(0, None, why);
        }
        let stage = self.stage(step)?;
        let own = stage.scenario["seed"].as_u64().unwrap_or(0);
        for (tried, seed) in (1..).zip(core::iter::once(own).chain(1..=seeds)) {
            let world = match stage.with(&StageTweak { seed: Some(seed), ..tweak.clone() }) {
                Ok(world) => world,
                Err(why) => return no(tried, None, why.to_string()),
            };
            let course = world.course(None)?;
            if !goal.claim.holds(&course) {
                let same = |one: &&TemptingAnswer<StageTweak>| one.answer.resembles(tweak);
                let tempting = goal.wrong.iter().find(same).map(|one| &one.why);
                let why = tempting.or_else(|| goal.unmet(&course)).unwrap_or(&goal.otherwise);
                return no(tried, Some(seed), why.clone());
            }
        }
        Ok(GoalAttempt { right: true, tried: seeds + 1, failed: None, why: goal.right.clone() })
    }

    fn step(&self, step: usize) -> Result<&LessonStep, StageError> {
        self.steps.get(step).ok_or(StageError::NoStep)
    }
}

impl LessonGoal {
    /// What is said of the first condition that does not hold.
    fn unmet(&self, course: &Course) -> Option<&String> {
        let RunClaim::All(conditions) = &self.claim else { return None };
        let first = conditions.iter().position(|condition| !condition.holds(course))?;
        self.unmet.get(first)
    }

    /// Why an attempt is none.
    fn refused(&self, tweak: &StageTweak) -> Option<String> {
        let deeds = (tweak.acts.len() + tweak.set.len()) as u64;
        if deeds == 0 {
            return Some("Nothing has been done yet.".to_string());
        }
        if deeds > u64::from(self.budget) {
            let budget = self.budget;
            return Some(alloc::format!(
                "You made {deeds} changes, and the limit is {budget}. Begin again."
            ));
        }
        let may = |(key, value): (&String, &serde_json::Value)| {
            self.settings.iter().any(|one| one.key == *key && one.values.contains(value))
        };
        (!tweak.set.iter().all(may)).then(|| "That may not be changed here.".to_string())
    }
}

impl StageTweak {
    /// The same things are done, whenever that is.
    fn resembles(&self, other: &Self) -> bool {
        let deeds = |tweak: &Self| -> Vec<serde_json::Value> {
            let whenever = |act: &serde_json::Value| {
                let mut act = act.clone();
                act.as_object_mut().and_then(|fields| fields.remove("at"));
                act
            };
            tweak.acts.iter().map(whenever).collect()
        };
        self.set == other.set && deeds(self) == deeds(other)
    }
}
