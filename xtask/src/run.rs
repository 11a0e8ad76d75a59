//! Running other programs: never with our standard input, always with an
//! error that names the whole command.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::io::PipeReader;
use std::process::{Child, Command, ExitStatus, Stdio};

use anyhow::{Context, Result, bail};

/// A program about to be run in the root of the repository.
pub(crate) struct Tool {
    command: Command,
    shown: String,
}

/// A program that runs.
pub(crate) struct Started {
    child: Child,
    shown: String,
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

/// Cargo, the one that started us.
pub(crate) fn cargo() -> Tool {
    let path = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    Tool::named(&path, "cargo")
}

impl Tool {
    /// The program `name`, found on the path.
    pub(crate) fn new(name: impl AsRef<OsStr>) -> Self {
        let shown = name.as_ref().to_string_lossy().into_owned();
        Self::named(name.as_ref(), &shown)
    }

    fn named(path: &OsStr, shown: &str) -> Self {
        let mut command = Command::new(path);
        command.current_dir(crate::paths::root()).stdin(Stdio::null());
        Self { command, shown: shown.to_owned() }
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

    /// Runs it and keeps its output; a failure shows all of it.
    pub(crate) fn quiet(mut self) -> Result<String> {
        let out = self
            .command
            .output()
            .with_context(|| format!("`{}` could not be started", self.shown))?;
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        if !out.status.success() {
            let errors = String::from_utf8_lossy(&out.stderr);
            bail!("`{}` failed ({})\n{text}{errors}", self.shown, out.status);
        }
        Ok(text)
    }

    /// Runs it; what it printed, whether it succeeds or not.
    pub(crate) fn said(mut self) -> Result<String> {
        let out = self
            .command
            .output()
            .with_context(|| format!("`{}` could not be started", self.shown))?;
        Ok(String::from_utf8_lossy(&out.stdout).into_owned())
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
