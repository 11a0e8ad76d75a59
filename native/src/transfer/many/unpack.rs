//! Takes a parcel apart: stores what is in it and not there already.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use blake3::Hasher;
use bytes::{Bytes, BytesMut};
use tokio::runtime::Handle;
use tokio::sync::mpsc::unbounded_channel;
use tokio::task::spawn_blocking;

use super::super::inbox::{Candidate, ExistingFile, InboxSurvey, TransferInbox};
use super::super::message::CHUNK;
use super::super::offer::OfferEntry;
use super::super::quota::Quota;
use super::super::secret::{Half, TAG};
use super::super::target::{Begun, TargetFile, digest, whole};
use super::super::{Carried, TransferProgress};
use super::KEY;
use crate::sys::FileAt as _;

/// What a parcel is read from: digests and bytes of files, without what is around them.
pub(super) trait ParcelBytes {
    /// How many bytes there are.
    fn plain(&self) -> u64;

    /// Bytes from this offset on: at least one, at most `most`, which is not 0.
    ///
    /// # Errors
    /// They cannot be read, are not there, or are not what was packed.
    fn some(&mut self, at: u64, most: u64) -> io::Result<Bytes>;

    /// Fills `into` with the bytes from this offset on.
    fn read(&mut self, mut at: u64, into: &mut [u8]) -> io::Result<()> {
        let mut done = 0;
        while done < into.len() {
            let bytes = self.some(at, (into.len() - done) as u64)?;
            into[done..done + bytes.len()].copy_from_slice(&bytes);
            done += bytes.len();
            at += bytes.len() as u64;
        }
        Ok(())
    }
}

/// A parcel that has arrived.
pub(super) struct Unpacking<B> {
    bytes: B,
    inbox: TransferInbox,
    quota: Option<Arc<Quota>>,
}

impl<B: ParcelBytes + Send + 'static> Unpacking<B> {
    pub(super) fn new(bytes: B, inbox: TransferInbox) -> Self {
        let quota = inbox.quota.clone();
        Self { bytes, inbox, quota }
    }

    /// Stores all of it on another thread, because the disk may be slow.
    ///
    /// # Errors
    /// As [`Unpacking::all`].
    pub(super) async fn aside(
        self,
        entries: Vec<OfferEntry>,
        mut told: impl FnMut(TransferProgress),
    ) -> io::Result<()> {
        let runtime = Handle::current();
        let (send, mut tells) = unbounded_channel();
        let work =
            spawn_blocking(move || runtime.block_on(self.all(&entries, |it| _ = send.send(it))));
        while let Some(it) = tells.recv().await {
            told(it);
        }
        work.await.map_err(io::Error::other).and_then(|done| done)
    }

    /// Stores all of it. Every file is compared with its digest before it gets
    /// its name.
    async fn all(
        mut self,
        entries: &[OfferEntry],
        mut told: impl FnMut(TransferProgress),
    ) -> io::Result<()> {
        let files = entries.iter().filter(|entry| !entry.is_folder()).count() as u64;
        let (mut head, mut at) = (0, files * KEY as u64);
        let length = entries.iter().filter_map(|entry| entry.length).try_fold(at, u64::checked_add);
        if length != Some(self.bytes.plain()) {
            return Err(wrong());
        }
        let InboxSurvey { candidates, blocked } = self.inbox.survey(entries)?;
        blocked.into_iter().for_each(|(_, lacking)| told(TransferProgress::Lacks(lacking)));
        for (number, (entry, found)) in entries.iter().zip(candidates).enumerate() {
            if entry.is_folder() {
                continue;
            }
            let (sum_at, length) = (head, entry.length.unwrap_or(0));
            let from = at;
            (head, at) = (head + KEY as u64, at + length);
            let Some(found) = found else { continue };
            let mut sum = [0; KEY];
            self.bytes.read(sum_at, &mut sum)?;
            let carried = self.one((number, entry), found, (from, length), sum, &mut told).await?;
            told(TransferProgress::There(carried));
        }
        self.inbox.date_folders(entries);
        Ok(())
    }

    /// Stores one file that is in the parcel at `at`.
    async fn one(
        &mut self,
        (number, entry): (usize, &OfferEntry),
        mut found: Candidate,
        (at, length): (u64, u64),
        sum: [u8; KEY],
        told: &mut impl FnMut(TransferProgress),
    ) -> io::Result<Carried> {
        let carried = |carried, file| Carried { entry: number, length, carried, sum, file };
        let begun: Option<(u64, Begun)> = loop {
            let path = found.path();
            match (found.there, path) {
                (ExistingFile::Whole, Some(path)) => {
                    let there = whole(&path, length)?;
                    if there.is_some_and(|there| there.hash.finalize() == sum) {
                        return Ok(carried(0, found.name));
                    }
                }
                (ExistingFile::Part(some), Some(path)) => {
                    let there = digest(&path, some)?;
                    let ours = self.hash((at, some))?;
                    let same = |begun: &Begun| begun.hash.finalize() == ours;
                    if let Some(begun) = there.filter(same) {
                        break Some((some, begun));
                    }
                }
                _ => break None,
            }
            found = self.inbox.look(entry, found.n)?;
        };
        let (from, begun) = begun.unzip();
        let from = from.unwrap_or(0);
        let mut target = self.inbox.begin(entry, found, (from, begun.as_ref()))?;
        told(TransferProgress::Begun { entry: number, from });
        let mut so_far = from;
        while so_far < length {
            let bytes = self.bytes.some(at + so_far, length - so_far)?;
            if let Some(quota) = &self.quota {
                quota.take(bytes.len() as u64)?;
            }
            so_far += bytes.len() as u64;
            target.write(bytes).await?;
            told(TransferProgress::Bytes { entry: number, so_far });
        }
        if target.settle().await? != sum {
            return Err(wrong());
        }
        let file = TargetFile::finish(target, length, entry.attributes).await?;
        Ok(carried(length - from, file))
    }

    /// The digest of a part of the parcel.
    fn hash(&mut self, (mut at, length): (u64, u64)) -> io::Result<[u8; KEY]> {
        let (mut hash, end) = (Hasher::new(), at + length);
        while at < end {
            let bytes = self.bytes.some(at, end - at)?;
            hash.update(&bytes);
            at += bytes.len() as u64;
        }
        Ok(hash.finalize().into())
    }
}

