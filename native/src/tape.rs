//! The recording of a running servent: to a file, and kept in memory for the lab.
//!
//! Memory never makes the node's task wait, and the file only where that is
//! wanted. Lines that the file cannot take in time are left out, and an
//! explicit gap says so; likewise for lines that memory no longer holds. A file
//! that has reached its limit ends in such a gap: what strangers send cannot
//! fill the disk.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;

use servent_core::engine::Effect;
use servent_core::node::{Input, Output};
use servent_core::time::Instant;
use servent_core::trace::tape::{RecordingLog, Start};
use servent_core::trace::{Event, Record, qlog};
use tokio::sync::broadcast;

use crate::sys::OwnerOnly as _;

/// Turns that may wait to be written to the file.
const FILE_TURNS: usize = 4_096;
/// The same when the node waits for the file.
const FILE_TURNS_AWAITED: usize = 4;
/// Bytes of lines kept in memory.
const MEMORY: usize = if cfg!(test) { 64 << 10 } else { 64 << 20 };
/// Lines and records a slow subscriber may be behind.
const BEHIND: usize = 16_384;

/// The lines so far and a subscription to later ones.
pub type RecordingSubscription = (Vec<Arc<str>>, broadcast::Receiver<Arc<str>>);

/// A trace file. Only its owner may read it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceFile {
    /// Its path.
    pub path: PathBuf,
    /// The longest it may become, in bytes; 0 for no limit. When it is full the
    /// run goes on, and a gap at its end says so.
    pub limit: u64,
    /// Wait for a slow file instead of leaving lines out.
    pub waits: bool,
}

impl TraceFile {
    /// The default limit of a file in bytes.
    pub const LIMIT: u64 = 1 << 30;
}

impl From<PathBuf> for TraceFile {
    fn from(path: PathBuf) -> Self {
        Self { path, limit: Self::LIMIT, waits: false }
    }
}

/// Lines in memory, for late subscribers.
#[derive(Debug)]
pub(crate) struct LineMemory {
    kept: Mutex<RecentLines>,
    records: broadcast::Sender<Arc<Record>>,
}

#[derive(Debug)]
struct RecentLines {
    /// Header and start: always kept.
    head: Vec<Arc<str>>,
    /// The gap that stands for missing lines after the head.
    gap: Option<Arc<str>>,
    lines: VecDeque<Arc<str>>,
    bytes: usize,
    live: broadcast::Sender<Arc<str>>,
}

impl LineMemory {
    fn new(head: &[String]) -> Self {
        let kept = RecentLines {
            head: head.iter().map(|line| Arc::from(line.as_str())).collect(),
            gap: None,
            lines: VecDeque::new(),
            bytes: 0,
            live: broadcast::Sender::new(BEHIND),
        };
        Self { kept: Mutex::new(kept), records: broadcast::Sender::new(BEHIND) }
    }

    fn kept(&self) -> MutexGuard<'_, RecentLines> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Everything so far, and a subscription that continues without a gap.
    pub(crate) fn join(&self) -> RecordingSubscription {
        let kept = self.kept();
        let lines = kept.head.iter().chain(&kept.gap).chain(&kept.lines).cloned().collect();
        (lines, kept.live.subscribe())
    }

    /// A subscription to records from now on.
    pub(crate) fn records(&self) -> broadcast::Receiver<Arc<Record>> {
        self.records.subscribe()
    }

    /// Adds lines; true when older ones had to be dropped.
    fn add(&self, lines: &[String]) -> bool {
        let mut kept = self.kept();
        for line in lines {
            let line: Arc<str> = Arc::from(line.as_str());
            kept.bytes += line.len();
            kept.lines.push_back(Arc::clone(&line));
            let _ = kept.live.send(line); // There may be no subscriber.
        }
        let mut lost = false;
        while kept.bytes > MEMORY
            && let Some(old) = kept.lines.pop_front()
        {
            kept.bytes -= old.len();
            lost = true;
        }
        lost
    }
}

/// The recording that the node's task writes.
#[derive(Debug)]
pub(crate) struct RecordingWriter {
    writer: RecordingLog,
    lines: Vec<String>,
    file: Option<FileTape>,
    memory: Option<Arc<LineMemory>>,
}

#[derive(Debug)]
struct FileTape {
    turns: SyncSender<Vec<String>>,
    thread: JoinHandle<std::io::Result<()>>,
    /// The node's task waits for the file.
    waits: bool,
    missing: u64,
    /// Bytes the file may still take; `None` once it is full.
    room: Option<u64>,
}

impl RecordingWriter {
    /// Begins a recording in a file, in memory, or both; `None` for neither.
    ///
    /// # Errors
    /// The file cannot be created.
    pub(crate) fn begin(
        at: Instant,
        start: Start,
        file: Option<&TraceFile>,
        memory: bool,
    ) -> std::io::Result<Option<Self>> {
        if file.is_none() && !memory {
            return Ok(None);
        }
        let mut lines = Vec::new();
        let writer = RecordingLog::new(at, start, &mut lines);
        let memory = memory.then(|| Arc::new(LineMemory::new(&lines)));
        let file = file.map(|file| FileTape::begin(file, &lines)).transpose()?;
        Ok(Some(Self { writer, lines: Vec::new(), file, memory }))
    }

    /// The lines in memory.
    pub(crate) fn memory(&self) -> Option<Arc<LineMemory>> {
        self.memory.clone()
    }

