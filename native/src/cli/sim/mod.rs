//! `servent sim`: simulated worlds of servents, checked by oracles.

mod explore;
mod merge;
mod scenario;
mod shrunk;
mod sweep;

use std::path::PathBuf;

use clap::{Args, Subcommand};
use servent_core::swarm::SwarmPolicy;
use servent_sim::registry::{PlayedRun, ProtocolId, RunEnd};

use self::merge::{Merge, RunsSummary, Shard};
use super::amount::some;
use super::{Common, print};
use crate::exit::{Exit, Failure};
use crate::progress::count;

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
  servent sim lose-last                 messages over datagrams, one of them lost
  servent sim random-unicast --sweep 100  drawn ones: every seed is another scenario
  servent sim flooder                   an overlay of routers, one of them hostile
  servent sim random-routing --sweep 100  drawn overlays
  servent sim deadlock                  a swarm under the rules of 2004
  servent sim deadlock --policy adaptive
  servent sim random-swarm --sweep 1000 --summary   drawn swarms; all must finish
  servent sim random-queue --sweep 10000 --shard 2/8 --json   an eighth of the seeds, for an array job
  servent sim two-doors                 two people behind routers, and every knock
  servent sim random-meet --sweep 100   drawn routers; who can meet does
  servent sim all-of-two-messages --explore   every order of events of a small world
  servent sim lose-last --explore --losses 2  of another one, with its own limits
  servent sim merge *.jsonl             joins what the shares have found
  servent sim flooder --show > mine.json  a preset as a file, to be changed
  servent sim mine.json                 a scenario of your own")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct SimArgs {
    #[command(subcommand)]
    action: Option<SimAction>,
    /// A preset or a file; without one the presets are listed.
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,
    /// Every draw follows from it.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run so many seeds, on all cores.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = some::<u64>)]
    sweep: u64,
    /// Run only these of the seeds: `I/N` is the I-th of N shares. A run that
    /// breaks a rule does not end it; how many did is told at the end.
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    shard: Option<Shard>,
    /// As one JSON object a run.
    #[arg(long)]
    json: bool,
    /// Print only what all runs together are like: how many broke a rule, the
    /// worst seeds, how each number is spread. A run that breaks a rule does not
    /// end the sweep.
    #[arg(long)]
    summary: bool,
    /// Go on after the end of the scenario until every download has ended,
    /// at most ten times its length; one that has not is a violation. Of a
    /// swarm: who is not served by the end is one. Drawn scenarios are always
    /// judged so, at their end.
    #[arg(long)]
    settle: bool,
    /// The coordinator's rules, for a swarm: adaptive or seed2004.
    #[arg(long, value_name = "POLICY", value_parser = policy)]
    policy: Option<SwarmPolicy>,
    #[command(flatten)]
    exploring: explore::Arguments,
    /// Print the scenario as JSON, to begin one of your own.
    #[arg(long)]
    show: bool,
}

#[derive(Debug, Subcommand)]
enum SimAction {
    Merge(Merge),
}

