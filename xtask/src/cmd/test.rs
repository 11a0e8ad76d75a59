//! `cargo xtask test`

use std::cell::Cell;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};

use crate::browsers::{CHROMIUM, FIREFOX, Found};
use crate::run::{Tool, cargo};
use crate::steps::{self, Context, Outcome, Step};
use crate::{cmd, digests, machine, paths, second, tidy};

/// Run every check, cheapest first, and stop at the first that fails.
///
/// What a step needs and this machine lacks is installed where that can be
/// done without asking (Rust targets, the page's locked npm packages, and as
/// root the browsers). A browser that is missing and cannot be installed is
/// left out with a sentence, but is a failure in continuous integration.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these steps, in their usual order.
    steps: Vec<String>,
    /// List the steps.
    #[arg(long)]
    list: bool,
    /// Leave the browsers out.
    #[arg(long)]
    no_browser: bool,
    /// Run what follows a failure too.
    #[arg(long)]
    keep_going: bool,
}

const STEPS: &[Step] = &[
    Step { name: "fmt", what: "the code is formatted", run: fmt },
    Step {
        name: "tidy",
        what: "the rules of the house",
        run: |_| Ok(Outcome::Done(tidy::check()?)),
    },
    Step { name: "conformance", what: "every requirement has a test", run: conformance },
    Step { name: "clippy", what: "no warning anywhere", run: clippy },
    Step { name: "fuzz", what: "what is fuzzed still compiles", run: fuzz },
    Step {
        name: "tests",
        what: "unit, specification, contract, property, simulator, program",
        run: tests,
    },
    Step { name: "docs", what: "the documentation builds and its examples run", run: docs },
    Step { name: "no_std", what: "core and sim on a target without std", run: no_std },
    Step { name: "page", what: "module, bindings, single file", run: page },
    Step { name: "types", what: "the page's types", run: types },
    Step { name: "browser", what: "the page in Chromium and Firefox", run: browser },
    Step { name: "digests", what: "one seed, one digest, everywhere", run: digests::step },
];

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.list {
        for step in STEPS {
            println!("{:<12} {}", step.name, step.what);
        }
        return Ok(());
    }
    if let Some(name) = args.steps.iter().find(|name| !STEPS.iter().any(|s| s.name == **name)) {
        bail!("no step `{name}`; `cargo xtask test --list` shows them");
    }
    let chosen: Vec<_> = STEPS
        .iter()
        .filter(|step| args.steps.is_empty() || args.steps.iter().any(|name| name == step.name))
        .collect();
    let context = Context { no_browser: args.no_browser };
    steps::run(&chosen, &context, args.keep_going)
}

fn fmt(_: &Context) -> Result<Outcome> {
    machine::rust_component("rustfmt", "rustfmt")?;
    cargo().words("fmt --all --check").quiet()?;
    Ok(().into())
}

fn conformance(_: &Context) -> Result<Outcome> {
    Ok(Outcome::Done(cmd::conformance::check()?))
}

fn clippy(_: &Context) -> Result<Outcome> {
    machine::rust_component("cargo-clippy", "clippy")?;
    cargo().words("clippy --quiet --workspace --all-targets -- -D warnings").quiet()?;
    Ok(().into())
}

/// The targets are a workspace of their own, which nothing else builds.
fn fuzz(_: &Context) -> Result<Outcome> {
    cargo()
        .words("check --quiet --manifest-path fuzz/Cargo.toml --target-dir target/fuzz")
        .quiet()?;
    Ok(().into())
}

fn tests(_: &Context) -> Result<Outcome> {
    let without = machine::decoder();
    // Their own summaries are shown: they say how many ran. All of them run:
    // one look shows everything that is broken.
    let words = [second::tests()?, without];
    Ok(Outcome::Done(second::joined(&words)))
}

fn docs(_: &Context) -> Result<Outcome> {
    // First what the users of the libraries see, then the private parts too,
    // for whoever works on them.
    for what in [
        "doc --quiet --no-deps -p servent-core -p servent-sim",
        "doc --quiet --no-deps --document-private-items -p servent-core -p servent-sim -p servent --lib",
    ] {
        cargo().words(what).env("RUSTDOCFLAGS", "-D warnings").quiet()?;
    }
    cargo().words("test --quiet --doc -p servent-core -p servent-sim -p servent").quiet()?;
    Ok(().into())
}

