//! Measures Servent: ours beside a peer or the physical limit, in one run.

mod everyday;
mod folder;
mod host;
mod measure;
mod path;
#[path = "../../native/tests/support/postgres/mod.rs"]
mod postgres;
mod queue;
mod report;
mod routing;
mod sim;
mod site;
mod swarm;
mod unicast;

use std::net::SocketAddr;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

use self::report::Report;

/// Every allocation is counted, for the bytes an entry costs.
#[global_allocator]
static ALLOCATOR: &stats_alloc::StatsAlloc<std::alloc::System> = &stats_alloc::INSTRUMENTED_SYSTEM;

/// Measures Servent: ours beside a peer or the physical limit, in one run.
#[derive(Parser)]
#[command(name = "servent-bench")]
struct Cli {
    #[command(subcommand)]
    area: Option<Area>,
    /// One JSON object a line instead of tables.
    #[arg(long, global = true)]
    json: bool,
    /// Fewer rounds: for a look, not for a figure to quote.
    #[arg(long, global = true)]
    quick: bool,
}

#[derive(Subcommand, Clone)]
enum Area {
    /// Decisions, memory, latency, uploads, held connections.
    Queue,
    /// Messages a second, memory of a GUID, floods.
    Routing,
    /// Events a second, native and as WebAssembly.
    Sim,
    /// What the page weighs, how fast it seeks.
    Page,
    /// Makespan against the bound, assignments a second, free riders, and
    /// swarms of real processes.
    Swarm,
    /// One swarm of real processes, of any size.
    Programs(swarm::Programs),
    /// Reliable messages over UDP, beside others.
    Unicast,
    /// Long lines: `send` and `receive` beside TCP and quinn.
    Path {
        /// Only lines that are all of this, such as `100ms,1%`; `met`: two that meet at a place.
        #[arg(long)]
        only: Option<String>,
    },
    /// Files from a web server, small and large, `send`, start, idleness.
    Everyday,
    /// Folders of many small files by `get` and `send`, beside rsync.
    Folder,
    /// Places kept in a database, and takeovers.
    Site,
    /// Hold connections in a queue: the client half of `queue`.
    #[command(hide = true)]
    Hold {
        /// The server.
        to: SocketAddr,
        /// What to ask for.
        target: String,
        /// How many connections.
        count: u32,
        /// How often each asks.
        polls: u32,
    },
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => {
            eprintln!("error: a target was missed");
            ExitCode::FAILURE
        }
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// True when no target was missed.
fn run() -> Result<bool> {
    let cli = Cli::parse();
    let mut report = Report::new(cli.json);
    let quick = cli.quick;
    match cli.area {
        Some(Area::Hold { to, target, count, polls }) => {
            queue::holder::run(to, &target, count, polls)?;
            return Ok(true);
        }
        Some(Area::Swarm) => swarm::run(&mut report, quick)?,
        Some(Area::Programs(programs)) => programs.measure(&mut report)?,
        Some(Area::Unicast) => unicast::run(&mut report, quick)?,
        Some(Area::Path { only }) => path::run(&mut report, quick, only.as_deref())?,
        Some(Area::Queue) => queue::run(&mut report, quick)?,
        Some(Area::Routing) => routing::run(&mut report, quick),
        Some(Area::Sim) => sim::run(&mut report, quick)?,
        Some(Area::Page) => sim::page::run(&mut report, quick)?,
        Some(Area::Everyday) => everyday::run(&mut report, quick)?,
        Some(Area::Folder) => folder::run(&mut report, quick)?,
        Some(Area::Site) => site::run(&mut report, quick)?,
        None => {
            queue::run(&mut report, quick)?;
            routing::run(&mut report, quick);
            sim::run(&mut report, quick)?;
            sim::page::run(&mut report, quick)?;
            swarm::run(&mut report, quick)?;
            unicast::run(&mut report, quick)?;
            everyday::run(&mut report, quick)?;
            folder::run(&mut report, quick)?;
            site::run(&mut report, quick)?;
        }
    }
    Ok(report.finish())
}
