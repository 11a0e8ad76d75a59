//! A recording with a cursor: its records, and the node re-executed up to any
//! instant.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use serde_json::Value;

use super::Digest;
use super::qlog::{self, QlogLine, RawRecord, Split};
use super::replay::{Replay, Report};
use super::tape::{Checkpoint, RecordingLine, Start};
use crate::engine::{Engine, Fx};
use crate::node::{Input, Node};
use crate::time::Instant;

/// Inputs between two keyframes.
const EVERY: usize = 256;

/// A step of the node: an input or a timeout.
#[derive(Debug, Clone)]
enum NodeStep {
    Input(Box<Input>),
    Timeout,
}

/// A recording, as far as it has been read, with a cursor.
#[derive(Debug, Clone, Default)]
pub struct Player {
    /// The start line, once it was read.
    start: Option<Start>,
    given: Vec<(Instant, NodeStep)>,
    /// Each record, and the number of inputs before it.
    records: Vec<(u32, RawRecord)>,
    keyframes: Vec<Node>,
    replay: Replay,
    checkpoints: u64,
    claim: Option<Checkpoint>,
    last: Instant,
    partial: Vec<u8>,
    lines: Vec<String>,
    world: Option<(String, Value)>,
    index: usize,
    now: Instant,
    cursor: Option<(usize, Node)>,
}

impl Player {
    /// An empty player.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds more of the file; a line may be split between two calls.
    pub fn append(&mut self, bytes: &[u8]) {
        self.partial.extend_from_slice(bytes);
        let bytes = core::mem::take(&mut self.partial);
        let mut split = Split::new(&bytes);
        for line in &mut split {
            self.line(line);
        }
        self.partial = bytes[split.rest()..].to_vec();
    }

    fn line(&mut self, text: &[u8]) {
        if let Ok(text) = core::str::from_utf8(text) {
            self.lines.push(text.into());
        }
        let line = match qlog::read(text) {
            Ok(QlogLine::Record(record)) => {
                self.replay.feed_record(&record);
                self.last = self.last.max(record.at);
                let given = u32::try_from(self.given.len()).unwrap_or(u32::MAX);
                return self.records.push((given, record));
            }
            Ok(QlogLine::Line(line)) => Ok(*line),
            Err(why) => Err(why),
        };
        match &line {
            Ok(RecordingLine::Start(start)) => {
                let (lines, replay) =
                    (core::mem::take(&mut self.lines), core::mem::take(&mut self.replay));
                *self = Self { lines, replay, ..Self::default() };
                self.start = Some(start.clone());
                self.keyframes.push(Node::new(start.config.clone(), start.seed));
            }
            Ok(RecordingLine::World { protocol, scenario }) => {
                self.world = Some((protocol.clone(), scenario.clone()));
            }
            Ok(RecordingLine::Input { at, input }) => {
                self.give(*at, NodeStep::Input(Box::new(input.clone())))
            }
            Ok(RecordingLine::Timeout { at }) => self.give(*at, NodeStep::Timeout),
            Ok(RecordingLine::Checkpoint(claim)) => {
                self.checkpoints += 1;
                self.claim = Some(claim.clone());
            }
            _ => {}
        }
        self.replay.feed(line);
        let sound = self.keyframes.len() == self.given.len() / EVERY;
        if let (true, true, Some(node)) =
            (sound, self.given.len().is_multiple_of(EVERY), self.replay.node())
        {
            self.keyframes.push(node.clone());
        }
    }

    fn give(&mut self, at: Instant, given: NodeStep) {
        self.last = self.last.max(at);
        self.given.push((at, given));
    }

    /// When the file is of a simulated world: the name of its protocol, and its
    /// scenario.
    #[must_use]
    pub fn world(&self) -> Option<(&str, &Value)> {
        self.world.as_ref().map(|(protocol, scenario)| (protocol.as_str(), scenario))
    }

    /// The start line of the tape.
    #[must_use]
    pub const fn start(&self) -> Option<&Start> {
        self.start.as_ref()
    }

    /// The result of the re-execution.
    #[must_use]
    pub const fn report(&self) -> &Report {
        self.replay.report()
    }

    /// Checkpoints on the tape.
    #[must_use]
    pub const fn checkpoints(&self) -> u64 {
        self.checkpoints
    }

    /// The last checkpoint on the tape.
    #[must_use]
    pub const fn claim(&self) -> Option<&Checkpoint> {
        self.claim.as_ref()
    }

    /// The lines as read.
    #[must_use]
    pub fn lines(&self) -> &[String] {
        &self.lines
    }

    /// The last known instant.
    #[must_use]
    pub const fn frontier(&self) -> Instant {
        self.last
    }

