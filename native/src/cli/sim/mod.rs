//! `servent sim`: simulated worlds of servents, checked by oracles.

mod merge;
mod queue;
mod routing;
mod swarm;
mod unicast;

use std::error::Error;
use std::path::{Path, PathBuf};

use clap::{Args, Subcommand};
use serde::Serialize;
use serde_json::Value;
use servent_core::choose::Choose;
use servent_core::swarm::Policy;
use servent_sim::Violation;

use self::merge::{Merge, Shard};
use super::{Common, print};
use crate::exit::{Exit, Failure};

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
  servent sim random-swarm --sweep 100 --settle   drawn swarms; all must finish
  servent sim random-queue --sweep 10000 --shard 2/8 --json   an eighth of the seeds, for an array job
  servent sim merge *.jsonl             joins what the shares have found
  servent sim mine.json                 a scenario of your own")]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Option<Action>,
    /// A preset or a file; without one the presets are listed.
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,
    /// Every draw follows from it.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Run so many seeds, one after the other.
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u64).range(1..))]
    sweep: u64,
    /// Run only these of the seeds: `I/N` is the I-th of N shares. A run that
    /// breaks a rule does not end it; how many did is told at the end.
    #[arg(long, value_name = "I/N", value_parser = Shard::parse)]
    shard: Option<Shard>,
    /// As one JSON object a run.
    #[arg(long)]
    json: bool,
    /// Go on after the end of the scenario until every download has ended,
    /// at most ten times its length; one that has not is a violation. Of a
    /// swarm: who is not served by the end is one.
    #[arg(long)]
    settle: bool,
    /// The coordinator's rules, for a swarm: adaptive or seed2004.
    #[arg(long, value_name = "POLICY", value_parser = policy)]
    policy: Option<Policy>,
    /// Print the scenario as JSON, to begin one of your own.
    #[arg(long)]
    show: bool,
}

#[derive(Debug, Subcommand)]
enum Action {
    Merge(Merge),
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
    #[serde(flatten)]
    outcome: Outcome,
    violations: Vec<Violation>,
}

/// How a run ended.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Outcome {
    Downloads {
        whole: u32,
        failed: u32,
    },
    Messages {
        written: u64,
        read: u64,
        named: u64,
        lost: u64,
        resent: u64,
    },
    Overlay {
        nodes: u32,
        searches: u32,
        answers: u32,
        tally: Option<Box<servent_sim::routing::TallyView>>,
    },
    Swarm {
        policy: Policy,
        #[serde(flatten)]
        result: servent_sim::swarm::Result,
    },
}

/// A scenario for one of the worlds.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
enum Scenario {
    /// Servents and their queues.
    Queue(Box<servent_sim::queue::Scenario>),
    /// Nodes and their datagrams.
    Unicast(Box<servent_sim::unicast::Scenario>),
    /// Routers and the overlay they form.
    Routing(Box<servent_sim::routing::Scenario>),
    /// Clients that share a file.
    Swarm(Box<servent_sim::swarm::Scenario>),
}

/// A preset as it is listed.
struct Shown<'a> {
    id: &'a str,
    title: &'a str,
    text: &'a str,
}

impl Scenario {
    fn all() -> impl Iterator<Item = Self> {
        let queue = servent_sim::queue::presets::all().map(|s| Self::Queue(Box::new(s)));
        let unicast = servent_sim::unicast::presets::all().map(|s| Self::Unicast(Box::new(s)));
        let routing = servent_sim::routing::presets::all().map(|s| Self::Routing(Box::new(s)));
        let swarm = servent_sim::swarm::presets::all().into_iter();
        let swarm = swarm.map(|s| Self::Swarm(Box::new(s)));
        queue.chain(unicast).chain(routing).chain(swarm)
    }

