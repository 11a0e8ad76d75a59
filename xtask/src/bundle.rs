//! The page, ready to be embedded.

use std::path::Path;

use anyhow::{Context as _, Result};

/// Copies the page and its bindings to `out`; answers with names and sizes.
///
/// # Errors
/// When a file cannot be read or written.
pub(crate) fn page(www: &Path, pkg: &Path, out: &Path) -> Result<Vec<(String, u64)>> {
    let mut done = Vec::new();
    for (from, to) in [(www, String::new()), (pkg, "pkg/".to_owned())] {
        for file in crate::sizes::files(from)? {
            let name = format!("{to}{}", file.strip_prefix(from)?.display());
            if ["node_modules/", "tests/", "pkg/package", "package", "tsconfig"]
                .iter()
                .any(|start| name.starts_with(start))
            {
                continue;
            }
            let target = out.join(&name);
            if let Some(dir) = target.parent() {
                std::fs::create_dir_all(dir)?;
            }
            let bytes = std::fs::copy(&file, &target)
                .with_context(|| format!("{} cannot be written", target.display()))?;
            done.push((name, bytes));
        }
    }
    Ok(done)
}

/// The page as one document.
///
/// # Errors
/// When the page is not built.
pub(crate) fn single(page: &Path) -> Result<String> {
    let index = page.join("index.html");
    std::fs::read_to_string(&index).with_context(|| format!("{} is not built", index.display()))
}
