//! The machine: its clock, its dice, its name, its limits, its browser.

use std::io;
use std::net::IpAddr;
use std::process::Command;
use std::time::{Duration, Instant};

/// A clock that no suspension stops: the standard one goes on here.
pub(crate) fn steady(origin: Instant) -> Duration {
    origin.elapsed()
}

/// Draws bytes that cannot be guessed.
pub(crate) fn draw(bytes: &mut [u8]) -> io::Result<()> {
    getrandom::fill(bytes).map_err(io::Error::other)
}

/// No limit of open files is in our way here.
pub(crate) fn raise_open_files() -> Option<u64> {
    None
}

/// The name of this machine, by which others of its network may know it.
#[must_use]
pub fn machine_name() -> Option<String> {
    std::env::var("COMPUTERNAME").ok().filter(|name| !name.is_empty())
}

/// The number of this installation; not known here, so that machines are told apart by their
/// names alone.
pub(crate) const fn machine_id() -> Option<String> {
    None
}

/// The router of this network; not known here, so that it is asked by UPnP alone.
#[must_use]
pub const fn gateway() -> Option<IpAddr> {
    None
}

/// The command that asks the desktop to open a page.
#[must_use]
pub fn browser(url: &str) -> Command {
    let mut opener = Command::new("rundll32");
    // No shell reads the address, so it may contain what means something to one.
    opener.args(["url.dll,FileProtocolHandler", url]);
    opener
}
