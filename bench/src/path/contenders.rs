//! The programs that cross a line, and what each achieves.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};

use super::line::{Carrier, Line, Seen};
use super::machine::Machine;
use crate::host::{PATIENCE, busy};
use crate::measure::{median, now, wait};
use crate::unicast::process::Process;
use crate::unicast::words::{Contender, Counted, Job, Part, Ready};

/// The machine that sends, and the one that receives.
pub(super) const ADDRESSES: [&str; 2] = ["10.77.0.1", "10.77.0.2"];
const PORT: u16 = 7_000;
const MESSAGE: usize = 1_024;
/// Where files cost no disk.
const MEMORY: &str = "/dev/shm";

/// How long it is measured, and how long it may find its rate before.
#[derive(Clone, Copy)]
pub(super) struct Times {
    pub(super) warm: Duration,
    pub(super) measure: Duration,
}

#[derive(Clone, Copy)]
pub(super) struct Figures {
    /// Megabits of contents a second.
    pub(super) goodput: f64,
    /// Bytes on the line for each of them, headers of IP included.
    pub(super) cost: f64,
    /// How long the packet in the middle waited in the buffer, in milliseconds.
    pub(super) wait: f64,
    /// Seconds of a processor for a gigabyte, both programs together.
    pub(super) busy: f64,
    /// Packets a second that were marked, and that found the buffer full.
    pub(super) marked: f64,
    pub(super) full: f64,
}

impl Figures {
    fn from_line(seen: Seen, seconds: f64, contents_a_second: f64, busy_a_byte: f64) -> Self {
        let mut waits: Vec<f64> = seen.waits.iter().map(|us| f64::from(*us) / 1e3).collect();
        Self {
            goodput: contents_a_second * 8.0 / 1e6,
            cost: seen.bytes as f64 / seconds / contents_a_second,
            wait: if waits.is_empty() { 0.0 } else { median(&mut waits) },
            busy: busy_a_byte * 1e9,
            marked: seen.marked as f64 / seconds,
            full: seen.full as f64 / seconds,
        }
    }
}

/// A program that ends with its handle, and with the bench, however that ends.
struct Program {
    child: Child,
    /// A shell that reads from us, and ends the program when we are gone.
    guard: Child,
}

impl Program {
    fn start(command: &mut Command) -> Result<Self> {
        let child = command.spawn()?;
        let guard = Command::new("sh")
            .args(["-c", "read line; kill -9 \"$1\"", "sh", &child.id().to_string()])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        Ok(Self { child, guard })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // The guard first: the number may be another program's afterwards.
        for child in [&mut self.guard, &mut self.child] {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// `send` to `receive`, as long as it takes, of a file without an end.
pub(super) fn ours(path: Line, times: Times, seed: u64) -> Result<Figures> {
    let (here, there) = (Machine::new(ADDRESSES[0])?, Machine::new(ADDRESSES[1])?);
    let carrier = Carrier::start(path, &here, &there, seed)?;
    let memory = Path::new(MEMORY);
    let dir = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }?;
    let at = format!("{}:{PORT}", ADDRESSES[1]);
    let mut receive = program(dir.path())?;
    receive.args(["receive", "--open", "--yes", "--once", "--json", "--listen", &at]);
    receive.args(["-o", "in/", "--state", "to"]).stdout(Stdio::piped());
    let mut receiver = there.does(|| Program::start(&mut receive))?;
    let mut said = BufReader::new(receiver.child.stdout.take().context("no output")?);
    let mut line = String::new();
    while !line.contains("listening") {
        line.clear();
        ensure!(said.read_line(&mut line)? > 0, "the receiver does not listen");
    }
    let mut send = program(dir.path())?;
    send.args(["send", "--open", "-q", &at, "-", "--state", "from"]);
    send.stdin(File::open("/dev/zero")?);
    let sender = here.does(|| Program::start(&mut send))?;
    let both = || Ok::<_, anyhow::Error>(busy(receiver.child.id())? + busy(sender.child.id())?);

    let part = dir.path().join("in/received.part");
    let length = || std::fs::metadata(&part).map_or(0, |file| file.len());
    let began = now();
    while length() == 0 {
        ensure!(began.elapsed() < PATIENCE, "nothing arrives");
        wait(Duration::from_millis(1));
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

/// A peer of ours, which does no more than carry messages.
pub(super) fn other(contender: Contender, line: Line, times: Times, seed: u64) -> Result<Figures> {
    let (here, there) = (Machine::new(ADDRESSES[0])?, Machine::new(ADDRESSES[1])?);
    let carrier = Carrier::start(line, &here, &there, seed)?;
    let job = Job {
        contender,
        on: ADDRESSES[1].parse()?,
        size: MESSAGE,
        warm_ms: times.warm.as_millis() as u64,
        measure_ms: times.measure.as_millis() as u64,
        count: 0,
    };
    let mut receiver = there.does(|| Process::start(&Part::Receive(job)))?;
    let to: Ready = receiver.says()?;
    let sender = here.does(|| Process::start(&Part::Send(job, to)))?;
    wait(times.warm);
    carrier.seen();
    let since = now();
    let counted: Counted = receiver.says()?;
    let (seconds, seen) = (since.elapsed().as_secs_f64(), carrier.seen());
    let busy = (receiver.busy()? + sender.busy()?) / (counted.all * MESSAGE as u64) as f64;
    let rate = counted.messages as f64 * MESSAGE as f64 / counted.seconds;
    Ok(Figures::from_line(seen, seconds, rate, busy))
}

fn program(dir: &Path) -> Result<Command> {
    let program = std::env::var_os("SERVENT_PROGRAM")
        .context("SERVENT_PROGRAM does not name the program; use `cargo xtask bench`")?;
    let mut command = Command::new(program);
    command.current_dir(dir).env("HOME", dir).stdin(Stdio::null());
    command.stdout(Stdio::null()).stderr(Stdio::null());
    Ok(command)
}
