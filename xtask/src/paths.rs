//! Where things are in this repository.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

/// The root of the repository.
pub(crate) fn root() -> PathBuf {
    // Cargo sets the variable for `cargo run`; the compiled-in path serves a
    // binary that is started by hand.
    let manifest = std::env::var_os("CARGO_MANIFEST_DIR")
        .map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
    manifest.parent().map_or(manifest.clone(), Path::to_path_buf)
}

/// Where cargo puts what it builds.
pub(crate) fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

/// The page's sources.
pub(crate) fn www() -> PathBuf {
    root().join("www")
}

/// The module of the core and its bindings.
pub(crate) fn pkg() -> PathBuf {
    www().join("pkg")
}

/// The page as one file that opens without a server.
pub(crate) fn single_file() -> PathBuf {
    root().join("dist/servent-lab.html")
}

/// A path as messages show it: below the root without the root.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}

/// Every file below a folder, sorted.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let entries = std::fs::read_dir(dir).with_context(|| format!("{} is not there", shown(dir)))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}
