//! What people do with it every day, beside the tools they would take
//! otherwise and beside what the machine can do at most.

mod carry;
mod files;
mod idle;

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, ensure};

use crate::measure::now;
use crate::report::Report;

const MIB: u64 = 1 << 20;

/// All of it.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    report.note("everyday use");
    files::large(report, quick)?;
    files::small(report, quick)?;
    carry::run(report, quick)?;
    idle::run(report, quick)
}

/// MiB/s of two ways to get a file of `size` bytes into `dir`, under the name
/// that stands before each of them; so many rounds after one that only warms
/// the page cache.
fn by_turns(
    (dir, size, rounds): (&Path, u64, u32),
    (ours, run_ours): (&str, impl Fn() -> Result<f64>),
    (theirs, run_theirs): (&str, impl Fn() -> Result<f64>),
) -> Result<Vec<(f64, f64)>> {
    let speed = |took: f64| (size / MIB) as f64 / took;
    let mut pairs = Vec::new();
    for round in 0..=rounds {
        let pair = (speed(run_ours()?), speed(run_theirs()?));
        for name in [ours, theirs] {
            let file = dir.join(name);
            ensure!(fs::metadata(&file)?.len() == size, "{name} is not whole");
            fs::remove_file(file)?;
        }
        if round > 0 {
            pairs.push(pair);
        }
    }
    Ok(pairs)
}

/// The program under measurement, at home in `dir`.
pub(crate) fn program(dir: &Path) -> Result<Command> {
    Ok(quiet(crate::host::program()?, dir))
}

/// A program that is at home in `dir` and says nothing.
pub(crate) fn quiet(mut command: Command, dir: &Path) -> Command {
    for home in ["HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"] {
        command.env(home, dir);
    }
    command.current_dir(dir).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// True when a tool of that name is on this machine.
pub(crate) fn is_here(tool: &str) -> bool {
    let mut command = Command::new(tool);
    command.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Seconds until it has ended, which must be well.
pub(crate) fn seconds(mut command: Command) -> Result<f64> {
    let began = now();
    let status = command.status().with_context(|| format!("{command:?} could not be started"))?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(began.elapsed().as_secs_f64())
}
