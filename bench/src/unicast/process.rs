//! The processes of a measurement: a receiver, a sender, a forwarder between
//! them. Each says on one line where it listens, and on another what it saw.

use std::io::{BufRead as _, BufReader, Lines};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result};
use serde::de::DeserializeOwned;

use super::words::Part;

/// The program that is each of them; it lies beside this one, and counts no
/// allocations.
const PROGRAM: &str = "servent-carry";

/// One of the processes; ends with its handle.
pub(crate) struct Process {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Process {
    pub(crate) fn start(part: &Part) -> Result<Self> {
        let mut child = Command::new(std::env::current_exe()?.with_file_name(PROGRAM))
            .arg(serde_json::to_string(part)?)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let out = child.stdout.take().context("no output")?;
        Ok(Self { child, lines: BufReader::new(out).lines() })
    }

    /// The next thing it says.
    pub(crate) fn says<T: DeserializeOwned>(&mut self) -> Result<T> {
        let line = self.lines.next().context("a process ended without a word")??;
        Ok(serde_json::from_str(&line)?)
    }

    /// Tells it to stop; its last word.
    pub(crate) fn stop<T: DeserializeOwned>(&mut self) -> Result<T> {
        drop(self.child.stdin.take());
        self.says()
    }

    /// Seconds it has had a processor, all its threads together.
    pub(crate) fn busy(&self) -> Result<f64> {
        crate::host::busy(self.child.id())
    }

    /// Bytes of memory it really occupies.
    pub(crate) fn resident(&self) -> Result<u64> {
        crate::host::resident(self.child.id())
    }

    /// Stops it in its tracks, or lets it go on.
    pub(crate) fn freeze(&self, frozen: bool) -> Result<()> {
        use rustix::process::{Pid, Signal, kill_process};
        let pid = Pid::from_child(&self.child);
        Ok(kill_process(pid, if frozen { Signal::STOP } else { Signal::CONT })?)
    }
}
