//! The page's tests. Node, Chromium and Firefox each go through their files
//! side by side, and use both cores of a small machine; the files of one browser
//! share it, because to start one for each costs more than the tests do. Files
//! that are about no difference of browsers run once: they are dealt, one after
//! the other, to the browser that has done its own. What measures time runs
//! afterwards, one browser at a time. WebKit is slower to drive, and goes through
//! the files of the views.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Error, Result, anyhow};

use crate::browsers::{CHROMIUM, FIREFOX, Found};
use crate::run::{Tool, cargo};
use crate::steps::{Context, Outcome};
use crate::{machine, paths, second};

/// One file of tests takes a minute at most, all of a browser fifteen on two cores.
const FILE: Duration = Duration::from_mins(4);
const LINE: Duration = Duration::from_mins(30);
/// Who runs the tests that need no browser.
const NODE: &str = "node";
/// The folders whose files run in every browser.
const EVERYWHERE: [&str; 2] = ["browser", "room"];
/// The folders whose files run in one of them. Those that take longest come
/// first, so that both browsers end at about the same time.
const DEALT: [&str; 2] = ["class", "page"];

/// The third engine, driven by its own driver.
const WEBKIT: &str = "webkit";
/// The files of every browser that run in it too, because the checks are long: the views. They
/// take two minutes; `BROWSERS=webkit` runs any other.
const IN_WEBKIT: [&str; 5] = ["meet", "queue", "routing", "swarm", "unicast"];

/// What names the page as a single file.
const SINGLE: &str = "SERVENT_SINGLE";

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
    let mut given = Given { variables: vec![(SINGLE, paths::single_file())] };
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
    let without_webkit = machine::webkit();
    let webkit = without_webkit.iter().all(String::is_empty);
    words.extend(without_webkit);
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

    let dealt = Dealt::new(&engines)?;
    for (test, why) in side_by_side(&engines, webkit, &dealt, &given)? {
        let name = format!("{} in {}", test.file, test.engine);
        words.push(second::again(&name, &why, || given.run(&test))?.1);
    }
    for engine in &engines {
        for test in tests("speed", engine)? {
            let name = format!("{} in {}", test.file, test.engine);
            words.push(second::chance(&name, || given.run(&test))?.1);
        }
    }
    engines.extend(webkit.then_some(WEBKIT));
    words[0] = engines.join(" and ");
    Ok(Outcome::Done(second::joined(&words)))
}

/// What Node and every browser go through, beside each other; those that failed. Node's
/// own are few and ask WebKit too: what else runs there comes after them.
fn side_by_side(
    engines: &[&'static str],
    webkit: bool,
    dealt: &Dealt,
    given: &Given,
) -> Result<Vec<(Test, Error)>> {
    let alone = tests("node", NODE)?;
    let walk = |engine: &'static str| {
        let own = EVERYWHERE.iter().map(|folder| tests(folder, engine));
        let own = own.collect::<Result<Vec<_>>>()?.concat();
        given.share(engine, &own, Some(dealt))
    };
    let third = || {
        let mut failed = one_by_one(&alone, given);
        if webkit {
            let file =
                |name| Test { file: format!("tests/browser/{name}.test.js"), engine: WEBKIT };
            failed.extend(given.share(WEBKIT, &IN_WEBKIT.map(file), None)?);
        }
        Ok::<_, Error>(failed)
    };
    std::thread::scope(|scope| {
        let node = scope.spawn(third);
        let browsers: Vec<_> =
            engines.iter().map(|engine| scope.spawn(move || walk(engine))).collect();
        let broken = |_| anyhow!("a line of tests broke off");
        let mut failed = node.join().map_err(broken)??;
        for browser in browsers {
            failed.extend(browser.join().map_err(broken)??);
        }
        Ok(failed)
    })
}

/// Files that run in one browser, whichever is free.
struct Dealt {
    /// Their list. A browser that begins one makes a file beside it, with its own name inside.
    list: PathBuf,
    files: Vec<String>,
    /// Who failed if a file was not begun at all.
    first: &'static str,
}

impl Dealt {
    fn new(engines: &[&'static str]) -> Result<Self> {
        let first = engines[0];
        let all = DEALT.iter().map(|folder| tests(folder, first));
        let all = all.collect::<Result<Vec<_>>>()?.concat();
        let files: Vec<_> = all.into_iter().map(|test| test.file).collect();
        let list = emptied("dealt-to-browsers")?.join("list");
        std::fs::create_dir_all(list.with_file_name(""))?;
        std::fs::write(&list, files.join("\n"))?;
        Ok(Self { list, files, first })
    }

    /// Those that a browser began, or had to when no other did.
    fn taken(&self, engine: &'static str) -> Vec<Test> {
        let owner = |n: usize| {
            let mark = format!("{}.{n}", self.list.display());
            std::fs::read_to_string(mark).unwrap_or_else(|_| self.first.to_owned())
        };
        let files = self.files.iter().enumerate();
        let mine = files.filter(|(n, _)| owner(*n).trim() == engine);
        mine.map(|(_, file)| Test { file: file.clone(), engine }).collect()
    }
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

    /// All of a browser's own files and what is dealt to it, in one process and
    /// one browser; those that failed, or were not come to. Where the process does
    /// not say which, that is all of its own.
    fn share(
        &self,
        engine: &'static str,
        own: &[Test],
        dealt: Option<&Dealt>,
    ) -> Result<Vec<(Test, Error)>> {
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
        let node = dealt.iter().fold(node, |node, dealt| node.env("DEALT", &dealt.list));
        let node = own.iter().fold(node, |node, test| node.arg(&test.file)).ends_within(LINE);
        let Err(why) = node.quiet() else { return Ok(Vec::new()) };
        let passed = std::fs::read_to_string(&report).unwrap_or_default();
        let mut failed: Vec<_> = own.to_vec();
        failed.extend(dealt.iter().flat_map(|dealt| dealt.taken(engine)));
        failed.retain(|test| passed.lines().all(|file| file != test.file));
        if failed.is_empty() {
            failed = own.to_vec();
        }
        // The output is shown once.
        let mut why = Some(why);
        let mut reason = || why.take().unwrap_or_else(|| anyhow!("its output is above"));
        Ok(failed.into_iter().map(|test| (test, reason())).collect())
    }

    fn node(&self, engine: &str) -> Tool {
        // What a failed test leaves open would keep the process for ever.
        let node = Tool::new("node").arg("--test-force-exit").within(paths::www());
        let node = node.env("BROWSERS", engine);
        // The single file takes WebKit twenty seconds to open, each time.
        let given = self.variables.iter();
        let given = given.filter(|(name, _)| engine != WEBKIT || *name != SINGLE);
        given.fold(node, |node, (name, path)| node.env(name, path))
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

/// What every command of the program records, in one folder: tests of the program make
/// them, and a journey behind two routers, where this machine can have routers.
fn real_tapes() -> Result<PathBuf> {
    let kept = emptied("tapes-for-browsers")?;
    cargo()
        .words("test --quiet --workspace --test program --test journeys --")
        .words("tapes:: meeting::pa_12_the_recording")
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
