//! Rules of messages over datagrams that only show in a corner.

use std::cell::RefCell;
use std::rc::Rc;

use crate::unicast_support;

use servent_core::engine::{Engine as _, Fx};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{
    Config, ConnEnding, DeliveryOrder, Endpoint, Event, Input, Output, Profile, Side,
    UnicastPayload,
};
use servent_core::wire::unicast::{Ack, FirstMessageRequest};
use servent_core::wire::unicast::{Close, ConnBlock, Data, MessageFragment, Packet, UnicastConnId};
use unicast_support::{Fate, PROFILES, World, addr, config, message};

fn conn(world: &World) -> UnicastConnId {
    world.receiver(1, 0).expect("something arrived").conn
}

fn close(world: &mut World) {
    world.input(0, Input::Close { peer: addr(1) });
    world.flush(0);
}

/// What the answers to CLOSE say was delivered; the first `lost` of them do
/// not arrive.
fn answers(world: &mut World, lost: usize) -> Rc<RefCell<Vec<u64>>> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let note = Rc::clone(&seen);
    world.hook(move |_, packet| {
        let closed = packet.blocks.iter().find_map(|block| match block {
            ConnBlock::Closed { upto, .. } => Some(*upto),
            _ => None,
        });
        let Some(upto) = closed else { return Fate::Pass };
        note.borrow_mut().push(upto);
        if note.borrow().len() <= lost { Fate::Drop } else { Fate::Pass }
    });
    seen
}

#[test]
fn a_send_window_takes_what_fits_to_the_byte() {
    for profile in PROFILES {
        let limits = Config { send_bytes: 1_000, max_message: 400, ..config(profile) };
        let mut world = World::new(limits, 2, 1);
        for length in [400, 400, 201, 200, 1] {
            let payload = UnicastPayload::from(vec![7; length]);
            world.input(0, Input::Send { peer: addr(1), payload, order: DeliveryOrder::InOrder });
        }
        let refused: Vec<usize> = world.nodes[0].refused.iter().map(|one| one.len()).collect();
        assert_eq!(refused, [201, 1], "{profile:?}");
    }
}

#[test]
fn what_the_last_word_of_a_receiver_covers_was_delivered() {
    for (upto, lost) in [(1, vec![(2, 3)]), (3, vec![])] {
        for profile in PROFILES {
            let mut world = World::pair(profile);
            world.send_all(0, 1, 1..=3);
            // On their way, and nothing has come back.
            let conn = world.sender(0, 1).expect("it sends").conn;
            let closed = ConnBlock::Closed { conn, upto };
            world.inject(0, addr(1), Packet { blocks: vec![closed] });
            let undelivered = world.found(0, |event| match event {
                Event::Undelivered { from, to, .. } => Some((*from, *to)),
                _ => None,
            });
            let found: Vec<(u64, u64)> = undelivered.into_iter().map(|(_, lost)| lost).collect();
            assert_eq!(found, lost, "{profile:?}");
        }
    }
}

#[test]
fn a_close_that_comes_again_is_answered_as_before() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=3);
        world.run_secs(2);
        let seen = answers(&mut world, 2);
        close(&mut world);
        world.run_secs(90);
        let seen = seen.borrow();
        assert!(seen.len() > 2 && seen.iter().all(|upto| *upto == 3), "{profile:?}: {seen:?}");
    }
}

#[test]
fn what_is_given_up_after_everything_arrived_was_finished() {
    for (last, ending) in [(3, ConnEnding::Finished), (5, ConnEnding::Abandoned)] {
        for profile in PROFILES {
            let mut world = World::pair(profile);
            world.send_all(0, 1, 1..=3);
            world.run_secs(2);
            let close = Close { conn: conn(&world), last, abandoned: true };
            world.inject(1, addr(0), Packet { blocks: vec![ConnBlock::Close(close)] });
            let ended = world.found(1, |event| match event {
                Event::Closed { side: Side::Receiver, why, .. } => Some(*why),
                _ => None,
            });
            let whys: Vec<ConnEnding> = ended.into_iter().map(|(_, why)| why).collect();
            assert_eq!(whys, [ending], "{profile:?} {last}");
        }
    }
}

#[test]
fn what_could_not_be_delivered_is_counted() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=3);
        world.run_secs(2);
        world.lose_data(0);
        world.send_all(0, 1, 4..=8);
        close(&mut world);
        world.run_secs(90);
        assert_eq!(world.nodes[0].endpoint.counters().undelivered, 5, "{profile:?}");
    }
}

