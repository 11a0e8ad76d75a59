//! The channel of a running servent: a named pipe whose name follows from the path
//! of its state folder. By default a pipe may be written by its owner alone.

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use axum::serve::Listener;
use data_encoding::HEXLOWER;
use sha2::{Digest as _, Sha256};
use tokio::net::windows::named_pipe::{
    ClientOptions, NamedPipeClient, NamedPipeServer, ServerOptions,
};

/// The end of a command.
pub type ControlStream = NamedPipeClient;

/// The system's number for a pipe whose ends are all taken at the moment.
const BUSY: i32 = 231;
/// How long until the next try then.
const AGAIN: Duration = Duration::from_millis(20);

/// The pipe of a servent.
pub struct ControlSocket {
    path: PathBuf,
}

/// The servent's end.
pub struct ControlListener {
    name: OsString,
    /// The next one to be taken.
    next: NamedPipeServer,
}

impl ControlSocket {
    /// The pipe of a state folder.
    ///
    /// # Errors
    /// The folder does not exist.
    pub fn for_state(state: &Path) -> io::Result<Self> {
        let state = state.canonicalize()?;
        let digest = Sha256::digest(state.as_os_str().as_encoded_bytes());
        let path = format!(r"\\.\pipe\servent-{}", HEXLOWER.encode(&digest[..16])).into();
        Ok(Self { path })
    }

    /// Listens there.
    ///
    /// # Errors
    /// Another process does.
    pub fn listen(&self) -> io::Result<ControlListener> {
        let name = self.path.clone().into_os_string();
        let next = ServerOptions::new().first_pipe_instance(true).create(&name)?;
        Ok(ControlListener { name, next })
    }

    /// Connects to the servent that listens there.
    ///
    /// # Errors
    /// None does.
    pub async fn connect(&self) -> io::Result<ControlStream> {
        loop {
            match ClientOptions::new().open(&self.path) {
                Err(why) if why.raw_os_error() == Some(BUSY) => tokio::time::sleep(AGAIN).await,
                opened => return opened,
            }
        }
    }

    /// The path, for people.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes it, which the system does itself.
    #[expect(clippy::unused_self, reason = "the same shape on every system")]
    pub fn remove(&self) {}
}

impl Listener for ControlListener {
    type Io = NamedPipeServer;
    type Addr = ();

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        loop {
            let connected = self.next.connect().await;
            // The next is made first: without one a client would find no servent.
            match ServerOptions::new().create(&self.name) {
                Ok(next) => {
                    let taken = std::mem::replace(&mut self.next, next);
                    if connected.is_ok() {
                        return (taken, ());
                    }
                }
                Err(why) => {
                    tracing::warn!(%why, "a command cannot be answered");
                    let _ = self.next.disconnect(); // It can be tried again.
                    tokio::time::sleep(AGAIN).await;
                }
            }
        }
    }

    fn local_addr(&self) -> io::Result<Self::Addr> {
        Ok(())
    }
}
