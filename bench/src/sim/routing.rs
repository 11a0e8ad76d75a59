//! The overlay of ten thousand servents in the page's module: seeks, memory.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};
use serde::Deserialize;

use crate::measure::{median, percentile};
use crate::report::{Report, Target};

/// What `routing.mjs` found; times in milliseconds.
#[derive(Deserialize)]
struct Played {
    explore: f64,
    records: u32,
    seeks: Vec<f64>,
    /// To read every message in the air at an instant, and how many there
    /// were at most.
    frames: Vec<f64>,
    most: u32,
    /// Memory of the module at the end.
    mib: f64,
}

/// Plays the largest story; nothing when Node or the module is not here.
pub(super) fn run(report: &mut Report, quick: bool) -> Result<()> {
    let root = PathBuf::from(std::env::var_os("SERVENT_ROOT").context("use `cargo xtask bench`")?);
    let pkg = root.join("www/pkg");
    if !pkg.join("servent_bg.wasm").is_file() {
        return Ok(());
    }
    let node = Command::new("node")
        .arg(root.join("bench/src/sim/routing.mjs"))
        .arg(&pkg)
        .args(["ten-thousand", if quick { "20" } else { "200" }])
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let Ok(out) = node else { return Ok(()) };
    if !out.status.success() {
        bail!("the module failed in Node");
    }
    let mut played: Played = serde_json::from_slice(&out.stdout)?;
    let case = |what: &str| format!("{what}, 10 000 servents");
    let beside = ("its median", Some(median(&mut played.seeks)));
    let seek = percentile(&mut played.seeks, 95);
    report.add(("page", case("seek p95"), "ms"), seek, beside, &Target::AtMost(150.0));
    let beside = ("records", Some(played.records.into()));
    let explore = ("page", case("from the beginning to the horizon"), "ms");
    report.add(explore, played.explore, beside, &Target::None);
    let beside = ("messages in the air at most", Some(played.most.into()));
    let frame = percentile(&mut played.frames, 95);
    report.add(("page", case("messages of an instant p95"), "ms"), frame, beside, &Target::None);
    let memory = ("page", case("memory with all keyframes"), "MiB");
    report.add(memory, played.mib, ("", None), &Target::AtMost(500.0));
    Ok(())
}
