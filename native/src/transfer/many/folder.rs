//! A folder as the one file that a swarm carries for `swarm serve FOLDER`: everything in
//! it, one file after another, so that a piece may have many small files in it.
//!
//! | bytes | what |
//! |---|---|
//! | 17 | `servent folder 1` and a line feed |
//! | 4 | length of the manifest, big-endian |
//! | … | manifest: one entry a file or folder, as in an offer ([`super::super::message`]) |
//! | 32 each | BLAKE3 digest of each file, in the order of the manifest |
//! | … | the bytes of the files, in the same order |
//!
//! Nothing else is in it, so the same content makes the same file again: what clients of
//! an earlier run have of it counts.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};

use bytes::{Bytes, BytesMut};

use super::super::message::{CHUNK, entries, put_entry};
use super::super::offer::{ENTRIES, Lacking, NAMES, Offer, OfferEntry, OfferError};
use super::super::{TransferInbox, TransferProgress};
use super::packing::{PackProgress, Packing};
use super::unpack::{ParcelBytes, Unpacking, wrong};
use crate::files::safe_os_path;
use crate::sys::FileAt as _;

/// What it begins with.
const MAGIC: &[u8; 17] = b"servent folder 1\n";
/// Bytes of an entry beside its name.
const ENTRY: usize = 23;
/// The longest manifest: as many entries, with as long names, as can be offered.
const MANIFEST: usize = ENTRIES * ENTRY + NAMES;

/// A folder that was packed for a swarm. Its file is removed when it is dropped.
#[derive(Debug)]
pub struct FolderParcel {
    file: PathBuf,
    entries: Vec<OfferEntry>,
    lacking: Vec<Lacking>,
}

impl FolderParcel {
    /// Packs an offer into `file`, which is replaced. Blocks while it reads everything
    /// twice; `told` hears how far it is.
    ///
    /// # Errors
    /// A file cannot be read or changes, or the parcel cannot be written.
    pub fn pack(
        offer: &Offer,
        file: &Path,
        mut told: impl FnMut(PackProgress),
    ) -> Result<Self, OfferError> {
        let packing = Packing::new(offer, &mut told)?;
        let here = |why| OfferError::Write { path: file.to_owned(), why };
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(here)?;
        }
        packing.check_room(file)?;
        let parcel = Self {
            file: file.to_owned(),
            entries: packing.entries.clone(),
            lacking: offer.lacking().to_vec(),
        };
        let mut out = BufWriter::new(File::create(file).map_err(here)?);
        let manifest = parcel.entries.iter().fold(Vec::new(), put_entry);
        let length = u32::try_from(manifest.len()).map_err(|_| OfferError::TooMany)?;
        let head = [&MAGIC[..], &length.to_be_bytes(), &manifest].concat();
        out.write_all(&head).map_err(here)?;
        packing.write(file, &mut told, |bytes| out.write_all(bytes))?;
        out.flush().map_err(here)?;
        Ok(parcel)
    }

    /// Where it is.
    #[must_use]
    pub fn file(&self) -> &Path {
        &self.file
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
}

impl Drop for FolderParcel {
    fn drop(&mut self) {
        if let Err(why) = fs::remove_file(&self.file) {
            tracing::debug!(file = %self.file.display(), %why, "a packed folder stays");
        }
    }
}

/// A packed folder that has arrived.
#[derive(Debug)]
pub struct ReceivedFolder {
    bytes: PlainBytes,
    entries: Vec<OfferEntry>,
}

