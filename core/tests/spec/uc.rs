//! UNICAST3 while a connection lives. Each test is named by its requirement;
//! those that hold for both profiles run for both.

use crate::unicast_support;

use std::cell::Cell;
use std::rc::Rc;

use servent_core::rng::Rng;
use servent_core::time::Duration;
use servent_core::unicast::{
    Config, DeliveryOrder, Event, Input, Profile, Rejection, RetransmitReason, UnicastPayload,
};
use servent_core::wire::unicast::{Ack, AckCounts, ConnBlock, Packet, Seal};
use unicast_support::{Fate, PROFILES, World, addr, carries, config, has_ack, message, number};

#[test]
fn uc_1_messages_arrive_in_order_and_once_whatever_overtakes_or_repeats() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.link.jitter = Duration::from_millis(40);
        world.link.twice = 300;
        for n in 1..=200 {
            world.send(0, 1, n);
            world.run_ms(1);
        }
        world.run_secs(20);
        assert_eq!(world.numbers(1, 0), (1..=200).collect::<Vec<_>>(), "{profile:?}");
        assert!(world.count(1, |e| matches!(e, Event::Duplicate { .. })) > 10);
    }
}

#[test]
fn uc_1_a_message_may_go_at_once_and_still_only_once() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.hook(|_, packet| {
            let first_try = |b: &ConnBlock| matches!(b, ConnBlock::Data(d) if !d.again);
            let lost = carries(packet, 2) && packet.blocks.iter().any(first_try);
            if lost { Fate::Drop } else { Fate::Pass }
        });
        world.send(0, 1, 1);
        world.send(0, 1, 2);
        let urgent =
            Input::Send { peer: addr(1), payload: message(3), order: DeliveryOrder::AtOnce };
        world.input(0, urgent);
        world.flush(0);
        world.send(0, 1, 4);
        world.run_until(Duration::from_secs(9), |w| w.nodes[1].got.len() == 4);
        assert_eq!(world.numbers(1, 0), [1, 3, 2, 4], "{profile:?}");
        world.run_secs(9);
        assert_eq!(world.nodes[1].got.len(), 4);
    }
}

#[test]
fn uc_1_a_long_message_arrives_whole_in_both_orders() {
    for (profile, seal) in PROFILES.into_iter().zip([Seal::Checksum, Seal::Key(1, 2)]) {
        for order in [DeliveryOrder::InOrder, DeliveryOrder::AtOnce] {
            let mut world = World::new(Config { seal, ..config(profile) }, 2, 7);
            world.link.loss = 100;
            let long: Vec<u8> = (0..100_000_u32).map(|n| (n / 7) as u8).collect();
            let payload = UnicastPayload::from(long);
            world.send(0, 1, 1);
            world.input(0, Input::Send { peer: addr(1), payload: payload.clone(), order });
            world.send(0, 1, 2);
            world.run_until(Duration::from_secs(99), |w| w.nodes[1].got.len() == 3);
            let got = world.nodes[1].got.iter().find(|got| got.payload.len() > 8).unwrap();
            assert_eq!(got.payload, payload);
            assert_eq!(got.order, order);
            world.run_secs(30);
            assert_eq!(world.unacked(0, 1), 0);
        }
    }
}

#[test]
fn uc_2_a_batch_gets_one_cumulative_acknowledgement() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=50);
        world.run_secs(2);
        assert_eq!(world.nodes[1].endpoint.counters().acks_sent, 1, "{profile:?}");
        let sender = world.sender(0, 1).unwrap();
        assert_eq!((sender.highest_acked, sender.highest_sent, sender.bytes), (50, 50, 0));
    }
}

#[test]
fn uc_2_an_acknowledgement_of_what_was_never_sent_is_refused() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.hook(|_, _| Fate::Drop);
        world.send_all(0, 1, 1..=5);
        let conn = world.sender(0, 1).unwrap().conn;
        let word = |upto, newest, wanted| {
            let (delay, messages, bytes) = (0, 100, 100_000);
            let ack = Ack {
                conn,
                upto,
                newest,
                delay,
                messages,
                bytes,
                wanted,
                counts: AckCounts::default(),
            };
            Packet { blocks: vec![ConnBlock::Ack(ack)] }
        };
        let beyond = [word(6, 6, vec![]), word(2, u64::MAX / 2, vec![]), word(2, 5, vec![(3, 6)])];
        for packet in beyond {
            world.inject(0, addr(1), packet);
            assert_eq!(world.sender(0, 1).unwrap().highest_acked, 0);
        }
        let refused = |e: &Event| matches!(e, Event::Rejected { why: Rejection::BeyondSent, .. });
        assert_eq!(world.count(0, refused), 3);
        world.inject(0, addr(1), word(5, 5, vec![]));
        world.inject(0, addr(1), word(4, 4, vec![]));
        assert_eq!(world.sender(0, 1).unwrap().highest_acked, 5, "an older one changes nothing");
    }
}

