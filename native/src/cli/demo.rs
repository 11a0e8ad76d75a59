//! `servent demo`: a demonstration on this machine alone.

use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;
use serde_json::json;

use super::control::token;
use super::lab_cmd::open_browser;
use super::start::{self, make, runtime};
use super::{Common, print};
use crate::config::Origin;
use crate::config::file::Raw;
use crate::demo::{self, DemoSummary, Plan};
use crate::exit::{Exit, Failure, error_text};
use crate::progress::{Voice, bytes, count};
use crate::signal::Signals;

/// Run several servents that queue and transfer real files over loopback TCP.
///
/// A busy servent with few slots, and clients of every queueing language:
/// PARQ, Active Queueing, and one that knows neither. Every download is
/// compared byte by byte. The lab shows all of it live; at the end the trace
/// is run again and every checkpoint compared. Intervals are shortened tenfold.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent demo                             until Ctrl-C, the lab on http://127.0.0.1:6380/
  servent demo --open                      and show it in the browser
  servent demo --seconds 30 --json         ends by itself with a summary
  servent demo --keep /tmp/demo            keep files, state and traces")]
pub(crate) struct DemoArgs {
    /// End after so many seconds.
    #[arg(long, value_name = "N")]
    seconds: Option<u64>,
    /// Print the summary as one JSON object.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    lab: start::LabFlags,
    /// Show the lab in the browser.
    #[arg(long)]
    open: bool,
    /// Upload slots of the busy servent.
    #[arg(long, value_name = "N", default_value_t = 2)]
    slots: u32,
    /// Bytes a second the busy servent uploads.
    #[arg(long, value_name = "BYTES", default_value_t = 400_000)]
    rate: u64,
    /// Keep everything the demo makes in this folder.
    #[arg(long, value_name = "DIR")]
    keep: Option<PathBuf>,
    /// Serve the page from this folder.
    #[arg(long, value_name = "DIR")]
    www: Option<PathBuf>,
}

pub(crate) fn run(common: &Common, arguments: &DemoArgs) -> Result<(), Failure> {
    let mut builder = common.builder()?;
    arguments.lab.put(&mut builder)?;
    if let Some(www) = &arguments.www {
        builder.flag("--www", "www", Raw::Text(www.to_string_lossy().into_owned()))?;
    }
    if arguments.slots == 0 || arguments.rate == 0 {
        return Err(Failure::usage("--slots and --rate must be at least 1"));
    }
    let config = builder.finish()?;
    let scratch;
    let folder = match &arguments.keep {
        Some(folder) => {
            make(folder)?;
            folder.clone()
        }
        None => {
            let made = tempfile::Builder::new().prefix("servent-demo-").tempdir();
            scratch = made.map_err(|e| {
                let what = format!("cannot make a folder for the demo: {}", error_text(&e));
                Failure::new(Exit::Disk, what).next("name one with --keep DIR")
            })?;
            scratch.path().to_path_buf()
        }
    };
    demo::make_folders(&folder)?;
    let scaled = *config.origin("queue.time_scale") != Origin::Default;
    let voice = match Voice::new(false, common.quiet) {
        Voice::Terminal if arguments.json && !std::io::stdout().is_terminal() => Voice::Lines,
        _ if arguments.json => Voice::Quiet,
        voice => voice,
    };
    let plan = Plan {
        length: arguments.seconds.map(Duration::from_secs),
        time_scale: if scaled { config.settings.node.queue.time_scale } else { 10 },
        slots: arguments.slots,
        rate: arguments.rate,
        folder,
        www: config.settings.www.clone(),
        voice,
        token: token()?,
        readers: config.settings.lab_readers,
    };
    let summary = runtime()?.block_on(async {
        let signals = Signals::new()?;
        let lab = start::lab(&config).await?;
        if let Some((_, door)) = &lab {
            welcome(arguments, &door.url())?;
        }
        demo::run(&plan, lab, signals).await
    })?;
    sum_up(arguments, &plan.folder, &summary)
}

fn welcome(arguments: &DemoArgs, url: &str) -> Result<(), Failure> {
    if arguments.json {
        eprintln!("lab {url}");
    } else {
        print(format!("\n    The lab:  {url}\n\n    Ctrl-C ends the demo.\n\n"))?;
    }
    if arguments.open {
        open_browser(url);
    }
    Ok(())
}

fn sum_up(arguments: &DemoArgs, folder: &Path, summary: &DemoSummary) -> Result<(), Failure> {
    if arguments.json {
        print(format!("{}\n", json!(summary)))?;
    } else {
        let gap = summary.median_gap_ms().map_or_else(|| "-".into(), |ms| format!("{ms} ms"));
        let highest = summary.positions.last().copied().unwrap_or(0);
        print(format!(
            "{}, {} verified, {}\nlongest line {highest}, a freed slot taken after {gap} (median), \
             slots used {}.{} % of the time a client waited\nreplay of the busy servent's trace: {}\n",
            count(summary.transfers, "download"),
            summary.verified,
            bytes(summary.bytes),
            summary.utilisation_permille / 10,
            summary.utilisation_permille % 10,
            summary.replay,
        ))?;
        if arguments.keep.is_some() {
            let trace = folder.join("traces").join("uploader.sqlog");
            print(format!("run it again with: servent replay {}\n", trace.display()))?;
        }
    }
    match summary.errors.first() {
        None => Ok(()),
        Some(first) => {
            let what = format!(
                "{} went wrong, the first: {first}",
                count(summary.errors.len() as u64, "thing")
            );
            Err(Failure::new(Exit::Unverified, what)
                .next("run it again with --keep DIR and look at its traces"))
        }
    }
}
