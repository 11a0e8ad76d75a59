//! `cargo xtask conformance`

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use ignore::WalkBuilder;
use regex_lite::Regex;

use crate::paths;

/// Write docs/conformance.md: which test shows which requirement.
///
/// The requirements are listed in docs/requirements.txt; a test names its
/// requirement at the beginning of its own name. A requirement without a test
/// is an error, unless it stands under the heading of what is not built to its
/// end.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Write nothing; fail when the file is not up to date.
    #[arg(long)]
    check: bool,
}

/// A requirement: a protocol and a number.
type Id = (String, u32);

/// The heading of what is agreed and not built to its end.
const OPEN: &str = "Not built to the end yet";

/// A group of requirements under a heading.
struct Group {
    title: String,
    entries: Vec<(Id, String)>,
}

/// For each requirement, the tests that show it.
type Shown = BTreeMap<Id, BTreeSet<String>>;

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.check {
        println!("{}", check()?);
        return Ok(());
    }
    let (text, missing) = document()?;
    let file = paths::root().join("docs/conformance.md");
    std::fs::write(&file, text).with_context(|| format!("{} cannot be written", file.display()))?;
    complain(&missing)
}

/// Fails on a requirement without a test and on a document out of date.
///
/// # Errors
/// Those two, and unreadable files.
pub(crate) fn check() -> Result<String> {
    let (text, missing) = document()?;
    complain(&missing)?;
    let file = paths::root().join("docs/conformance.md");
    if std::fs::read_to_string(file).unwrap_or_default() != text {
        bail!("docs/conformance.md is not up to date; run `cargo xtask conformance`");
    }
    let count = text.lines().filter(|line| line.starts_with("| **")).count();
    let open = text.lines().filter(|line| line.starts_with("* **")).count();
    Ok(format!("{count} requirements, each with a test; {open} not built to the end"))
}

fn complain(missing: &[String]) -> Result<()> {
    if !missing.is_empty() {
        bail!("requirements without a test: {}", missing.join(", "));
    }
    Ok(())
}

/// The document, and the requirements that no test names.
fn document() -> Result<(String, Vec<String>)> {
    let root = paths::root();
    let groups = requirements(&std::fs::read_to_string(root.join("docs/requirements.txt"))?)?;
    let shown = tests(&root)?;
    let known: BTreeSet<&Id> = groups.iter().flat_map(|g| &g.entries).map(|(id, _)| id).collect();
    let mut missing = Vec::new();
    missing.extend(unlisted(&root, &known));
    for (id, tests) in &shown {
        if !known.contains(id) {
            bail!("{tests:?} name {}-{}, which docs/requirements.txt does not list", id.0, id.1);
        }
    }
    let mut text = String::from(
        "# Conformance\n\nWhich test shows which requirement. Made from the names of the tests by \
         `cargo xtask conformance`; do not edit.\n",
    );
    for group in &groups {
        if group.title == OPEN {
            list_open(group, &shown, &mut text);
            continue;
        }
        let _ = write!(
            text,
            "\n## {}\n\n| id | requirement | shown by |\n|---|---|---|\n",
            group.title
        );
        for (id, title) in &group.entries {
            let name = format!("{}-{}", id.0, id.1);
            let tests = shown.get(id).cloned().unwrap_or_default();
            if tests.is_empty() {
                missing.push(name.clone());
            }
            let tests: Vec<_> = tests.into_iter().collect();
            let _ = writeln!(text, "| **{name}** | {title} | {} |", tests.join("<br>"));
        }
    }
    Ok((text, missing))
}

/// Lists what is not built to its end, if there is any, and the tests of the parts
/// that are.
fn list_open(group: &Group, shown: &Shown, text: &mut String) {
    if group.entries.is_empty() {
        return;
    }
    let _ = write!(text, "\n## {}\n\n", group.title);
    for (id, title) in &group.entries {
        let _ = writeln!(text, "* **{}-{}** {title}", id.0, id.1);
        for test in shown.get(id).into_iter().flatten() {
            let _ = writeln!(text, "  * {test}");
        }
    }
}

