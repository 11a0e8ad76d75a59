//! Hashing of downloads on other threads; the result reaches the node as a
//! report.

use std::fs::File;
use std::io;
use std::sync::Arc;

use servent_core::id::FetchId;
use servent_core::node::{FetchInput, Input, StoreError};

use crate::files::{PartFile, store_error};
use crate::library::{sha1_of, tree_hash_of};
use crate::net::{Report, Reports};

type HashedPiece = Result<Arc<PartFile>, StoreError>;

/// The SHA-1 of a finished download.
pub(super) fn whole(fetch: FetchId, part: HashedPiece, reports: Reports) {
    let open = reports.clone();
    aside(fetch, part, reports, move |file| {
        let sha1 = sha1_of(file, |_| !open.is_closed())?;
        Ok(sha1.map(|sha1| Input::Fetch(FetchInput::Verified { fetch, sha1: Some(sha1) })))
    });
}

/// The hash of `start..end` of a download in its hash tree.
pub(super) fn piece(fetch: FetchId, (start, end): (u64, u64), part: HashedPiece, reports: Reports) {
    aside(fetch, part, reports, move |file| {
        let tth = Some(tree_hash_of(file, start, end)?);
        Ok(Some(Input::Fetch(FetchInput::Hashed { fetch, start, tth })))
    });
}

/// Reads a download on a thread that may block. The result is dropped if the
/// servent has ended.
fn aside(
    fetch: FetchId,
    part: HashedPiece,
    reports: Reports,
    hash: impl FnOnce(&File) -> io::Result<Option<Input>> + Send + 'static,
) {
    tokio::task::spawn_blocking(move || {
        let file = part.and_then(|part| part.reader());
        let input = match file.and_then(|file| hash(&file).map_err(|why| store_error(&why))) {
            Ok(Some(input)) => input,
            Ok(None) => return, // The servent has ended.
            Err(why) => Input::Fetch(FetchInput::VerifyFailed { fetch, why }),
        };
        let _ = reports.blocking_send(Report::Input(input)); // It may just have ended.
    });
}
