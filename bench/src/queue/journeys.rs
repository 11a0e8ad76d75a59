//! What users wait for: programs with the settings they come with, one
//! uplink, and how much of it is used. Beside each stands what the uplink
//! needs at least.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::Value;
use tempfile::TempDir;

use crate::host::{self, Server};
use crate::measure::{self, now};
use crate::report::{Report, Target};

const NAME: &str = "file.bin";
/// At most so often it is looked how many slots are busy.
const LOOK: Duration = Duration::from_millis(500);

/// One file on one uplink.
struct Uplink {
    dir: TempDir,
    server: Server,
    target: String,
    size: u64,
    /// Bytes a second.
    rate: u64,
}

/// All of them.
pub(super) fn run(report: &mut Report, quick: bool) -> Result<()> {
    report.note("journeys through the queue");
    through_two_slots(report)?;
    strangers(report)?;
    both_busy(report, quick)
}

impl Uplink {
    fn open(size: u64, slots: u32, rate: u64) -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let share = dir.path().join("share");
        std::fs::create_dir(&share)?;
        File::create(share.join(NAME))?.set_len(size)?;
        let settings = [format!("queue.slots={slots}"), format!("upload_rate={rate}")];
        let settings = settings.each_ref().map(String::as_str);
        let server = host::servent(&share, &dir.path().join("state"), &settings)?;
        let target = host::target_of(&server, NAME)?;
        Ok(Self { dir, server, target, size, rate })
    }

    /// What `count` downloads need at least, in seconds.
    fn bound(&self, count: u32) -> f64 {
        (u64::from(count) * self.size) as f64 / self.rate as f64
    }

    /// A program that downloads the file to a folder of its own.
    fn start(&self, mut command: Command, n: u32, arguments: &[&str]) -> Result<Child> {
        let (to, url) = (self.output_path(n), format!("http://{}{}", self.server.at, self.target));
        command.args(arguments).arg(url).arg("-o").arg(&to);
        command.env("XDG_CONFIG_HOME", self.dir.path()).stdin(Stdio::null());
        command.stdout(Stdio::null()).stderr(Stdio::null());
        let program = command.get_program().to_owned();
        command.spawn().with_context(|| format!("{} could not be started", program.display()))
    }

    fn output_path(&self, n: u32) -> PathBuf {
        self.dir.path().join(format!("{n}.bin"))
    }

    fn get(&self, n: u32) -> Result<Child> {
        let state = self.dir.path().join(format!("get-{n}"));
        self.start(host::program()?, n, &["get", "-q", "--state", &state.to_string_lossy()])
    }

    /// Waits for a download, which must have all.
    fn ended(&self, n: u32, mut child: Child) -> Result<()> {
        let status = child.wait()?;
        let size = std::fs::metadata(self.output_path(n)).map_or(0, |meta| meta.len());
        ensure!(status.success() && size == self.size, "download {n}: {status}, {size} bytes");
        Ok(())
    }

    /// How many slots are in use at this moment, and whether
    /// a client is in line.
    fn busy(&self) -> Result<(usize, bool)> {
        let out = host::program()?
            .args(["status", "--json", "--state"])
            .arg(self.dir.path().join("state"))
            .env("XDG_CONFIG_HOME", self.dir.path())
            .output()?;
        let status: Value = serde_json::from_slice(&out.stdout).context("no status")?;
        let queue = &status["servents"][0]["view"]["queue"];
        let uploads = queue["uploads"].as_array().context("no uploads")?;
        let busy = uploads.iter().filter(|upload| upload["reserved_until"].is_null()).count();
        Ok((busy, queue["length"].as_u64().unwrap_or(0) > 0))
    }
}

fn seconds_of(work: impl FnOnce() -> Result<()>) -> Result<f64> {
    let begun = now();
    work()?;
    Ok(begun.elapsed().as_secs_f64())
}

/// Twelve times 6 MB through two slots.
fn through_two_slots(report: &mut Report) -> Result<()> {
    let uplink = Uplink::open(6_000_000, 2, 3_000_000)?;
    let took = seconds_of(|| {
        let all: Vec<Child> = (0..12).map(|n| uplink.get(n)).collect::<Result<_>>()?;
        (0..).zip(all).try_for_each(|(n, child)| uplink.ended(n, child))
    })?;
    let case = "12 downloads of 6 MB, 2 slots, 3 MB/s";
    let beside = ("the uplink", Some(uplink.bound(12)));
    report.add(("queue", case, "s"), took, beside, &Target::RatioAtMost(1.1));
    Ok(())
}

/// Ten times 5 MB by a program that knows of no queues, one slot.
fn strangers(report: &mut Report) -> Result<()> {
    let uplink = Uplink::open(5_000_000, 1, 3_000_000)?;
    let case = "10 x curl of 5 MB, 1 slot, 3 MB/s, no retry";
    let beside = ("the uplink", Some(uplink.bound(10)));
    if Command::new("curl").arg("--version").output().is_err() {
        report.note("no curl here: left out");
        return Ok(());
    }
    let took = seconds_of(|| {
        let mut all = Vec::new();
        for n in 0..10 {
            all.push(uplink.start(Command::new("curl"), n, &["-sS", "--fail"])?);
            measure::pause();
        }
        (0..).zip(all).try_for_each(|(n, child)| uplink.ended(n, child))
    })?;
    report.add(("queue", case, "s"), took, beside, &Target::RatioAtMost(1.2));
    Ok(())
}

/// Six large files through two slots, looked at all the time.
fn both_busy(report: &mut Report, quick: bool) -> Result<()> {
    let (megabytes, rate) = if quick { (50, 10_000_000) } else { (500, 50_000_000) };
    let uplink = Uplink::open(megabytes * 1_000_000, 2, rate)?;
    let (mut looks, mut full) = (0_u32, 0_u32);
    let took = seconds_of(|| {
        let mut all: Vec<(u32, Child)> =
            (0..6).map(|n| Ok((n, uplink.get(n)?))).collect::<Result<_>>()?;
        while !all.is_empty() {
            measure::wait(LOOK);
            // While clients wait, and before the last one is alone.
            let (busy, waits) = uplink.busy()?;
            if waits {
                looks += 1;
                full += u32::from(busy == 2);
            }
            let mut running = Vec::new();
            for (n, mut child) in all {
                if child.try_wait()?.is_some() {
                    uplink.ended(n, child)?;
                } else {
                    running.push((n, child));
                }
            }
            all = running;
        }
        Ok(())
    })?;
    if looks == 0 {
        bail!("no client was ever seen in line");
    }
    let case = format!("6 downloads of {megabytes} MB, 2 slots");
    let beside = ("the uplink", Some(uplink.bound(6)));
    report.add(("queue", case.as_str(), "s"), took, beside, &Target::RatioAtMost(1.1));
    let case = format!("{case}: both busy while anybody waits ({looks} looks)");
    let share = 100.0 * f64::from(full) / f64::from(looks);
    report.add(("queue", case, "%"), share, ("", None), &Target::AtLeast(95.0));
    Ok(())
}
