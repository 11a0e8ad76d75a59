//! A lesson in another language: every text with what it is there.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Deserialize;

use super::{Lesson, QuestionKind, Task};

/// A file of texts, each in English and in one other language.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Translation {
    text: Vec<BTreeMap<String, String>>,
}

/// The texts of all lessons in one language, in the order of the lessons.
macro_rules! texts {
    ($language:literal) => {
        texts!(
            $language;
            "polling-windows", "cut-the-wire", "newcomer", "server-restart", "three-languages",
            "hang-up", "flood", "way-back", "late-push", "mesh", "hop-limit", "late-answer",
            "lose-the-middle", "lose-the-last", "lose-the-first", "lose-the-ack", "restart",
            "close-in-flight", "fill-the-queue", "free-piece", "two-for-one", "deadlock", "rarest-first", "liar",
            "firewalls", "two-doors", "test-waiting", "test-finding", "test-mending", "test-sharing",
        )
    };
    ($language:literal; $($id:literal,)*) => {
        ($language, [$(include_str!(concat!("../../lessons/", $language, "/", $id, ".toml"))),*])
    };
}

/// The languages of the lessons other than English.
const TRANSLATIONS: [(&str, [&str; 30]); 3] = [texts!("de"), texts!("es"), texts!("fr")];

/// Every lesson there is, in a language; in English where it is not in that one.
#[must_use]
pub fn all_in(language: &str) -> Vec<Lesson> {
    let mut lessons = super::all();
    let translation = TRANSLATIONS.iter().find(|(of, _)| *of == language);
    if let Some((_, files)) = translation {
        for (lesson, file) in lessons.iter_mut().zip(files) {
            let known = words(file, language);
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

/// What the English texts of a file are in a language.
pub(super) fn words(file: &str, language: &str) -> BTreeMap<String, String> {
    let texts = toml::from_str::<Translation>(file).map(|file| file.text).unwrap_or_default();
    let pair =
        |mut text: BTreeMap<String, String>| Some((text.remove("en")?, text.remove(language)?));
    texts.into_iter().filter_map(pair).collect()
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
    fn every_text_of_every_lesson_is_there_in_each_language_and_none_too_many() {
        for (language, files) in TRANSLATIONS {
            for (mut lesson, file) in super::super::all().into_iter().zip(files) {
                check_texts(&mut lesson, &words(file, language), language);
            }
        }
    }

    /// A translation says what the lesson says: the same names, and as many paragraphs.
    fn check_texts(lesson: &mut Lesson, known: &BTreeMap<String, String>, language: &str) {
        let mut used = Vec::new();
        let id = lesson.id.clone();
        each_text(lesson, &mut |text| {
            if text.is_empty() {
                return;
            }
            let said = known.get(text.as_str());
            let said = said.unwrap_or_else(|| panic!("{id} has no {language} for “{text}”"));
            assert_eq!(names(said), names(text), "{id}, {language}: “{said}”");
            let lines = |text: &str| text.matches('\n').count();
            assert_eq!(lines(said), lines(text), "{id}, {language}: “{said}”");
            used.push(text.clone());
        });
        let unused: Vec<_> = known.keys().filter(|en| !used.contains(en)).collect();
        assert_eq!(unused, Vec::<&String>::new(), "{id}, {language}");
    }

    #[test]
    fn a_lesson_in_each_language_asks_the_same() {
        for (language, _) in TRANSLATIONS {
            for (plain, other) in super::super::all().iter().zip(all_in(language)) {
                assert_eq!(plain.id, other.id);
                assert_ne!(plain.title, other.title, "{language}");
                for step in 0..plain.steps.len() {
                    let said = |lesson: &Lesson| lesson.answer(step).ok().map(|found| found.truth);
                    let (one, translated) = (said(plain), said(&other));
                    assert_eq!(one.is_some(), translated.is_some(), "{}, step {step}", plain.id);
                }
            }
        }
        assert_eq!(find_in("flood", "en"), super::super::find("flood"));
        assert_eq!(find_in("flood", "xa"), super::super::find("flood"));
    }
}
