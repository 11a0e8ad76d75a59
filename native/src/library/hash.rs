//! SHA-1 of whole files.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use servent_core::id::Sha1;
use sha1::Digest as _;

/// Bytes read at once.
const CHUNK: usize = 1 << 20;

/// Hashes a file from its beginning, wherever another reader of it stands:
/// handles of one file share their place in it. `progress` is told of every piece and
/// may stop the work by answering `false`; the result is then `None`.
pub(crate) fn sha1_of(
    file: &File,
    mut progress: impl FnMut(u64) -> bool,
) -> io::Result<Option<Sha1>> {
    let mut hasher = sha1::Sha1::new();
    let mut buffer = vec![0; CHUNK];
    let mut at = 0;
    loop {
        let n = match file.read_at(&mut buffer, at) {
            Ok(0) => return Ok(Some(Sha1(hasher.finalize().into()))),
            Ok(n) => n,
            Err(why) if why.kind() == io::ErrorKind::Interrupted => continue,
            Err(why) => return Err(why),
        };
        hasher.update(&buffer[..n]);
        at += n as u64;
        if !progress(n as u64) {
            return Ok(None);
        }
    }
}
