//! `--sha256`: the hash that many sites name beside a download.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::str::FromStr;

use data_encoding::{HEXLOWER, HEXLOWER_PERMISSIVE};
use sha2::{Digest as _, Sha256};

use crate::exit::{Exit, Failure};

/// The SHA-256 of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sha256Sum([u8; 32]);

impl FromStr for Sha256Sum {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let bytes = HEXLOWER_PERMISSIVE.decode(text.trim().as_bytes()).ok();
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.map(Self).ok_or_else(|| "it is written as 64 hex digits".to_owned())
    }
}

impl Sha256Sum {
    /// That of a file.
    pub(super) fn of_file(file: &Path) -> io::Result<Self> {
        let (mut file, mut digest) = (File::open(file)?, Sha256::new());
        let mut buffer = vec![0; 256 * 1024];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(Self(digest.finalize().into())),
                n => digest.update(&buffer[..n]),
            }
        }
    }

    /// Checks a file that has come; one that is another is taken away.
    pub(super) fn check(self, file: &Path) -> Result<(), Failure> {
        let found = Self::of_file(file).map_err(|e| Failure::file("read", file, &e))?;
        if found == self {
            return Ok(());
        }
        let _ = std::fs::remove_file(file);
        let found = HEXLOWER.encode(&found.0);
        let what = format!("the bytes are not the file asked for: their SHA-256 is {found}");
        Err(Failure::new(Exit::Unverified, what).next("try another source"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_another_hash_is_not_kept() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("a");
        std::fs::write(&file, "abc").unwrap();
        let abc = "BA7816BF8F01CFEA414140DE5DAE2223B00361A396177A9CB410FF61F20015AD";
        abc.parse::<Sha256Sum>().unwrap().check(&file).unwrap();
        let other: Sha256Sum = "00".repeat(32).parse().unwrap();
        assert!(other.check(&file).is_err() && !file.exists());
        assert!("abc".parse::<Sha256Sum>().is_err());
    }
}
