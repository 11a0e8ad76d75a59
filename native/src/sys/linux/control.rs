//! The channel of a running servent: `control.sock` in its state folder.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

pub use tokio::net::{UnixListener as ControlListener, UnixStream as ControlStream};

/// Its name.
const NAME: &str = "control.sock";
/// Systems allow no longer paths for a socket.
const LONGEST: usize = 100;

/// The path of a servent's socket.
pub struct ControlSocket {
    path: PathBuf,
    /// A folder with a long path is reached through this descriptor.
    _folder: Option<File>,
}

impl ControlSocket {
    /// The socket of a state folder.
    ///
    /// # Errors
    /// The folder does not exist.
    pub fn for_state(state: &Path) -> io::Result<Self> {
        let path = state.join(NAME);
        if path.as_os_str().len() <= LONGEST {
            return Ok(Self { path, _folder: None });
        }
        let folder = File::open(state)?;
        let path = format!("/proc/self/fd/{}/{NAME}", folder.as_raw_fd()).into();
        Ok(Self { path, _folder: Some(folder) })
    }

    /// Listens there. The state is locked by us, so an existing socket was left
    /// by a killed process.
    ///
    /// # Errors
    /// The socket cannot be created in that folder.
    pub fn listen(&self) -> io::Result<ControlListener> {
        self.remove();
        let listener = ControlListener::bind(&self.path)?;
        fs::set_permissions(&self.path, Permissions::from_mode(0o600))?;
        Ok(listener)
    }

    /// Connects to the servent that listens there.
    ///
    /// # Errors
    /// None does.
    pub async fn connect(&self) -> io::Result<ControlStream> {
        ControlStream::connect(&self.path).await
    }

    /// The path, for people.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it.
    pub fn remove(&self) {
        let _ = fs::remove_file(&self.path); // It may not exist.
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn it_is_private_and_found_in_a_folder_of_any_name() {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["a".to_owned(), "long".repeat(50)] {
            let state = dir.path().join(folder);
            fs::create_dir(&state).unwrap();
            let socket = ControlSocket::for_state(&state).unwrap();
            let listener = socket.listen().unwrap();
            let mode = fs::metadata(state.join(NAME)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
            let (there, here) = tokio::join!(listener.accept(), socket.connect());
            assert!(there.is_ok() && here.is_ok());
            socket.listen().unwrap();
            socket.remove();
            assert!(!state.join(NAME).exists());
        }
    }
}
