//! The program names an operating system in one folder only: what has to be written
//! for another one is there.

use super::Text;

/// The sources that are held to this, and the one folder that is not.
const PROGRAM: &str = "native/src/";
const ROOM: &str = "native/src/sys/";

/// What names a system. Written in two parts, so that this file does not break its
/// own rule.
const NAMES: [&str; 9] = [
    concat!("std::os::", "unix"),
    concat!("std::os::", "linux"),
    concat!("std::os::", "fd"),
    concat!("std::os::", "windows"),
    concat!("rus", "tix::"),
    concat!("lib", "c::"),
    concat!("windows", "_sys::"),
    concat!("signal::", "unix"),
    concat!("Unix", "Listener"),
];

/// Conditions about a system.
const CONDITIONS: [&str; 3] = ["target_os", "unix", "windows"];

/// The lines of the program that name a system outside of its room. Tests stand at
/// the end of a file and may do as they like.
pub(super) fn check(file: &Text) -> Vec<String> {
    let held = file.path.starts_with(PROGRAM) && file.path.ends_with(".rs");
    if !held || file.path.starts_with(ROOM) || file.path.ends_with("tests.rs") {
        return Vec::new();
    }
    let lines = (1..).zip(file.text.lines());
    lines
        .take_while(|(_, line)| line.trim_start() != "#[cfg(test)]")
        .filter(|(_, line)| names_system(line.split("//").next().unwrap_or_default()))
        .map(|(number, line)| {
            format!("{}:{number}: only {ROOM} names a system: {}", file.path, line.trim())
        })
        .collect()
}

fn names_system(code: &str) -> bool {
    let condition = code.split_once("cfg").is_some_and(|(_, rest)| {
        let rest = rest.trim_start_matches("_attr").trim_start_matches('!');
        let condition = rest.strip_prefix('(').unwrap_or_default();
        super::rules::words(condition).any(|word| CONDITIONS.contains(&word))
    });
    condition || NAMES.iter().any(|name| code.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn breaches(path: &str, text: &str) -> usize {
        check(&Text { path: path.into(), text: text.into() }).len()
    }

    #[test]
    fn each_way_to_name_a_system_is_found() {
        for line in [
            concat!("use std::os::", "unix::fs::FileExt as _;\n"),
            concat!("let done = rus", "tix::fs::sync();\n"),
            concat!("#[cf", "g(target_os = \"linux\")]\n"),
            concat!("#[cf", "g(any(test, windows))]\n"),
            concat!("if cf", "g!(unix) {\n"),
            concat!("#[cf", "g_attr(windows, path = \"w.rs\")]\n"),
            concat!("use tokio::net::Unix", "Listener;\n"),
        ] {
            assert_eq!(breaches("native/src/net/a.rs", line), 1, "{line}");
            assert_eq!(breaches("native/src/sys/a.rs", line), 0, "{line}");
            assert_eq!(breaches("xtask/src/a.rs", line), 0, "{line}");
        }
    }

    #[test]
    fn tests_and_sentences_may_name_one() {
        for text in [
            "/// As rustix::fs does on unix.\n",
            "let config = windows(4);\n",
            concat!("fn a() {}\n#[cfg(test)]\nuse std::os::", "unix::fs::symlink;\n"),
        ] {
            assert_eq!(breaches("native/src/net/a.rs", text), 0, "{text}");
        }
    }
}
