use servent_core::engine::{Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::node::{Config, ConnInput, Node, RestoredNode};
use servent_core::trace::NodeId;
use servent_core::trace::replay::Replay;

use super::*;

/// A recording, the node it is of, and the time.
struct Bench {
    tape: RecordingWriter,
    node: Node,
    at: Instant,
}

impl Bench {
    fn new(file: Option<&TraceFile>, memory: bool) -> Self {
        let (at, config) = (Instant::from_secs(1), Config::default());
        let start = Start::new(NodeId(0), "test", 7, config.clone());
        let tape = RecordingWriter::begin(at, start, file, memory).unwrap().unwrap();
        let mut bench = Self { tape, node: Node::new(config, 7), at };
        bench.turn(Input::Start(RestoredNode::default()));
        bench
    }

    /// One turn; how many lines the file could not take.
    fn turn(&mut self, input: Input) -> u64 {
        self.at += servent_core::time::Duration::from_millis(1);
        let mut fx = Fx::new();
        self.tape.input(self.at, &input);
        self.node.handle(self.at, input, &mut fx);
        self.tape.effects(self.at, fx.as_slice());
        self.tape.turn(self.at)
    }

    /// A peer connects and disconnects.
    fn visit(&mut self, n: u64) -> u64 {
        let (conn, peer) = (ConnId(2 * n), "192.0.2.1:9".parse().unwrap());
        let came = ConnInput::Accepted { peer, local: None };
        self.turn(Input::Connection(conn, came))
            + self.turn(Input::Connection(conn, ConnInput::Closed))
    }
}

fn replayed<'a>(lines: impl IntoIterator<Item = &'a str>) -> servent_core::trace::replay::Report {
    let mut replay = Replay::new();
    for line in lines {
        replay.feed(qlog::parse(line.as_bytes()));
    }
    replay.report().clone()
}

#[test]
fn memory_that_is_full_drops_the_oldest_lines_and_says_so() {
    let mut bench = Bench::new(None, true);
    let memory = bench.tape.memory().unwrap();
    for n in 0..20 {
        bench.visit(n);
    }
    let (whole, mut live) = memory.join();
    let report = replayed(whole.iter().map(AsRef::as_ref));
    assert_eq!((report.gap_at, report.inputs), (None, 41));
    for n in 20..1_000 {
        bench.visit(n);
    }
    let (cut, _) = memory.join();
    let kept: usize = cut.iter().map(|line| line.len()).sum();
    assert!(kept < MEMORY + 4_096, "{kept} bytes are kept");
    assert_eq!(cut[..2], whole[..2], "header and start stay");
    let report = replayed(cut.iter().map(AsRef::as_ref));
    assert_eq!(report.gap_why.as_deref(), Some("older lines are not kept in memory"));
    assert!(report.gap_at.is_some() && report.diverged_at.is_none(), "{report}");
    // A reader that was there before misses nothing.
    assert!(live.try_recv().unwrap().len() > 10);
    bench.tape.end(bench.at).unwrap();
}

#[test]
fn lines_that_a_slow_file_cannot_take_leave_a_gap_and_never_hold_the_node_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.sqlog");
    // The writer comes to its work only after the turns.
    let mut bench = Bench::new(Some(&path.clone().into()), false);
    let (turns, taken) = sync_channel(4);
    let file = bench.tape.file.as_mut().unwrap();
    let slow = std::mem::replace(&mut file.turns, turns);
    let lost: u64 = (0..10).map(|n| bench.visit(n)).sum();
    assert!(lost > 0);
    let first: Vec<_> = taken.try_iter().collect();
    assert_eq!(first.len(), 4);
    assert_eq!(bench.visit(10), 0, "there is room again");
    let more: u64 = (11..20).map(|n| bench.visit(n)).sum();
    assert!(more > 0);
    // Everything that was taken reaches the file; the end says what is missing.
    let rest: Vec<_> = taken.try_iter().collect();
    bench.tape.file.as_mut().unwrap().turns = slow.clone();
    first.into_iter().chain(rest).for_each(|turn| slow.send(turn).unwrap());
    drop(slow);
    bench.tape.end(bench.at).unwrap();
    let text = std::fs::read_to_string(&path).unwrap();
    let gaps: Vec<_> = text.lines().filter(|line| line.contains("servent:gap")).collect();
    assert_eq!(gaps.len(), 2, "{text}");
    assert!(gaps[0].contains(&format!("{lost} lines came faster")), "{}", gaps[0]);
    assert!(gaps[1].contains(&format!("{more} lines came faster")), "{}", gaps[1]);
    let report = crate::replay::file(&path).unwrap();
    assert!(report.gap_at.is_some() && report.diverged_at.is_none(), "{report}");
}

#[test]
fn a_file_that_is_full_ends_in_a_gap_and_holds_nothing_up() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("t.sqlog");
    let file = TraceFile { limit: 20_000, ..path.clone().into() };
    let mut bench = Bench::new(Some(&file), false);
    let lost: u64 = (0..1_000).map(|n| bench.visit(n)).sum();
    assert!(lost > 0);
    bench.tape.end(bench.at).unwrap();
    let text = std::fs::read(&path).unwrap();
    assert!((15_000..40_000).contains(&text.len()), "{} bytes", text.len());
    let report = crate::replay::file(&path).unwrap();
    let why = report.gap_why.as_deref().unwrap_or_default();
    assert!(why.contains("--trace-limit") && report.diverged_at.is_none(), "{report}");
    assert!(report.inputs > 10 && report.verified > 0, "{report}");
}