    /// A preset, or a scenario generated from its seed.
    fn named(name: &str, seed: Option<u64>) -> Option<Self> {
        let drawn = seed.unwrap_or(1);
        match name {
            "random-queue" => Some(Self::Queue(Box::new(servent_sim::queue::random::draw(
                &mut Choose::random(drawn),
                drawn,
            )))),
            "random-site" => {
                let scenario =
                    servent_sim::queue::random::draw_site(&mut Choose::random(drawn), drawn);
                Some(Self::Queue(Box::new(scenario)))
            }
            "random-unicast" => {
                let scenario =
                    servent_sim::unicast::random::draw(&mut Choose::random(drawn), drawn);
                Some(Self::Unicast(Box::new(scenario)))
            }
            "random-routing" => {
                let scenario =
                    servent_sim::routing::random::draw(&mut Choose::random(drawn), drawn);
                Some(Self::Routing(Box::new(scenario)))
            }
            "random-swarm" => {
                let scenario = servent_sim::swarm::random::draw(&mut Choose::random(drawn), drawn);
                Some(Self::Swarm(Box::new(scenario)))
            }
            _ => Self::all().find(|scenario| scenario.shown().id == name),
        }
    }

    fn parse(text: &str) -> Result<Self, Box<dyn Error>> {
        let tree: Value = serde_json::from_str(text)?;
        if tree.get("shape").is_some() {
            let scenario = servent_sim::routing::Scenario::parse(text)?;
            return Ok(Self::Routing(Box::new(scenario)));
        }
        if tree.get("pieces").is_some() {
            return Ok(Self::Swarm(Box::new(servent_sim::swarm::Scenario::parse(text)?)));
        }
        if tree.get("nodes").is_some() || tree.get("script").is_some() {
            let scenario = servent_sim::unicast::Scenario::parse(text)?;
            return Ok(Self::Unicast(Box::new(scenario)));
        }
        Ok(Self::Queue(Box::new(servent_sim::queue::Scenario::parse(text)?)))
    }

    fn shown(&self) -> Shown<'_> {
        match self {
            Self::Queue(s) => Shown { id: &s.id, title: &s.title, text: &s.text },
            Self::Unicast(s) => Shown { id: &s.id, title: &s.title, text: &s.text },
            Self::Routing(s) => Shown { id: &s.id, title: &s.title, text: &s.text },
            Self::Swarm(s) => Shown { id: &s.id, title: &s.title, text: &s.text },
        }
    }

    fn seed(&self) -> u64 {
        match self {
            Self::Queue(s) => s.seed,
            Self::Unicast(s) => s.seed,
            Self::Routing(s) => s.seed,
            Self::Swarm(s) => s.seed,
        }
    }

    fn play(&self, seed: u64, settle: bool) -> Run {
        match self {
            Self::Queue(s) => {
                queue::play(servent_sim::queue::Scenario { seed, ..(**s).clone() }, settle)
            }
            Self::Unicast(s) => {
                unicast::play(servent_sim::unicast::Scenario { seed, ..(**s).clone() }, settle)
            }
            Self::Routing(s) => {
                routing::play(servent_sim::routing::Scenario { seed, ..(**s).clone() })
            }
            Self::Swarm(s) => {
                swarm::play(&servent_sim::swarm::Scenario { seed, ..(**s).clone() }, settle)
            }
        }
    }

    /// The same scenario with another policy, if it is a swarm.
    fn under(mut self, policy: Option<Policy>) -> Self {
        if let (Self::Swarm(scenario), Some(policy)) = (&mut self, policy) {
            scenario.swarm.policy = policy;
        }
        self
    }
}

