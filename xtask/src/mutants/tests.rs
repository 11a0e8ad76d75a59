//! The tests, how long each takes, and which mutants it reaches.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Context as _, Result, bail};
use serde::{Deserialize, Serialize};

use super::scratch::Scratch;
use crate::paths;

/// How many processes at once: tests compute and never wait.
pub(super) const WORKERS: usize = 2;
/// What a process of tests may allocate, in KiB.
const MEMORY: u64 = 6_000_000;

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
    pub(super) took: Duration,
    pub(super) reaches: BTreeSet<u32>,
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
        let began = now();
        let _ = fs::remove_file(file);
        let mut command = self.command(Duration::from_secs(900));
        let ended = command.arg(name).env("MUTANT_REACHED", file).status()?;
        let took = began.elapsed();
        if !ended.success() {
            bail!("{name} fails with no mutant on");
        }
        let text = fs::read_to_string(file).unwrap_or_default();
        let reaches =
            text.lines().map(str::parse).collect::<Result<_, _>>().context("no numbers")?;
        Ok(Test { name: name.to_owned(), took, reaches })
    }

    /// Runs the tests of these names with a mutant on.
    pub(super) fn with(&self, mutant: u32, names: &[&str], limit: Duration) -> Result<ExitStatus> {
        Ok(self.command(limit).args(names).env("MUTANT", mutant.to_string()).status()?)
    }

    /// The limit is one of processor time: a busy machine changes no verdict.
    fn command(&self, limit: Duration) -> Command {
        let seconds = limit.as_secs() + 1;
        let script = format!("ulimit -v {MEMORY}; ulimit -t {seconds}; exec \"$0\" \"$@\"");
        let mut command = Command::new("sh");
        command.arg("-c").arg(script).arg(&self.path).args(["--exact", "--test-threads", "1"]);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder);
        command.env("PROPTEST_MAX_SHRINK_ITERS", "0").env("PROPTEST_FAILURE_PERSISTENCE", "off");
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

#[allow(clippy::disallowed_methods)] // How long a test takes decides only when it runs.
fn now() -> Instant {
    Instant::now()
}