fn no_std(_: &Context) -> Result<Outcome> {
    machine::rust_target("wasm32v1-none")?;
    cargo()
        .words("check --quiet --package servent-core --package servent-sim --target wasm32v1-none")
        .quiet()?;
    Ok(().into())
}

fn page(_: &Context) -> Result<Outcome> {
    Ok(Outcome::Done(cmd::page::build()?))
}

fn types(_: &Context) -> Result<Outcome> {
    if let Some(skipped) = without_node()? {
        return Ok(skipped);
    }
    npm("check").quiet()?;
    Ok(().into())
}

fn browser(context: &Context) -> Result<Outcome> {
    if let Some(skipped) = without_node()? {
        return Ok(skipped);
    }
    let (mut here, mut words) = (Vec::new(), vec![String::new()]);
    let mut where_it_is = Vec::new();
    for (browser, variable) in [(CHROMIUM, "CHROMIUM"), (FIREFOX, "FIREFOX")] {
        match browser.find(context)? {
            Found::At(path) => {
                where_it_is.push((variable, path));
                here.push(browser.name);
            }
            Found::No(Outcome::Skipped(why)) => {
                words.push(format!("without {}: {why}", browser.name));
            }
            Found::No(Outcome::Done(_)) => {}
        }
    }
    if here.is_empty() {
        return Ok(Outcome::Skipped(second::joined(&words)));
    }
    let (trace, note) = second::chance("servent demo", real_trace)?;
    words.push(note);
    let (tapes, note) = second::chance("tapes of every command", real_tapes)?;
    words.push(note);
    let run = |file: &str, browsers: &str| {
        let node = Tool::new("node").arg("--test").arg(file).within(paths::www());
        let node = where_it_is.iter().fold(node, |node, (name, path)| node.env(name, path));
        node.env("BROWSERS", browsers)
            .env("SERVENT_SINGLE", paths::single_file())
            .env("SERVENT_TRACE", &trace)
            .env("SERVENT_TAPES", &tapes)
            .run()
    };
    for file in page_tests()? {
        // Browsers mostly wait, so the first time they do it side by side,
        // but for what measures time.
        let aside = Cell::new(here.len() > 1 && waits(&file)?);
        let test = || {
            if !aside.replace(false) {
                return run(&file, &here.join(","));
            }
            std::thread::scope(|scope| {
                let all: Vec<_> =
                    here.iter().map(|browser| scope.spawn(|| run(&file, browser))).collect();
                all.into_iter().try_for_each(|one| one.join().map_err(|_| anyhow!("{file}"))?)
            })
        };
        let ((), note) = second::chance(&file, test)?;
        words.push(note);
    }
    words[0] = here.join(" and ");
    Ok(Outcome::Done(second::joined(&words)))
}

/// Whether a test of the page is about browsers, and not about how fast they
/// are.
fn waits(file: &str) -> Result<bool> {
    let text = std::fs::read_to_string(paths::www().join(file))?;
    Ok(text.contains("of BROWSERS") && !file.ends_with("core.test.js"))
}

/// The files of the page's tests, below `www`.
fn page_tests() -> Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(paths::www().join("tests"))? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.ends_with(".test.js") {
            names.push(format!("tests/{name}"));
        }
    }
    names.sort();
    Ok(names)
}

/// The tape of a servent on real sockets, for the page to run again.
fn real_trace() -> Result<PathBuf> {
    cargo().words("build --quiet --package servent").quiet()?;
    let kept = paths::target().join("demo-for-browsers");
    if kept.exists() {
        std::fs::remove_dir_all(&kept)?;
    }
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
    let kept = paths::target().join("tapes-for-browsers");
    if kept.exists() {
        std::fs::remove_dir_all(&kept)?;
    }
    cargo()
        .words("test --quiet --package servent --test program tapes::")
        .env("SERVENT_TAPES", &kept)
        .quiet()?;
    Ok(kept)
}

/// A script of the page's package.
fn npm(script: &str) -> Tool {
    Tool::new("npm").words("run --silent").arg(script).within(paths::www())
}

/// Makes sure of Node and its packages; on a person's machine without them
/// the step is left out.
fn without_node() -> Result<Option<Outcome>> {
    match machine::node_packages() {
        Ok(()) => Ok(None),
        Err(why) if !machine::in_ci() && machine::find(&["npm"]).is_none() => {
            Ok(Some(Outcome::Skipped(format!("{why:#}"))))
        }
        Err(why) => Err(why),
    }
}
