//! Re-executing a tape from a file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use servent_core::trace::replay::Replay;
pub use servent_core::trace::replay::Report;
use servent_core::trace::{letters, qlog};

/// Bytes read at once.
const CHUNK: usize = 4 << 20;
/// A line longer than this is no line of a tape.
const LINE: usize = 64 << 20;

/// Whoever runs on a tape.
#[derive(Default)]
enum Machine {
    /// The start has not been read.
    #[default]
    Unknown,
    Node(Box<Replay>),
    /// One that only speaks reliable unicast, as `send` and `receive`.
    Messenger(Box<letters::Replay>),
}

impl Machine {
    fn feed(&mut self, line: &[u8]) {
        let names = |name: &str| {
            let name = format!("\"name\":\"{name}\"");
            line.windows(name.len()).take(64).any(|part| part == name.as_bytes())
        };
        if matches!(self, Self::Unknown) {
            if names(letters::START) {
                *self = Self::Messenger(Box::default());
            } else if names("servent:start") {
                *self = Self::Node(Box::default());
            }
        }
        match self {
            // A header, or nothing that is a tape's.
            Self::Unknown => {}
            Self::Node(replay) => replay.feed(qlog::parse(line)),
            Self::Messenger(replay) => replay.feed(line),
        }
    }

    fn report(&self) -> Report {
        match self {
            Self::Unknown => Report::default(),
            Self::Node(replay) => replay.report().clone(),
            Self::Messenger(replay) => replay.report().clone(),
        }
    }
}

/// Runs whoever is on a tape again and says whether it did the same. A tape
/// that is damaged, cut short or of another version is no error: the report
/// says so.
#[must_use]
pub fn bytes(tape: &[u8]) -> Report {
    let mut machine = Machine::default();
    qlog::Split::new(tape).for_each(|line| machine.feed(line));
    machine.report()
}

/// Runs the node of a tape again and says whether it did the same.
///
/// # Errors
/// The file cannot be read. A tape that is damaged, cut short or of another
/// version is no error: the report says so.
pub fn file(path: &Path) -> io::Result<Report> {
    let mut file = File::open(path)?;
    let mut replay = Machine::default();
    let mut buffer = Vec::new();
    loop {
        let before = buffer.len();
        if before > LINE {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "a line has no end"));
        }
        buffer.resize(before + CHUNK, 0);
        let n = file.read(&mut buffer[before..])?;
        buffer.truncate(before + n);
        let last = n == 0;
        let mut split = qlog::Split::new(&buffer);
        for line in &mut split {
            replay.feed(line);
        }
        let whole = split.rest();
        if last {
            return Ok(replay.report());
        }
        buffer.drain(..whole);
    }
}
