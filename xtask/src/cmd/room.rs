//! Rooms of the real program with real browsers, for figures and for campaigns.

use anyhow::{Result, bail};

use crate::browsers::{CHROMIUM, FIREFOX, Found};
use crate::run::Tool;
use crate::steps::{Context, Outcome};
use crate::{machine, paths, wasm};

/// Runs a script of `www/tests/bench` with a release build and both browsers.
///
/// # Errors
/// A browser or Node is missing, or a bound is missed.
pub(crate) fn run(script: &str, settings: &[(&str, String)]) -> Result<()> {
    if let Some(Outcome::Skipped(why)) = machine::without_node()? {
        bail!("{why}");
    }
    wasm::build(wasm::ModuleProfile::Web)?;
    super::demo::program()?;
    let mut node = Tool::new("node")
        .within(paths::www())
        .env("SERVENT_PROGRAM", paths::target().join("release/servent"));
    for (browser, variable) in [(CHROMIUM, "CHROMIUM"), (FIREFOX, "FIREFOX")] {
        match browser.find(&Context { no_browser: false })? {
            Found::At(path) => node = node.env(variable, path),
            Found::No(_) => bail!("{} is missing", browser.name),
        }
    }
    for (name, value) in settings {
        node = node.env(name, value);
    }
    node.arg(format!("tests/bench/{script}")).run()
}
