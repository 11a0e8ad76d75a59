//! `cargo xtask mutants`

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::Duration;

use anyhow::Result;

use crate::mutants::{self, FOLDERS, Mutant, Verdict};
use crate::paths;

/// Change the engines in thousands of small ways; list the changes that no test
/// of core and sim notices.
///
/// The changes are those of cargo-mutants, which is installed when it is
/// missing. All are compiled into one copy of the sources, and each is switched
/// on for the tests that come by it, first those that come by the most in the
/// least time.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only these folders of `core/src`, in this order.
    #[arg(value_parser = FOLDERS)]
    folders: Vec<String>,
    /// Only so many of each folder, drawn.
    #[arg(long, value_name = "N")]
    sample: Option<usize>,
    /// What they are drawn with.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only those whose line contains this.
    #[arg(long, value_name = "TEXT")]
    only: Option<String>,
    /// How long, in seconds, the tests of one may take together: the first of
    /// those that come by are tried.
    #[arg(long, default_value_t = 20)]
    patience: u64,
    /// Only with the tests of core: those of sim are slow, and many.
    #[arg(long)]
    core: bool,
    /// Only those that survived the last time.
    #[arg(long)]
    again: bool,
    /// List them, and run nothing.
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let all: BTreeMap<u32, Mutant> = (1..).zip(mutants::all()?).collect();
    let survivors = paths::target().join("mutants/survivors.txt");
    let last = fs::read_to_string(&survivors).unwrap_or_default();
    let last: BTreeSet<&str> = last.lines().collect();
    let wanted = |m: &Mutant| {
        (args.folders.is_empty() || args.folders.iter().any(|folder| m.folder() == folder))
            && args.only.as_ref().is_none_or(|text| m.name.contains(text))
            && (!args.again || last.contains(&m.name[..]))
    };
    let chosen: Vec<u32> = all.iter().filter(|(_, m)| wanted(m)).map(|(id, _)| *id).collect();
    if args.list {
        chosen.iter().for_each(|id| println!("{}", all[id].name));
        return Ok(());
    }
    let scratch = mutants::prepare(&all)?;
    println!("building the tests, and running each alone");
    let packages: &[&str] =
        if args.core { &["servent-core"] } else { &["servent-core", "servent-sim"] };
    let programs = mutants::reached(&scratch, packages)?;
    let mut survived =
        last.iter().filter(|_| args.again).map(|s| (*s).to_owned()).collect::<BTreeSet<_>>();
    let named = args.folders.iter().map(|folder| &folder[..]);
    let folders: Vec<&str> =
        if args.folders.is_empty() { FOLDERS.to_vec() } else { named.collect() };
    for folder in folders {
        let of_it: Vec<u32> =
            chosen.iter().copied().filter(|id| all[id].folder() == folder).collect();
        let of_it = drawn(of_it, args.sample, args.seed);
        if of_it.is_empty() {
            continue;
        }
        let (left_out, rest): (Vec<_>, Vec<_>) =
            of_it.iter().copied().partition(|id| scratch.left_out.contains(id));
        let (unviable, viable): (Vec<_>, Vec<_>) =
            rest.iter().copied().partition(|id| scratch.unviable.contains(id));
        let told = |id: u32, verdict| {
            if let Verdict::Survived { untried } = verdict {
                let more = if untried > 0 {
                    format!(" ({untried} tests not tried)")
                } else {
                    String::new()
                };
                println!("{}{more}", all[&id].name);
            }
        };
        let verdicts =
            mutants::judge(&programs, &viable, Duration::from_secs(args.patience), told)?;
        for (id, verdict) in &verdicts {
            let name = all[id].name.clone();
            match verdict {
                Verdict::Survived { .. } => survived.insert(name),
                Verdict::Caught | Verdict::TimedOut => survived.remove(&name),
            };
        }
        let count = |wanted: Verdict| verdicts.values().filter(|v| **v == wanted).count();
        let (caught, timed_out) = (count(Verdict::Caught), count(Verdict::TimedOut));
        let share = 100.0 * (caught + timed_out) as f64 / viable.len().max(1) as f64;
        println!(
            "{folder}: {} mutants, {} unviable, {} left out, {caught} caught, {timed_out} timed out, \
             {} survived: {share:.1} % of {} caught",
            of_it.len(),
            unviable.len(),
            left_out.len(),
            viable.len() - caught - timed_out,
            viable.len(),
        );
    }
    let survived: Vec<_> = survived.into_iter().collect();
    fs::write(survivors, survived.join("\n"))?;
    Ok(())
}

/// So many of `ids`, in their order; the same ones for the same seed.
fn drawn(ids: Vec<u32>, sample: Option<usize>, seed: u64) -> Vec<u32> {
    let Some(sample) = sample else { return ids };
    // SplitMix64's last step: neighbouring numbers end far apart.
    let lot = |id: &u32| {
        let mut z = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(u64::from(*id));
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    };
    let mut by_lot = ids;
    by_lot.sort_by_key(lot);
    by_lot.truncate(sample);
    by_lot.sort_unstable();
    by_lot
}
