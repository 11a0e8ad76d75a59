//! `cargo xtask dist`

use anyhow::{Context as _, Result};

use crate::{bundle, paths, sizes};

/// Build what is given away: the program, and the page as one offline file.
///
/// Leaves `dist/servent` with the page inside, and `dist/servent-lab.html`,
/// which opens from a USB stick without a server.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<()> {
    super::page::build()?;
    single()?;
    super::demo::program()?;
    let program = paths::root().join("dist/servent");
    let built = paths::target().join("release/servent");
    std::fs::copy(&built, &program)
        .with_context(|| format!("{} cannot be copied", built.display()))?;
    for file in [program, paths::single_file()] {
        println!("{:>9} {}", std::fs::metadata(&file)?.len(), paths::shown(&file));
    }
    println!("after gzip: {}", sizes::check()?);
    Ok(())
}

/// Writes the single file from the bindings that were built.
///
/// # Errors
/// When they are not built or the file cannot be written.
pub(crate) fn single() -> Result<()> {
    let file = paths::single_file();
    std::fs::write(&file, bundle::single(&paths::www(), &paths::www().join("pkg"))?)
        .with_context(|| format!("{} cannot be written", file.display()))
}
