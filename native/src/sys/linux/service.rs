//! The manager of services: systemd, or one that speaks as it does (sd_notify).

use std::env;
use std::ffi::OsStr;
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

/// Waits to hear how the program is.
#[derive(Debug)]
pub struct ServiceManager {
    socket: UnixDatagram,
    watches: Option<Duration>,
}

impl ServiceManager {
    /// The one that started the program; `None`: there is none that wants to hear.
    #[must_use]
    pub fn from_environment() -> Option<Self> {
        let socket = connect(&env::var_os("NOTIFY_SOCKET")?).ok()?;
        let number = |name| env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
        let ours = number("WATCHDOG_PID").is_none_or(|pid| pid == u64::from(std::process::id()));
        let watches = number("WATCHDOG_USEC").filter(|micros| ours && *micros > 0);
        Some(Self { socket, watches: watches.map(Duration::from_micros) })
    }

    /// Tells it a state such as `READY=1`.
    ///
    /// # Errors
    /// It does not listen any more.
    pub fn tell(&self, state: &str) -> io::Result<()> {
        self.socket.send(state.as_bytes()).map(drop)
    }

    /// The longest that it may hear nothing, if it watches.
    #[must_use]
    pub const fn watches(&self) -> Option<Duration> {
        self.watches
    }
}

/// A name that begins with `@` is in no folder.
fn connect(name: &OsStr) -> io::Result<UnixDatagram> {
    let at = match name.as_bytes().strip_prefix(b"@") {
        Some(rest) => SocketAddr::from_abstract_name(rest)?,
        None => SocketAddr::from_pathname(name)?,
    };
    let socket = UnixDatagram::unbound()?;
    socket.connect_addr(&at)?;
    socket.set_nonblocking(true)?; // It must never make us wait.
    Ok(socket)
}
