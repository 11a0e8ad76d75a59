//! `cargo xtask fuzz`

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;

use anyhow::{Result, bail};

use crate::machine;
use crate::paths;
use crate::run::Tool;

/// Feed the parsers and the node's boundary with everything a stranger could send.
///
/// Needs a nightly toolchain and cargo-fuzz; both are installed when they are
/// missing. Each target starts from its seeds in `fuzz/seeds`, keeps what it
/// learns in `fuzz/corpus`, and leaves an input that broke something in
/// `fuzz/artifacts`. A target that broke ends there, and the next begins; the
/// totals of all are the last lines.
///
/// Our code has no `unsafe`, so the targets are built without the address
/// sanitizer: they then run twenty times as often. `--address` turns it on, for
/// the `unsafe` of the libraries that read what strangers send.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// One target; without it all, one after the other.
    target: Option<String>,
    /// How long each runs.
    #[arg(long, default_value_t = 30)]
    seconds: u32,
    /// How long each runs, in minutes.
    #[arg(long, conflicts_with = "seconds")]
    minutes: Option<u32>,
    /// With the address sanitizer.
    #[arg(long)]
    address: bool,
    /// List the targets.
    #[arg(long)]
    list: bool,
}

/// What came of one target.
#[derive(Debug, Default, PartialEq, Eq)]
struct Total {
    executions: u64,
    /// Inputs that it knows now, each of which reaches something new.
    corpus: usize,
    /// Those of this run.
    found: u64,
    crashes: usize,
    /// It ended with a failure, whatever it left.
    failed: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let all = targets()?;
    if args.list {
        println!("{}", all.join("\n"));
        return Ok(());
    }
    let chosen: Vec<_> = match &args.target {
        None => all,
        Some(name) if all.contains(name) => vec![name.clone()],
        Some(name) => bail!("no fuzz target `{name}`; there are: {}", all.join(", ")),
    };
    prepare()?;
    let seconds = args.minutes.map_or(args.seconds, |minutes| minutes.saturating_mul(60));
    let mut totals = Vec::new();
    for name in &chosen {
        println!("{name}: {seconds} s");
        totals.push((name, fuzz(name, seconds, args.address)?));
    }
    println!("{:<14} {:>12} {:>7} {:>5} {:>8}", "target", "executions", "corpus", "new", "crashes");
    for (name, total) in &totals {
        let Total { executions, corpus, found, crashes, .. } = total;
        println!("{name:<14} {executions:>12} {corpus:>7} {found:>5} {crashes:>8}");
    }
    let failed = totals.iter().filter(|(_, total)| total.failed || total.crashes > 0);
    let failed: Vec<_> = failed.map(|(name, _)| name.as_str()).collect();
    if !failed.is_empty() {
        bail!("broken: {}; what broke them is in fuzz/artifacts", failed.join(", "));
    }
    Ok(())
}

/// Runs one target; shows what it says.
fn fuzz(name: &str, seconds: u32, address: bool) -> Result<Total> {
    let sanitizer = if address { "address" } else { "none" };
    let fuzz = paths::root().join("fuzz");
    let (corpus, artifacts) = (fuzz.join("corpus").join(name), fuzz.join("artifacts").join(name));
    fs::create_dir_all(&corpus)?;
    let before = count(&artifacts);
    let (output, started) = Tool::new("rustup")
        .words("run nightly cargo fuzz run --fuzz-dir fuzz --sanitizer")
        .arg(sanitizer)
        .arg("--target-dir")
        .arg(paths::target().join("fuzz").join(sanitizer))
        .arg(name)
        .arg(&corpus)
        .arg(fuzz.join("seeds").join(name))
        .words("-- -max_len=8192 -timeout=10 -rss_limit_mb=1024 -print_final_stats=1")
        .arg(format!("-max_total_time={seconds}"))
        .joined()?;
    let mut total = Total::default();
    for line in BufReader::new(output).split(b'\n') {
        let line = line?;
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        total.read(&line);
    }
    total.failed = started.end().is_err();
    total.corpus = count(&corpus);
    total.crashes = count(&artifacts).saturating_sub(before);
    Ok(total)
}

impl Total {
    /// A line of what the fuzzer says in the end.
    fn read(&mut self, line: &str) {
        let Some((name, number)) = line.strip_prefix("stat::").and_then(|l| l.split_once(':'))
        else {
            return;
        };
        let number = number.trim().parse().unwrap_or_default();
        match name {
            "number_of_executed_units" => self.executions = number,
            "new_units_added" => self.found = number,
            _ => {}
        }
    }
}

/// The files in a folder; none where there is none.
fn count(folder: &Path) -> usize {
    fs::read_dir(folder).map_or(0, Iterator::count)
}

/// The targets, as the fuzz workspace lists them.
fn targets() -> Result<Vec<String>> {
    let folder = paths::root().join("fuzz/targets");
    let mut names: Vec<_> = crate::paths::files(&folder)?
        .iter()
        .filter_map(|file| Some(file.file_stem()?.to_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Makes sure of nightly and cargo-fuzz.
fn prepare() -> Result<()> {
    if !Tool::new("rustup").words("run nightly rustc --version").works() {
        if !Tool::new("rustup").arg("--version").works() {
            bail!("fuzzing needs a nightly toolchain; get rustup from https://rustup.rs");
        }
        Tool::new("rustup").words("toolchain install nightly --profile minimal").run()?;
    }
    if machine::find(&["cargo-fuzz"]).is_none() {
        println!("installing cargo-fuzz");
        Tool::new("rustup").words("run nightly cargo install --quiet --locked cargo-fuzz").run()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_totals_are_what_the_fuzzer_says_in_the_end() {
        let mut total = Total::default();
        for line in [
            "#2097152\tpulse  cov: 812 ft: 2310 corp: 401/9Kb",
            "stat::number_of_executed_units: 2345678",
            "stat::average_exec_per_sec:     75666",
            "stat::new_units_added:          17",
        ] {
            total.read(line);
        }
        assert_eq!(total, Total { executions: 2_345_678, found: 17, ..Total::default() });
    }
}
