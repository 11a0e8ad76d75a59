//! What all commands that run a servent share: starting it, and turning its
//! errors into exit codes.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::Args;
use servent::Origins;
use servent::error::{RunError, StartError, StoreFailure};
use servent::sys::{OwnerOnly as _, is_port_in_use};
use tokio::net::TcpListener;
use tokio::runtime::{self, Runtime};

use super::amount::size;
use super::control::token;
use crate::config::file::Raw;
use crate::config::settings::LabAddress;
use crate::config::{Builder, Config, Origin};
use crate::exit::{Exit, Failure, error_text};
use crate::lab::{self, LabDoor};

/// The first port that needs no privileges.
const FIRST_FREE: u16 = 1_024;

/// `ADDRESS:PORT`, or `:PORT` for every address.
pub(crate) fn address(text: &str) -> Result<SocketAddr, String> {
    let any = |port: &str| Some(SocketAddr::from((Ipv6Addr::UNSPECIFIED, port.parse().ok()?)));
    let at = text.strip_prefix(':').map_or_else(|| text.parse().ok(), any);
    // That of a link may name its interface: [fe80::1%eth0]:6348.
    let on_link = || text.contains('%').then(|| link_address(text)).flatten();
    let at = at.or_else(on_link);
    at.ok_or_else(|| {
        format!("it is no address such as {}:7000, or :7000 for all", Ipv4Addr::LOCALHOST)
    })
}

/// An address of a link with the name of its interface.
fn link_address(text: &str) -> Option<SocketAddr> {
    let (host, port) = text.rsplit_once(':')?;
    let host = host.strip_prefix('[')?.strip_suffix(']')?;
    (host, port.parse().ok()?).to_socket_addrs().ok()?.next()
}

/// Where a servent's lab is.
#[derive(Debug, Args)]
pub(crate) struct LabFlags {
    /// Serve the lab here, or `off`.
    #[arg(long, value_name = "ADDRESS")]
    lab: Option<String>,
    #[command(flatten)]
    who: Public,
    /// Let pages of this origin connect by WebSocket, as the lab's own page may;
    /// several are possible.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
}

/// Who may come to the lab.
#[derive(Debug, Args)]
pub(crate) struct Public {
    /// Let others open the lab, not only this machine: its page and counters by
    /// its address, everything by the link with the key.
    #[arg(long)]
    lab_public: bool,
}

impl LabFlags {
    pub(crate) fn put(&self, builder: &mut Builder) -> Result<(), Failure> {
        if let Some(lab) = &self.lab {
            builder.flag("--lab", "lab", Raw::Text(lab.clone()))?;
        }
        builder.flags("--allow-origin", "allow_origin", &self.allow_origin)?;
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

/// Where what happens is recorded.
#[derive(Debug, Args)]
pub(crate) struct TraceFlag {
    /// Record every input and decision in this file, for `servent replay`.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Bytes that file may have, such as 500M or 2G; 0 for no limit.
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub(crate) trace_limit: Option<u64>,
}

impl TraceFlag {
    /// A recording that is there already is not written over by a name on the
    /// command line. One that the settings name begins anew with every start.
    pub(crate) fn put(&self, builder: &mut Builder) -> Result<(), Failure> {
        if let Some(trace) = &self.trace {
            if trace.is_file() {
                let what =
                    format!("{} is there already, and nothing was overwritten", trace.display());
                return Err(Failure::new(Exit::Disk, what)
                    .next("name another file for the trace, or take that one away"));
            }
            let path = trace.to_string_lossy().into_owned();
            builder.flag("--trace", "trace", Raw::Text(path))?;
        }
        if let Some(limit) = self.trace_limit {
            let limit = i64::try_from(limit).unwrap_or(i64::MAX);
            builder.flag("--trace-limit", "trace_limit", Raw::Integer(limit))?;
        }
        Ok(())
    }
}

/// The async runtime of a command.
pub(crate) fn runtime() -> Result<Runtime, Failure> {
    runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| {
        Failure::new(Exit::Failed, format!("cannot start threads: {}", error_text(&e)))
    })
}

impl From<StartError> for Failure {
    fn from(error: StartError) -> Self {
        let (exit, why) = match &error {
            StartError::PortInUse { .. } => (Exit::PortInUse, None),
            StartError::Listen { at, why } => {
                return Self::new(Exit::Network, error.to_string()).next(elsewhere(*at, why));
            }
            StartError::Store(StoreFailure::Io { why, .. }) => (Exit::Disk, Some(why)),
            StartError::Store(away @ StoreFailure::Away { .. }) => {
                return Self::new(store(away), error.to_string())
                    .next("see that it runs and that its URL is right, then start again");
            }
            StartError::Store(failure) => (store(failure), None),
            StartError::Dice(_) => (Exit::Failed, None),
            StartError::Nowhere => (Exit::Usage, None),
            StartError::Share { why, .. }
            | StartError::Folder { why, .. }
            | StartError::Trace { why, .. } => (Exit::Disk, Some(why)),
            _ => (Exit::Disk, None),
        };
        let failure = Self::new(exit, error.to_string());
        match why {
            Some(why) => failure.mend(why),
            None => failure,
        }
    }
}

/// Advice on another address to listen on.
fn elsewhere(at: SocketAddr, why: &io::Error) -> String {
    match why.kind() {
        io::ErrorKind::PermissionDenied => {
            format!(
                "choose a port from {FIRST_FREE} on with --listen, or run as who may use {}",
                at.port()
            )
        }
        io::ErrorKind::AddrNotAvailable => {
            format!(
                "choose an address of this machine with --listen; 0.0.0.0:{0} and [::]:{0} are all of them",
                at.port()
            )
        }
        _ => "choose another address with --listen".into(),
    }
}

impl From<StoreFailure> for Failure {
    fn from(error: StoreFailure) -> Self {
        Self::from(StartError::from(error))
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
            RunError::Trace(_) => Exit::Disk,
            _ => Exit::Failed,
        };
        Self::new(exit, error.to_string())
    }
}

