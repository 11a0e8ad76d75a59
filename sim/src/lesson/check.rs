//! Whether a lesson says the truth, for many seeds.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use super::course::Course;
use super::{
    Lesson, LessonGoal, LessonStep, Question, QuestionReply, StageError, StageTweak, Task,
};
use servent_core::time::Instant;

/// What is found out about a lesson.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Report {
    /// Seeds every question was answered with.
    pub seeds: u64,
    /// What is wrong; the smallest seed that shows it.
    pub wrong: Vec<Finding>,
    /// What is right in each step that asks, with the lesson's own seed.
    pub answers: Vec<Finding>,
}

/// Something found out about a step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The step, counted from 1.
    pub step: usize,
    /// The seed.
    pub seed: u64,
    /// What.
    pub what: String,
}

/// Runs of one seed, by what was changed of the world and where they end.
type Played = Vec<((StageTweak, Option<Instant>), Result<Course, StageError>)>;

/// What is known of a question after some seeds.
#[derive(Default)]
struct QuestionRuns {
    first: Option<QuestionReply>,
    done: bool,
}

impl Lesson {
    /// Answers every question from runs with so many seeds, the lesson's own
    /// first, and tries every solution and every wrong attempt.
    #[must_use]
    pub fn check(&self, seeds: u64) -> Report {
        let mut report = Report { seeds, ..Report::default() };
        let mut asked: Vec<QuestionRuns> =
            self.steps.iter().map(|_| QuestionRuns::default()).collect();
        for turn in 0..seeds {
            // Several questions are about one run.
            let mut played = Played::new();
            for (i, (step, asked)) in self.steps.iter().zip(&mut asked).enumerate() {
                let Task::Question(question) = &step.task else { continue };
                if asked.done {
                    continue;
                }
                let seed = self.seed(step, turn);
                let tweak = StageTweak { seed: Some(seed), ..step.tweak.clone() };
                let course = self.course(&mut played, tweak, step.until);
                let at = |what: String| Finding { step: i + 1, seed, what };
                if let Err(what) =
                    asked.observe(question, course, |what| report.answers.push(at(what)))
                {
                    asked.done = true;
                    report.wrong.push(at(what));
                }
            }
        }
        for (i, step) in self.steps.iter().enumerate() {
            if let Task::Goal(goal) = &step.task {
                self.check_goal(i, step, goal, &mut report);
            }
            if step.seen.is_some() && self.decided(i).is_ok_and(|at| at.is_none()) {
                let what =
                    String::from("what `seen` names does not happen between `at` and `until`");
                report.wrong.push(Finding { step: i + 1, seed: self.seed(step, 0), what });
            }
        }
        report
    }

    /// The seed of a turn: the step's own, then the smallest others.
    fn seed(&self, step: &LessonStep, turn: u64) -> u64 {
        let own = step.tweak.seed.or(self.stage.scenario["seed"].as_u64()).unwrap_or(0);
        match turn {
            0 => own,
            turn if turn < own => turn,
            turn => turn + u64::from(own > 0),
        }
    }

    fn course<'a>(
        &self,
        played: &'a mut Played,
        tweak: StageTweak,
        end: Option<Instant>,
    ) -> Result<&'a Course, StageError> {
        let key = (tweak, end);
        let found = played.iter().position(|(known, _)| *known == key);
        let i = found.unwrap_or_else(|| {
            let course = self.stage.with(&key.0).and_then(|stage| stage.course(end));
            played.push((key, course));
            played.len() - 1
        });
        played[i].1.as_ref().map_err(Clone::clone)
    }

    fn check_goal(&self, i: usize, step: &LessonStep, goal: &LessonGoal, report: &mut Report) {
        let holds = |tweak: &StageTweak, seed: u64| {
            let mut all = step.tweak.clone();
            all.acts.extend(tweak.acts.iter().cloned());
            all.set.extend(tweak.set.iter().map(|(key, value)| (key.clone(), value.clone())));
            let world = self.stage.with(&StageTweak { seed: Some(seed), ..all })?;
            world.course(None).map(|course| goal.claim.holds(&course))
        };
        let at = |seed: u64, what: String| Finding { step: i + 1, seed, what };
        let own = self.seed(step, 0);
        let fails = |tweak: &StageTweak| {
            (0..report.seeds).map(|turn| self.seed(step, turn)).find_map(|seed| {
                match holds(tweak, seed) {
                    Ok(true) => None,
                    Ok(false) => Some((seed, String::from("the solution does not reach the goal"))),
                    Err(why) => Some((seed, why.to_string())),
                }
            })
        };
        match fails(&goal.solution) {
            Some((seed, what)) => report.wrong.push(at(seed, what)),
            None => {
                report.answers.push(at(own, String::from("the stored solution reaches the goal")))
            }
        }
        let tempting: Vec<usize> = (1..)
            .zip(&goal.wrong)
            .filter(|(_, one)| fails(&one.answer).is_none())
            .map(|(n, _)| n)
            .collect();
        for n in tempting {
            report.wrong.push(at(own, format!("wrong attempt {n} reaches the goal")));
        }
        if holds(&StageTweak::default(), own).unwrap_or(false) {
            report.wrong.push(at(own, String::from("the goal is reached without doing anything")));
        }
    }
}

impl QuestionRuns {
    /// Takes a run; `answered` hears what is right of the first one.
    fn observe(
        &mut self,
        question: &Question,
        course: Result<&Course, StageError>,
        answered: impl FnOnce(String),
    ) -> Result<(), String> {
        let course = course.map_err(|why| why.to_string())?;
        let truth = question.of.truth(course).map_err(|why| why.0)?;
        let words = |reply: &QuestionReply| question.of.worded(reply);
        if self.first.is_none() {
            answered(words(&truth));
        }
        let wanted = question.of.expected().or_else(|| self.first.clone());
        let settled = wanted.filter(|_| !question.varies);
        if let Some(wanted) = settled.filter(|wanted| !question.of.agrees(wanted, &truth)) {
            return Err(format!(
                "“{}” should be right, and “{}” is",
                words(&wanted),
                words(&truth)
            ));
        }
        self.first.get_or_insert(truth);
        Ok(())
    }
}
