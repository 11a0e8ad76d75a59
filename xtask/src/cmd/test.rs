//! `cargo xtask test`

use anyhow::{Result, bail};

use crate::run::{Tool, cargo};
use crate::steps::{self, Context, Lane, Outcome, Stage, Step};
use crate::{cmd, digests, machine, page_tests, paths, second, tidy};

/// Run every check, cheapest first, and stop at the first that fails.
///
/// What only builds runs beside the tests, which often wait for time to pass.
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

const FMT: Step = Step { name: "fmt", what: "the code is formatted", run: fmt };
const TIDY: Step = Step {
    name: "tidy",
    what: "the rules of the house",
    run: |_| Ok(Outcome::Done(tidy::check()?)),
};
const CONFORMANCE: Step =
    Step { name: "conformance", what: "every requirement has a test", run: conformance };
const DENY: Step =
    Step { name: "deny", what: "only what the program may be built from", run: deny };
const CLIPPY: Step = Step { name: "clippy", what: "no warning anywhere", run: clippy };
const TESTS: Step = Step {
    name: "tests",
    what: "unit, specification, contract, property, simulator, program",
    run: tests,
};
const PAGE: Step = Step { name: "page", what: "module, bindings, single file", run: page };
const TYPES: Step = Step { name: "types", what: "the page's types", run: types };
const FUZZ: Step = Step { name: "fuzz", what: "what is fuzzed still compiles", run: fuzz };
const NO_STD: Step =
    Step { name: "no_std", what: "core and sim on a target without std", run: no_std };
const DOCS: Step =
    Step { name: "docs", what: "the documentation builds and its examples run", run: docs };
const BROWSER: Step =
    Step { name: "browser", what: "the page in Chromium and Firefox", run: page_tests::step };
const DIGESTS: Step =
    Step { name: "digests", what: "one seed, one digest, everywhere", run: digests::step };

/// Stages one after the other, each of lanes that are walked side by side. The page
/// comes before the tests, because the program has it inside: otherwise the program and
/// its tests would be built once more for the browsers. Beside tests that often wait
/// there is what only computes, and yields to them.
const STAGES: &[&[&[Step]]] = &[
    &[&[FMT, TIDY, CONFORMANCE, DENY]],
    &[&[PAGE, TYPES], &[CLIPPY, FUZZ, NO_STD]],
    &[&[TESTS], &[DIGESTS, DOCS]],
    &[&[BROWSER]],
];

/// How much a build leaves to tests that run beside it, as `nice` means it.
const BUILDING: u8 = 10;

fn all() -> impl Iterator<Item = &'static Step> {
    STAGES.iter().copied().flatten().copied().flatten()
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.list {
        for step in all() {
            println!("{:<12} {}", step.name, step.what);
        }
        return Ok(());
    }
    if let Some(name) = args.steps.iter().find(|name| !all().any(|s| s.name == **name)) {
        bail!("no step `{name}`; `cargo xtask test --list` shows them");
    }
    let wanted = |step: &&Step| args.steps.is_empty() || args.steps.iter().any(|n| n == step.name);
    let lane = |lane: &&'static [Step]| lane.iter().filter(wanted).collect::<Lane>();
    let chosen: Vec<_> =
        STAGES.iter().map(|stage| stage.iter().map(lane).collect::<Stage>()).collect();
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

/// Cargo for what is only built.
fn building() -> Tool {
    cargo().yielding(BUILDING)
}

/// Not the advisories: they change without us, and need the network.
fn deny(_: &Context) -> Result<Outcome> {
    if !cargo().words("deny --version").works() {
        return Ok(Outcome::Skipped("`cargo install --locked cargo-deny` is missing".into()));
    }
    cargo().words("deny --log-level error check bans licenses sources").quiet()?;
    Ok(().into())
}

fn clippy(_: &Context) -> Result<Outcome> {
    machine::rust_component("cargo-clippy", "clippy")?;
    building().words("clippy --quiet --workspace --all-targets -- -D warnings").quiet()?;
    Ok(().into())
}

/// The targets are a workspace of their own, which nothing else builds; what
/// they depend on is there from clippy's pass.
fn fuzz(_: &Context) -> Result<Outcome> {
    building()
        .words("check --quiet --manifest-path fuzz/Cargo.toml --no-default-features --target-dir")
        .arg(paths::target())
        .quiet()?;
    Ok(().into())
}

fn tests(_: &Context) -> Result<Outcome> {
    let without = [
        machine::decoder(),
        machine::database(),
        machine::network(),
        machine::routers(),
        machine::port_mapping(),
        machine::proxy(),
        machine::web_server(),
    ];
    // Their own summaries are shown: they say how many ran. All of them run:
    // one look shows everything that is broken.
    let words = [vec![second::tests()?], without.to_vec()].concat();
    Ok(Outcome::Done(second::joined(&words)))
}

fn docs(_: &Context) -> Result<Outcome> {
    // First what the users of the libraries see, then the private parts too,
    // for the people who work on them. Always the whole workspace: for a part of it
    // everything it depends on would be built anew, with fewer features.
    for what in ["", "--document-private-items"] {
        let doc = building().words("doc --quiet --no-deps --workspace --lib").words(what);
        doc.env("RUSTDOCFLAGS", "-D warnings").quiet()?;
    }
    building().words("test --quiet --doc --workspace").quiet()?;
    Ok(().into())
}

fn no_std(_: &Context) -> Result<Outcome> {
    machine::rust_target("wasm32v1-none")?;
    building()
        .words("check --quiet --package servent-core --package servent-sim --target wasm32v1-none")
        .quiet()?;
    Ok(().into())
}

fn page(_: &Context) -> Result<Outcome> {
    Ok(Outcome::Done(cmd::page::build()?))
}

fn types(_: &Context) -> Result<Outcome> {
    if let Some(skipped) = machine::without_node()? {
        return Ok(skipped);
    }
    npm("check").quiet()?;
    Ok(().into())
}

/// A script of the page's package.
fn npm(script: &str) -> Tool {
    Tool::new("npm").words("run --silent").arg(script).within(paths::www())
}
