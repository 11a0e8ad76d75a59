//! `cargo xtask demo`

use anyhow::Result;

use crate::run::{Tool, cargo};
use crate::{paths, wasm};

/// Build the page and the program, then show both: `servent demo`.
///
/// Several servents on loopback, real TCP, a busy uploader, and the lab in
/// your browser. What follows `demo` goes to the program: try
/// `cargo xtask demo --help`-style flags such as `--seconds 20 --json`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Given to `servent demo` as they are.
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    args: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    wasm::build()?;
    program()?;
    let demo = Tool::new(paths::target().join("release/servent")).arg("demo").interactive();
    args.args.iter().fold(demo, Tool::arg).run()
}

/// Builds the program as users run it.
///
/// # Errors
/// When it does not compile.
pub(crate) fn program() -> Result<()> {
    cargo().words("build --quiet --release --package servent").run()
}
