//! Writing what arrives: a block behind the receiving, and summed meanwhile, on
//! a thread that may wait for the disk.

use std::fs::File;
use std::io::{self, Write as _};
use std::time::Duration;

use blake3::Hasher;
use servent_core::unicast::UnicastPayload;
use tokio::task::{JoinHandle, spawn_blocking};

use crate::clock::Stopwatch;

/// Bytes written together: handing a message to another thread costs as much as
/// receiving it.
const BLOCK: usize = 1 << 20;
/// How long fewer bytes wait for more: what is lost when the program is killed.
pub(super) const PATIENCE: Duration = Duration::from_millis(50);

/// A file that is being written.
pub(super) struct Behind {
    /// What has arrived since.
    next: Vec<UnicastPayload>,
    bytes: usize,
    since: Stopwatch,
    /// Each write is waited for: a program reads at the other end.
    at_once: bool,
    out: Out,
}

/// Where the file is.
enum Out {
    Here(File, Box<Hasher>),
    /// A thread writes to it.
    Away(JoinHandle<io::Result<(File, Box<Hasher>)>>),
    /// A write failed.
    Lost,
}

impl Behind {
    /// Writes to the file from its position on, after what has this digest.
    pub(super) fn new(file: File, hash: Hasher, at_once: bool) -> Self {
        let (next, since) = (Vec::new(), Stopwatch::start());
        Self { next, bytes: 0, since, at_once, out: Out::Here(file, Box::new(hash)) }
    }

    /// Takes what has arrived. Waits while more than a block is behind. Dropping
    /// the future loses nothing.
    ///
    /// # Errors
    /// This, or something before it, could not be written.
    pub(super) async fn write(&mut self, bytes: UnicastPayload) -> io::Result<()> {
        self.bytes += bytes.len();
        self.next.push(bytes);
        let written = matches!(&self.out, Out::Away(writing) if writing.is_finished());
        if written || self.bytes >= BLOCK {
            self.back().await?;
        }
        if self.bytes >= BLOCK || self.at_once || self.since.elapsed() >= PATIENCE {
            self.begin();
        }
        if self.at_once { self.back().await } else { Ok(()) }
    }

    /// Has everything that is here written: no more may come for a while. Dropping
    /// the future loses nothing.
    ///
    /// # Errors
    /// Something before it could not be written.
    pub(super) async fn hurry(&mut self) -> io::Result<()> {
        if !self.next.is_empty() {
            self.back().await?;
            self.begin();
        }
        Ok(())
    }

    /// Waits until everything is written; returns the digest of all of it, and
    /// the file.
    ///
    /// # Errors
    /// Something could not be written.
    pub(super) async fn settle(&mut self) -> io::Result<(&File, [u8; 32])> {
        self.back().await?;
        self.begin();
        self.back().await?;
        match &self.out {
            Out::Here(file, hash) => Ok((file, hash.finalize().into())),
            _ => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Has what is here written, unless a thread is writing.
    fn begin(&mut self) {
        match std::mem::replace(&mut self.out, Out::Lost) {
            Out::Here(mut file, mut hash) => {
                let block = std::mem::take(&mut self.next);
                (self.bytes, self.since) = (0, Stopwatch::start());
                self.out = Out::Away(spawn_blocking(move || {
                    for bytes in block {
                        hash.update(&bytes);
                        file.write_all(&bytes)?;
                    }
                    Ok((file, hash))
                }));
            }
            other => self.out = other,
        }
    }

    /// Waits for the thread that writes.
    async fn back(&mut self) -> io::Result<()> {
        if let Out::Away(writing) = &mut self.out {
            let written = writing.await.map_err(io::Error::other).flatten();
            self.out = Out::Lost;
            let (file, hash) = written?;
            self.out = Out::Here(file, hash);
        }
        Ok(())
    }
}
