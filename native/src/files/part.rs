//! A file that is being downloaded.

use std::fs::File;

use servent_core::node::StoreError;

use super::store_error;
use crate::store::Durability;
use crate::sys::{FileAt as _, allocated, free_behind};

/// An open partial download.
#[derive(Debug)]
pub(crate) struct PartFile {
    file: File,
    durability: Durability,
    /// Bytes of its disk that it leaves free.
    reserve: u64,
}

impl PartFile {
    /// Over an open file.
    pub(crate) const fn new(file: File, durability: Durability) -> Self {
        Self { file, durability, reserve: 0 }
    }

    /// Leaves so many bytes of its disk free, which others need, such as our state.
    pub(crate) fn leaving(self, reserve: u64) -> Self {
        Self { reserve, ..self }
    }

    /// Sets its length.
    pub(crate) fn set_size(&self, size: u64) -> Result<(), StoreError> {
        self.file.set_len(size).map_err(|why| store_error(&why))
    }

    /// Cuts off what an earlier attempt left beyond the end.
    pub(crate) fn not_longer_than(&self, size: u64) -> Result<(), StoreError> {
        let longer = self.file.metadata().is_ok_and(|meta| meta.len() > size);
        if longer { self.set_size(size) } else { Ok(()) }
    }

    /// Writes `data` at `at`.
    pub(crate) fn write_at(&self, data: &[u8], at: u64) -> Result<(), StoreError> {
        if self.reserve > 0 && self.free().is_some_and(|free| free < data.len() as u64) {
            return Err(StoreError::Full);
        }
        self.file.write_all_at(data, at).map_err(|why| store_error(&why))
    }

    /// Another handle to read from.
    pub(crate) fn reader(&self) -> Result<File, StoreError> {
        self.file.try_clone().map_err(|why| store_error(&why))
    }

    /// True when what is reported as stored must be on the disk.
    pub(crate) fn must_settle(&self) -> bool {
        self.durability == Durability::Power
    }

    /// Flushes to the disk.
    pub(crate) fn settle(&self) -> Result<(), StoreError> {
        self.file.sync_data().map_err(|why| store_error(&why))
    }

    /// Detects a full disk before the download begins. The space is not
    /// reserved: the size is only what a remote says.
    pub(crate) fn check_room(&self, size: u64) -> Result<(), StoreError> {
        let Some(free) = self.free() else { return Ok(()) };
        let taken = self.file.metadata().map_or(0, |about| allocated(&about));
        if size > free.saturating_add(taken) { Err(StoreError::Full) } else { Ok(()) }
    }

    /// Bytes of its disk that are free beside the reserve; `None` where the system
    /// does not say.
    fn free(&self) -> Option<u64> {
        Some(free_behind(&self.file)?.saturating_sub(self.reserve))
    }
}