#[test]
fn uc_3_acknowledgements_keep_their_distance_and_none_waits_for_ever() {
    for (profile, pause) in [(Profile::Unicast3, 500), (Profile::Adaptive, 2)] {
        let mut world = World::pair(profile);
        world.send(0, 1, 1);
        world.run_ms(600);
        for n in 2..=400 {
            world.send(0, 1, n);
            world.run(Duration::from_micros(pause * 1_000 / 5));
        }
        world.run_ms(2 * pause + 30);
        assert_eq!(world.unacked(0, 1), 0, "{profile:?}");
        let times = world.found(1, |e| matches!(e, Event::AckSent { .. }).then_some(()));
        assert!(times.len() > 20, "{profile:?}: {}", times.len());
        for pair in times.windows(2) {
            assert!(pair[1].0.since(pair[0].0) >= Duration::from_millis(pause), "{profile:?}");
        }
    }
}

#[test]
fn uc_3_on_a_fast_path_so_many_bytes_are_acknowledged_before_the_time() {
    let config = Config { ack_bytes: 80, ..config(Profile::Adaptive) };
    let mut world = World::new(config, 2, 1);
    world.link.delay = Duration::from_millis(1);
    world.send(0, 1, 1);
    world.run_secs(1);
    let acks = |world: &World| world.count(1, |e| matches!(e, Event::AckSent { .. }));
    let before = acks(&world);
    // Eight bytes each: nine are not enough, and with the tenth it is due.
    (2..=10).for_each(|n| world.send(0, 1, n));
    world.run(Duration::from_micros(1_500));
    assert_eq!(acks(&world), before);
    world.send(0, 1, 11);
    world.run(Duration::from_micros(1_100));
    assert_eq!(acks(&world), before + 1, "at once, and not 2 ms after the first of them");
}

#[test]
fn uc_3_an_acknowledgement_goes_with_data_but_not_with_all_of_it() {
    let mut world = World::pair(Profile::Adaptive);
    world.link.delay = Duration::from_millis(1);
    for (from, to) in [(0, 1), (1, 0)] {
        world.send(from, to, 1);
    }
    world.run_secs(1);
    for n in 2..=200 {
        world.send(0, 1, n);
        world.send(1, 0, n);
        world.run(Duration::from_micros(50));
    }
    let times = world.found(1, |e| matches!(e, Event::AckSent { .. }).then_some(()));
    assert!(times.len() > 10, "{}", times.len());
    for pair in times.windows(2) {
        assert!(pair[1].0.since(pair[0].0) >= Duration::from_micros(250), "{times:?}");
    }
}

#[test]
fn uc_4_the_second_run_that_finds_the_same_pair_resends_the_highest_only() {
    let mut world = World::pair(Profile::Unicast3);
    world.send_all(0, 1, 1..=45);
    world.run_ms(1_600);
    world.lose_data(0);
    world.send_all(0, 1, 46..=50);
    // The clock stands behind a multiple of 500 ms; the next run remembers
    // the pair, the one after that finds it again.
    world.run_ms(400);
    assert_eq!(world.count(0, |e| matches!(e, Event::Resent { .. })), 0, "one run is not enough");
    world.run_ms(500);
    let resent = |e: &Event| {
        matches!(e, Event::Resent { from: 50, to: 50, why: RetransmitReason::Tail, .. })
    };
    assert_eq!(world.count(0, resent), 1);
    world.run_ms(1_000);
    assert_eq!(world.count(0, resent), 3, "once in each run");
    assert_eq!(world.count(0, |e| matches!(e, Event::Resent { .. })), 3, "nothing else");
}

