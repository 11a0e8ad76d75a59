//! The machine: its clock, its dice, its name, its limits, its browser.

use std::io;
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
}