    /// Records an input about to be handled.
    pub(crate) fn input(&mut self, at: Instant, input: &Input) {
        self.writer.input(at, input, &mut self.lines);
    }

    /// Records a timeout about to be handled.
    pub(crate) fn timeout(&mut self, at: Instant) {
        self.writer.timeout(at, &mut self.lines);
    }

    /// Records the effects of the last input or timeout.
    pub(crate) fn effects(&mut self, at: Instant, effects: &[Effect<Output, Event>]) {
        for record in self.writer.effects(at, effects, &mut self.lines) {
            if let Some(memory) = &self.memory {
                let _ = memory.records.send(Arc::new(record)); // There may be no subscriber.
            }
        }
    }

    /// Passes on the turn's lines; returns how many the file could not take.
    pub(crate) fn turn(&mut self, at: Instant) -> u64 {
        let lines = std::mem::take(&mut self.lines);
        if lines.is_empty() {
            return 0;
        }
        if let Some(memory) = &self.memory
            && memory.add(&lines)
        {
            let mut gap = Vec::new();
            self.writer.gap(at, "older lines are not kept in memory", &mut gap);
            memory.kept().gap = gap.pop().map(Arc::from);
        }
        self.file.as_mut().map_or(0, |file| file.add(at, lines, &self.writer))
    }

    /// Ends the recording and waits until all of it is in the file.
    pub(crate) fn end(mut self, at: Instant) -> std::io::Result<()> {
        self.writer.checkpoint(at, &mut self.lines);
        let lines = std::mem::take(&mut self.lines);
        if let Some(memory) = &self.memory {
            memory.add(&lines);
        }
        let Some(file) = self.file else { return Ok(()) };
        let lines = file.after_gap(at, lines, &self.writer);
        let FileTape { turns, thread, room, .. } = file;
        if room.is_some() {
            let _ = turns.send(lines); // If the writer is gone, the error follows below.
        }
        drop(turns);
        thread.join().unwrap_or_else(|_| Err(std::io::Error::other("the trace writer failed")))
    }
}

impl FileTape {
    fn begin(file: &TraceFile, head: &[String]) -> std::io::Result<Self> {
        let TraceFile { path, limit, waits } = file;
        let limit = if *limit == 0 { u64::MAX } else { *limit };
        let (mut file, waits) = (private(path)?, *waits);
        for line in head {
            file.write_all(qlog::frame(line).as_bytes())?;
        }
        let (turns, taken) = sync_channel(if waits { FILE_TURNS_AWAITED } else { FILE_TURNS });
        let thread = std::thread::Builder::new()
            .name("trace".into())
            .spawn(move || write(BufWriter::with_capacity(1 << 16, file), &taken))?;
        Ok(Self { turns, thread, waits, missing: 0, room: Some(limit) })
    }

    fn add(&mut self, at: Instant, lines: Vec<String>, writer: &RecordingLog) -> u64 {
        let count = lines.len() as u64;
        let Some(room) = self.room else { return count };
        let lines = self.after_gap(at, lines, writer);
        let bytes = lines.iter().map(|line| qlog::frame(line).len() as u64).sum();
        let Some(left) = room.checked_sub(bytes) else {
            self.fill(at, writer);
            return count;
        };
        let handed = if self.waits {
            self.turns.send(lines).map_err(|lost| TrySendError::Disconnected(lost.0))
        } else {
            self.turns.try_send(lines)
        };
        match handed {
            Ok(()) => {
                self.missing = 0;
                self.room = Some(left);
                0
            }
            Err(why) => {
                if self.missing == 0 && matches!(why, TrySendError::Disconnected(_)) {
                    tracing::error!("the trace file takes no more lines");
                }
                self.missing += count;
                count
            }
        }
    }

    /// Writes at the end of the file that it is full.
    fn fill(&mut self, at: Instant, writer: &RecordingLog) {
        self.room = None;
        let mut gap = Vec::new();
        writer.clone().gap(at, "the file is as long as --trace-limit lets it be", &mut gap);
        let _ = self.turns.send(gap); // If the writer is gone, `end` reports why.
        tracing::warn!("the trace file is full; what happens from now on is not in it");
    }

    /// The next lines for the file, after a gap record if lines are missing.
    fn after_gap(&self, at: Instant, lines: Vec<String>, writer: &RecordingLog) -> Vec<String> {
        if self.missing == 0 {
            return lines;
        }
        let why = format!("{} lines came faster than the file takes them", self.missing);
        let mut all = Vec::new();
        writer.clone().gap(at, &why, &mut all);
        all.extend(lines);
        all
    }
}

/// A recording contains the seed and every ticket, so no other user may read it. An
/// existing file keeps its permissions.
fn private(path: &Path) -> std::io::Result<File> {
    File::options().write(true).create(true).truncate(true).private().open(path)
}

/// Writes turn by turn; flushes whenever the queue is empty, so that the file
/// can be read while the servent runs.
fn write(mut file: BufWriter<File>, turns: &Receiver<Vec<String>>) -> std::io::Result<()> {
    loop {
        let lines = match turns.try_recv() {
            Ok(lines) => lines,
            Err(_) => {
                file.flush()?;
                match turns.recv() {
                    Ok(lines) => lines,
                    Err(_) => return file.flush(),
                }
            }
        };
        for line in lines {
            file.write_all(qlog::frame(&line).as_bytes())?;
        }
    }
}

#[cfg(test)]
#[path = "tape_tests.rs"]
mod tests;
