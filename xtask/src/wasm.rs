//! The core as WebAssembly, with its bindings.

use anyhow::{Result, anyhow};
use wasm_bindgen_cli_support::Bindgen;

use crate::machine;
use crate::paths;
use crate::run::cargo;

/// Builds `servent-web` and writes its bindings to `www/pkg`.
///
/// # Errors
/// When the build fails, or the bindings cannot be made.
pub(crate) fn build() -> Result<()> {
    machine::rust_target("wasm32-unknown-unknown")?;
    cargo()
        .words("build --quiet --package servent-web --lib --profile web")
        .words("--target wasm32-unknown-unknown")
        .run()?;
    let module = paths::target().join("wasm32-unknown-unknown/web/servent_web.wasm");
    Bindgen::new()
        .input_path(module)
        .web(true)
        .and_then(|bindgen| {
            bindgen
                .typescript(true)
                .omit_default_module_path(false)
                .remove_name_section(true)
                .remove_producers_section(true)
                .generate(paths::www().join("pkg"))
        })
        .map_err(|error| anyhow!("the bindings could not be made: {error:?}"))
}
