//! The tests, how long each takes, and which mutants it reaches.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, SystemTime};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::scratch::Scratch;
use crate::paths;

/// How many processes at once: tests compute and never wait.
pub(super) const WORKERS: usize = 2;
/// What a process of tests may allocate, in KiB.
const MEMORY: u64 = 6_000_000;
/// How many times its processor time a process may take by the clock, on a machine
/// that does other work too.
const OTHER_WORK: u64 = 40;
/// What `timeout` says of a process that did not end by the clock.
pub(super) const STUCK: i32 = 124;

/// A program of tests.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Program {
    pub(super) path: PathBuf,
    folder: PathBuf,
    built: SystemTime,
    pub(super) tests: Vec<Test>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Test {
    pub(super) name: String,
    /// Processor time, to a thousandth of a second.
    pub(super) took: Duration,
    pub(super) reaches: BTreeSet<u32>,
}

impl Test {
    /// How much it sees of what it reaches: a digest of all that was said is
    /// another after the smallest change.
    pub(super) fn sees(&self) -> u32 {
        if self.name.starts_with("pinned::") { 8 } else { 1 }
    }
}

/// Runs every test of these packages once, alone, with no mutant on. What is
/// known of a program that is not built anew is kept.
pub(crate) fn reached(scratch: &Scratch, packages: &[&str]) -> Result<Vec<Program>> {
    let kept = paths::target().join("mutants/reached.json");
    let known: Vec<Program> = fs::read(&kept)
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    let mut programs = Vec::new();
    for (path, folder) in scratch.tests(packages)? {
        let built = fs::metadata(&path)?.modified()?;
        let same = |old: &&Program| old.path == path && old.built == built;
        if let Some(old) = known.iter().find(same) {
            programs.push(old.clone());
            continue;
        }
        let mut program = Program { path, folder, built, tests: Vec::new() };
        program.tests = program.measure()?;
        programs.push(program);
    }
    let others = known.iter().filter(|old| programs.iter().all(|new| new.path != old.path));
    let all: Vec<&Program> = programs.iter().chain(others).collect();
    fs::write(&kept, serde_json::to_string(&all)?)?;
    Ok(programs)
}

impl Program {
    fn measure(&self) -> Result<Vec<Test>> {
        let listed = Command::new(&self.path).args(["--list", "--format", "terse"]).output()?;
        let listed = String::from_utf8(listed.stdout)?;
        let names = listed.lines().filter_map(|line| line.strip_suffix(": test"));
        let left: Mutex<Vec<&str>> = Mutex::new(names.collect());
        let folder = paths::target().join("mutants");
        std::thread::scope(|scope| {
            let worker = |number: usize| {
                let file = folder.join(format!("reached-{number}"));
                let next = || left.lock().expect("no worker fails").pop();
                std::iter::from_fn(next).map(|name| self.alone(name, &file)).collect()
            };
            let workers: Vec<_> = (0..WORKERS).map(|n| scope.spawn(move || worker(n))).collect();
            let done = workers.into_iter().map(|w| w.join().expect("a worker broke off"));
            done.collect::<Result<Vec<Vec<Test>>>>().map(|tests| tests.concat())
        })
    }

    fn alone(&self, name: &str, file: &Path) -> Result<Test> {
        let _ = fs::remove_file(file);
        let measured = "TIMEFORMAT='%U %S'; time \"$0\" \"$@\" 2> /dev/null";
        let mut command = self.command(Duration::from_secs(900), measured);
        command.arg(name).env("MUTANT_REACHED", file).stderr(Stdio::piped());
        let ended = command.output()?;
        if !ended.status.success() {
            bail!("{name} fails with no mutant on");
        }
        let took = String::from_utf8(ended.stderr)?;
        let took = took.split_whitespace().map(str::parse::<f64>).sum::<Result<f64, _>>();
        let took = Duration::from_secs_f64(took.context("bash's time says no time")?);
        let text = fs::read_to_string(file).unwrap_or_default();
        let reaches =
            text.lines().map(str::parse).collect::<Result<_, _>>().context("no numbers")?;
        Ok(Test { name: name.to_owned(), took, reaches })
    }

    /// Runs the tests of these names with a mutant on.
    pub(super) fn with(&self, mutant: u32, names: &[&str], limit: Duration) -> Result<ExitStatus> {
        let wall = OTHER_WORK * (limit.as_secs() + 1);
        let mut command = self.command(limit, &format!("exec timeout {wall} \"$0\" \"$@\""));
        Ok(command.args(names).env("MUTANT", mutant.to_string()).status()?)
    }

    /// The limit is one of processor time: a busy machine changes no verdict. Only
    /// the soft one: the signal of the other is also that of a machine without memory.
    fn command(&self, limit: Duration, run: &str) -> Command {
        let seconds = limit.as_secs() + 1;
        let mut command = Command::new("bash");
        command.arg("-c").arg(format!("ulimit -v {MEMORY}; ulimit -S -t {seconds}; {run}"));
        command.arg(&self.path).args(["--exact", "--test-threads", "1"]);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("PROPTEST_MAX_SHRINK_ITERS", "0").env("PROPTEST_FAILURE_PERSISTENCE", "off");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}
