//! `cargo xtask worlds`

use anyhow::{Context as _, Result};

use crate::run::cargo;

/// Draw random worlds of the protocols on all cores and let the oracles judge
/// them.
///
/// Every world follows from its seed. A line a protocol says how many worlds
/// and events there were; for a broken rule it names the seed and the command
/// that shows it again, and the whole ends with a failure.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Worlds of each protocol.
    #[arg(long, default_value_t = 1_000)]
    count: u64,
    /// Only this protocol.
    #[arg(long, value_parser = ["queue", "site", "unicast", "routing", "swarm"])]
    protocol: Option<String>,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    from: u64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let worlds = cargo()
        .words("run --quiet --release --package servent-sim --example worlds --")
        .arg(args.count.to_string())
        .arg(args.from.to_string());
    args.protocol
        .iter()
        .fold(worlds, |worlds, name| worlds.arg(name))
        .run()
        .context("a rule is broken, or the worlds could not be built")
}
