//! Progress reports: bars on a terminal, lines in a pipe, objects with
//! `--json`.

mod bars;
mod fetch;
mod fit;
mod folder;
mod named;
mod packing;
mod speed;
mod stream;
mod text;
mod unanswered;

use std::io::IsTerminal as _;

pub(crate) use self::bars::{BottomLine, ErrorAboveBars, OpenQuestion, above_bars};
pub(crate) use self::fetch::{Bars, FetchProgress, eprint_line, print_line};
pub(crate) use self::fit::{ProgressLine, columns};
pub(crate) use self::folder::{FolderProgress, FolderSize};
pub(crate) use self::named::name_servent;
pub(crate) use self::packing::PackingProgress;
pub(crate) use self::speed::RecentRate;
pub(crate) use self::stream::{Reporter, StreamProgress, amount, facts_go_aside, per_second};
pub(crate) use self::text::{bytes, count, decimal, length, rate};

/// The form of output that suits the caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Voice {
    /// A person in front of a terminal.
    Terminal,
    /// A pipe or a log: one fact per line.
    Lines,
    /// A program: one JSON object per line.
    Json,
    /// No output.
    Quiet,
}

/// True for a terminal whose lines can be drawn again, which its `TERM` says.
fn can_draw() -> bool {
    std::env::var("TERM").is_ok_and(|kind| kind != "dumb")
}

impl Voice {
    /// Chosen from the flags and from what standard error is.
    pub(crate) fn new(json: bool, quiet: bool) -> Self {
        match (json, quiet) {
            (true, _) => Self::Json,
            (_, true) => Self::Quiet,
            _ if std::io::stderr().is_terminal() && can_draw() => Self::Terminal,
            _ => Self::Lines,
        }
    }

    /// Reports a fact during progress: an object for a program, a sentence for
    /// people.
    pub(crate) fn note(self, fact: &serde_json::Value, sentence: &str) {
        match self {
            Self::Quiet => {}
            Self::Json => fetch::print_line(&fact.to_string()),
            Self::Terminal | Self::Lines => fetch::eprint_line(sentence),
        }
    }
}
