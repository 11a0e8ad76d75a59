//! SHA-1 and hash tree of files.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use servent_core::id::{Sha1, Tth};
use servent_core::thex::{Tree, TreeHasher};
use sha1::Digest as _;

/// Bytes read at once.
const CHUNK: usize = 1 << 20;

/// The SHA-1 of a file. `progress` is told of every piece and may stop the
/// work by answering `false`; the result is then `None`.
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

/// The same with its hash tree, in one reading. A file that has not `size`
/// bytes has none: it changed.
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

/// What `start..end` of a file is in its hash tree.
///
/// # Errors
/// It cannot be read, or has not so many bytes.
pub(crate) fn tree_hash_of(file: &File, start: u64, end: u64) -> io::Result<Tth> {
    let mut tree = TreeHasher::of_piece(end - start);
    read(file, start, end, |bytes| {
        tree.update(bytes);
        true
    })?;
    let tree = tree.finish().ok_or(io::ErrorKind::UnexpectedEof)?;
    Ok(tree.root())
}

/// Reads a part of a file, wherever another reader of it stands: handles of one
/// file share their place in it. False when `each` did not want to go on.
fn read(
    file: &File,
    start: u64,
    end: u64,
    mut each: impl FnMut(&[u8]) -> bool,
) -> io::Result<bool> {
    let most = usize::try_from(end - start).unwrap_or(CHUNK).min(CHUNK);
    let mut buffer = vec![0; most];
    let mut at = start;
    while at < end {
        let most = usize::try_from(end - at).unwrap_or(CHUNK).min(CHUNK);
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
