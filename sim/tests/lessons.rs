//! Every lesson tells the truth: with two hundred seeds each, its questions
//! have one answer, the one its author wrote down; its goals are reached by
//! the stored solution, and by no wrong attempt.

use std::fs;
use std::path::Path;

use servent_sim::lesson::{ALL, Help, Lesson};
use servent_sim::registry::ProtocolId;

/// Seeds of each lesson.
const SEEDS: u64 = 200;

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

fn hold(view: ProtocolId) {
    let mut count = 0;
    for (name, text) in lessons() {
        let lesson = Lesson::proofread(&text).unwrap_or_else(|why| panic!("{name}: {why}"));
        if lesson.view != view {
            continue;
        }
        let report = lesson.check(SEEDS);
        assert_eq!(report.wrong, [], "{name}");
        assert!(!report.answers.is_empty(), "{name} asks nothing");
        count += 1;
    }
    assert!(count > 0, "{view:?} has lessons");
}

#[test]
fn lessons_of_the_queue_hold() {
    hold(ProtocolId::Queue);
}

#[test]
fn lessons_of_routing_hold() {
    hold(ProtocolId::Routing);
}

#[test]
fn lessons_of_unicast_hold() {
    hold(ProtocolId::Unicast);
}

#[test]
fn lessons_of_the_swarm_hold() {
    hold(ProtocolId::Swarm);
}

/// Over the three lessons of a protocol the help fades.
#[test]
fn each_protocol_has_three_lessons_with_less_and_less_help() {
    for view in ProtocolId::listed() {
        let all = servent_sim::lesson::all();
        let help: Vec<Help> = all.iter().filter(|l| l.view == view).map(|l| l.help).collect();
        assert_eq!(help, [Help::Worked, Help::Partial, Help::Goal], "{view:?}");
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
