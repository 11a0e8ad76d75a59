//! Where a transfer is written to. A file is `NAME.part` until it is whole,
//! and nothing that is there already is ever overwritten.

use std::io;
use std::os::fd::AsFd as _;
use std::path::{Path, PathBuf};

use tokio::fs::{File, OpenOptions};
use tokio::io::AsyncWriteExt as _;

use crate::driver::downloads::{number, rename_new, safe_name};

/// Names tried for one file before it is given up.
const NAMES: u32 = 1_000;

/// An open target.
pub struct Target {
    file: File,
    /// What it is called until it is whole, and then.
    names: Option<(PathBuf, PathBuf)>,
}

impl Target {
    /// Standard output.
    ///
    /// # Errors
    /// It is closed.
    pub fn output() -> io::Result<Self> {
        let out = io::stdout().as_fd().try_clone_to_owned()?;
        Ok(Self { file: File::from_std(out.into()), names: None })
    }

    /// This file, which must not be there.
    ///
    /// # Errors
    /// It is there, or it cannot be made.
    pub async fn file(name: &Path) -> io::Result<Self> {
        if name.symlink_metadata().is_ok() {
            return Err(io::Error::from(io::ErrorKind::AlreadyExists));
        }
        let mut part = name.as_os_str().to_owned();
        part.push(".part");
        let part = PathBuf::from(part);
        let file = OpenOptions::new().write(true).create_new(true).open(&part).await?;
        Ok(Self { file, names: Some((part, name.to_owned())) })
    }

    /// A new file in a folder, named as near to `wish` as can be.
    ///
    /// # Errors
    /// It cannot be made.
    pub async fn beneath(folder: &Path, wish: &str) -> io::Result<Self> {
        let wish = safe_name(if wish.is_empty() { "received" } else { wish });
        for n in 1..=NAMES {
            let name = if n == 1 { wish.clone() } else { number(&wish, n) };
            match Self::file(&folder.join(name)).await {
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                other => return other,
            }
        }
        Err(io::Error::from(io::ErrorKind::AlreadyExists))
    }

    /// The file as long as it is not whole.
    #[must_use]
    pub fn part(&self) -> Option<&Path> {
        self.names.as_ref().map(|(part, _)| part.as_path())
    }

    pub(super) async fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.file.write_all(bytes).await?;
        if self.names.is_none() {
            self.file.flush().await?; // Whoever reads the pipe waits for it.
        }
        Ok(())
    }

    /// It is whole: on the disk, under its own name.
    pub(super) async fn finish(&mut self) -> io::Result<Option<PathBuf>> {
        self.file.flush().await?;
        let Some((part, name)) = &self.names else { return Ok(None) };
        self.file.sync_data().await?;
        rename_new(part, name)?;
        Ok(Some(name.clone()))
    }
}
