//! The page's tests. Node, Chromium and Firefox each go through their files
//! side by side, and use both cores of a small machine; the files of one browser
//! share it, because to start one for each costs more than the tests do. What
//! measures time runs afterwards, one browser at a time.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Error, Result, anyhow};

use crate::browsers::{CHROMIUM, FIREFOX, Found};
use crate::run::{Tool, cargo};
use crate::steps::{Context, Outcome};
use crate::{machine, paths, second};

/// One file of tests takes half a minute at most, all of them eight.
const FILE: Duration = Duration::from_mins(4);
const LINE: Duration = Duration::from_mins(20);
/// Who runs the tests that need no browser.
const NODE: &str = "node";

/// A file of tests and who runs it.
#[derive(Clone)]
struct Test {
    file: String,
    /// [`NODE`], or the name of a browser.
    engine: &'static str,
}

/// What the tests are told: browsers, recorded runs, the single file.
struct Given {
    variables: Vec<(&'static str, PathBuf)>,
}

/// Runs all of them; what fails is run once more, alone.
///
/// # Errors
/// Twice the same file failed.
pub(crate) fn step(context: &Context) -> Result<Outcome> {
    if let Some(skipped) = machine::without_node()? {
        return Ok(skipped);
    }
    let (mut engines, mut words) = (Vec::new(), vec![String::new()]);
    let mut given = Given { variables: vec![("SERVENT_SINGLE", paths::single_file())] };
    for (browser, variable) in [(CHROMIUM, "CHROMIUM"), (FIREFOX, "FIREFOX")] {
        match browser.find(context)? {
            Found::At(path) => {
                given.variables.push((variable, path));
                engines.push(browser.name);
            }
            Found::No(Outcome::Skipped(why)) => {
                words.push(format!("without {}: {why}", browser.name));
            }
            Found::No(Outcome::Done(_)) => {}
        }
    }
    if engines.is_empty() {
        return Ok(Outcome::Skipped(second::joined(&words)));
    }
    words.extend(machine::webkit());
    cargo().words("build --quiet --workspace --bin servent").quiet()?;
    // They mostly wait.
    let recorded = std::thread::scope(|scope| {
        let tapes = scope.spawn(|| second::chance("tapes of every command", real_tapes));
        let trace = second::chance("servent demo", real_trace);
        [("LAB_TRACE", trace), ("SERVENT_TAPES", tapes.join().expect("it does not break off"))]
    });
    for (variable, made) in recorded {
        let (path, note) = made?;
        given.variables.push((variable, path));
        words.push(note);
    }
    given.variables.push(("SERVENT_PROGRAM", paths::target().join("debug/servent")));

    let mut lines = vec![tests("node", NODE)?];
    for engine in &engines {
        lines.push(tests("browser", engine)?);
    }
    for (test, why) in side_by_side(&lines, &given)? {
        let name = format!("{} in {}", test.file, test.engine);
        words.push(second::again(&name, &why, || given.run(&test))?.1);
    }
    for engine in &engines {
        for test in tests("speed", engine)? {
            let name = format!("{} in {}", test.file, test.engine);
            words.push(second::chance(&name, || given.run(&test))?.1);
        }
    }
    words[0] = engines.join(" and ");
    Ok(Outcome::Done(second::joined(&words)))
}

/// Every line of tests in its order, beside the others; those that failed.
fn side_by_side(lines: &[Vec<Test>], given: &Given) -> Result<Vec<(Test, Error)>> {
    let walk = |line: &Vec<Test>| match line.first() {
        Some(first) if first.engine != NODE => given.share(line),
        _ => Ok(one_by_one(line, given)),
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = lines.iter().map(|line| scope.spawn(move || walk(line))).collect();
        let mut failed = Vec::new();
        for line in running {
            failed.extend(line.join().map_err(|_| anyhow!("a line of tests broke off"))??);
        }
        Ok(failed)
    })
}

