//! PA-1 to PA-9: what `send` and `receive` get of a line, in virtual time.

use servent_core::time::{Duration, Instant};
use servent_core::unicast::Congestion;
use servent_sim::unicast::line::{Blackout, LineFlow, LineReport, LineWorld};

const BBR: Congestion = Congestion::Bbr;
const CUBIC: Congestion = Congestion::Cubic;

/// Megabits per second of all flows together.
fn mbit(report: &LineReport) -> f64 {
    report.goodput() as f64 / 1e6
}

/// Messages sent for each one that the first flow sent for the first time.
fn effort(report: &LineReport) -> f64 {
    report.flows[0].effort() as f64 / 1e4
}

/// Milliseconds that half of the datagrams waited at most.
fn queueing(report: &LineReport) -> f64 {
    report.queueing.as_micros() as f64 / 1_000.0
}

/// At no less than `goal` of twenty megabits, with little queued and little
/// sent twice.
fn fares_well(world: LineWorld, goal: f64, loss: f64) {
    let report = world.clone().lasting(5, 30).run();
    let (mbit, effort) = (mbit(&report), effort(&report));
    assert!(mbit >= goal, "{mbit} Mbit/s of 20, {goal} wanted: {world:?}");
    assert!(effort <= 1.015 + loss, "{effort} datagrams for each: {world:?}");
    assert!(queueing(&report) <= 25.0, "{} ms queued: {world:?}", queueing(&report));
}

#[test]
fn pa_1_the_rate_of_the_path_is_reached_whatever_it_loses() {
    for (round_trip, goals) in [(20, [18.6, 17.4, 16.0]), (100, [18.0, 16.8, 16.0])] {
        for (per_mille, goal) in [1, 10, 50].into_iter().zip(goals) {
            let world = LineWorld::new(20, round_trip, 100).losing(per_mille);
            fares_well(world, goal, per_mille as f64 / 1_000.0);
        }
    }
}

#[test]
fn pa_1_a_shallow_buffer_is_enough() {
    fares_well(LineWorld::new(20, 20, 10), 18.0, 0.0);
    fares_well(LineWorld::new(20, 100, 10), 17.6, 0.0);
}

#[test]
fn pa_1_start_up_finds_the_rate_within_two_seconds_and_drains_what_it_queued() {
    let report = LineWorld::new(20, 100, 100).lasting(3, 8).run();
    let found = report.flows[0].reached(17_000_000, Instant::ZERO);
    assert!(found.is_some_and(|took| took <= Duration::from_millis(2_000)), "{found:?}");
    assert!(queueing(&report) <= 25.0, "{} ms queued", queueing(&report));
}

#[test]
fn pa_1_two_of_ours_share_a_line() {
    let world = LineWorld::new(20, 40, 100).with_flows(&[BBR, BBR]);
    let report = world.lasting(30, 90).run();
    assert!(report.fairness() >= 900, "{:?}", rates(&report));
    assert!(mbit(&report) >= 18.0, "{:?}", rates(&report));
}

#[test]
fn pa_4_a_cubic_flow_beside_ours_keeps_its_share() {
    let world = LineWorld::new(20, 40, 100).with_flows(&[CUBIC, BBR]);
    let report = world.lasting(20, 80).run();
    let share = rates(&report)[0] / mbit(&report);
    assert!(share >= 0.35, "CUBIC has {share}: {:?}", rates(&report));
    assert!(share <= 0.85, "and leaves something: {:?}", rates(&report));
}

