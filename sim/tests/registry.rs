//! A protocol is registered once: its worlds run wherever the registry is asked,
//! and a new one touches a handful of shared lines.

use std::fs;
use std::path::{Path, PathBuf};

use servent_sim::echo::{EchoEvent, EchoWorld, Event, Scenario};
use servent_sim::registry::{ProtocolId, RunEnd, TaggedScenario};
use servent_sim::{Oracle as _, RegisteredProtocol as _, echo};

/// The most lines outside its own folders that the example may need.
const SHARED_LINES: usize = 8;

#[test]
fn every_scenario_file_names_its_protocol_and_comes_back() {
    for protocol in ProtocolId::ALL {
        for preset in TaggedScenario::presets_of(*protocol) {
            let text = serde_json::to_string(&preset).unwrap();
            assert!(text.starts_with(&format!(r#"{{"protocol":"{protocol}","#)), "{text}");
            assert_eq!(TaggedScenario::parse(&text).as_ref(), Ok(&preset));
            let again = TaggedScenario::preset(preset.about().id);
            assert_eq!(again, Some(preset));
        }
    }
}

#[test]
fn a_file_is_refused_with_what_to_do() {
    for (text, told) in [
        (r#"{"nodes": []}"#, r#"add "protocol": "…", one of queue, routing, unicast, swarm, meet"#),
        (
            r#"{"protocol": "torrent"}"#,
            r#""torrent" is none of queue, routing, unicast, swarm, meet"#,
        ),
        (r#"{"protocol": "queue", "shape": "ring"}"#, "unknown field `shape`"),
        ("{\"protocol\": \"queue\",\n \"seed\": }", "line 2"),
        ("{\"protocol\": \"unicast\",\n\n \"nodez\": 3}", "line 3"),
        (r#"{"protocol": "unicast", "nodes": [{}]}"#, "`nodes`: 1 nodes are fewer than 2"),
    ] {
        let wrong = TaggedScenario::parse(text).unwrap_err().to_string();
        assert!(wrong.contains(told), "{text}: {wrong}");
    }
}

#[test]
fn drawn_worlds_of_every_protocol_are_found_by_name() {
    for name in ProtocolId::listed().flat_map(ProtocolId::drawn) {
        let drawn = TaggedScenario::draw(name, 7).unwrap_or_else(|| panic!("{name} is drawn"));
        assert_eq!(drawn.seed(), Ok(7), "{name}");
    }
    assert_eq!(TaggedScenario::draw("torrent", 7), None);
}

#[test]
fn the_example_hears_every_answer_whatever_is_lost() {
    let again = TaggedScenario::preset("echo-again").expect("a preset");
    let run = again.play(1, RunEnd::Settled).expect("a world");
    assert_eq!(run.violations, []);
    assert_eq!(run.sentence, "3 of 3 questions answered, 1 asked again");
    for seed in 0..300 {
        let run = TaggedScenario::draw("echo", seed).unwrap().play(seed, RunEnd::Drawn).unwrap();
        assert_eq!(run.violations, [], "servent sim random-echo --seed {seed}");
    }
}

/// Histories that are wrong in one way each.
#[test]
fn the_oracles_of_the_example_speak_up() {
    let (scenario, mut records) = (Scenario::default(), Vec::new());
    EchoWorld::new(&scenario).run_until(scenario_end(&scenario), &mut records);
    let broken = |change: &dyn Fn(&mut EchoEvent)| {
        let mut oracles = echo::Oracles::new(&scenario);
        for mut record in records.clone() {
            if let Event::Echo(event) = &mut record.event {
                change(event);
            }
            oracles.observe(&record);
        }
        oracles.finish(scenario_end(&scenario));
        oracles.violations().iter().map(|violation| violation.key).collect::<Vec<_>>()
    };
    assert_eq!(broken(&|_| {}), [""; 0]);
    let twice = |event: &mut EchoEvent| {
        if *event == (EchoEvent::Answered { n: 1 }) {
            *event = EchoEvent::Answered { n: 0 };
        }
    };
    assert_eq!(broken(&twice)[0], "check.twice");
    let early = |event: &mut EchoEvent| {
        if *event == (EchoEvent::Answered { n: 1 }) {
            *event = EchoEvent::Answered { n: 2 };
        }
    };
    assert_eq!(broken(&early)[0], "check.not_asked");
    let deaf = |event: &mut EchoEvent| {
        if *event == (EchoEvent::Answered { n: 2 }) {
            *event = EchoEvent::Echoed { n: 2 };
        }
    };
    assert_eq!(broken(&deaf), ["check.waits"]);
}

fn scenario_end(scenario: &Scenario) -> servent_core::time::Instant {
    servent_core::time::Instant::ZERO + *echo::Echo::parts(&mut scenario.clone()).horizon
}

/// What registers the example, as it is written outside its own folders.
const MARKS: [&str; 5] =
    ["mod echo;", "echo::Echo,", "    Echo,", "worked example of CONTRIBUTING", "/echo/view.js"];

#[test]
fn the_example_touches_few_shared_lines() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut files = Vec::new();
    for folder in
        ["sim/src", "core/src", "native/src", "web/src", "xtask/src", "fuzz/targets", "www/js"]
    {
        walk(&root.join(folder), &mut files);
    }
    let shared = files.iter().filter(|file| !file.iter().any(|part| part == "echo"));
    let mut lines = Vec::new();
    for file in shared {
        let text = fs::read_to_string(file).expect("a source file");
        let named = text.lines().filter(|line| MARKS.iter().any(|mark| line.contains(mark)));
        lines.extend(named.map(|line| format!("{}: {}", file.display(), line.trim())));
    }
    assert!((5..=SHARED_LINES).contains(&lines.len()), "{lines:#?}");
    // Without them it is nowhere: its name is in no other code.
    let named = |file: &&PathBuf| {
        let text = fs::read_to_string(file).expect("a source file");
        text.contains("Echo") && !file.iter().any(|part| part == "echo")
    };
    let elsewhere: Vec<_> = files.iter().filter(named).collect();
    assert_eq!(elsewhere.len(), 1, "the registry alone names its type: {elsewhere:?}");
}

fn walk(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            walk(&path, files);
        } else if path.extension().is_some_and(|kind| kind == "rs" || kind == "js") {
            files.push(path);
        }
    }
}