#[test]
fn uc_4_the_probe_backs_off_in_the_adaptive_profile() {
    let mut world = World::pair(Profile::Adaptive);
    world.send(0, 1, 1);
    world.run_ms(500);
    world.hook(|_, _| Fate::Drop);
    world.send_all(0, 1, 2..=9);
    world.run_secs(8);
    let probes = world.found(0, |event| match event {
        Event::Resent { from, why: RetransmitReason::Tail, .. } => Some(*from),
        _ => None,
    });
    assert!(probes.iter().all(|(_, from)| *from == 9), "only the highest one");
    assert!((5..12).contains(&probes.len()), "{}", probes.len());
    let first = probes[1].0.since(probes[0].0);
    let later = probes[3].0.since(probes[2].0);
    assert!(later >= first.ratio(7, 2), "{first:?} then {later:?}");
}

#[test]
fn uc_5_exactly_the_missing_numbers_are_asked_for_and_sent() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=45);
        world.run_ms(1_600);
        world.hook(|from, packet| {
            let first_try = |b: &ConnBlock| matches!(b, ConnBlock::Data(d) if !d.again);
            let lost = carries(packet, 46) || carries(packet, 48);
            let lost = from == 0 && lost && packet.blocks.iter().any(first_try);
            if lost { Fate::Drop } else { Fate::Pass }
        });
        for n in 46..=50 {
            world.send(0, 1, n);
        }
        world.run_secs(5);
        assert_eq!(world.numbers(1, 0), (1..=50).collect::<Vec<_>>());
        let asked = world.nodes[1].endpoint.counters().requested;
        assert_eq!(asked, 2, "{profile:?}: 46 and 48, not 47");
        let resent = world.found(0, |event| match event {
            Event::Resent { from, to, why: RetransmitReason::Missing, .. } => Some((*from, *to)),
            _ => None,
        });
        let resent: Vec<_> = resent.into_iter().map(|(_, range)| range).collect();
        assert_eq!(resent, [(46, 46), (48, 48)]);
    }
}

#[test]
fn uc_5_the_task_asks_and_not_the_arrival_in_the_text() {
    let mut world = World::pair(Profile::Unicast3);
    world.send(0, 1, 1);
    world.run_ms(1_600);
    let mut lost = false;
    world.hook(move |_, packet| {
        let drop = carries(packet, 2) && !lost;
        lost |= drop;
        if drop { Fate::Drop } else { Fate::Pass }
    });
    world.send(0, 1, 2);
    world.send(0, 1, 3);
    let asked = |e: &Event| matches!(e, Event::Requested { .. });
    world.run_ms(390);
    assert_eq!(world.count(1, asked), 0);
    world.run_ms(20);
    assert_eq!(world.count(1, asked), 1, "at the multiple of 500 ms");
}

#[test]
fn uc_5_a_missing_number_is_asked_for_again_only_after_a_timeout() {
    let mut world = World::pair(Profile::Adaptive);
    world.link.delay = Duration::from_millis(100);
    world.send(0, 1, 1);
    world.run_secs(2);
    world
        .hook(|from, packet| if from == 0 && carries(packet, 2) { Fate::Drop } else { Fate::Pass });
    for n in 2..=100 {
        world.send(0, 1, n);
        world.run_ms(10);
    }
    let times = world.found(1, |event| match event {
        Event::Requested { from: 2, to: 2, .. } => Some(()),
        _ => None,
    });
    assert!(times.len() >= 3, "{times:?}");
    for pair in times.windows(2) {
        assert!(pair[1].0.since(pair[0].0) >= Duration::from_millis(100), "{times:?}");
    }
}

#[test]
fn uc_10_the_request_for_the_first_message_waits_for_the_task_and_brings_only_that() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        let mut lost = false;
        world.hook(move |_, packet| {
            let drop = carries(packet, 1) && !lost;
            lost |= drop;
            if drop { Fate::Drop } else { Fate::Pass }
        });
        world.run_ms(100);
        world.send(0, 1, 1);
        world.send(0, 1, 2);
        world.send(0, 1, 3);
        let asked = |e: &Event| matches!(e, Event::FirstRequested { .. });
        world.run_ms(11);
        let expected = usize::from(profile == Profile::Adaptive);
        assert_eq!(world.count(1, asked), expected, "{profile:?}: a flag, then the task");
        world.run_secs(5);
        assert_eq!(world.count(1, asked), 1);
        let first = world.found(0, |event| match event {
            Event::Resent { from, to, why: RetransmitReason::First, .. } => Some((*from, *to)),
            _ => None,
        });
        assert_eq!(first.len(), 1, "{profile:?}");
        assert_eq!(first[0].1, (1, 1), "{profile:?}: the first alone");
        assert_eq!(world.numbers(1, 0), [1, 2, 3]);
    }
}

