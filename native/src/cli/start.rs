//! What every command that runs a servent has in common: starting it, and
//! telling its errors apart.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use servent::error::{RunError, StartError, StoreFailure};
use tokio::net::TcpListener;
use tokio::runtime::{Builder, Runtime};

use super::exit::{Exit, Failure, said};
use crate::config::settings::Lab;
use crate::config::{Config, Origin};
use crate::lab;

/// The runtime of a command.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(|e| Failure::new(Exit::Failed, format!("cannot start threads: {}", said(&e))))
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let exit = match &error {
            StartError::PortInUse { .. } => Exit::PortInUse,
            StartError::Listen { .. } => Exit::Network,
            StartError::Store(failure) => store(failure),
            _ => Exit::Disk,
        };
        Self::new(exit, error.to_string())
    }
}

impl From<Arc<RunError>> for Failure {
    fn from(error: Arc<RunError>) -> Self {
        Self::from(&*error)
    }
}

impl From<RunError> for Failure {
    fn from(error: RunError) -> Self {
        Self::from(&error)
    }
}

impl From<&RunError> for Failure {
    fn from(error: &RunError) -> Self {
        let exit = match error {
            RunError::Store(failure) => store(failure),
            _ => Exit::Failed,
        };
        Self::new(exit, error.to_string())
    }
}

fn store(failure: &StoreFailure) -> Exit {
    match failure {
        StoreFailure::Locked { .. } => Exit::Running,
        StoreFailure::Damaged { .. } | StoreFailure::Newer { .. } => Exit::Foreign,
        _ => Exit::Disk,
    }
}

/// Opens the lab's port and says which one it got; `None` when it is off.
/// When nobody chose the port, the next free one after the usual one will do.
pub(crate) async fn lab(config: &Config) -> Result<Option<(TcpListener, SocketAddr)>, Failure> {
    let Lab::At(at) = config.settings.lab else { return Ok(None) };
    let chosen = *config.origin("lab") != Origin::Default;
    let failed = |e: std::io::Error| {
        if e.kind() == std::io::ErrorKind::AddrInUse {
            return Failure::new(
                Exit::PortInUse,
                format!("the lab's port {} is in use", at.port()),
            )
            .next("choose another with --lab ADDRESS, or --lab off");
        }
        Failure::new(Exit::Network, format!("the lab cannot listen on {at}: {}", said(&e)))
            .next("choose another address with --lab, or --lab off")
    };
    let listener = lab::listen(at, chosen).await.map_err(failed)?;
    let got = listener.local_addr().map_err(failed)?;
    if !got.ip().is_loopback() {
        tracing::warn!("the lab on {got} can be read by everybody who reaches this machine");
    }
    Ok(Some((listener, got)))
}

/// Makes a folder of our own.
pub(crate) fn make(folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder).map_err(|e| Failure::file("make the folder", folder, &e))
}
