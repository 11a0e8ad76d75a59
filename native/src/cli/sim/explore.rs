//! `servent sim SCENARIO --explore`: every order of events, on all cores.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use clap::Args;
use data_encoding::BASE64URL_NOPAD;
use miniz_oxide::deflate::compress_to_vec;
use serde::Serialize;
use servent_sim::ScenarioError;
use servent_sim::registry::{
    Choice, Ended, Explored, Limits, StoryStep, TaggedScenario, WorldWalk,
};

use crate::cli::print;
use crate::exit::{Exit, Failure};
use crate::progress::count;
use servent::Clock;

/// States whose successors one core looks for at a time.
const PART: usize = 64;
/// Parts of a level that are looked for before they are absorbed, for each core:
/// more would need more memory.
const ROUND: usize = 4;
/// A line about the progress is printed this often.
const PROGRESS: Duration = Duration::from_secs(2);
/// Longer links are cut by mail programs and chat rooms.
const LONGEST_LINK: usize = 2_000;

/// How much an exploration may use.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Walk every order of events of a small world, and print the shortest story
    /// that breaks a rule. Time is open: a message arrives, is lost or doubled at
    /// any moment, and timers run meanwhile.
    #[arg(long)]
    explore: bool,
    /// Messages that may be lost.
    #[arg(long, value_name = "N", requires = "explore")]
    losses: Option<u32>,
    /// Messages that may arrive twice.
    #[arg(long, value_name = "N", requires = "explore")]
    doubles: Option<u32>,
    /// Crashes there may be.
    #[arg(long, value_name = "N", requires = "explore")]
    crashes: Option<u32>,
    /// Stories are no longer than so many events.
    #[arg(long, value_name = "N", requires = "explore")]
    depth: Option<u32>,
    /// Walk no more than so many states.
    #[arg(long, value_name = "N", requires = "explore")]
    states: Option<u64>,
    /// Use so many cores; all of them if it is not given.
    #[arg(long, value_name = "N", requires = "explore", value_parser = clap::value_parser!(u64).range(1..=256))]
    cores: Option<u64>,
}

impl Arguments {
    /// True when a world is to be explored.
    pub(super) const fn is_wanted(&self) -> bool {
        self.explore
    }

    /// The limits of a scenario: its own where it is a small world.
    fn limits(&self, scenario: &TaggedScenario) -> Limits {
        let own = scenario.limits();
        Limits {
            losses: self.losses.unwrap_or(own.losses),
            doubles: self.doubles.unwrap_or(own.doubles),
            crashes: self.crashes.unwrap_or(own.crashes),
            depth: self.depth.unwrap_or(own.depth),
            states: self.states.unwrap_or(own.states),
            ..own
        }
    }

    fn cores(&self) -> usize {
        let all = || thread::available_parallelism().map_or(1, usize::from);
        self.cores.map_or_else(all, |cores| cores as usize)
    }
}

/// What is printed as JSON.
#[derive(Serialize)]
struct Printed<'a> {
    scenario: &'a str,
    #[serde(flatten)]
    found: &'a Explored,
    limits: &'a Limits,
    milliseconds: u64,
    cores: usize,
    steps: &'a [StoryStep],
    file: Option<&'a PathBuf>,
    link: Option<&'a str>,
}

/// Explores a scenario, and fails with the shortest story when a rule breaks.
pub(super) fn run(
    scenario: &TaggedScenario,
    arguments: &Arguments,
    json: bool,
) -> Result<(), Failure> {
    let wrong = |why: ScenarioError| Failure::new(Exit::Foreign, why.to_string());
    let (limits, cores) = (arguments.limits(scenario), arguments.cores());
    let mut walk = scenario
        .walk(limits.clone())
        .ok_or_else(|| {
            let what = format!("worlds of {} cannot be explored yet", scenario.protocol);
            Failure::usage(what)
                .next("explore another one, such as `servent sim all-of-two-messages --explore`")
        })?
        .map_err(wrong)?;
    let clock = Clock::new();
    let (start, mut next) = (clock.now(), PROGRESS);
    let elapsed = || Duration::from_micros(clock.now().since(start).as_micros());
    while go_on(&mut *walk, cores).is_none() {
        if elapsed() > next {
            next += PROGRESS;
            let Explored { states, depth, .. } = walk.found();
            eprintln!("{}, {depth} deep, so far", count(*states, "state"));
        }
    }
    let took = elapsed();
    let story = walk.story().map_err(wrong)?;
    let found = walk.found();
    let retold = story.as_ref().and_then(|story| story.scenario.as_ref());
    let kept = retold.and_then(keep);
    let link = retold.and_then(link_to);
    let steps = story.as_ref().map_or(&[][..], |story| &story.steps);
    let id = scenario.about().id;
    if json {
        let printed = Printed {
            scenario: id,
            found,
            limits: &limits,
            milliseconds: took.as_millis() as u64,
            cores,
            steps,
            file: kept.as_ref(),
            link: link.as_deref(),
        };
        print(format!("{}\n", serde_json::to_string(&printed).unwrap_or_default()))?;
    } else {
        print(sentence(id, found, took))?;
        for (n, step) in (1..).zip(steps) {
            print(format!("{n:>3}. {}\n", told(step)))?;
        }
        if let Some(link) = &link {
            print(format!("in the lab, after its address: {link}\n"))?;
        }
    }
    let Some(violation) = &found.violation else { return Ok(()) };
    let what = format!("{}: {violation}", count(found.story.len() as u64, "event"));
    let failure = Failure::new(Exit::Unverified, what);
    Err(match kept {
        Some(file) => {
            failure.next(format!("see it again with: servent sim {} --settle", file.display()))
        }
        None => {
            failure.next("no scenario was found in which it happens by itself; the steps are above")
        }
    })
}

