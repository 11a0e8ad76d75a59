//! The core as WebAssembly, one module a view, with its bindings.

use std::fs;
use std::path::PathBuf;

use anyhow::{Result, anyhow, bail};
use wasm_bindgen_cli_support::Bindgen;

use crate::machine;
use crate::pack::pack;
use crate::paths;
use crate::run::{Tool, cargo};

/// The views of the page, as the features of `servent-web` name them. Each is
/// a module of its own: the page loads what the open view needs.
pub(crate) const VIEWS: &[&str] = &["queue", "trace", "ladder", "map", "matrix"];

/// Those the page may ask for at once: what a story and a trace are run by.
pub(crate) const FIRST: &[&str] = &["queue", "trace"];

/// The file of a view's bindings.
pub(crate) fn bindings(view: &str) -> String {
    format!("servent_{view}.js")
}

/// The file of a view's module.
pub(crate) fn module(view: &str) -> String {
    format!("servent_{view}_bg.wasm")
}

/// The module of all views together, for the page in a single file: what they
/// share is in it once.
pub(crate) const ALL: &str = "all";

/// Builds `servent-web` for every view and once for all of them, and writes the
/// bindings to `www/pkg`.
///
/// # Errors
/// When the build fails, or the bindings cannot be made.
pub(crate) fn build() -> Result<()> {
    let mut words = prepare()?;
    VIEWS.iter().try_for_each(|view| build_somehow(view, view, &mut words))?;
    build_somehow(ALL, &VIEWS.join(","), &mut words)
}

/// Builds one view alone.
///
/// # Errors
/// When there is no such view, or as [`build`].
pub(crate) fn build_view(view: &str) -> Result<()> {
    if !VIEWS.contains(&view) {
        bail!("there is no view {view}: there are {}", VIEWS.join(", "));
    }
    build_somehow(view, view, &mut prepare()?)
}

/// True when the modules were built with the words of panics in them.
pub(crate) fn is_wordy() -> bool {
    wordy().exists()
}

/// The mark of that.
fn wordy() -> PathBuf {
    paths::www().join("pkg/wordy")
}

/// What a panic says in a module.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Words {
    Left,
    Out,
}

/// Makes sure of what the modules are built with.
fn prepare() -> Result<Words> {
    machine::rust_target("wasm32-unknown-unknown")?;
    fs::create_dir_all(paths::www().join("pkg"))?;
    if wordy().exists() {
        fs::remove_file(wordy())?;
    }
    machine::rust_sources().map_or_else(|why| leave_words(&why), |()| Ok(Words::Out))
}

fn leave_words(why: &anyhow::Error) -> Result<Words> {
    println!(
        "LOOK: the page's modules become a tenth heavier: Rust's standard library cannot be \
         built anew (it takes `rustup component add rust-src` and what that depends on): {why:#}"
    );
    fs::write(wordy(), "")?;
    Ok(Words::Left)
}

/// Builds a module, from now on with words if it cannot be had without.
fn build_somehow(name: &str, features: &str, words: &mut Words) -> Result<()> {
    match build_module(name, features, *words) {
        Err(why) if *words == Words::Out => {
            *words = leave_words(&why)?;
            build_module(name, features, *words)
        }
        done => done,
    }
}

/// A tenth of a module was words about panics that nobody reads in a browser,
/// and what prints them. So the standard library is built without them: a
/// panic stops the module at once, the page says so, and the same scenario
/// panics with all its words in the program. The compiler is pinned, so that
/// what it calls unstable stays as it is.
fn wordless(cargo: Tool) -> Tool {
    let flags = "-Zunstable-options -Cpanic=immediate-abort -Zlocation-detail=none";
    cargo
        .env("RUSTC_BOOTSTRAP", "1")
        .env("RUSTFLAGS", flags)
        .words("-Z build-std=std,panic_abort -Z build-std-features=optimize_for_size")
}

fn build_module(name: &str, features: &str, words: Words) -> Result<()> {
    let cargo = cargo()
        .words("rustc --quiet --package servent-web --lib --profile web")
        .words("--target wasm32-unknown-unknown --no-default-features --features")
        .arg(features);
    let cargo = if words == Words::Out { wordless(cargo) } else { cargo };
    cargo
        // The stack comes first; data below 1 MiB has addresses of three bytes.
        .words("-- -C link-arg=-zstack-size=524288")
        .run()?;
    let module = paths::target().join("wasm32-unknown-unknown/web/servent_web.wasm");
    Bindgen::new()
        .input_path(module)
        .out_name(&format!("servent_{name}"))
        .web(true)
        .and_then(|bindgen| {
            bindgen
                .typescript(true)
                .omit_default_module_path(false)
                .remove_name_section(true)
                .remove_producers_section(true)
                .generate(paths::www().join("pkg"))
        })
        .map_err(|error| anyhow!("the bindings of {name} could not be made: {error:?}"))?;
    let module = paths::www().join("pkg").join(self::module(name));
    let packed = pack(&fs::read(&module)?)?;
    fs::write(module, packed)?;
    Ok(())
}
