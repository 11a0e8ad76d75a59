//! Lines that people have, measured in virtual time.

use servent_core::time::{Duration, Instant};
use servent_core::unicast::Congestion;
use servent_sim::unicast::line::cells::{FAR, LINES, LineCell};
use servent_sim::unicast::line::{HostDelay, LineWorld, Policer};

/// Seconds in which start-up finds the rate, or round trips where those are longer.
const START: f64 = 2.0;
const START_TRIPS: f64 = 20.0;
/// Thousandths: Jain's index of two of ours on one line.
const JAIN: u64 = 900;
/// What a CUBIC flow beside ours keeps at least.
const SHARE: f64 = 0.35;

/// What was measured in a cell of the table.
struct Measured {
    mbit: f64,
    /// Datagrams sent for each one that arrived.
    each: f64,
    /// Half of them waited no longer in the buffer, in milliseconds.
    queued: f64,
    /// Seconds until half of one had passed with nine tenths of the goal.
    start: Option<f64>,
}

impl Measured {
    fn run(cell: &LineCell, seconds: (u64, u64)) -> Self {
        let report = cell.world().lasting(seconds.0, seconds.1).run();
        let start = report.flows[0].carried(cell.goal * 900_000, Instant::ZERO);
        Self {
            mbit: report.goodput() as f64 / 1e6,
            each: report.flows[0].effort() as f64 / 1e4,
            queued: report.queueing.as_micros() as f64 / 1e3,
            start: start.map(|took| took.as_micros() as f64 / 1e6),
        }
    }

    /// What is not as it must be: little queued, little sent twice, soon fast.
    fn faults(&self, cell: &LineCell) -> Vec<&'static str> {
        let latest = START.max(cell.round_trip_ms as f64 / 1e3 * START_TRIPS);
        let soon = self.start.is_some_and(|start| start <= latest);
        let must = [
            (self.mbit >= cell.goal as f64, "slow"),
            (self.each <= 1.015 + cell.loss as f64 / 1e3, "sends too much"),
            (self.queued <= 25.0, "queues"),
            (soon, "starts late"),
        ];
        must.into_iter().filter(|(holds, _)| !holds).map(|(_, fault)| fault).collect()
    }
}

/// Measures cells, a row each, and judges them.
fn judge<'a>(cells: impl Iterator<Item = &'a LineCell>, seconds: (u64, u64)) {
    println!(
        "{:32} {:>7} {:>5} {:>7} {:>6} {:>6}",
        "line", "Mbit/s", "goal", "each", "queued", "start"
    );
    let mut failed = Vec::new();
    for cell in cells {
        let (name, it) = (cell.name(), Measured::run(cell, seconds));
        let Measured { mbit, each, queued, start } = it;
        let start = start.map_or_else(|| "-".to_owned(), |start| format!("{start:.1} s"));
        let (goal, faults) = (cell.goal, it.faults(cell).join(", "));
        println!(
            "{name:32} {mbit:>7.1} {goal:>5} {each:>7.4} {queued:>3.0} ms {start:>6} {faults}"
        );
        if !faults.is_empty() {
            failed.push((name, faults));
        }
    }
    assert_eq!(failed, [], "lines that miss their goals");
}

/// A line with loss, a long one, and one with a shallow buffer; the others take minutes.
#[test]
fn the_lines_of_the_table_reach_their_goals() {
    let some = [(20, 10, 100), (100, 1, 100), (20, 0, 10)];
    let is_one = |cell: &&LineCell| {
        cell.mbit == 100 && some.contains(&(cell.round_trip_ms, cell.loss, cell.buffer))
    };
    judge(LINES.iter().filter(is_one), (5, 10));
}

#[test]
#[ignore = "run by `cargo xtask campaign`: it takes minutes"]
fn every_line_of_the_table_reaches_its_goal() {
    judge(LINES.iter().chain(&FAR), (5, 30));
}

/// Lines between hosts that other programs keep busy: megabits, milliseconds, thousandths
/// lost, and the share that is reached, in hundredths.
const LATE: [(u64, u64, u64, u64); 5] =
    [(100, 20, 0, 94), (100, 20, 1, 90), (100, 20, 10, 90), (100, 100, 1, 90), (100, 100, 10, 90)];

#[test]
fn pa_1_hosts_that_run_late_are_no_queue() {
    let stall = |every, longest| HostDelay {
        every: Duration::from_micros(every),
        longest: Duration::from_micros(longest),
    };
    // As measured on a machine with two processors and five busy threads: a round trip of
    // 20 ms takes 21 in the middle, 24 once in ten times, 36 once in a hundred.
    let busy = [stall(3_000, 1_000), stall(30_000, 5_000), stall(150_000, 20_000)];
    for (mbit, ms, loss, goal) in LATE {
        let line = LineWorld::new(mbit, ms, 100).losing(loss).lasting(3, 13).on_late_hosts(&busy);
        let mut rates: Vec<u64> = (1..=5)
            .map(|seed| {
                LineWorld { seed, ..line.clone() }.run().goodput() * 100 / (mbit * 1_000_000)
            })
            .collect();
        rates.sort_unstable();
        assert!(rates[2] >= goal, "{mbit} Mbit/s, {ms} ms, {loss} of 1000 lost: {rates:?}");
    }
}

