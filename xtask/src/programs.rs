//! The test programs of the workspace. Cargo builds them; we run them, because
//! it would run one after the other. What computes (core, simulator, tools)
//! goes in its order beside what mostly waits (the program on real sockets):
//! both together take little longer than the longer one.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow, bail};
use serde::Deserialize;

use crate::run::{Tool, cargo};

/// No test program takes a third as long on a small machine that is busy.
const LIMIT: Duration = Duration::from_mins(30);
/// How much tests that compute leave to those that wait, as `nice` means it.
const COMPUTING: u8 = 5;
/// The package whose tests use real sockets, processes and time.
const REAL: &str = "native";

/// A program of tests that cargo has built.
#[derive(Clone)]
pub(crate) struct Program {
    /// The folder of its package, and its target: `native program`.
    pub(crate) name: String,
    path: PathBuf,
    /// The root of its package, in which its tests expect to run.
    root: PathBuf,
    /// Its tests use real sockets, processes and time.
    pub(crate) real: bool,
}

/// What came of a run of a test program.
pub(crate) struct Ran {
    pub(crate) passed: usize,
    /// The tests that failed, by their names.
    pub(crate) failed: BTreeSet<String>,
    /// It did not end, or died, or its report was not understood.
    pub(crate) broken: Option<anyhow::Error>,
    /// Everything it said.
    pub(crate) said: String,
}

/// Builds all test programs, showing what cargo says of it.
///
/// # Errors
/// Something does not compile.
pub(crate) fn build() -> Result<Vec<Program>> {
    let built = cargo()
        .words("test --workspace --all-targets --no-run --message-format=json-render-diagnostics")
        .kept()?;
    let programs = built.lines().filter_map(|line| Program::read(line).transpose());
    let mut programs: Vec<_> = programs.collect::<Result<_>>()?;
    if programs.is_empty() {
        bail!("cargo built no test program");
    }
    programs.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(programs)
}

/// One of cargo's messages, as far as it matters here.
#[derive(Deserialize)]
struct Message {
    manifest_path: Option<PathBuf>,
    target: Option<Target>,
    profile: Option<Profile>,
    executable: Option<PathBuf>,
}

#[derive(Deserialize)]
struct Target {
    name: String,
    kind: Vec<String>,
}

#[derive(Deserialize)]
struct Profile {
    test: bool,
}

impl Program {
    /// The test program that a message of cargo is about, if it is about one.
    fn read(line: &str) -> Result<Option<Self>> {
        let message: Message = serde_json::from_str(line).context("a message of cargo")?;
        let (Some(path), Some(target), Some(Profile { test: true }), Some(manifest)) =
            (message.executable, message.target, message.profile, message.manifest_path)
        else {
            return Ok(None);
        };
        let root = manifest.parent().unwrap_or(Path::new(".")).to_owned();
        let folder = root.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name = if target.kind.iter().any(|kind| kind == "test") {
            format!("{folder} {}", target.name)
        } else {
            format!("{folder} unit ({})", target.name)
        };
        Ok(Some(Self { name, path, root, real: folder == REAL }))
    }

    /// Runs all its tests.
    pub(crate) fn run(&self) -> Ran {
        // What waits has the machine first when it wants it.
        let tool = Tool::new(&self.path).yielding(if self.real { 0 } else { COMPUTING });
        let tool = tool
            .env("RUST_TEST_THREADS", threads(self.real).to_string())
            .env("CARGO_MANIFEST_DIR", &self.root)
            .within(&self.root)
            .ends_within(LIMIT);
        match tool.ended() {
            Ok(ended) => report(ended.status.success(), ended.text + &ended.errors),
            Err(why) => {
                let said = format!("{why:#}");
                Ran { passed: 0, failed: BTreeSet::new(), broken: Some(why), said }
            }
        }
    }

    /// Runs one test with nothing beside it.
    ///
    /// # Errors
    /// It failed.
    pub(crate) fn alone(&self, test: &str) -> Result<()> {
        Tool::new(&self.path)
            .words("--test-threads=1 --nocapture --exact")
            .arg(test)
            .env("CARGO_MANIFEST_DIR", &self.root)
            .within(&self.root)
            .run()
    }
}

/// Tests at one time: twice as many as there are processors where they mostly
/// wait.
fn threads(real: bool) -> usize {
    let processors = std::thread::available_parallelism().map_or(1, usize::from);
    if real { 2 * processors } else { processors }
}

/// Reads what a test program said.
fn report(success: bool, said: String) -> Ran {
    let (mut passed, mut told) = (0, 0);
    let (mut failed, mut list) = (BTreeSet::new(), BTreeSet::new());
    let mut reading = false;
    for line in said.lines() {
        if line == "failures:" {
            // The last of these headings is followed by the names alone.
            (reading, list) = (true, BTreeSet::new());
        } else if let Some(result) = line.strip_prefix("test result: ") {
            passed += number(result, " passed");
            told += number(result, " failed");
            failed.append(&mut list);
            reading = false;
        } else if let Some(name) = line.strip_prefix("    ").filter(|_| reading) {
            list.insert(name.to_owned());
        }
    }
    let whole = if success { failed.is_empty() && told == 0 } else { told > 0 };
    let broken = (!whole || failed.len() != told)
        .then(|| anyhow!("it ended without a report that can be understood"));
    Ran { passed, failed, broken, said }
}

/// The number before `word`.
fn number(text: &str, word: &str) -> usize {
    let before = text.split(word).next().unwrap_or_default();
    before.rsplit(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SAID: &str = "
running 3 tests
test late ... FAILED
test soon ... ok

failures:

---- late stdout ----
failures:
    of something else

failures:
    late
    module::later

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out
";

    #[test]
    fn what_failed_is_found_in_what_was_said() {
        let ran = report(false, SAID.into());
        assert_eq!(Vec::from_iter(&ran.failed), ["late", "module::later"]);
        assert_eq!(ran.passed, 1);
        assert!(ran.broken.is_none());
    }

    #[test]
    fn what_is_not_wholly_understood_is_broken() {
        let broken = |success, said: &str| report(success, said.into()).broken.is_some();
        assert!(broken(false, ""), "it died before it said anything");
        assert!(broken(true, SAID), "a success with failures");
        assert!(broken(false, &SAID.replace("2 failed", "3 failed")), "a name was not read");
        let died = SAID.split("test result").next().expect("a first part");
        assert!(broken(false, died), "it died among its tests");
        assert!(!broken(true, "test result: ok. 3 passed; 0 failed; 1 ignored\n"));
    }

    #[test]
    fn a_message_of_cargo_names_a_test_program() {
        let line = |test| {
            format!(
                r#"{{"manifest_path":"/w/native/Cargo.toml","executable":"/t/site-1",
                "target":{{"name":"site","kind":["test"]}},"profile":{{"test":{test}}}}}"#
            )
        };
        let program = Program::read(&line(true)).expect("JSON").expect("a test program");
        assert_eq!((program.name.as_str(), program.real), ("native site", true));
        assert!(Program::read(&line(false)).expect("JSON").is_none(), "no tests");
        assert!(Program::read(r#"{"reason":"build-finished"}"#).expect("JSON").is_none());
    }
}
