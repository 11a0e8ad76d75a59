//! `cargo xtask campaign`

use anyhow::Result;

use crate::digests;
use crate::run::cargo;

/// Run what takes too long for every change: real minutes, thousands of files.
///
/// These are the ignored tests among the journeys, the lessons, the lines and the
/// meetings, one after the other, `digests`: whether a release build computes what a debug
/// build does, and `room`: many pages in one room under churn. All with a release build.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only those whose names contain this.
    filter: Option<String>,
    /// Pages in the room.
    #[arg(long, default_value_t = 40)]
    tabs: u32,
    /// How long pages come, go, sleep and are cut off there.
    #[arg(long, default_value_t = 600)]
    seconds: u32,
    /// Every page is hit about once in so many seconds.
    #[arg(long, default_value_t = 120)]
    every: u32,
    /// The seed of what happens to which page.
    #[arg(long, default_value_t = 1)]
    seed: u32,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let wanted = |name| args.filter.as_deref().is_none_or(|filter| filter == name);
    if !matches!(args.filter.as_deref(), Some("room" | "digests")) {
        ignored(args)?;
    }
    if wanted("digests") {
        println!("{}", digests::released()?);
    }
    if wanted("room") {
        let numbers = [
            ("TABS", args.tabs),
            ("SECONDS", args.seconds),
            ("EVERY", args.every),
            ("SEED", args.seed),
        ];
        super::room::run("churn.js", &numbers.map(|(name, n)| (name, n.to_string())))?;
    }
    Ok(())
}

fn ignored(args: &Args) -> Result<()> {
    let binaries = [
        ("servent", "journeys"),
        ("servent-sim", "lessons"),
        ("servent-sim", "unicast"),
        ("servent-sim", "meet"),
    ];
    for (package, binary) in binaries {
        let tests = cargo().words("test --release --package").arg(package).arg("--test");
        let tests = tests.arg(binary).words("-- --ignored --nocapture --test-threads 1");
        args.filter.iter().fold(tests, |tests, filter| tests.arg(filter)).run()?;
    }
    Ok(())
}
