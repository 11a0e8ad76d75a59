//! The cells as a table, a row as soon as it is measured.

use super::contenders::Figures;
use super::{ALLOWANCE, BBR, BESIDE_BBR, Cell};
use crate::measure::now;
use crate::unicast::words::Contender;
use std::time::Instant;

/// How busy the machine was with everything while a cell was measured.
pub(super) struct Load {
    since: Instant,
    busy: f64,
}

impl Load {
    pub(super) fn begin() -> Self {
        Self { since: now(), busy: all_busy() }
    }

    /// Processors in use, on average.
    pub(super) fn end(self) -> f64 {
        (all_busy() - self.busy) / self.since.elapsed().as_secs_f64()
    }
}

/// Seconds of processor time that were not idle, since the machine started.
fn all_busy() -> f64 {
    let stat = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    let numbers = stat.lines().next().unwrap_or_default().split_whitespace().skip(1);
    let ticks: Vec<f64> = numbers.map(|word| word.parse().unwrap_or(0.0)).take(8).collect();
    // The fourth and the fifth are idleness and waiting for disks.
    let idle: f64 = ticks.iter().skip(3).take(2).sum();
    (ticks.iter().sum::<f64>() - idle) / rustix::param::clock_ticks_per_second() as f64
}

/// Prints rows; nothing where lines of JSON are wanted.
pub(super) struct Table {
    json: bool,
    others: Vec<&'static str>,
}

impl Table {
    pub(super) fn begin(json: bool, others: &[(&'static str, Contender)]) -> Self {
        let others: Vec<_> = others.iter().map(|(name, _)| *name).collect();
        if !json {
            print!("{:<46} {:>8}", "Mbit/s", "ours");
            others.iter().for_each(|name| print!(" {name:>12}"));
            println!(" {:>6} {:>5}", "goal", "load");
        }
        Self { json, others }
    }

    /// The figures of a cell: ours, and those of the others in their order.
    pub(super) fn row(&self, cell: &Cell, all: &[Figures], load: f64) {
        if self.json {
            return;
        }
        let ours = all[0].goodput;
        print!("{:<46} {ours:>8.1}", cell.name());
        all[1..].iter().for_each(|its| print!(" {:>12.1}", its.goodput));
        let bbr = self.others.iter().zip(&all[1..]).find(|(name, _)| **name == BBR);
        let slow = ours < ALLOWANCE * cell.goal;
        let behind = bbr.is_some_and(|(_, its)| ours < BESIDE_BBR * its.goodput);
        let verdict = match (slow, behind) {
            (false, false) => "ok",
            (true, _) => "MISSED the goal",
            (false, true) => "MISSED TCP BBR",
        };
        println!(" {:>6.0} {load:>5.1} {verdict}", cell.goal);
    }
}
