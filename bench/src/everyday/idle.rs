//! How soon it listens, and what it takes while no client wants anything.

use std::fs;
use std::time::Duration;

use anyhow::{Context as _, Result};

use crate::host;
use crate::measure::{median, now, wait};
use crate::report::{Report, Target};

pub(super) fn run(report: &mut Report, quick: bool) -> Result<()> {
    let dir = tempfile::tempdir()?;
    let share = dir.path().join("share");
    fs::create_dir(&share)?;
    fs::write(share.join("song"), "la la la")?;

    let mut took = Vec::new();
    for round in 0..if quick { 5 } else { 21 } {
        let state = dir.path().join(format!("state-{round}"));
        let began = now();
        let server = host::servent(&share, &state, &[])?;
        took.push(began.elapsed().as_secs_f64() * 1_000.0);
        drop(server);
    }
    let case = "from start to listening";
    report.add(("everyday", case, "ms"), median(&mut took), ("", None), &Target::AtMost(50.0));

    let server = host::servent(&share, &dir.path().join("state"), &[])?;
    let length = Duration::from_secs(if quick { 10 } else { 60 });
    wait(Duration::from_secs(5));
    let before = busy(server.pid())?;
    wait(length);
    let share = (busy(server.pid())? - before) / length.as_secs_f64() * 100.0;
    let case = "processor while nobody wants anything";
    report.add(("everyday", case, "%"), share, ("", None), &Target::AtMost(0.1));
    Ok(())
}

/// Seconds a process has had a processor, by the system's scheduler.
fn busy(pid: u32) -> Result<f64> {
    let mut nanoseconds = 0_u64;
    for task in fs::read_dir(format!("/proc/{pid}/task"))? {
        let text = fs::read_to_string(task?.path().join("schedstat"))?;
        let first = text.split_whitespace().next().context("no schedstat")?;
        nanoseconds += first.parse::<u64>()?;
    }
    Ok(nanoseconds as f64 / 1e9)
}
