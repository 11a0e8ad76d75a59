//! `cargo xtask page`

use anyhow::{Context as _, Result};

use crate::paths::files;
use crate::single::single;
use crate::wasm::{self, ModuleProfile};
use crate::{offline, paths};

/// Build the page: the core as WebAssembly with its bindings, and the single file.
///
/// Leaves the bindings in `www/pkg`, and beside them the list of files that a
/// hosted page keeps for times without a network. Then `www/` can be served as it is, and
/// the program embeds these very files. `dist/servent-lab.html` carries them
/// all and opens without a server.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<()> {
    println!("{}", build()?);
    Ok(())
}

/// Builds both; answers with what they weigh, uncompressed.
///
/// # Errors
/// When the module does not compile or a file cannot be written.
pub(crate) fn build() -> Result<String> {
    wasm::build(ModuleProfile::Web)?;
    offline::write(&paths::www())?;
    let file = paths::single_file();
    std::fs::create_dir_all(file.parent().unwrap_or(&file))?;
    std::fs::write(&file, single(&paths::www())?)
        .with_context(|| format!("{} cannot be written", file.display()))?;
    weight()
}

fn weight() -> Result<String> {
    let of = |folder: &str, ending: &str| -> Result<(usize, u64)> {
        let (mut count, mut bytes) = (0, 0);
        for file in files(&paths::www().join(folder))? {
            if file.extension().is_some_and(|e| e == ending) {
                count += 1;
                bytes += std::fs::metadata(&file)?.len();
            }
        }
        Ok((count, bytes.div_ceil(1024)))
    };
    let module = std::fs::metadata(wasm::module())?.len().div_ceil(1024);
    let ((scripts, js), (sheets, css), (_, glue)) =
        (of("js", "js")?, of("css", "css")?, of("pkg", "js")?);
    Ok(format!(
        "module {module} KiB, bindings {glue} KiB, {scripts} scripts {js} KiB, \
         {sheets} style sheets {css} KiB"
    ))
}
