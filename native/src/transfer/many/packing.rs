//! What a parcel is made of, encrypted or not: the BLAKE3 digest of each file, then the
//! bytes of the files, one after another.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use blake3::Hasher;

use super::super::offer::{Offer, OfferEntry, OfferError, total};
use super::super::target::digest_with;
use super::KEY;
use crate::files::free_room;

/// Bytes read at a time.
const READ: usize = 1 << 16;

/// How far packing is. Every file is read for its digest, and then copied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PackProgress {
    /// False while files are read for their digests.
    pub copies: bool,
    /// Files that are done.
    pub files: u64,
    /// Bytes that are done.
    pub bytes: u64,
}

/// Counts what is done, and tells of it.
struct PackCount<'a> {
    now: PackProgress,
    told: &'a mut dyn FnMut(PackProgress),
}

impl<'a> PackCount<'a> {
    fn of_step(copies: bool, told: &'a mut dyn FnMut(PackProgress)) -> Self {
        Self { now: PackProgress { copies, files: 0, bytes: 0 }, told }
    }

    fn bytes(&mut self, more: usize) {
        self.now.bytes += more as u64;
        (self.told)(self.now);
    }

    fn file(&mut self) {
        self.now.files += 1;
        (self.told)(self.now);
    }
}

/// An offer whose files have been read once: their digests are known.
pub(super) struct Packing<'a> {
    offer: &'a Offer,
    pub(super) entries: Vec<OfferEntry>,
    /// The digest of each file, in the order of the entries.
    pub(super) sums: Vec<[u8; KEY]>,
}

impl<'a> Packing<'a> {
    /// Reads all files of an offer. Blocks.
    ///
    /// # Errors
    /// One cannot be read, has become shorter, or is a stream.
    pub(super) fn new(
        offer: &'a Offer,
        told: &mut dyn FnMut(PackProgress),
    ) -> Result<Self, OfferError> {
        let (entries, mut sums) = (offer.entries().to_vec(), Vec::new());
        let mut count = PackCount::of_step(false, told);
        for (at, entry) in entries.iter().enumerate().filter(|(_, it)| !it.is_folder()) {
            let length = entry.length.ok_or_else(|| stream(&entry.text()))?;
            sums.push(sum_of(offer, at, length, &mut count)?);
            count.file();
        }
        Ok(Self { offer, entries, sums })
    }

    /// Detects a full disk before anything is packed.
    ///
    /// # Errors
    /// The disk on which `file` is to be has less room than the files need.
    pub(super) fn check_room(&self, file: &Path) -> Result<(), OfferError> {
        let (_, size) = total(&self.entries);
        let room = free_room(file);
        if size.zip(room).is_some_and(|(size, room)| size > room) {
            let why = io::ErrorKind::StorageFull.into();
            return Err(OfferError::Write { path: file.to_owned(), why });
        }
        Ok(())
    }

    /// Reads all files again and gives everything to `put`, which writes it to `file`.
    /// Blocks.
    ///
    /// # Errors
    /// A file cannot be read or has changed, or `put` fails.
    pub(super) fn write(
        &self,
        file: &Path,
        told: &mut dyn FnMut(PackProgress),
        mut put: impl FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), OfferError> {
        let mut count = PackCount::of_step(true, told);
        let here = |why| OfferError::Write { path: file.to_owned(), why };
        for sum in &self.sums {
            put(sum).map_err(here)?;
        }
        let files = self.entries.iter().enumerate().filter(|(_, entry)| !entry.is_folder());
        let mut buffer = vec![0; READ];
        for ((at, entry), sum) in files.zip(&self.sums) {
            let path = self.offer.path(at).unwrap_or(Path::new("")).to_owned();
            let read = |why| OfferError::Read { path: path.clone(), why };
            let mut source = File::open(&path).map_err(read)?.take(entry.length.unwrap_or(0));
            let mut hash = Hasher::new();
            loop {
                match source.read(&mut buffer).map_err(read)? {
                    0 => break,
                    n => {
                        hash.update(&buffer[..n]);
                        put(&buffer[..n]).map_err(here)?;
                        count.bytes(n);
                    }
                }
            }
            count.file();
            if hash.finalize() != *sum {
                return Err(read(io::Error::other("it changes while it is read")));
            }
        }
        Ok(())
    }
}

fn stream(name: &str) -> OfferError {
    let why = io::Error::other("it has no known length; put it into a file first");
    OfferError::Read { path: name.into(), why }
}

fn sum_of(
    offer: &Offer,
    at: usize,
    length: u64,
    count: &mut PackCount<'_>,
) -> Result<[u8; KEY], OfferError> {
    let path = offer.path(at).unwrap_or(Path::new("")).to_owned();
    let digest =
        File::open(&path).and_then(|file| digest_with(file, length, |more| count.bytes(more)));
    match digest {
        Ok(Some(hash)) => Ok(hash.finalize().into()),
        Ok(None) => {
            let why = io::Error::other("it has become shorter since it was offered");
            Err(OfferError::Read { path, why })
        }
        Err(why) => Err(OfferError::Read { path, why }),
    }
}
