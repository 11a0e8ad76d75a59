//! The rules of the house that a program can check.

mod actors;
mod dependencies;
mod imports;
mod names;
mod rules;
mod systems;

use std::path::Path;

use anyhow::{Result, bail};
use ignore::WalkBuilder;

use crate::paths;

/// A text file of this repository.
struct Text {
    /// Below the root, with forward slashes.
    path: String,
    /// Everything in it.
    text: String,
}

/// Checks every file.
///
/// # Errors
/// All breaches, one a line.
pub(crate) fn check() -> Result<String> {
    let files = texts(&paths::root())?;
    let mut breaches: Vec<String> = files.iter().flat_map(rules::file).collect();
    breaches.extend(files.iter().flat_map(actors::check));
    breaches.extend(files.iter().flat_map(systems::check));
    breaches.extend(rules::repository(&files));
    breaches.extend(dependencies::check(&files));
    breaches.extend(imports::check(&files));
    breaches.extend(names::check(&files));
    if !breaches.is_empty() {
        bail!("{}", breaches.join("\n"));
    }
    Ok(format!("{} files; {}", files.len(), names::share(&files)))
}

/// Every text file that git would keep.
fn texts(root: &Path) -> Result<Vec<Text>> {
    let walk = WalkBuilder::new(root)
        .hidden(false)
        .require_git(false)
        .filter_entry(|entry| {
            !matches!(entry.file_name().to_str(), Some(".git" | "target" | "node_modules"))
        })
        .sort_by_file_path(Path::cmp)
        .build();
    let mut files = Vec::new();
    for entry in walk {
        let entry = entry?;
        if !entry.file_type().is_some_and(|kind| kind.is_file()) {
            continue;
        }
        // What is not text is a picture or a seed; the rules are for text.
        let Ok(text) = std::fs::read_to_string(entry.path()) else { continue };
        let path = entry.path().strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        files.push(Text { path, text });
    }
    Ok(files)
}
