//! `servent room`: people open a page, and each page is a servent.

mod awake;
mod export;
mod merged;
mod record;
mod replay;

use std::io::IsTerminal as _;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;

pub(super) use self::awake::Awake;
use self::record::Begin;
pub(super) use self::record::{Record, collect};
pub(super) use self::replay::VerifiedRoom;
use super::amount::rate;
use super::serve::share::{PLACE, Sharing, share, told};
use super::start::{TraceFlag, address, runtime};
use super::{Common, print};
use crate::cli::finding::place::{check_relay, place_address};
use crate::cli::serve::{reach, wide};
use crate::config::file::Raw;
use crate::config::settings::LAB;
use crate::config::{Config, Origin};
use crate::exit::Failure;
use crate::lab::LabDoor;
use crate::progress::Voice;

/// Open a room: every browser that opens its address is a servent of it.
///
/// Nothing is installed, and no account is needed. Each page gets a name and
/// takes part in the overlay of this servent: it searches, downloads, waits in
/// its queue, and shares what is dropped onto it. The room ends with Ctrl-C.
#[derive(Debug, Args)]
#[command(
    args_conflicts_with_subcommands = true,
    after_help = "Examples:
  servent room ~/Music                           the address and its QR code are printed
  servent room ~/Music --slots 1                 one download at a time: a queue to watch
  servent room --check                           does the network let pages take part?
  servent room ~/Music --code --names typed      a code to come in, and names that are typed
  servent room ~/Music --record room.sqlog       record all servents
  servent room replay room.sqlog --lab           and look at that afterwards
  servent room ~/Music --allow-origin https://room.example.org
                                                 behind a proxy that speaks https"
)]
pub(crate) struct RoomArgs {
    #[command(subcommand)]
    action: Option<RoomCommand>,
    /// Folders or files to share with the room.
    #[arg(value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Serve the page here; `:PORT` for every address.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    page: Option<SocketAddr>,
    /// Listen here for pages and other servents; several are possible.
    #[arg(long, value_name = "ADDRESS", value_parser = address)]
    listen: Vec<SocketAddr>,
    /// Be a meeting place too (`servent meet`), for others who cannot reach each other:
    /// on UDP ports 6349 and 6350, or at this address and the next port.
    #[arg(long, value_name = "PORT|ADDRESS", num_args = 0..=1, require_equals = true,
          default_missing_value = PLACE, value_parser = place_address)]
    place: Option<SocketAddr>,
    /// With --place: pass on so many bytes a second for those that find no direct path.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    relay: Option<u64>,
    /// Uploads that may run at once.
    #[arg(long, value_name = "N")]
    slots: Option<u32>,
    /// Let pages of this origin take part too; several are possible.
    #[arg(long, value_name = "ORIGIN")]
    allow_origin: Vec<String>,
    /// Record all servents of the room in this file, for `servent room replay`; pages say so.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,
    /// Whose files are shared.
    #[arg(long, value_enum, default_value_t, value_name = "WHOSE")]
    files: FileOwners,
    /// Try the network days before: open the room on two devices, and each says what
    /// works, what does not, and the way round.
    #[arg(long)]
    check: bool,
    /// Admit only visitors who type the code that is printed and stands on the
    /// screen; the host's screen changes it.
    #[arg(long)]
    code: bool,
    /// Whether names are drawn, or people type them.
    #[arg(long, value_enum, default_value_t, value_name = "HOW")]
    names: NameSource,
    #[command(flatten)]
    trace: TraceFlag,
    /// Share a home folder, or the whole machine, without being asked.
    #[arg(long)]
    yes: bool,
    /// Tell what happens as one JSON object a line.
    #[arg(long)]
    json: bool,
}

/// Whose files are shared in a room.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum FileOwners {
    /// Those of DIR, and whatever is dropped onto a page.
    #[default]
    All,
    /// Only those of DIR: pages do not offer to share anything.
    Given,
}

/// Where the names in a room come from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum NameSource {
    /// From a list; each may draw three times.
    #[default]
    Drawn,
    /// People may type what they like.
    Typed,
}

