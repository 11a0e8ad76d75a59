//! A swarm of real processes on the loopback, beside the fluid bound: one
//! coordinator with its source, and clients whose upload rates are shaped.
//!
//! `N` clients that may send `u` bytes a second each and a source that may
//! send `S` need at least `max(F/S, N·F/(S + N·u))` for `F` bytes. Rates are
//! chosen so low that the processors of one machine suffice for all of them.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};
use clap::Args;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use servent_core::rng::Rng;

use crate::measure::now;
use crate::report::{Report, Target};

/// Bytes read at once when files are compared.
const READ: usize = 1 << 20;
/// How long the processes may take beyond a multiple of the bound.
const PATIENCE: Duration = Duration::from_secs(60);
/// The coordinator's number among the processes.
const SERVER: usize = usize::MAX;

/// One swarm of processes.
#[derive(Args, Clone, Copy)]
pub(crate) struct Programs {
    /// How many clients.
    #[arg(default_value_t = 32)]
    pub(super) clients: usize,
    /// The file's size in MiB.
    #[arg(default_value_t = 256)]
    pub(super) mib: usize,
    /// How many of a hundred clients no peer can connect to.
    #[arg(default_value_t = 0)]
    pub(super) passive: usize,
    /// How many clients are killed when they have half of the file.
    #[arg(default_value_t = 0)]
    pub(super) killed: usize,
    /// Bytes a second of a client; the source may send twice as much.
    #[arg(default_value_t = 2_000_000)]
    pub(super) rate: u64,
}

/// How it went.
struct ProgramsResult {
    /// Seconds from the first start until the last survivor had all.
    seconds: f64,
    /// Clients whose file is the very one.
    verified: usize,
    /// Copies of the file the source has sent.
    copies: f64,
}

impl Programs {
    fn bytes(self) -> usize {
        self.mib << 20
    }

    fn survivors(self) -> usize {
        self.clients.saturating_sub(self.killed)
    }

    /// Seconds that no plan can do without. Killed clients are not counted: neither
    /// what they would have sent nor what they would have needed.
    fn bound(self) -> f64 {
        let (bytes, rate, clients) =
            (self.bytes() as f64, self.rate as f64, self.survivors() as f64);
        let source = 2.0 * rate;
        (bytes / source).max(clients * bytes / clients.mul_add(rate, source))
    }

    /// Runs it and adds its rows.
    pub(crate) fn measure(self, report: &mut Report) -> Result<()> {
        let Self { clients, mib, passive, killed, .. } = self;
        let mut case = format!("{clients} processes, {mib} MiB");
        if passive > 0 {
            case.push_str(&format!(", {passive} % passive"));
        }
        if killed > 0 {
            case.push_str(&format!(", {killed} killed"));
        }
        report.note(&format!("a swarm of {case}: at least {:.0} s", self.bound()));
        let told = self.run()?;
        if told.verified != self.survivors() {
            bail!("{case}: {} files are the right one", told.verified);
        }
        let bound = ("the bound", Some(self.bound()));
        let makespan = ("swarm", format!("makespan, {case}"), "s");
        report.add(makespan, told.seconds, bound, &Target::RatioAtMost(1.25));
        let one = ("at least one", Some(1.0));
        let copies = ("swarm", format!("copies the source sends, {case}"), "copies");
        report.add(copies, told.copies, one, &Target::AtMost(1.3));
        Ok(())
    }

    fn run(self) -> Result<ProgramsResult> {
        let place = tempfile::tempdir()?;
        let place = place.path();
        let mut rng = Rng::new(7);
        let bytes: Vec<u8> =
            (0..self.bytes() / 8).flat_map(|_| rng.next_u64().to_le_bytes()).collect();
        std::fs::write(place.join("film"), bytes)?;
        let (tell, told) = channel();
        let source = (2 * self.rate).to_string();
        let serve = ["serve", "film", "--listen", "127.0.0.1:0", "--upload-rate", &source];
        let server = Program::start(place, &serve, SERVER, &tell)?;
        let deadline = now() + Duration::from_secs_f64(3.0 * self.bound()) + PATIENCE;
        let at = next(&told, deadline, |_, fact| fact["event"] == "listening")?.1;
        let at = at["at"].as_str().context("no address")?.to_owned();
        next(&told, deadline, |_, fact| fact["event"] == "file")?;

        let begun = now();
        let mut running = Vec::new();
        for n in 0..self.clients {
            running.push(Some(self.client(place, n, &at, &tell)?));
        }
        let seconds = self.follow(&mut running, &told, deadline, begun)?;
        let names = (0..self.clients).map(|n| place.join(format!("film-{n}")));
        let mut verified = 0;
        for (name, _) in names.zip(&running).filter(|(_, program)| program.is_some()) {
            verified += usize::from(same(&place.join("film"), &name)?);
        }
        drop(running);
        server.interrupt()?;
        let last = next(&told, deadline + PATIENCE, |_, fact| fact["event"] == "stopped")?.1;
        eprintln!("  {}", last["reasons"]);
        let sent = last["sent"].as_u64().context("the source does not say what it sent")?;
        Ok(ProgramsResult { seconds, verified, copies: sent as f64 / self.bytes() as f64 })
    }

