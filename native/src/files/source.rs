//! A file that others download from us in pieces.

use std::fs::{File, Metadata};
use std::path::PathBuf;

use servent_core::node::StoreError;

use super::store_error;

/// A file we are the source of, as it was when its pieces were hashed.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub(crate) path: PathBuf,
    pub(crate) size: u64,
    pub(crate) changed: Option<std::time::SystemTime>,
}

impl SourceFile {
    /// Opens it, if it is still the file that was hashed.
    pub(crate) fn open(&self) -> Result<File, StoreError> {
        let file = File::open(&self.path).map_err(|why| store_error(&why))?;
        let same =
            |meta: &Metadata| meta.len() == self.size && meta.modified().ok() == self.changed;
        if file.metadata().is_ok_and(|meta| same(&meta)) {
            Ok(file)
        } else {
            Err(StoreError::Changed)
        }
    }
}
