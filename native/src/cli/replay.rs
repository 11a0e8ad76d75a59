//! `servent replay`: checks that a recorded run repeats exactly.

use std::path::{Path, PathBuf};

use clap::Args;
use servent_core::text::Lines;
use servent_core::trace::players::tapes;
use servent_core::trace::replay::Report;

use super::room::VerifiedRoom;
use super::{Common, print};
use crate::exit::{Exit, Failure};

/// Run a recorded trace again and compare every checkpoint.
///
/// The inputs in the trace are given to a fresh node; at each checkpoint its
/// digest must be the recorded one. A file with the recordings of several nodes,
/// such as that of a room, gets a line for each of them.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent share pub --trace run.sqlog          record
  servent replay run.sqlog                     verified 41/41
  servent send 10.0.0.7 big --trace s.sqlog    record a transfer
  servent replay run.sqlog --json")]
pub(crate) struct ReplayArgs {
    /// The trace, as `--trace` writes it.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// As one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(_common: &Common, arguments: &ReplayArgs) -> Result<(), Failure> {
    let path = &arguments.trace;
    let bytes = read(path)?;
    if tapes(&bytes).len() > 1 {
        let room = VerifiedRoom::replay(&bytes);
        room.print(arguments.json)?;
        return room.judge(path);
    }
    let report = &servent::replay::bytes(&bytes);
    let judgement = require_verified(path, report);
    if arguments.json {
        print(format!("{}\n", serde_json::to_string(report).unwrap_or_default()))?;
    } else if judgement.is_ok() {
        print(format!("{}\n", Lines(&report.to_string())))?;
    }
    judgement
}

/// Reads a whole trace.
pub(crate) fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path).map_err(|e| Failure::file("read", path, &e))
}

/// An error with the exit code that fits the report.
fn require_verified(path: &Path, report: &Report) -> Result<(), Failure> {
    let what = |exit| Failure::new(exit, format!("{}: {report}", path.display()));
    if report.unknown_version.is_some() {
        return Err(what(Exit::Foreign).next("use the program that wrote it, or a newer one"));
    }
    if report.name.is_none() {
        return Err(what(Exit::Foreign).next("record one with `servent share DIR --trace FILE`"));
    }
    if report.differs.is_some() {
        return Err(what(Exit::Unverified).next(
            "the trace was changed after it was recorded, or another version of servent recorded it",
        ));
    }
    if report.diverged_at.is_some() {
        return Err(what(Exit::Unverified)
            .next("`servent --version` must be the one that recorded it; else keep the trace, this is a bug"));
    }
    if report.damaged > 0 {
        return Err(what(Exit::Unverified).next("get a whole copy of the trace"));
    }
    if report.gap_at.is_some() {
        return Err(what(Exit::Unverified).next("what comes after a gap cannot be verified"));
    }
    if report.verified == 0 {
        return Err(what(Exit::Unverified).next("it was cut before its first checkpoint"));
    }
    Ok(())
}
