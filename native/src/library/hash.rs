//! SHA-1 of whole files.

use std::fs::File;
use std::io::{self, Read as _};

use servent_core::id::Sha1;
use sha1::Digest as _;

/// Bytes read at once.
const CHUNK: usize = 1 << 20;

/// Hashes a file from its beginning. `progress` is told of every piece and
/// may stop the work by answering `false`; the result is then `None`.
pub(crate) fn sha1_of(
    mut file: &File,
    mut progress: impl FnMut(u64) -> bool,
) -> io::Result<Option<Sha1>> {
    let mut hasher = sha1::Sha1::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        let n = match file.read(&mut buffer) {
            Ok(0) => return Ok(Some(Sha1(hasher.finalize().into()))),
            Ok(n) => n,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        hasher.update(&buffer[..n]);
        if !progress(n as u64) {
            return Ok(None);
        }
    }
}