pub(crate) fn run(_common: &Common, arguments: &Arguments) -> Result<(), Failure> {
    if let Some(Action::Merge(merge)) = &arguments.action {
        return merge::run(merge);
    }
    let Some(name) = &arguments.scenario else { return list(arguments.json) };
    let scenario = find(name, arguments.seed)?;
    if arguments.policy.is_some() && !matches!(scenario, Scenario::Swarm(_)) {
        return Err(Failure::usage(format!("--policy is for swarms, and {name} is none"))
            .next("leave it out, or choose a swarm: `servent sim` lists all scenarios"));
    }
    let scenario = scenario.under(arguments.policy);
    if arguments.show {
        return print(format!("{}\n", serde_json::to_string_pretty(&scenario).unwrap_or_default()));
    }
    let first = arguments.seed.unwrap_or(scenario.seed());
    let mut broken = 0_u64;
    for seed in first..first.saturating_add(arguments.sweep) {
        if arguments.shard.is_some_and(|shard| !shard.has(seed - first)) {
            continue;
        }
        let drawn = Scenario::named(name, Some(seed)).unwrap_or_else(|| scenario.clone());
        let run = drawn.under(arguments.policy).play(seed, arguments.settle);
        if arguments.json {
            print(format!("{}\n", serde_json::to_string(&run).unwrap_or_default()))?;
        } else {
            print(sentence(&run))?;
        }
        if arguments.shard.is_some() {
            broken += u64::from(!run.violations.is_empty());
        } else if let Some(violation) = run.violations.first() {
            let what = format!("seed {seed}: {violation}");
            let settle = if arguments.settle { " --settle" } else { "" };
            return Err(Failure::new(Exit::Unverified, what)
                .next(format!("see it again with: servent sim {name}{settle} --seed {seed}")));
        }
    }
    match broken {
        0 => Ok(()),
        n => Err(Failure::new(Exit::Unverified, format!("{n} runs of this share broke a rule"))
            .next("`servent sim merge` names the worst seeds of all shares")),
    }
}

/// Parses the name of a policy.
fn policy(name: &str) -> Result<Policy, String> {
    match name {
        "adaptive" => Ok(Policy::Adaptive),
        "seed2004" => Ok(Policy::Seed2004),
        _ => Err(String::from("the policies are adaptive and seed2004")),
    }
}

fn list(json: bool) -> Result<(), Failure> {
    for preset in Scenario::all() {
        if json {
            print(format!("{}\n", serde_json::to_string(&preset).unwrap_or_default()))?;
        } else {
            let Shown { id, title, text } = preset.shown();
            print(format!("{id:<16} {title}\n{:<16} {text}\n", ""))?;
        }
    }
    Ok(())
}

fn find(name: &str, seed: Option<u64>) -> Result<Scenario, Failure> {
    if let Some(scenario) = Scenario::named(name, seed) {
        return Ok(scenario);
    }
    let path = PathBuf::from(name);
    if !path.exists() && !name.contains(['/', '.']) {
        let known: Vec<String> = Scenario::all().map(|s| s.shown().id.to_owned()).collect();
        return Err(Failure::usage(format!("there is no preset {name}"))
            .next(format!("choose one of {}, or name a file", known.join(", "))));
    }
    read(&path)
}

fn read(path: &Path) -> Result<Scenario, Failure> {
    let bytes = std::fs::read(path).map_err(|e| Failure::file("read", path, &e))?;
    let text = String::from_utf8(bytes).map_err(|_| "not a scenario: it is no text".into());
    text.and_then(|text| Scenario::parse(&text)).map_err(|what| {
        Failure::new(Exit::Foreign, format!("{}: {what}", path.display()))
            .next("`servent sim rush-hour --show` prints one that works")
    })
}

fn sentence(run: &Run) -> String {
    let Run { scenario, seed, seconds, events, digest, violations, .. } = run;
    let oracles = match violations.len() {
        0 => "oracles silent".to_owned(),
        n => format!("{n} VIOLATIONS"),
    };
    let outcome = match &run.outcome {
        Outcome::Downloads { whole, failed } => format!("{whole} downloads whole, {failed} failed"),
        Outcome::Messages { written, read, named, lost, resent } => format!(
            "{read} of {written} messages read, {named} named as undelivered, {lost} datagrams \
             lost, {resent} messages sent again"
        ),
        Outcome::Overlay { nodes, searches, answers, tally } => {
            let t = tally.as_deref();
            let count = |of: fn(&servent_sim::routing::TallyView) -> u64| t.map_or(0, of);
            format!(
                "{searches} searches in {nodes} servents, {answers} answers home; {} messages, {} \
                 useful, {} duplicate, {} dropped for other reasons, {} lost",
                count(|t| t.sent),
                count(|t| t.useful),
                count(|t| t.duplicate),
                count(|t| t.dropped - t.duplicate),
                count(|t| t.lost),
            )
        }
        Outcome::Swarm { policy, result } => swarm::told(*policy, result),
    };
    format!(
        "{scenario} seed {seed}: {outcome} in {seconds} s, {events} events, {oracles}, digest \
         {digest}\n"
    )
}
