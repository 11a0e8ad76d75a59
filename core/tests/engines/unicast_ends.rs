//! Connections that begin, end and begin again, on one side or on both:
//! every message exactly once, and no connection stays half open.

use crate::unicast_support;

use servent_core::time::Duration;
use servent_core::unicast::{Event, Input, Profile, Side};
use unicast_support::{Fate, PROFILES, World, addr, carries, has_data};

fn forget(world: &mut World, at: usize, of: usize, side: Side) {
    world.input(at, Input::Forget { peer: addr(of), side });
    world.flush(at);
}

fn all(from: u64, to: u64) -> Vec<u64> {
    (from..=to).collect()
}

#[test]
fn a_hundred_one_way_and_fifty_back() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=100);
        world.send_all(1, 0, 1..=50);
        world.run_secs(5);
        assert_eq!(world.numbers(1, 0), all(1, 100));
        assert_eq!(world.numbers(0, 1), all(1, 50));
        assert_eq!(world.unacked(0, 1) + world.unacked(1, 0), 0);
    }
}

#[test]
fn closed_by_both_by_one_or_by_the_other_then_more_both_ways() {
    for profile in PROFILES {
        for who in [&[0_usize, 1][..], &[0], &[1]] {
            let mut world = World::pair(profile);
            world.send_all(0, 1, 1..=10);
            world.send_all(1, 0, 1..=10);
            world.run_secs(2);
            for at in who {
                world.input(*at, Input::Close { peer: addr(1 - at) });
                world.flush(*at);
            }
            world.run_secs(90);
            for at in who {
                assert!(world.sender(*at, 1 - at).is_none(), "{profile:?} {who:?}");
            }
            world.send_all(0, 1, 11..=20);
            world.send_all(1, 0, 11..=20);
            world.run_secs(10);
            assert_eq!(world.numbers(1, 0), all(1, 20), "{profile:?} {who:?}");
            assert_eq!(world.numbers(0, 1), all(1, 20), "{profile:?} {who:?}");
        }
    }
}

#[test]
fn the_first_message_of_the_new_series_is_lost() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=5);
        world.input(0, Input::Close { peer: addr(1) });
        world.run_secs(90);
        let mut lost = false;
        world.hook(move |from, packet| {
            let drop = from == 0 && has_data(packet) && !lost;
            lost |= drop;
            if drop { Fate::Drop } else { Fate::Pass }
        });
        for n in 6..=9 {
            world.send(0, 1, n);
        }
        world.run_secs(10);
        assert_eq!(world.numbers(1, 0), all(1, 9), "{profile:?}");
    }
}

#[test]
fn the_same_first_message_ten_times() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        let copies = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let keep = std::rc::Rc::clone(&copies);
        world.hook(move |from, packet| {
            if from == 0 && has_data(packet) {
                keep.borrow_mut().push(packet.clone());
            }
            Fate::Pass
        });
        world.send(0, 1, 1);
        world.run_secs(1);
        let first = copies.borrow()[0].clone();
        for _ in 0..10 {
            world.inject(1, addr(0), first.clone());
        }
        world.run_secs(5);
        assert_eq!(world.numbers(1, 0), [1], "{profile:?}");
        // Not even after the connection has ended.
        world.input(0, Input::Close { peer: addr(1) });
        world.run_secs(90);
        assert!(world.receiver(1, 0).is_none());
        world.inject(1, addr(0), first);
        world.run_secs(5);
        assert_eq!(world.numbers(1, 0), [1], "{profile:?}");
    }
}

#[test]
fn to_an_absent_peer() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.nodes[1].up = false;
        world.send_all(0, 1, 1..=5);
        world.run_secs(11);
        let unreachable = |e: &Event| matches!(e, Event::PeerUnreachable { .. });
        assert_eq!(world.count(0, unreachable), 1);
        assert!(world.sender(0, 1).unwrap().closing, "no entry is OPEN any more");
        world.run_secs(100);
        assert!(world.peer_view(0, 1).is_none());
        let named = |e: &Event| matches!(e, Event::Undelivered { from: 1, to: 5, .. });
        assert_eq!(world.count(0, named), 1, "{profile:?}");
        let tries = world.datagrams;
        assert!(tries < 200, "{tries} datagrams to an absent peer");
        world.run_secs(1_000);
        assert_eq!(world.datagrams, tries);
    }
}

#[test]
fn entries_removed_on_both_sides_or_on_one_then_more_both_ways() {
    for profile in PROFILES {
        for (who, sides) in [
            (&[0_usize, 1][..], &[Side::Sender, Side::Receiver][..]),
            (&[0], &[Side::Sender, Side::Receiver]),
            (&[1], &[Side::Sender, Side::Receiver]),
            (&[0], &[Side::Sender]),
            (&[1], &[Side::Receiver]),
        ] {
            let mut world = World::pair(profile);
            world.send_all(0, 1, 1..=10);
            world.send_all(1, 0, 1..=10);
            world.run_secs(2);
            for at in who {
                for side in sides {
                    forget(&mut world, *at, 1 - at, *side);
                }
            }
            for n in 11..=20 {
                world.send(0, 1, n);
                world.send(1, 0, n);
            }
            world.run_secs(10);
            assert_eq!(world.numbers(1, 0), all(1, 20), "{profile:?} {who:?} {sides:?}");
            assert_eq!(world.numbers(0, 1), all(1, 20), "{profile:?} {who:?} {sides:?}");
        }
    }
}

#[test]
fn a_receiver_that_restarts_gets_what_was_not_acknowledged_and_all_that_follows() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=10);
        world.run_secs(2);
        world.restart(1);
        world.send_all(0, 1, 11..=20);
        world.run_secs(10);
        assert_eq!(world.numbers(1, 0), all(11, 20), "{profile:?}");
        assert_eq!(world.unacked(0, 1), 0);
    }
}

#[test]
fn a_sender_that_restarts_is_taken_as_soon_as_it_shows_that_it_is_there() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=10);
        world.run_secs(2);
        world.restart(0);
        let begin = world.now;
        world.send_all(0, 1, 11..=20);
        world.run_until(Duration::from_secs(10), |w| w.nodes[1].got.len() == 20);
        assert_eq!(world.numbers(1, 0), all(1, 20));
        let took = world.now.since(begin);
        // By the text: a run of the task for the request, two until the last
        // one is sent again, one for what is missing.
        let limit = if profile == Profile::Adaptive { 100 } else { 2_100 };
        assert!(took <= Duration::from_millis(limit), "{profile:?}: {took:?}");
    }
}

#[test]
fn messages_that_wait_for_their_end_survive_a_forgetful_receiver() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send(0, 1, 1);
        world.run_secs(2);
        // 2 is lost, 3 is delivered at once and waits behind the gap.
        let mut lost = false;
        world.hook(move |_, packet| {
            let drop = carries(packet, 2) && !lost;
            lost |= drop;
            if drop { Fate::Drop } else { Fate::Pass }
        });
        world.send(0, 1, 2);
        let (payload, order) =
            (unicast_support::message(3), servent_core::unicast::DeliveryOrder::AtOnce);
        world.input(0, Input::Send { peer: addr(1), payload, order });
        world.flush(0);
        world.run_ms(11);
        assert_eq!(world.numbers(1, 0), [1, 3]);
        forget(&mut world, 1, 0, Side::Receiver);
        world.send(0, 1, 4);
        world.run_secs(20);
        assert_eq!(world.numbers(1, 0), [1, 3, 2, 4], "{profile:?}: 3 not twice");
        assert_eq!(world.unacked(0, 1), 0);
    }
}
