//! `send` to `receive`, as long as it takes, of a file without an end.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, ensure};
use tempfile::TempDir;

use super::contenders::{Figures, Times};
use super::line::Carrier;
use super::machine::Machine;
use crate::host::{PATIENCE, busy, program};
use crate::measure::{now, wait};

/// Where files cost no disk.
const MEMORY: &str = "/dev/shm";
/// The code by which the two find each other, where they meet.
const CODE: &str = "ocean-pepper-violin-garden-moon";

/// How the sender finds the receiver.
#[derive(Clone, Copy)]
pub(super) enum FoundBy<'a> {
    /// The receiver listens at this address.
    Address(&'a str),
    /// Both ask the meeting place at this one.
    Via(&'a str),
}

/// A program that ends with its handle, and with the bench, however that ends.
pub(super) struct GuardedProgram {
    child: Child,
    /// A shell that reads from us, and ends the program when we are gone.
    guard: Child,
    /// The events that it prints.
    said: BufReader<ChildStdout>,
}

impl GuardedProgram {
    /// Starts it on a machine.
    pub(super) fn start(machine: &Machine, command: &mut Command) -> Result<Self> {
        let mut child = machine.does(|| Ok(command.stdout(Stdio::piped()).spawn()?))?;
        let said = BufReader::new(child.stdout.take().context("no output")?);
        let guard = Command::new("sh")
            .args(["-c", "read line; kill -9 \"$1\"", "sh", &child.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { child, guard, said })
    }

    /// Reads its events until one with this name.
    pub(super) fn event(&mut self, name: &str) -> Result<()> {
        let (mut line, wanted) = (String::new(), format!("\"{name}\""));
        while !line.contains(&wanted) {
            line.clear();
            ensure!(self.said.read_line(&mut line)? > 0, "it ended before it said {name}");
        }
        Ok(())
    }

    fn busy(&self) -> Result<f64> {
        busy(self.child.id())
    }
}

impl Drop for GuardedProgram {
    fn drop(&mut self) {
        // The guard first: the number may be another program's afterwards.
        for child in [&mut self.guard, &mut self.child] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// The program under measurement, in a folder of its own.
pub(super) fn servent(folder: &Path) -> Result<Command> {
    let mut command = program()?;
    command.current_dir(folder).env("HOME", folder).env("SERVENT_CODE", CODE);
    command.stdin(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}

/// A sender and its receiver.
pub(super) struct Transfer {
    sender: GuardedProgram,
    receiver: GuardedProgram,
    part: PathBuf,
    _folder: TempDir,
}

impl Transfer {
    /// From the first machine to the second.
    pub(super) fn start([here, there]: [&Machine; 2], by: FoundBy<'_>) -> Result<Self> {
        let memory = Path::new(MEMORY);
        let folder =
            if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() };
        let folder = folder?;
        let mut receive = servent(folder.path())?;
        receive.args(["receive", "--yes", "--once", "--json", "-o", "in/", "--state", "to"]);
        let mut send = servent(folder.path())?;
        send.args(["send", "-q", "--state", "from"]).stdin(File::open("/dev/zero")?);
        let ready = match by {
            FoundBy::Address(at) => {
                receive.args(["--open", "--listen", at]);
                send.args(["--open", at, "-"]);
                "listening"
            }
            FoundBy::Via(place) => {
                receive.args(["--via", place]);
                send.args(["--via", place, "-"]);
                "at_place"
            }
        };
        let mut receiver = GuardedProgram::start(there, &mut receive)?;
        receiver.event(ready)?;
        let sender = GuardedProgram::start(here, &mut send)?;
        let part = folder.path().join("in/received.part");
        Ok(Self { sender, receiver, part, _folder: folder })
    }

    /// What it achieves once its rate is found.
    pub(super) fn measure(&self, carrier: &Carrier, times: Times) -> Result<Figures> {
        let both = || Ok::<_, anyhow::Error>(self.receiver.busy()? + self.sender.busy()?);
        let length = || std::fs::metadata(&self.part).map_or(0, |file| file.len());
        let began = now();
        while length() == 0 {
            ensure!(began.elapsed() < PATIENCE, "nothing arrives");
            wait(std::time::Duration::from_millis(1));
        }
        wait(times.warm);
        let (since, before, busy_before) = (now(), length(), both()?);
        carrier.seen();
        wait(times.measure);
        let (seconds, bytes, seen) =
            (since.elapsed().as_secs_f64(), (length() - before) as f64, carrier.seen());
        ensure!(bytes > 0.0, "nothing more arrives");
        Ok(Figures::from_line(seen, seconds, bytes / seconds, (both()? - busy_before) / bytes))
    }
}
