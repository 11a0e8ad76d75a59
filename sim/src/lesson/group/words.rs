//! Lessons for rooms in another language.

use alloc::string::String;
use alloc::vec::Vec;

use super::{ALL, GroupLesson};
use crate::lesson::words::words;

/// The lessons in German, in the order of the lessons.
const GERMAN: [&str; 3] = [
    include_str!("../../../lessons/room/de/find-the-song.toml"),
    include_str!("../../../lessons/room/de/the-line.toml"),
    include_str!("../../../lessons/room/de/hand-on-the-film.toml"),
];

/// Every lesson for rooms, in a language: `de`, or English in any other case.
#[must_use]
pub fn groups_in(language: &str) -> Vec<GroupLesson> {
    let all = ALL.iter().zip(GERMAN).filter_map(|(text, pairs)| {
        let mut lesson = GroupLesson::parse(text).ok()?;
        if language == "de" {
            let known = words(pairs);
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
    fn every_lesson_for_a_room_is_there_in_german_and_nothing_too_many() {
        for (text, pairs) in ALL.iter().zip(GERMAN) {
            let mut lesson = GroupLesson::parse(text).expect("it makes sense");
            let (known, id, mut used) = (words(pairs), lesson.id.clone(), Vec::new());
            each_text(&mut lesson, &mut |text| {
                assert!(known.contains_key(text.as_str()), "{id} has no German for “{text}”");
                used.push(text.clone());
            });
            assert!(known.keys().all(|en| used.contains(en)), "{id}");
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
        assert_ne!(group_in("the-line", "de"), group_in("the-line", "en"));
    }
}
