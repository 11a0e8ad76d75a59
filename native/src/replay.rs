//! Replaying a recording from a file.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use servent_core::trace::qlog;
use servent_core::trace::replay::Replay;
pub use servent_core::trace::replay::Report;

/// Bytes read at a time.
const CHUNK: usize = 4 << 20;
/// A longer line cannot be a line of a tape.
const LINE: usize = 64 << 20;

/// Replays a recording and reports whether the node did the same. A recording that is
/// damaged, truncated or of another version is not an error: the report says
/// so.
#[must_use]
pub fn bytes(tape: &[u8]) -> Report {
    let mut replay = Replay::new();
    qlog::Split::new(tape).for_each(|line| replay.feed(qlog::parse(line)));
    replay.report().clone()
}

/// Replays a recording and reports whether the node did the same.
///
/// # Errors
/// The file cannot be read. A recording that is damaged, truncated or of another
/// version is not an error: the report says so.
pub fn file(path: &Path) -> io::Result<Report> {
    let mut file = File::open(path)?;
    let mut replay = Replay::new();
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
            replay.feed(qlog::parse(line));
        }
        let whole = split.rest();
        if last {
            return Ok(replay.report().clone());
        }
        buffer.drain(..whole);
    }
}
