//! `control.json`: the address of a servent's lab, and the token that changes
//! through the lab require. A user who may read the state folder may use it.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use data_encoding::HEXLOWER;
use serde::{Deserialize, Serialize};
use servent::dice;
use servent::sys::OwnerOnly as _;

use crate::exit::{Exit, Failure, error_text};

/// What a running servent writes to its state folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct LabAccess {
    /// The lab's address.
    pub(crate) address: SocketAddr,
    /// The token that changes of its state require.
    pub(crate) token: String,
    /// Its process id.
    pub(crate) pid: u32,
}

/// The file of a running servent; removed when dropped.
pub(crate) struct ControlFile(PathBuf);

/// A new token of 128 random bits.
pub(crate) fn token() -> Result<String, Failure> {
    let drawn = dice::draw::<16>();
    let none = |e| Failure::new(Exit::Failed, format!("no token can be drawn: {}", error_text(&e)));
    Ok(HEXLOWER.encode(&drawn.map_err(none)?))
}

fn file(state: &Path) -> PathBuf {
    state.join("control.json")
}

impl ControlFile {
    /// Writes it so that only its owner can read it.
    pub(crate) fn write(state: &Path, access: &LabAccess) -> Result<Self, Failure> {
        let path = file(state);
        let fresh = state.join("control.json.new");
        let failed = |e: std::io::Error| Failure::file("write", &path, &e);
        let _ = fs::remove_file(&fresh);
        let mut out = OpenOptions::new()
            .write(true)
            .create_new(true)
            .private()
            .open(&fresh)
            .map_err(failed)?;
        let text = serde_json::to_string(access).unwrap_or_default();
        out.write_all(text.as_bytes()).map_err(failed)?;
        fs::rename(&fresh, &path).map_err(failed)?;
        Ok(Self(path))
    }
}

impl Drop for ControlFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    #[test]
    fn the_file_is_private_and_goes_with_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let access = LabAccess {
            address: SocketAddr::from(([127, 0, 0, 1], 6380)),
            token: token().unwrap(),
            pid: 7,
        };
        let written = ControlFile::write(dir.path(), &access).unwrap();
        let text = fs::read_to_string(file(dir.path())).unwrap();
        assert_eq!(serde_json::from_str::<LabAccess>(&text).unwrap(), access);
        let mode = fs::metadata(file(dir.path())).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        drop(written);
        assert!(!file(dir.path()).exists());
    }
}
