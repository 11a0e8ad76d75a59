//! Re-executes a recording: the same inputs at the same instants must lead to the
//! same effects, or the replay reports where they no longer do.

use alloc::collections::VecDeque;
use alloc::string::String;

use serde::Serialize;

use super::numbered::EventNumbers;
use super::qlog::{self, LineError, RawRecord};
use super::tape::{Checkpoint, RecordingLine, RunningDigest, Start, VERSION, conn_of};
use super::{Digest, Event, Record};
use crate::engine::{Engine, Fx};
use crate::id::ConnId;
use crate::node::{ConnEvent, Minor, Node, Output};
use crate::time::Instant;

/// What is wrong with a line of a recording.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LineFault {
    /// Its event is another one than that of the run.
    Changed,
    /// Before it, an event of the run has no line.
    Missing,
    /// The run has no such event.
    Extra,
}

/// A line that does not say what the run says there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LineDifference {
    /// Its number in the file; the first is 1.
    pub line: u64,
    /// What is wrong with it.
    pub fault: LineFault,
}

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
    /// between the checkpoint before it and this instant. Or the instant of
    /// [`Report::differs`].
    pub diverged_at: Option<Instant>,
    /// The first line whose event is not that of the run: then that is where it
    /// diverged.
    pub differs: Option<LineDifference>,
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
    /// Inputs and timeouts that no checkpoint covers: those since the last one that
    /// agreed, and those behind a gap, which could not be executed at all.
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
    numbers: EventNumbers,
    /// Events of the run whose lines are still to come.
    expected: VecDeque<Record>,
    /// Lines read.
    lines: u64,
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
        self.lines += 1;
        match line {
            Ok(RecordingLine::Start(start)) => self.start(start),
            Ok(RecordingLine::Unknown(version)) => self.report.unknown_version = Some(version),
            Ok(RecordingLine::Input { at, input }) => {
                self.run(at, conn_of(&input), |node, fx| node.handle(at, input, fx));
            }
            Ok(RecordingLine::Timeout { at }) => {
                self.run(at, None, |node, fx| node.handle_timeout(at, fx))
            }
            Ok(RecordingLine::Record(record)) => self.compare(&record),
            Ok(RecordingLine::Checkpoint(checkpoint)) => {
                if self.node.is_some() {
                    self.miss_nothing();
                    self.report.compare(&checkpoint, self.running);
                }
            }
            Ok(RecordingLine::Gap { at, why }) => {
                self.node = None;
                self.report.gap_at.get_or_insert(at);
                self.report.gap_why.get_or_insert(why);
            }
            Ok(RecordingLine::Header | RecordingLine::World { .. } | RecordingLine::Foreign) => {}
            Err(_) => {
                self.report.damaged += 1;
                // The content of that line is lost, so what follows proves
                // nothing.
                self.node = None;
                self.report.gap_at.get_or_insert(self.now);
            }
        }
    }

    /// Takes the next line, which is a record whose event was left as text.
    pub(super) fn feed_record(&mut self, record: &RawRecord) {
        match self.node {
            Some(_) => self.feed(qlog::typed(record)),
            None => self.lines += 1,
        }
    }

    /// The next event of the file has to be the next one of the run.
    fn compare(&mut self, theirs: &Record) {
        if self.node.is_none() {
            return;
        }
        match self.expected.pop_front() {
            Some(ours) if repeats(theirs, &ours) => {}
            Some(ours) if ours.seq < theirs.seq => self.differ(LineFault::Missing),
            Some(_) => self.differ(LineFault::Changed),
            None => self.differ(LineFault::Extra),
        }
    }

    /// Every event of the run so far has to have had its line.
    fn miss_nothing(&mut self) {
        if !self.expected.is_empty() {
            self.differ(LineFault::Missing);
            self.expected.clear();
        }
    }

    /// Notes that the line read last differs from the run.
    fn differ(&mut self, fault: LineFault) {
        if self.report.diverged_at.is_none() {
            self.report.diverged_at = Some(self.now);
            self.report.differs = Some(LineDifference { line: self.lines, fault });
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
        self.numbers = EventNumbers::new(start.node);
        self.expected.clear();
        self.node = Some(Node::new(start.config, start.seed));
    }

    fn run(
        &mut self,
        at: Instant,
        about: Option<ConnId>,
        go: impl FnOnce(&mut Node, &mut Fx<Output, Event>),
    ) {
        if self.node.is_some() {
            self.miss_nothing();
        }
        self.now = at;
        self.report.unverified_inputs += 1;
        let Some(node) = &mut self.node else { return };
        let mut fx = Fx::new();
        go(node, &mut fx);
        self.running.add(at, fx.as_slice());
        self.report.inputs += 1;
        let records = self.numbers.records(at, about, fx.as_slice());
        self.report.records += records.len() as u64;
        self.expected.extend(records);
    }
}

/// True when a record of a file is that of the run. One of an earlier program may lack
/// what was added since, and adds nothing to the digest.
fn repeats(theirs: &Record, ours: &Record) -> bool {
    let digest = |record: &Record| {
        let mut digest = Digest::default();
        digest.add(record);
        digest.value()
    };
    let lacks = || match &theirs.event {
        Event::Conn(ConnEvent::Request { version, .. }) => *version == Minor::default(),
        _ => false,
    };
    theirs == ours || lacks() && digest(theirs) == digest(ours)
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
        if self.damaged > 0 && self.diverged_at.is_none() {
            let lines = NumberOfThings(self.damaged, "line");
            write!(f, "damaged: {lines} cannot be read; before that ")?;
        }
        match (self.diverged_at, self.verified_at) {
            _ if self.differs.is_some() => {}
            (Some(at), Some(good)) => {
                write!(f, "diverged between {good:?} and {at:?} after ")?;
            }
            (Some(at), None) => write!(f, "diverged before {at:?}: ")?,
            (None, _) => {}
        }
        if let Some(LineDifference { line, fault }) = self.differs {
            match fault {
                LineFault::Changed => write!(f, "line {line} has another event than the run: ")?,
                LineFault::Missing => {
                    write!(f, "before line {line} an event of the run is missing: ")?
                }
                LineFault::Extra => write!(f, "line {line} has an event that the run has not: ")?,
            }
        }
        write!(f, "verified {}/{}", self.verified, self.checkpoints)?;
        let (inputs, records) =
            (NumberOfThings(self.inputs, "input"), NumberOfThings(self.records, "record"));
        write!(f, " ({inputs}, {records})")?;
        if self.unverified_inputs > 0 && self.diverged_at.is_none() {
            let inputs = NumberOfThings(self.unverified_inputs, "input");
            match self.gap_at {
                Some(_) => write!(f, ", {inputs} unverified")?,
                // A servent that was killed leaves one that ends so.
                None => write!(f, ", {inputs} after the last checkpoint unverified")?,
            }
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

/// A number of things, in words.
struct NumberOfThings(u64, &'static str);

impl core::fmt::Display for NumberOfThings {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let Self(n, one) = self;
        write!(f, "{n} {one}{}", if *n == 1 { "" } else { "s" })
    }
}
