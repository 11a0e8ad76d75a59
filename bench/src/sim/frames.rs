//! How many frames a second the page draws while a story plays.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use serde::Deserialize;

use crate::report::{Report, Target};

/// Stories that must move smoothly: what they show, where, and how fast.
const SMOOTH: [(&str, &str, f64); 2] = [
    ("the flash crowd, 1 000 clients", "#1/matrix?p=flash-crowd&m=board&t=20000", 1.0),
    (
        "a flood of 10 000 servents where it is densest",
        "#1/map?p=ten-thousand&m=board&t=8100",
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
        let Some(seen) = play(root, fragment, if quick { 2 } else { 5 }, speed)? else {
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

/// Plays a story; `None` where nothing can.
fn play(root: &Path, fragment: &str, seconds: u32, speed: f64) -> Result<Option<Frames>> {
    if !root.join("www/node_modules/puppeteer-core").is_dir() {
        return Ok(None);
    }
    let node = Command::new("node")
        .arg(root.join("bench/src/sim/frames.mjs"))
        .arg(root.join("www/tests"))
        .args([fragment, &seconds.to_string(), &speed.to_string()])
        .env("SERVENT_PAGE", root.join("dist/www"))
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output();
    let Ok(out) = node else { return Ok(None) };
    if !out.status.success() {
        bail!("the page could not be played");
    }
    Ok(Some(serde_json::from_slice(&out.stdout)?))
}