fn store(failure: &StoreFailure) -> Exit {
    match failure {
        StoreFailure::Locked { .. }
        | StoreFailure::Replaced { .. }
        | StoreFailure::TakenOver { .. } => Exit::Running,
        StoreFailure::Damaged { .. }
        | StoreFailure::Newer { .. }
        | StoreFailure::Alien { .. }
        | StoreFailure::NewerSite { .. } => Exit::Foreign,
        StoreFailure::Away { .. } | StoreFailure::Unauthorized { .. } => Exit::Network,
        StoreFailure::NoFile { .. }
        | StoreFailure::Missing { .. }
        | StoreFailure::OtherMode { .. }
        | StoreFailure::NoSite { .. }
        | StoreFailure::OtherPurpose { .. } => Exit::Usage,
        _ => Exit::Disk,
    }
}

/// Opens the lab's port and returns its address; `None` when the lab is off.
/// One that others can reach has a key, and so has the page of a room. If the
/// user did not choose the port, the next free one after the usual one is used.
pub(crate) async fn lab(config: &Config) -> Result<Option<(TcpListener, LabDoor)>, Failure> {
    let LabAddress::At(at) = config.settings.lab else { return Ok(None) };
    if !at.ip().is_loopback() && !config.settings.lab_public {
        return Err(Failure::usage(format!(
            "the lab on {at} would show its counters to every host that reaches this machine, and \
             everything to every visitor who has its link, down to the seed that the tickets of the queue \
             follow from"
        ))
        .next(format!(
            "keep it on 127.0.0.1 and come by `ssh -L {0}:127.0.0.1:{0} HOST`, or allow it with \
             --lab-public",
            at.port()
        )));
    }
    let origin = config.origin("lab");
    let chosen = *origin != Origin::Default;
    let room = matches!(origin, Origin::Flag(flag) if ["room", "--page"].contains(&flag.as_str()));
    let (what, other) =
        if room { ("page", "--page ADDRESS") } else { ("lab", "--lab ADDRESS, or --lab off") };
    let failed = |e: io::Error| {
        if is_port_in_use(&e) {
            return Failure::new(
                Exit::PortInUse,
                format!("the {what}'s port {} is in use", at.port()),
            )
            .next(format!("choose another with {other}"));
        }
        Failure::new(Exit::Network, format!("the {what} cannot listen on {at}: {}", error_text(&e)))
            .next(format!("choose another with {other}"))
    };
    let listener = lab::listen(at, chosen).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    // A proxy may let others come to a room that only this machine reaches.
    let key = if address.ip().is_loopback() && !room { None } else { Some(token()?) };
    let screen = if room { Some(token()?) } else { None };
    Ok(Some((listener, LabDoor { address, key, screen })))
}

/// The pages that may connect by WebSocket: the lab's own, if there is one, and
/// the configured ones.
pub(crate) fn origins(config: &Config, lab: Option<&LabDoor>) -> Option<Origins> {
    let allowed = config.settings.allow_origin.clone();
    let ports: Vec<u16> = lab.iter().map(|door| door.address.port()).collect();
    (!ports.is_empty() || !allowed.is_empty()).then_some(Origins { ports, allowed })
}

/// Creates a folder that only its owner can enter.
pub(crate) fn make(folder: &Path) -> Result<(), Failure> {
    let made = std::fs::DirBuilder::new().recursive(true).private().create(folder);
    made.map_err(|e| Failure::file("make the folder", folder, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_people_write_them() {
        assert_eq!(address(":6086"), Ok("[::]:6086".parse().unwrap()));
        assert_eq!(address("127.0.0.1:0"), Ok("127.0.0.1:0".parse().unwrap()));
        let on_link = address("[fe80::1%lo]:6348").unwrap();
        assert!(matches!(on_link, SocketAddr::V6(v6) if v6.scope_id() > 0), "{on_link}");
        for wrong in ["6086", ":x", ":70000", "localhost:6086", ""] {
            assert!(address(wrong).is_err(), "{wrong}");
        }
    }
}
