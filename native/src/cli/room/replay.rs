//! `servent room replay`: verifies the recordings of all members of a room.

use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};
use servent::replay::{Report, bytes};
use servent_core::text::{Lines, Shown};
use servent_core::trace::players::tapes;

use super::merged::Merged;
use crate::cli::replay::read;
use crate::cli::{Common, lab_cmd, print};
use crate::exit::{Exit, Failure};

/// Run every node of a recorded room again and compare its checkpoints.
///
/// The recording is what `servent room --record` wrote, or what the host's screen
/// gave; several traces, one behind the other in a file, are the same.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent room ~/Music --record room.sqlog   record
  servent room replay room.sqlog             a line for each node
  servent room replay room.sqlog --lab       and the lab with all of them together")]
pub(crate) struct RoomReplayArgs {
    /// The recording.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Then serve the lab with it, until Ctrl-C.
    #[arg(long)]
    lab: bool,
    /// The same, and show it in the browser.
    #[arg(long)]
    open: bool,
    /// As one JSON object.
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(common: &Common, arguments: &RoomReplayArgs) -> Result<(), Failure> {
    let path = &arguments.file;
    let verified = VerifiedRoom::replay(&read(path)?);
    verified.print(arguments.json)?;
    verified.is_recording(path)?;
    if arguments.lab || arguments.open {
        lab_cmd::of_trace(common, path, arguments.open)?;
    }
    verified.judge(path)
}

/// Several recordings in one file, each run again.
pub(crate) struct VerifiedRoom {
    reports: Vec<Report>,
    merged: Merged,
}

impl VerifiedRoom {
    pub(crate) fn replay(recording: &[u8]) -> Self {
        let reports = tapes(recording).into_iter().map(bytes).collect();
        Self { reports, merged: Merged::from_recording(recording) }
    }

    fn sound(&self) -> usize {
        self.reports.iter().filter(|report| report.is_sound()).count()
    }

    /// A line for each of them, and how many verify.
    pub(crate) fn print(&self, as_json: bool) -> Result<(), Failure> {
        let Self { reports, merged } = self;
        let good = self.sound();
        if as_json {
            let nodes: Vec<Value> = reports.iter().map(node).collect();
            let all = good == reports.len();
            let merged = merged.json();
            let fact = json!({ "nodes": nodes, "verified": all, "merged": merged });
            return print(format!("{fact}\n"));
        }
        let names: Vec<String> = reports.iter().map(|it| Shown(name(it)).to_string()).collect();
        let width = names.iter().map(|name| name.chars().count()).max().unwrap_or(0);
        for (name, report) in names.iter().zip(reports) {
            print(format!("{name:width$}  {}\n", Lines(&report.to_string())))?;
        }
        print(format!("{good} of {} recordings verified\n", reports.len()))?;
        merged.print(&names)
    }

    /// An error when none of them is a recording.
    fn is_recording(&self, path: &Path) -> Result<(), Failure> {
        if self.reports.iter().any(|report| report.name.is_some()) {
            return Ok(());
        }
        let what = format!("{} is not a recording of a room", path.display());
        Err(Failure::new(Exit::Foreign, what)
            .next("record one with `servent room DIR --record FILE`"))
    }

    /// An error unless all of them verify.
    pub(crate) fn judge(&self, path: &Path) -> Result<(), Failure> {
        let (good, all) = (self.sound(), self.reports.len());
        if good == all {
            return Ok(());
        }
        let bad = all - good;
        let what = format!("{}: {bad} of {all} recordings do not verify", path.display());
        Err(Failure::new(Exit::Unverified, what).next(
            "the lines above say which; one that was cut off can still be looked at: \
             `servent room replay FILE --lab`",
        ))
    }
}
fn name(report: &Report) -> &str {
    report.name.as_deref().unwrap_or("?")
}

/// What is said of a node as JSON.
fn node(report: &Report) -> Value {
    let mut value = serde_json::to_value(report).unwrap_or_default();
    value["sound"] = report.is_sound().into();
    value
}
