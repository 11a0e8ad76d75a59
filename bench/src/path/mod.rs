//! Long lines on real sockets: `send` and `receive`, the kernel's TCP and quinn,
//! each between two machines of their own, over one line of ours.

mod contenders;
mod line;
mod machine;

use std::time::Duration;

use anyhow::Result;

use self::contenders::{ADDRESSES, Figures, Times};
use self::line::Line;
use self::machine::Machine;
use crate::measure::median;
use crate::report::{Report, Target};
use crate::unicast::words::Contender;

/// Real sockets on a machine that does other things besides: so much of a goal
/// must be reached.
const ALLOWANCE: f64 = 0.9;
/// What a buffer of one bandwidth-delay product may be filled with, in milliseconds.
const WAIT: f64 = 25.0;

const QUINN: &str = "quinn, CUBIC";
const BBR: &str = "TCP BBR";

/// A line, and what `send` must reach on it.
struct Cell {
    /// Megabits a second.
    rate: u64,
    /// Milliseconds there and back.
    trip: u64,
    /// Of ten thousand packets.
    loss: u64,
    /// Tenths of the bandwidth-delay product.
    buffer: u64,
    /// Megabits a second.
    goal: f64,
    quick: bool,
}

const fn cell(rate: u64, trip: u64, loss: u64, goal: f64) -> Cell {
    Cell { rate, trip, loss, buffer: 10, goal, quick: false }
}

const CELLS: [Cell; 12] = [
    cell(100, 20, 10, 93.0),
    Cell { quick: true, ..cell(100, 20, 100, 93.0) },
    cell(100, 20, 500, 88.0),
    cell(100, 100, 10, 88.0),
    Cell { quick: true, ..cell(100, 100, 100, 84.0) },
    cell(100, 100, 500, 82.0),
    cell(100, 200, 100, 75.0),
    cell(100, 20, 0, 91.0).shallow(),
    Cell { quick: true, ..cell(100, 100, 0, 88.0).shallow() },
    cell(300, 20, 0, 280.0),
    cell(300, 100, 0, 265.0),
    cell(300, 200, 0, 250.0),
];

impl Cell {
    const fn shallow(self) -> Self {
        Self { buffer: 1, ..self }
    }

    fn line(&self) -> Line {
        let trip = Duration::from_millis(self.trip);
        let buffer = trip * self.buffer as u32 / 10;
        Line { rate: self.rate, trip, loss: self.loss, buffer }
    }

    fn name(&self) -> String {
        let Self { rate, trip, loss, buffer, .. } = self;
        let loss = *loss as f64 / 100.0;
        let buffer = *buffer as f64 / 10.0;
        format!("{rate} Mbit/s, {trip} ms, {loss} % lost, buffer {buffer}")
    }
}

/// Every cell; each round goes once through all of them.
pub(crate) fn run(report: &mut Report, quick: bool) -> Result<()> {
    if let Err(why) = Machine::new(ADDRESSES[0]) {
        eprintln!("left out: lines between machines of their own need root and `ip` ({why:#})");
        return Ok(());
    }
    let mut others = vec![(QUINN, Contender::Quinn)];
    for (name, algorithm, contender) in
        [("TCP CUBIC", "cubic", Contender::Tcp), (BBR, "bbr", Contender::TcpBbr)]
    {
        if algorithms().split_whitespace().any(|known| known == algorithm) {
            others.push((name, contender));
        } else {
            eprintln!("left out: this kernel has no {name} (`modprobe tcp_{algorithm}`)");
        }
    }
    let [warm, measure] = if quick { [2, 5] } else { [3, 8] }.map(Duration::from_secs);
    for cell in CELLS.iter().filter(|cell| cell.quick || !quick) {
        report.note(&format!("a line of {}", cell.name()));
        let mut all = vec![Vec::new(); 1 + others.len()];
        for round in 0..if quick { 1 } else { 3 } {
            let times = Times { warm, measure };
            all[0].push(contenders::ours(cell.line(), times, round)?);
            for ((_, contender), figures) in others.iter().zip(&mut all[1..]) {
                figures.push(contenders::other(*contender, cell.line(), times, round)?);
            }
        }
        let all: Vec<_> = all.iter().map(|figures| middle(figures)).collect();
        tell(report, cell, all[0], others.iter().map(|(name, _)| *name).zip(&all[1..]));
    }
    Ok(())
}

/// What the kernel's TCP can be told to do.
fn algorithms() -> String {
    std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control")
        .unwrap_or_default()
}

fn middle(figures: &[Figures]) -> Figures {
    let of = |one: fn(&Figures) -> f64| median(&mut figures.iter().map(one).collect::<Vec<_>>());
    Figures {
        goodput: of(|one| one.goodput),
        cost: of(|one| one.cost),
        wait: of(|one| one.wait),
        busy: of(|one| one.busy),
    }
}

fn tell<'a>(
    report: &mut Report,
    cell: &Cell,
    ours: Figures,
    others: impl Iterator<Item = (&'static str, &'a Figures)>,
) {
    let name = cell.name();
    let goal = ("the goal in the simulator", Some(cell.goal));
    let case = ("path", format!("{name}, the goal"), "Mbit/s");
    report.add(case, ours.goodput, goal, &Target::RatioAtLeast(ALLOWANCE));
    for (other, its) in others {
        let mut row = |what: &str, unit, ours, its, target| {
            let case = format!("{name}{what}");
            report.add(("path", case, unit), ours, (other, Some(its)), &target);
        };
        let (least, most) = match other {
            QUINN => (Target::None, Target::RatioAtMost(1.0)),
            BBR => (Target::RatioAtLeast(ALLOWANCE), Target::None),
            _ => (Target::None, Target::None),
        };
        row("", "Mbit/s", ours.goodput, its.goodput, least);
        let waits = other == QUINN && cell.buffer == 10;
        let short = if waits { Target::AtMost(WAIT) } else { Target::None };
        row(", waiting in the buffer", "ms", ours.wait, its.wait, short);
        row(", on the line for a byte", "bytes", ours.cost, its.cost, Target::None);
        row(", processor for a GB", "s", ours.busy, its.busy, most);
    }
}
