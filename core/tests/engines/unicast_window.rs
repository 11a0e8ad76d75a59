//! Windows that fill, close and open again, and memory that stays where it
//! is whatever the other side does.

use crate::unicast_support;

use servent_core::time::Duration;
use servent_core::unicast::{Config, Congestion, DeliveryOrder, Event, Input, Profile, Rejection};
use servent_core::wire::unicast::ConnBlock;
use unicast_support::{Fate, PROFILES, World, addr, config, has_ack, has_data};

fn small(profile: Profile) -> Config {
    Config {
        send_messages: 20,
        send_bytes: 1_000,
        recv_messages: 10,
        recv_bytes: 400,
        max_message: 200,
        ..config(profile)
    }
}

#[test]
fn a_full_window_gives_the_message_back_and_says_when_there_is_room() {
    for profile in PROFILES {
        let mut world = World::new(small(profile), 2, 1);
        assert_eq!(world.nodes[0].endpoint.room(addr(1)).messages, 20);
        world.send_all(0, 1, 1..=25);
        assert_eq!(world.nodes[0].refused.len(), 5, "none of them is lost without a word");
        assert_eq!(world.nodes[0].endpoint.room(addr(1)).messages, 0);
        assert_eq!(world.count(0, |e| matches!(e, Event::Full { .. })), 1, "said once");
        world.run_secs(20);
        assert_eq!(world.nodes[0].writable, 1, "{profile:?}");
        assert_eq!(world.nodes[0].endpoint.room(addr(1)).messages, 20);
        assert_eq!(world.numbers(1, 0), (1..=20).collect::<Vec<_>>());
        world.send(0, 1, 26);
        world.run_secs(5);
        assert_eq!(world.nodes[1].got.len(), 21);
    }
}

#[test]
fn an_application_that_does_not_read_closes_the_window_and_loses_nothing() {
    for profile in PROFILES {
        let mut world = World::new(small(profile), 2, 1);
        world.nodes[1].takes = false;
        world.send(0, 1, 1);
        world.run_secs(1);
        world.send_all(0, 1, 2..=20);
        world.run_secs(9);
        assert_eq!(world.nodes[1].got.len(), 10, "{profile:?}: as many as there is room for");
        let waits = world.sender(0, 1).unwrap();
        assert_eq!(waits.highest_sent, 10, "{profile:?}: {waits:?}");
        world.input(1, Input::Taken { peer: addr(0), messages: 10, bytes: 80 });
        world.flush(1);
        world.run_secs(5);
        assert_eq!(world.numbers(1, 0), (1..=20).collect::<Vec<_>>(), "{profile:?}");
    }
}

#[test]
fn a_lost_word_about_an_open_window_is_asked_for() {
    for profile in PROFILES {
        let mut world = World::new(small(profile), 2, 1);
        world.nodes[1].takes = false;
        world.send_all(0, 1, 1..=20);
        world.run_secs(9);
        let mut lost = false;
        world.hook(move |from, packet| {
            let drop = from == 1 && has_ack(packet) && !lost;
            lost |= drop;
            if drop { Fate::Drop } else { Fate::Pass }
        });
        world.input(1, Input::Taken { peer: addr(0), messages: 10, bytes: 80 });
        world.flush(1);
        world.run_secs(9);
        assert_eq!(world.nodes[1].got.len(), 20, "{profile:?}");
    }
}

#[test]
fn full_then_the_peer_dies_then_it_is_back() {
    for profile in PROFILES {
        let mut world = World::new(small(profile), 2, 1);
        world.send(0, 1, 1);
        world.run_secs(2);
        world.nodes[1].up = false;
        world.send_all(0, 1, 2..=30);
        assert!(!world.nodes[0].refused.is_empty());
        world.run_secs(5);
        world.nodes[1].up = true;
        world.run_secs(20);
        assert_eq!(world.numbers(1, 0), (1..=21).collect::<Vec<_>>(), "{profile:?}");
        assert_eq!(world.nodes[0].writable, 1);
    }
}

#[test]
fn acknowledgements_held_back_until_the_window_is_full_then_let_go() {
    for profile in PROFILES {
        let mut world = World::new(small(profile), 2, 1);
        world.hook(|from, packet| {
            if from == 1 && has_ack(packet) {
                Fate::Late(Duration::from_secs(3))
            } else {
                Fate::Pass
            }
        });
        world.send_all(0, 1, 1..=30);
        assert_eq!(world.nodes[0].refused.len(), 10);
        world.run_secs(15);
        world.unhook();
        world.run_secs(5);
        assert_eq!(world.numbers(1, 0), (1..=20).collect::<Vec<_>>(), "{profile:?}");
        assert_eq!(world.unacked(0, 1), 0);
    }
}

#[test]
fn an_acknowledgement_one_too_low_never_delivers_twice() {
    for profile in PROFILES {
        let mut world = World::new(small(profile), 2, 1);
        world.hook(|_, packet| {
            for block in &mut packet.blocks {
                if let ConnBlock::Ack(ack) = block
                    && ack.wanted.is_empty()
                    && ack.upto % 3 == 0
                {
                    ack.upto = ack.upto.saturating_sub(1);
                }
            }
            Fate::Pass
        });
        for n in 1..=40 {
            world.send(0, 1, n);
            world.run_ms(400);
        }
        world.run_secs(30);
        assert_eq!(world.numbers(1, 0), (1..=40).collect::<Vec<_>>(), "{profile:?}");
    }
}

