//! SHA-1 and hash tree of files.

use std::fs::File;
use std::io;

use servent_core::id::{Sha1, Tth};
use servent_core::thex::{Tree, TreeHasher};
use sha1::Digest as _;

use crate::sys::FileAt as _;

/// Bytes read at a time.
const CHUNK: usize = 1 << 20;

/// The SHA-1 of a file. `progress` is called after every chunk and may stop the
/// work by returning `false`; the result is then `None`.
pub(crate) fn sha1_of(
    file: &File,
    mut progress: impl FnMut(u64) -> bool,
) -> io::Result<Option<Sha1>> {
    let mut hasher = sha1::Sha1::new();
    let whole = read(file, 0, u64::MAX, |bytes| {
        hasher.update(bytes);
        progress(bytes.len() as u64)
    })?;
    Ok(whole.then(|| Sha1(hasher.finalize().into())))
}

/// The SHA-1 and the hash tree, read in one pass. A file that is not `size`
/// bytes long has none: it changed.
pub(super) fn hashes_of(
    file: &File,
    size: u64,
    mut progress: impl FnMut(u64) -> bool,
) -> io::Result<Option<(Sha1, Tree)>> {
    let (mut hasher, mut tree) = (sha1::Sha1::new(), TreeHasher::new(size));
    let whole = read(file, 0, u64::MAX, |bytes| {
        hasher.update(bytes);
        tree.update(bytes);
        progress(bytes.len() as u64)
    })?;
    let tree = tree.finish().filter(|_| whole);
    Ok(tree.map(|tree| (Sha1(hasher.finalize().into()), tree)))
}

/// The hash of the bytes `start..end` of a file in its hash tree.
///
/// # Errors
/// It cannot be read, or is too short.
pub(crate) fn tree_hash_of(file: &File, start: u64, end: u64) -> io::Result<Tth> {
    let mut tree = TreeHasher::of_piece(end - start);
    read(file, start, end, |bytes| {
        tree.update(bytes);
        true
    })?;
    let tree = tree.finish().ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(tree.root())
}

/// Reads a part of a file without moving its cursor, which other handles of the
/// file share. False when `each` stopped it.
fn read(
    file: &File,
    start: u64,
    end: u64,
    mut each: impl FnMut(&[u8]) -> bool,
) -> io::Result<bool> {
    let length = file.metadata()?.len().min(end).saturating_sub(start);
    let most = usize::try_from(length).unwrap_or(CHUNK).min(CHUNK);
    let mut buffer = vec![0; most];
    let mut at = start;
    while at < end {
        let most = usize::try_from(end - at).unwrap_or(CHUNK).min(buffer.len());
        let n = match file.read_at(&mut buffer[..most], at) {
            Ok(0) => break,
            Ok(n) => n,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        at += n as u64;
        if !each(&buffer[..n]) {
            return Ok(false);
        }
    }
    Ok(true)
}
