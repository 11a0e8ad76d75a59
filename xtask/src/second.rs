//! A second chance for what depends on real time. The program's tests and the
//! browsers share the machine with whatever else it does; one that fails is
//! run once more with nothing beside it. Passing then is passing, but never in
//! silence: whoever reads the result sees which test to mend. What is
//! deterministic (core, specification, simulator) gets no second chance.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::Duration;

use anyhow::{Context as _, Error, Result, bail};

use crate::run::{AFTERWARDS, Tool, cargo};
use crate::{paths, tree};

/// The package whose tests use real sockets, processes and time, as cargo
/// names it where it lists what failed.
const PROGRAM: &str = "-p servent ";
/// How the summary calls it. Searched for by people: do not change lightly.
pub(crate) const ALONE: &str = "passed only when run alone";

/// A test that says nothing for so long will not say anything any more.
const SILENCE: Duration = Duration::from_mins(10);

/// Runs every test of the workspace and gives failed ones of the program
/// their second chance. The words for the summary; empty when none needed it.
///
/// # Errors
/// A deterministic test failed, or one of the program did so twice, or
/// something failed that is no test.
pub(crate) fn tests() -> Result<String> {
    let all = cargo()
        .words("test --workspace --all-targets --no-fail-fast")
        .env("RUST_TEST_THREADS", threads().to_string());
    let Err(why) = watched(all)? else { return Ok(String::new()) };
    let Some(failed) = why.report.failed() else { bail!(why.status) };
    if failed.iter().any(|binary| !binary.target.starts_with(PROGRAM)) {
        bail!(why.status);
    }
    let mut passed = Vec::new();
    for binary in &failed {
        for name in &binary.tests {
            println!("again, alone: {name} ({})", binary.target);
            Tool::new(paths::root().join(&binary.program))
                .words("--test-threads=1 --nocapture --exact")
                .arg(name)
                .env("CARGO_MANIFEST_DIR", paths::root().join("native"))
                .within(paths::root().join("native"))
                .run()
                .with_context(|| format!("{name} failed twice, the second time alone"))?;
            passed.push(name.as_str());
        }
    }
    Ok(note(&passed))
}

/// Tests at one time: twice as many as there are processors, because those of
/// the program mostly wait.
fn threads() -> usize {
    2 * std::thread::available_parallelism().map_or(1, usize::from)
}

/// Does `what`, and once more when it fails. What it gave, and the words for
/// the summary.
///
/// # Errors
/// That of the second time.
pub(crate) fn chance<T>(name: &str, what: impl Fn() -> Result<T>) -> Result<(T, String)> {
    match what() {
        Ok(done) => Ok((done, String::new())),
        Err(why) => again(name, &why, what),
    }
}

/// Does what failed before once more, now that nothing runs beside it.
///
/// # Errors
/// It failed again.
pub(crate) fn again<T>(
    name: &str,
    why: &Error,
    what: impl Fn() -> Result<T>,
) -> Result<(T, String)> {
    println!("{why:#}\nagain, alone: {name}");
    let done = what().with_context(|| format!("{name} failed twice"))?;
    Ok((done, note(&[name])))
}

/// What there is to say, in one line.
pub(crate) fn joined(words: &[String]) -> String {
    words.iter().filter(|w| !w.is_empty()).map(String::as_str).collect::<Vec<_>>().join("; ")
}

fn note(names: &[&str]) -> String {
    format!("{ALONE}: {}", names.join(", "))
}

/// A run of cargo that failed.
struct Failure {
    status: anyhow::Error,
    report: Report,
}

/// Runs it, shows what it says and remembers which tests failed.
fn watched(tool: Tool) -> Result<std::result::Result<(), Failure>> {
    let (output, child) = tool.joined()?;
    let id = child.id();
    let (say, heard) = channel();
    let ended = say.clone();
    std::thread::spawn(move || {
        let lines = BufReader::new(output).split(b'\n').map_while(Result::ok);
        lines.map(Said::Line).try_for_each(|line| say.send(line))
    });
    std::thread::spawn(move || ended.send(Said::End(child.end())));
    let (mut report, mut end) = (Report::default(), None);
    loop {
        // A process that a failed test left behind may keep the pipe open.
        let patience = if end.is_some() { AFTERWARDS } else { SILENCE };
        match heard.recv_timeout(patience) {
            Ok(Said::End(how)) => end = Some(how),
            Ok(Said::Line(line)) => {
                std::io::stdout().write_all(&[&line[..], b"\n"].concat())?;
                report.line(&String::from_utf8_lossy(&line));
            }
            Err(_) if end.is_some() => break,
            Err(_) => {
                tree::end(id);
                bail!("cargo said nothing for {} s, and was ended", SILENCE.as_secs());
            }
        }
    }
    let end = end.context("nobody waited for cargo's end")?;
    Ok(end.map_err(|status| Failure { status, report }))
}

