//! Lines that people have, measured in virtual time.

use servent_core::unicast::Congestion;
use servent_sim::unicast::line::LineWorld;
use servent_sim::unicast::line::cells::{FAR, LINES, LineCell};

/// A cell of the table gives what it must, with little queued and little sent twice.
fn reaches_its_goal(cell: &LineCell, seconds: (u64, u64)) {
    let report = cell.world().lasting(seconds.0, seconds.1).run();
    let mbit = report.goodput() as f64 / 1e6;
    let effort = report.flows[0].effort() as f64 / 1e4;
    let name = cell.name();
    assert!(mbit >= cell.goal as f64, "{name}: {mbit} Mbit/s, {} wanted", cell.goal);
    assert!(effort <= 1.015 + cell.loss as f64 / 1e3, "{name}: {effort} datagrams for each");
    assert!(report.queueing.as_millis() <= 25, "{name}: {:?} queued", report.queueing);
}

/// A line with loss, a long one, and one with a shallow buffer; the others take minutes.
#[test]
fn the_lines_of_the_table_reach_their_goals() {
    for (round_trip, loss, buffer) in [(20, 10, 100), (100, 1, 100), (20, 0, 10)] {
        let is_it = |cell: &&LineCell| {
            (cell.mbit, cell.round_trip_ms, cell.loss, cell.buffer)
                == (100, round_trip, loss, buffer)
        };
        let cell = LINES.iter().find(is_it).expect("a cell of the table");
        reaches_its_goal(cell, (5, 10));
    }
}

#[test]
#[ignore = "run by `cargo xtask campaign`: it takes minutes"]
fn every_line_of_the_table_reaches_its_goal() {
    // Across an ocean as far as one of a hundred is lost.
    let far = FAR.iter().filter(|cell| cell.loss <= 10);
    for cell in LINES.iter().chain(far) {
        reaches_its_goal(cell, (5, 30));
    }
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
