//! A node is recorded, and run again from the recording alone. With the path
//! of a recording as its argument (`servent share --trace FILE` writes one) it runs
//! that one again.

use std::error::Error;

use servent_core::engine::{Engine, Fx};
use servent_core::id::{ConnId, NodeId};
use servent_core::node::{Config, ConnInput, Input, Node, RestoredNode};
use servent_core::time::{Duration, Instant};
use servent_core::trace::qlog::{self, Split};
use servent_core::trace::replay::{Replay, Report};
use servent_core::trace::tape::{RecordingLog, Start};

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args_os().nth(1) {
        Some(path) => println!("{}", replayed(&std::fs::read(path)?)),
        None => demonstrate()?,
    }
    Ok(())
}

/// Records, runs again, and runs a changed recording.
pub(crate) fn demonstrate() -> Result<(), Box<dyn Error>> {
    let tape = recorded()?;
    println!("{} bytes of tape", tape.len());
    let report = replayed(&tape);
    println!("as recorded: {report}");
    assert!(report.diverged_at.is_none() && report.verified > 0);

    // One byte of one input is another: the digests no longer agree.
    let changed = String::from_utf8(tape)?.replacen("192.0.2.7", "192.0.2.8", 1);
    let report = replayed(changed.as_bytes());
    println!("with one input changed: {report}");
    assert!(report.diverged_at.is_some());
    Ok(())
}

/// Runs a node for a minute; what it was given, and what came of it.
fn recorded() -> Result<Vec<u8>, Box<dyn Error>> {
    let (config, seed) = (Config::default(), 42);
    let mut now = Instant::from_secs(1_000);
    let mut lines = Vec::new();
    let start = Start::new(NodeId(0), "an example", seed, config.clone());
    let mut tape = RecordingLog::new(now, start, &mut lines);
    let mut node = Node::new(config, seed);
    let mut fx = Fx::new();

    let conn = ConnId(0);
    let data = b"GET /get/1/no-such-file HTTP/1.1\r\nHost: here\r\n\r\n".to_vec();
    for input in [
        Input::Start(RestoredNode::default()),
        Input::Connection(
            conn,
            ConnInput::Accepted { peer: "192.0.2.7:50000".parse()?, local: None },
        ),
        Input::Connection(conn, ConnInput::Bytes { data }),
    ] {
        tape.input(now, &input, &mut lines);
        node.handle(now, input, &mut fx);
        tape.effects(now, fx.as_slice(), &mut lines);
        fx.drain().for_each(drop); // A host carries out the outputs here.
    }
    let end = now + Duration::from_secs(60);
    while let Some((due, _timer)) = node.poll_timeout().filter(|(due, _)| *due <= end) {
        now = due;
        tape.timeout(now, &mut lines);
        node.handle_timeout(now, &mut fx);
        tape.effects(now, fx.as_slice(), &mut lines);
        fx.drain().for_each(drop);
    }
    tape.checkpoint(now, &mut lines);
    Ok(lines.iter().map(|line| qlog::frame(line)).collect::<String>().into_bytes())
}

/// Runs a recording again and compares.
fn replayed(tape: &[u8]) -> Report {
    let mut replay = Replay::new();
    for line in Split::new(tape) {
        replay.feed(qlog::parse(line));
    }
    replay.report().clone()
}
