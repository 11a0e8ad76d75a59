//! Reads from a file while keeping writes in memory: to check whether a state
//! can be opened without touching it.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};

use redb::StorageBackend;

use crate::sys::FileAt as _;

const BLOCK: u64 = 4_096;

/// The file with the writes over it.
#[derive(Debug)]
pub(super) struct OverlayFile {
    file: File,
    written: Mutex<Written>,
}

#[derive(Debug)]
struct Written {
    len: u64,
    /// Bytes of the file that are still valid; truncation discards the rest.
    below: u64,
    blocks: BTreeMap<u64, Vec<u8>>,
}

impl OverlayFile {
    pub(super) fn over(file: File) -> io::Result<Self> {
        let len = file.metadata()?.len();
        let written = Mutex::new(Written { len, below: len, blocks: BTreeMap::new() });
        Ok(Self { file, written })
    }

    fn written(&self) -> MutexGuard<'_, Written> {
        self.written.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn block(&self, written: &Written, number: u64) -> io::Result<Vec<u8>> {
        if let Some(block) = written.blocks.get(&number) {
            return Ok(block.clone());
        }
        let mut block = vec![0; BLOCK as usize];
        let at = number * BLOCK;
        let there = written.below.saturating_sub(at).min(BLOCK) as usize;
        self.file.read_exact_at(&mut block[..there], at)?;
        Ok(block)
    }
}

impl StorageBackend for OverlayFile {
    fn len(&self) -> io::Result<u64> {
        Ok(self.written().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let written = self.written();
        if offset + out.len() as u64 > written.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let mut done = 0;
        while done < out.len() {
            let at = offset + done as u64;
            let inside = (at % BLOCK) as usize;
            let n = (BLOCK as usize - inside).min(out.len() - done);
            let block = self.block(&written, at / BLOCK)?;
            out[done..done + n].copy_from_slice(&block[inside..inside + n]);
            done += n;
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut written = self.written();
        if len < written.len {
            let last = len / BLOCK;
            let mut cut = self.block(&written, last)?;
            cut[(len % BLOCK) as usize..].fill(0);
            written.blocks.split_off(&last);
            written.blocks.insert(last, cut);
            written.below = written.below.min(last * BLOCK);
        }
        written.len = len;
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut written = self.written();
        let mut done = 0;
        while done < data.len() {
            let at = offset + done as u64;
            let inside = (at % BLOCK) as usize;
            let n = (BLOCK as usize - inside).min(data.len() - done);
            let mut block = self.block(&written, at / BLOCK)?;
            block[inside..inside + n].copy_from_slice(&data[done..done + n]);
            written.blocks.insert(at / BLOCK, block);
            done += n;
        }
        written.len = written.len.max(offset + data.len() as u64);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_read_back_and_the_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("f");
        let before: Vec<u8> = (0..20_000_u32).map(|n| n as u8).collect();
        std::fs::write(&path, &before).unwrap();
        let overlay = OverlayFile::over(File::open(&path).unwrap()).unwrap();
        overlay.write(4_000, &[9; 5_000]).unwrap();
        let mut out = vec![0; 6_000];
        overlay.read(3_500, &mut out).unwrap();
        assert_eq!(out[..500], before[3_500..4_000]);
        assert_eq!(out[500..5_500], [9; 5_000]);
        assert_eq!(out[5_500..], before[9_000..9_500]);
        overlay.set_len(5_000).unwrap();
        overlay.set_len(9_000).unwrap();
        overlay.read(4_999, &mut out[..2]).unwrap();
        assert_eq!(out[..2], [9, 0], "what a shorter length cut off is gone");
        assert!(overlay.read(8_999, &mut out[..2]).is_err());
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}