#[derive(Debug, Subcommand)]
enum RoomCommand {
    Replay(replay::RoomReplayArgs),
    Export(export::RoomExportArgs),
}

pub(crate) fn run(common: &Common, arguments: &RoomArgs) -> Result<(), Failure> {
    match &arguments.action {
        Some(RoomCommand::Replay(arguments)) => return replay::run(common, arguments),
        Some(RoomCommand::Export(arguments)) => return export::run(arguments),
        None => {}
    }
    wide::ask(&arguments.folders, arguments.yes)?;
    let given = arguments.files == FileOwners::Given;
    let (code, typed) = (arguments.code, arguments.names == NameSource::Typed);
    let record = Record::new(
        arguments.record.clone(),
        Begin { given, code, typed, check: arguments.check },
    )?;
    let config = configure(common, arguments, &record)?;
    let voice = Voice::new(arguments.json, common.quiet);
    runtime()?.block_on(share(&config, &[], common.damaged(), (voice, Sharing::Room(&record))))
}

fn configure(common: &Common, arguments: &RoomArgs, record: &Record) -> Result<Config, Failure> {
    let mut builder = common.builder()?;
    let text = |path: &PathBuf| Raw::Text(path.to_string_lossy().into_owned());
    // Only what is named here, even if that is nothing.
    builder.flag("DIR", "share", Raw::List(arguments.folders.iter().map(text).collect()))?;
    builder.flags("--listen", "listen", &arguments.listen)?;
    if let Some(slots) = arguments.slots {
        builder.flag("--slots", "queue.slots", Raw::Integer(i64::from(slots)))?;
    }
    if let Some(place) = &arguments.place {
        builder.flag("--place", "meeting_place", Raw::Text(place.to_string()))?;
    }
    if let Some(rate) = arguments.relay {
        builder.flag("--relay", "relay", Raw::Integer(i64::try_from(rate).unwrap_or(i64::MAX)))?;
    }
    builder.flags("--allow-origin", "allow_origin", &arguments.allow_origin)?;
    if let Some(own) = record.own_tape().filter(|_| arguments.trace.trace.is_none()) {
        builder.flag("--record", "trace", Raw::Text(own.to_string_lossy().into_owned()))?;
    }
    arguments.trace.put(&mut builder)?;
    // Others open the page; what only the host may see needs the link with the key.
    builder.flag("room", "lab_public", Raw::Boolean(true))?;
    let page = arguments.page.map(|at| at.to_string());
    if let Some(page) = page {
        builder.flag("--page", "lab", Raw::Text(page))?;
    } else {
        let every = SocketAddr::from((Ipv4Addr::UNSPECIFIED, LAB.port()));
        builder.flag("room", "lab", Raw::Text(every.to_string()))?;
    }
    let config = builder.finish()?;
    debug_assert!(*config.origin("lab") != Origin::Default);
    check_relay(arguments.relay, &config.settings).map(|()| config)
}

/// Prints the address to open, and its QR code on a terminal.
pub(super) fn announce(voice: Voice, url: &str) -> Result<(), Failure> {
    told(voice, &json!({ "event": "room", "url": url }), &format!("room {url}"))?;
    let at = url.strip_prefix("http://").and_then(|rest| rest.split('/').next()?.parse().ok());
    if let Some(at) = at
        && voice == Voice::Terminal
        && std::io::stdout().is_terminal()
        && let Some(picture) = reach::picture(at, url)
    {
        print(format!("{picture}\n"))?;
    }
    Ok(())
}

/// Prints the addresses of the host's controls and of the screen for the class.
pub(super) fn announce_screen(voice: Voice, door: &LabDoor) -> Result<(), Failure> {
    let port = door.address.port();
    let mut here = door.clone();
    if here.address.ip().is_unspecified() {
        here.address = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    }
    let (host, url) = (format!("{}#host", here.url()), format!("{}#room", here.screen_url()));
    told(voice, &json!({ "event": "host", "url": host }), &format!("host {host}"))?;
    told(voice, &json!({ "event": "screen", "url": url }), &format!("screen {url}"))
}