/// Each in a process of its own; those that failed.
fn one_by_one(line: &[Test], given: &Given) -> Vec<(Test, Error)> {
    let failed = |test: &Test| given.run(test).err().map(|why| (test.clone(), why));
    line.iter().filter_map(failed).collect()
}

impl Given {
    fn run(&self, test: &Test) -> Result<()> {
        self.node(test.engine).arg("--test").arg(&test.file).ends_within(FILE).quiet()?;
        Ok(())
    }

    /// All of them in one process and one browser; those that failed, or were not
    /// come to. Where the process does not say which, that is all of them.
    fn share(&self, line: &[Test]) -> Result<Vec<(Test, Error)>> {
        let Some(Test { engine, .. }) = line.first() else { return Ok(Vec::new()) };
        let report = paths::target().join(format!("passed-in-{engine}"));
        let times = paths::target().join(format!("times-in-{engine}.txt"));
        let node = self
            .node(engine)
            .words("--test-reporter=spec --test-reporter-destination=stdout")
            .words("--test-reporter=./tests/passed.js")
            .arg(format!("--test-reporter-destination={}", report.display()))
            .words("--test-reporter=./tests/times.js")
            .arg(format!("--test-reporter-destination={}", times.display()))
            .arg("tests/line.js");
        let node = line.iter().fold(node, |node, test| node.arg(&test.file)).ends_within(LINE);
        let Err(why) = node.quiet() else { return Ok(Vec::new()) };
        let passed = std::fs::read_to_string(&report).unwrap_or_default();
        let mut failed: Vec<_> =
            line.iter().filter(|test| passed.lines().all(|file| file != test.file)).collect();
        if failed.is_empty() {
            failed = line.iter().collect();
        }
        // The output is shown once.
        let mut why = Some(why);
        let mut reason = || why.take().unwrap_or_else(|| anyhow!("its output is above"));
        Ok(failed.into_iter().map(|test| (test.clone(), reason())).collect())
    }

    fn node(&self, engine: &str) -> Tool {
        // What a failed test leaves open would keep the process for ever.
        let node = Tool::new("node").arg("--test-force-exit").within(paths::www());
        let node = node.env("BROWSERS", engine);
        self.variables.iter().fold(node, |node, (name, path)| node.env(name, path))
    }
}

/// The files in a folder of `www/tests`, for one engine.
fn tests(folder: &str, engine: &'static str) -> Result<Vec<Test>> {
    let place = Path::new("tests").join(folder);
    let mut names = Vec::new();
    for entry in std::fs::read_dir(paths::www().join(&place))? {
        names.push(place.join(entry?.file_name()).to_string_lossy().into_owned());
    }
    names.sort();
    Ok(names.into_iter().map(|file| Test { file, engine }).collect())
}

/// The recording of a servent on real sockets, for the page to follow.
fn real_trace() -> Result<PathBuf> {
    let kept = emptied("demo-for-browsers")?;
    Tool::new(paths::target().join("debug/servent"))
        .words("demo --seconds 12 --json --lab 127.0.0.1:0 --keep")
        .arg(&kept)
        .env("XDG_CONFIG_HOME", &kept)
        .quiet()?;
    Ok(kept.join("traces/uploader.sqlog"))
}

/// What every command of the program records, in one folder: a test of the
/// program makes them.
fn real_tapes() -> Result<PathBuf> {
    let kept = emptied("tapes-for-browsers")?;
    cargo()
        .words("test --quiet --workspace --test program tapes::")
        .env("SERVENT_TAPES", &kept)
        .quiet()?;
    Ok(kept)
}

/// A folder of that name in `target`, without what an earlier run left in it.
fn emptied(name: &str) -> Result<PathBuf> {
    let kept = paths::target().join(name);
    if kept.exists() {
        std::fs::remove_dir_all(&kept)?;
    }
    Ok(kept)
}
