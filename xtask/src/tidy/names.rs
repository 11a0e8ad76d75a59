//! A name stands for one thing: types are counted by their names, and what
//! stands for two in one crate is refused.

use std::collections::BTreeMap;

use super::Text;

/// The sources that are held to this.
const CRATES: [&str; 4] = ["core/src/", "native/src/", "sim/src/", "web/src/"];

/// What stands there once more for another system, under the same names.
const AGAIN: &str = "native/src/sys/windows/";

/// Names that each module may use for its own.
const CONVENTIONAL: [&str; 9] =
    ["Config", "Error", "Event", "Fault", "Input", "Output", "Scenario", "State", "View"];

/// A name that says nothing, as a definition. Written in two parts, so that this
/// file does not break its own rule.
const SAYS_NOTHING: &str = concat!("fn o", "f");

/// Types by crate and name, each with the places where it is defined.
type Types<'a> = BTreeMap<(&'a str, &'a str), Vec<String>>;

/// What is wrong with the names of the whole repository.
pub(super) fn check(files: &[Text]) -> Vec<String> {
    let types = types(files);
    let mut found = Vec::new();
    for ((sources, name), places) in &types {
        let twice = places.len() > 1 && !CONVENTIONAL.contains(name);
        if twice {
            found.push(format!("{sources}: {name} stands for two types: {}", places.join(", ")));
        }
    }
    for file in files.iter().filter(|file| file.path.ends_with(".rs")) {
        for (number, line) in (1..).zip(file.text.lines()) {
            let mut rest = line.split("//").next().unwrap_or_default().split(SAYS_NOTHING).skip(1);
            if rest.any(|rest| rest.starts_with(['(', '<'])) {
                found.push(format!("{}:{number}: a function of this name says nothing", file.path));
            }
        }
    }
    found
}

/// How many types share their name with three others or more, in words.
pub(super) fn share(files: &[Text]) -> String {
    let mut names: BTreeMap<&str, usize> = BTreeMap::new();
    for ((_, name), places) in types(files) {
        *names.entry(name).or_default() += places.len();
    }
    let all: usize = names.values().sum();
    let shared: usize = names.values().filter(|count| **count > 3).sum();
    let tenths = (shared * 1_000).checked_div(all).unwrap_or_default();
    format!(
        "{shared} of {all} types ({}.{} %) share their name with three others",
        tenths / 10,
        tenths % 10
    )
}

/// All types but those that belong to a trait or an implementation.
fn types(files: &[Text]) -> Types<'_> {
    let mut types = Types::new();
    let held = |file: &&Text| file.path.ends_with(".rs") && !file.path.starts_with(AGAIN);
    for file in files.iter().filter(held) {
        let Some(sources) = CRATES.into_iter().find(|crates| file.path.starts_with(crates)) else {
            continue;
        };
        for (number, line) in (1..).zip(file.text.lines()) {
            if let Some(name) = defined(line) {
                types.entry((sources, name)).or_default().push(format!("{}:{number}", file.path));
            }
        }
    }
    types
}

/// The type that a line begins to define.
fn defined(line: &str) -> Option<&str> {
    let mut code = line.trim_start();
    if let Some(public) = code.strip_prefix("pub") {
        code = match public.strip_prefix('(') {
            Some(within) => within.split_once(')')?.1,
            None => public,
        };
    }
    let (kind, rest) = code.trim_start().split_once(' ')?;
    let inside = line.starts_with(' ');
    let known =
        matches!(kind, "struct" | "enum" | "trait" | "union") || (kind == "type" && !inside);
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
    let name = &rest[..end];
    (known && name.starts_with(|c: char| c.is_ascii_uppercase())).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(sources: [(&str, &str); 2]) -> Vec<Text> {
        sources.map(|(path, text)| Text { path: path.into(), text: text.into() }).into()
    }

    #[test]
    fn two_types_of_one_name_are_refused_within_a_crate_only() {
        let twice = tree([
            ("web/src/a.rs", "pub(crate) struct Twice<T> {\n"),
            ("web/src/b.rs", "enum Twice {\n"),
        ]);
        let found: Vec<String> =
            check(&twice).into_iter().filter(|found| found.contains("Twice")).collect();
        assert_eq!(found, ["web/src/: Twice stands for two types: web/src/a.rs:1, web/src/b.rs:1"]);
        let apart = tree([
            ("web/src/a.rs", "pub struct Twice;\npub struct Event;\n"),
            ("sim/src/b.rs", "enum Twice {\n    type Twice = u8;\n"),
        ]);
        assert!(!check(&apart).iter().any(|found| found.contains("Twice")));
    }

    #[test]
    fn conventional_names_are_free() {
        let both = tree([("web/src/a.rs", "struct Event;\n"), ("web/src/b.rs", "struct Event;\n")]);
        assert!(!check(&both).iter().any(|found| found.contains("Event")));
    }

    #[test]
    fn a_function_that_says_nothing_is_refused() {
        let text = format!("    pub {SAYS_NOTHING}(a: u8) {{}}\n    {SAYS_NOTHING}_kind() {{}}\n");
        let found = check(&tree([("bench/src/a.rs", &text), ("bench/src/b.rs", "")]));
        let found: Vec<_> = found.iter().filter(|found| found.contains("says nothing")).collect();
        assert_eq!(found, ["bench/src/a.rs:1: a function of this name says nothing"]);
    }

    #[test]
    fn the_share_counts_names_of_four_and_more() {
        let four = "struct Four;\n".repeat(3);
        let files =
            tree([("web/src/a.rs", &four), ("core/src/b.rs", "struct Four;\nstruct One;\n")]);
        let said = "4 of 5 types (80.0 %) share their name with three others";
        assert_eq!(share(&files), said);
    }
}
