//! How the program ends: one sentence, what to do next, and an exit code that
//! scripts can tell apart.

use std::fmt;
use std::io;
use std::path::Path;

/// The exit codes, as `servent help` documents them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Exit {
    /// A failure without a code of its own.
    Failed = 1,
    /// The command line or the configuration is wrong.
    Usage = 2,
    /// No peer could be reached, or every source failed.
    Network = 3,
    /// A folder or file cannot be read or written, or the disk is full.
    Disk = 4,
    /// The bytes, the trace, the run or a certificate do not verify.
    Unverified = 5,
    /// Another program listens on the port.
    PortInUse = 6,
    /// No servent runs with this state folder, or one already does.
    Running = 7,
    /// The state, the trace, the scenario or the peer cannot be understood.
    Foreign = 8,
    /// The other side says no, or stops: every source refuses or has no such file (an
    /// HTTP status of 4xx), the code is wrong, a receiver does not want it.
    Refused = 9,
    /// Some of several files did not arrive; each was named.
    InPart = 10,
    /// Stopped by the user before it was done.
    Interrupted = 130,
}

/// The table of exit codes for the help and the manual page.
pub(crate) const EXIT_CODES: &str = "\
Exit codes:
  0    done
  1    failed for a reason without a code of its own
  2    wrong command line or configuration
  3    network: no peer could be reached, or every source failed
  4    disk: cannot read or write, or no space is left
  5    not verified: bytes, trace, run or certificate are not what they should be
  6    the port is in use
  7    no servent runs with this state folder, or one already does
  8    a state file, trace, scenario or peer that cannot be understood
  9    refused: the other side says no or stops: no such file, not for you, a wrong code
  10   in part: some files did not arrive, and were named
  130  stopped by the user before it was done";

/// What the standard library puts before the number of a system error.
const OS_ERROR: &str = " (os error ";
/// What it puts before the reason why a name did not resolve.
const LOOKUP: &str = "failed to lookup address information: ";

/// What went wrong and what to do next.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: Exit,
    pub(crate) what: String,
    pub(crate) next: Option<String>,
    /// The HTTP status that says so, where one does.
    pub(crate) status: Option<u16>,
    /// The disk refuses only this name, or has another file there: others of the same
    /// command may succeed.
    pub(crate) is_of_name: bool,
}

impl Exit {
    /// The kind of failure, as programs read it in an event.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Failed => "failed",
            Self::Usage => "usage",
            Self::Network => "network",
            Self::Disk => "disk",
            Self::Unverified => "unverified",
            Self::PortInUse => "port_in_use",
            Self::Running => "running",
            Self::Foreign => "foreign",
            Self::Refused => "refused",
            Self::InPart => "in_part",
            Self::Interrupted => "interrupted",
        }
    }
}

impl Failure {
    pub(crate) fn new(exit: Exit, what: impl Into<String>) -> Self {
        Self {
            exit,
            what: without_number(what.into()),
            next: None,
            status: None,
            is_of_name: false,
        }
    }

    pub(crate) fn usage(what: impl Into<String>) -> Self {
        Self::new(Exit::Usage, what)
    }

    /// Adds what the user can do about it.
    pub(crate) fn next(mut self, next: impl Into<String>) -> Self {
        self.next = Some(next.into());
        self
    }

    /// Adds the HTTP status that says so.
    pub(crate) const fn with_status(mut self, status: Option<u16>) -> Self {
        self.status = status;
        self
    }

    /// Says that it is about one name, and not about the disk.
    pub(crate) fn of_name(self) -> Self {
        Self { is_of_name: true, ..self }
    }

    /// A file that cannot be read or written. `doing` is a verb.
    pub(crate) fn file(doing: &str, path: &Path, error: &io::Error) -> Self {
        Self::new(Exit::Disk, format!("cannot {doing} {}: {}", path.display(), error_text(error)))
            .mend(error)
    }

    /// Adds advice that depends on the system's error.
    pub(crate) fn mend(self, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::NotFound => self.next("check the path"),
            io::ErrorKind::PermissionDenied => self.next("check its permissions"),
            io::ErrorKind::StorageFull => self.next("make room on that disk and try again"),
            io::ErrorKind::IsADirectory => self.next("name a file in that folder"),
            _ => self,
        }
    }
}

/// A sentence without the numbers of system errors.
fn without_number(mut text: String) -> String {
    while let Some(from) = text.find(OS_ERROR) {
        let number = text[from + OS_ERROR.len()..].find(')');
        let to = number.map_or(text.len(), |length| from + OS_ERROR.len() + length + 1);
        text.replace_range(from..to, "");
    }
    text
}

/// The system's message, without its error number and without the name of the
/// failed call.
pub(crate) fn error_text(error: &io::Error) -> String {
    let text = without_number(error.to_string());
    let mut text = text.strip_prefix(LOOKUP).unwrap_or(&text).to_owned();
    if let Some(first) = text.get(..1) {
        let lower = first.to_lowercase();
        text.replace_range(..1, &lower);
    }
    text
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(next) = &self.next {
            write!(f, "\n  next: {next}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Failure {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_exit_code_is_documented() {
        for exit in [
            Exit::Failed,
            Exit::Usage,
            Exit::Network,
            Exit::Disk,
            Exit::Unverified,
            Exit::PortInUse,
            Exit::Running,
            Exit::Foreign,
            Exit::Refused,
            Exit::InPart,
            Exit::Interrupted,
        ] {
            let code = exit as i32;
            assert!(EXIT_CODES.lines().any(|l| l.starts_with(&format!("  {code} "))), "{code}");
        }
    }

    #[test]
    fn the_systems_words_lose_their_number() {
        let error = io::Error::from_raw_os_error(28);
        assert_eq!(error_text(&error), "no space left on device");
        let failure =
            Failure::new(Exit::Disk, format!("cannot write x: {error}; and then {error}"));
        let words = "No space left on device";
        assert_eq!(failure.what, format!("cannot write x: {words}; and then {words}"));
        let odd = Failure::new(Exit::Disk, "x (os error 2");
        assert_eq!(odd.what, "x");
        let unknown = io::Error::other(format!("{LOOKUP}Name or service not known"));
        assert_eq!(error_text(&unknown), "name or service not known");
    }
}
