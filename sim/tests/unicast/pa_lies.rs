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
        let rates = seconds(&report);
        assert_eq!(report.flows[0].ended, None, "{control:?}");
        assert!(rates[14..].iter().all(|rate| *rate >= 40.0), "{control:?}: {rates:?}");
    }
}

/// What it made the sender send in vain has to be repaired.
#[test]
fn pa_1_what_a_forger_says_has_arrived_beyond_harms_only_while_it_is_said() {
    for control in [Congestion::Bbr, Congestion::Cubic] {
        for from in [Instant::from_micros(100_000), Instant::from_secs(2)] {
            let during = Blackout { from, until: from + Duration::from_millis(500) };
            let rates = forged(LineLie::ArrivedBeyond, during, control);
            let least = rates[3..].iter().fold(10.0, |least: f64, rate| least.min(*rate));
            assert!(least >= 2.5, "{control:?}, {from:?}: {rates:?}");
            if control == Congestion::Bbr {
                let back = if from == LIE.from { 3 } else { 16 };
                assert!(rates[back..].iter().all(|rate| *rate >= 9.0), "{from:?}: {rates:?}");
            }
        }
    }
}

#[test]
fn pa_1_the_shortest_round_trip_is_not_what_a_forger_says_once() {
    let during = Blackout { until: LIE.from + Duration::from_millis(5), ..LIE };
    for control in [Congestion::Bbr, Congestion::Cubic] {
        let rates = forged(LineLie::NewestArrived, during, control);
        assert!(rates[2..].iter().all(|rate| *rate >= 9.0), "{control:?}: {rates:?}");
    }
}

/// Megabits that arrived in each second on a line of 10 Mbit/s and 40 ms.
fn forged(what: LineLie, during: Blackout, control: Congestion) -> Vec<f64> {
    let lie = Some(LyingTime { what, during });
    let world = LineWorld { lie, ..LineWorld::new(10, 40, 250) };
    let report = world.with_flows(&[control]).lasting(1, 20).run();
    assert_eq!(report.flows[0].ended, None, "{control:?}");
    seconds(&report)
}

fn seconds(report: &LineReport) -> Vec<f64> {
    let at = Duration::from_secs;
    (0..20).map(|second| arrived(report, at(second), at(second + 1))).collect()
}
