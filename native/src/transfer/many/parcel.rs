//! The one encrypted file that a swarm carries for `send --to`: everything that
//! is offered, one file after another. A peer that passes its pieces on cannot read
//! them without the key, which only those get who know the code.
//!
//! It begins with the BLAKE3 digest of each file. Key and name follow from the
//! content and a secret of the sender's state folder: the same content makes
//! the same parcel again after a crash, so that what receivers have of it
//! counts; and no key ever encrypts two contents.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use bytes::BytesMut;
use data_encoding::HEXLOWER;
use hkdf::Hkdf;
use servent_core::id::Guid;
use sha2::{Digest as _, Sha256};

use super::super::message::CHUNK;
use super::super::offer::{Lacking, Offer, OfferEntry, OfferError};
use super::super::secret::{Half, TAG, TransferCode};
use super::KEY;
use super::packing::{PackProgress, Packing};
use crate::dice;
use crate::sys::{OwnerOnly as _, machine_id, machine_name};

/// A packed offer. Its folder is removed when it is dropped.
#[derive(Debug)]
pub struct Parcel {
    /// What was packed, with the lengths it was packed with.
    pub(super) entries: Vec<OfferEntry>,
    /// What could not be read, and is not in it.
    pub(super) lacking: Vec<Lacking>,
    pub(super) key: [u8; KEY],
    /// Its file, and the folder of everything that belongs to it.
    pub(super) file: PathBuf,
    pub(super) folder: PathBuf,
    /// Locked as long as it is used.
    _lock: File,
}

impl Parcel {
    /// Packs an offer into a folder below `state`. Blocks while it reads
    /// everything twice; `told` hears how far it is.
    ///
    /// # Errors
    /// A file cannot be read or changes, it is a stream, or the parcel cannot be
    /// written or is in use.
    pub fn pack(
        offer: &Offer,
        state: &Path,
        mut told: impl FnMut(PackProgress),
    ) -> Result<Self, OfferError> {
        let packing = Packing::new(offer, &mut told)?;
        let made = prepare(state, &packing.entries, &packing.sums);
        let (key, folder, lock) =
            made.map_err(|why| OfferError::Write { path: state.to_owned(), why })?;
        let file = folder.join(folder.file_name().unwrap_or_default());
        let (entries, lacking) = (packing.entries.clone(), offer.lacking().to_vec());
        let parcel = Self { entries, lacking, key, file, folder, _lock: lock };
        packing.check_room(&parcel.file)?;
        parcel.write(&packing, &mut told)?;
        Ok(parcel)
    }

    /// What is in it.
    #[must_use]
    pub fn entries(&self) -> &[OfferEntry] {
        &self.entries
    }

    /// What could not be read, and is not in it.
    #[must_use]
    pub fn lacking(&self) -> &[Lacking] {
        &self.lacking
    }