#[test]
fn uc_11_the_first_message_of_a_batch_is_taken_first_wherever_it_stands() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        let data = |first: u64, last: u64| {
            let (conn, seq) = (servent_core::unicast::UnicastConnId(77), first);
            let whole = |n| servent_core::wire::unicast::MessageFragment {
                order: DeliveryOrder::InOrder,
                continues: false,
                more: false,
                payload: message(n),
            };
            let messages = (first..=last).map(whole).collect();
            let (first, again, token) = (first == 1, false, None);
            ConnBlock::Data(servent_core::wire::unicast::Data {
                conn,
                seq,
                first,
                again,
                token,
                messages,
            })
        };
        let batch = Packet { blocks: vec![data(2, 10), data(1, 1), data(11, 20)] };
        world.inject(1, addr(0), batch.clone());
        assert_eq!(world.numbers(1, 0), (1..=20).collect::<Vec<_>>(), "{profile:?}");
        world.inject(1, addr(0), batch);
        assert_eq!(world.nodes[1].got.len(), 20, "the same batch again changes nothing");
        world.inject(1, addr(0), Packet { blocks: vec![data(25, 25), data(21, 24)] });
        assert_eq!(world.nodes[1].got.len(), 25, "without a first one: all together");
    }
}

#[test]
fn uc_12_a_repair_that_is_lost_is_repaired() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        let mut tries = 0;
        world.hook(move |_, packet| {
            tries += u32::from(carries(packet, 3));
            if carries(packet, 3) && tries <= 3 { Fate::Drop } else { Fate::Pass }
        });
        for n in 1..=6 {
            world.send(0, 1, n);
        }
        world.run_until(Duration::from_secs(20), |w| w.nodes[1].got.len() == 6);
        assert_eq!(world.numbers(1, 0), [1, 2, 3, 4, 5, 6], "{profile:?}");
    }
}

#[test]
fn uc_12_one_way_silence_ends_in_an_event_that_names_every_message() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.hook(
            |from, packet| {
                if from == 1 && has_ack(packet) { Fate::Drop } else { Fate::Pass }
            },
        );
        world.send_all(0, 1, 1..=5);
        world.run_secs(300);
        assert_eq!(world.numbers(1, 0), [1, 2, 3, 4, 5], "delivered, but not acknowledged");
        assert_eq!(world.count(0, |e| matches!(e, Event::PeerUnreachable { .. })), 1);
        let named = |e: &Event| matches!(e, Event::Undelivered { from: 1, to: 5, .. });
        assert_eq!(world.count(0, named), 1, "{profile:?}");
        assert!(world.peer_view(0, 1).is_none(), "nothing is left");
        let quiet = world.datagrams;
        world.run_secs(600);
        assert_eq!(world.datagrams, quiet, "and neither end sends any more");
    }
}

#[test]
fn uc_12_resends_stay_near_one_for_each_loss() {
    let config = Config { trace_messages: false, ..config(Profile::Adaptive) };
    let mut world = World::new(config, 2, 5);
    world.link.jitter = Duration::from_micros(200);
    let lost = Rc::new(Cell::new(0));
    let (count, mut dice) = (Rc::clone(&lost), Rng::new(9));
    world.hook(move |_, packet| {
        if !dice.chance(2, 100) {
            return Fate::Pass;
        }
        let messages = packet.blocks.iter().map(|block| match block {
            ConnBlock::Data(data) => data.messages.len(),
            _ => 0,
        });
        count.set(count.get() + messages.sum::<usize>() as u64);
        Fate::Drop
    });
    for n in 0..20_000 {
        world.queue(0, 1, n);
        if n % 20 == 19 {
            world.flush(0);
            world.run(Duration::from_micros(300));
        }
    }
    world.run_until(Duration::from_secs(60), |w| w.unacked(0, 1) == 0);
    let numbers: Vec<u64> = world.nodes[1].got.iter().map(|got| number(&got.payload)).collect();
    assert!(numbers.iter().copied().eq(0..20_000));
    let (resent, lost) = (world.nodes[0].endpoint.counters().resent, lost.get());
    assert!(lost > 300 && resent * 10 <= lost * 11, "{resent} resent for {lost} lost");
}
