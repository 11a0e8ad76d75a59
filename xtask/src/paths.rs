//! Where things are in this repository.

use std::path::{Path, PathBuf};

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

/// The bundled page, as the program embeds it.
pub(crate) fn page() -> PathBuf {
    root().join("dist/www")
}

/// The page as one file that opens without a server.
pub(crate) fn single_file() -> PathBuf {
    root().join("dist/servent-lab.html")
}

/// A path as messages show it: below the root without the root.
pub(crate) fn shown(path: &Path) -> String {
    path.strip_prefix(root()).unwrap_or(path).display().to_string()
}
