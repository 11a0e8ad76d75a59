//! PA-1, PA-5: what a receiver that lies, or a forger on the path, gets of a line.

use servent_core::time::{Duration, Instant};
use servent_core::unicast::Congestion;
use servent_sim::unicast::line::{Blackout, LineLie, LineReport, LineWorld, LyingTime};

/// A line of 50 Mbit/s and 40 ms.
const LINE: u64 = 50;

/// It lies from the second second to the third.
const LIE: Blackout = Blackout { from: Instant::from_secs(2), until: Instant::from_secs(3) };

fn told(what: LineLie, during: Blackout, control: Congestion) -> LineReport {
    let lie = Some(LyingTime { what, during });
    let world = LineWorld { lie, ..LineWorld::new(LINE, 40, 100) };
    world.with_flows(&[control]).lasting(1, 20).run()
}

/// Megabits per second that arrived from one instant to another.
fn arrived(report: &LineReport, from: Duration, until: Duration) -> f64 {
    let tenth = |at: Duration| (at.as_micros() / 100_000) as usize;
    let tenths = &report.flows[0].arrived[tenth(from)..tenth(until)];
    tenths.iter().sum::<u64>() as f64 * 80.0 / tenths.len() as f64 / 1e6
}

#[test]
fn pa_1_a_false_delay_slows_nothing_down() {
    for control in [Congestion::Bbr, Congestion::Cubic] {
        let report = told(LineLie::Waited, LIE, control);
        let ms = Duration::from_millis;
        for (from, until) in [(2_000, 3_000), (3_000, 4_000), (4_000, 10_000)] {
            let rate = arrived(&report, ms(from), ms(until));
            assert!(rate >= 40.0, "{control:?}: {rate} Mbit/s from {from} ms to {until} ms");
        }
    }
}

/// No sender can tell a false request from a true one. Once they end, the shortest round trip
/// that they pretended is forgotten after ten seconds.
#[test]
fn pa_5_false_requests_end_nothing_and_the_rate_comes_back() {
    for control in [Congestion::Bbr, Congestion::Cubic] {
        let report = told(LineLie::AllMissing, LIE, control);
        let rates: Vec<f64> = (0..20)
            .map(|second| {
                arrived(&report, Duration::from_secs(second), Duration::from_secs(second + 1))
            })
            .collect();
        assert_eq!(report.flows[0].ended, None, "{control:?}");
        assert!(rates[14..].iter().all(|rate| *rate >= 40.0), "{control:?}: {rates:?}");
    }
}
