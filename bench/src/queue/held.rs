//! Ten thousand clients that wait on their connections.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::host::{self, Client};
use crate::queue::holder::Summary;
use crate::report::{Report, Target};

const NAME: &str = "held.bin";

/// The clients live in a process of their own; the server's memory is read
/// before and while it holds them.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    let (count, polls): (u32, u32) = if quick { (1_000, 2) } else { (10_000, 3) };
    report.note("connections held in the queue");
    raise_descriptors(u64::from(count) + 1_000);
    let dir = tempfile::tempdir()?;
    let share = dir.path().join("share");
    std::fs::create_dir(&share)?;
    // Larger than every buffer on the way, so that the slot stays taken.
    std::fs::File::create(share.join(NAME))?.set_len(64 << 20)?;
    let capacity = format!("queue.capacity={count}");
    let connections = format!("limits.connections={}", count + 100);
    // Only the schedule is shortened: pollMin of a late place is 225 s.
    let settings = [
        "queue.slots=1",
        "queue.time_scale=20",
        "limits.reader_window=1h",
        &capacity,
        &connections,
    ];
    let server = host::servent(&share, &dir.path().join("state"), &settings)?;
    let target = host::target_of(&server, NAME)?;
    let _owner = Client::owner(server.at, &target)?;

    let before = server.resident()?;
    let mut child = Command::new(std::env::current_exe()?)
        .args(["hold", &server.at.to_string(), &target, &count.to_string(), &polls.to_string()])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()?;
    let mut most = before;
    while child.try_wait()?.is_none() {
        most = most.max(server.resident()?);
        crate::measure::pause();
    }
    let out = child.wait_with_output()?;
    let text = String::from_utf8_lossy(&out.stdout);
    let summary: Summary = serde_json::from_str(&text).context("the clients said nothing")?;

    let each = (most - before) as f64 / 1024.0 / f64::from(count);
    let kernel = ("", None);
    let case = |what: &str| format!("{count} held connections: {what}");
    report.add(("queue", case("memory each"), "KiB"), each, kernel, &Target::AtMost(8.0));
    let wanted = f64::from(count) * f64::from(polls);
    report.add(
        ("queue", case("answers in time"), "answers"),
        f64::from(summary.on_time),
        ("requests sent", Some(wanted)),
        &Target::RatioAtLeast(1.0),
    );
    report.add(("queue", case("answer p50"), "ms"), summary.p50_ms, ("", None), &Target::None);
    report.add(("queue", case("answer p99"), "ms"), summary.p99_ms, ("", None), &Target::None);
    Ok(())
}

/// Asks for as many descriptors as we need. Where the system grants fewer, the
/// case that runs out says so.
pub(crate) fn raise_descriptors(wanted: u64) {
    let limit = getrlimit(Resource::Nofile);
    if limit.current.is_none_or(|current| current >= wanted) {
        return;
    }
    let maximum = limit.maximum.map(|maximum| maximum.max(wanted));
    let raised = Rlimit { current: Some(wanted), maximum };
    if setrlimit(Resource::Nofile, raised).is_err() {
        let _ = setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, ..limit });
    }
}
