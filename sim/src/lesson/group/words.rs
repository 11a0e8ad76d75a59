//! Lessons for rooms in another language.

use alloc::string::String;
use alloc::vec::Vec;

use super::{ALL, GroupLesson};
use crate::lesson::words::words;

/// The texts of all lessons for rooms in one language, in the order of the lessons.
macro_rules! texts {
    ($language:literal) => {
        texts!($language; "find-the-song", "the-line", "hand-on-the-film",)
    };
    ($language:literal; $($id:literal,)*) => {
        (
            $language,
            [$(include_str!(concat!("../../../lessons/room/", $language, "/", $id, ".toml"))),*],
        )
    };
}

/// The languages of the lessons for rooms other than English.
const TRANSLATIONS: [(&str, [&str; 3]); 3] = [texts!("de"), texts!("es"), texts!("fr")];

/// Every lesson for rooms, in a language; in English where it is not in that one.
#[must_use]
pub fn groups_in(language: &str) -> Vec<GroupLesson> {
    let translation = TRANSLATIONS.iter().find(|(of, _)| *of == language);
    let all = ALL.iter().enumerate().filter_map(|(at, text)| {
        let mut lesson = GroupLesson::parse(text).ok()?;
        if let Some((_, files)) = translation {
            let known = words(files.get(at)?, language);
            each_text(&mut lesson, &mut |text| {
                if let Some(said) = known.get(text.as_str()) {
                    text.clone_from(said);
                }
            });
        }
        Some(lesson)
    });
    all.collect()
}

/// One of them by its name.
#[must_use]
pub fn group_in(id: &str, language: &str) -> Option<GroupLesson> {
    groups_in(language).into_iter().find(|lesson| lesson.id == id)
}

/// Everything in a lesson that is read by people.
fn each_text(lesson: &mut GroupLesson, see: &mut dyn FnMut(&mut String)) {
    for text in [&mut lesson.title, &mut lesson.text, &mut lesson.needs, &mut lesson.concept] {
        see(text);
    }
    for step in &mut lesson.steps {
        see(&mut step.text);
        for choice in &mut step.choices {
            see(&mut choice.text);
            see(&mut choice.why);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::GroupKind;
    use super::*;

    #[test]
    fn every_lesson_for_a_room_is_there_in_each_language_and_nothing_too_many() {
        for (language, files) in TRANSLATIONS {
            for (text, file) in ALL.iter().zip(files) {
                let mut lesson = GroupLesson::parse(text).expect("it makes sense");
                let (known, id, mut used) = (words(file, language), lesson.id.clone(), Vec::new());
                each_text(&mut lesson, &mut |text| {
                    let there = known.contains_key(text.as_str());
                    assert!(there, "{id} has no {language} for “{text}”");
                    used.push(text.clone());
                });
                assert!(known.keys().all(|en| used.contains(en)), "{id}, {language}");
            }
        }
    }

    #[test]
    fn a_lesson_for_a_room_comes_through_all_its_steps_in_order() {
        use GroupKind::{Again, Debrief, Discuss, Explain, Observe, Predict, Reveal, Say};
        for lesson in groups_in("en") {
            let kinds: Vec<_> = lesson.steps.iter().map(|step| step.kind).collect();
            assert_eq!(
                kinds,
                [Say, Predict, Discuss, Again, Reveal, Observe, Explain, Debrief],
                "{}",
                lesson.id
            );
        }
        for (language, _) in TRANSLATIONS {
            assert_ne!(group_in("the-line", language), group_in("the-line", "en"));
        }
    }
}
