//! The page: what it weighs, how fast its module seeks, and what is felt of it
//! in browsers.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use crate::measure::{median, percentile};
use crate::report::{Report, Target};

/// Weights, seeks in the module, and the page in browsers.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    report.note("the page");
    let root = PathBuf::from(std::env::var_os("SERVENT_ROOT").context("use `cargo xtask bench`")?);
    for (what, path) in [("module", "www/pkg/servent_bg.wasm"), ("scripts", "www/js")] {
        let weight = ("page", format!("{what}, uncompressed"), "KiB");
        report.add(weight, kib(bytes(&root.join(path))?), ("", None), &Target::None);
    }

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
    super::routing::run(report, quick)?;
    let crowd = super::written(&scenario)?;
    super::felt::run(report, &root, crowd.path(), quick)
}

fn kib(bytes: u64) -> f64 {
    bytes as f64 / 1024.0
}

/// What everything at or below a path weighs.
fn bytes(path: &Path) -> Result<u64> {
    let about =
        std::fs::metadata(path).with_context(|| format!("{} is not built", path.display()))?;
    if !about.is_dir() {
        return Ok(about.len());
    }
    std::fs::read_dir(path)?.map(|entry| bytes(&entry?.path())).sum()
}
