//! `cargo xtask worlds`

use anyhow::{Result, bail};

use crate::run::cargo;

/// Draw random worlds of the protocols on all cores and let the oracles judge
/// them.
///
/// Every world follows from its seed. This is `servent sim random-… --sweep`
/// for one protocol after the other, with a release build; a broken rule ends
/// it with a failure, after all of them.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Worlds of each protocol.
    #[arg(long, default_value_t = 1_000)]
    count: u64,
    /// Only these worlds, such as `site`.
    #[arg(long)]
    protocol: Option<String>,
    /// The first seed.
    #[arg(long, default_value_t = 1)]
    from: u64,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let Args { count, from, protocol } = args;
    cargo().words("build --quiet --release --package servent").run()?;
    let listed = cargo().words("run --quiet --release --package servent -- sim").quiet()?;
    let all = listed.split_whitespace().filter_map(|word| word.strip_prefix("random-"));
    let wanted = all.filter(|name| protocol.as_deref().is_none_or(|only| only == *name));
    let wanted: Vec<&str> = wanted.collect();
    if wanted.is_empty() {
        bail!("there are no such worlds; `servent sim` lists them as random-NAME");
    }
    let mut broken = Vec::new();
    for name in wanted {
        println!("{name}");
        let sim = cargo()
            .words("run --quiet --release --package servent -- sim --summary")
            .arg(format!("random-{name}"))
            .words(&format!("--sweep {count} --seed {from}"));
        broken.extend(sim.run().is_err().then_some(name));
    }
    if !broken.is_empty() {
        bail!("rules are broken: {}", broken.join(", "));
    }
    Ok(())
}
