//! The recording of a page's servent, in memory.

use servent_core::engine::Effect;
use servent_core::node::{Event, Input, Output};
use servent_core::time::Instant;
use servent_core::trace::qlog;
use servent_core::trace::tape::{RecordingLog, Start};

/// Bytes of recording that are kept; then it ends with a gap.
const TAPE: usize = 64 << 20;

pub(super) struct PageRecording {
    writer: RecordingLog,
    lines: Vec<String>,
    bytes: usize,
    full: bool,
}

impl PageRecording {
    pub(super) fn new(now: Instant, start: Start) -> Self {
        let mut lines = Vec::new();
        let writer = RecordingLog::new(now, start, &mut lines);
        Self { writer, lines, bytes: 0, full: false }
    }

    /// All of it so far, with the digest of everything until now.
    pub(super) fn text(&mut self, now: Instant) -> String {
        let mut lines = self.lines.clone();
        if !self.full {
            self.writer.checkpoint(now, &mut lines);
        }
        lines.iter().map(|line| qlog::frame(line)).collect()
    }

    /// Its lines from that one on, with the digest of everything until now as the
    /// last one; nothing when there are none.
    pub(super) fn text_from(&mut self, line: usize, now: Instant) -> String {
        // Nothing that is not in the digest of the last line is new.
        if !self.full && self.lines.len() > line.max(1) {
            self.writer.checkpoint(now, &mut self.lines);
        }
        self.lines.iter().skip(line).map(|line| qlog::frame(line)).collect()
    }

    /// How many lines it has.
    pub(super) const fn lines(&self) -> usize {
        self.lines.len()
    }

    pub(super) fn input(&mut self, at: Instant, input: &Input) {
        self.add(|writer, lines| writer.input(at, input, lines));
    }

    pub(super) fn timeout(&mut self, at: Instant) {
        self.add(|writer, lines| writer.timeout(at, lines));
    }

    pub(super) fn effects(&mut self, at: Instant, effects: &[Effect<Output, Event>]) {
        self.add(|writer, lines| drop(writer.effects(at, effects, lines)));
        if self.bytes > TAPE && !self.full {
            self.full = true;
            self.writer.gap(at, "the page keeps no more", &mut self.lines);
        }
    }

    fn add(&mut self, write: impl FnOnce(&mut RecordingLog, &mut Vec<String>)) {
        if !self.full {
            let before = self.lines.len();
            write(&mut self.writer, &mut self.lines);
            self.bytes += self.lines[before..].iter().map(String::len).sum::<usize>();
        }
    }
}
