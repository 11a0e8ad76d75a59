//! With `--json` a failure is an event too, beside the sentence on standard error.

use std::sync::atomic::{AtomicBool, Ordering};

use clap::ArgMatches;
use serde_json::json;

use crate::exit::Failure;
use crate::progress::{facts_go_aside, print_line};

/// Something was printed on standard output.
static PRINTED: AtomicBool = AtomicBool::new(false);

/// Notes that something is printed.
pub(super) fn note_printed() {
    PRINTED.store(true, Ordering::Relaxed);
}

/// What standard output is with the options of a command.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FactOutput {
    /// Sentences for people, or bytes.
    None,
    /// One JSON object.
    Object,
    /// One JSON object a line: whatever happens.
    Events,
}

/// Commands that report what happens as it happens.
const EVENTS: [&str; 8] = ["share", "room", "get", "search", "swarm", "send", "receive", "meet"];

impl FactOutput {
    /// What the command line says.
    pub(super) fn from_matches(read: &ArgMatches) -> Self {
        let (mut inner, mut names) = (read, Vec::new());
        while let Some((name, matches)) = inner.subcommand() {
            (inner, names) = (matches, [names, vec![name]].concat());
        }
        let json = inner.try_get_one::<bool>("json").ok().flatten();
        match (json, &names[..]) {
            (Some(true), ["room", _]) => Self::Object,
            (Some(true), [first, ..]) if EVENTS.contains(first) => Self::Events,
            (Some(true), _) => Self::Object,
            _ => Self::None,
        }
    }

    /// True where a failure is printed as an object: one object is not followed by
    /// another.
    pub(super) fn takes_failure(self) -> bool {
        match self {
            Self::None => false,
            Self::Object => !PRINTED.load(Ordering::Relaxed),
            Self::Events => true,
        }
    }
}

/// Prints a failure as an event, where the other events are.
pub(super) fn print(failure: &Failure) {
    let Failure { exit, what, next, status, .. } = failure;
    let line = json!({
        "event": "failed", "kind": exit.name(), "exit": *exit as u8, "status": status,
        "what": what, "next": next,
    })
    .to_string();
    if facts_go_aside() {
        eprintln!("{line}");
    } else {
        print_line(&line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_apart_from_one_object() {
        let output = |words: &[&str]| {
            let words = [&["servent"][..], words].concat();
            FactOutput::from_matches(&crate::cli::command().try_get_matches_from(words).unwrap())
        };
        assert_eq!(output(&["get", "http://h/f", "--json"]), FactOutput::Events);
        assert_eq!(output(&["swarm", "get", "pdtp://h/f", "--json"]), FactOutput::Events);
        assert_eq!(output(&["room", "replay", "f", "--json"]), FactOutput::Object);
        assert_eq!(output(&["status", "--json"]), FactOutput::Object);
        assert_eq!(output(&["get", "http://h/f"]), FactOutput::None);
        assert_eq!(output(&["completions", "bash"]), FactOutput::None);
    }
}
