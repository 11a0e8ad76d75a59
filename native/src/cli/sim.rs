//! `servent sim`: a world of servents without a network, watched by oracles.

use std::path::{Path, PathBuf};

use clap::Args;
use serde::Serialize;
use servent_core::sim::check::{Oracles, Violation};
use servent_core::sim::{Role, Scenario, World, presets};
use servent_core::time::Instant;
use servent_core::trace::NodeId;

use super::exit::{Exit, Failure};
use super::{Common, print};

/// Run a scenario from the shell, watched by the oracles of the protocols.
///
/// The same scenario and seed give the same run, to the last event, on every
/// machine and in the browser: the digest proves it.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent sim                           the presets
  servent sim rush-hour                 one of them
  servent sim rush-hour --seed 7 --json
  servent sim rush-hour --sweep 100     a hundred seeds; the first that fails is told
  servent sim mine.json                 a scenario of your own")]
pub(crate) struct Arguments {
    /// A preset or a file; without one the presets are listed.
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,
    /// Every draw follows from it.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run so many seeds, one after the other.
    #[arg(long, value_name = "N", default_value_t = 1)]
    sweep: u64,
    /// As one JSON object a run.
    #[arg(long)]
    json: bool,
    /// Go on after the end of the scenario until every download has ended,
    /// at most ten times its length; one that has not is a violation.
    #[arg(long)]
    settle: bool,
    /// Print the scenario as JSON, to begin one of your own.
    #[arg(long)]
    show: bool,
}

/// One run.
#[derive(Debug, Serialize)]
struct Run {
    scenario: String,
    seed: u64,
    seconds: u64,
    events: u64,
    records: u64,
    digest: String,
    whole: u32,
    failed: u32,
    violations: Vec<Violation>,
}

pub(crate) fn run(_common: &Common, arguments: &Arguments) -> Result<(), Failure> {
    let Some(name) = &arguments.scenario else { return list(arguments.json) };
    let scenario = find(name)?;
    if arguments.show {
        return print(format!("{}\n", serde_json::to_string_pretty(&scenario).unwrap_or_default()));
    }
    let first = arguments.seed.unwrap_or(scenario.seed);
    for seed in first..first.saturating_add(arguments.sweep.max(1)) {
        let run = play(Scenario { seed, ..scenario.clone() }, arguments.settle);
        if arguments.json {
            print(format!("{}\n", serde_json::to_string(&run).unwrap_or_default()))?;
        } else {
            print(sentence(&run))?;
        }
        if let Some(violation) = run.violations.first() {
            let what = format!("seed {seed}: {}", told(violation));
            let settle = if arguments.settle { " --settle" } else { "" };
            return Err(Failure::new(Exit::Unverified, what)
                .next(format!("see it again with: servent sim {name}{settle} --seed {seed}")));
        }
    }
    Ok(())
}

fn list(json: bool) -> Result<(), Failure> {
    for preset in presets::all() {
        if json {
            print(format!("{}\n", serde_json::to_string(&preset).unwrap_or_default()))?;
        } else {
            print(format!("{:<16} {}\n{:<16} {}\n", preset.id, preset.title, "", preset.text))?;
        }
    }
    Ok(())
}

fn find(name: &str) -> Result<Scenario, Failure> {
    if let Some(preset) = presets::find(name) {
        return Ok(preset);
    }
    let path = PathBuf::from(name);
    if !path.exists() && !name.contains(['/', '.']) {
        let known: Vec<String> = presets::all().map(|p| p.id).collect();
        return Err(Failure::usage(format!("there is no preset {name}"))
            .next(format!("choose one of {}, or name a file", known.join(", "))));
    }
    read(&path)
}

fn read(path: &Path) -> Result<Scenario, Failure> {
    let text = std::fs::read_to_string(path).map_err(|e| Failure::file("read", path, &e))?;
    Scenario::parse(&text).map_err(|what| {
        Failure::new(Exit::Foreign, format!("{}: {what}", path.display()))
            .next("`servent sim rush-hour --show` prints one that works")
    })
}

/// Runs a scenario to its end, the oracles watching.
fn play(scenario: Scenario, settle: bool) -> Run {
    let mut world: World = World::new(&scenario);
    let mut oracles = Oracles::new(&scenario);
    let end = Instant::ZERO + scenario.horizon;
    let last = Instant::ZERO + scenario.horizon.ratio(if settle { 10 } else { 1 }, 1);
    let mut fresh = Vec::new();
    let mut newest = None;
    while let Some(at) = world.next_at().filter(|at| *at <= last) {
        if at > end && everybody_done(&world) {
            break;
        }
        world.step(&mut fresh);
        fresh.iter().for_each(|record| oracles.see(record));
        newest = fresh.pop().or(newest);
        fresh.clear();
    }
    if let (true, Some(newest)) = (settle, &newest) {
        oracles.finish(newest);
    }
    let (whole, failed) = outcomes(&world).fold((0, 0), |(w, f), (a, b)| (w + a, f + b));
    Run {
        scenario: scenario.id,
        seed: scenario.seed,
        seconds: world.now().max(end).since(Instant::ZERO).as_secs(),
        events: world.events(),
        records: world.records(),
        digest: format!("{:016x}", world.digest()),
        whole,
        failed,
        violations: oracles.violations().to_vec(),
    }
}

/// Downloads that are whole and that failed, of each client.
fn outcomes(world: &World) -> impl Iterator<Item = (u32, u32)> + '_ {
    let clients = world.profiles().iter().zip(0u32..).filter(|(p, _)| p.role == Role::Client);
    clients.map(|(_, id)| world.outcome(NodeId(id)))
}

fn everybody_done(world: &World) -> bool {
    outcomes(world).all(|(whole, failed)| whole + failed > 0)
}

/// A violation as one sentence.
fn told(v: &Violation) -> String {
    let arguments: Vec<String> =
        v.args.iter().map(|(name, value)| format!("{name} {value}")).collect();
    format!(
        "the {} oracle says `{}` of node {} at {:?}, record {} ({})",
        v.oracle,
        v.key,
        v.node.0,
        v.at,
        v.seq,
        arguments.join(", ")
    )
}

fn sentence(run: &Run) -> String {
    let Run { scenario, seed, seconds, events, whole, failed, digest, violations, .. } = run;
    let oracles = match violations.len() {
        0 => "oracles silent".to_owned(),
        n => format!("{n} VIOLATIONS"),
    };
    format!(
        "{scenario} seed {seed}: {whole} downloads whole, {failed} failed in {seconds} s, {events} events, \
         {oracles}, digest {digest}\n"
    )
}
