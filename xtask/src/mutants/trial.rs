//! Every mutant against the tests that reach it, first those that reach the
//! most in the least time.

use std::collections::BTreeMap;
use std::os::unix::process::ExitStatusExt as _;
use std::sync::Mutex;
use std::time::Duration;

use anyhow::Result;

use super::tests::{Program, STUCK, Test, WORKERS};

/// What came of one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Caught,
    /// No end within several times the processor time that the tests usually take.
    TimedOut,
    /// So many tests that come by were not tried: they take too long.
    Survived {
        untried: usize,
    },
}

/// What the first tests may take together; each further round four times that.
const FIRST: Duration = Duration::from_millis(30);
/// What they may take beyond thrice their usual time: many times what most take.
const PATIENCE: Duration = Duration::from_millis(500);
/// The signal of the system when a process has used up its processor time.
const OUT_OF_TIME: i32 = 24;

/// Judges the mutants of these numbers.
pub(crate) fn judge(
    programs: &[Program],
    ids: &[u32],
    patience: Duration,
    told: impl Fn(u32, Verdict) + Sync,
) -> Result<BTreeMap<u32, Verdict>> {
    let left = Mutex::new(ids.iter().rev().copied().collect::<Vec<_>>());
    std::thread::scope(|scope| {
        let worker = || {
            let next = || left.lock().expect("no worker fails").pop();
            let one = |id| {
                let verdict = alone(programs, id, patience)?;
                told(id, verdict);
                Ok((id, verdict))
            };
            std::iter::from_fn(next).map(one).collect::<Result<Vec<_>>>()
        };
        let workers: Vec<_> = (0..WORKERS).map(|_| scope.spawn(worker)).collect();
        let mut verdicts = BTreeMap::new();
        for worker in workers {
            verdicts.extend(worker.join().expect("a worker broke off")?);
        }
        Ok(verdicts)
    })
}

/// One mutant against the first tests that take `patience` together.
fn alone(programs: &[Program], id: u32, patience: Duration) -> Result<Verdict> {
    let mut tests: Vec<(usize, &Test)> = Vec::new();
    for (number, program) in programs.iter().enumerate() {
        let reach = program.tests.iter().filter(|test| test.reaches.contains(&id));
        tests.extend(reach.map(|test| (number, test)));
    }
    // What reaches much in little time sees most.
    tests.sort_by_key(|(_, test)| test.took / (test.sees() * test.reaches.len().max(1) as u32));
    let mut left = patience;
    let tried = tests.iter().take_while(|(_, test)| {
        let fits = test.took <= left;
        left = left.saturating_sub(test.took);
        fits
    });
    let tried = tried.count();
    let untried = tests.len() - tried;
    let mut budget = FIRST;
    let mut tests = &tests[..tried];
    while !tests.is_empty() {
        let mut sum = Duration::ZERO;
        let fits = |(_, test): &&(usize, &Test)| {
            sum += test.took;
            sum <= budget
        };
        let count = tests.iter().take_while(fits).count().max(1);
        let (round, rest) = tests.split_at(count);
        for (number, program) in programs.iter().enumerate() {
            let of_it = || round.iter().filter(|(of, _)| *of == number).map(|(_, test)| *test);
            let names: Vec<&str> = of_it().map(|test| &test.name[..]).collect();
            if names.is_empty() {
                continue;
            }
            let usual: Duration = of_it().map(|test| test.took).sum();
            let ended = program.with(id, &names, PATIENCE + 3 * usual)?;
            if ended.signal() == Some(OUT_OF_TIME) {
                return Ok(Verdict::TimedOut);
            }
            if ended.code() == Some(STUCK) {
                return Ok(Verdict::Survived { untried: untried + tests.len() });
            }
            if !ended.success() {
                return Ok(Verdict::Caught);
            }
        }
        (tests, budget) = (rest, budget * 4);
    }
    Ok(Verdict::Survived { untried })
}
