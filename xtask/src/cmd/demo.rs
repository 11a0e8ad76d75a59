//! `cargo xtask demo`

use anyhow::{Result, anyhow};

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

/// The program is built for development here: nothing the demonstration does
/// needs more, and it is there in half the time.
pub(crate) fn run(args: &Args) -> Result<()> {
    // The page is packed into the program, but most of the program does not
    // wait for it.
    std::thread::scope(|scope| {
        let page = scope.spawn(wasm::build);
        let ahead = quick().arg("--lib").run();
        page.join().map_err(|_| anyhow!("the build of the page panicked"))?.and(ahead)
    })?;
    quick().run()?;
    let demo = Tool::new(paths::target().join("debug/servent")).arg("demo").interactive();
    args.args.iter().fold(demo, Tool::arg).run()
}

fn quick() -> Tool {
    cargo().words("build --quiet --package servent")
}

/// Builds the program as users run it.
///
/// # Errors
/// When it does not compile.
pub(crate) fn program() -> Result<()> {
    cargo().words("build --quiet --release --package servent").run()
}