impl ReceivedFolder {
    /// Reads what is in it. Blocks.
    ///
    /// # Errors
    /// It cannot be read, or is no packed folder.
    pub fn open(file: &Path) -> io::Result<Self> {
        let file = File::open(file)?;
        let mut head = [0; MAGIC.len() + 4];
        file.read_exact_at(&mut head, 0)?;
        let (magic, length) = head.split_at(MAGIC.len());
        let length = length.try_into().map_or(0, u32::from_be_bytes);
        if magic != MAGIC {
            return Err(bad("it is no folder of a swarm"));
        }
        if length as usize > MANIFEST {
            return Err(bad(format!(
                "its list of files has {length} bytes, and at most {MANIFEST} are taken"
            )));
        }
        let mut manifest = vec![0; length as usize];
        file.read_exact_at(&mut manifest, head.len() as u64)?;
        let entries = entries(&manifest).ok_or_else(|| bad("its list of files is damaged"))?;
        if entries.len() > ENTRIES {
            let count = entries.len();
            let what = format!("it has {count} files and folders, and at most {ENTRIES} are taken");
            return Err(bad(what));
        }
        let fits = |it: &OfferEntry| it.length.is_some_and(|length| length == 0 || !it.is_folder());
        if !entries.iter().all(fits) {
            return Err(bad("its list of files is damaged"));
        }
        let from = head.len() as u64 + u64::from(length);
        let size = file.metadata()?.len().saturating_sub(from);
        Ok(Self { bytes: PlainBytes { file, from, size }, entries })
    }

    /// What is in it.
    #[must_use]
    pub fn entries(&self) -> &[OfferEntry] {
        &self.entries
    }

    /// What the folder is called here, which need not be as in the address of its swarm.
    #[must_use]
    pub fn name(&self) -> PathBuf {
        let first = self.entries.first().map(|entry| safe_os_path(&entry.name));
        first.iter().flat_map(|path| path.iter().next()).collect()
    }

    /// Stores all of it. Every file is compared with its digest before it gets its name.
    ///
    /// # Errors
    /// A file cannot be written, or is not what was packed.
    pub async fn unpack(
        self,
        inbox: TransferInbox,
        told: impl FnMut(TransferProgress),
    ) -> io::Result<()> {
        Unpacking::new(self.bytes, inbox).aside(self.entries, told).await
    }
}

fn bad(why: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why.into())
}

/// Digests and bytes of a packed folder, which begin somewhere in its file.
#[derive(Debug)]
struct PlainBytes {
    file: File,
    from: u64,
    size: u64,
}

impl ParcelBytes for PlainBytes {
    fn plain(&self) -> u64 {
        self.size
    }

