//! The simulator: events a second, native and as WebAssembly; seeks.

mod felt;
pub(crate) mod page;
mod routing;

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;
use servent_core::rng::Rng;
use servent_core::time::Duration;
use servent_sim::queue::{ClientGroup, Scenario};

use crate::measure::{median, now};
use crate::report::{Report, Target};

/// What `lab.mjs` found.
#[derive(Deserialize)]
pub(crate) struct Lab {
    /// Seconds from the beginning of the scenario to its horizon, each time it
    /// was run. The first time the module is still being compiled.
    explore: Vec<f64>,
    /// Milliseconds of each seek.
    pub(crate) seeks: Vec<f64>,
    /// The digest at the horizon.
    digest: String,
}

/// What `servent-bench-sim` found.
#[derive(Deserialize)]
struct Native {
    events: u64,
    /// Seconds for the world alone, and with all records and keyframes kept.
    plain: f64,
    lab: f64,
    digest: u64,
}

/// Events a second. An event is one entry of the world's calendar carried out:
/// a packet that arrives, a dial, a timer, a transfer's progress; through real
/// nodes, with real heads in real bytes.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    let rounds = if quick { 1 } else { 5 };
    let scenario = crowd(if quick { 500 } else { 2_000 });
    report.note("the simulator");
    let (mut bare, mut native, mut lab) = (Vec::new(), Vec::new(), Vec::new());
    let (mut first, mut wasm) = (Vec::new(), Vec::new());
    let mut events = 0;
    for _ in 0..rounds {
        let here = alone(&scenario)?;
        events = here.events;
        native.push(events as f64 / here.plain);
        lab.push(events as f64 / here.lab);
        bare.push(calendar_alone(events));
        let Some(found) = in_node(&scenario, 3, 0)? else { continue };
        if found.digest != format!("{:016x}", here.digest) {
            bail!("WebAssembly ended with {}, native with {:016x}", found.digest, here.digest);
        }
        let mut speeds = found.explore.iter().map(|seconds| events as f64 / seconds);
        first.extend(speeds.next());
        wasm.extend(speeds);
    }
    let clients = scenario.nodes() - 1;
    let case = |what: &str| format!("{what}, {clients} clients, {events} events");
    let mut add = |what: &str, figure, beside, target| {
        report.add(("sim", case(what), "events/s"), figure, beside, &target);
    };
    let (native, lab) = (median(&mut native), median(&mut lab));
    let beside = ("a calendar that does nothing", Some(median(&mut bare)));
    add("native", native, beside, Target::AtLeast(1e6));
    let beside = ("native without it", Some(native));
    add("native with records and keyframes", lab, beside, Target::None);
    if wasm.is_empty() {
        report.note("nothing in WebAssembly: Node or the page's module is not here");
        return Ok(());
    }
    let beside = ("native, the same", Some(lab));
    let what = "WebAssembly in Node, with records and keyframes";
    add(what, median(&mut wasm), beside, Target::RatioAtLeast(0.5));
    let what = "the same for the first time, compiling meanwhile";
    add(what, median(&mut first), beside, Target::None);
    Ok(())
}

/// Runs the scenario natively, in a program that counts no allocations.
fn alone(scenario: &Scenario) -> Result<Native> {
    let file = written(scenario)?;
    let program = std::env::current_exe()?.with_file_name("servent-bench-sim");
    let out = Command::new(program).arg(file.path()).stderr(Stdio::inherit()).output()?;
    if !out.status.success() {
        bail!("the simulator failed");
    }
    Ok(serde_json::from_slice(&out.stdout)?)
}

fn written(scenario: &Scenario) -> Result<tempfile::NamedTempFile> {
    let file = tempfile::NamedTempFile::new()?;
    std::fs::write(file.path(), serde_json::to_string(scenario)?)?;
    Ok(file)
}

/// A busy server and many clients that come one after the other.
pub(crate) fn crowd(clients: u32) -> Scenario {
    let mut scenario = Scenario {
        id: "crowd".into(),
        seed: 7,
        horizon: Duration::from_secs(3_600),
        ..Scenario::default()
    };
    scenario.servers[0].queue.capacity = clients;
    scenario.servers[0].up = 2_000_000;
    scenario.clients = vec![ClientGroup {
        name: "client".into(),
        count: clients,
        size: 1_000_000,
        spacing: Duration::from_millis(250),
        ..scenario.clients[0].clone()
    }];
    scenario
}

/// Runs the scenario in Node so many times, with `seeks` seeks afterwards;
/// `None` when Node or the module is not here.
pub(crate) fn in_node(scenario: &Scenario, runs: u32, seeks: u32) -> Result<Option<Lab>> {
    let root = std::env::var_os("SERVENT_ROOT").context("use `cargo xtask bench`")?;
    let root = PathBuf::from(root);
    if !root.join("www/pkg/servent_bg.wasm").is_file() {
        return Ok(None);
    }
    let file = written(scenario)?;
    let node = Command::new("node")
        .arg(root.join("bench/src/sim/lab.mjs"))
        .arg(root.join("www/pkg"))
        .arg(file.path())
        .args([runs.to_string(), seeks.to_string()])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let Ok(out) = node else { return Ok(None) };
    if !out.status.success() {
        bail!("the module failed in Node");
    }
    Ok(Some(serde_json::from_slice(&out.stdout)?))
}

/// What a calendar costs when its events do nothing: events a second.
fn calendar_alone(events: u64) -> f64 {
    let mut rng = Rng::new(1);
    let mut calendar: BinaryHeap<Reverse<(u64, u64)>> = BinaryHeap::new();
    for seq in 0..4_000 {
        calendar.push(Reverse((rng.below(1_000_000), seq)));
    }
    let began = now();
    for seq in 0..events {
        let Some(Reverse((at, _))) = calendar.pop() else { break };
        calendar.push(Reverse((at + rng.below(1_000_000), seq)));
    }
    std::hint::black_box(&calendar);
    events as f64 / began.elapsed().as_secs_f64()
}
