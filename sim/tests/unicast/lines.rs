//! Lines that people have, measured in virtual time.

use servent_core::unicast::Congestion;
use servent_sim::unicast::line::LineWorld;

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
