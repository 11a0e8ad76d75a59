//! Every lesson tells the truth: with many seeds each, its questions have one
//! answer, the one its author wrote down; its goals are reached by the stored
//! solution, and by no wrong attempt.

use std::fs;
use std::path::Path;

use servent_sim::lesson::{
    ALL, AnswerChoice, Help, Lesson, LessonStep, Question, QuestionKind, StepKind, Task,
};
use servent_sim::registry::ProtocolId;

/// Seeds of each lesson; those of a campaign take minutes.
const SEEDS: u64 = 20;
const CAMPAIGN_SEEDS: u64 = 200;

/// The lessons of the folder, by the names of their files.
fn lessons() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("lessons");
    let mut all: Vec<(String, String)> = fs::read_dir(folder)
        .expect("there is a folder of lessons")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.is_file())
        .map(|path| {
            (path.file_name().unwrap().to_string_lossy().into(), fs::read_to_string(path).unwrap())
        })
        .collect();
    all.sort();
    all
}

fn hold(view: ProtocolId, seeds: u64) {
    let mut count = 0;
    for (name, text) in lessons() {
        let lesson = Lesson::proofread(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        if lesson.view != view {
            continue;
        }
        let report = lesson.check(seeds);
        assert_eq!(report.wrong, [], "{name}");
        assert!(!report.answers.is_empty(), "{name} asks nothing");
        count += 1;
    }
    assert!(count > 0, "{view:?} has lessons");
}

#[test]
fn lessons_of_the_queue_hold() {
    hold(ProtocolId::Queue, SEEDS);
}

#[test]
fn lessons_of_routing_hold() {
    hold(ProtocolId::Routing, SEEDS);
}

#[test]
fn lessons_of_unicast_hold() {
    hold(ProtocolId::Unicast, SEEDS);
}

#[test]
fn lessons_of_the_swarm_hold() {
    hold(ProtocolId::Swarm, SEEDS);
}

#[test]
fn lessons_of_meetings_hold() {
    hold(ProtocolId::Meet, SEEDS);
}

#[test]
#[ignore = "run by `cargo xtask campaign`: it takes minutes"]
fn every_lesson_holds_with_many_more_seeds() {
    for view in ProtocolId::listed() {
        hold(view, CAMPAIGN_SEEDS);
    }
}

/// The protocols with a course of their own; a meeting is one lesson of another.
fn taught() -> impl Iterator<Item = ProtocolId> {
    ProtocolId::listed().filter(|view| *view != ProtocolId::Meet)
}

/// Over three lessons of a protocol the help fades, and over three more again; what
/// comes after them begins a round of its own.
#[test]
fn each_protocol_has_two_rounds_of_lessons_with_less_and_less_help() {
    for view in taught() {
        let all = servent_sim::lesson::all();
        let all = all.iter().filter(|lesson| lesson.view == view && !lesson.exit_test);
        let help: Vec<Help> = all.map(|lesson| lesson.help).collect();
        let round = [Help::Worked, Help::Partial, Help::Goal];
        let further = help.len().saturating_sub(6).min(3);
        assert_eq!(help, [&round[..], &round, &round[..further]].concat(), "{view:?}");
    }
}

/// What can be chosen in a step.
fn choices(step: &LessonStep) -> &[AnswerChoice] {
    match &step.task {
        Task::Question(Question { of: QuestionKind::Choice(choices), .. }) => choices,
        _ => &[],
    }
}

/// The sentences of a lesson's choices that tempt.
fn tempting(lesson: &Lesson) -> impl Iterator<Item = &String> {
    let all = lesson.steps.iter().flat_map(choices);
    all.filter(|choice| choice.wrong.is_some()).map(|choice| &choice.text)
}

/// Of every protocol there is an exit test, whose wrong answers were wrong in a
/// lesson before it: no learner is led astray by what the lessons did not show.
#[test]
fn an_exit_test_tempts_with_what_tempted_in_its_lessons() {
    let all = servent_sim::lesson::all();
    for view in taught() {
        let (tests, lessons): (Vec<&Lesson>, Vec<&Lesson>) =
            all.iter().filter(|lesson| lesson.view == view).partition(|lesson| lesson.exit_test);
        let met: Vec<&String> = lessons.into_iter().flat_map(tempting).collect();
        let [test] = tests[..] else { panic!("{view:?} has {} exit tests", tests.len()) };
        assert!(test.steps.len() >= 3, "{view:?}");
        assert!(tempting(test).count() >= test.steps.len(), "{view:?}");
        for text in tempting(test) {
            assert!(met.contains(&text), "{view:?}: no lesson has “{text}”");
        }
    }
}

/// A lesson with something wrong in it, and where that is.
#[test]
fn what_makes_no_sense_is_refused_at_its_line_and_column() {
    let whole = include_str!("../lessons/cut-the-wire.toml");
    let line_of = |text: &str, part: &str| {
        let before = &text[..text.find(part).expect("it is there")];
        before.matches('\n').count() + 1
    };
    for (was, is, what) in [
        ("view = \"queue\"", "view = \"kew\"", "unknown variant"),
        ("minutes = 6", "minuets = 6", "unknown field"),
        ("preset = \"one-cut-wire\"", "preset = \"none\"", "no preset `none`"),
        ("at = 34", "at = 3400", "the world ends after 300 s"),
        ("do = \"predict\"", "do = \"foretell\"", "unknown variant"),
        ("do = \"say\"", "do = \"predict\"", "it needs one of"),
        ("same_as = \"guess\"", "same_as = \"riddle\"", "no step before has the id `riddle`"),
        ("about = \"active-1\"", "about = \"active-9\"", "no node `active-9`"),
        ("event = \"queue.started\"", "event = \"started\"", "an area and what happens"),
        ("event = \"queue.started\"", "event = \"queue.strated\"", "`strated` is none of"),
        ("event = \"queue.started\"", "event = \"line.started\"", "`line` is none of conn, queue"),
        ("\"clients.2.dialect\"", "\"clients.9.dialect\"", "the scenario has no `9` there"),
        ("do = \"explain\"", "do = \"free\"", "a step that explains"),
    ] {
        let text = whole.replacen(was, is, 1);
        let why = Lesson::proofread(&text).expect_err(is);
        assert!(why.what.contains(what), "{is}: {why}");
        let far = line_of(&text, is).abs_diff(why.line);
        let at_step = what.contains("the scenario has no");
        let at_id = what.contains("a step that explains");
        assert!(far == 0 || at_step && far < 8 || at_id && why.line == 1, "{is}: {why}");
        assert!(why.column > 0 && why.to_string().starts_with("line "), "{why}");
    }
}

/// What a check is for: an answer that is not true is found, with its seed.
#[test]
fn a_lesson_that_lies_is_found_out() {
    let lie = include_str!("../lessons/polling-windows.toml").replacen("never =", "happens =", 1);
    let report = Lesson::parse(&lie).expect("it can be read").check(3);
    assert!(report.wrong[0].what.contains("are both true"), "{:?}", report.wrong);
    let lie = include_str!("../lessons/deadlock.toml").replacen(
        "solution = { set = { \"swarm.policy\" = \"adaptive\" } }",
        "solution = { set = { \"source_slots\" = 8 } }",
        1,
    );
    let report = Lesson::parse(&lie).expect("it can be read").check(3);
    assert!(report.wrong[0].what.contains("does not reach the goal"), "{:?}", report.wrong);
}

#[test]
fn the_module_carries_every_lesson_of_the_folder() {
    let (mut carried, mut there): (Vec<&str>, Vec<String>) =
        (ALL.to_vec(), lessons().into_iter().map(|(_, text)| text).collect());
    carried.sort_unstable();
    there.sort();
    assert_eq!(carried, there);
    for (name, text) in lessons() {
        let lesson = Lesson::parse(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        assert_eq!(name, format!("{}.toml", lesson.id));
    }
}

/// What is right because nothing happens, or of half of all that happens, is seen
/// only at the end.
const SEEN_AT_THE_END: [&str; 2] = ["deadlock", "fill-the-queue"];

#[test]
fn the_verdict_on_a_prediction_comes_with_what_was_asked() {
    for lesson in servent_sim::lesson::all() {
        for (i, step) in lesson.steps.iter().enumerate() {
            if step.kind != StepKind::Reveal {
                continue;
            }
            let decided = lesson.decided(i).expect("a run");
            let late = SEEN_AT_THE_END.contains(&lesson.id.as_str());
            assert_eq!(decided.is_none(), late, "{}, step {}", lesson.id, i + 1);
        }
    }
}

#[test]
fn what_is_seen_belongs_to_a_step_that_shows_it_and_has_to_happen_there() {
    let text = ALL[1];
    let never = text.replace(
        "until = 120",
        "until = 120\nseen = { happens = { event = \"queue.lost\", about = \"parq-2\" } }",
    );
    let report = Lesson::parse(&never).expect("a lesson").check(1);
    assert!(report.wrong.iter().any(|found| found.what.contains("`seen`")), "{:?}", report.wrong);
    let elsewhere = text.replace("at = 20", "seen = { never = { event = \"queue.lost\" } }");
    let told = Lesson::parse(&elsewhere).expect_err("a step that shows nothing").what;
    assert!(told.contains("`seen` belongs"), "{told}");
}
