//! `cargo xtask tidy`

use anyhow::Result;

/// Check the rules of the house that a program can check.
///
/// File length, leftovers, paths of one machine, what core must not use, and
/// that the documents and lints that we rely on are there. The length of
/// functions is clippy's (`too-many-lines-threshold`).
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<()> {
    println!("{} tidy", crate::tidy::check()?);
    Ok(())
}