pub(crate) fn run(_common: &Common, arguments: &SimArgs) -> Result<(), Failure> {
    if let Some(SimAction::Merge(merge)) = &arguments.action {
        return merge::run(merge);
    }
    let Some(name) = &arguments.scenario else { return scenario::list(arguments.json) };
    let scenario = scenario::find(name, arguments.seed)?;
    if arguments.policy.is_some() && scenario.protocol != ProtocolId::Swarm {
        return Err(Failure::usage(format!("--policy is for swarms, and {name} is none"))
            .next("leave it out, or choose a swarm: `servent sim` lists all scenarios"));
    }
    let scenario = scenario::under(scenario, arguments.policy);
    if arguments.show {
        return print(format!("{}\n", serde_json::to_string_pretty(&scenario).unwrap_or_default()));
    }
    if arguments.exploring.is_wanted() {
        return explore::run(&scenario, &arguments.exploring, arguments.json);
    }
    let first = arguments.seed.unwrap_or(scenario.seed().unwrap_or(1));
    let seeds = (first..first.saturating_add(arguments.sweep))
        .filter(|seed| arguments.shard.is_none_or(|shard| shard.has(seed - first)));
    let of_seed = |seed: u64| {
        let drawn = scenario::named(name, Some(seed)).unwrap_or_else(|| scenario.clone());
        let mut drawn = scenario::under(drawn, arguments.policy);
        drawn.scenario.insert(String::from("seed"), seed.into());
        drawn
    };
    let end = scenario::end(name, arguments.settle);
    let play = |seed| scenario::play(&of_seed(seed), seed, end);
    let small = |run: &PlayedRun| shrunk::keep(&of_seed(run.seed), run.violations.first()?, end);
    let mut told =
        RunsReport { arguments, name, broken: 0, all: RunsSummary::default(), small: &small };
    sweep::sweep(&seeds.collect::<Vec<_>>(), play, |run| told.run(&run))?;
    told.end()
}

/// What is said of the runs.
struct RunsReport<'a> {
    arguments: &'a SimArgs,
    name: &'a str,
    /// Runs that broke a rule, where they do not end the sweep.
    broken: u64,
    all: RunsSummary,
    /// Makes a run that broke a rule smaller; returns the file of the small one.
    small: &'a dyn Fn(&PlayedRun) -> Option<PathBuf>,
}

impl RunsReport<'_> {
    fn run(&mut self, run: &PlayedRun) -> Result<(), Failure> {
        let SimArgs { json, summary, shard, settle, .. } = self.arguments;
        if *summary {
            self.all.add(run);
        } else if *json {
            print(format!("{}\n", serde_json::to_string(run).unwrap_or_default()))?;
        } else {
            print(sentence(run))?;
        }
        let Some(violation) = run.violations.first() else { return Ok(()) };
        if *summary || shard.is_some() {
            self.broken += 1;
            return Ok(());
        }
        let (name, seed) = (self.name, run.seed);
        let flag = if *settle { " --settle" } else { "" };
        let again = format!("see it again with: servent sim {name}{flag} --seed {seed}");
        let next = match (self.small)(run) {
            Some(file) => {
                // Drawn worlds are judged at their end, and so is what is left of one.
                let judged = scenario::end(name, *settle) != RunEnd::Open;
                let flag = if judged { " --settle" } else { "" };
                let file = file.display();
                format!("{again}; the smallest that breaks the same rule: servent sim {file}{flag}")
            }
            None => again,
        };
        Err(Failure::new(Exit::Unverified, format!("seed {seed}: {violation}")).next(next))
    }

    fn end(self) -> Result<(), Failure> {
        if self.arguments.summary {
            print(self.all.told(self.arguments.json))?;
        }
        let next = if self.arguments.summary {
            "see one again with `--seed`; the worst are named above"
        } else {
            "`servent sim merge` names the worst seeds of all shares"
        };
        match self.broken {
            0 => Ok(()),
            n => {
                let what = format!("{} broke a rule", count(n, "run"));
                Err(Failure::new(Exit::Unverified, what).next(next))
            }
        }
    }
}

/// Parses the name of a policy.
fn policy(name: &str) -> Result<SwarmPolicy, String> {
    match name {
        "adaptive" => Ok(SwarmPolicy::Adaptive),
        "seed2004" => Ok(SwarmPolicy::Seed2004),
        _ => Err(String::from("the policies are adaptive and seed2004")),
    }
}

fn sentence(run: &PlayedRun) -> String {
    let PlayedRun { scenario, seed, sentence, seconds, events, digest, violations, .. } = run;
    let oracles = match violations.len() {
        0 => "oracles silent".to_owned(),
        1 => "1 VIOLATION".to_owned(),
        n => format!("{n} VIOLATIONS"),
    };
    format!(
        "{scenario} seed {seed}: {sentence} in {seconds} s, {}, {oracles}, digest {digest}\n",
        count(*events, "event")
    )
}
