//! Lessons: what is asked, and what the core says to an answer.

use servent_sim::lesson::{self, LessonView, QuestionReply, StageTweak};
use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::value::{QueryResult, give, take};

/// Seeds a goal is tried with, besides the lesson's own.
const SEEDS: u64 = 20;

/// A lesson. What is right in it is computed from a run whenever a student
/// answers; nothing that is given to the page says so before.
#[wasm_bindgen]
pub struct Lesson {
    of: lesson::Lesson,
}

#[wasm_bindgen]
impl Lesson {
    /// Every lesson there is, in the order in which they teach best, in a
    /// language; in English where it is not in that one.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "LessonView[]")]
    pub fn all(language: Option<String>) -> QueryResult {
        let language = language.unwrap_or_default();
        give(&lesson::all_in(&language).iter().map(LessonView::from).collect::<Vec<_>>())
    }

    /// A lesson by its id, in a language; `undefined` when there is none.
    #[must_use]
    pub fn find(id: &str, language: Option<String>) -> Option<Lesson> {
        lesson::find_in(id, &language.unwrap_or_default()).map(|of| Self { of })
    }

    /// A lesson from a file.
    ///
    /// # Errors
    /// A sentence with the line and column of what makes no sense.
    pub fn read(text: &str) -> Result<Lesson, JsError> {
        Ok(Self { of: lesson::Lesson::proofread(text)? })
    }

    /// All that is asked in it.
    ///
    /// # Errors
    /// When a value has no form in JavaScript.
    #[wasm_bindgen(unchecked_return_type = "LessonView")]
    pub fn view(&self) -> QueryResult {
        give(&LessonView::from(&self.of))
    }

    /// The scenario of a step, counted from 0, with something changed.
    ///
    /// # Errors
    /// When there is no such step, or what is changed makes no sense.
    #[wasm_bindgen(unchecked_return_type = "Scenario")]
    pub fn scenario(
        &self,
        step: u32,
        #[wasm_bindgen(unchecked_param_type = "Partial<StageTweak>")] tweak: JsValue,
    ) -> QueryResult {
        let tweak: StageTweak = take(tweak)?;
        give(&self.of.stage(step as usize)?.with(&tweak)?.scenario)
    }

    /// What the core says to an answer.
    ///
    /// # Errors
    /// A sentence when nothing is asked there.
    #[wasm_bindgen(unchecked_return_type = "AnswerVerdict")]
    pub fn judge(
        &self,
        step: u32,
        #[wasm_bindgen(unchecked_param_type = "QuestionReply")] reply: JsValue,
    ) -> QueryResult {
        let reply: QuestionReply = take(reply)?;
        give(&self.of.grade(step as usize, &reply)?)
    }

    /// When a step that shows something has shown what was asked before, in
    /// microseconds; `undefined` where only its end does.
    ///
    /// # Errors
    /// When there is no such step.
    pub fn decided(&self, step: u32) -> Result<Option<f64>, JsError> {
        Ok(self.of.decided(step as usize)?.map(|at| at.as_micros() as f64))
    }

    /// What is right in a step, for a teacher who corrects answers on paper.
    ///
    /// # Errors
    /// A sentence when nothing is asked there.
    #[wasm_bindgen(unchecked_return_type = "LessonAnswer")]
    pub fn answer(&self, step: u32) -> QueryResult {
        give(&self.of.answer(step as usize)?)
    }

    /// How what was done to reach a goal does, with many seeds.
    ///
    /// # Errors
    /// A sentence when there is no goal there.
    #[wasm_bindgen(unchecked_return_type = "GoalAttempt")]
    pub fn attempt(
        &self,
        step: u32,
        #[wasm_bindgen(unchecked_param_type = "Partial<StageTweak>")] tweak: JsValue,
    ) -> QueryResult {
        let tweak: StageTweak = take(tweak)?;
        give(&self.of.attempt(step as usize, &tweak, SEEDS)?)
    }
}
