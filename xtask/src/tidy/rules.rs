//! The rules themselves. Each answers with `path:line: what is wrong`.

use super::Text;

/// Lines a source file may have.
const MAX_LINES: usize = 600;

/// Words that mean that something is not finished. Written in two parts, so
/// that this file does not break its own rule.
const LEFTOVERS: [&str; 6] = [
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("to", "do!("),
    concat!("unimplement", "ed!("),
    concat!("#[ign", "ore"),
];

/// Says that a test is switched off only because another test starts it.
const RUN_BY_ANOTHER: &str = concat!("#[ign", "ore = \"run by ");

/// Beginnings of paths that exist on one machine only.
const MACHINE_PATHS: [&str; 4] =
    [concat!("/wo", "rk/"), concat!("/ro", "ot/"), concat!("/ho", "me/"), concat!("C:", "\\Users")];

/// The way to switch the rule about long functions off.
const LONG_FUNCTION: &str = concat!("al", "low(clippy::too_many_lines)");

/// A word that core must not use, and why.
const NOT_IN_CORE: [(&str, &str); 5] = [
    ("f32", "core keeps no floating point"),
    ("f64", "core keeps no floating point"),
    ("std", "core is no_std"),
    ("HashMap", "ordered maps first, keyed::Map where a benchmark asks"),
    ("HashSet", "ordered sets first, keyed::Set where a benchmark asks"),
];

/// What one file does wrong.
pub(super) fn file(file: &Text) -> Vec<String> {
    let mut found = Vec::new();
    if generated(&file.path) {
        return found;
    }
    let source = is_source(&file.path);
    let lines = file.text.lines().count();
    if source && lines > MAX_LINES {
        found.push(format!("{}: {lines} lines, more than {MAX_LINES}: split it", file.path));
    }
    if !file.text.is_empty() && !file.text.ends_with('\n') {
        found.push(format!("{}: no newline at the end", file.path));
    }
    for (number, line) in (1..).zip(file.text.lines()) {
        let mut breach =
            |what: &str| found.push(format!("{}:{number}: {what}: {}", file.path, line.trim()));
        if line.ends_with([' ', '\t', '\r']) {
            breach("blank at the end");
        }
        if LEFTOVERS.iter().any(|word| line.contains(word)) && !line.contains(RUN_BY_ANOTHER) {
            breach("a leftover");
        }
        if MACHINE_PATHS.iter().any(|start| machine_path(line, start)) {
            breach("a path of one machine");
        }
        if is_document(&file.path) && names_a_commit(line) {
            breach("names a commit");
        }
        if source && line.contains(LONG_FUNCTION) {
            breach("a function too long");
        }
    }
    if ["core/src/", "sim/src/"].iter().any(|pure| file.path.starts_with(pure)) {
        found.extend(core(file));
    }
    found
}

/// What core alone must not do.
fn core(file: &Text) -> Vec<String> {
    let mut found = Vec::new();
    for (number, line) in (1..).zip(file.text.lines()) {
        let tests = file.path.ends_with("tests.rs") || line.trim_start() == "#[cfg(test)]";
        if tests && !file.path.ends_with("lib.rs") {
            break; // Tests stand at the end of a file and may do as they like.
        }
        let code = line.split("//").next().unwrap_or_default();
        for (word, why) in NOT_IN_CORE {
            let allowed = file.path.ends_with("keyed.rs") || file.path.ends_with("lib.rs");
            // A trait of a library may name a type that is then thrown away.
            let thrown_away = code.contains(&format!("_: {word})"));
            // A lesson is written and answered by people, who write 0.35 s; its
            // worlds get whole microseconds of it.
            let written = word == "f64" && file.path.starts_with("sim/src/lesson/");
            if !allowed && !thrown_away && !written && words(code).any(|w| w == word) {
                found.push(format!("{}:{number}: {why}: {}", file.path, line.trim()));
            }
        }
        if file.path.starts_with("core/src/wire/") && words(code).any(|w| w == "Instant") {
            found.push(format!("{}:{number}: wire knows no time: {}", file.path, line.trim()));
        }
    }
    found
}