    fn some(&mut self, at: u64, most: u64) -> io::Result<Bytes> {
        let most = most.min(CHUNK as u64).min(self.size.saturating_sub(at));
        let mut bytes = BytesMut::zeroed(usize::try_from(most).unwrap_or(0));
        if bytes.is_empty() {
            return Err(wrong());
        }
        self.file.read_exact_at(&mut bytes, self.from + at)?;
        Ok(bytes.freeze())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use servent_core::rng::Rng;

    use super::super::super::InboxPlace;
    use super::*;

    fn tree(root: &Path) -> FolderParcel {
        for (path, text) in [("a", "one"), ("sub/b", "two"), ("sub/empty", "")] {
            let path = root.join("course").join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        fs::create_dir_all(root.join("course/nothing")).unwrap();
        packed(root)
    }

    fn packed(root: &Path) -> FolderParcel {
        let offer = Offer::from_paths(&[root.join("course")]).unwrap();
        FolderParcel::pack(&offer, &root.join("state/course"), |_| {}).unwrap()
    }

    async fn unpack(file: &Path, to: &Path) -> io::Result<Vec<u64>> {
        let mut carried = Vec::new();
        let inbox = TransferInbox::new(InboxPlace::Folder(to.to_owned()), Arc::default());
        let each = |told| {
            if let TransferProgress::There(it) = told {
                carried.push(it.carried);
            }
        };
        ReceivedFolder::open(file)?.unpack(inbox, each).await?;
        Ok(carried)
    }

    #[tokio::test]
    async fn a_folder_arrives_with_everything_in_it_and_once() {
        let dir = tempfile::tempdir().unwrap();
        let (parcel, to) = (tree(dir.path()), dir.path().join("to"));
        let bytes = fs::read(parcel.file()).unwrap();
        assert_eq!(bytes, fs::read(packed(dir.path()).file()).unwrap(), "the same makes the same");
        fs::write(parcel.file(), &bytes).unwrap();
        assert_eq!(unpack(parcel.file(), &to).await.unwrap(), [3, 3, 0]);
        for path in ["a", "sub/b", "sub/empty"] {
            let (here, there) =
                (to.join("course").join(path), dir.path().join("course").join(path));
            assert_eq!(fs::read(&here).unwrap(), fs::read(&there).unwrap());
            let dated = |path: &Path| fs::metadata(path).unwrap().modified().unwrap();
            assert_eq!(dated(&here), dated(&there));
        }
        assert!(to.join("course/nothing").is_dir());
        assert_eq!(unpack(parcel.file(), &to).await.unwrap(), [0, 0, 0], "it is there");
        let file = parcel.file().to_owned();
        drop(parcel);
        assert!(!file.exists());
    }

    #[tokio::test]
    async fn what_is_damaged_gets_no_name() {
        let dir = tempfile::tempdir().unwrap();
        let (parcel, to) = (tree(dir.path()), dir.path().join("to"));
        let whole = fs::read(parcel.file()).unwrap();
        let broken = dir.path().join("broken");
        // The last byte is one of the last file that has any.
        let mut other = whole.clone();
        *other.last_mut().unwrap() ^= 1;
        fs::write(&broken, &other).unwrap();
        assert!(unpack(&broken, &to).await.is_err());
        assert!(to.join("course/a").exists() && !to.join("course/sub/b").exists());
        for length in [0, MAGIC.len(), MAGIC.len() + 4, whole.len() - 1] {
            fs::write(&broken, &whole[..length]).unwrap();
            assert!(unpack(&broken, &to).await.is_err(), "{length}");
        }
        let mut long = whole;
        long[MAGIC.len()..MAGIC.len() + 4].copy_from_slice(&u32::MAX.to_be_bytes());
        fs::write(&broken, &long).unwrap();
        let why = unpack(&broken, &to).await.unwrap_err().to_string();
        let most = format!("has 4294967295 bytes, and at most {MANIFEST} are taken");
        assert!(why.contains(&most), "{why}");
        let entry = OfferEntry { name: "a".into(), length: Some(0), ..OfferEntry::default() };
        let manifest = (0..=ENTRIES).fold(Vec::new(), |out, _| put_entry(out, &entry));
        let length = (manifest.len() as u32).to_be_bytes();
        fs::write(&broken, [&MAGIC[..], &length, &manifest].concat()).unwrap();
        let why = unpack(&broken, &to).await.unwrap_err().to_string();
        assert_eq!(why, "it has 50001 files and folders, and at most 50000 are taken");
    }

    #[tokio::test]
    async fn no_name_leads_out_of_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let (to, file) = (dir.path().join("in/to"), dir.path().join("parcel"));
        let names = ["../../out", "/out", "a/../../../out", "same", "same"];
        let entry =
            |name: &str| OfferEntry { name: name.into(), length: Some(1), ..OfferEntry::default() };
        let manifest = names.map(entry).iter().fold(Vec::new(), put_entry);
        let mut bytes = [&MAGIC[..], &(manifest.len() as u32).to_be_bytes(), &manifest].concat();
        for _ in names {
            bytes.extend(blake3::hash(b"x").as_bytes());
        }
        bytes.extend(b"xxxxx");
        fs::write(&file, bytes).unwrap();
        unpack(&file, &to).await.unwrap();
        let beside: Vec<_> =
            fs::read_dir(dir.path()).unwrap().map(|it| it.unwrap().path()).collect();
        assert!(beside.iter().all(|path| path.ends_with("in") || *path == file), "{beside:?}");
        assert_eq!(fs::read_dir(dir.path().join("in")).unwrap().count(), 1);
        assert!(to.join("same").exists());
    }

    #[test]
    fn no_bytes_are_too_strange() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("parcel");
        for seed in 0..300 {
            let mut rng = Rng::new(seed);
            let strange: Vec<u8> = (0..rng.below(6)).flat_map(|_| rng.bytes::<32>()).collect();
            let length = (strange.len() as u32 / 2).to_be_bytes();
            fs::write(&file, [&MAGIC[..], &length, &strange].concat()).unwrap();
            if let Ok(folder) = ReceivedFolder::open(&file) {
                assert!(folder.entries().len() <= strange.len() / ENTRY, "{seed}");
            }
        }
    }
}
