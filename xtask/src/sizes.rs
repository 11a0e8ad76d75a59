//! What the page may weigh, compressed as a server would send it.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use flate2::{Compression, write::GzEncoder};

use crate::paths;

const KB: usize = 1024;

/// One budget.
pub(crate) struct Budget {
    /// What is weighed.
    pub(crate) what: &'static str,
    /// Its size in bytes after gzip.
    pub(crate) bytes: usize,
    /// What it may be.
    pub(crate) limit: usize,
}

/// The size of `bytes` after gzip at its best.
///
/// # Errors
/// None in practice: the target is memory.
pub(crate) fn gzipped(bytes: &[u8]) -> Result<usize> {
    let mut out = GzEncoder::new(Vec::new(), Compression::best());
    out.write_all(bytes)?;
    Ok(out.finish()?.len())
}

/// Weighs the built page and the single file.
///
/// # Errors
/// When they are not built.
pub(crate) fn weigh() -> Result<Vec<Budget>> {
    let (mut wasm, mut rest) = (0, 0);
    for file in files(&paths::page())? {
        let size = gzipped(&std::fs::read(&file)?)?;
        if file.extension().is_some_and(|e| e == "wasm") { wasm += size } else { rest += size }
    }
    let single = paths::single_file();
    let single = std::fs::read(&single)
        .with_context(|| format!("{} is not built", paths::shown(&single)))?;
    Ok(vec![
        Budget { what: "module", bytes: wasm, limit: 120 * KB },
        Budget { what: "page beside it", bytes: rest, limit: 60 * KB },
        Budget { what: "single file", bytes: gzipped(&single)?, limit: 250 * KB },
    ])
}

/// Weighs, and fails when anything is too heavy.
///
/// # Errors
/// When a budget is exceeded, or nothing is built.
pub(crate) fn check() -> Result<String> {
    let budgets = weigh()?;
    let words: Vec<_> = budgets
        .iter()
        .map(|b| format!("{} {:.1} of {} KB", b.what, b.bytes as f64 / KB as f64, b.limit / KB))
        .collect();
    let words = words.join(", ");
    if budgets.iter().any(|b| b.bytes > b.limit) {
        bail!("too heavy after gzip: {words}");
    }
    Ok(words)
}

/// Every file below `dir`, sorted.
///
/// # Errors
/// When the folder cannot be read.
pub(crate) fn files(dir: &Path) -> Result<Vec<std::path::PathBuf>> {
    let mut found = Vec::new();
    let entries =
        std::fs::read_dir(dir).with_context(|| format!("{} is not there", paths::shown(dir)))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    found.sort();
    Ok(found)
}
