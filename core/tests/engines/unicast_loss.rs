//! The first, a middle one, the last, acknowledgements and requests lost:
//! everything is repaired, and nothing is repaired for ever (UC-12).

use crate::unicast_support;

use servent_core::time::Duration;
use servent_core::unicast::{Config, Congestion, Event, Input, Profile, RetransmitReason};
use servent_core::wire::unicast::{Ack, AckCounts, ConnBlock, Packet};
use unicast_support::{Fate, PROFILES, World, addr, carries, config, has_ack};

/// Sends 1…5, each in a turn of its own, while `lose` says what is lost;
/// checks that all arrive once and in order, and that it becomes quiet.
fn five(lose: impl Fn(usize, &Packet, u32) -> bool + Copy + 'static) {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        let mut seen = 0;
        world.hook(move |from, packet| {
            seen += 1;
            if lose(from, packet, seen) { Fate::Drop } else { Fate::Pass }
        });
        for n in 1..=5 {
            world.send(0, 1, n);
            world.run_ms(1);
        }
        let limit = Duration::from_secs(10);
        world.run_until(limit, |w| w.unacked(0, 1) == 0 && w.nodes[1].got.len() == 5);
        assert_eq!(world.numbers(1, 0), [1, 2, 3, 4, 5], "{profile:?}");
        world.run_secs(5);
        let quiet = world.datagrams;
        world.run_secs(60);
        assert_eq!(world.datagrams, quiet, "{profile:?}: nothing is sent for ever");
        assert_eq!(world.numbers(1, 0), [1, 2, 3, 4, 5], "{profile:?}");
    }
}

#[test]
fn nothing_is_lost_and_nothing_is_sent_twice() {
    five(|_, _, _| false);
}

#[test]
fn each_of_five_is_lost_once() {
    for lost in 1..=5 {
        five(move |from, packet, seen| from == 0 && carries(packet, lost) && seen <= 6);
    }
}

#[test]
fn all_five_are_lost_once() {
    five(|from, _, seen| from == 0 && seen <= 5);
}

#[test]
fn the_first_acknowledgements_are_lost() {
    five(|_, packet, seen| has_ack(packet) && seen <= 11);
}

#[test]
fn the_first_request_is_lost() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        let mut lost = 0;
        world.hook(move |_, packet| {
            let asks = |b: &ConnBlock| matches!(b, ConnBlock::Ack(ack) if !ack.wanted.is_empty());
            let first = carries(packet, 3) && lost == 0;
            let request = packet.blocks.iter().any(asks) && lost == 1;
            if first || request {
                lost += 1;
                return Fate::Drop;
            }
            Fate::Pass
        });
        world.send_all(0, 1, 1..=2);
        world.send(0, 1, 3);
        world.send_all(0, 1, 4..=9);
        world.run_until(Duration::from_secs(10), |w| w.nodes[1].got.len() == 9);
        assert_eq!(world.numbers(1, 0), (1..=9).collect::<Vec<_>>());
        assert_eq!(world.count(1, |e| matches!(e, Event::Requested { from: 3, .. })), 2);
    }
}

/// Message 2 is lost once, with nothing behind it; what it took from then on.
fn lost_last(one_way: Duration) -> (World, Duration) {
    let mut world = World::pair(servent_core::unicast::Profile::Adaptive);
    world.link.delay = one_way;
    world.send(0, 1, 1);
    world.run_ms(500);
    let mut lost = false;
    world.hook(move |_, packet| {
        if carries(packet, 2) && !lost {
            lost = true;
            return Fate::Drop;
        }
        Fate::Pass
    });
    world.send(0, 1, 2);
    let took = world.run_until(Duration::from_secs(5), |w| w.nodes[1].got.len() == 2);
    (world, took)
}

#[test]
fn the_last_one_arrives_within_five_round_trips() {
    for micros in [20, 100, 1_000, 2_000, 10_000, 50_000] {
        let one_way = Duration::from_micros(micros);
        let (_, took) = lost_last(one_way);
        assert!(took <= one_way.ratio(10, 1), "one way takes {one_way:?}, it took {took:?}");
    }
}

