//! One line: what a sender gets of it, measured in virtual time.
//!
//! `cargo run --release -p servent-sim --example one_line` prints the cells of
//! the table; `far` those of a gigabit per second. A cell of one's own: `line
//! MBIT MS PERMILLE BUFFER`. `cubic` uses that, and `watch` prints the sender
//! ten times a second.

use std::env::args;

use servent_core::time::{Duration, Instant};
use servent_core::unicast::Congestion;
use servent_sim::unicast::line::cells::{FAR, LINES, LineCell};

pub(crate) fn main() {
    let words: Vec<String> = args().skip(1).collect();
    let has = |word: &str| words.iter().any(|it| it == word);
    let mut cells: Vec<LineCell> = if has("far") { FAR.to_vec() } else { LINES.to_vec() };
    if has("line") {
        let numbers: Vec<u64> = words.iter().filter_map(|it| it.parse().ok()).collect();
        let &[mbit, round_trip_ms, loss, buffer] = &numbers[..] else { return };
        cells = vec![LineCell { mbit, round_trip_ms, loss, buffer, goal: 0 }];
    }
    let congestion = if has("cubic") { Congestion::Cubic } else { Congestion::default() };
    println!(
        "cell | Mbit/s | goal | sent/first | queueing ms, of 50 %, 95 % | lost, full, chance | 90 %"
    );
    for cell in cells {
        let mut world = cell.world().with_flows(&[congestion]);
        if has("watch") {
            world = world.lasting(2, 10);
        }
        let report = world.run_with(|at, view| {
            if has("watch") {
                println!("{at:?} {view:?}");
            }
        });
        let flow = &report.flows[0];
        let ms = |d: Duration| d.as_micros() as f64 / 1_000.0;
        println!(
            "{} | {:.1} | {} | {:.3} | {:.1} {:.1} | {} {} | {:?} ms",
            cell.name(),
            flow.goodput as f64 / 1e6,
            cell.goal,
            flow.effort() as f64 / 1e4,
            ms(report.queueing),
            ms(report.queueing_95),
            report.overflowed,
            report.chance,
            flow.reached(flow.goodput * 9 / 10, Instant::ZERO).map(ms),
        );
    }
}
