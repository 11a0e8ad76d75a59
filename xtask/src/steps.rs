//! One line a step, with its time, and a clear end at the first failure.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Error, Result, bail};

use crate::second;

/// How a step ended when it did not fail.
pub(crate) enum Outcome {
    /// Done; the words are shown behind its name.
    Done(String),
    /// Left out, and why.
    Skipped(String),
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Self::Done(String::new())
    }
}

/// A step by name.
pub(crate) struct Step {
    /// What the command line calls it.
    pub(crate) name: &'static str,
    /// What it does, in half a line.
    pub(crate) what: &'static str,
    /// The doing.
    pub(crate) run: fn(&Context) -> Result<Outcome>,
}

/// What the steps may ask about this run.
pub(crate) struct Context {
    /// Leave the browsers out.
    pub(crate) no_browser: bool,
}

/// Steps that follow each other.
pub(crate) type Lane = Vec<&'static Step>;
/// Lanes that are walked side by side.
pub(crate) type Stage = Vec<Lane>;

/// What came of the steps so far.
#[derive(Default)]
struct Ends {
    skipped: Vec<&'static str>,
    failed: Vec<&'static str>,
    doubtful: Vec<String>,
}

impl Ends {
    fn with(mut self, other: Self) -> Self {
        self.skipped.extend(other.skipped);
        self.failed.extend(other.failed);
        self.doubtful.extend(other.doubtful);
        self
    }
}

/// Goes through the stages in order. After a failure no step begins any more,
/// unless `keep_going`.
///
/// # Errors
/// How many steps failed, by name.
pub(crate) fn run(stages: &[Stage], context: &Context, keep_going: bool) -> Result<()> {
    let start = now();
    let stop = AtomicBool::new(false);
    let walk = |lane: &Lane| {
        let mut ends = Ends::default();
        for step in lane {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            take(step, context, &mut ends);
            stop.fetch_or(!keep_going && !ends.failed.is_empty(), Ordering::Relaxed);
        }
        ends
    };
    let ends = stages.iter().fold(Ends::default(), |ends, stage| {
        std::thread::scope(|scope| {
            let walking: Vec<_> =
                stage.iter().map(|lane| scope.spawn(move || walk(lane))).collect();
            let ended = walking.into_iter().map(|lane| lane.join().expect("a step broke off"));
            ended.fold(ends, Ends::with)
        })
    });
    let total = seconds(start.elapsed());
    if !ends.failed.is_empty() {
        bail!("failed after {total}: {}", ends.failed.join(", "));
    }
    let left_out = if ends.skipped.is_empty() {
        String::new()
    } else {
        format!(", left out: {}", ends.skipped.join(", "))
    };
    for words in ends.doubtful {
        println!("LOOK: {words}");
    }
    let steps: usize = stages.iter().flatten().map(Vec::len).sum();
    println!("all {steps} steps ok in {total}{left_out}");
    Ok(())
}

/// One step: what it does, the line about it, and what came of it.
fn take(step: &'static Step, context: &Context, ends: &mut Ends) {
    let began = now();
    let outcome = (step.run)(context);
    let took = seconds(began.elapsed());
    match outcome {
        Ok(Outcome::Done(words)) => {
            line("ok", &took, step, &words);
            ends.doubtful.extend(words.contains(second::ALONE).then_some(words));
        }
        Ok(Outcome::Skipped(why)) => {
            line("skip", &took, step, &why);
            ends.skipped.push(step.name);
        }
        Err(error) => {
            broken(&took, step, &error);
            ends.failed.push(step.name);
        }
    }
}

fn broken(took: &str, step: &Step, error: &Error) {
    line("FAIL", took, step, step.what);
    println!("{error:#}");
    println!("run it alone with `cargo xtask test {}`", step.name);
}

fn line(mark: &str, took: &str, step: &Step, words: &str) {
    let words = if words.is_empty() { step.what } else { words };
    println!("{mark:<4} {took:>8} {:<12} {words}", step.name);
}

fn seconds(took: Duration) -> String {
    let s = took.as_secs_f64();
    if s < 60.0 {
        format!("{s:.1} s")
    } else {
        format!("{}:{:02} min", s as u64 / 60, s as u64 % 60)
    }
}

/// This tool times what it runs; nothing is decided by it.
#[allow(clippy::disallowed_methods)]
pub(crate) fn now() -> Instant {
    Instant::now()
}
