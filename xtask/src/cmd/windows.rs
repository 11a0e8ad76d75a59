//! `cargo xtask windows`

use std::fs;

use anyhow::{Context as _, Result};

use crate::machine;
use crate::paths;
use crate::run::{Tool, cargo};
use crate::wine;

/// What the program for Windows is built for.
const TARGET: &str = "x86_64-pc-windows-gnu";
/// The C compiler for it.
const COMPILER: &str = "x86_64-w64-mingw32-gcc";
/// Tests that ask for what only Linux has, each with its reason.
const LINUX_ONLY: &str = "native/tests/linux-only.txt";

/// Build the program for Windows, or test it.
///
/// Leaves `dist/servent.exe`. The compiler's target, and as root the C compiler
/// of mingw-w64, are installed if they are missing. Where wine is installed the
/// program is started once.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only check that it compiles.
    #[arg(long)]
    check: bool,
    /// Run the tests of the program with the one for Windows, under wine: peers, clients
    /// and servers of the tests stay programs of Linux. Installs wine as root.
    ///
    /// Left out are those that `native/tests/linux-only.txt` names, with its reasons.
    #[arg(long, conflicts_with = "check")]
    test: bool,
    /// With `--test`: only tests whose names contain one of these.
    #[arg(requires = "test")]
    names: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    machine::rust_target(TARGET)?;
    if machine::find(&[COMPILER]).is_none() {
        machine::apt_install(&["gcc-mingw-w64-x86-64"])?;
    }
    if args.check {
        return cargo().words("check --package servent --target").arg(TARGET).run();
    }
    if args.test {
        return test(&args.names);
    }
    cargo().words("build --profile dist --package servent --target").arg(TARGET).run()?;
    let program = paths::root().join("dist/servent.exe");
    fs::create_dir_all(paths::root().join("dist"))?;
    fs::copy(paths::target().join(TARGET).join("dist/servent.exe"), &program)?;
    println!("{:>9} {}", fs::metadata(&program)?.len(), paths::shown(&program));
    if wine::find().is_some() {
        // What lies in `dist` is given away: what wine lacks is put beside a copy.
        let copy = paths::target().join("wine/servent.exe");
        fs::create_dir_all(copy.with_file_name(""))?;
        fs::copy(&program, &copy)?;
        let script = wine::script(&copy, COMPILER)?;
        println!("under wine: {}", Tool::new(script).arg("--version").quiet()?.trim());
    }
    Ok(())
}

fn test(names: &[String]) -> Result<()> {
    cargo().words("build --package servent --target").arg(TARGET).run()?;
    let program = paths::target().join(TARGET).join("debug/servent.exe");
    let script = wine::script(&program, COMPILER)?;
    let tests = cargo().words("test --workspace --no-fail-fast --test program --test journeys --");
    let left_out = fs::read_to_string(paths::root().join(LINUX_ONLY)).context(LINUX_ONLY)?;
    let left_out = left_out.lines().filter(|line| !line.starts_with('#'));
    let left_out = left_out.filter_map(|line| line.split_whitespace().next());
    let tests = left_out.fold(tests, |tests, name| tests.arg("--skip").arg(name));
    names.iter().fold(tests, Tool::arg).env("SERVENT_PROGRAM", script).run()
}