/// What comes from a program that runs.
enum Said {
    Line(Vec<u8>),
    End(Result<()>),
}

/// A test program in which tests failed.
#[derive(Debug, PartialEq, Eq)]
struct Binary {
    /// What cargo calls it: `-p servent --test loopback`.
    target: String,
    program: PathBuf,
    tests: Vec<String>,
}

/// What cargo and the test programs have said so far.
#[derive(Default)]
struct Report {
    /// The test program that runs.
    program: PathBuf,
    /// The names in the last list of failures, while that list is read.
    list: Option<Vec<String>>,
    names: Vec<String>,
    failed: Vec<(PathBuf, Vec<String>)>,
    /// Whether a list was not as long as its program's result says.
    odd: bool,
    targets: Vec<String>,
    ending: bool,
}

impl Report {
    fn line(&mut self, line: &str) {
        if let (Some(list), Some(name)) = (&mut self.list, one_name(line)) {
            list.push(name.to_owned());
            return;
        }
        // The first of two such headings is followed by what the tests said.
        if let Some(list) = self.list.take().filter(|list| !list.is_empty()) {
            self.names = list;
        }
        if line == "failures:" {
            self.list = Some(Vec::new());
        } else if let Some(running) = line.trim_start().strip_prefix("Running ") {
            let path = running.rsplit_once('(').and_then(|(_, path)| path.strip_suffix(')'));
            self.program = PathBuf::from(path.unwrap_or_default());
            self.names.clear();
        } else if let Some(result) = line.strip_prefix("test result: FAILED.") {
            let names = std::mem::take(&mut self.names);
            self.odd |= !result.contains(&format!("; {} failed;", names.len()));
            self.failed.push((self.program.clone(), names));
        } else if line.starts_with("error: ") && line.contains(" failed:") {
            self.ending = true;
        } else if self.ending
            && let Some(target) = line.strip_prefix("    `").and_then(|l| l.strip_suffix('`'))
        {
            self.targets.push(target.to_owned());
        }
    }

    /// What failed, when it was tests and nothing else: a program that died
    /// without a result, or did not compile, is not run again.
    fn failed(self) -> Option<Vec<Binary>> {
        if self.odd || self.failed.is_empty() || self.failed.len() != self.targets.len() {
            return None;
        }
        let binary = |((program, tests), target)| Binary { target, program, tests };
        Some(self.failed.into_iter().zip(self.targets).map(binary).collect())
    }
}

/// A line of a list of failures.
fn one_name(line: &str) -> Option<&str> {
    line.strip_prefix("    ").filter(|name| !name.is_empty() && !name.contains(char::is_whitespace))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Option<Vec<Binary>> {
        let mut report = Report::default();
        text.lines().for_each(|line| report.line(line));
        report.failed()
    }

    const SAID: &str = "     Running tests/clock.rs (target/debug/deps/clock-12)
test late ... FAILED
test soon ... ok

failures:

---- late stdout ----
failures:
    of something else
    inside what it said

failures:
    late
    module::later

test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out
error: test failed, to rerun pass `-p servent --test clock`
     Running tests/other.rs (target/debug/deps/other-34)
test result: ok. 3 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out
error: 1 target failed:
    `-p servent --test clock`
";

    #[test]
    fn what_failed_is_found_in_what_was_said() {
        let binary = Binary {
            target: "-p servent --test clock".into(),
            program: "target/debug/deps/clock-12".into(),
            tests: vec!["late".into(), "module::later".into()],
        };
        assert_eq!(read(SAID), Some(vec![binary]));
    }

    #[test]
    fn what_is_not_wholly_understood_gets_no_second_chance() {
        assert_eq!(read(""), None, "nothing ran");
        assert_eq!(read("error: could not compile `servent`"), None);
        let died = format!("{SAID}    `-p servent --test died`\n");
        assert_eq!(read(&died), None, "a program without a result");
        assert_eq!(read(&SAID.replace("2 failed", "3 failed")), None, "a name was not read");
    }

    #[test]
    fn the_second_time_counts_and_is_told() {
        let left = std::cell::Cell::new(1);
        let fails = |times: u32| {
            left.set(times);
            || {
                let n = left.get();
                left.set(n.saturating_sub(1));
                if n == 0 { Ok(7) } else { bail!("busy") }
            }
        };
        assert_eq!(chance("x", fails(0)).unwrap(), (7, String::new()));
        let (seven, note) = chance("x.test.js", fails(1)).unwrap();
        assert_eq!((seven, note.as_str()), (7, "passed only when run alone: x.test.js"));
        assert!(chance("x", fails(2)).is_err());
    }
}
