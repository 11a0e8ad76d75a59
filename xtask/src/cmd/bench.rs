//! `cargo xtask bench`

use anyhow::Result;

use crate::paths;
use crate::run::{Tool, cargo};
use crate::wasm::{self, ModuleProfile};

/// Measure: ours beside a peer or the physical limit, in the same run.
///
/// Areas: `queue` (decisions, memory, journeys, latency, uploads, held connections),
/// `routing` (messages a second, memory of a GUID, pauses, floods),
/// `sim` (events a second, native and WebAssembly), `page` (sizes, and in both browsers first picture, keys, seeks, frames, traces),
/// `swarm` (makespan against the bound, assignments a second, free riders, and
/// the same with real processes),
/// `unicast` (reliable messages over UDP, beside others),
/// `path` (long lines: `send` and `receive` beside TCP and quinn, which needs root; only by name),
/// `everyday` (downloads beside curl, aria2 and wget, `send`, start, idleness),
/// `folder` (many small files by `get` and `send` beside rsync, near and at 20 ms),
/// `site` (places kept in PostgreSQL beside the embedded store, takeovers),
/// `room` (pages in real browsers: a download beside `fetch()`, hits, a crowd, lost datagrams).
/// Without a name all of them. Exits with an error when a target is missed.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The area.
    #[arg(value_parser = ["queue", "routing", "sim", "page", "swarm", "unicast", "path", "everyday", "folder", "site", "room"])]
    name: Option<String>,
    /// One JSON object a line instead of tables.
    #[arg(long)]
    json: bool,
    /// Fewer rounds: for a look, not for a figure to quote.
    #[arg(long)]
    quick: bool,
    /// Only the lines of `path` that are all of this, such as `100ms,1%`; `met`: two that meet
    /// at a place, directly and relayed.
    #[arg(long, requires = "name")]
    only: Option<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    if args.name.as_deref() == Some("room") {
        return room(args);
    }
    let wants = |area| args.name.as_deref().is_none_or(|name| name == area);
    if wants("page") {
        super::page::build()?;
    } else if wants("sim") {
        wasm::build(ModuleProfile::Web)?;
    }
    if ["queue", "swarm", "path", "everyday", "folder", "site"].into_iter().any(wants) {
        super::demo::program()?;
    }
    cargo().words("build --quiet --release --package servent-bench").run()?;
    let mut bench = Tool::new(paths::target().join("release/servent-bench"))
        .env("SERVENT_PROGRAM", paths::target().join("release/servent"))
        .env("SERVENT_ROOT", paths::root());
    if let Some(name) = &args.name {
        bench = bench.arg(name);
    }
    if args.json {
        bench = bench.arg("--json");
    }
    if args.quick {
        bench = bench.arg("--quick");
    }
    if let Some(only) = &args.only {
        bench = bench.arg("--only").arg(only);
    }
    bench.run()?;
    if args.name.is_none() { room(args) } else { Ok(()) }
}

fn room(args: &Args) -> Result<()> {
    let flag = |on: bool| u8::from(on).to_string();
    super::room::run("room.js", &[("JSON_LINES", flag(args.json)), ("QUICK", flag(args.quick))])
}
