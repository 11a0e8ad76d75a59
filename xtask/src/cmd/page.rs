//! `cargo xtask page`

use anyhow::Result;

use crate::{bundle, paths, wasm};

/// Build the page: the core as WebAssembly, its bindings, one script, one style sheet.
///
/// Leaves the bindings in `www/pkg` (then `www/` can be served as it is while
/// you work on it) and the page as the program embeds it in `dist/www`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the core of one view, into `www/pkg`: queue, trace, ladder, map, matrix.
    #[arg(long, value_name = "VIEW")]
    only: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if let Some(view) = &args.only {
        return wasm::build_view(view);
    }
    for (name, bytes) in build()? {
        println!("{bytes:>9} {}", paths::shown(&paths::page().join(name)));
    }
    Ok(())
}

/// Builds everything; answers with the names and sizes of the files.
///
/// # Errors
/// When the module does not compile or a file cannot be written.
pub(crate) fn build() -> Result<Vec<(String, u64)>> {
    wasm::build()?;
    bundle::page(&paths::www(), &paths::www().join("pkg"), &paths::page())
}