/// What the repository as a whole lacks.
pub(super) fn repository(files: &[Text]) -> Vec<String> {
    let mut found = Vec::new();
    let text = |path: &str| files.iter().find(|f| f.path == path).map(|f| f.text.as_str());
    for path in [
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "LICENSE-MIT",
        "LICENSE-APACHE",
        "Cargo.lock",
        "deny.toml",
        "docs/conformance.md",
        "docs/trace.md",
    ] {
        if text(path).is_none() {
            found.push(format!("{path} is missing"));
        }
    }
    let clippy = text("clippy.toml").unwrap_or_default();
    for rule in ["too-many-lines-threshold = 70", "std::time::Instant::now", "HashMap"] {
        if !clippy.contains(rule) {
            found.push(format!("clippy.toml must say `{rule}`"));
        }
    }
    for manifest in files.iter().filter(|f| f.path.ends_with("/Cargo.toml")) {
        if !manifest.text.contains("[workspace]")
            && !manifest.text.contains("[lints]\nworkspace = true")
        {
            found.push(format!("{}: must have `[lints] workspace = true`", manifest.path));
        }
    }
    for path in ["core/src/lib.rs", "sim/src/lib.rs"] {
        let lib = text(path).unwrap_or_default();
        for rule in ["#![no_std]", "#![forbid(unsafe_code)]"] {
            if !lib.contains(rule) {
                found.push(format!("{path} must say `{rule}`"));
            }
        }
    }
    found
}

fn generated(path: &str) -> bool {
    path.ends_with(".lock")
        || path.ends_with("package-lock.json")
        || path.ends_with(".snap")
        || path.ends_with(".svg")
        || path.ends_with("LICENSE-APACHE")
        || path.starts_with("fuzz/seeds/")
        || path.contains("proptest-regressions")
}

fn is_source(path: &str) -> bool {
    [".rs", ".js", ".mjs", ".css", ".html"].iter().any(|end| path.ends_with(end))
}

fn is_document(path: &str) -> bool {
    path.ends_with(".md") || path.ends_with(".txt")
}

/// The words of a line of code.
pub(super) fn words(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

/// True when `start` begins a path here, and is not the middle of another.
fn machine_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        !line[..at].ends_with(|c: char| c.is_alphanumeric() || "._-~/)}$".contains(c))
    })
}

/// True when a line of a document leans on a particular commit.
fn names_a_commit(line: &str) -> bool {
    line.contains("/commit/")
        || words(line).zip(words(line).skip(1)).any(|(before, word)| {
            before.eq_ignore_ascii_case("commit")
                && (7..=40).contains(&word.len())
                && word.bytes().all(|b| b.is_ascii_hexdigit())
                && word.bytes().any(|b| b.is_ascii_digit())
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> Vec<String> {
        file(&Text { path: path.into(), text: text.into() })
    }

    #[test]
    fn a_clean_file_passes() {
        assert_eq!(breaches("core/src/a.rs", "let a = 1; // as std does\n"), [""; 0]);
        assert_eq!(breaches("docs/a.md", "See https://example.org/home/page.\n"), [""; 0]);
    }

    #[test]
    fn each_rule_finds_its_breach() {
        for (path, text) in [
            ("native/src/a.rs", concat!("// TO", "DO: later\n")),
            ("native/src/a.rs", concat!("open(\"/ho", "me/me/x\")\n")),
            ("native/src/a.rs", "blank \n"),
            ("native/src/a.rs", "no newline"),
            ("native/src/a.rs", concat!("#[al", "low(clippy::too_many_lines)]\n")),
            ("core/src/a.rs", "let x: f64 = y;\n"),
            ("core/src/a.rs", "use std::collections::BTreeMap;\n"),
            ("core/src/wire/a.rs", "fn parse(now: Instant) {}\n"),
            ("docs/a.md", "since commit 1a2b3c4d\n"),
        ] {
            assert_eq!(breaches(path, text).len(), 1, "{path}: {text}");
        }
        let long = "x\n".repeat(MAX_LINES + 1);
        assert_eq!(breaches("web/src/a.rs", &long).len(), 1);
        assert_eq!(breaches("www/data.json", &long).len(), 0);
    }

    #[test]
    fn core_may_throw_floating_point_away() {
        assert_eq!(
            breaches("core/src/a.rs", "fn serialize_f64(self, _: f64) -> Done {\n"),
            [""; 0]
        );
    }

    #[test]
    fn tests_inside_core_may_use_std() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests { use std::vec; }\n";
        assert_eq!(breaches("core/src/a.rs", text), [""; 0]);
    }
}
