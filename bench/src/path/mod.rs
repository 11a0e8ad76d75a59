//! Long lines on real sockets: `send` and `receive`, the kernel's TCP and quinn,
//! each between two machines of their own, over one line of ours.

mod contenders;
mod line;
mod machine;
mod meeting;
mod table;
mod transfer;

use std::time::Duration;

use anyhow::{Result, ensure};

use self::contenders::{ADDRESSES, Figures, Times};
use self::line::Line;
use self::machine::Machine;
use self::table::{Load, Table};
use crate::measure::median;
use crate::report::{Report, Target};
use crate::unicast::words::Contender;

/// Real sockets on a machine that does other things besides: so much of a goal
/// must be reached.
const ALLOWANCE: f64 = 0.9;
/// And so much of TCP BBR, which crosses the same line in the same minute. Where both fill it,
/// the medians of some rounds decide.
const BESIDE_BBR: f64 = 1.0;
/// What a buffer of one bandwidth-delay product may be filled with, in milliseconds.
const WAIT: f64 = 25.0;

/// What a program needs until it is measured, and to end.
const STARTS: Duration = Duration::from_millis(500);

/// Of what the line carries, two that met at a place must reach so much.
const OF_THE_LINE: f64 = 0.9;
/// The word by which only these are picked.
const MET: &str = "met";

const CUBIC: &str = "TCP CUBIC";
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
    /// What waits longer than a quarter of the buffer is marked (RFC 3168), and
    /// nothing of ours is to be lost.
    marks: bool,
}

const fn cell(rate: u64, trip: u64, loss: u64, goal: f64) -> Cell {
    Cell { rate, trip, loss, buffer: 10, goal, quick: false, marks: false }
}

const CELLS: [Cell; 14] = [
    cell(100, 20, 10, 93.0),
    Cell { quick: true, ..cell(100, 20, 100, 93.0) },
    cell(100, 20, 500, 88.0),
    cell(100, 100, 10, 88.0),
    Cell { quick: true, ..cell(100, 100, 100, 84.0) },
    cell(100, 100, 500, 82.0),
    cell(100, 200, 100, 75.0),
    cell(100, 20, 0, 91.0).shallow(),
    Cell { quick: true, ..cell(100, 100, 0, 88.0).shallow() },
    Cell { quick: true, ..cell(100, 20, 0, 91.0).marking() },
    cell(100, 100, 0, 88.0).marking(),
    cell(300, 20, 0, 280.0),
    cell(300, 100, 0, 265.0),
    cell(300, 200, 0, 250.0),
];

impl Cell {
    const fn shallow(self) -> Self {
        Self { buffer: 1, ..self }
    }

    const fn marking(self) -> Self {
        Self { marks: true, ..self }
    }

    fn line(&self) -> Line {
        let trip = Duration::from_millis(self.trip);
        let buffer = trip * self.buffer as u32 / 10;
        let marks = self.marks.then_some(buffer / 4);
        Line { rate: self.rate, trip, loss: self.loss, buffer, marks }
    }

    /// The words by which it can be picked.
    fn words(&self) -> [String; 5] {
        let Self { rate, trip, loss, buffer, .. } = self;
        let (loss, buffer) = (*loss as f64 / 100.0, *buffer as f64 / 10.0);
        let full = if self.marks { "marks" } else { "drops" }.to_owned();
        let rate = format!("{rate}mbit");
        [rate, format!("{trip}ms"), format!("{loss}%"), format!("{buffer}bdp"), full]
    }

    fn is_picked(&self, only: &[String]) -> bool {
        let words = self.words();
        only.iter().all(|word| words.contains(word))
    }

    fn name(&self) -> String {
        let Self { rate, trip, loss, buffer, .. } = self;
        let loss = *loss as f64 / 100.0;
        let buffer = *buffer as f64 / 10.0;
        let marks = if self.marks { ", marks" } else { "" };
        format!("{rate} Mbit/s, {trip} ms, {loss} % lost, buffer {buffer}{marks}")
    }
}

/// The cells that are wanted; an error when a word picks none.
fn pick(only: Option<&str>, quick: bool) -> Result<Vec<&'static Cell>> {
    let only: Vec<String> = only
        .map(|words| words.split(',').map(|word| word.trim().to_lowercase()).collect())
        .unwrap_or_default();
    let wants = |cell: &&Cell| cell.quick || !quick || !only.is_empty();
    let cells: Vec<_> = CELLS.iter().filter(wants).filter(|cell| cell.is_picked(&only)).collect();
    let words: std::collections::BTreeSet<_> = CELLS.iter().flat_map(Cell::words).collect();
    let known = words.into_iter().chain([MET.to_owned()]).collect::<Vec<_>>().join(" ");
    ensure!(!cells.is_empty(), "no line is all of {}; what can be picked: {known}", only.join(" "));
    Ok(cells)
}