/// Expands some states of a level on all cores, and absorbs them in their order:
/// so the counts do not depend on the number of cores.
fn go_on(walk: &mut dyn WorldWalk, cores: usize) -> Option<Ended> {
    let parts = walk.waiting().div_ceil(PART).min(cores * ROUND);
    let shared: &dyn WorldWalk = walk;
    let expand = |part: usize| {
        let from = part * PART;
        shared.expand(from..(from + PART).min(shared.waiting()))
    };
    let results: BTreeMap<usize, _> = if cores.min(parts) <= 1 {
        (0..parts).map(|part| (part, expand(part))).collect()
    } else {
        let next = AtomicUsize::new(0);
        let work = || {
            let taken = || Some(next.fetch_add(1, Ordering::Relaxed)).filter(|part| *part < parts);
            std::iter::from_fn(taken).map(|part| (part, expand(part))).collect::<Vec<_>>()
        };
        thread::scope(|scope| {
            let workers: Vec<_> = (0..cores.min(parts)).map(|_| scope.spawn(work)).collect();
            // A panic of a worker is a bug of an engine, and ends the program here.
            workers
                .into_iter()
                .flat_map(|worker| worker.join().expect("no engine panics"))
                .collect()
        })
    };
    walk.absorb(results.into_values().collect())
}

fn sentence(id: &str, found: &Explored, took: Duration) -> String {
    let Explored { states, transitions, depth, ends, ended, .. } = found;
    let how = match ended {
        Ended::Complete => "complete",
        Ended::Broken => "a rule is broken",
        Ended::Depth => "not complete: `--depth` ended it",
        Ended::States => "not complete: `--states` ended it",
        Ended::Cancelled => "cancelled",
    };
    format!(
        "{id}: {}, {}, {depth} deep, {}, {how}, in {:.1} s\n",
        count(*states, "state"),
        count(*transitions, "event"),
        count(*ends, "end"),
        took.as_secs_f64()
    )
}

/// A step in words.
fn told(StoryStep { at, choice, message, .. }: &StoryStep) -> String {
    let what = match choice {
        Choice::Act { index } => format!("action {} of the scenario happens", index + 1),
        Choice::Deliver { .. } => format!("{message} arrives"),
        Choice::Lose { .. } => format!("{message} is lost"),
        Choice::Double { .. } => format!("{message} is doubled"),
        Choice::Planned { .. } => String::from("what was begun ends"),
        Choice::Timer { node } => format!("the timer of node {node} runs"),
        Choice::Crash { node } => format!("node {node} crashes and starts again"),
    };
    format!("{at:?} {what}")
}

/// Writes the scenario of a story to a file.
fn keep(scenario: &TaggedScenario) -> Option<PathBuf> {
    let file = PathBuf::from(format!("{}-story.json", scenario.about().id));
    let text = serde_json::to_string_pretty(scenario).ok()?;
    std::fs::write(&file, text).ok()?;
    Some(file)
}

/// The fragment by which the lab opens the scenario of a story.
fn link_to(scenario: &TaggedScenario) -> Option<String> {
    let text = serde_json::to_string(&scenario.scenario).ok()?;
    let packed = BASE64URL_NOPAD.encode(&compress_to_vec(text.as_bytes(), 9));
    let link = format!("#1/{}?s={packed}", scenario.protocol);
    (link.len() <= LONGEST_LINK).then_some(link)
}