/// Reads docs/requirements.txt.
fn requirements(text: &str) -> Result<Vec<Group>> {
    let mut groups: Vec<Group> = Vec::new();
    for line in text.lines() {
        if let Some(title) = line.strip_prefix("## ") {
            groups.push(Group { title: title.trim().into(), entries: Vec::new() });
        } else if !line.trim().is_empty() && !line.starts_with('#') {
            let entry =
                line.split_once(' ').and_then(|(id, title)| Some((parse(id)?, title.trim())));
            let (Some((id, title)), Some(group)) = (entry, groups.last_mut()) else {
                bail!("docs/requirements.txt: cannot read `{line}`");
            };
            group.entries.push((id, title.into()));
        }
    }
    Ok(groups)
}

/// `AQ-5` → ("AQ", 5).
fn parse(id: &str) -> Option<Id> {
    let (protocol, number) = id.split_once('-')?;
    Some((protocol.to_owned(), number.parse().ok()?))
}

/// Requirements of a built protocol that the reference lists and we do not;
/// nothing when the reference is not here.
fn unlisted(root: &Path, known: &BTreeSet<&Id>) -> Vec<String> {
    let built: BTreeSet<&str> = known.iter().map(|id| id.0.as_str()).collect();
    let row = Regex::new(r"(?m)^\| ([A-Z]{2}-[0-9]+) \|").expect("a constant pattern");
    let Ok(files) = crate::paths::files(&root.join("../shared/reference")) else {
        return Vec::new();
    };
    let texts: Vec<_> =
        files.iter().filter_map(|file| std::fs::read_to_string(file).ok()).collect();
    texts
        .iter()
        .flat_map(|text| row.captures_iter(text))
        .filter_map(|found| parse(&found[1]))
        .filter(|id| built.contains(id.0.as_str()) && !known.contains(id))
        .map(|id| format!("{}-{} (not in docs/requirements.txt)", id.0, id.1))
        .collect()
}

/// Every test that begins with a requirement's id.
fn tests(root: &Path) -> Result<Shown> {
    let rust = Regex::new(r"(?m)^\s*(?:async )?fn (([a-z]{2})_([0-9]+)_\w+)\(")
        .expect("a constant pattern");
    let js = Regex::new(r#"(?m)^\s*(?:test|it)\(\s*["'`](([a-z]{2})_([0-9]+)_\w+)"#)
        .expect("a constant pattern");
    let mut shown = Shown::new();
    let walk = WalkBuilder::new(root).require_git(false).sort_by_file_path(Path::cmp).build();
    for entry in walk {
        let entry = entry?;
        let path = entry.path();
        let place = path.strip_prefix(root)?.to_string_lossy().replace('\\', "/");
        let pattern = match path.extension().and_then(|e| e.to_str()) {
            Some("rs") if !place.starts_with("xtask/") => &rust,
            Some("js" | "mjs") if place.starts_with("www/tests/") => &js,
            _ => continue,
        };
        let text = std::fs::read_to_string(path)?;
        for found in pattern.captures_iter(&text) {
            let id = (found[2].to_uppercase(), found[3].parse()?);
            shown.entry(id).or_default().insert(format!("`{place}` {}", &found[1]));
        }
    }
    Ok(shown)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_of_requirements_reads() {
        let groups = requirements("# about\n\n## One\nAQ-1  says so\nAQ-12 too\n").unwrap();
        assert_eq!(groups.len(), 1);
        assert_eq!(groups[0].entries[1], (("AQ".into(), 12), "too".into()));
        assert!(requirements("AQ-1 without a heading\n").is_err());
        assert!(requirements("## One\nnot an id\n").is_err());
    }
}
