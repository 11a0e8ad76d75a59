//! The page: what it weighs, how fast it seeks.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result};

use crate::measure::{median, percentile};
use crate::report::{Report, Target};

/// Views that are loaded when they are opened.
const LATER: [&str; 3] = ["ladder", "map", "matrix"];

/// Sizes after gzip, and seeks in the modules.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    report.note("the page");
    let root = PathBuf::from(std::env::var_os("SERVENT_ROOT").context("use `cargo xtask bench`")?);
    let (mut modules, mut rest, mut requests) = (Vec::new(), (0, 0), 0);
    let mut later = LATER.map(|_| (0, 0));
    for file in files(&root.join("dist/www"))? {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let sizes = (served(&file)?, std::fs::metadata(&file)?.len());
        // Another view's module is loaded when that view is opened.
        let own = LATER.into_iter().find(|view| name.split('.').next() == Some(view));
        let view = name.strip_prefix("servent_").and_then(|n| n.split(['_', '.']).next()).or(own);
        if name.ends_with("_bg.wasm") {
            modules.push((format!("module {}", view.unwrap_or_default()), sizes));
        } else if !name.ends_with(".gz") {
            let of = LATER.iter().position(|later| view == Some(later));
            let part = of.map_or(&mut rest, |view| &mut later[view]);
            *part = (part.0 + sizes.0, part.1 + sizes.1);
        }
        let first = !name.ends_with(".gz") && view.is_none_or(|view| view == "queue");
        requests += u32::from(first);
    }
    let single = root.join("dist/servent-lab.html");
    let single = (gzipped(&single)?, std::fs::metadata(&single)?.len());
    let budgets = std::fs::read_to_string(root.join("www/budget.json"))?;
    let budgets: serde_json::Value = serde_json::from_str(&budgets)?;
    let mut parts = modules;
    parts.extend([(String::from("page beside it"), rest), (String::from("single file"), single)]);
    let later = LATER.into_iter().zip(later).filter(|(_, (size, _))| *size > 0);
    parts.extend(later.map(|(view, sizes)| (format!("page of {view}"), sizes)));
    for (what, (gz, raw)) in parts {
        let wanted = &budgets["parts"][&what]["wanted"];
        let limit = wanted.as_f64().with_context(|| format!("no budget for the {what}"))?;
        let beside = ("without gzip", Some(kib(raw)));
        report.add(
            ("page", format!("{what}, gzip"), "KiB"),
            kib(gz),
            beside,
            &Target::AtMost(limit),
        );
    }
    let limit = Target::AtMost(8.0);
    report.add(("page", "requests", "files"), f64::from(requests), ("", None), &limit);

    let scenario = super::crowd(if quick { 500 } else { 2_000 });
    let Some(mut lab) = super::in_node(&scenario, 1, 200)? else { return Ok(()) };
    let clients = scenario.nodes() - 1;
    let beside = ("its median", Some(median(&mut lab.seeks)));
    report.add(
        ("page", format!("seek p95, {clients} clients"), "ms"),
        percentile(&mut lab.seeks, 95),
        beside,
        &Target::AtMost(50.0),
    );
    super::map::run(report, quick)?;
    super::frames::run(report, &root, quick)
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// What a server sends of a file: its compressed form, if it has one.
fn served(file: &Path) -> Result<u64> {
    let mut zipped = file.as_os_str().to_owned();
    zipped.push(".gz");
    let plain = || std::fs::metadata(file);
    Ok(std::fs::metadata(zipped).or_else(|_| plain())?.len())
}

/// The size after `gzip -9`.
fn gzipped(file: &Path) -> Result<u64> {
    let gzip = Command::new("gzip").args(["-9", "-c"]).arg(file).stdout(Stdio::piped()).spawn();
    let mut gzip = gzip.context("gzip is not installed")?;
    let mut out = gzip.stdout.take().context("no output")?;
    let size = std::io::copy(&mut out.by_ref(), &mut std::io::sink())?;
    gzip.wait()?;
    Ok(size)
}

fn files(dir: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in
        std::fs::read_dir(dir).with_context(|| format!("{} is not built", dir.display()))?
    {
        let path = entry?.path();
        if path.is_dir() { found.extend(files(&path)?) } else { found.push(path) }
    }
    Ok(found)
}
