//! `cargo xtask dist`

use anyhow::{Context as _, Result};

use crate::paths;

/// Build what is given away: the program, and the page as one offline file.
///
/// Leaves `dist/servent` with the page inside, and `dist/servent-lab.html`,
/// which opens from a USB stick without a server.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<()> {
    println!("{}", super::page::build()?);
    super::demo::program()?;
    let program = paths::root().join("dist/servent");
    let built = paths::target().join("release/servent");
    std::fs::copy(&built, &program)
        .with_context(|| format!("{} cannot be copied", built.display()))?;
    for file in [program, paths::single_file()] {
        println!("{:>9} {}", std::fs::metadata(&file)?.len(), paths::shown(&file));
    }
    Ok(())
}