    /// Its name in the swarm, which cannot be guessed.
    pub(super) fn name(&self) -> String {
        self.file.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    fn write(
        &self,
        packing: &Packing<'_>,
        told: &mut dyn FnMut(PackProgress),
    ) -> Result<(), OfferError> {
        let here = |why| OfferError::Write { path: self.file.clone(), why };
        let mut how = OpenOptions::new();
        how.write(true).create(true).truncate(true).private();
        let file = how.open(&self.file).map_err(here)?;
        let mut sealer = Sealer { half: Half::from_key(&self.key), chunk: BytesMut::new(), file };
        packing.write(&self.file, told, |bytes| sealer.put(bytes))?;
        sealer.finish().map_err(here)
    }
}

impl Drop for Parcel {
    fn drop(&mut self) {
        if let Err(why) = fs::remove_dir_all(&self.folder) {
            tracing::warn!(folder = %self.folder.display(), %why, "a parcel stays");
        }
    }
}

/// The key, the folder and its lock.
fn prepare(
    state: &Path,
    entries: &[OfferEntry],
    sums: &[[u8; KEY]],
) -> io::Result<([u8; KEY], PathBuf, File)> {
    DirBuilder::new().recursive(true).private().create(state)?;
    let keys = Hkdf::<Sha256>::new(None, &secret(&state.join("secret"))?);
    let mut content = Sha256::new();
    for entry in entries {
        content.update((entry.name.len() as u64).to_be_bytes());
        content.update(entry.name.as_encoded_bytes());
        content.update(entry.length.unwrap_or(0).to_be_bytes());
    }
    sums.iter().for_each(|sum| content.update(sum));
    let content = content.finalize();
    let derive = |what: &[u8], into: &mut [u8]| {
        keys.expand(&[what, &content[..]].concat(), into).map_err(io::Error::other)
    };
    let (mut key, mut name) = ([0; KEY], [0; 16]);
    derive(b"servent parcel key", &mut key)?;
    derive(b"servent parcel name", &mut name)?;
    let folder = state.join(HEXLOWER.encode(&name));
    DirBuilder::new().recursive(true).private().create(&folder)?;
    let lock = File::create(folder.join("lock"))?;
    lock.try_lock().map_err(|_| io::Error::other("the same is being sent to several already"))?;
    Ok((key, folder, lock))
}

/// The number by which a sender knows a receiver that comes again. It follows from
/// a secret of the receiver's state folder, its place there and the sender's address,
/// so that two senders cannot tell that they have the same receiver.
pub(super) fn number_for(sender: SocketAddr, state: &Path, place: u32) -> io::Result<Guid> {
    number_about(
        state,
        &match place {
            0 => format!("servent receiver of {sender}"),
            place => format!("servent receiver {place} of {sender}"),
        },
    )
}

/// The same for a sender that is met by a link: one that takes it into the same folder
/// comes again, and the next code makes another number.
///
/// # Errors
/// The secret of the state folder cannot be read, or made.
pub fn number_by_link(code: &TransferCode, into: &Path, state: &Path) -> io::Result<Guid> {
    DirBuilder::new().recursive(true).private().create(state)?;
    let into = into.canonicalize().or_else(|_| std::path::absolute(into))?;
    number_about(state, &format!("servent receiver by {code} into {}", into.display()))
}

fn number_about(state: &Path, about: &str) -> io::Result<Guid> {
    let machine: Vec<String> = [machine_id(), machine_name()].into_iter().flatten().collect();
    number_on(&machine.join(" "), state, about)
}

/// The same on one machine. A state folder is copied with an image, and what has it then is
/// another receiver.
fn number_on(machine: &str, state: &Path, about: &str) -> io::Result<Guid> {
    let numbers = Hkdf::<Sha256>::new(None, &secret(&state.join("secret"))?);
    let mut number = [0; 16];
    let about = format!("{about} on {machine}");
    numbers.expand(about.as_bytes(), &mut number).map_err(io::Error::other)?;
    Ok(Guid(number))
}

/// The secret of the state folder, made when there is none.
fn secret(path: &Path) -> io::Result<[u8; KEY]> {
    let mut secret = [0; KEY];
    match OpenOptions::new().write(true).create_new(true).private().open(path) {
        Ok(mut file) => {
            secret = dice::draw()?;
            file.write_all(&secret)?;
        }
        Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {
            File::open(path)?.read_exact(&mut secret)?;
        }
        Err(why) => return Err(why),
    }
    Ok(secret)
}

/// Encrypts a file in chunks.
struct Sealer {
    half: Half,
    chunk: BytesMut,
    file: File,
}

impl Sealer {
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            if self.chunk.len() == CHUNK {
                self.flush()?;
            }
            let some = bytes.len().min(CHUNK - self.chunk.len());
            self.chunk.reserve(some + TAG);
            self.chunk.extend_from_slice(&bytes[..some]);
            bytes = &bytes[some..];
        }
        Ok(())
    }

    fn flush(&mut self) -> io::Result<()> {
        let chunk = std::mem::take(&mut self.chunk).freeze();
        let sealed = self.half.seal(chunk).ok_or(io::ErrorKind::InvalidData)?;
        self.file.write_all(&sealed)
    }

    /// The last chunk, which may be empty: a parcel of folders has a file too.
    fn finish(mut self) -> io::Result<()> {
        self.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A class whose machines have one image, with the state folder of one receiver.
    #[test]
    fn a_copy_of_a_state_folder_on_another_machine_is_another_receiver() {
        let state = tempfile::tempdir().unwrap();
        let number = |machine| number_on(machine, state.path(), "by a link").unwrap();
        assert_eq!(number("one"), number("one"));
        assert_ne!(number("one"), number("other"));
    }
}
