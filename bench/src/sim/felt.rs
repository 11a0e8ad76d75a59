//! What a person feels of the page, in real browsers: how soon it is there, how
//! soon it obeys, how smoothly it moves.

use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Result, bail};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use servent_sim::queue::Scenario;

use crate::measure::{median, percentile};
use crate::report::{Report, Target};

/// The browsers, as the page's tests call them.
const BROWSERS: [&str; 2] = ["chromium", "firefox"];
/// Stories that must move smoothly: what they show, where, and how fast.
const SMOOTH: [(&str, &str, f64); 2] = [
    ("the flash crowd, 1 000 clients", "#1/swarm?p=flash-crowd&m=single&t=20000", 1.0),
    (
        "a flood of 10 000 servents where it is densest",
        "#1/routing?p=ten-thousand&m=single&t=8100",
        0.05,
    ),
];
/// The views, each with its largest story.
const VIEWS: [&str; 4] = ["queue", "routing", "unicast", "swarm"];

/// What a browser drew.
#[derive(Deserialize)]
struct Frames {
    frames: u32,
    seconds: f64,
    longest: f64,
}

/// A trace that was opened.
#[derive(Deserialize)]
struct Opened {
    events: u32,
    seconds: f64,
    told: u32,
}

/// What `npm run frames` prints of a view; milliseconds.
#[derive(Deserialize)]
struct Drawn {
    draw_p95: f64,
    draw_most: f64,
    key_p50: f64,
    key_p95: f64,
}

/// The page in each browser that is here.
pub(crate) fn run(report: &mut Report, root: &Path, crowd: &Path, quick: bool) -> Result<()> {
    if !root.join("www/node_modules/puppeteer-core").is_dir() {
        report.note("nothing in browsers: Node or what drives them is not here");
        return Ok(());
    }
    for name in BROWSERS {
        let page = Page { root, name };
        page.begin(report, quick)?;
        page.seeks(report, crowd, quick)?;
        page.views(report)?;
        page.moves(report, quick)?;
        page.trace(report)?;
    }
    Ok(())
}

/// The page in one browser.
struct Page<'a> {
    root: &'a Path,
    name: &'static str,
}

impl Page<'_> {
    fn case(&self, what: &str) -> String {
        format!("{what}, {}", self.name)
    }

    /// The first picture after navigation, nothing cached, and the single file
    /// from the disk.
    fn begin(&self, report: &mut Report, quick: bool) -> Result<()> {
        let times = if quick { "3" } else { "15" };
        // The bar is that of Chromium; in another browser it is for information.
        let bar = if self.name == BROWSERS[0] { Target::AtMost(700.0) } else { Target::None };
        let file = self.root.join("dist/servent-lab.html");
        let single = file.to_string_lossy();
        let cases = [
            ("first picture, median", "picture.mjs", vec![times], bar),
            ("single file, median", "single.mjs", vec![&*single, times], Target::AtMost(1_200.0)),
        ];
        for (what, script, args, bar) in cases {
            if script == "single.mjs" && !file.is_file() {
                report.note("no single file: `cargo xtask page` builds it");
                continue;
            }
            let mut took: Vec<f64> = self.script(script, &args)?;
            let beside = ("slowest", took.iter().copied().reduce(f64::max));
            report.add(("page", self.case(what), "ms"), median(&mut took), beside, &bar);
        }
        Ok(())
    }

    fn seeks(&self, report: &mut Report, crowd: &Path, quick: bool) -> Result<()> {
        let clients = Scenario::parse(&std::fs::read_to_string(crowd)?)?.nodes() - 1;
        let times = if quick { "20" } else { "200" };
        let crowd = crowd.to_string_lossy();
        for (what, view, world, bar) in [
            (format!("seek p95, {clients} clients"), "queue", &*crowd, 50.0),
            ("seek p95, 10 000 servents".into(), "routing", "ten-thousand", 150.0),
        ] {
            let mut took: Vec<f64> = self.script("seeks.mjs", &[view, world, times])?;
            let beside = ("its median", Some(median(&mut took)));
            let seek = ("page", self.case(&what), "ms");
            report.add(seek, percentile(&mut took, 95), beside, &Target::AtMost(bar));
        }
        Ok(())
    }

    /// From a key to the frame that shows what it did, and how long drawing a
    /// frame takes, with the largest story of every view.
    fn views(&self, report: &mut Report) -> Result<()> {
        let out = self.node(&self.root.join("www/tests/frames.js"), &[])?;
        let mut all: std::collections::BTreeMap<String, serde_json::Value> =
            serde_json::from_slice(&out)?;
        let views = all.remove(self.name).unwrap_or_default();
        for view in VIEWS {
            let Drawn { draw_p95, draw_most, key_p50, key_p95 } =
                serde_json::from_value(views[view].clone())?;
            let key = ("page", self.case(&format!("key to frame p95, {view}")), "ms");
            report.add(key, key_p95, ("its median", Some(key_p50)), &Target::AtMost(100.0));
            // The bar is that of ten thousand nodes and two thousand messages; the
            // longest frame has nine times as many.
            let bar = if view == "routing" { Target::AtMost(6.0) } else { Target::None };
            let draw = ("page", self.case(&format!("script of a frame p95, {view}")), "ms");
            report.add(draw, draw_p95, ("the longest of all", Some(draw_most)), &bar);
        }
        Ok(())
    }

    /// Plays each story without a GPU.
    fn moves(&self, report: &mut Report, quick: bool) -> Result<()> {
        for (what, fragment, speed) in SMOOTH {
            let seconds = if quick { "2" } else { "5" };
            let seen: Frames =
                self.script("frames.mjs", &[fragment, seconds, &speed.to_string()])?;
            report.add(
                ("page", self.case(&format!("{what}, without a GPU")), "frames/s"),
                f64::from(seen.frames) / seen.seconds,
                ("longest frame, ms", Some(seen.longest)),
                &Target::AtLeast(55.0),
            );
        }
        Ok(())
    }

    /// The trace of the largest story is opened, and it is said how far.
    fn trace(&self, report: &mut Report) -> Result<()> {
        let Opened { events, seconds, told } = self.script("trace.mjs", &[])?;
        // What is there at once needs no word.
        if told == 0 && seconds > 1.0 {
            bail!("{} said nothing while it opened a trace", self.name);
        }
        let case = ("page", self.case("a trace opens, for a million events"), "s");
        let beside = ("events of the trace", Some(events.into()));
        report.add(case, seconds / f64::from(events) * 1e6, beside, &Target::AtMost(5.0));
        Ok(())
    }

    /// What a script that drives the browser prints.
    fn script<T: DeserializeOwned>(&self, script: &str, args: &[&str]) -> Result<T> {
        let tests = self.root.join("www/tests");
        let tests = tests.to_string_lossy();
        let args = [&[&*tests, self.name], args].concat();
        let out = self.node(&self.root.join("bench/src/sim").join(script), &args)?;
        Ok(serde_json::from_slice(&out)?)
    }

    fn node(&self, script: &Path, args: &[&str]) -> Result<Vec<u8>> {
        let out = Command::new("node")
            .arg(script)
            .args(args)
            .env("BROWSERS", self.name)
            .stdin(Stdio::null())
            .stderr(Stdio::inherit())
            .output()?;
        if !out.status.success() {
            bail!("{} could not show the page in {}", script.display(), self.name);
        }
        Ok(out.stdout)
    }
}
