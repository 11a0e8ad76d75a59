//! The file under redb, with flushing under our control: when a commit returns,
//! the system has everything redb wrote, in order, and that is all that
//! surviving the death of the process requires.

use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use redb::StorageBackend;

use super::Durability;
use crate::sys::FileAt as _;

/// The file of the store, and whether it has unflushed writes.
#[derive(Debug)]
pub(crate) struct Flusher {
    file: File,
    behind: AtomicBool,
    flushes: AtomicU64,
}

impl Flusher {
    /// Flushes to the disk what is not there yet.
    pub(crate) fn flush(&self) -> io::Result<()> {
        if self.behind.swap(false, Ordering::AcqRel) {
            self.file.sync_data().inspect_err(|_| self.behind.store(true, Ordering::Release))?;
            self.flushes.fetch_add(1, Ordering::Relaxed);
        }
        Ok(())
    }

    /// The number of disk flushes.
    #[cfg(test)]
    pub(super) fn flushes(&self) -> u64 {
        self.flushes.load(Ordering::Relaxed)
    }
}

/// What redb reads and writes. The lock against a second servent is a separate
/// file, so redb's locks are not needed.
#[derive(Debug)]
pub(super) struct Backend {
    flusher: Arc<Flusher>,
    durability: Durability,
}

impl Backend {
    pub(super) fn new(file: File, durability: Durability) -> (Self, Arc<Flusher>) {
        let flusher =
            Arc::new(Flusher { file, behind: AtomicBool::new(false), flushes: AtomicU64::new(0) });
        (Self { flusher: Arc::clone(&flusher), durability }, flusher)
    }
}

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        Ok(self.flusher.file.metadata()?.len())
    }
    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.flusher.file.read_exact_at(out, offset)
    }
    fn set_len(&self, len: u64) -> io::Result<()> {
        self.flusher.file.set_len(len)
    }
    fn sync_data(&self) -> io::Result<()> {
        self.flusher.behind.store(true, Ordering::Release);
        match self.durability {
            Durability::Process => Ok(()),
            Durability::Power => self.flusher.flush(),
        }
    }
    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.flusher.file.write_all_at(data, offset)
    }
    fn close(&self) -> io::Result<()> {
        self.flusher.flush()
    }
}
