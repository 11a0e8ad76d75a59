//! `cargo xtask campaign`

use anyhow::Result;

use crate::run::cargo;

/// Run what takes too long for every change: real minutes, thousands of files.
///
/// These are the ignored tests among the journeys, one after the other,
/// with a release build.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only those whose names contain this.
    filter: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let tests = cargo().words("test --release --package servent --test journeys --");
    let tests = tests.words("--ignored --nocapture --test-threads 1");
    args.filter.iter().fold(tests, |tests, filter| tests.arg(filter)).run()
}