    fn client(self, place: &Path, n: usize, at: &str, tell: &Tell) -> Result<Program> {
        let (url, name) = (format!("pdtp://{at}/film"), format!("film-{n}"));
        let rate = self.rate.to_string();
        let mut get = vec!["get", &url, "-o", &name, "--upload-rate", &rate, "--seed-for", "1h"];
        if n * 100 < self.passive * self.clients {
            get.push("--passive");
        } else {
            get.extend(["--listen", "127.0.0.1:0"]);
        }
        Program::start(place, &get, n, tell)
    }

    /// Kills the clients that are to be killed; seconds until all others have the file.
    fn follow(
        self,
        running: &mut [Option<Program>],
        told: &Receiver<(usize, String)>,
        deadline: Instant,
        begun: Instant,
    ) -> Result<f64> {
        let (mut left, mut doomed) = (self.survivors(), self.killed);
        loop {
            let (name, fact) = next(told, deadline, |name, fact| {
                name != SERVER && (fact["event"] == "done" || fact["event"] == "progress")
            })?;
            let alive = running.get(name).is_some_and(Option::is_some);
            let (held, pieces) = (fact["held"].as_u64(), fact["pieces"].as_u64());
            if !alive {
                continue; // It said that before it was killed.
            } else if fact["event"] == "done" {
                left -= 1;
            } else if doomed > 0 && held >= pieces.map(|pieces| pieces.div_ceil(2)) {
                doomed -= 1;
                running[name] = None;
            }
            if left == 0 {
                return Ok(begun.elapsed().as_secs_f64());
            }
        }
    }
}

type Tell = Sender<(usize, String)>;

/// One of the processes; killed with its handle.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill(); // It may have ended.
        let _ = self.0.wait();
    }
}

impl Program {
    fn start(place: &Path, words: &[&str], name: usize, tell: &Tell) -> Result<Self> {
        let mut command = crate::host::program()?;
        command.arg("swarm").args(words).arg("--json").current_dir(place);
        command.env("HOME", place).env("XDG_CONFIG_HOME", place).env("XDG_STATE_HOME", place);
        let quiet = command.stdin(Stdio::null()).stderr(Stdio::null());
        let mut child = quiet.stdout(Stdio::piped()).spawn()?;
        let out = BufReader::new(child.stdout.take().context("no output")?);
        let tell = tell.clone();
        std::thread::spawn(move || {
            for line in out.lines().map_while(Result::ok) {
                if tell.send((name, line)).is_err() {
                    return;
                }
            }
        });
        Ok(Self(child))
    }

    fn interrupt(&self) -> Result<()> {
        Ok(kill_process(Pid::from_child(&self.0), Signal::INT)?)
    }
}

/// The next thing anybody says that is `wanted`.
fn next(
    told: &Receiver<(usize, String)>,
    deadline: Instant,
    wanted: impl Fn(usize, &Value) -> bool,
) -> Result<(usize, Value)> {
    loop {
        let left = deadline.saturating_duration_since(now());
        let (name, line) = told.recv_timeout(left).context("the swarm does not come to its end")?;
        let fact = serde_json::from_str(&line)?;
        if wanted(name, &fact) {
            return Ok((name, fact));
        }
    }
}

/// True when both files have the same bytes.
fn same(one: &Path, other: &Path) -> Result<bool> {
    let (mut one, mut other) = (File::open(one)?, File::open(other)?);
    if one.metadata()?.len() != other.metadata()?.len() {
        return Ok(false);
    }
    let (mut left, mut right) = (vec![0; READ], vec![0; READ]);
    loop {
        let n = one.read(&mut left)?;
        if n == 0 {
            return Ok(true);
        }
        other.read_exact(&mut right[..n])?;
        if left[..n] != right[..n] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bound_is_that_of_the_slowest_way() {
        let swarm = Programs { clients: 32, mib: 64, passive: 0, killed: 0, rate: 1 << 20 };
        // 32 copies through 34 MiB a second, or one through 2.
        assert!((swarm.bound() - 32.0 * 64.0 / 34.0).abs() < 1e-9);
        assert_eq!(Programs { clients: 1, ..swarm }.bound(), 32.0);
        let one_less = Programs { clients: 33, killed: 1, ..swarm };
        assert_eq!(one_less.bound(), swarm.bound());
    }
}
