//! The program for Windows, started under wine by a script of one line, as if it were
//! any other program.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail};

use crate::machine;
use crate::paths;
use crate::run::Tool;

/// Names under which wine may be installed.
const NAMES: [&str; 3] = ["wine64", "wine", "wine64-stable"];
/// Where Debian has it without a name on the path.
const DEBIAN: &str = "/usr/lib/wine/wine64";
/// A DLL that Windows has and wine 8 has not: Rust asks it for random numbers.
const RANDOM: &str = "#include <windows.h>
BOOLEAN NTAPI SystemFunction036(PVOID, ULONG);
BOOL WINAPI ProcessPrng(PBYTE bytes, SIZE_T count) {
    return SystemFunction036(bytes, (ULONG)count);
}
";

/// Wine, if it is installed.
pub(crate) fn find() -> Option<PathBuf> {
    machine::find(&NAMES).or_else(|| Some(PathBuf::from(DEBIAN)).filter(|at| at.is_file()))
}

/// Makes a script that starts `program` under wine, in a prefix of its own; installs
/// wine where that can be done.
pub(crate) fn script(program: &Path, compiler: &str) -> Result<PathBuf> {
    if find().is_none() {
        machine::apt_install(&["wine64"])?;
    }
    let Some(wine) = find() else { bail!("wine is not there: install `wine64`") };
    let room = paths::target().join("wine");
    fs::create_dir_all(&room)?;
    random_numbers(program, compiler, &room)?;
    let prefix = room.join("prefix");
    if !prefix.join("system.reg").exists() {
        Tool::new(&wine)
            .words("wineboot --init")
            .env("WINEPREFIX", &prefix)
            .env("WINEDEBUG", "-all")
            .quiet()?;
    }
    let script = room.join("servent");
    let lines = [
        "#!/bin/sh".into(),
        format!("export WINEPREFIX='{}' WINEDEBUG=-all LC_ALL=C.UTF-8", prefix.display()),
        format!("exec '{}' '{}' \"$@\"", wine.display(), program.display()),
    ];
    fs::write(&script, lines.join("\n") + "\n")?;
    fs::set_permissions(&script, fs::Permissions::from_mode(0o755))?;
    Ok(script)
}

/// Puts the DLL that wine lacks beside the program.
fn random_numbers(program: &Path, compiler: &str, room: &Path) -> Result<()> {
    let source = room.join("random.c");
    fs::write(&source, RANDOM)?;
    Tool::new(compiler)
        .words("-shared -O1 -o")
        .arg(program.with_file_name("bcryptprimitives.dll"))
        .arg(source)
        .arg("-ladvapi32")
        .quiet()?;
    Ok(())
}
