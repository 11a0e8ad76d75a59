//! The file that a transfer writes to. It is called `NAME.part` until it is
//! complete, and no existing file is ever overwritten.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use blake3::Hasher;
use servent_core::unicast::UnicastPayload;

use super::behind::Behind;
use super::receive_error::ReceiveError;
use crate::files::{FileAttributes, free_room, number_path, part_path};
use crate::sys::{is_closed_pipe, modified, open_no_link, output, rename_new};

/// How many names are tried for one file.
pub(super) const NAMES: u32 = 1_000;
/// A file of at least this many bytes is flushed to the disk before it is
/// renamed. Smaller ones are left to the system, because thousands of them
/// would cost a flush each.
const LARGE: u64 = 1 << 20;
/// Bytes read at a time.
const READ: usize = 1 << 16;

/// The digest of the start of a partial file, and the file's length and time
/// when it was read.
#[derive(Debug, Clone)]
pub(super) struct Begun {
    pub(super) hash: Hasher,
    stamp: Stamp,
}

/// Length and time of the last change.
type Stamp = (u64, i64, i64);

/// The file being received.
pub(super) struct OpenFile {
    pub(super) entry: usize,
    pub(super) from: u64,
    pub(super) length: u64,
    pub(super) target: TargetFile,
}

/// An open file.
pub(super) struct TargetFile {
    file: Behind,
    /// Its name until it is complete, and after that.
    names: Option<(PathBuf, PathBuf)>,
}

impl TargetFile {
    /// Writes to standard output.
    pub(super) fn output() -> io::Result<Self> {
        Ok(Self { file: Behind::new(output()?, Hasher::new(), true), names: None })
    }

    /// Writes to a device or a pipe with a name.
    pub(super) fn device(path: &Path) -> io::Result<Self> {
        let out = OpenOptions::new().write(true).open(path)?;
        Ok(Self { file: Behind::new(out, Hasher::new(), true), names: None })
    }

