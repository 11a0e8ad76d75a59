//! Shuffled, thinned out and backwards: what arrives is in order.

use crate::unicast_support;

use servent_core::rng::Rng;
use servent_core::time::Duration;
use servent_core::unicast::{DeliveryOrder, Event, UnicastConnId};
use servent_core::wire::unicast::{ConnBlock, Data, MessageFragment, Packet};
use unicast_support::{Fate, PROFILES, World, addr, config, message};

fn data(conn: u64, numbers: &[u64]) -> ConnBlock {
    let whole = |n: &u64| MessageFragment {
        order: DeliveryOrder::InOrder,
        continues: false,
        more: false,
        payload: message(*n),
    };
    let (seq, first) = (numbers[0], numbers[0] == 1);
    let messages = numbers.iter().map(whole).collect();
    ConnBlock::Data(Data {
        conn: UnicastConnId(conn),
        seq,
        first,
        again: false,
        token: None,
        messages,
    })
}

#[test]
fn fifty_thousand_both_ways_through_a_shuffler_of_a_hundred() {
    for profile in PROFILES {
        let mut config = config(profile);
        config.trace_messages = false;
        let mut world = World::new(config, 2, 1);
        let mut dice = Rng::new(2);
        world.hook(move |_, _| Fate::Late(Duration::from_micros(dice.below(100) * 10)));
        for n in 0..50_000 {
            world.queue(0, 1, n);
            world.queue(1, 0, n);
            if n % 7 == 6 {
                world.flush(0);
                world.flush(1);
                world.run(Duration::from_micros(100));
            }
        }
        world.run_until(Duration::from_secs(60), |w| w.unacked(0, 1) + w.unacked(1, 0) == 0);
        assert!(world.numbers(1, 0).into_iter().eq(0..50_000), "{profile:?}");
        assert!(world.numbers(0, 1).into_iter().eq(0..50_000), "{profile:?}");
    }
}

#[test]
fn every_other_of_fifty_thousand_is_lost_and_every_request_fits_a_datagram() {
    for profile in PROFILES {
        let mut config = config(profile);
        config.trace_messages = false;
        // A datagram for each message, so that every other one can be lost.
        config.mtu = 200;
        config.initial_messages = 60_000;
        config.initial_flight = 1 << 22;
        let mut world = World::new(config, 2, 1);
        world.send(0, 1, 0);
        world.run_secs(1);
        world.hook(move |from, packet| {
            let fresh =
                |b: &ConnBlock| matches!(b, ConnBlock::Data(d) if from == 0 && d.seq % 2 == 0 && !d.again);
            if packet.blocks.iter().any(fresh) { Fate::Drop } else { Fate::Pass }
        });
        for n in 1..50_000 {
            world.send(0, 1, n);
        }
        world.run_until(Duration::from_secs(60), |w| w.unacked(0, 1) == 0);
        assert!(world.numbers(1, 0).into_iter().eq(0..50_000), "{profile:?}");
        let requests = world.found(1, |event| match event {
            Event::Requested { ranges, .. } => Some(*ranges),
            _ => None,
        });
        assert!(requests.len() > 100, "the link checks the size of each: {}", requests.len());
        let (sender, receiver) =
            (world.nodes[0].endpoint.counters(), world.nodes[1].endpoint.counters());
        assert!(receiver.requested >= 24_999 && sender.resent <= 27_500, "{sender:?}");
    }
}

#[test]
fn five_backwards_without_an_entry() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        let kept = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let keep = std::rc::Rc::clone(&kept);
        world.hook(move |from, packet| {
            if from == 0 && keep.borrow().len() < 5 {
                keep.borrow_mut().push(packet.clone());
                return Fate::Drop;
            }
            Fate::Pass
        });
        for n in 1..=5 {
            world.send(0, 1, n);
        }
        let mut packets = kept.borrow().clone();
        packets.reverse();
        for packet in packets {
            world.inject(1, addr(0), packet);
        }
        world.run_secs(10);
        assert_eq!(world.numbers(1, 0), [1, 2, 3, 4, 5], "{profile:?}");
        assert_eq!(world.unacked(0, 1), 0);
    }
}

#[test]
fn a_batch_that_begins_in_the_middle_and_comes_twice() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        let range = |from: u64, to: u64| data(9, &(from..=to).collect::<Vec<_>>());
        let batch = Packet { blocks: vec![range(2, 10), range(1, 1), range(11, 20)] };
        for _ in 0..2 {
            world.inject(1, addr(0), batch.clone());
            assert_eq!(world.numbers(1, 0), (1..=20).collect::<Vec<_>>(), "{profile:?}");
        }
    }
}

#[test]
fn a_batch_of_two_connections_goes_on_with_the_one_that_is_open() {
    // Only who is where it says may replace a connection: the new one is
    // taken when it gives back the token, and from then on the old is over.
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.nodes[0].up = false; // Its datagrams are ours.
        world.inject(1, addr(0), Packet { blocks: vec![data(9, &[1])] });
        let tokens = std::rc::Rc::new(std::cell::RefCell::new(Vec::new()));
        let keep = std::rc::Rc::clone(&tokens);
        world.hook(move |_, packet| {
            for block in &packet.blocks {
                if let ConnBlock::Request(request) = block {
                    keep.borrow_mut().push(*request);
                }
            }
            Fate::Pass
        });
        let mixed = Packet { blocks: vec![data(9, &[2]), data(8, &[1]), data(9, &[3])] };
        world.inject(1, addr(0), mixed);
        assert_eq!(world.numbers(1, 0), [1, 2, 3], "the open one goes on");
        world.run_secs(1);
        let request = tokens.borrow()[0];
        assert_eq!(request.conn, UnicastConnId(8), "{profile:?}");
        let ConnBlock::Data(mut first) = data(8, &[1]) else { unreachable!() };
        first.token = Some(request.token);
        let mixed = Packet { blocks: vec![data(9, &[4]), ConnBlock::Data(first), data(8, &[2])] };
        world.inject(1, addr(0), mixed);
        assert_eq!(world.numbers(1, 0), [1, 2, 3, 1, 2], "only the newest counts");
        world.inject(1, addr(0), Packet { blocks: vec![data(9, &[4])] });
        assert_eq!(world.nodes[1].got.len(), 5);
    }
}
