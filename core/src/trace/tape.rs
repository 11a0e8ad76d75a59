//! The recording: everything a node was given, and the events it emitted.
//!
//! A recording is enough to run the node again anywhere: its configuration, its
//! seed, and every input with its instant. Every [`CHECKPOINT`] inputs it
//! records the digest of the run so far, so that a replay can verify itself.

use alloc::string::{String, ToString};
use alloc::vec::Vec;

use core::hash::Hash;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::numbered::EventNumbers;
use super::qlog;
use super::{Digest, Event, NodeId, Record};
use crate::engine::Effect;
use crate::id::ConnId;
use crate::node::{Config, Input, Output};
use crate::time::Instant;

/// The version of the recording this code writes, and the only one it re-executes.
#[doc(hidden)]
pub const VERSION: u32 = 3;
/// Inputs and timeouts between two checkpoints.
pub const CHECKPOINT: u64 = 64;

/// The start line of a tape.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    /// The recording's version, [`VERSION`] when written.
    pub version: u32,
    /// The version of the core that wrote it.
    pub core: String,
    /// The number of the node; 0 for a servent outside of a world.
    pub node: NodeId,
    /// A name for people.
    pub name: String,
    /// The seed given to [`crate::node::Node::new`].
    #[serde(with = "crate::hex::number")]
    pub seed: u64,
    /// The configuration given to it.
    pub config: Config,
}

impl Start {
    /// The start line of a new tape.
    #[must_use]
    pub fn new(node: NodeId, name: &str, seed: u64, config: Config) -> Self {
        let core = env!("CARGO_PKG_VERSION").to_string();
        Self { version: VERSION, core, node, name: name.to_string(), seed, config }
    }
}

/// One line of a recording, parsed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::large_enum_variant)] // Read, fed and dropped one at a time.
#[doc(hidden)]
pub enum RecordingLine {
    /// The qlog header; a replay needs nothing of it.
    Header,
    /// The start line.
    Start(Start),
    /// A simulated world instead of one node: its scenario, for programs that
    /// can run it.
    World {
        /// The name of its protocol.
        protocol: String,
        /// The scenario.
        scenario: Value,
    },
    /// An input given to the node.
    Input {
        /// When it was given.
        at: Instant,
        /// The input.
        input: Input,
    },
    /// The node's timers were run.
    Timeout {
        /// When they were run.
        at: Instant,
    },
    /// The state of the run after so many inputs and timeouts.
    Checkpoint(Checkpoint),
    /// Inputs are missing from here on.
    Gap {
        /// Since when.
        at: Instant,
        /// Why, for people.
        why: String,
    },
    /// An event of the node.
    Record(Record),
    /// A start line of a version that this code does not know.
    Unknown(u64),
    /// Another program's event; ignored.
    Foreign,
}

/// The state of a run at one point.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkpoint {
    /// When it was recorded.
    #[serde(rename = "us")]
    pub at: Instant,
    /// Inputs and timeouts so far.
    pub inputs: u64,
    /// Records so far.
    pub records: u64,
    /// [`RunningDigest::value`] at this point.
    #[serde(with = "crate::hex::number")]
    pub digest: u64,
}

/// The digest of a run of one node: all effects in order, with their instants.
#[derive(Debug, Clone, Copy, Default)]
pub struct RunningDigest(Digest);

impl RunningDigest {
    /// Adds the effects of one input or timeout.
    pub fn add<O: Hash, E: Hash>(&mut self, at: Instant, effects: &[Effect<O, E>]) {
        self.0.add(&at);
        for effect in effects {
            self.0.add(effect);
        }
    }
    /// The digest so far.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0.value()
    }
}

