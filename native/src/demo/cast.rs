//! The clients of the demo and the files they download.

use std::path::{Path, PathBuf};
use std::time::Duration;

use servent_core::id::Sha1;
use servent_core::queue::Dialect;
use servent_core::rng::Rng;
use sha1::Digest as _;

use crate::exit::Failure;

/// A client of the demo.
#[derive(Debug)]
pub(crate) struct CastMember {
    pub(crate) name: &'static str,
    pub(crate) dialect: Dialect,
    /// Which of [`FILES`] it wants.
    pub(crate) file: usize,
    /// How long after the start of a round it connects.
    pub(crate) after: Duration,
}

/// A file of the busy servent.
#[derive(Debug, Clone)]
pub(crate) struct SharedFile {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
    pub(crate) sha1: Sha1,
}

const fn member(name: &'static str, dialect: Dialect, file: usize, after_ms: u64) -> CastMember {
    CastMember { name, dialect, file, after: Duration::from_millis(after_ms) }
}

/// In order of arrival. Only one is passive: passive clients are distinguished
/// by their address, and here all have the same one.
pub(crate) const CLIENTS: [CastMember; 7] = [
    member("anna", Dialect::Parq, 0, 0),
    member("bela", Dialect::Active, 1, 300),
    member("chen", Dialect::Parq, 2, 600),
    member("dora", Dialect::Active, 0, 900),
    member("emil", Dialect::Passive, 1, 1_200),
    member("fee", Dialect::Parq11, 3, 1_500),
    member("newcomer", Dialect::Parq, 0, 4_000),
];

/// Names and sizes of the shared files.
const FILES: [(&str, usize); 4] = [
    ("a song.flac", 1 << 20),
    ("a longer song.flac", 3 << 20),
    ("pictures.zip", 2 << 20),
    ("notes.pdf", 512 << 10),
];

/// Creates the shared files; their content is the same in every demo.
pub(crate) fn make_files(folder: &Path) -> Result<Vec<SharedFile>, Failure> {
    let mut made = Vec::new();
    for (index, (name, size)) in FILES.iter().enumerate() {
        let mut dice = Rng::new(6346).fork("demo", index as u64);
        let mut bytes = Vec::with_capacity(*size);
        while bytes.len() < *size {
            bytes.extend_from_slice(&dice.bytes::<1024>());
        }
        let path = folder.join(name);
        std::fs::write(&path, &bytes).map_err(|e| Failure::file("write", &path, &e))?;
        let sha1 = Sha1(sha1::Sha1::digest(&bytes).into());
        made.push(SharedFile { name: (*name).to_owned(), path, sha1 });
    }
    Ok(made)
}
