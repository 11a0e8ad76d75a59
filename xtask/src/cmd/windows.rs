//! `cargo xtask windows`

use std::fs;

use anyhow::Result;

use crate::machine;
use crate::paths;
use crate::run::{Tool, cargo};

/// What the program for Windows is built for.
const TARGET: &str = "x86_64-pc-windows-gnu";
/// The C compiler for it.
const COMPILER: &str = "x86_64-w64-mingw32-gcc";
/// Names under which wine may be installed.
const WINE: [&str; 3] = ["wine64", "wine", "wine64-stable"];
/// Where Debian has it without a name on the path.
const DEBIAN_WINE: &str = "/usr/lib/wine/wine64";

/// Build the program for Windows.
///
/// Leaves `dist/servent.exe`. The compiler's target, and as root the C compiler
/// of mingw-w64, are installed if they are missing. Where wine is installed the
/// program is started once.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only check that it compiles.
    #[arg(long)]
    check: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    machine::rust_target(TARGET)?;
    if machine::find(&[COMPILER]).is_none() {
        machine::apt_install(&["gcc-mingw-w64-x86-64"])?;
    }
    if args.check {
        return cargo().words("check --package servent --target").arg(TARGET).run();
    }
    cargo().words("build --profile dist --package servent --target").arg(TARGET).run()?;
    let program = paths::root().join("dist/servent.exe");
    fs::create_dir_all(paths::root().join("dist"))?;
    fs::copy(paths::target().join(TARGET).join("dist/servent.exe"), &program)?;
    println!("{:>9} {}", fs::metadata(&program)?.len(), paths::shown(&program));
    let wine = machine::find(&WINE).unwrap_or_else(|| DEBIAN_WINE.into());
    if wine.is_file() {
        let said = Tool::new(&wine).env("WINEDEBUG", "-all").arg(&program).arg("--version");
        match said.quiet() {
            Ok(said) => println!("under wine: {}", said.trim()),
            Err(why) => println!("does not start under this wine (docs/systems.md): {why}"),
        }
    }
    Ok(())
}
