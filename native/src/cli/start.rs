//! What every command that runs a servent has in common: starting it, and
//! telling its errors apart.

use std::net::SocketAddr;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::Path;
use std::sync::Arc;

use clap::Args;
use servent::error::{RunError, StartError, StoreFailure};
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};

use super::exit::{Exit, Failure, said};
use crate::config::file::Raw;
use crate::config::settings::Lab;
use crate::config::{Builder, Config, Origin};
use crate::lab;

/// Where a servent's lab is.
#[derive(Debug, Args)]
pub(crate) struct LabFlags {
    /// Serve the lab here, or `off`.
    #[arg(long, value_name = "ADDRESS")]
    lab: Option<String>,
    #[command(flatten)]
    who: Public,
}

/// Who may come to the lab.
#[derive(Debug, Args)]
pub(crate) struct Public {
    /// Let whoever reaches this machine read the lab, not only this machine.
    #[arg(long)]
    lab_public: bool,
}

impl LabFlags {
    pub(crate) fn put(&self, builder: &mut Builder) -> Result<(), Failure> {
        if let Some(lab) = &self.lab {
            builder.flag("--lab", "lab", Raw::Text(lab.clone()))?;
        }
        self.who.put(builder)
    }
}

impl Public {
    pub(crate) fn put(&self, builder: &mut Builder) -> Result<(), Failure> {
        if self.lab_public {
            builder.flag("--lab-public", "lab_public", Raw::Boolean(true))?;
        }
        Ok(())
    }
}

/// The runtime of a command.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    runtime::Builder::new_multi_thread()
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
            StartError::Dice(_) => Exit::Failed,
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
    if !at.ip().is_loopback() && !config.settings.lab_public {
        return Err(Failure::usage(format!(
            "the lab on {at} would show everything to whoever reaches this machine, down to the \
             seed that the tickets of the queue follow from"
        ))
        .next(format!(
            "keep it on 127.0.0.1 and come by `ssh -L {0}:127.0.0.1:{0} HOST`, or allow it with \
             --lab-public",
            at.port()
        )));
    }
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
    Ok(Some((listener, got)))
}

/// Makes a folder of our own, for nobody else to look into.
pub(crate) fn make(folder: &Path) -> Result<(), Failure> {
    let made = std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    made.map_err(|e| Failure::file("make the folder", folder, &e))
}
