//! The machine: its clock, its dice, its name, its limits, its browser.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Resource, getrlimit, setrlimit};
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, clock_gettime};

/// A clock that no suspension stops.
pub(crate) fn steady(_origin: Instant) -> Duration {
    clock_gettime(ClockId::Boottime).try_into().unwrap_or_default()
}

/// Draws bytes that cannot be guessed.
pub(crate) fn draw(bytes: &mut [u8]) -> io::Result<()> {
    let wanted = bytes.len();
    whole(wanted, getrandom(bytes, GetRandomFlags::empty()))
}

/// Fewer than were asked for are none.
fn whole(wanted: usize, drawn: rustix::io::Result<usize>) -> io::Result<()> {
    if drawn? < wanted {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(())
}

/// Raises the limit of open files as far as possible without privileges, and
/// returns it; `None`: there is none.
pub(crate) fn raise_open_files() -> Option<u64> {
    let mut limit = getrlimit(Resource::Nofile);
    if limit.current != limit.maximum {
        let mut raised = limit;
        raised.current = limit.maximum;
        if setrlimit(Resource::Nofile, raised).is_ok() {
            limit = getrlimit(Resource::Nofile);
        }
    }
    limit.current
}

/// The name of this machine, by which others of its network may know it.
#[must_use]
pub fn machine_name() -> Option<String> {
    let name = rustix::system::uname().nodename().to_str().ok()?.to_owned();
    Some(name).filter(|name| !name.is_empty())
}

/// The number of this installation, which a copy of it on another machine may have too.
pub(crate) fn machine_id() -> Option<String> {
    let id = std::fs::read_to_string("/etc/machine-id").ok()?;
    Some(id.trim().to_owned()).filter(|id| !id.is_empty())
}

/// The router of this network: where packets for the world go. `None`: there is none,
/// or it is not known.
#[must_use]
pub fn gateway() -> Option<IpAddr> {
    gateway_in(&std::fs::read_to_string("/proc/self/net/route").ok()?)
}

/// The same in the kernel's table: interface, destination and gateway in hexadecimal
/// as they are in memory, and more.
fn gateway_in(table: &str) -> Option<IpAddr> {
    table.lines().skip(1).find_map(|line| {
        let mut fields = line.split_whitespace().skip(1);
        let (destination, gateway) = (fields.next()?, fields.next()?);
        let gateway = u32::from_str_radix(gateway, 16).ok().filter(|it| *it != 0)?;
        let everything = destination == "00000000";
        everything.then(|| Ipv4Addr::from(gateway.to_ne_bytes()).into())
    })
}

/// The command that asks the desktop to open a page.
#[must_use]
pub fn browser(url: &str) -> Command {
    let mut opener = Command::new("xdg-open");
    opener.arg(url);
    opener
}

#[cfg(test)]
mod tests {
    use rustix::io::Errno;

    use super::*;

    #[test]
    fn a_part_of_what_is_drawn_is_nothing() {
        for none in [Ok(0), Ok(7), Err(Errno::NOSYS)] {
            assert!(whole(8, none).is_err());
        }
        whole(8, Ok(8)).unwrap();
    }

    #[test]
    fn the_limit_is_raised_to_what_is_allowed() {
        let raised = raise_open_files();
        assert_eq!(getrlimit(Resource::Nofile).current, raised);
    }

    #[test]
    fn the_router_is_the_gateway_to_everything() {
        let head = "Iface\tDestination\tGateway \tFlags\tRefCnt\tUse\tMetric\tMask\n";
        let ip = u32::from_ne_bytes([10, 0, 0, 1]);
        let near = "eth0\t0000000A\t00000000\t0001\t0\t0\t0\t00FFFFFF\n";
        let far = format!("eth0\t00000000\t{ip:08X}\t0003\t0\t0\t0\t00000000\n");
        assert_eq!(gateway_in(&format!("{head}{near}")), None);
        let router = Some([10, 0, 0, 1].into());
        assert_eq!(gateway_in(&format!("{head}{near}{far}")), router);
        assert_eq!(gateway_in("nonsense\neth0\t00000000\tXYZ\n"), None);
    }
}
