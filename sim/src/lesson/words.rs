//! A lesson in another language: every text with what it is there.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::{Lesson, QuestionKind, Task};

/// A file of pairs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pairs {
    text: Vec<Pair>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    en: String,
    de: String,
}

/// The lessons in German, in the order of the lessons.
const GERMAN: [&str; 28] = [
    include_str!("../../lessons/de/polling-windows.toml"),
    include_str!("../../lessons/de/cut-the-wire.toml"),
    include_str!("../../lessons/de/newcomer.toml"),
    include_str!("../../lessons/de/server-restart.toml"),
    include_str!("../../lessons/de/three-languages.toml"),
    include_str!("../../lessons/de/hang-up.toml"),
    include_str!("../../lessons/de/flood.toml"),
    include_str!("../../lessons/de/way-back.toml"),
    include_str!("../../lessons/de/late-push.toml"),
    include_str!("../../lessons/de/mesh.toml"),
    include_str!("../../lessons/de/hop-limit.toml"),
    include_str!("../../lessons/de/late-answer.toml"),
    include_str!("../../lessons/de/lose-the-middle.toml"),
    include_str!("../../lessons/de/lose-the-last.toml"),
    include_str!("../../lessons/de/lose-the-first.toml"),
    include_str!("../../lessons/de/lose-the-ack.toml"),
    include_str!("../../lessons/de/restart.toml"),
    include_str!("../../lessons/de/close-in-flight.toml"),
    include_str!("../../lessons/de/free-piece.toml"),
    include_str!("../../lessons/de/two-for-one.toml"),
    include_str!("../../lessons/de/deadlock.toml"),
    include_str!("../../lessons/de/rarest-first.toml"),
    include_str!("../../lessons/de/liar.toml"),
    include_str!("../../lessons/de/firewalls.toml"),
    include_str!("../../lessons/de/test-waiting.toml"),
    include_str!("../../lessons/de/test-finding.toml"),
    include_str!("../../lessons/de/test-mending.toml"),
    include_str!("../../lessons/de/test-sharing.toml"),
];

/// Every lesson there is, in a language: `de`, or English in any other case.
#[must_use]
pub fn all_in(language: &str) -> Vec<Lesson> {
    let mut lessons = super::all();
    if language == "de" {
        for (lesson, pairs) in lessons.iter_mut().zip(GERMAN) {
            let known = words(pairs);
            each_text(lesson, &mut |text| {
                if let Some(said) = known.get(text.as_str()) {
                    *text = said.clone();
                }
            });
        }
    }
    lessons
}

/// A lesson by its id, in a language.
#[must_use]
pub fn find_in(id: &str, language: &str) -> Option<Lesson> {
    all_in(language).into_iter().find(|lesson| lesson.id == id)
}

pub(super) fn words(pairs: &str) -> BTreeMap<String, String> {
    let read = toml::from_str::<Pairs>(pairs).map(|pairs| pairs.text).unwrap_or_default();
    read.into_iter().map(|Pair { en, de }| (en, de)).collect()
}

/// Everything in a lesson that is read by people.
fn each_text(lesson: &mut Lesson, see: &mut dyn FnMut(&mut String)) {
    for text in [&mut lesson.title, &mut lesson.text, &mut lesson.concept] {
        see(text);
    }
    for step in &mut lesson.steps {
        see(&mut step.text);
        match &mut step.task {
            Task::Nothing => {}
            Task::Question(question) => {
                each_answer(&mut question.of, see);
                see(&mut question.right);
                see(&mut question.otherwise);
            }
            Task::Goal(goal) => {
                goal.settings.iter_mut().for_each(|setting| see(&mut setting.text));
                goal.wrong.iter_mut().for_each(|wrong| see(&mut wrong.why));
                goal.unmet.iter_mut().for_each(&mut *see);
                see(&mut goal.right);
                see(&mut goal.otherwise);
            }
        }
    }
}

fn each_answer(asked: &mut QuestionKind, see: &mut dyn FnMut(&mut String)) {
    match asked {
        QuestionKind::Choice(choices) => {
            for choice in choices {
                see(&mut choice.text);
                choice.wrong.iter_mut().for_each(&mut *see);
            }
        }
        QuestionKind::Number { unit, wrong, .. } => {
            see(unit);
            wrong.iter_mut().for_each(|wrong| see(&mut wrong.why));
        }
        QuestionKind::Point { wrong, .. } => wrong.iter_mut().for_each(|wrong| see(&mut wrong.why)),
        QuestionKind::Order(items) => items.iter_mut().for_each(|item| see(&mut item.text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The `names` in a text.
    fn names(text: &str) -> Vec<String> {
        let mut names: Vec<_> = text.split('`').skip(1).step_by(2).map(String::from).collect();
        names.sort();
        names.dedup();
        names
    }

    #[test]
    fn every_text_of_every_lesson_is_there_in_german_and_none_too_many() {
        for (mut lesson, pairs) in super::super::all().into_iter().zip(GERMAN) {
            let known = words(pairs);
            let mut used = Vec::new();
            let id = lesson.id.clone();
            each_text(&mut lesson, &mut |text| {
                if text.is_empty() {
                    return;
                }
                let said = known.get(text.as_str());
                let said = said.unwrap_or_else(|| panic!("{id} has no German for “{text}”"));
                assert_eq!(names(said), names(text), "{id}: “{said}”");
                assert_eq!(
                    said.matches('\n').count(),
                    text.matches('\n').count(),
                    "{id}: “{said}”"
                );
                used.push(text.clone());
            });
            let unused: Vec<_> = known.keys().filter(|en| !used.contains(en)).collect();
            assert_eq!(unused, Vec::<&String>::new(), "{id}");
        }
    }

    #[test]
    fn a_lesson_in_german_asks_the_same() {
        for (plain, german) in super::super::all().iter().zip(all_in("de")) {
            assert_eq!(plain.id, german.id);
            assert_ne!(plain.title, german.title);
            for step in 0..plain.steps.len() {
                let said = |lesson: &Lesson| lesson.answer(step).ok().map(|found| found.truth);
                let (one, other) = (said(plain), said(&german));
                assert_eq!(one.is_some(), other.is_some(), "{}, step {step}", plain.id);
            }
        }
        assert_eq!(find_in("flood", "en"), super::super::find("flood"));
    }
}