/// A relay that passes on two megabytes a second, a quarter of a second of them at once.
const RELAY: Policer = Policer { rate: 2_000_000, burst: 512 * 1_024 };

/// Megabits and milliseconds of the line to it, and how many are sent at most for ten
/// thousand. Start-up sees the burst, not the rate: the faster the line and the longer the
/// round trip, the more it sends in vain.
const THROUGH: [(u64, u64, u64); 6] = [
    (100, 1, 12_200),
    (100, 5, 12_200),
    (100, 20, 11_200),
    (100, 100, 12_800),
    (1_000, 1, 14_000),
    (1_000, 5, 14_000),
];

#[test]
fn pa_1_what_a_relay_drops_is_too_much_though_nothing_waits() {
    for (mbit, trip, most) in THROUGH {
        let line = LineWorld::new(mbit, trip, 100).lasting(3, 23).through(RELAY);
        let report = line.run();
        let (rate, effort) = (report.goodput() / 8, report.flows[0].effort());
        let goes = rate * 100 >= RELAY.rate * 95;
        assert!(goes, "{mbit} Mbit/s, {trip} ms: {rate} bytes a second");
        assert!(effort <= most, "{mbit} Mbit/s, {trip} ms: {effort} for ten thousand");
    }
}

/// Lines that two share: megabits, milliseconds, hundredths of the product.
const SHARED: [(u64, u64, u64); 6] =
    [(20, 40, 100), (20, 40, 200), (20, 100, 100), (100, 20, 100), (100, 100, 100), (100, 40, 400)];

#[test]
#[ignore = "run by `cargo xtask campaign`: it takes minutes"]
fn flows_that_share_a_line_are_fair() {
    println!(
        "{:28} {:>15} {:>5} {:>6}  {:>15} {:>6}",
        "line", "two", "Jain", "queued", "CUBIC, ours", "queued"
    );
    let mut failed = Vec::new();
    for (mbit, round_trip, buffer) in SHARED {
        let world = |flows: &[Congestion]| {
            let world = LineWorld::new(mbit, round_trip, buffer).with_flows(flows);
            let report = world.lasting(30, 90).run();
            let rates = [0, 1].map(|flow: usize| report.flows[flow].goodput as f64 / 1e6);
            (rates, report.fairness(), report.queueing.as_millis())
        };
        let name = format!("{mbit} Mbit/s, {round_trip} ms, {buffer} %");
        let (two, jain, queued) = world(&[Congestion::Bbr; 2]);
        let (beside, _, with_cubic) = world(&[Congestion::Cubic, Congestion::Bbr]);
        println!(
            "{name:28} {:>7.1} {:>7.1} {jain:>5} {queued:>3} ms  {:>7.1} {:>7.1} {with_cubic:>3} ms",
            two[0], two[1], beside[0], beside[1]
        );
        if jain < JAIN || beside[0] < SHARE * (beside[0] + beside[1]) {
            failed.push(name);
        }
    }
    assert_eq!(failed, [""; 0], "lines that are shared unfairly");
}

/// On a buffer of four products.
#[test]
fn one_that_waits_for_losses_fills_a_deep_buffer_and_one_that_measures_does_not() {
    let queued = |mbit, flows: &[Congestion]| {
        let world = LineWorld::new(mbit, 60, 400).with_flows(flows);
        world.lasting(5, 20).run().queueing.as_millis()
    };
    let (cubic, ours) = (queued(2, &[Congestion::Cubic]), queued(2, &[Congestion::Bbr]));
    assert!(cubic >= 150 && ours <= 25, "CUBIC {cubic} ms, ours {ours} ms");
    // Two of ours keep a few datagrams each beyond their product: little on a line
    // where one takes little time.
    let two = queued(10, &[Congestion::Bbr; 2]);
    assert!(two <= 60, "two of ours: {two} ms");
}

#[test]
fn a_line_is_measured_the_same_twice_and_another_seed_differs() {
    let world = LineWorld::new(10, 20, 100).losing(10).lasting(1, 4);
    let report = world.run();
    assert_eq!(report, world.run());
    assert_ne!(report, LineWorld { seed: 2, ..world }.run());
    assert!(report.chance > 0 && report.flows[0].delivered > 0);
}

#[test]
fn a_line_carries_no_more_than_its_rate_and_makes_wait_no_longer_than_its_buffer() {
    let world = LineWorld::new(10, 40, 100).with_flows(&[Congestion::Cubic]);
    let report = world.lasting(1, 6).run();
    let mbit = report.goodput() as f64 / 1e6;
    assert!((8.0..10.0).contains(&mbit), "{mbit} Mbit/s of 10");
    assert!(report.queueing_95.as_millis() <= 41, "{report:?}");
}
