//! The servent's end of the control socket.

use std::path::Path;
use std::sync::Arc;

use servent::sys::ControlSocket;
use tokio::task::JoinHandle;

use crate::exit::Failure;
use crate::lab::{self, Hub};

/// Answers the commands of its user; when dropped it stops and removes the
/// socket.
pub(crate) struct ControlServer {
    socket: ControlSocket,
    serving: JoinHandle<()>,
}

impl ControlServer {
    /// Starts answering for the servents of `hub`.
    ///
    /// # Errors
    /// The socket cannot be created in the state folder.
    pub(crate) fn start(state: &Path, hub: Arc<Hub>) -> Result<Self, Failure> {
        let failed = |path: &Path, e| Failure::file("listen on", path, &e);
        let socket = ControlSocket::for_state(state).map_err(|e| failed(state, e))?;
        let listener = socket.listen().map_err(|e| failed(socket.path(), e))?;
        let serving = tokio::spawn(async move {
            if let Err(error) = lab::control(listener, hub).await {
                tracing::warn!(%error, "`servent status` is not answered any more");
            }
        });
        Ok(Self { socket, serving })
    }
}

impl Drop for ControlServer {
    fn drop(&mut self) {
        self.serving.abort();
        self.socket.remove();
    }
}
