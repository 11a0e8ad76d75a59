//! One line a step, with its time, and a clear end at the first failure.

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

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

/// Runs `steps` in order.
///
/// # Errors
/// The first failure, or with `keep_going` how many there were.
pub(crate) fn run(steps: &[&Step], context: &Context, keep_going: bool) -> Result<()> {
    let start = now();
    let (mut skipped, mut failed, mut doubtful) = (Vec::new(), Vec::new(), Vec::new());
    for step in steps {
        announce(step);
        let began = now();
        let outcome = (step.run)(context);
        let took = seconds(began.elapsed());
        match outcome {
            Ok(Outcome::Done(words)) => {
                line("ok", &took, step, &words);
                doubtful.extend(words.contains(second::ALONE).then_some(words));
            }
            Ok(Outcome::Skipped(why)) => {
                line("skip", &took, step, &why);
                skipped.push(step.name);
            }
            Err(error) => {
                line("FAIL", &took, step, step.what);
                println!("{error:#}");
                println!("run it alone with `cargo xtask test {}`", step.name);
                failed.push(step.name);
                if !keep_going {
                    break;
                }
            }
        }
    }
    let total = seconds(start.elapsed());
    if !failed.is_empty() {
        bail!("failed after {total}: {}", failed.join(", "));
    }
    let left_out = if skipped.is_empty() {
        String::new()
    } else {
        format!(", left out: {}", skipped.join(", "))
    };
    for words in doubtful {
        println!("LOOK: {words}");
    }
    println!("all {} steps ok in {total}{left_out}", steps.len());
    Ok(())
}

fn announce(step: &Step) {
    if std::io::stdout().is_terminal() {
        print!("....          {:<12} {}\r", step.name, step.what);
        let _ = std::io::stdout().flush();
    }
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

#[allow(clippy::disallowed_methods)] // This tool times its own steps; nothing is decided by it.
fn now() -> Instant {
    Instant::now()
}