#[test]
fn memory_stays_where_it_is_while_a_peer_is_silent_for_a_minute() {
    for profile in PROFILES {
        let config = Config { unreachable: Duration::from_secs(100), ..config(profile) };
        let mut world = World::new(config, 2, 1);
        world.send(0, 1, 0);
        world.run_secs(2);
        // No acknowledgement comes back.
        world.hook(|from, _| if from == 1 { Fate::Drop } else { Fate::Pass });
        for n in 1..=1_000 {
            world.send(0, 1, n);
            world.run_ms(10);
        }
        let before = (world.sender(0, 1).unwrap().bytes, world.receiver(1, 0).unwrap().held);
        let events = world.nodes[0].events.len();
        world.run_secs(60);
        let after = (world.sender(0, 1).unwrap().bytes, world.receiver(1, 0).unwrap().held);
        assert_eq!(before, after, "{profile:?}");
        let told = |(_, event): &&(_, Event)| !matches!(event, Event::Task { .. });
        let more = world.nodes[0].events[events..].iter().filter(told).count();
        assert!(more < 150, "{profile:?}: {more} events in a silent minute");
    }
}

#[test]
fn a_fixed_or_cubic_congestion_window_bounds_what_is_under_way() {
    for congestion in [Congestion::Fixed(10_000), Congestion::Cubic] {
        let config = Config { congestion, ..config(Profile::Adaptive) };
        let mut world = World::new(config, 2, 3);
        world.link.loss = 10;
        for n in 0..5_000 {
            world.queue(0, 1, n);
        }
        world.flush(0);
        let mut most = 0;
        while world.unacked(0, 1) > 0 {
            world.run_ms(1);
            most = most.max(world.sender(0, 1).unwrap().flight);
            assert!(world.now < servent_core::time::Instant::from_secs(1_100));
        }
        assert_eq!(world.numbers(1, 0), (0..5_000).collect::<Vec<_>>());
        let limit = if congestion == Congestion::Cubic { 40_000 } else { 10_000 };
        assert!(most <= limit, "{congestion:?}: {most} bytes under way");
    }
}

#[test]
fn no_more_than_five_hundred_messages_need_an_acknowledgement() {
    let mut world = World::pair(Profile::Adaptive);
    world.link.delay = Duration::from_micros(50);
    let begin = world.nodes[1].endpoint.counters().acks_sent;
    for turn in 0..1_000 {
        world.send_all(0, 1, turn * 50..(turn + 1) * 50);
        world.run(Duration::from_micros(50));
    }
    world.run_secs(1);
    let counters = world.nodes[1].endpoint.counters();
    assert_eq!(counters.delivered, 50_000);
    let acks = counters.acks_sent - begin;
    assert!(acks <= 100, "{acks} acknowledgements of 50 000 messages");
    assert_eq!(world.nodes[0].endpoint.counters().resent, 0);
    assert!(world.count(0, |e| matches!(e, Event::Sent { .. })) < 3_000, "they share datagrams");
}

#[test]
fn acknowledgements_ride_on_data_that_goes_the_other_way() {
    let mut world = World::pair(Profile::Adaptive);
    let alone = std::rc::Rc::new(std::cell::Cell::new((0, 0)));
    let count = std::rc::Rc::clone(&alone);
    world.hook(move |_, packet| {
        let (lone, shared) = count.get();
        match (has_ack(packet), has_data(packet)) {
            (true, true) => count.set((lone, shared + 1)),
            (true, false) => count.set((lone + 1, shared)),
            _ => {}
        }
        Fate::Pass
    });
    for n in 0..200 {
        world.send(0, 1, n);
        world.send(1, 0, n);
        world.run_ms(1);
    }
    world.run_secs(1);
    let (lone, shared) = alone.get();
    assert!(shared > 5 * lone, "{lone} alone, {shared} with data");
}

/// What had to wait for a lost message is handed over all at once, and the application needs
/// a moment for it. What the sender has been granted before still has room meanwhile.
#[test]
fn what_was_granted_has_room_while_the_application_takes_what_had_to_wait() {
    const LOST: u64 = 50;
    const ALL: u64 = 6_000;
    const BYTES: u64 = 1_000;
    let mut world = World::new(config(Profile::Adaptive), 2, 1);
    world.nodes[1].takes = false;
    let mut sends = 0;
    world.hook(move |from, packet| {
        let lost = from == 0 && unicast_support::carries(packet, LOST);
        sends += u32::from(lost);
        match (lost, sends) {
            (false, _) => Fate::Pass,
            (true, 1) => Fate::Late(Duration::from_millis(1_500)),
            (true, _) => Fate::Drop,
        }
    });
    let (mut sent, mut taken) = (0, 0);
    for _ in 0..2_500 {
        // Two megabytes a second are sent, at most fifteen are taken.
        for _ in 0..4.min(ALL - sent) {
            let (payload, order) = (vec![7; BYTES as usize].into(), DeliveryOrder::InOrder);
            world.input(0, Input::Send { peer: addr(1), payload, order });
            sent += 1;
        }
        world.flush(0);
        let messages = (world.nodes[1].got.len() as u64 - taken).min(30);
        world.input(1, Input::Taken { peer: addr(0), messages, bytes: BYTES * messages });
        world.flush(1);
        taken += messages;
        world.run_ms(2);
    }
    let refused = |event: &Event| matches!(event, Event::Rejected { why: Rejection::NoRoom, .. });
    assert_eq!((world.count(1, refused), taken), (0, ALL), "what was granted is not refused");
}
