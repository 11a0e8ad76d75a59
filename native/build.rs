//! Packs the lab's page into the program: the folder `SERVENT_PAGE` names,
//! else `dist/www` as `cargo xtask page` builds it, else the sources in `www/`
//! with their `www/pkg`. Without any of them the program says how to build it.

use std::env;
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=SERVENT_PAGE");
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let candidates = [
        env::var_os("SERVENT_PAGE").map(PathBuf::from),
        Some(root.join("dist/www")),
        Some(root.join("www")),
    ];
    let mut files = Vec::new();
    for folder in candidates.into_iter().flatten() {
        println!("cargo::rerun-if-changed={}", folder.display());
        if folder.join("index.html").is_file() {
            collect(&folder, &folder, &mut files)?;
        }
        // A page without the core inside would show nothing.
        if files.iter().any(|(name, _)| name.ends_with(".wasm")) {
            break;
        }
        files.clear();
    }
    files.sort();
    let mut list = String::from("&[\n");
    for (name, path) in &files {
        println!("cargo::rerun-if-changed={}", path.display());
        // Writing to a string does not fail.
        let _ = writeln!(list, "    ({name:?}, include_bytes!({:?})),", path.display().to_string());
    }
    list.push_str("]\n");
    let out = env::var_os("OUT_DIR").ok_or_else(|| io::Error::other("cargo sets OUT_DIR"))?;
    fs::write(Path::new(&out).join("page.rs"), list)
}

/// Every file a browser can want, by its name under the page's root.
fn collect(root: &Path, folder: &Path, into: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    const NOT_SERVED: [&str; 4] = ["node_modules", "tests", "package.json", "package-lock.json"];
    const SERVED: [&str; 10] =
        ["html", "css", "js", "wasm", "gz", "json", "svg", "png", "woff2", "webmanifest"];
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.starts_with('.') || NOT_SERVED.contains(&name.as_str()) {
            continue;
        }
        if path.is_dir() {
            collect(root, &path, into)?;
        } else if path.extension().is_some_and(|e| SERVED.iter().any(|s| e == *s)) {
            let relative = path.strip_prefix(root).unwrap_or(&path);
            let name = relative.to_string_lossy().replace('\\', "/");
            into.push((name, fs::canonicalize(&path)?));
        }
    }
    Ok(())
}
