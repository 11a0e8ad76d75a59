use super::*;

const MTU: u64 = 1_400;

fn ms(n: u64) -> Duration {
    Duration::from_millis(n)
}

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

fn ack(newly: u64) -> AckSample {
    AckSample { newly, limited: true, ..AckSample::default() }
}

fn loss(first: u64, highest: u64, lost: u64) -> AckSample {
    AckSample { first_lost: Some(first), highest_sent: highest, lost, ..AckSample::default() }
}

#[test]
fn cube_roots() {
    for n in [0, 1, 7, 8, 26, 27, 999, 1_000, u64::MAX] {
        let root = cube_root(n);
        assert!(u128::from(root).pow(3) <= u128::from(n));
        assert!(u128::from(root + 1).pow(3) > u128::from(n), "{n}");
    }
}

/// A window of so many bytes that lost something at the beginning of time
/// while it was 1010 datagrams wide; it is back at that after 9.115 s.
fn after_loss(window: u64) -> Cubic {
    let (slow_until, before) = (0, 1_414_000);
    Cubic { window, slow_until, before, reno_full: before, ..Cubic::new(MTU) }
}

#[test]
fn grows_along_the_curve_of_the_rfc() {
    for (n, bytes) in [
        (0, 989_910),
        (4_000, 1_339_059),
        (9_115, 1_414_000),
        (10_115, 1_414_560),
        (20_000, 2_136_226),
        (100_000, 421_815_891),
        (200_000, 421_815_891),
    ] {
        assert_eq!(after_loss(0).curve(at(n)), bytes, "{n} ms");
    }
}

#[test]
fn a_round_takes_its_share_of_the_way_to_the_curve_and_never_more_than_half_again() {
    let after = |window: u64, n: u64| {
        let mut cubic = after_loss(window);
        cubic.grow(at(n), 14_000);
        cubic.window - window
    };
    assert_eq!(after(989_800, 4_000), 4_940, "of what is acknowledged, not all at once");
    assert_eq!(after(2_000_000, 100_000), 7_000, "no more than half the window in a round");
    assert_eq!(after(2_000_000, 9_115), 0, "not beyond the curve");
    assert_eq!(after(LARGEST, 9_115), 0, "up to a limit");
}

#[test]
fn one_loss_a_round_and_a_stall_step_back_and_no_further_than_two_datagrams() {
    let mut cubic = Cubic::new(MTU);
    cubic.acked(at(0), &AckSample { limited: false, ..ack(1_000) });
    assert_eq!(cubic.window, 14_000, "it was not in use");
    cubic.acked(at(0), &loss(1, 10, 1_400));
    assert_eq!(cubic.window, 9_800);
    cubic.acked(at(0), &loss(10, 20, 1_400));
    assert_eq!(cubic.window, 9_800, "it was sent before");
    cubic.acked(at(0), &loss(11, 20, 1_400));
    assert_eq!(cubic.window, 6_860);
    cubic.signal(at(0), Signal::Stalled);
    assert_eq!(cubic.window, 2_800);
    cubic.acked(at(0), &ack(1_000));
    assert_eq!(cubic.window, 3_800, "slow start");
    cubic.acked(at(0), &ack(14_000));
    assert_eq!(cubic.window, 6_860 * 7 / 10, "which ends below where it stalled");
}

#[test]
fn a_sender_that_loses_before_it_was_back_makes_room() {
    let mut cubic = Cubic { slow_until: 0, before: 200_000, window: 100_000, ..Cubic::new(MTU) };
    cubic.reduce(at(0), 0);
    assert_eq!((cubic.before, cubic.window), (85_000, 70_000));
    let mut cubic = Cubic { slow_until: 0, before: 50_000, window: 100_000, ..Cubic::new(MTU) };
    cubic.reduce(at(0), 0);
    assert_eq!(cubic.before, 100_000);
}

