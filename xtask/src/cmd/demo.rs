//! `cargo xtask demo`

use anyhow::Result;

use crate::paths;
use crate::run::{Tool, cargo};
use crate::wasm::{self, ModuleProfile};

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

/// The program is built for development here: nothing the demonstration does
/// needs more, and it is there in half the time. One after the other, because
/// two bars of progress would write over each other.
pub(crate) fn run(args: &Args) -> Result<()> {
    println!("1/3 the page: the core as WebAssembly (the first time about two minutes)");
    wasm::build(ModuleProfile::Demo)?;
    println!("2/3 the program, with the page inside (the first time about two minutes)");
    cargo().words("build --package servent").run()?;
    println!("3/3 the demonstration; Ctrl-C ends it");
    let demo = Tool::new(paths::target().join("debug/servent")).arg("demo").interactive();
    args.args.iter().fold(demo, Tool::arg).run()
}

/// Builds the program as users run it.
///
/// # Errors
/// When it does not compile.
pub(crate) fn program() -> Result<()> {
    cargo().words("build --quiet --release --package servent").run()
}
