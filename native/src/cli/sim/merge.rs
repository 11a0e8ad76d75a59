//! Sweeps in shares: which seeds are whose, and how the results are joined.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::path::PathBuf;

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::cli::print;
use crate::exit::{Exit, Failure};
use crate::progress::count;
use servent_sim::registry::PlayedRun;

/// How many of the worst seeds are named.
const WORST: usize = 10;
/// A bucket of a sketch is this fraction of its power of two wide.
const PARTS: u64 = 32;

/// One share of a sweep: `I/N`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shard {
    index: u64,
    of: u64,
}

impl Shard {
    /// `2/8`: the second of eight.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let both = text.split_once('/');
        let shard =
            both.and_then(|(i, n)| Some(Self { index: i.parse().ok()?, of: n.parse().ok()? }));
        let shard = shard.filter(|shard| (1..=shard.of).contains(&shard.index));
        shard.ok_or_else(|| "it is no share such as 1/8, the first of eight".into())
    }

    /// True when this share has the seed at that place of the sweep. Each seed is
    /// in exactly one share, wherever it runs.
    pub(super) const fn has(self, place: u64) -> bool {
        place % self.of == self.index - 1
    }
}

/// Join the results of a sweep's shares, as `--json` wrote them.
///
/// How many runs there were, which broke a rule, which were the worst, and how
/// each number is distributed, to within two percent. What it prints can be
/// joined again.
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  servent sim random-queue --sweep 10000 --shard 1/4 --json > 1.jsonl
  servent sim merge 1.jsonl 2.jsonl 3.jsonl 4.jsonl")]
pub(super) struct Merge {
    /// Files with a run a line, or with what a merge has printed.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// As one JSON object.
    #[arg(long)]
    json: bool,
}

/// What is known of many runs.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct RunsSummary {
    runs: u64,
    /// Runs that broke a rule.
    broken: u64,
    /// The runs with the most broken rules, then those with the most events.
    worst: Vec<Bad>,
    sketches: BTreeMap<String, Sketch>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
struct Bad {
    violations: u64,
    events: u64,
    scenario: String,
    seed: u64,
    what: Option<String>,
}

/// How a number is distributed: counts in buckets whose width grows with the
/// number, so that two sketches are joined by adding.
#[derive(Debug, Default, PartialEq, Serialize, Deserialize)]
struct Sketch {
    least: u64,
    most: u64,
    sum: u64,
    /// By the lower bound of the bucket.
    buckets: BTreeMap<u64, u64>,
}

impl Sketch {
    fn add(&mut self, n: u64) {
        self.join(&Self { least: n, most: n, sum: n, buckets: [(floor(n), 1)].into() });
    }

    fn join(&mut self, other: &Self) {
        self.least =
            if self.buckets.is_empty() { other.least } else { self.least.min(other.least) };
        self.most = self.most.max(other.most);
        self.sum = self.sum.saturating_add(other.sum);
        for (from, count) in &other.buckets {
            *self.buckets.entry(*from).or_default() += count;
        }
    }

    /// The number that so many percent are not above, about.
    fn quantile(&self, percent: u64) -> u64 {
        let all: u64 = self.buckets.values().sum();
        let wanted = (all * percent).div_ceil(100).max(1);
        let mut before = 0;
        let found = self.buckets.iter().find(|(_, count)| {
            before += **count;
            before >= wanted
        });
        let from = found.map_or(self.most, |(from, _)| *from);
        (from + width(from) / 2).clamp(self.least, self.most)
    }
}

/// The width of the bucket that begins at or before `n`.
fn width(n: u64) -> u64 {
    (n.checked_ilog2().map_or(1, |power| 1_u64 << power) / PARTS).max(1)
}

fn floor(n: u64) -> u64 {
    n - n % width(n)
}

impl RunsSummary {
    /// Adds a run.
    pub(super) fn add(&mut self, run: &PlayedRun) {
        let value = serde_json::to_value(run).unwrap_or_default();
        let added = value.as_object().and_then(|run| self.run(run));
        debug_assert!(added.is_some(), "a run has what a summary needs");
    }

    /// Adds a run, as [`PlayedRun`] is written, or another summary.
    fn line(&mut self, text: &str) -> Result<(), String> {
        let value: Value = serde_json::from_str(text).map_err(|why| why.to_string())?;
        if value.get("sketches").is_some() {
            let other: Self = serde_json::from_value(value).map_err(|why| why.to_string())?;
            self.join(other);
            return Ok(());
        }
        let run = value.as_object().ok_or("a line is no run")?;
        self.run(run).ok_or_else(|| "a line is no run".into())
    }

