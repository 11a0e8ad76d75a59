//! TypeScript interfaces of every value that crosses to JavaScript, written
//! from the Rust types and what serde is told about them.
//!
//! The values are types of core and the simulator, which know nothing of
//! JavaScript and allow no unsafe code, so they cannot derive their interfaces
//! by a macro of `wasm-bindgen`. This reads their sources instead. A type it
//! does not understand is an error, never a guess.

mod index;
mod write;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context as _, Result, bail};
use regex_lite::Regex;

use self::index::{Index, Item};
use crate::paths::files;

/// Crates whose types may cross, by their folders.
const CRATES: [&str; 3] = ["web", "sim", "core"];

/// The interfaces of everything that the classes of `web/` name.
///
/// # Errors
/// When a source cannot be read, or a type is not understood.
pub(crate) fn interfaces(root: &Path) -> Result<String> {
    let mut index = Index::default();
    for folder in CRATES {
        index.read(&root.join(folder).join("src"), folder)?;
    }
    let (mut wanted, mut declared) = (BTreeSet::new(), BTreeSet::new());
    for file in files(&root.join("web/src"))? {
        named(&std::fs::read_to_string(&file)?, &mut wanted, &mut declared)?;
    }
    let (mut done, mut called, mut out) = (BTreeMap::new(), BTreeMap::new(), String::new());
    let mut queue: Vec<&Item> = Vec::new();
    for name in wanted.difference(&declared) {
        queue.push(index.root(name).with_context(|| format!("nothing is called {name}"))?);
    }
    while let Some(item) = queue.pop() {
        if done.contains_key(&item.key()) {
            continue;
        }
        let written = write::item(&index, item)
            .with_context(|| format!("{} in {}", item.name(), item.place()))?;
        queue.extend(written.needs);
        if let Some(other) = called.insert(index.called(item), item.place()) {
            bail!("{} of {} and of {other} would be one", index.called(item), item.place());
        }
        done.insert(item.key(), written.text);
    }
    for text in done.values() {
        out.push_str(text);
    }
    Ok(out)
}

/// Adds the names of types in what the classes say about their values and in
/// the TypeScript they bring, and of those which that declares.
fn named(
    source: &str,
    wanted: &mut BTreeSet<String>,
    declared: &mut BTreeSet<String>,
) -> Result<()> {
    let told = Regex::new(r#"unchecked_(?:return|param)_type = "([^"]*)""#)?;
    let section = Regex::new(r##"typescript_custom_section\)\][^"]*r#"([^#]*)"#;"##)?;
    let name = Regex::new(r"\b[A-Z]\w*")?;
    let declares = Regex::new(r"(?:type|interface) (\w+)")?;
    for found in told.captures_iter(source).chain(section.captures_iter(source)) {
        // Comments are for people.
        let text: String = found[1].lines().filter(|line| !line.starts_with("/**")).collect();
        let names = name.find_iter(&text).map(|found| found.as_str());
        wanted.extend(names.filter(|n| !write::OF_TYPESCRIPT.contains(n)).map(str::to_owned));
        declared.extend(declares.captures_iter(&text).map(|found| found[1].to_owned()));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_value_of_the_boundary_has_an_interface() {
        let all = interfaces(&crate::paths::root()).unwrap();
        for line in [
            "export type At<A> = {",
            "  at: Instant;",
            "export type NodeId = number;",
            "export type Guid = string;",
            "export type Profile = 'unicast3' | ",
            "  seed: number | string;",
            "  crash: {\n  /** Which. */\n  node: NodeId;\n};",
        ] {
            assert!(all.contains(line), "{line} is not in\n{all}");
        }
    }
}
