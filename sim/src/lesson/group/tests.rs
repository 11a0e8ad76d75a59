use alloc::string::String;
use alloc::vec::Vec;
use core::net::SocketAddr;

use servent_core::engine::{Engine as _, Fx};
use servent_core::id::{FileIndex, NodeId, Sha1};
use servent_core::node::{self, ConnInput, FileInfo, Input, Node, RestoredNode, RunBit};
use servent_core::queue::FileKey;
use servent_core::time::{Duration, Instant};
use servent_core::trace::qlog;
use servent_core::trace::tape::{RecordingLog, Start};

use super::*;

/// A servent with one file and one slot, whose clients come as they are told; its
/// tape.
struct TestHost {
    node: Node,
    writer: RecordingLog,
    lines: Vec<String>,
    now: Instant,
}

impl TestHost {
    fn new() -> Self {
        let mut config = node::Config::default();
        config.queue.slots = 1;
        let now = Instant::from_secs(1_000);
        let mut lines = Vec::new();
        let start = Start::new(NodeId(0), "room", 7, config.clone());
        let writer = RecordingLog::new(now, start, &mut lines);
        let mut host = Self { node: Node::new(config, 7), writer, lines, now };
        let file = FileInfo {
            index: FileIndex(0),
            name: "film.bin".into(),
            size: 1_000_000,
            sha1: Some(Sha1([1; 20])),
            key: FileKey(1),
            modified: None,
            tree: None,
            run: RunBit(false),
        };
        host.give(Input::Start(RestoredNode {
            shared: alloc::vec![file],
            ..RestoredNode::default()
        }));
        host
    }

    fn give(&mut self, input: Input) {
        let mut fx = Fx::new();
        while self.node.poll_timeout().is_some_and(|(at, _)| at <= self.now) {
            self.writer.timeout(self.now, &mut self.lines);
            self.node.handle_timeout(self.now, &mut fx);
            drop(self.writer.effects(self.now, fx.as_slice(), &mut self.lines));
            fx.drain().for_each(drop);
        }
        self.writer.input(self.now, &input, &mut self.lines);
        self.node.handle(self.now, input, &mut fx);
        drop(self.writer.effects(self.now, fx.as_slice(), &mut self.lines));
    }

    fn asks(&mut self, n: u8) {
        let conn = servent_core::id::ConnId(u64::from(n) * 2);
        let peer = SocketAddr::from(([10, 0, 0, n], 5_000));
        let head = "GET /get/0/film.bin HTTP/1.1\r\nHost: x\r\nX-Queue: 0.1\r\n\r\n";
        self.give(Input::Connection(conn, ConnInput::Accepted { peer, local: None }));
        self.give(Input::Connection(conn, ConnInput::Bytes { data: head.into() }));
    }

    fn later(&mut self, seconds: u64) {
        self.now += Duration::from_secs(seconds);
    }

    fn tape(mut self) -> Vec<u8> {
        self.writer.checkpoint(self.now, &mut self.lines);
        self.lines.iter().flat_map(|line| qlog::frame(line).into_bytes()).collect()
    }
}

#[test]
fn a_slot_is_idle_from_the_end_of_a_download_until_the_next_one_asks() {
    let mut host = TestHost::new();
    host.asks(1);
    host.later(2);
    host.asks(2);
    host.later(3);
    // The first one has gone, with its slot; the second asks again after a while.
    host.give(Input::Connection(servent_core::id::ConnId(2), ConnInput::Closed));
    let tape = host.tape();
    let scenario = arrivals(&tape, Instant::ZERO).expect("two came");
    assert_eq!(scenario.clients.len(), 2);
    assert_eq!(scenario.clients[1].first, Duration::from_secs(2));
    assert_eq!(scenario.servers[0].queue.slots, 1);
    for variant in &scenario.variants {
        assert!(scenario.variant(&variant.name).is_some());
    }
    assert!(arrivals(&tape, Instant::from_secs(5_000)).is_none(), "no client came so late");
    let facts = Facts::from_recording(&tape, Instant::ZERO);
    assert_eq!(facts.get("servents"), Some(1.0));
    assert_eq!(facts.get("unheard"), None, "no node searched");
}

#[test]
fn what_is_true_is_what_the_facts_say_and_without_facts_nothing_is() {
    let line = group_in("the-line", "en").expect("it is there");
    assert_eq!(line.truth(1, &Facts::default()), None);
    let idle = |seconds| Facts::from_iter([("idle", seconds)]);
    assert_eq!(line.truth(1, &idle(0.2)), Some(0));
    let facts = idle(9.0);
    assert_eq!((line.truth(1, &facts), line.truth(3, &facts)), (Some(1), Some(1)));
    assert_eq!(line.truth(0, &facts), None, "nothing is asked there");
}

#[test]
fn every_lesson_has_one_truth_for_every_recording() {
    for lesson in groups_in("en") {
        for step in 0..lesson.steps.len() {
            let choices = &lesson.steps[step].choices;
            for n in 0..216_u32 {
                // Numbers on both sides of every bound, in many combinations.
                let facts = NAMES.iter().enumerate().map(|(at, name)| {
                    let value = f64::from((n / 6_u32.pow(at as u32 % 3)) % 6) * 0.75;
                    (*name, if *name == "idle" { value } else { value.floor() })
                });
                let facts: Facts = facts.collect();
                let holds = |choice: &&GroupChoice| choice.holds.iter().all(|it| it.holds(&facts));
                let true_ones = choices.iter().filter(holds).count();
                assert_eq!(
                    true_ones,
                    usize::from(!choices.is_empty()),
                    "{}, step {step}",
                    lesson.id
                );
            }
        }
    }
}

#[test]
fn a_lesson_that_makes_no_sense_is_refused_with_a_sentence() {
    let with = |steps: &str| {
        let head = "id = 'x'\ntitle = 'x'\ntext = 'x'\nneeds = ''\nconcept = 'x'\nminutes = 1\n";
        GroupLesson::parse(&alloc::format!("{head}{steps}")).map_err(|why| alloc::format!("{why}"))
    };
    let asks =
        |choices: &str| with(&alloc::format!("[[step]]\ndo = 'predict'\ntext = 'x'\n{choices}"));
    assert!(asks("").unwrap_err().contains("two to four"));
    let no = asks(
        "choices = [{ text = 'a', why = 'b', holds = [{ fact = 'moon' }] }, { text = 'a', why = 'b', holds = [] }]",
    );
    assert!(no.unwrap_err().contains("no such fact"));
    assert!(with("[[step]]\ndo = 'again'\ntext = 'x'\n").unwrap_err().contains("asked before"));
    let room = |deeds: &str| {
        with(&alloc::format!("[[step]]\ndo = 'say'\ntext = 'x'\nroom = {{ {deeds} }}\n"))
    };
    assert!(room("slots = 0, degree = 8, ttl = 7, rate = 10_000").is_ok());
    for (deeds, said) in [
        ("slots = 17", "`slots`"),
        ("degree = 0", "`degree`"),
        ("ttl = 8", "`ttl`"),
        ("rate = 9_999", "`rate`"),
        ("rate = 100_000_001", "`rate`"),
        ("rate = 99_999_999_999", "u32"),
        ("rate = -1", "u32"),
    ] {
        let why = room(deeds).unwrap_err();
        assert!(why.contains(said), "{deeds}: {why}");
    }
}
