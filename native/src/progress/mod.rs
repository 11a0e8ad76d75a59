//! How far things have come: bars on a terminal, lines in a pipe, objects
//! with `--json`.

mod fetch;
mod folder;
mod stream;
mod text;

use std::io::IsTerminal as _;

pub(crate) use self::fetch::{Bars, FetchProgress};
pub(crate) use self::folder::FolderProgress;
pub(crate) use self::stream::{Herald, StreamProgress, per_second};
pub(crate) use self::text::{bytes, count, length, rate};

/// How to speak to whoever called us.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// A person in front of a terminal.
    Terminal,
    /// A pipe or a log: one fact a line.
    Lines,
    /// A program: one JSON object a line.
    Json,
    /// Nobody wants to hear it.
    Quiet,
}

impl Voice {
    /// What suits the flags and standard error.
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        match (json, quiet) {
            (true, _) => Self::Json,
            (_, true) => Self::Quiet,
            _ if std::io::stderr().is_terminal() => Self::Terminal,
            _ => Self::Lines,
        }
    }

    /// A fact beside what is in progress: an object for a program, a sentence
    /// for people.
    pub(crate) fn note(self, fact: &serde_json::Value, sentence: &str) {
        match self {
            Self::Quiet => {}
            Self::Json => fetch::print_line(&fact.to_string()),
            Self::Terminal | Self::Lines => fetch::eprint_line(sentence),
        }
    }
}
