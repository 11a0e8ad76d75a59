//! A zip archive, as PKWARE's APPNOTE describes it: for each file a head and its
//! bytes, at the end a directory of all. It is written from the same bytes to the
//! same bytes: no date, no owner, and files in the order they are given.

use std::io::{self, Write};

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// Deflated, names in UTF-8, version 2.0, and the first day that the format knows.
const HEAD: [u16; 5] = [20, UTF8, DEFLATED, 0, FIRST_DAY];
const UTF8: u16 = 1 << 11;
const DEFLATED: u16 = 8;
const FIRST_DAY: u16 = (1 << 5) | 1;

/// An archive that is being written.
pub(crate) struct ZipArchive<W> {
    into: W,
    at: u64,
    directory: Vec<u8>,
    files: usize,
}

impl<W: Write> ZipArchive<W> {
    /// An empty one.
    pub(crate) fn new(into: W) -> Self {
        Self { into, at: 0, directory: Vec::new(), files: 0 }
    }

    /// Adds a file. Its name has `/` between folders.
    ///
    /// # Errors
    /// What cannot be written, or is larger than the format's 32 bits.
    pub(crate) fn add(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let mut crc = Crc::new();
        crc.update(bytes);
        let mut packed = DeflateEncoder::new(Vec::new(), Compression::default());
        packed.write_all(bytes)?;
        let packed = packed.finish()?;
        let mut head = Vec::new();
        for field in HEAD {
            head.extend(field.to_le_bytes());
        }
        for field in [crc.sum(), length(packed.len())?, length(bytes.len())?] {
            head.extend(field.to_le_bytes());
        }
        head.extend(short(name.len())?);
        // Nothing extra.
        head.extend([0; 2]);
        let here = u32::try_from(self.at).map_err(|_| too_large())?;
        self.directory.extend(b"PK\x01\x02\x14\x00");
        self.directory.extend(&head);
        // No comment, the first disk, no attributes.
        self.directory.extend([0; 10]);
        self.directory.extend(here.to_le_bytes());
        self.directory.extend(name.as_bytes());
        self.files += 1;
        self.write(b"PK\x03\x04")?;
        self.write(&head)?;
        self.write(name.as_bytes())?;
        self.write(&packed)
    }

    /// Ends it with its directory.
    ///
    /// # Errors
    /// What cannot be written, or is larger than the format's 32 bits.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        let (start, directory) = (self.at, std::mem::take(&mut self.directory));
        self.write(&directory)?;
        let mut end = b"PK\x05\x06\0\0\0\0".to_vec();
        end.extend(short(self.files)?);
        end.extend(short(self.files)?);
        end.extend(length(directory.len())?.to_le_bytes());
        end.extend(u32::try_from(start).map_err(|_| too_large())?.to_le_bytes());
        end.extend([0; 2]);
        self.write(&end)?;
        self.into.flush()?;
        Ok(self.into)
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.into.write_all(bytes)
    }
}

fn length(of: usize) -> io::Result<u32> {
    u32::try_from(of).map_err(|_| too_large())
}

fn short(of: usize) -> io::Result<[u8; 2]> {
    u16::try_from(of).map(u16::to_le_bytes).map_err(|_| too_large())
}

fn too_large() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "too large for a zip archive")
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use flate2::read::DeflateDecoder;

    use super::*;

    /// The little-endian number of `n` bytes at a place.
    fn number(of: &[u8], at: usize, n: usize) -> usize {
        of[at..at + n].iter().rev().fold(0, |sum, byte| (sum << 8) | usize::from(*byte))
    }

    /// Reads an archive the way readers do: from its end.
    fn read(archive: &[u8]) -> Vec<(String, Vec<u8>)> {
        let end = archive.len() - 22;
        assert_eq!(&archive[end..end + 4], b"PK\x05\x06");
        let mut at = number(archive, end + 16, 4);
        let mut files = Vec::new();
        for _ in 0..number(archive, end + 10, 2) {
            assert_eq!(&archive[at..at + 4], b"PK\x01\x02");
            let (crc, packed) = (number(archive, at + 16, 4), number(archive, at + 20, 4));
            let (plain, name) = (number(archive, at + 24, 4), number(archive, at + 28, 2));
            let from = number(archive, at + 42, 4);
            let called = &archive[at + 46..at + 46 + name];
            assert_eq!(&archive[from..from + 4], b"PK\x03\x04");
            assert_eq!(archive[from + 4..from + 30], archive[at + 6..at + 32]);
            assert_eq!(&archive[from + 30..from + 30 + name], called);
            let body = &archive[from + 30 + name..][..packed];
            let mut bytes = Vec::new();
            DeflateDecoder::new(body).read_to_end(&mut bytes).unwrap();
            let mut sum = Crc::new();
            sum.update(&bytes);
            assert_eq!((bytes.len(), sum.sum() as usize), (plain, crc));
            files.push((String::from_utf8(called.to_vec()).unwrap(), bytes));
            at += 46 + name;
        }
        assert_eq!(at, end);
        files
    }

    #[test]
    fn what_is_packed_is_read_from_the_end_as_it_was() {
        let given =
            [("a.txt", &b"hello hello hello"[..]), ("b/\u{fc}.bin", &[0; 70_000]), ("c", &[])];
        let mut archive = ZipArchive::new(Vec::new());
        for (name, bytes) in given {
            archive.add(name, bytes).unwrap();
        }
        let archive = archive.finish().unwrap();
        let given = given.map(|(name, bytes)| (name.to_owned(), bytes.to_vec()));
        assert_eq!(read(&archive), given);
        assert!(archive.len() < 1000);
    }
}
