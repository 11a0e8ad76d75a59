//! `servent trace`: converts a trace for other tools.

use std::io::{IsTerminal as _, Write as _};
use std::path::PathBuf;

use clap::{Args, Subcommand};
use servent_core::trace::pcapng::Exporter;
use servent_core::trace::qlog;

use super::new_file::new_file;
use super::replay::read;
use super::{Common, print};
use crate::exit::{Exit, Failure};
use crate::progress::count;

/// Work with recorded traces.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent trace export run.sqlog --pcapng -o run.pcapng
  servent trace export run.sqlog --pcapng | wireshark -k -i -")]
pub(crate) struct TraceArgs {
    #[command(subcommand)]
    action: TraceAction,
}

#[derive(Debug, Subcommand)]
enum TraceAction {
    Export(TraceExportArgs),
}

/// Write a trace as a capture file for Wireshark.
///
/// The trace is run again to find what was sent. Every connection becomes a
/// TCP conversation; comments on the packets say what the servent decided
/// and by which clause. File bytes are not in a trace and are cut off.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent trace export run.sqlog --pcapng -o run.pcapng
  tshark -r run.pcapng -Y http -V | less")]
struct TraceExportArgs {
    /// The trace.
    #[arg(value_name = "TRACE")]
    trace: PathBuf,
    /// As pcapng, the format of Wireshark.
    #[arg(long, required = true)]
    pcapng: bool,
    /// Write here instead of standard output; a file that is there is not replaced.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

pub(crate) fn run(_common: &Common, arguments: &TraceArgs) -> Result<(), Failure> {
    let TraceAction::Export(export) = &arguments.action;
    let bytes = read(&export.trace)?;
    let mut exporter = Exporter::new();
    for line in qlog::Split::new(&bytes) {
        exporter.feed(qlog::parse(line));
    }
    if exporter.packets() == 0 {
        let what = format!("{}: no connection is in this trace", export.trace.display());
        return Err(Failure::new(Exit::Foreign, what)
            .next("`servent replay TRACE` says whether it is a servent's trace"));
    }
    let packets = exporter.packets();
    let capture = exporter.finish();
    match &export.output {
        None if std::io::stdout().is_terminal() => {
            Err(Failure::usage("a capture is not for a terminal")
                .next("write it into a file with `-o run.pcapng`, or pipe it to Wireshark"))
        }
        None => print(capture),
        Some(path) => {
            let written = new_file(path)?.write_all(&capture);
            written.map_err(|e| Failure::file("write", path, &e))?;
            print(format!("{} in {}\n", count(packets, "packet"), path.display()))
        }
    }
}