#[test]
fn on_a_fast_path_the_receiver_is_asked_and_names_what_it_misses() {
    let (mut world, _) = lost_last(Duration::from_micros(50));
    let tail = |e: &Event| matches!(e, Event::Resent { why: RetransmitReason::Tail, .. });
    let missing = |e: &Event| {
        matches!(e, Event::Resent { from: 2, to: 2, why: RetransmitReason::Missing, .. })
    };
    assert_eq!((world.count(0, tail), world.count(0, missing)), (0, 1));
    // Nothing lost, nothing sent again, however late an acknowledgement is.
    for n in 3..=20 {
        world.send(0, 1, n);
        world.run_ms(20);
    }
    let again = |e: &Event| matches!(e, Event::Resent { .. });
    assert_eq!(world.count(0, again), 1);
}

#[test]
fn all_other_profiles_survive_a_lossy_jittery_repeating_link() {
    for profile in PROFILES {
        for seed in 0..5 {
            let mut world = World::new(config(profile), 2, seed);
            world.link.loss = 200;
            world.link.twice = 50;
            world.link.jitter = Duration::from_millis(30);
            for n in 1..=300 {
                world.send(0, 1, n);
                world.send(1, 0, n);
                world.run_ms(3);
            }
            let done = |w: &World| w.unacked(0, 1) + w.unacked(1, 0) == 0;
            world.run_until(Duration::from_secs(300), done);
            let all: Vec<u64> = (1..=300).collect();
            assert_eq!(world.numbers(1, 0), all, "{profile:?} {seed}");
            assert_eq!(world.numbers(0, 1), all, "{profile:?} {seed}");
        }
    }
}

/// An acknowledgement, `delay` after the newest message came.
fn ack(world: &World, (upto, newest): (u64, u64), delay: Duration, wanted: &[(u64, u64)]) -> Input {
    let conn = world.sender(0, 1).expect("it sends").conn;
    let (messages, bytes, wanted) = (100, 100_000, wanted.to_vec());
    let ack = Ack {
        conn,
        upto,
        newest,
        delay: delay.as_micros(),
        messages,
        bytes,
        wanted,
        counts: AckCounts::default(),
    };
    Input::Packet { peer: addr(1), packet: Packet { blocks: vec![ConnBlock::Ack(ack)] }, bytes: 40 }
}

#[test]
fn what_is_missing_stays_so_when_the_same_is_acknowledged_again() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.hook(|_, _| Fate::Drop);
        world.send_all(0, 1, 1..=5);
        world.run_ms(30);
        for wanted in [&[(2, 2)][..], &[]] {
            let said = ack(&world, (1, 5), Duration::ZERO, wanted);
            world.input(0, said);
        }
        world.flush(0);
        let resent = |e: &Event| {
            matches!(e, Event::Resent { from: 2, to: 2, why: RetransmitReason::Missing, .. })
        };
        assert_eq!(world.count(0, resent), 1, "{profile:?}");
    }
}

#[test]
fn a_round_trip_is_measured_without_the_delay_that_the_other_side_owns_up_to() {
    let ms = Duration::from_millis;
    // A delay of the whole time or longer cannot be true.
    for (delay, trip) in [(0, 30), (10, 20), (29, 1), (30, 30), (31, 30)] {
        let mut world = World::pair(PROFILES[1]);
        world.hook(|_, _| Fate::Drop);
        world.send(0, 1, 1);
        world.run_ms(30);
        let said = ack(&world, (1, 1), ms(delay), &[]);
        world.input(0, said);
        assert_eq!(world.nodes[0].endpoint.rtt(addr(1)), Some(ms(trip)), "{delay}");
    }
}

/// Everything under way is lost just after a loss has made the window smaller: what is
/// missing has no room, and the question about the tail must not wait behind it.
#[test]
fn a_window_full_of_what_is_lost_is_asked_about() {
    for congestion in [Congestion::Cubic, Congestion::Bbr] {
        let config = Config { congestion, mtu: 200, ..config(Profile::Adaptive) };
        let mut world = World::new(config, 2, 1);
        let mut seen = 0;
        world.hook(move |from, packet| {
            let fresh = |block: &ConnBlock| matches!(block, ConnBlock::Data(data) if !data.again);
            if from != 0 || !packet.blocks.iter().any(fresh) {
                return Fate::Pass;
            }
            seen += 1;
            if seen == 5 || (10..60).contains(&seen) { Fate::Drop } else { Fate::Pass }
        });
        world.send_all(0, 1, 0..2_000);
        let took = world.run_until(Duration::from_secs(20), |w| w.unacked(0, 1) == 0);
        assert_eq!(world.numbers(1, 0), (0..2_000).collect::<Vec<_>>(), "{congestion:?}");
        assert!(took < Duration::from_secs(10), "{congestion:?}: {took:?}");
    }
}