    fn run(&mut self, run: &Map<String, Value>) -> Option<()> {
        let number = |key: &str| run.get(key)?.as_u64();
        let violations = run.get("violations")?.as_array()?;
        let word = |one: &Value, key: &str| one[key].as_str().unwrap_or_default().to_owned();
        let what = |one| format!("{}: {}", word(one, "oracle"), word(one, "key"));
        let what = violations.first().map(what);
        let bad = Bad {
            violations: violations.len() as u64,
            events: number("events")?,
            scenario: run.get("scenario")?.as_str()?.to_owned(),
            seed: number("seed")?,
            what,
        };
        self.runs += 1;
        self.broken += u64::from(bad.violations > 0);
        self.worst.push(bad);
        self.cut();
        let numbers = run.iter().filter(|(name, _)| *name != "seed");
        for (name, n) in numbers.filter_map(|(name, value)| Some((name, value.as_u64()?))) {
            self.sketches.entry(name.clone()).or_default().add(n);
        }
        Some(())
    }

    fn join(&mut self, other: Self) {
        self.runs += other.runs;
        self.broken += other.broken;
        self.worst.extend(other.worst);
        self.cut();
        for (name, sketch) in other.sketches {
            self.sketches.entry(name).or_default().join(&sketch);
        }
    }

    fn cut(&mut self) {
        self.worst.sort_by(|a, b| b.cmp(a));
        self.worst.truncate(WORST);
    }

    /// As text, or as one JSON object.
    pub(super) fn told(&self, json: bool) -> String {
        if json {
            return format!("{}\n", json!(self));
        }
        let mut out = format!("{}, {} broke a rule\n", count(self.runs, "run"), self.broken);
        for (name, sketch) in &self.sketches {
            let [half, most, nearly] = [50, 90, 99].map(|percent| sketch.quantile(percent));
            out.push_str(&format!(
                "{name:<12} {} … {half} (p50) … {most} (p90) … {nearly} (p99) … {}\n",
                sketch.least, sketch.most
            ));
        }
        for Bad { scenario, seed, events, what, .. } in &self.worst {
            let what = what.as_deref().unwrap_or("no rule broken");
            // The name of a drawn scenario ends with its seed.
            let name = scenario.strip_suffix(&format!("-{seed}")).unwrap_or(scenario);
            let events = count(*events, "event");
            out.push_str(&format!("servent sim {name} --seed {seed}: {events}, {what}\n"));
        }
        out
    }
}

pub(super) fn run(merge: &Merge) -> Result<(), Failure> {
    let mut all = RunsSummary::default();
    for path in &merge.files {
        let file = std::fs::File::open(path).map_err(|e| Failure::file("read", path, &e))?;
        for (number, line) in (1..).zip(BufReader::new(file).lines()) {
            let line = line.map_err(|e| Failure::file("read", path, &e))?;
            all.line(&line).map_err(|why| {
                Failure::new(Exit::Foreign, format!("{}:{number}: {why}", path.display()))
                    .next("name files that `servent sim --sweep N --json` has written")
            })?;
        }
    }
    print(all.told(merge.json))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn st_8_every_seed_is_in_exactly_one_share() {
        let shards = ["1/3", "2/3", "3/3"].map(|text| Shard::parse(text).unwrap());
        for place in 0..100 {
            assert_eq!(shards.iter().filter(|shard| shard.has(place)).count(), 1);
        }
        for wrong in ["0/3", "4/3", "1", "1/0", "a/b", ""] {
            assert!(Shard::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn st_8_shares_joined_in_any_order_are_the_whole() {
        let line = |seed: u64| {
            let violations = if seed % 50 == 7 {
                json!([{ "oracle": "line", "key": "bad" }])
            } else {
                json!([])
            };
            let run = json!({ "scenario": "x", "seed": seed, "events": seed * seed,
                "seconds": 60, "violations": violations, "digest": "d" });
            run.to_string()
        };
        let sum = |seeds: &mut dyn Iterator<Item = u64>| {
            let mut summary = RunsSummary::default();
            seeds.for_each(|seed| summary.line(&line(seed)).unwrap());
            summary
        };
        let whole = sum(&mut (0..1_000));
        let mut joined = RunsSummary::default();
        for share in [2, 0, 1] {
            let part = sum(&mut (0..1_000).filter(|seed| seed % 3 == share));
            joined.line(&serde_json::to_string(&part).unwrap()).unwrap();
        }
        assert_eq!(joined, whole);
        assert_eq!((whole.runs, whole.broken), (1_000, 20));
        assert_eq!(whole.worst[0].seed, 957);
        let events = &whole.sketches["events"];
        for (percent, exact) in [(50, 499_u64 * 499), (90, 899 * 899), (99, 989 * 989)] {
            let found = events.quantile(percent);
            assert!(found.abs_diff(exact) * 50 <= exact, "{percent}: {found} for {exact}");
        }
        assert_eq!(whole.sketches["seconds"].quantile(50), 60);
        assert!(
            RunsSummary::default().line("{}").is_err() && RunsSummary::default().line("x").is_err()
        );
    }
}