pub(super) fn wrong() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, "what arrived is not what was sent")
}

/// An encrypted parcel, read by offsets of what is encrypted in it.
pub(super) struct SealedBytes {
    file: File,
    size: u64,
    half: Half,
    /// The chunk that was decrypted last. Small files are many in one.
    last: Option<(u64, Bytes)>,
}

impl SealedBytes {
    pub(super) fn open(parcel: &Path, key: &[u8; KEY]) -> io::Result<Self> {
        let file = File::open(parcel)?;
        let size = file.metadata()?.len();
        Ok(Self { file, size, half: Half::from_key(key), last: None })
    }

    fn chunk(&mut self, number: u64) -> io::Result<Bytes> {
        let from = number * (CHUNK + TAG) as u64;
        let most = self.size.saturating_sub(from).min((CHUNK + TAG) as u64);
        let mut sealed = BytesMut::zeroed(usize::try_from(most).unwrap_or(0));
        self.file.read_exact_at(&mut sealed, from)?;
        self.half.to(number);
        self.half.open(sealed.freeze()).ok_or_else(wrong)
    }
}

impl ParcelBytes for SealedBytes {
    fn plain(&self) -> u64 {
        let chunks = self.size.div_ceil((CHUNK + TAG) as u64);
        self.size.saturating_sub(chunks * TAG as u64)
    }

    fn some(&mut self, at: u64, most: u64) -> io::Result<Bytes> {
        let (number, from) = (at / CHUNK as u64, at % CHUNK as u64);
        let chunk = match &self.last {
            Some((last, chunk)) if *last == number => chunk.clone(),
            _ => self.chunk(number)?,
        };
        let end = from.saturating_add(most).min(chunk.len() as u64);
        if end <= from {
            return Err(wrong());
        }
        // Both are at most the length of a chunk.
        self.last = Some((number, chunk.clone()));
        Ok(chunk.slice(from as usize..end as usize))
    }
}