#[test]
fn a_small_message_that_waits_does_not_keep_the_datagram_it_came_in() {
    // A quarter of the datagram is the border.
    for (length, copied) in [(349, true), (350, false)] {
        let mut world = World::pair(Profile::Adaptive);
        let datagram = UnicastPayload::from(vec![7; 1_400]);
        let mut say = |seq, payload| {
            let message = MessageFragment {
                order: DeliveryOrder::InOrder,
                continues: false,
                more: false,
                payload,
            };
            let (conn, first, messages) = (UnicastConnId(5), seq == 1, vec![message]);
            let data = Data { conn, seq, first, again: false, token: None, messages };
            let packet = Packet { blocks: vec![ConnBlock::Data(data)] };
            world.input(0, Input::Packet { peer: addr(1), packet, bytes: 1_400 });
        };
        say(1, message(1));
        say(3, datagram.slice(100..100 + length));
        say(2, message(2));
        let got = &world.nodes[0].got[2].payload;
        assert_eq!(got.len(), length);
        assert_eq!(datagram.as_ptr_range().contains(&got.as_ptr()), !copied, "{length}");
    }
}

/// Message `seq` of a connection, alone.
fn say(conn: UnicastConnId, seq: u64, token: Option<u64>) -> Packet {
    say_this(conn, seq, token, message(seq))
}

fn say_this(conn: UnicastConnId, seq: u64, token: Option<u64>, payload: UnicastPayload) -> Packet {
    let whole =
        MessageFragment { order: DeliveryOrder::InOrder, continues: false, more: false, payload };
    let (first, again, messages) = (seq == 1, false, vec![whole]);
    Packet { blocks: vec![ConnBlock::Data(Data { conn, seq, first, again, token, messages })] }
}

/// Every block that node 1 sends from now on.
fn said(world: &mut World) -> Rc<RefCell<Vec<ConnBlock>>> {
    let seen = Rc::new(RefCell::new(Vec::new()));
    let note = Rc::clone(&seen);
    world.hook(move |from, packet| {
        if from == 1 {
            note.borrow_mut().extend(packet.blocks.iter().cloned());
        }
        Fate::Pass
    });
    seen
}

#[test]
fn what_comes_after_the_end_is_acknowledged_if_it_was_before_it() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=3);
        world.run_secs(2);
        let conn = conn(&world);
        close(&mut world);
        world.run_secs(90);
        let seen = said(&mut world);
        world.inject(1, addr(0), say(conn, 3, None));
        world.inject(1, addr(0), say(conn, 4, None));
        let seen = seen.borrow();
        let [ConnBlock::Ack(Ack { upto: 3, .. }), ConnBlock::Closed { upto: 3, .. }] = seen[..]
        else {
            panic!("{profile:?}: {seen:?}")
        };
    }
}

#[test]
fn a_connection_that_was_replaced_does_not_come_back() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        let seen = said(&mut world);
        let (old, new) = (UnicastConnId(5), UnicastConnId(6));
        world.inject(1, addr(0), say(old, 1, None));
        world.inject(1, addr(0), say(new, 1, None));
        world.run_secs(1);
        let token = seen.borrow().iter().find_map(|block| match block {
            ConnBlock::Request(FirstMessageRequest { conn, token }) if *conn == new => Some(*token),
            _ => None,
        });
        world.inject(1, addr(0), say(new, 1, Some(token.expect("it has to show itself"))));
        assert_eq!((conn(&world), world.nodes[1].got.len()), (new, 2), "{profile:?}");
        seen.borrow_mut().clear();
        world.inject(1, addr(0), say(old, 2, None));
        world.run_secs(1);
        let asks = |block: &ConnBlock| matches!(block, ConnBlock::Request(_));
        assert!(!seen.borrow().iter().any(asks), "{profile:?}: no end asks how it began");
        assert_eq!((conn(&world), world.nodes[1].got.len()), (new, 2), "{profile:?}");
    }
}

#[test]
fn of_many_peers_due_at_once_the_host_is_given_some_at_a_time() {
    let (mut now, mut fx) = (Instant::from_secs(1_000), Fx::new());
    let mut endpoint = Endpoint::new(config(Profile::Adaptive), Rng::new(1));
    for n in 0..600_u32 {
        let ip = std::net::Ipv4Addr::from_bits(0x0a01_0000 + n);
        let (payload, order) = (message(1), DeliveryOrder::InOrder);
        let send = Input::Send { peer: (ip, 7_000).into(), payload, order };
        endpoint.handle(now, send, &mut fx);
    }
    endpoint.handle(now, Input::Flush, &mut fx);
    fx.drain().for_each(drop);
    // No peer answers, and all are to be asked again in the same instant.
    let mut batches = Vec::new();
    let (first, _) = endpoint.poll_timeout().expect("an answer is missing");
    while let Some((at, _)) = endpoint.poll_timeout()
        && at < first + Duration::from_millis(1)
    {
        assert!(at > now, "time must move");
        now = at;
        endpoint.handle_timeout(now, &mut fx);
        let sent = fx.outputs().filter(|one| matches!(one, Output::Packet { .. })).count();
        batches.push((now.since(first).as_micros(), sent));
        fx.drain().for_each(drop);
    }
    assert_eq!(batches, [(0, 256), (100, 256), (200, 88)]);
}

