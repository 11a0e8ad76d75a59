//! `cargo xtask soak`

use anyhow::{Result, bail};

use crate::run::cargo;

/// Let real processes live under floods, full disks and jumping clocks, and
/// kill them at drawn instants.
///
/// It is the test `soak` of the program for a long time: what it looks at, and
/// what came of it, is printed. The first broken promise ends it. The instants
/// are drawn from the seed; what falls into them is this machine's.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How long; the floods at the beginning and the quiet minute at the end
    /// come on top.
    #[arg(long, default_value_t = 10)]
    minutes: u64,
    /// End after so many kills.
    #[arg(long)]
    kills: Option<u64>,
    /// The dice.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// The program as users run it, which takes longer to build.
    #[arg(long)]
    release: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.minutes == 0 {
        bail!("`--minutes` has to be at least 1");
    }
    let mut soak = cargo()
        .words("test --quiet --workspace --test journeys")
        .env("SOAK_SECONDS", (args.minutes * 60).to_string())
        .env("SOAK_SEED", args.seed.to_string());
    if let Some(kills) = args.kills {
        soak = soak.env("SOAK_KILLS", kills.to_string());
    }
    if args.release {
        soak = soak.arg("--release");
    }
    soak.words("soak:: -- --nocapture").run()
}
