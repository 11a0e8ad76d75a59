//! Every direct dependency is used, and ARCHITECTURE.md says why it is there.

use std::collections::{BTreeMap, BTreeSet};

use super::Text;
use super::rules::words;

/// The heading of the table in ARCHITECTURE.md.
const HEADING: &str = "## Why each dependency";

/// What is wrong with the dependencies of the whole repository.
pub(super) fn check(files: &[Text]) -> Vec<String> {
    let text = |path: &str| files.iter().find(|f| f.path == path).map_or("", |f| &f.text);
    let explained = explained(text("ARCHITECTURE.md"));
    let mut found = Vec::new();
    let mut direct: BTreeMap<&str, &str> = BTreeMap::new();
    for manifest in files.iter().filter(|f| f.path.ends_with("/Cargo.toml")) {
        let folder = manifest.path.trim_end_matches("Cargo.toml");
        for name in listed(&manifest.text, |section| section.ends_with("dependencies]")) {
            direct.insert(name, &manifest.path);
            if !used(files, folder, name) {
                found.push(format!("{}: nothing there uses {name}", manifest.path));
            }
        }
    }
    for name in listed(text("Cargo.toml"), |section| section == "[workspace.dependencies]") {
        if !direct.contains_key(name) {
            found.push(format!("Cargo.toml: no crate of the workspace wants {name}"));
        }
    }
    for name in packages(text("www/package.json")) {
        direct.insert(name, "www/package.json");
    }
    direct.retain(|name, _| !matches!(*name, "servent" | "servent-core" | "servent-sim"));
    for (name, manifest) in &direct {
        if !explained.contains(name) {
            found.push(format!("{manifest}: ARCHITECTURE.md does not say why {name} is there"));
        }
    }
    for name in explained {
        if !direct.contains_key(name) {
            found.push(format!("ARCHITECTURE.md: no crate depends on {name}"));
        }
    }
    found
}

/// The names in the first column of the table.
fn explained(architecture: &str) -> BTreeSet<&str> {
    let table = architecture.split_once(HEADING).map_or("", |(_, rest)| rest);
    let section = table.split("\n## ").next().unwrap_or_default();
    let rows = section.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split('|').next())
        .flat_map(|cell| cell.split(['`', ',', ' ']))
        .filter(|name| !name.is_empty())
        .collect()
}

/// The keys of those sections of a manifest that `section` picks.
fn listed(manifest: &str, section: impl Fn(&str) -> bool) -> Vec<&str> {
    let mut inside = false;
    let mut names = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            inside = section(line.trim());
        } else if inside && line.starts_with(|c: char| c.is_ascii_alphanumeric()) {
            names.extend(line.split(['.', '=', ' ']).next());
        }
    }
    names
}

/// The development packages of the page.
fn packages(json: &str) -> Vec<&str> {
    let list = json.split_once("\"devDependencies\"").map_or("", |(_, rest)| rest);
    let list = list.split('}').next().unwrap_or_default();
    list.lines().filter_map(|line| line.trim().strip_prefix('"')?.split('"').next()).collect()
}

/// True when a source below `folder` names the crate, or one that such a source
/// takes from elsewhere.
fn used(files: &[Text], folder: &str, name: &str) -> bool {
    let name = name.replace('-', "_");
    let own = |f: &&Text| f.path.starts_with(folder);
    let taken: Vec<String> = files.iter().filter(own).flat_map(taken).collect();
    files
        .iter()
        .filter(|f| own(f) || taken.iter().any(|from| f.path.starts_with(from)))
        .filter(|f| f.path.ends_with(".rs"))
        .any(|f| f.text.lines().any(|line| words(line).any(|word| word == name)))
}

/// The modules that a source takes from elsewhere: files, or the folders of those
/// that have one.
fn taken(source: &Text) -> Vec<String> {
    let lines = source.text.lines();
    let paths = lines.filter_map(|line| line.trim().strip_prefix("#[path = \"")?.split('"').next());
    let resolved = paths.map(|path| {
        let mut parts: Vec<&str> = source.path.split('/').collect();
        parts.pop();
        for part in path.trim_end_matches("mod.rs").split('/') {
            match part {
                ".." => parts.truncate(parts.len().saturating_sub(1)),
                part => parts.push(part),
            }
        }
        parts.join("/")
    });
    resolved.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(architecture: &str, manifest: &str, source: &str) -> Vec<Text> {
        [
            ("ARCHITECTURE.md", architecture),
            ("a/Cargo.toml", manifest),
            ("a/src/lib.rs", source),
            ("Cargo.toml", "[workspace.dependencies]\nserde-json = \"1\"\n"),
        ]
        .map(|(path, text)| Text { path: path.into(), text: text.into() })
        .into()
    }

    const TABLE: &str =
        "## Why each dependency\n| crate | why |\n| `serde-json` | JSON |\n\n## Next\n";
    const MANIFEST: &str =
        "[dependencies]\nserde-json.workspace = true\n\n[lints]\nworkspace = true\n";

    #[test]
    fn a_used_and_explained_dependency_passes() {
        assert_eq!(check(&tree(TABLE, MANIFEST, "use serde_json::to_string;\n")), [""; 0]);
    }

    #[test]
    fn each_kind_of_stray_dependency_is_found() {
        let unused = check(&tree(TABLE, MANIFEST, "// nothing\n"));
        assert_eq!(unused, ["a/Cargo.toml: nothing there uses serde-json"]);
        let unexplained = check(&tree("", MANIFEST, "use serde_json::Value;\n"));
        assert!(unexplained[0].contains("does not say why serde-json"), "{unexplained:?}");
        let stray = check(&tree(TABLE, "[dependencies]\n", ""));
        assert_eq!(stray.len(), 2, "{stray:?}");
    }

    #[test]
    fn a_module_from_elsewhere_uses_it_too() {
        let mut files = tree(TABLE, MANIFEST, "#[path = \"../../b/src/door/mod.rs\"]\nmod door;\n");
        assert_eq!(check(&files).len(), 1);
        let inside =
            Text { path: "b/src/door/hinge.rs".into(), text: "use serde_json::Value;".into() };
        files.push(inside);
        assert_eq!(check(&files), [""; 0]);
    }

    #[test]
    fn packages_of_the_page_count_too() {
        let json = "{\n \"devDependencies\": {\n  \"axe-core\": \"4\"\n }\n}\n";
        assert_eq!(packages(json), ["axe-core"]);
    }
}
