//! The mutants of a folder, as cargo-mutants lists them.

use anyhow::{Context as _, Result};
use serde::Deserialize;

use crate::machine;
use crate::run::{Tool, cargo};

/// The folders below `core/src` that are judged.
pub(crate) const FOLDERS: [&str; 4] = ["queue", "routing", "swarm", "unicast"];

/// A change to the code that a test should notice.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Mutant {
    pub(crate) file: String,
    pub(crate) genre: Genre,
    /// Place and change in one line.
    pub(crate) name: String,
    pub(crate) replacement: String,
    pub(crate) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) enum Genre {
    FnValue,
    BinaryOperator,
    UnaryOperator,
    MatchArm,
    MatchArmGuard,
    StructField,
}

#[derive(Debug, Clone, Copy, Deserialize)]
pub(crate) struct Span {
    pub(crate) start: Place,
}

/// Both from 1; columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub(crate) struct Place {
    pub(crate) line: usize,
    pub(crate) column: usize,
}

impl Mutant {
    /// Which of [`FOLDERS`] it is in.
    pub(crate) fn folder(&self) -> &str {
        self.file.split('/').nth(2).unwrap_or_default()
    }
}

/// Asks cargo-mutants, which is installed when it is missing. The order is the
/// same for the same sources.
pub(crate) fn all() -> Result<Vec<Mutant>> {
    if machine::find(&["cargo-mutants"]).is_none() {
        println!("installing cargo-mutants");
        cargo().words("install --quiet --locked cargo-mutants").run()?;
    }
    let tool = Tool::new("cargo").words("mutants --list --json --package servent-core");
    let tool = tool.words("--exclude-re").arg("impl Debug");
    let text = FOLDERS
        .iter()
        .fold(tool, |tool, folder| tool.arg("--file").arg(format!("core/src/{folder}/**")))
        .quiet()?;
    serde_json::from_str(&text).context("cargo-mutants lists something else than mutants")
}
