//! The core as one WebAssembly module, with its bindings for JavaScript.

use std::fs;

use anyhow::{Result, anyhow};
use wasm_bindgen_cli_support::Bindgen;

use crate::run::cargo;
use crate::types::interfaces;
use crate::{machine, paths};

/// The name of the module's files.
const NAME: &str = "servent";

/// What Node has to know of the folder to import it as a package.
const PACKAGE: &str = concat!(
    r#"{
  "name": "servent",
  "version": ""#,
    env!("CARGO_PKG_VERSION"),
    r#"",
  "description": "The protocols of Servent: worlds to be simulated, tapes to be run again",
  "license": "MIT OR Apache-2.0",
  "type": "module",
  "exports": {
    ".": { "types": "./servent.d.ts", "default": "./servent.js" },
    "./servent_bg.wasm": "./servent_bg.wasm"
  },
  "sideEffects": false
}
"#
);

/// How much the compiler works for a smaller module.
#[derive(Clone, Copy)]
pub(crate) enum ModuleProfile {
    /// As it is given away.
    Web,
    /// Larger, and built sooner: a user waits for it.
    Demo,
}

impl ModuleProfile {
    const fn name(self) -> &'static str {
        match self {
            Self::Web => "web",
            Self::Demo => "demo",
        }
    }

    /// A newcomer sees cargo's progress; the steps of a test print one line each.
    const fn progress(self) -> &'static str {
        match self {
            Self::Web => "--quiet",
            Self::Demo => "",
        }
    }
}

/// Builds `servent-web` and writes the module and its bindings to `www/pkg`.
///
/// # Errors
/// When the build fails, or the bindings cannot be made.
pub(crate) fn build(profile: ModuleProfile) -> Result<()> {
    machine::rust_target("wasm32-unknown-unknown")?;
    cargo()
        .words("build --package servent-web --target wasm32-unknown-unknown")
        .words(profile.progress())
        .words("--profile")
        .arg(profile.name())
        .run()?;
    let module = paths::target()
        .join("wasm32-unknown-unknown")
        .join(profile.name())
        .join("servent_web.wasm");
    Bindgen::new()
        .input_path(module)
        .out_name(NAME)
        .web(true)
        .and_then(|bindgen| {
            bindgen
                // A panic says in words where it was; the names of functions are not read.
                .remove_name_section(true)
                .typescript(true)
                // The caller that loads it says where the module is: the page, the
                // single file and Node keep it in different places.
                .omit_default_module_path(true)
                // After a panic the page begins with a fresh instance.
                .reset_state_function(true)
                .generate(paths::pkg())
        })
        .map_err(|error| anyhow!("the bindings could not be made: {error:?}"))?;
    let declarations = paths::pkg().join(format!("{NAME}.d.ts"));
    let classes = fs::read_to_string(&declarations)?;
    fs::write(&declarations, classes + "\n" + &interfaces(&paths::root())?)?;
    fs::write(paths::pkg().join("package.json"), PACKAGE)?;
    Ok(())
}

/// The file of the module.
pub(crate) fn module() -> std::path::PathBuf {
    paths::pkg().join(format!("{NAME}_bg.wasm"))
}
