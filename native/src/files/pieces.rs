//! Pieces of a file and their digests.

use std::fs::File;
use std::io;
use std::path::Path;

use servent_core::wire::pdtp::Hash;
use sha2::{Digest as _, Sha256};

use crate::sys::FileAt as _;

/// The default size of a piece in bytes.
pub const CHUNK: u64 = 256 * 1024;
/// Bytes read at a time.
const READ: usize = 256 * 1024;

/// The size and digests of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hashed {
    /// Its size in bytes.
    pub size: u64,
    /// The SHA-256 of each piece, in order.
    pub pieces: Vec<Hash>,
    /// The SHA-256 of the whole file.
    pub whole: Hash,
}

/// Reads a whole file and digests it in pieces of `chunk` bytes.
///
/// # Errors
/// It cannot be read.
pub fn hash_file(path: &Path, chunk: u64) -> io::Result<Hashed> {
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    let (mut whole, mut pieces) = (Sha256::new(), Vec::new());
    let mut at = 0;
    while at < size {
        let end = (at + chunk).min(size);
        let mut piece = Sha256::new();
        read(&file, at, end, |bytes| {
            piece.update(bytes);
            whole.update(bytes);
        })?;
        pieces.push(Hash(piece.finalize().into()));
        at = end;
    }
    Ok(Hashed { size, pieces, whole: Hash(whole.finalize().into()) })
}

/// The digest of the bytes `start..end`.
pub(crate) fn hash_span(file: &File, start: u64, end: u64) -> io::Result<Hash> {
    let mut digest = Sha256::new();
    read(file, start, end, |bytes| digest.update(bytes))?;
    Ok(Hash(digest.finalize().into()))
}

fn read(file: &File, start: u64, end: u64, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; READ];
    let mut at = start;
    while at < end {
        let most = usize::try_from(end - at).unwrap_or(READ).min(READ);
        let n = file.read_at(&mut buffer[..most], at)?;
        if n == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        each(&buffer[..n]);
        at += n as u64;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_and_whole_are_digested_in_one_reading() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        std::fs::write(&path, b"abcabcab").unwrap();
        let hashed = hash_file(&path, 3).unwrap();
        let of = |bytes: &[u8]| Hash(Sha256::digest(bytes).into());
        assert_eq!(hashed.pieces, [of(b"abc"), of(b"abc"), of(b"ab")]);
        assert_eq!((hashed.size, hashed.whole), (8, of(b"abcabcab")));
        let file = File::open(&path).unwrap();
        assert_eq!(hash_span(&file, 3, 6).unwrap(), of(b"abc"));
        assert!(hash_span(&file, 6, 9).is_err());
    }
}