/// Writes a recording, line by line, without framing (see [`qlog::frame`]).
///
/// For every input: [`RecordingLog::input`] (or [`RecordingLog::timeout`]), then the
/// node's `handle`, then [`RecordingLog::effects`].
///
/// ```
/// use servent_core::engine::{Engine, Fx};
/// use servent_core::id::NodeId;
/// use servent_core::node::{Config, Input, Node, RestoredNode};
/// use servent_core::time::Instant;
/// use servent_core::trace::qlog;
/// use servent_core::trace::replay::Replay;
/// use servent_core::trace::tape::{Start, RecordingLog};
///
/// let (now, mut lines, mut fx) = (Instant::from_secs(1_000), Vec::new(), Fx::new());
/// let mut node = Node::new(Config::default(), 42);
/// let start = Start::new(NodeId(0), "alpha", 42, Config::default());
/// let mut tape = RecordingLog::new(now, start, &mut lines);
/// let input = Input::Start(RestoredNode::default());
/// tape.input(now, &input, &mut lines);
/// node.handle(now, input, &mut fx);
/// tape.effects(now, fx.as_slice(), &mut lines);
/// tape.checkpoint(now, &mut lines);
///
/// let mut replay = Replay::new();
/// for line in &lines {
///     replay.feed(qlog::parse(line.as_bytes()));
/// }
/// assert_eq!((replay.report().verified, replay.report().checkpoints), (1, 1));
/// ```
#[derive(Debug, Clone)]
pub struct RecordingLog {
    reference: Instant,
    inputs: u64,
    running: RunningDigest,
    numbers: EventNumbers,
    about: Option<ConnId>,
}

impl RecordingLog {
    /// Starts a recording at `at`, writing the header and the start line.
    #[must_use]
    pub fn new(at: Instant, start: Start, lines: &mut Vec<String>) -> Self {
        lines.push(qlog::header(&start.name, at));
        lines.push(qlog::line(at, at, "servent:start", &qlog::At { us: at, data: &start }));
        Self {
            numbers: EventNumbers::new(start.node),
            reference: at,
            inputs: 0,
            running: RunningDigest::default(),
            about: None,
        }
    }

    /// The node is about to be given `input`.
    pub fn input(&mut self, at: Instant, input: &Input, lines: &mut Vec<String>) {
        self.about = conn_of(input);
        let data = qlog::InputLine { us: at, input };
        lines.push(qlog::line(at, self.reference, "servent:input", &data));
    }

    /// The node's timers are about to be run.
    pub fn timeout(&mut self, at: Instant, lines: &mut Vec<String>) {
        self.about = None;
        lines.push(qlog::line(at, self.reference, "servent:timeout", &qlog::OnlyAt { us: at }));
    }

    /// The effects of the last input or timeout. Returns their events as
    /// records.
    pub fn effects(
        &mut self,
        at: Instant,
        effects: &[Effect<Output, Event>],
        lines: &mut Vec<String>,
    ) -> Vec<Record> {
        self.running.add(at, effects);
        let records = self.numbers.records(at, self.about, effects);
        lines.extend(records.iter().map(|r| qlog::record(r, self.reference)));
        self.inputs += 1;
        if self.inputs.is_multiple_of(CHECKPOINT) {
            self.checkpoint(at, lines);
        }
        records
    }

    /// Inputs were lost, for example because the disk is full: from here on the
    /// recording can be shown, but not re-executed.
    pub fn gap(&mut self, at: Instant, why: &str, lines: &mut Vec<String>) {
        let data = qlog::GapLine { us: at, why: why.into() };
        lines.push(qlog::line(at, self.reference, "servent:gap", &data));
    }

    /// Records the state of the run; this is the last line of a complete tape.
    pub fn checkpoint(&self, at: Instant, lines: &mut Vec<String>) {
        let data = Checkpoint {
            at,
            inputs: self.inputs,
            records: self.numbers.next(),
            digest: self.running.value(),
        };
        lines.push(qlog::line(at, self.reference, "servent:checkpoint", &data));
    }
}

/// The connection that an input is about.
#[must_use]
pub(crate) const fn conn_of(input: &Input) -> Option<ConnId> {
    match input {
        Input::Connection(conn, _) => Some(*conn),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
