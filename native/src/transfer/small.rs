//! Small files of a transfer, at the receiver: they stay in memory until they are whole
//! and as the sender says, and many are written at a time, for each hand-over to a
//! thread that may wait for the disk costs as much as such a file.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use servent_core::unicast::UnicastPayload;
use tokio::task::{JoinHandle, spawn_blocking};

use super::Carried;
use super::inbox::{Candidate, TransferInbox};
use super::offer::OfferEntry;

/// The longest file that is small.
pub(super) const SMALL: u64 = 256 << 10;
/// How many files are written, or read, at a time.
pub(super) const FILES: usize = 64;
/// How many bytes of them.
pub(super) const BYTES: u64 = 1 << 20;

/// A small file that is being received, or is whole.
pub(super) struct SmallFile {
    pub(super) entry: usize,
    of: OfferEntry,
    found: Candidate,
    data: Vec<u8>,
}

impl SmallFile {
    /// Nothing of it is here yet.
    pub(super) const fn new(entry: usize, of: OfferEntry, found: Candidate) -> Self {
        Self { entry, of, found, data: Vec::new() }
    }

    /// How much of it is here.
    pub(super) const fn length(&self) -> u64 {
        self.data.len() as u64
    }

    /// Takes bytes; false when they are more than it has.
    pub(super) fn take(&mut self, bytes: &[u8]) -> bool {
        self.data.extend_from_slice(bytes);
        self.of.length.is_some_and(|length| self.length() <= length)
    }

    /// The digest of what is here.
    pub(super) fn digest(&self) -> [u8; 32] {
        blake3::hash(&self.data).into()
    }

    /// Which entry it is, what is here of it, and where it goes.
    pub(super) fn into_parts(self) -> (usize, UnicastPayload, Candidate) {
        (self.entry, self.data.into(), self.found)
    }
}

/// The small files that are whole and not written yet.
#[derive(Default)]
pub(super) struct SmallGroup {
    files: Vec<(SmallFile, [u8; 32])>,
    bytes: u64,
    writing: Option<JoinHandle<io::Result<Vec<Carried>>>>,
}

impl SmallGroup {
    /// One more is whole.
    pub(super) fn push(&mut self, file: SmallFile, sum: [u8; 32]) {
        self.bytes += file.length();
        self.files.push((file, sum));
    }

    /// True when it is worth writing.
    pub(super) const fn is_full(&self) -> bool {
        self.files.len() >= FILES || self.bytes >= BYTES
    }

    /// True when there is nothing to write, or to wait for.
    pub(super) const fn is_empty(&self) -> bool {
        self.files.is_empty() && self.writing.is_none()
    }

    /// Begins to write what is here; what was begun before has to be over.
    pub(super) fn write(&mut self, inbox: Arc<Mutex<TransferInbox>>) {
        let files = std::mem::take(&mut self.files);
        self.bytes = 0;
        self.writing = Some(spawn_blocking(move || {
            let mut inbox = inbox.lock().unwrap_or_else(PoisonError::into_inner);
            let store = |(file, sum): (SmallFile, [u8; 32])| {
                let length = file.length();
                let name = inbox.store(&file.of, file.found, &file.data)?;
                Ok(Carried { entry: file.entry, length, carried: length, sum, file: Some(name) })
            };
            files.into_iter().map(store).collect()
        }));
    }

    /// Waits for what is being written, and returns it. Dropping the future loses
    /// nothing.
    ///
    /// # Errors
    /// One of them could not be written.
    pub(super) async fn written(&mut self) -> io::Result<Vec<Carried>> {
        let Some(writing) = &mut self.writing else { return Ok(Vec::new()) };
        let written = writing.await.map_err(io::Error::other);
        self.writing = None;
        written.flatten()
    }

    /// Writes everything, whether it is told to the sender or not.
    ///
    /// # Errors
    /// One of them could not be written.
    pub(super) async fn settle(&mut self, inbox: &Arc<Mutex<TransferInbox>>) -> io::Result<()> {
        self.written().await?;
        self.write(Arc::clone(inbox));
        self.written().await.map(drop)
    }
}