/// RFC 9438 §4.3: where the curve is flat for long, as in a short round trip,
/// the window grows by 9/17 of a datagram a round trip.
#[test]
fn in_a_short_round_trip_it_grows_as_reno_would() {
    let mut cubic = Cubic { slow_until: 0, window: 100 * MTU, ..Cubic::new(MTU) };
    cubic.reduce(at(0), 0);
    let begin = cubic.window;
    for round in 1..=20 {
        for _ in 0..10 {
            let part = cubic.window / 10;
            cubic.acked(at(round), &ack(part));
        }
    }
    let grown = (cubic.window - begin) as f64 / MTU as f64;
    assert!((10.0..11.0).contains(&grown), "{grown} datagrams in twenty round trips");
}

#[test]
fn a_reduction_is_undone_when_all_that_was_lost_was_only_late() {
    let mut cubic = after_loss(1_000_000);
    cubic.acked(at(9_000), &loss(11, 20, 2_800));
    assert_eq!(cubic.window, 700_000);
    cubic.signal(at(9_020), Signal::Spurious(1_400));
    assert_eq!(cubic.window, 700_000, "one of two");
    cubic.signal(at(9_020), Signal::Spurious(1_400));
    assert_eq!((cubic.window, cubic.before), (1_000_000, 1_414_000));
}

/// An acknowledgement of numbers up to `newest` that echoes a mark.
fn mark(newest: u64, highest: u64) -> AckSample {
    AckSample { newest, highest_sent: highest, marked: MTU, ..AckSample::default() }
}

/// RFC 3168 §6.1.2: numbers that were under way at a reduction ask for no other one.
#[test]
fn marks_of_one_window_reduce_it_once() {
    let mut cubic = after_loss(1_000_000);
    cubic.acked(at(9_000), &mark(11, 20));
    assert_eq!(cubic.window, 700_000);
    for newest in 12..=20 {
        cubic.acked(at(9_000), &mark(newest, newest + 10));
        assert_eq!(cubic.window, 700_000, "{newest} was sent before");
    }
    cubic.acked(at(9_020), &loss(20, 31, 1_400));
    assert_eq!(cubic.window, 700_000, "a loss among them does not either");
    cubic.acked(at(9_020), &mark(21, 40));
    assert_eq!(cubic.window, 490_000, "the next window");
}

#[test]
fn what_was_only_late_does_not_undo_the_reduction_for_a_mark() {
    let mut cubic = after_loss(1_000_000);
    cubic.acked(at(9_000), &mark(11, 20));
    cubic.signal(at(9_010), Signal::Spurious(1_400));
    assert_eq!(cubic.window, 700_000, "nothing was lost");
    let mut cubic = after_loss(1_000_000);
    cubic.acked(at(9_000), &loss(11, 20, 1_400));
    cubic.acked(at(9_005), &mark(15, 22));
    cubic.signal(at(9_010), Signal::Spurious(1_400));
    assert_eq!(cubic.window, 700_000, "the mark asks for the same reduction");
}

/// RFC 9406: a queue that builds ends the doubling before anything is lost.
#[test]
fn slow_start_ends_when_the_round_trip_grows() {
    let mut cubic = Cubic::new(MTU);
    let (mut delivered, mut rounds, mut careful) = (0, 0, None);
    while cubic.is_slow() && rounds < 30 {
        rounds += 1;
        // The path holds 100 datagrams; what is beyond waits.
        let queue = cubic.window.saturating_sub(100 * MTU) / MTU;
        for _ in 0..10 {
            let newly = cubic.window / 10;
            delivered += newly;
            let rtt = Some(ms(40) + Duration::from_micros(400 * queue));
            let in_flight = cubic.window;
            cubic.acked(at(rounds * 40), &AckSample { delivered, in_flight, rtt, ..ack(newly) });
            if cubic.hystart.careful.is_some() {
                careful.get_or_insert(cubic.window / MTU);
            }
        }
    }
    assert!((8..20).contains(&rounds), "{rounds} round trips");
    assert!(careful.is_some_and(|at| at < 500), "careful at {careful:?} datagrams");
    assert!(!cubic.is_slow(), "{} datagrams", cubic.window / MTU);
}
