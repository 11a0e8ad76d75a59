//! The page's tests. Node, Chromium and Firefox each go through their files
//! side by side, and use both cores of a small machine; what measures time runs
//! afterwards, one browser at a time.

use std::path::{Path, PathBuf};

use anyhow::{Error, Result, anyhow};

use crate::browsers::{CHROMIUM, FIREFOX, Found};
use crate::run::{Tool, cargo};
use crate::steps::{Context, Outcome};
use crate::{machine, paths, second};

/// A file of tests and who runs it.
#[derive(Clone)]
struct Test {
    file: String,
    /// `node`, or the name of a browser.
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
    let recorded = [
        ("SERVENT_TRACE", second::chance("servent demo", real_trace)?),
        ("SERVENT_TAPES", second::chance("tapes of every command", real_tapes)?),
    ];
    for (variable, (path, note)) in recorded {
        given.variables.push((variable, path));
        words.push(note);
    }

    let mut lines = vec![tests("node", "node")?];
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
    let walk = |line: &Vec<Test>| -> Vec<(Test, Error)> {
        line.iter()
            .filter_map(|test| given.run(test).err().map(|why| (test.clone(), why)))
            .collect()
    };
    std::thread::scope(|scope| {
        let running: Vec<_> = lines.iter().map(|line| scope.spawn(move || walk(line))).collect();
        let mut failed = Vec::new();
        for line in running {
            failed.extend(line.join().map_err(|_| anyhow!("a line of tests broke off"))?);
        }
        Ok(failed)
    })
}

impl Given {
    fn run(&self, test: &Test) -> Result<()> {
        let node = Tool::new("node").arg("--test").arg(&test.file).within(paths::www());
        let node = self.variables.iter().fold(node, |node, (name, path)| node.env(name, path));
        node.env("BROWSERS", test.engine).quiet()?;
        Ok(())
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

/// The tape of a servent on real sockets, for the page to follow.
fn real_trace() -> Result<PathBuf> {
    cargo().words("build --quiet --workspace --bin servent").quiet()?;
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