    /// Creates a new file that will have this name, which must be free.
    pub(super) fn new(name: &Path) -> io::Result<Self> {
        if name.symlink_metadata().is_ok() {
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        let part = part_path(name);
        let file = OpenOptions::new().write(true).create_new(true).open(&part)?;
        lock(&file)?;
        let file = Behind::new(file, Hasher::new(), false);
        Ok(Self { file, names: Some((part, name.to_owned())) })
    }

    /// Opens the partial file of an earlier transfer, to continue after its
    /// first `from` bytes.
    ///
    /// # Errors
    /// Those bytes are no longer the ones that were compared: until it is
    /// locked, another transfer may write to it.
    pub(super) fn again(name: &Path, from: u64, begun: &Begun) -> io::Result<Self> {
        let part = part_path(name);
        let mut file = open_no_link(OpenOptions::new().read(true).write(true), &part)?;
        lock(&file)?;
        if stamp(&file).ok() != Some(begun.stamp) {
            let now = digest_of(file.try_clone()?, from)?;
            if now.is_none_or(|now| now.finalize() != begun.hash.finalize()) {
                let what =
                    format!("another transfer has changed {}; send it again", part.display());
                return Err(io::Error::other(what));
            }
        }
        file.set_len(from)?;
        file.seek(io::SeekFrom::End(0))?;
        let file = Behind::new(file, begun.hash.clone(), false);
        Ok(Self { file, names: Some((part, name.to_owned())) })
    }

    /// The path of the file while it is incomplete.
    pub(super) fn part(&self) -> Option<&Path> {
        self.names.as_ref().map(|(part, _)| part.as_path())
    }

    /// Takes the next bytes, to be written soon.
    pub(super) async fn write(&mut self, bytes: UnicastPayload) -> io::Result<()> {
        self.file.write(bytes).await
    }

    /// Why bytes could not be written.
    pub(super) fn failure(&self, why: io::Error) -> ReceiveError {
        match self.names {
            None if is_closed_pipe(&why) => ReceiveError::Unwanted,
            _ => ReceiveError::Write(why),
        }
    }

    /// No more may come for a while: what has come is written.
    pub(super) async fn hurry(&mut self) -> io::Result<()> {
        self.file.hurry().await
    }

    /// Waits until all is written; returns the digest of the whole file.
    pub(super) async fn settle(&mut self) -> io::Result<[u8; 32]> {
        self.file.settle().await.map(|(_, sum)| sum)
    }

    /// Detects a full disk before bytes travel that have no room there. The space
    /// is not reserved: the size is only what the sender says.
    pub(super) fn check_room(&self, more: u64) -> io::Result<()> {
        let free = self.names.as_ref().and_then(|(part, _)| free_room(part));
        match free {
            Some(free) if more > free => Err(io::ErrorKind::StorageFull.into()),
            _ => Ok(()),
        }
    }

    /// Removes what was written: it is of no use.
    pub(super) async fn discard(mut self) {
        let _ = self.file.settle().await; // What cannot be written is not missed.
        if let Some((part, _)) = self.names
            && let Err(why) = blocking(move || std::fs::remove_file(part)).await
        {
            tracing::warn!(%why, "a part of no use stays");
        }
    }

    /// The file is complete and gets its date and its name, or a similar one if that
    /// is taken.
    pub(super) async fn finish(
        mut self,
        length: u64,
        attributes: FileAttributes,
    ) -> io::Result<Option<PathBuf>> {
        let (file, _) = self.file.settle().await?;
        let Some((part, wish)) = self.names else { return Ok(None) };
        let file = file.try_clone()?;
        blocking(move || {
            if let Err(why) = attributes.apply(&file) {
                tracing::debug!(%why, part = %part.display(), "the disk keeps no dates or modes");
            }
            if length >= LARGE {
                file.sync_data()?;
            }
            name_it(&part, &wish)
        })
        .await
        .map(Some)
    }
}

fn name_it(part: &Path, wish: &Path) -> io::Result<PathBuf> {
    for n in 1..=NAMES {
        let name = if n == 1 { wish.to_owned() } else { number_path(wish, n) };
        match rename_new(part, &name) {
            Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
            Err(why) => return Err(why),
            Ok(()) => return Ok(name),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Runs something that blocks on another thread. On a thread that serves
/// sockets every connection would wait for the disk.
pub(super) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> io::Result<T> + Send + 'static,
) -> io::Result<T> {
    tokio::task::spawn_blocking(work).await.map_err(io::Error::other)?
}

/// The digest of the first bytes of a file, to be continued; `None` when
/// another transfer writes to it, or it is shorter. Blocks.
pub(super) fn digest(path: &Path, length: u64) -> io::Result<Option<Begun>> {
    let file = open_no_link(OpenOptions::new().read(true), path)?;
    match file.try_lock_shared() {
        Err(TryLockError::WouldBlock) => return Ok(None),
        Err(TryLockError::Error(why)) => return Err(why),
        Ok(()) => {}
    }
    let stamp = stamp(&file)?;
    Ok(digest_of(file, length)?.map(|hash| Begun { hash, stamp }))
}

fn stamp(file: &File) -> io::Result<Stamp> {
    let about = file.metadata()?;
    let (seconds, nanos) = modified(&about);
    Ok((about.len(), seconds, nanos))
}

/// The same for any path, even while it is written to.
pub(super) fn whole(path: &Path, length: u64) -> io::Result<Option<Begun>> {
    let file = File::open(path)?;
    let stamp = stamp(&file)?;
    Ok(digest_of(file, length)?.map(|hash| Begun { hash, stamp }))
}

pub(super) fn digest_of(file: File, length: u64) -> io::Result<Option<Hasher>> {
    digest_with(file, length, |_| {})
}

/// The same; `each` is told how many bytes were read.
pub(super) fn digest_with(
    file: File,
    length: u64,
    mut each: impl FnMut(usize),
) -> io::Result<Option<Hasher>> {
    let (mut hash, mut left) = (Hasher::new(), file.take(length));
    let mut buffer = vec![0; READ];
    loop {
        match left.read(&mut buffer)? {
            0 => return Ok((left.limit() == 0).then_some(hash)),
            n => {
                hash.update(&buffer[..n]);
                each(n);
            }
        }
    }
}

/// Locks a file against other transfers.
fn lock(file: &File) -> io::Result<()> {
    match file.try_lock() {
        Err(TryLockError::WouldBlock) => Err(io::ErrorKind::AlreadyExists.into()),
        Err(TryLockError::Error(why)) => Err(why),
        Ok(()) => Ok(()),
    }
}
