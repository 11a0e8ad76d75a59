//! Running other programs: never with our standard input, always with an
//! error that names the whole command, never without an end.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::{PipeReader, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::{machine, paths, tree};

/// What runs without being seen may take that long, unless more is said:
/// several times what the longest takes on a small machine that is busy.
const PATIENCE: Duration = Duration::from_mins(30);
/// How long a silence after a program's end means that it has said everything:
/// what it left behind may hold its outputs open.
pub(crate) const AFTERWARDS: Duration = Duration::from_secs(5);

/// A program about to be run in the root of the repository.
pub(crate) struct Tool {
    command: Command,
    shown: String,
    patience: Duration,
}

/// A program that runs.
pub(crate) struct Started {
    child: Child,
    shown: String,
}

/// A program that ended, and what it said.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    pub(crate) text: String,
    pub(crate) errors: String,
}

impl Started {
    /// Waits for its end.
    pub(crate) fn end(mut self) -> Result<()> {
        succeeded(&self.shown, self.child.wait()?)
    }
}

fn succeeded(shown: &str, status: ExitStatus) -> Result<()> {
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// Cargo, the one that started us, without what it told us about our own package:
/// build scripts that heed these variables (`ring`'s does) would run again, and with
/// them half of the program would be built again, each time xtask and a person take
/// turns.
pub(crate) fn cargo() -> Tool {
    let path = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut tool = Tool::named(&path, "cargo");
    for (name, _) in std::env::vars_os() {
        let known = name.to_string_lossy();
        if known.starts_with("CARGO_PKG_") || known.starts_with("CARGO_MANIFEST_") {
            tool.command.env_remove(name);
        }
    }
    tool
}

impl Tool {
    /// The program `name`, found on the path.
    pub(crate) fn new(name: impl AsRef<OsStr>) -> Self {
        let shown = name.as_ref().to_string_lossy().into_owned();
        Self::named(name.as_ref(), &shown)
    }

    fn named(path: &OsStr, shown: &str) -> Self {
        let mut command = Command::new(path);
        command.current_dir(paths::root()).stdin(Stdio::null());
        Self { command, shown: shown.to_owned(), patience: PATIENCE }
    }

    /// How long [`Tool::quiet`] waits for its end.
    pub(crate) fn ends_within(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// Adds one argument.
    pub(crate) fn arg(mut self, arg: impl AsRef<OsStr>) -> Self {
        let _ = write!(self.shown, " {}", arg.as_ref().to_string_lossy());
        self.command.arg(arg);
        self
    }

    /// Adds the words of `text`, split at blanks.
    pub(crate) fn words(self, text: &str) -> Self {
        text.split_whitespace().fold(self, Tool::arg)
    }

    /// Runs it in another folder.
    pub(crate) fn within(mut self, dir: impl AsRef<std::path::Path>) -> Self {
        self.command.current_dir(dir);
        self
    }

    /// Sets a variable of its environment.
    pub(crate) fn env(mut self, key: &str, value: impl AsRef<OsStr>) -> Self {
        self.command.env(key, value);
        self
    }

    /// Lets what runs beside it have the processors first, the more so the larger the
    /// number is (as `nice` means it).
    pub(crate) fn yielding(mut self, niceness: u8) -> Self {
        let Some(nice) = machine::find(&["nice"]) else { return self };
        let mut command = Command::new(nice);
        command.arg("-n").arg(niceness.to_string());
        command.arg(self.command.get_program()).args(self.command.get_args());
        for (key, value) in self.command.get_envs() {
            match value {
                Some(value) => command.env(key, value),
                None => command.env_remove(key),
            };
        }
        let folder = self.command.get_current_dir();
        command.current_dir(folder.unwrap_or(&paths::root())).stdin(Stdio::null());
        self.command = command;
        self
    }

    /// Gives it our standard input: for programs a person talks to.
    pub(crate) fn interactive(mut self) -> Self {
        self.command.stdin(Stdio::inherit());
        self
    }

    /// Runs it with its output on ours.
    pub(crate) fn run(mut self) -> Result<()> {
        let status = self
            .command
            .status()
            .with_context(|| format!("`{}` could not be started", self.shown))?;
        succeeded(&self.shown, status)
    }

    /// Starts it with both its outputs in one pipe, in the order they come.
    pub(crate) fn joined(mut self) -> Result<(PipeReader, Started)> {
        let (output, input) = std::io::pipe()?;
        self.command.stdout(input.try_clone()?).stderr(input);
        let child = self
            .command
            .spawn()
            .with_context(|| format!("`{}` could not be started", self.shown))?;
        // The ends of the pipe that are ours go with the command: when the
        // child ends, so does what can be read.
        Ok((output, Started { child, shown: self.shown }))
    }

    /// Runs it and keeps its output; a failure shows all of it. One that does
    /// not end in time is ended, with everything it has started.
    pub(crate) fn quiet(self) -> Result<String> {
        let shown = self.shown.clone();
        let Ended { status, text, errors } = self.ended()?;
        if !status.success() {
            bail!("`{shown}` failed ({status})\n{text}{errors}");
        }
        Ok(text)
    }

    /// Runs it and keeps what it says, however it ends. One that does not end in
    /// time is ended, with everything it has started, and is an error.
    pub(crate) fn ended(mut self) -> Result<Ended> {
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = self
            .command
            .spawn()
            .with_context(|| format!("`{}` could not be started", self.shown))?;
        let id = child.id();
        let (said, errors) = (child.stdout.take().map(read), child.stderr.take().map(read));
        let (end, ended) = channel();
        std::thread::spawn(move || end.send(child.wait()));
        let status = ended.recv_timeout(self.patience);
        if status.is_err() {
            tree::end(id);
        }
        let (text, errors) = (all(said), all(errors));
        let Ok(status) = status else {
            let limit = self.patience.as_secs();
            bail!("`{}` did not end within {limit} s\n{text}{errors}", self.shown)
        };
        Ok(Ended { status: status?, text, errors })
    }

    /// Runs it with its errors on ours, and keeps its output.
    pub(crate) fn kept(mut self) -> Result<String> {
        let output = self
            .command
            .stderr(Stdio::inherit())
            .output()
            .with_context(|| format!("`{}` could not be started", self.shown))?;
        succeeded(&self.shown, output.status)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Runs it; what it printed, whether it succeeds or not.
    pub(crate) fn said(self) -> Result<String> {
        Ok(self.ended()?.text)
    }

    /// True when it runs and succeeds; its output is dropped.
    pub(crate) fn works(mut self) -> bool {
        self.command
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_ok_and(|status| status.success())
    }
}

/// Reads one output of a program, beside whatever else happens.
fn read(mut from: impl Read + Send + 'static) -> Receiver<Vec<u8>> {
    let (pass, parts) = channel();
    std::thread::spawn(move || {
        let mut part = vec![0; 1 << 16];
        while let Ok(n @ 1..) = from.read(&mut part) {
            if pass.send(part[..n].to_vec()).is_err() {
                break;
            }
        }
    });
    parts
}

/// What was read, when the program has ended.
fn all(parts: Option<Receiver<Vec<u8>>>) -> String {
    let mut bytes = Vec::new();
    if let Some(parts) = parts {
        while let Ok(part) = parts.recv_timeout(AFTERWARDS) {
            bytes.extend(part);
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Tool {
        Tool::new("sh").arg("-c").arg(script)
    }

    #[test]
    fn what_does_not_end_is_ended_with_what_it_started_and_named() {
        let tool = sh("echo begun; sleep 61 & echo $!; wait").ends_within(Duration::from_secs(1));
        let why = tool.quiet().expect_err("it waits for ever").to_string();
        assert!(why.contains("did not end within 1 s\nbegun\n"), "{why}");
        let id: u32 = why.lines().last().and_then(|id| id.parse().ok()).expect(&why);
        let gone = || !sh(&format!("kill -0 {id} 2>&-")).works();
        assert!((0..50).any(|_| gone() || sh("sleep 0.1").works() && gone()));
    }

    #[test]
    fn what_is_left_behind_with_our_pipe_is_not_waited_for() {
        let said = sh("sleep 20 & echo done").quiet();
        assert_eq!(said.expect("it ended"), "done\n");
    }
}
