//! `cargo xtask dist`

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::machine;
use crate::paths;
use crate::run::{Tool, cargo};

/// What a program is built for that needs no library of the system.
const STATIC: &str = "x86_64-unknown-linux-musl";

/// Build what is given away: the program, what belongs beside it, and the page
/// as one offline file.
///
/// Leaves below `dist`: `servent` with the page inside, static when this machine
/// can build that; manual pages and completions; `servent.service`; a Debian
/// package; and `servent-lab.html`, which opens from a USB stick without a
/// server.
///
/// What is missing for that is installed where it can be done without asking:
/// the compiler's target, as root the linker of musl-tools, and cargo-deb.
#[derive(clap::Args)]
pub(crate) struct Args {}

pub(crate) fn run(_: &Args) -> Result<()> {
    println!("{}", super::page::build()?);
    let built = program()?;
    let dist = paths::root().join("dist");
    let program = dist.join("servent");
    fs::copy(&built, &program).with_context(|| format!("{} cannot be copied", built.display()))?;
    beside(&program, &dist)?;
    let mut files = vec![program, paths::single_file()];
    files.extend(package(&built)?);
    for file in files {
        println!("{:>9} {}", fs::metadata(&file)?.len(), paths::shown(&file));
    }
    Ok(())
}

/// Builds the program as users run it; where it is.
fn program() -> Result<PathBuf> {
    if let Some(missing) = missing() {
        println!("dist/servent needs the libraries of a system like this one: {missing}");
        cargo().words("build --profile dist --package servent").run()?;
        return Ok(paths::target().join("dist/servent"));
    }
    cargo().words("build --profile dist --package servent --target").arg(STATIC).run()?;
    Ok(paths::target().join(STATIC).join("dist/servent"))
}

/// What is not there for a static program and could not be installed, and how
/// to get it.
fn missing() -> Option<String> {
    if let Err(why) = machine::rust_target(STATIC) {
        return Some(format!("{why:#}"));
    }
    if said("musl-gcc", &["--version"]).is_some() {
        return None;
    }
    machine::apt_install(&["musl-tools"]).err().map(|why| format!("{why:#}"))
}

/// What a program says; `None` when it is not there or fails.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Manual pages, completions, and what systemd starts.
fn beside(program: &Path, dist: &Path) -> Result<()> {
    let (man, completions) = (dist.join("man"), dist.join("completions"));
    for folder in [&man, &completions] {
        // A command that is gone leaves no page.
        let _ = fs::remove_dir_all(folder);
        fs::create_dir_all(folder)?;
    }
    Tool::new(program).words("man --dir").arg(&man).run()?;
    for (shell, name) in [("bash", "servent"), ("zsh", "_servent"), ("fish", "servent.fish")] {
        let script = said(&program.to_string_lossy(), &["completions", shell]);
        let script = script.with_context(|| format!("there are no completions for {shell}"))?;
        fs::write(completions.join(name), script)?;
    }
    let unit = paths::root().join("native/packaging/servent.service");
    fs::copy(&unit, dist.join("servent.service"))
        .with_context(|| format!("{} cannot be copied", unit.display()))?;
    Ok(())
}

/// The Debian package, where it can be made.
fn package(built: &Path) -> Result<Option<PathBuf>> {
    if said("cargo", &["deb", "--version"]).is_none() {
        println!("installing cargo-deb");
        if let Err(why) = cargo().words("install --quiet --locked cargo-deb").quiet() {
            println!("no Debian package: {why:#}");
            return Ok(None);
        }
    }
    let package = paths::root().join("dist/servent.deb");
    let deb = cargo()
        .words("deb --quiet --no-build --no-strip --profile dist --package servent --output");
    let deb = deb.arg(&package);
    let is_static = built.components().any(|part| part.as_os_str() == STATIC);
    if is_static {
        deb.arg("--target").arg(STATIC).run()?
    } else {
        deb.run()?
    }
    Ok(Some(package))
}