/// Loss alone rewards a sender that heeds nothing; a shallow buffer, and a flow that heeds
/// it, do not. Of its fair share CUBIC keeps what it keeps of a clear line: of half the
/// line, or of what the loss leaves it alone where that is less.
#[test]
fn pa_4_a_lossy_line_has_a_twin_with_a_shallow_buffer_and_one_beside_cubic() {
    let lossy = |buffer, flows: &[Congestion]| {
        let world = LineWorld::new(20, 40, buffer).losing(10).with_flows(flows);
        let report = world.lasting(10, 40).run();
        rates(&report)
    };
    let shallow = lossy(10, &[BBR]);
    assert!(shallow[0] >= 0.9 * 17.4, "{shallow:?}");
    let (alone, beside) = (lossy(100, &[CUBIC])[0], lossy(100, &[CUBIC, BBR]));
    assert!(beside[0] >= 0.7 * alone.min(10.0), "alone {alone}, beside ours {beside:?}");
    assert!(beside[0] + beside[1] >= 16.0, "{beside:?}");
}

fn rates(report: &LineReport) -> Vec<f64> {
    report.flows.iter().map(|flow| flow.goodput as f64 / 1e6).collect()
}

#[test]
fn pa_4_cubic_fills_a_clear_line_and_loses_little_in_slow_start() {
    let report = LineWorld::new(20, 40, 100).with_flows(&[CUBIC]).lasting(5, 20).run();
    assert!(mbit(&report) >= 18.6, "{} Mbit/s", mbit(&report));
    assert!(effort(&report) < 1.01, "{}", effort(&report));
}

#[test]
fn pa_2_pacing_keeps_trains_out_of_a_buffer_of_four_datagrams() {
    let mut world = LineWorld::new(20, 40, 100);
    world.link.queue = 4 * 1_500;
    let report = world.lasting(5, 20).run();
    assert!(mbit(&report) >= 15.0, "{} Mbit/s", mbit(&report));
}

#[test]
fn pa_3_the_window_follows_the_path() {
    // Four times what a receiver grants at first.
    let report = LineWorld::new(100, 640, 100).lasting(14, 20).run();
    assert!(mbit(&report) >= 85.0, "{} Mbit/s", mbit(&report));
}

#[test]
fn pa_5_what_overtakes_costs_little() {
    let clear = LineWorld::new(20, 40, 100).lasting(5, 20);
    let mut mixed = clear.clone();
    mixed.link.reorder = (50, 1_000);
    mixed.link.late = Duration::from_millis(20);
    let (clear, mixed) = (clear.run(), mixed.run());
    assert!(mbit(&mixed) >= 0.97 * mbit(&clear), "{} of {}", mbit(&mixed), mbit(&clear));
    assert!(effort(&mixed) < 1.01, "{}", effort(&mixed));
}

#[test]
fn pa_5_a_repair_costs_one_datagram() {
    let report = LineWorld::new(20, 40, 100).losing(50).lasting(5, 20).run();
    assert!(effort(&report) <= 1.065, "{}", effort(&report));
}

#[test]
fn pa_6_the_datagrams_fit_a_path_of_1280_bytes_and_use_one_of_1500() {
    // Without the heads of IPv6 and UDP.
    for (mtu, least, most) in [(1_232, 1_100, 1_200), (1_372, 1_250, 1_372), (1_472, 1_350, 1_472)]
    {
        let mut world = LineWorld::new(20, 40, 100);
        world.link.mtu = mtu;
        let report = world.lasting(5, 15).run();
        let flow = &report.flows[0];
        assert!(mbit(&report) >= 17.5, "{mtu}: {} Mbit/s", mbit(&report));
        let each = flow.delivered / flow.sent;
        assert!((least..=most).contains(&each), "{mtu}: {each} bytes in each");
    }
}

/// WireGuard's: without the heads of IPv4 or IPv6, and of UDP.
#[test]
fn pa_6_a_tunnel_of_1420_bytes_is_used_whole() {
    for mtu in [1_392, 1_372] {
        let mut world = LineWorld::new(20, 40, 100).lasting(3, 10);
        world.link.mtu = mtu;
        let mut sizes = Vec::new();
        let report = world.run_with(|at, sender| {
            if at >= Instant::from_secs(3) {
                sizes.push(sender.datagram);
            }
        });
        assert!(sizes.iter().all(|size| *size == mtu), "{mtu}: {sizes:?}");
        assert_eq!(report.flows[0].ended, None);
    }
}

