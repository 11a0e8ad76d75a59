//! Reading what is sent: a block ahead of the sending, and summed meanwhile, on
//! a thread that may wait for the disk.

use std::fs::File;
use std::io::{self, Read as _};

use blake3::Hasher;
use servent_core::unicast::UnicastPayload;
use tokio::task::{JoinHandle, spawn_blocking};

use super::message::{CHUNK, DATA};
use super::offer::Source;
use super::secret::TAG;

/// Data messages read together: handing one to another thread costs as much as
/// sending it.
const BLOCK: usize = 16;

/// A file, or a stream, of which the next messages are being read.
pub(super) struct Ahead {
    reading: JoinHandle<io::Result<ReadAhead>>,
}

/// What comes next of it.
pub(super) enum Next {
    /// Data messages, at least one.
    Messages(Vec<UnicastPayload>),
    /// Nothing: this is the digest of all of it.
    End([u8; 32]),
    /// Nothing: it has changed since it was offered, and what was read is a mixture.
    Changed,
}

/// What was read, and with what it goes on.
struct ReadAhead {
    file: File,
    /// Of everything so far.
    hash: Hasher,
    /// Bytes to come; `None` for a stream, which goes on until it ends.
    left: Option<u64>,
    /// Data messages; none at the end.
    messages: Vec<UnicastPayload>,
    /// Where it is read, if it has a path.
    source: Option<Source>,
    changed: bool,
}

impl Ahead {
    /// Begins to read at the file's position, after what has this digest.
    pub(super) fn begin(
        (file, source): (File, Option<Source>),
        hash: Hasher,
        left: Option<u64>,
    ) -> Self {
        let read = ReadAhead { file, hash, left, messages: Vec::new(), source, changed: false };
        Self { reading: spawn_blocking(|| read.more()) }
    }

    /// What comes next; nothing may be asked for after the end. Dropping the future
    /// loses nothing.
    ///
    /// # Errors
    /// It cannot be read.
    pub(super) async fn next(&mut self) -> io::Result<Next> {
        let mut read = (&mut self.reading).await.map_err(io::Error::other)??;
        let messages = std::mem::take(&mut read.messages);
        if read.changed {
            return Ok(Next::Changed);
        }
        if messages.is_empty() {
            return Ok(Next::End(read.hash.finalize().into()));
        }
        self.reading = spawn_blocking(|| read.more());
        Ok(Next::Messages(messages))
    }
}

impl ReadAhead {
    fn more(mut self) -> io::Result<Self> {
        while self.messages.len() < BLOCK {
            let message = self.message()?;
            if self.changed {
                return Ok(self);
            }
            if message.len() == 1 {
                if self.messages.is_empty() {
                    self.changed = !self.is_as_offered()?;
                }
                break;
            }
            self.hash.update(&message[1..]);
            self.messages.push(message.into());
            // What comes through a pipe is sent as it comes.
            if self.left.is_none() {
                break;
            }
        }
        Ok(self)
    }

    fn is_as_offered(&self) -> io::Result<bool> {
        match &self.source {
            Some(Source { path, stamp: Some(stamp) }) => stamp.holds(&self.file, path),
            _ => Ok(true),
        }
    }

    /// The next message, with room for its seal; only its type byte at the end.
    fn message(&mut self) -> io::Result<Vec<u8>> {
        let mut message = Vec::with_capacity(1 + CHUNK + TAG);
        message.push(DATA);
        match &mut self.left {
            Some(left) => {
                let most = (*left).min(CHUNK as u64);
                let got = (&self.file).take(most).read_to_end(&mut message)? as u64;
                self.changed |= got < most;
                *left -= got;
            }
            None => {
                message.resize(1 + CHUNK, 0);
                let got = self.file.read(&mut message[1..])?;
                message.truncate(1 + got);
            }
        }
        Ok(message)
    }
}