    /// The instant of the cursor.
    #[must_use]
    pub const fn now(&self) -> Instant {
        self.now
    }

    /// The number of records up to the cursor.
    #[must_use]
    pub const fn index(&self) -> usize {
        self.index
    }

    /// The number of records known.
    #[must_use]
    pub fn count(&self) -> usize {
        self.records.len()
    }

    /// A record.
    #[must_use]
    pub fn record(&self, i: usize) -> Option<&RawRecord> {
        self.records.get(i).map(|(_, r)| r)
    }

    /// The index of the record with this number: a recording that lost lines has
    /// fewer records than numbers.
    #[must_use]
    pub fn index_of(&self, seq: u64) -> Option<usize> {
        let i = self.records.partition_point(|(_, r)| r.seq < seq);
        self.record(i).filter(|r| r.seq == seq).map(|_| i)
    }

    /// What the node was given as number `i`: when, and the input, or `None`
    /// where its timers were run. Ends where it cannot be re-executed any more.
    #[must_use]
    pub fn given(&self, i: usize) -> Option<(Instant, Option<&Input>)> {
        let sound = usize::try_from(self.report().inputs).unwrap_or(usize::MAX);
        let (at, given) = self.given.get(i).filter(|_| i < sound)?;
        Some(match given {
            NodeStep::Input(input) => (*at, Some(&**input)),
            NodeStep::Timeout => (*at, None),
        })
    }

    /// The number of the input, or timeout, that led to record `i`.
    #[must_use]
    pub fn led_to(&self, i: usize) -> Option<usize> {
        let (given, _) = self.records.get(i)?;
        (*given as usize).checked_sub(1)
    }

    /// How many inputs and timeouts the node at the cursor has been given.
    #[must_use]
    pub fn position(&self) -> Option<usize> {
        self.cursor.as_ref().map(|(given, _)| *given)
    }

    /// The number of records up to an instant.
    #[must_use]
    pub fn records_until(&self, at: Instant) -> usize {
        self.records.partition_point(|(_, r)| r.at <= at)
    }

    /// The digest of the records up to the cursor.
    #[must_use]
    pub fn digest(&self) -> u64 {
        let mut digest = Digest::default();
        for (_, r) in &self.records[..self.index] {
            digest.add(&(r.seq, r.at, &r.event));
        }
        digest.value()
    }

    /// Moves the cursor to an instant.
    pub fn seek(&mut self, to: Instant) {
        self.now = to;
        self.index = self.records_until(to);
        let given = self.given.partition_point(|(at, _)| *at <= to);
        self.execute_to(given);
    }

    /// Moves the cursor to just after record `i`; false when there is none.
    pub fn seek_record(&mut self, i: usize) -> bool {
        let Some((given, record)) = self.records.get(i) else { return false };
        self.now = record.at;
        self.index = i + 1;
        let given = *given as usize;
        self.execute_to(given);
        true
    }

    /// The node at the cursor, as far as it could be re-executed.
    #[must_use]
    pub fn node(&self) -> Option<&Node> {
        self.cursor.as_ref().map(|(_, node)| node)
    }

    /// The node before and after the input that led to the newest record;
    /// several records may come from one input.
    #[must_use]
    pub fn around_input(&self) -> Option<[Node; 2]> {
        let given = self.records.get(self.index.checked_sub(1)?)?.0 as usize;
        let (at, before) = self.executed(given.saturating_sub(1), None)?;
        let (_, after) = self.executed(given, Some((at, before.clone())))?;
        Some([before, after])
    }

    fn execute_to(&mut self, given: usize) {
        let from = self.cursor.take();
        self.cursor = self.executed(given, from);
    }

    /// The node after so many inputs, from the nearest keyframe or `from`.
    fn executed(&self, given: usize, from: Option<(usize, Node)>) -> Option<(usize, Node)> {
        let sound = usize::try_from(self.report().inputs).unwrap_or(usize::MAX);
        if given > sound || self.keyframes.is_empty() {
            return None;
        }
        let frame = (given / EVERY).min(self.keyframes.len() - 1);
        let near = from.filter(|(at, _)| *at <= given && *at >= frame * EVERY);
        let (mut at, mut node) =
            near.unwrap_or_else(|| (frame * EVERY, self.keyframes[frame].clone()));
        let mut fx = Fx::new();
        while at < given {
            let (when, what) = &self.given[at];
            match what {
                NodeStep::Input(input) => node.handle(*when, (**input).clone(), &mut fx),
                NodeStep::Timeout => node.handle_timeout(*when, &mut fx),
            }
            fx.drain().for_each(drop);
            at += 1;
        }
        Some((at, node))
    }
}