/// A path of jumbo frames, or of Ethernet, that carries only what IPv6 promises from an
/// instant on, and says nothing of it.
#[test]
fn pa_6_a_black_hole_is_found_within_three_round_trips() {
    const TRIP: u64 = 400;
    let narrows = Instant::from_secs(8);
    for mtu in [8_952, 1_472] {
        for (loss, control) in [(0, BBR), (10, BBR), (0, CUBIC)] {
            let mut world = LineWorld::new(20, TRIP, 100).losing(loss).with_flows(&[control]);
            (world.link.mtu, world.narrows) = (mtu, Some((narrows, 1_232)));
            let (mut before, mut found) = (0, None);
            let report = world.lasting(14, 20).run_with(|at, sender| {
                if at < narrows {
                    before = sender.datagram;
                } else if sender.datagram <= 1_232 {
                    found = found.or_else(|| Some(at.since(narrows)));
                }
            });
            let what = format!("{mtu} bytes, {loss} thousandths, {control:?}");
            assert_eq!(before, mtu, "{what}: what is to be lost was found");
            // From when the first that is lost would have arrived. CUBIC fills the buffer, which
            // is a round trip more.
            let trip = if control == CUBIC { 2 * TRIP } else { TRIP };
            let most = Duration::from_millis(trip - TRIP / 2 + 3 * trip);
            assert!(found.is_some_and(|took| took <= most), "{what}: {found:?}");
            assert_eq!(report.flows[0].ended, None, "{what}");
            assert!(control == CUBIC || mbit(&report) >= 16.0, "{what}: {}", mbit(&report));
        }
    }
}

/// A receiver that is stopped, or a line without power: nothing arrives, of whatever size.
#[test]
fn pa_6_a_darkness_says_nothing_of_the_size() {
    for (trip, control) in [(40, BBR), (40, CUBIC), (400, BBR)] {
        for (seconds, loss) in [(1, 0), (20, 0), (5, 10)] {
            let (from, until) = (Instant::from_secs(8), Instant::from_secs(8 + seconds));
            let mut world = LineWorld::new(20, trip, 100).losing(loss).with_flows(&[control]);
            world.blackouts = vec![Blackout { from, until }];
            let mut sizes = Vec::new();
            let report = world.lasting(1, 20 + seconds).run_with(|at, sender| {
                if at >= from {
                    sizes.push(sender.datagram);
                }
            });
            let what = format!("{trip} ms, {control:?}, {seconds} s, {loss} thousandths");
            assert!(sizes.iter().all(|size| *size == 1_472), "{what}: {sizes:?}");
            assert_eq!(report.flows[0].ended, None, "{what}");
        }
    }
}

#[test]
fn pa_7_a_path_that_marks_everything_slows_nothing_down() {
    for control in [CUBIC, BBR] {
        let mut world = LineWorld::new(20, 40, 200).with_flows(&[control]).lasting(5, 20);
        world.marks = Some(0);
        let report = world.run();
        assert!(mbit(&report) >= 17.0, "{control:?}: {} Mbit/s", mbit(&report));
        let flow = &report.flows[0];
        assert!(flow.capable < 300 && flow.sent > 10_000, "{control:?}: {}", flow.capable);
    }
}

/// A router that marks instead of dropping, and behind it one that clears the mark: the
/// sender finds out with marks of its own, and is dropped like others from then on.
#[test]
fn pa_7_a_path_that_clears_marks_is_not_asked_for_any() {
    for control in [CUBIC, BBR] {
        let mut world = LineWorld::new(20, 40, 100).with_flows(&[control]).lasting(5, 20);
        world.marks = Some(world.link.queue / 4);
        world.clears = true;
        let report = world.run();
        let flow = &report.flows[0];
        assert!(flow.capable < 1_000 && flow.sent > 10_000, "{control:?}: {}", flow.capable);
        assert!(mbit(&report) >= 17.5, "{control:?}: {} Mbit/s", mbit(&report));
    }
}