/// The cells, in each as many rounds as there are figures to take the middle of.
pub(crate) fn run(report: &mut Report, quick: bool, only: Option<&str>) -> Result<()> {
    let cells = if only == Some(MET) { Vec::new() } else { pick(only, quick)? };
    let meetings: &[_] = if only.is_none_or(|only| only == MET) { &meeting::PATHS } else { &[] };
    if let Err(why) = Machine::new(ADDRESSES[0]) {
        eprintln!("left out: lines between machines of their own need root and `ip` ({why:#})");
        return Ok(());
    }
    let others = contenders();
    let [warm, measure] = if quick { [2, 4] } else { [3, 6] }.map(Duration::from_secs);
    let (times, rounds) = (Times { warm, measure }, if quick { 1 } else { 3 });
    let one = rounds * (warm + measure + STARTS);
    let runs = cells.len() * (1 + others.len()) + meetings.len();
    say_how_long(cells.len(), meetings.len(), one * runs as u32);
    let table = Table::begin(report.is_json(), &others);
    for cell in cells {
        report.note(&format!("a line of {}", cell.name()));
        let mut all = vec![Vec::new(); 1 + others.len()];
        let load = Load::begin();
        for round in 0..u64::from(rounds) {
            all[0].push(contenders::ours(cell.line(), times, round)?);
            for ((_, contender), figures) in others.iter().zip(&mut all[1..]) {
                figures.push(contenders::other(*contender, cell.line(), times, round)?);
            }
        }
        let load = load.end();
        let all: Vec<_> = all.iter().map(|figures| middle(figures)).collect();
        table.row(cell, &all, load);
        let busy = ("path", format!("{}, processors in use", cell.name()), "");
        report.add(busy, load, ("-", None), &Target::None);
        tell(report, cell, all[0], others.iter().map(|(name, _)| *name).zip(&all[1..]));
    }
    meetings.iter().try_for_each(|path| measure_meeting(report, path, times, rounds))
}

/// A sender and a receiver that have met at a place, beside the rate of the line.
fn measure_meeting(
    report: &mut Report,
    (name, path): &(&str, meeting::MeetingPath),
    times: Times,
    rounds: u32,
) -> Result<()> {
    let name = format!("{}, met, {name}", meeting::name());
    report.note(&format!("a line of {name}"));
    let all: Result<Vec<_>> =
        (0..rounds).map(|round| meeting::measure(*path, times, round.into())).collect();
    let (ours, line) = (middle(&all?), meeting::line_rate());
    let least = Target::RatioAtLeast(OF_THE_LINE);
    if !report.is_json() {
        let verdict = if ours.goodput < OF_THE_LINE * line { "MISSED" } else { "ok" };
        println!("{name:<46} {:>8.1} of {line:.0} {verdict}", ours.goodput);
    }
    report.add(("path", name, "Mbit/s"), ours.goodput, ("the line", Some(line)), &least);
    Ok(())
}

/// Says first how long it will take.
fn say_how_long(lines: usize, meetings: usize, all: Duration) {
    eprintln!("{lines} lines, {meetings} meetings: {:.1} minutes", all.as_secs_f64() / 60.0);
}

/// What crosses the same lines, as far as this machine has it.
fn contenders() -> Vec<(&'static str, Contender)> {
    let mut others = Vec::new();
    for (name, algorithm, contender) in
        [(CUBIC, "cubic", Contender::Tcp), (BBR, "bbr", Contender::TcpBbr)]
    {
        if algorithms().split_whitespace().any(|known| known == algorithm) {
            others.push((name, contender));
        } else {
            eprintln!("left out: this kernel has no {name} (`modprobe tcp_{algorithm}`)");
        }
    }
    others.push((QUINN, Contender::Quinn));
    others
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
        marked: of(|one| one.marked),
        full: of(|one| one.full),
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
    if cell.marks {
        let mut row = |what: &str, ours, target| {
            let case = ("path", format!("{name}{what}"), "packets a second");
            report.add(case, ours, ("-", None), &target);
        };
        row(", marked", ours.marked, Target::AtLeast(1.0));
        row(", lost where the buffer was full", ours.full, Target::AtMost(0.0));
    }
    for (other, its) in others {
        let mut row = |what: &str, unit, ours, its, target| {
            let case = format!("{name}{what}");
            report.add(("path", case, unit), ours, (other, Some(its)), &target);
        };
        let (least, most) = match other {
            QUINN => (Target::None, Target::RatioAtMost(1.0)),
            BBR => (Target::RatioAtLeast(BESIDE_BBR), Target::None),
            _ => (Target::None, Target::None),
        };
        row(", medians of the rounds", "Mbit/s", ours.goodput, its.goodput, least);
        let waits = other == QUINN && cell.buffer == 10;
        let short = if waits { Target::AtMost(WAIT) } else { Target::None };
        row(", waiting in the buffer", "ms", ours.wait, its.wait, short);
        row(", on the line for a byte", "bytes", ours.cost, its.cost, Target::None);
        row(", processor for a GB", "s", ours.busy, its.busy, most);
    }
}
