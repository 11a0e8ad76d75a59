//! A second chance for what depends on real time. The program's tests and the
//! browsers share the machine with whatever else it does; one that fails is
//! run once more with nothing beside it. Passing then is passing, but never in
//! silence: the result names the test that must be mended. What is
//! deterministic (core, specification, simulator) gets no second chance.

use std::thread;

use anyhow::{Context as _, Error, Result, bail};

use crate::programs::{self, Program, Ran};
use crate::steps::now;

/// How the summary calls it. Searched for by people: do not change lightly.
pub(crate) const ALONE: &str = "passed only when run alone";

/// Runs every test of the workspace and gives failed ones of the program
/// their second chance. The words for the summary.
///
/// # Errors
/// A deterministic test failed, or one of the program did so twice, or
/// something failed that is no test.
pub(crate) fn tests() -> Result<String> {
    let programs = programs::build()?;
    let (real, computed): (Vec<_>, Vec<_>) = programs.into_iter().partition(|p| p.real);
    let ran = thread::scope(|scope| {
        let lanes = [real, computed].map(|lane| scope.spawn(|| in_order(lane)));
        lanes.map(|lane| lane.join().expect("a lane of tests broke off")).into_iter().flatten()
    });
    let (mut passed, mut again, mut broken) = (0, Vec::new(), Vec::new());
    for (program, ran) in ran {
        passed += ran.passed;
        if let Some(why) = ran.broken {
            broken.push(format!("{}: {why:#}", program.name));
        } else if program.real {
            again.extend(ran.failed.into_iter().map(|test| (program.clone(), test)));
        } else {
            broken.extend(ran.failed.iter().map(|test| format!("{}: {test}", program.name)));
        }
    }
    let mut alone = Vec::new();
    for (program, test) in &again {
        println!("again, alone: {test} ({})", program.name);
        match program.alone(test) {
            Ok(()) => alone.push(test.as_str()),
            Err(_) => broken.push(format!("{}: {test}, twice, also alone", program.name)),
        }
    }
    println!("{} passed, {} failed", passed + alone.len(), broken.len());
    if !broken.is_empty() {
        bail!("failed:\n    {}", broken.join("\n    "));
    }
    Ok(if alone.is_empty() { format!("{passed} tests") } else { note(&alone) })
}

/// Runs them one after the other, a line each; what one that failed has said
/// is shown.
fn in_order(lane: Vec<Program>) -> Vec<(Program, Ran)> {
    let run = |program: Program| {
        let began = now();
        let ran = program.run();
        let (took, failed) = (began.elapsed().as_secs_f64(), ran.failed.len());
        let line = format!("     {took:>6.1} s {:<36} {} passed", program.name, ran.passed);
        match &ran.broken {
            Some(why) => println!("{}\n{line}, {why:#}", ran.said),
            None if failed > 0 => println!("{}\n{line}, {failed} failed", ran.said),
            None if ran.passed > 0 => println!("{line}"),
            None => {}
        }
        (program, ran)
    };
    lane.into_iter().map(run).collect()
}

/// Does `what`, and once more when it fails. What it gave, and the words for
/// the summary.
///
/// # Errors
/// That of the second time.
pub(crate) fn chance<T>(name: &str, what: impl Fn() -> Result<T>) -> Result<(T, String)> {
    match what() {
        Ok(done) => Ok((done, String::new())),
        Err(why) => again(name, &why, what),
    }
}

/// Does what failed before once more, now that nothing runs beside it.
///
/// # Errors
/// It failed again.
pub(crate) fn again<T>(
    name: &str,
    why: &Error,
    what: impl Fn() -> Result<T>,
) -> Result<(T, String)> {
    println!("{why:#}\nagain, alone: {name}");
    let done = what().with_context(|| format!("{name} failed twice"))?;
    Ok((done, note(&[name])))
}

/// What there is to say, in one line.
pub(crate) fn joined(words: &[String]) -> String {
    words.iter().filter(|w| !w.is_empty()).map(String::as_str).collect::<Vec<_>>().join("; ")
}

fn note(names: &[&str]) -> String {
    format!("{ALONE}: {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_time_counts_and_is_told() {
        let left = std::cell::Cell::new(1);
        let fails = |times: u32| {
            left.set(times);
            || {
                let n = left.get();
                left.set(n.saturating_sub(1));
                if n == 0 { Ok(7) } else { bail!("busy") }
            }
        };
        assert_eq!(chance("x", fails(0)).unwrap(), (7, String::new()));
        let (seven, note) = chance("x.test.js", fails(1)).unwrap();
        assert_eq!((seven, note.as_str()), (7, "passed only when run alone: x.test.js"));
        assert!(chance("x", fails(2)).is_err());
    }
}