/// A router that marks what finds a quarter of its buffer full need not drop.
#[test]
fn pa_7_a_line_that_marks_keeps_its_rate_and_loses_nothing() {
    for control in [CUBIC, BBR] {
        let mut world = LineWorld::new(20, 40, 200).with_flows(&[control]).lasting(5, 20);
        let dropped = world.run();
        world.marks = Some(world.link.queue / 4);
        let report = world.run();
        assert!(mbit(&report) >= 17.5, "{control:?}: {} Mbit/s", mbit(&report));
        assert_eq!(report.overflowed, 0, "{control:?}");
        let flow = &report.flows[0];
        assert_eq!(flow.capable, flow.sent, "{control:?}: it goes on saying so");
        assert!(queueing(&report) <= queueing(&dropped), "{control:?}: {}", queueing(&report));
    }
}

fn dark(seconds: u64) -> LineReport {
    let (from, until) = (Instant::from_secs(5), Instant::from_secs(5 + seconds));
    let blackouts = vec![Blackout { from, until }];
    LineWorld { blackouts, ..LineWorld::new(20, 40, 100).lasting(1, 15 + seconds) }.run()
}

#[test]
fn pa_8_a_blackout_ends_nothing_and_the_rate_is_back_within_three_seconds() {
    for seconds in [3, 60] {
        let report = dark(seconds);
        let flow = &report.flows[0];
        assert_eq!(flow.ended, None, "{seconds} s");
        let back = flow.reached(16_000_000, Instant::from_secs(5 + seconds));
        assert!(back.is_some_and(|took| took <= Duration::from_secs(3)), "{seconds} s: {back:?}");
    }
}

#[test]
fn pa_8_a_reader_that_pauses_for_five_minutes_ends_nothing() {
    let pause = Blackout { from: Instant::from_secs(3), until: Instant::from_secs(303) };
    let flows = vec![LineFlow { pause: Some(pause), ..LineFlow::default() }];
    let report = LineWorld { flows, ..LineWorld::new(20, 40, 100).lasting(1, 310) }.run();
    assert_eq!(report.flows[0].ended, None);
    let back = report.flows[0].reached(16_000_000, pause.until);
    assert!(back.is_some_and(|took| took <= Duration::from_secs(3)), "{back:?}");
}

/// A line of 20 Mbit/s that is dark for a minute, and a sender that may use a fifth of it.
#[test]
fn pa_2_a_greatest_rate_is_kept_and_nothing_is_saved_up_while_the_line_is_dark() {
    const RATE: u64 = 500_000;
    for (congestion, seconds) in [(BBR, 3), (BBR, 60), (CUBIC, 3), (Congestion::None, 3)] {
        let (from, until) = (Instant::from_secs(5), Instant::from_secs(5 + seconds));
        let mut world = LineWorld::new(20, 40, 100).lasting(1, 20 + seconds);
        world.config.max_pacing_rate = RATE;
        world.blackouts = vec![Blackout { from, until }];
        let flow = &world.with_flows(&[congestion]).run().flows[0];
        let arrived =
            |range: std::ops::Range<u64>| &flow.arrived[range.start as usize..range.end as usize];
        let most = arrived(0..flow.arrived.len() as u64).iter().max().unwrap();
        assert!(*most <= RATE * 16 / 100, "{congestion:?}, {seconds} s: {most} in a tenth");
        for (what, range) in
            [("before", 10..50), ("after", (10 * seconds + 80)..(10 * seconds + 190))]
        {
            let tenths = arrived(range);
            let rate = tenths.iter().sum::<u64>() * 10 / tenths.len() as u64;
            let fits = (RATE * 97 / 100..=RATE * 101 / 100).contains(&rate);
            assert!(fits, "{congestion:?}, {seconds} s: {rate} bytes a second {what} the darkness");
        }
    }
}
