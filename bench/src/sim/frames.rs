//! How soon the page is there, and how many frames a second it draws while a
//! story plays.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::measure::median;
use crate::report::{Report, Target};

/// Stories that must move smoothly: what they show, where, and how fast.
const SMOOTH: [(&str, &str, f64); 2] = [
    ("the flash crowd, 1 000 clients", "#1/swarm?p=flash-crowd&m=single&t=20000", 1.0),
    (
        "a flood of 10 000 servents where it is densest",
        "#1/routing?p=ten-thousand&m=single&t=8100",
        0.05,
    ),
];

/// What a browser drew.
#[derive(Deserialize)]
struct Frames {
    frames: u32,
    seconds: f64,
    longest: f64,
}

/// Plays each story in Chromium without a GPU.
pub(crate) fn run(report: &mut Report, root: &Path, quick: bool) -> Result<()> {
    for (what, fragment, speed) in SMOOTH {
        let seconds = if quick { "2" } else { "5" };
        let args = [fragment, seconds, &speed.to_string()];
        let Some(seen) = chromium::<Frames>(root, "frames.mjs", &args)? else {
            report.note("no frames: Node, Chromium or what drives it is not here");
            break;
        };
        report.add(
            ("page", format!("{what}, played without a GPU"), "frames/s"),
            f64::from(seen.frames) / seen.seconds,
            ("longest frame, ms", Some(seen.longest)),
            &Target::AtLeast(55.0),
        );
    }
    Ok(())
}

/// The first picture of a story after navigation, nothing cached.
pub(crate) fn picture(report: &mut Report, root: &Path, quick: bool) -> Result<()> {
    let times = if quick { "3" } else { "15" };
    let Some(mut took) = chromium::<Vec<f64>>(root, "picture.mjs", &[times])? else {
        return Ok(());
    };
    let beside = ("slowest", took.iter().copied().reduce(f64::max));
    let first = ("page", String::from("first picture, median"), "ms");
    report.add(first, median(&mut took), beside, &Target::AtMost(700.0));
    Ok(())
}

/// What a script that drives Chromium prints; `None` where it cannot be driven.
fn chromium<T: DeserializeOwned>(root: &Path, script: &str, args: &[&str]) -> Result<Option<T>> {
    if !root.join("www/node_modules/puppeteer-core").is_dir() {
        return Ok(None);
    }
    let node = Command::new("node")
        .arg(root.join("bench/src/sim").join(script))
        .arg(root.join("www/tests"))
        .args(args)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let Ok(out) = node else { return Ok(None) };
    if !out.status.success() {
        bail!("the page could not be shown in Chromium");
    }
    Ok(Some(serde_json::from_slice(&out.stdout)?))
}
