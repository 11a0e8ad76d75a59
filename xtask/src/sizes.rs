//! What the page may weigh, compressed as a server sends it.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::gzip::gzip;
use crate::wasm::{self, VIEWS, module};
use crate::{bundle, paths};

const KIB: usize = 1024;

/// What one part may weigh, in KiB after gzip.
#[derive(Deserialize)]
struct Budget {
    /// In the end.
    wanted: usize,
    /// Today: a debt may be paid back, never grow.
    accepted: usize,
}

/// `www/budget.json`: a line for every part.
#[derive(Deserialize)]
struct Budgets {
    parts: BTreeMap<String, Budget>,
}

/// Weighs the built page and the single file; the answer names every figure,
/// what is wanted, and what is owed.
///
/// # Errors
/// When a part weighs more than is accepted, has no budget, or nothing is
/// built.
pub(crate) fn check() -> Result<String> {
    let file = paths::www().join("budget.json");
    let text = std::fs::read_to_string(&file)
        .with_context(|| format!("{} cannot be read", paths::shown(&file)))?;
    let budgets: Budgets = serde_json::from_str(&text).with_context(|| paths::shown(&file))?;
    let mut parts: Vec<(String, usize)> = Vec::new();
    // What every visitor loads, and what comes with another view.
    let mut page = BTreeMap::from([(None, 0)]);
    for file in files(&paths::page())? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let size = std::fs::metadata(bundle::compressed(&file).unwrap_or(file.clone()))?.len();
        match VIEWS.iter().find(|view| module(view) == name) {
            Some(view) => parts.push((format!("module {view}"), size as usize)),
            None if name.ends_with(".gz") => {}
            None => *page.entry(later(&name)).or_default() += size as usize,
        }
    }
    for (view, size) in page {
        let part = view.map_or(String::from("page beside it"), |view| format!("page of {view}"));
        parts.push((part, size));
    }
    let single = paths::single_file();
    let single = std::fs::read(&single)
        .with_context(|| format!("{} is not built", paths::shown(&single)))?;
    parts.push((String::from("single file"), gzip(&single).len()));
    let mut judged = Vec::new();
    for (part, size) in &parts {
        let budget = budgets.parts.get(part).with_context(|| {
            format!("{} has no line for \"{part}\", which has {size} bytes", paths::shown(&file))
        })?;
        judged.push(budget.judge(part, *size));
    }
    let words = judged.iter().map(|j| j.words.as_str()).collect::<Vec<_>>().join("; ");
    if wasm::is_wordy() {
        return Ok(format!("not judged, as the modules are full of words: {words}"));
    }
    if judged.iter().any(|j| j.refused) {
        bail!("too heavy after gzip: {words}");
    }
    Ok(words)
}

/// The view a file comes with, unless that is the first one.
fn later(name: &str) -> Option<&'static str> {
    let (stem, _) = name.rsplit_once('.')?;
    let stem = stem.trim_start_matches("servent_");
    VIEWS.iter().skip(1).copied().find(|view| *view == stem)
}

/// What was found about one part.
struct Judged {
    words: String,
    refused: bool,
}

impl Budget {
    fn judge(&self, what: &str, bytes: usize) -> Judged {
        let Self { wanted, accepted } = self;
        let refused = bytes > accepted * KIB;
        let verdict = if refused {
            format!(", {accepted} is accepted: LIGHTEN IT")
        } else if bytes > wanted * KIB {
            let over = bytes.div_ceil(KIB) - wanted;
            let slack = accepted - bytes.div_ceil(KIB);
            let lower = if slack > 5 { "; lower what is accepted" } else { "" };
            format!(", OWES {over} ({accepted} is accepted{lower})")
        } else {
            String::new()
        };
        let size = bytes as f64 / KIB as f64;
        Judged { words: format!("{what} {size:.1} of {wanted} KiB{verdict}"), refused }
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_debt_is_said_and_may_not_grow() {
        let budget = Budget { wanted: 100, accepted: 120 };
        let judge = |kib: usize| budget.judge("module", kib * KIB);
        assert_eq!(judge(100).words, "module 100.0 of 100 KiB");
        assert_eq!(judge(118).words, "module 118.0 of 100 KiB, OWES 18 (120 is accepted)");
        assert!(judge(101).words.contains("lower what is accepted"));
        assert!(!judge(120).refused);
        let heavy = budget.judge("module", 120 * KIB + 1);
        assert!(heavy.refused && heavy.words.contains("LIGHTEN IT"), "{}", heavy.words);
    }
}
