//! Re-executes a recording: the same inputs at the same instants must lead to the
//! same effects, or the replay reports where they no longer do.

use alloc::string::String;

use serde::Serialize;

use super::Event;
use super::qlog::LineError;
use super::tape::{Checkpoint, RecordingLine, RunningDigest, Start, VERSION};
use crate::engine::{Engine, Fx};
use crate::node::{Node, Output};
use crate::time::Instant;

/// The result of a replay so far.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Report {
    /// The node's name, once the start line was read.
    pub name: Option<String>,
    /// Inputs and timeouts re-executed.
    pub inputs: u64,
    /// Records the re-execution produced.
    pub records: u64,
    /// Checkpoints compared and found equal.
    pub verified: u64,
    /// Checkpoints compared.
    pub checkpoints: u64,
    /// The first checkpoint that differed: the run diverged from the recording
    /// between the checkpoint before it and this instant.
    pub diverged_at: Option<Instant>,
    /// The last instant that was verified.
    pub verified_at: Option<Instant>,
    /// Where inputs are missing; nothing after it is re-executed.
    pub gap_at: Option<Instant>,
    /// Why inputs are missing.
    pub gap_why: Option<String>,
    /// The version of the recording, when this code cannot re-execute it.
    pub unknown_version: Option<u64>,
    /// Lines that could not be parsed.
    pub damaged: u64,
    /// Inputs since the last checkpoint: executed, but not verified.
    pub unverified_inputs: u64,
}

impl Report {
    /// True for a recording that is whole and was run again as it was recorded.
    #[must_use]
    pub const fn is_sound(&self) -> bool {
        let foreign = self.unknown_version.is_some() || self.name.is_none();
        let broken = self.damaged > 0 || self.gap_at.is_some();
        !foreign && !broken && self.diverged_at.is_none() && self.verified > 0
    }
}

/// Re-executes the recording of one node, line by line.
///
/// ```
/// use servent_core::trace::qlog::{self, Split};
/// use servent_core::trace::replay::Replay;
///
/// let file = b"not a tape\n"; // `std::fs::read` gives a real one.
/// let mut replay = Replay::new();
/// for line in Split::new(file) {
///     replay.feed(qlog::parse(line));
/// }
/// println!("{}", replay.report());
/// assert_eq!(replay.report().damaged, 1);
/// ```
#[derive(Debug, Clone, Default)]
pub struct Replay {
    node: Option<Node>,
    running: RunningDigest,
    report: Report,
    now: Instant,
}

impl Replay {
    /// A replay that expects the start line.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Takes the next line.
    pub fn feed(&mut self, line: Result<RecordingLine, LineError>) {
        match line {
            Ok(RecordingLine::Start(start)) => self.start(start),
            Ok(RecordingLine::Unknown(version)) => self.report.unknown_version = Some(version),
            Ok(RecordingLine::Input { at, input }) => {
                self.run(at, |node, fx| node.handle(at, input, fx));
            }
            Ok(RecordingLine::Timeout { at }) => {
                self.run(at, |node, fx| node.handle_timeout(at, fx))
            }
            Ok(RecordingLine::Checkpoint(checkpoint)) => {
                if self.node.is_some() {
                    self.report.compare(&checkpoint, self.running);
                }
            }
            Ok(RecordingLine::Gap { at, why }) => {
                self.node = None;
                self.report.gap_at.get_or_insert(at);
                self.report.gap_why.get_or_insert(why);
            }
            Ok(
                RecordingLine::Header
                | RecordingLine::World { .. }
                | RecordingLine::Record(_)
                | RecordingLine::Foreign,
            ) => {}
            Err(_) => {
                self.report.damaged += 1;
                // The content of that line is lost, so what follows proves
                // nothing.
                self.node = None;
                self.report.gap_at.get_or_insert(self.now);
            }
        }
    }

    /// The result so far.
    #[must_use]
    pub const fn report(&self) -> &Report {
        &self.report
    }

    /// The current node, as long as it can be re-executed.
    #[must_use]
    pub const fn node(&self) -> Option<&Node> {
        self.node.as_ref()
    }

    /// The instant of the last line executed.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    fn start(&mut self, start: Start) {
        debug_assert_eq!(start.version, VERSION);
        self.report = Report { name: Some(start.name), ..Report::default() };
        self.running = RunningDigest::default();
        self.node = Some(Node::new(start.config, start.seed));
    }

    fn run(&mut self, at: Instant, go: impl FnOnce(&mut Node, &mut Fx<Output, Event>)) {
        self.now = at;
        let Some(node) = &mut self.node else { return };
        let mut fx = Fx::new();
        go(node, &mut fx);
        self.running.add(at, fx.as_slice());
        self.report.inputs += 1;
        self.report.unverified_inputs += 1;
        self.report.records += fx.events().count() as u64;
    }
}

impl Report {
    /// Compares a checkpoint with the run so far.
    pub(super) fn compare(&mut self, checkpoint: &Checkpoint, running: RunningDigest) {
        let Checkpoint { at, inputs, digest, .. } = *checkpoint;
        if self.diverged_at.is_some() {
            return;
        }
        self.checkpoints += 1;
        if inputs == self.inputs && digest == running.value() {
            self.verified += 1;
            self.verified_at = Some(at);
            self.unverified_inputs = 0;
        } else {
            self.diverged_at = Some(at);
        }
    }
}

impl core::fmt::Display for Report {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if let Some(version) = self.unknown_version {
            return write!(
                f,
                "this recording has format version {version}, and this program replays version \
                 {VERSION}: replay it with the program that made it"
            );
        }
        let Some(_) = &self.name else {
            return write!(f, "no start line: this is not a tape of a servent");
        };
        match (self.diverged_at, self.verified_at) {
            (Some(at), Some(good)) => {
                write!(f, "diverged between {good:?} and {at:?} after ")?;
            }
            (Some(at), None) => write!(f, "diverged before {at:?}: ")?,
            (None, _) => {}
        }
        write!(f, "verified {}/{}", self.verified, self.checkpoints)?;
        write!(f, " ({} inputs, {} records)", self.inputs, self.records)?;
        if self.unverified_inputs > 0 && self.diverged_at.is_none() {
            write!(f, ", {} inputs after the last checkpoint unverified", self.unverified_inputs)?;
        }
        if let Some(at) = self.gap_at {
            write!(f, ", a gap at {at:?}")?;
            if let Some(why) = &self.gap_why {
                write!(f, ": {why}")?;
            }
        }
        Ok(())
    }
}