#[test]
fn a_first_message_is_asked_for_again_although_nothing_else_is_left_of_the_peer() {
    let mut world = World::pair(Profile::Adaptive);
    world.send(1, 0, 1);
    world.run_secs(1);
    // Twice within a round trip: the second request has to wait.
    for _ in 0..2 {
        world.inject(1, addr(0), say(UnicastConnId(9), 5, None));
    }
    world.input(1, Input::Forget { peer: addr(0), side: Side::Sender });
    world.flush(1);
    world.run_secs(1);
    assert_eq!(world.count(1, |event| matches!(event, Event::FirstRequested { .. })), 2);
}

#[test]
fn a_receive_window_takes_what_fits_to_the_byte() {
    for profile in PROFILES {
        let limits = Config { recv_bytes: 1_000, max_message: 500, ..config(profile) };
        let mut world = World::new(limits, 2, 1);
        world.nodes[1].takes = false;
        for (seq, length, got) in [(1, 400, 1), (2, 400, 2), (3, 201, 2), (3, 200, 3), (4, 1, 3)] {
            let payload = UnicastPayload::from(vec![7; length]);
            world.inject(1, addr(0), say_this(UnicastConnId(5), seq, None, payload));
            assert_eq!(world.nodes[1].got.len(), got, "{profile:?}: {length} bytes as {seq}");
        }
    }
}

#[test]
fn what_waits_from_all_peers_together_fits_to_the_byte() {
    for profile in PROFILES {
        let mut world = World::new(Config { recv_total: 1_000, ..config(profile) }, 2, 1);
        for peer in [0, 7] {
            world.inject(1, addr(peer), say(UnicastConnId(5 + peer as u64), 1, None));
        }
        for (peer, seq, length, held) in
            [(0, 3, 600, 600), (7, 3, 401, 600), (7, 3, 400, 1_000), (0, 4, 1, 1_000)]
        {
            let payload = UnicastPayload::from(vec![7; length]);
            let conn = UnicastConnId(5 + peer as u64);
            world.inject(1, addr(peer), say_this(conn, seq, None, payload));
            assert_eq!(world.nodes[1].endpoint.held(), held, "{profile:?}: {length} bytes");
        }
    }
}

/// One byte whose number is far ahead takes a place for each number before it.
#[test]
fn numbers_far_ahead_take_no_more_places_than_all_peers_may_have() {
    const PEERS: usize = 40;
    let mut world = World::new(config(Profile::Adaptive), 2, 1);
    let far = |peer: usize| (UnicastConnId(100 + peer as u64), addr(100 + peer));
    for (conn, from) in (0..PEERS).map(far) {
        world.inject(1, from, say(conn, 1, None));
        world.inject(1, from, say(conn, 60_000, None));
    }
    let newest = |world: &World, (_, from)| {
        let view = world.nodes[1].endpoint.view();
        let peer = view.into_iter().find(|peer| peer.peer == from).unwrap();
        peer.receiver.unwrap().newest
    };
    let taken = (0..PEERS).filter(|peer| newest(&world, far(*peer)) == 60_000).count();
    assert_eq!(taken, (1 << 20) / 59_999, "each has 59 999 places");
    // What a connection needs against ordinary losses it has all the same.
    let (conn, from) = far(PEERS - 1);
    world.inject(1, from, say(conn, 1_001, None));
    assert_eq!(newest(&world, (conn, from)), 1_001);
    // Those that end give their places back.
    world.inject(
        1,
        far(0).1,
        Packet {
            blocks: vec![ConnBlock::Close(Close { conn: far(0).0, last: 1, abandoned: false })],
        },
    );
    world.inject(1, from, say(conn, 60_000, None));
    assert_eq!(newest(&world, (conn, from)), 60_000);
}

#[test]
fn a_close_that_overtook_the_last_message_waits_for_it() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        for seq in 1..=2 {
            world.inject(1, addr(0), say(UnicastConnId(5), seq, None));
        }
        let close = Close { conn: UnicastConnId(5), last: 3, abandoned: false };
        world.inject(1, addr(0), Packet { blocks: vec![ConnBlock::Close(close)] });
        world.inject(1, addr(0), say(UnicastConnId(5), 3, None));
        assert_eq!(world.numbers(1, 0), [1, 2, 3], "{profile:?}");
        let ended = world.found(1, |event| match event {
            Event::Closed { side: Side::Receiver, last, why, .. } => Some((*last, *why)),
            _ => None,
        });
        let ended: Vec<(u64, ConnEnding)> = ended.into_iter().map(|(_, ended)| ended).collect();
        assert_eq!(ended, [(3, ConnEnding::Finished)], "{profile:?}");
    }
}

#[test]
fn a_full_datagram_does_not_wait_for_the_end_of_the_turn() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        let mut sent = Vec::new();
        for _ in 0..3 {
            let (payload, order) = (UnicastPayload::from(vec![7; 1_000]), DeliveryOrder::InOrder);
            world.input(0, Input::Send { peer: addr(1), payload, order });
            sent.push(world.datagrams);
        }
        world.flush(0);
        sent.push(world.datagrams);
        assert_eq!(sent, [0, 1, 2, 3], "{profile:?}");
    }
}
