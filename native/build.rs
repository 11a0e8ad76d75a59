//! Packs the lab's page into the program: the files of `www/` as they are, with
//! the core that `cargo xtask page` puts into `www/pkg`; another such folder
//! when `SERVENT_PAGE` names one. Without the core in it the program says how
//! to build it.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What of the folder a browser may want; the rest is for those who work on it.
const SERVED: [&str; 4] = ["index.html", "css", "js", "pkg"];
const ENDINGS: [&str; 4] = ["html", "css", "js", "wasm"];

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=SERVENT_PAGE");
    let root = env::var_os("SERVENT_PAGE")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../www"), PathBuf::from);
    let mut files = Vec::new();
    for name in SERVED {
        let path = root.join(name);
        println!("cargo::rerun-if-changed={}", path.display());
        if path.exists() {
            collect(&root, &path, &mut files)?;
        }
    }
    // A page without the core inside would show nothing.
    if !files.iter().any(|(name, _)| name.ends_with(".wasm")) {
        files.clear();
    }
    files.sort();
    let mut list = String::from("&[\n");
    for (name, path) in &files {
        // Writing to a string does not fail.
        let _ = writeln!(list, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("page.rs"), list)
}

/// Every file a browser can want, by its name under the page's root.
fn collect(root: &Path, path: &Path, into: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            collect(root, &entry?.path(), into)?;
        }
    } else if path.extension().is_some_and(|e| ENDINGS.iter().any(|known| e == *known)) {
        let name = path.strip_prefix(root).unwrap_or(path).to_string_lossy().replace('\\', "/");
        into.push((name, fs::canonicalize(path)?));
    }
    Ok(())
}
