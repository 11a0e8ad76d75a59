//! What strangers send never panics, never disturbs an open connection, and
//! never brings anybody more than three times its bytes.

use crate::unicast_support;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{
    Config, DeliveryOrder, Endpoint, Event, Input, Output, Profile, Rejection, UnicastConnId,
    UnicastLimit, UnicastPayload,
};
use servent_core::wire::unicast::{
    Ack, AckCounts, Close, ConnBlock, Data, FirstMessageRequest, MessageFragment, Packet,
    PacketError, Seal,
};
use unicast_support::{PROFILES, World, addr, config, message};

/// Any block, about any of these connections, with any numbers.
fn block(dice: &mut Rng, conns: &[UnicastConnId]) -> ConnBlock {
    let conn = dice.pick(conns).copied().unwrap_or_default();
    let edges = [0, 1, 2, 3, 9, 1_000, 70_000, 1 << 31, 1 << 40, (1 << 62) - 1];
    let mut any = || *dice.pick(&edges).unwrap();
    let (a, b, c, d) = (any(), any(), any(), any());
    match dice.below(8) {
        0..=2 => {
            let count = 1 + dice.below(5);
            let messages = (0..count).map(|n| MessageFragment {
                order: if dice.chance(1, 3) {
                    DeliveryOrder::AtOnce
                } else {
                    DeliveryOrder::InOrder
                },
                continues: dice.chance(1, 4),
                more: dice.chance(1, 4),
                payload: if dice.chance(1, 2) { UnicastPayload::new() } else { message(n) },
            });
            let messages = messages.collect();
            let (first, again) = (dice.chance(1, 2), dice.chance(1, 3));
            let token = dice.chance(1, 3).then(|| dice.next_u64());
            ConnBlock::Data(Data { conn, seq: a.max(1), first, again, token, messages })
        }
        3..=4 => {
            let newest = a.max(b);
            let wanted = if dice.chance(1, 2) { vec![(a + 1, a + 1 + c.min(b))] } else { vec![] };
            let (delay, messages, bytes) = (c, d, b);
            ConnBlock::Ack(Ack {
                conn,
                upto: a,
                newest,
                delay,
                messages,
                bytes,
                wanted,
                counts: AckCounts::default(),
            })
        }
        5 => ConnBlock::Request(FirstMessageRequest { conn, token: dice.next_u64() }),
        6 => ConnBlock::Close(Close { conn, last: a, abandoned: dice.chance(1, 2) }),
        _ if dice.chance(1, 2) => ConnBlock::Closed { conn, upto: a },
        _ => ConnBlock::Probe { conn, sent: a },
    }
}

#[test]
fn strangers_of_other_and_of_forged_addresses_do_not_disturb() {
    for profile in PROFILES {
        for seed in 0..10 {
            let mut world = World::new(config(profile), 2, seed);
            let mut dice = Rng::new(seed);
            for n in 1..=200 {
                world.send(0, 1, n);
                world.send(1, 0, n);
                // One of its own address, one that writes the peer's on it;
                // neither knows an id.
                let conns: Vec<UnicastConnId> =
                    (0..3).map(|_| UnicastConnId(dice.next_u64())).collect();
                for from in [9, 0] {
                    let count = 1 + dice.below(3);
                    let blocks = (0..count).map(|_| block(&mut dice, &conns)).collect();
                    world.inject(1, addr(from), Packet { blocks });
                }
                world.run_ms(dice.below(20));
            }
            world.run_secs(10);
            let expected: Vec<u64> = (1..=200).collect();
            let got = world.numbers(0, 1);
            assert_eq!(got, expected, "{profile:?} {seed}");
            let conn = world.sender(0, 1).unwrap().conn;
            let got = world.nodes[1].got.iter().filter(|got| got.conn == conn);
            let got: Vec<u64> = got.map(|got| unicast_support::number(&got.payload)).collect();
            assert_eq!(got, expected, "{profile:?} {seed}");
        }
    }
}

#[test]
fn any_blocks_of_known_connections_never_panic_and_keep_the_windows() {
    for profile in PROFILES {
        for seed in 0..60 {
            let mut config = config(profile);
            config.recv_messages = 50;
            config.recv_bytes = 2_000;
            config.max_message = 1_000;
            config.send_messages = 60;
            let mut world = World::new(config, 2, seed);
            let mut dice = Rng::new(seed ^ 77);
            for n in 1..=100 {
                world.send(0, 1, n);
                world.send(1, 0, n);
                let mut conns = vec![UnicastConnId(dice.next_u64())];
                for view in world.nodes.iter().flat_map(|node| node.endpoint.view()) {
                    conns.extend(view.sender.map(|sender| sender.conn));
                    conns.extend(view.receiver.map(|receiver| receiver.conn));
                }
                let to = dice.below(2) as usize;
                let from = if dice.chance(1, 2) { 1 - to } else { 9 };
                let blocks = (0..1 + dice.below(4)).map(|_| block(&mut dice, &conns)).collect();
                world.inject(to, addr(from), Packet { blocks });
                world.run_ms(dice.below(700));
            }
            world.run_secs(400);
            let quiet = world.datagrams;
            world.run_secs(400);
            assert_eq!(world.datagrams, quiet, "{profile:?} {seed}: nothing is sent for ever");
        }
    }
}

/// Bytes an endpoint sends to a stranger for what it gets from it, which is
/// nothing but `packets`, over ten minutes.
fn amplified(config: Config, packets: &[Packet], echo: bool) -> (u64, u64, Vec<Event>) {
    let mut endpoint = Endpoint::new(config.clone(), Rng::new(3));
    let (mut now, mut fx) = (Instant::from_secs(5), Fx::new());
    let (mut received, mut sent, mut events) = (0, 0, Vec::new());
    let length = |packet: &Packet| {
        let mut bytes = Vec::new();
        packet.encode(&config.seal, &mut bytes);
        bytes.len() as u64
    };
    let mut packets = packets.iter();
    let end = now + Duration::from_secs(600);
    while now < end {
        if let Some(packet) = packets.next() {
            received += length(packet);
            let (packet, bytes) = (packet.clone(), length(packet) as u32);
            endpoint.handle(now, Input::Packet { peer: addr(5), packet, bytes }, &mut fx);
            let delivered = |output: &Output| matches!(output, Output::Deliver { .. });
            if echo && fx.outputs().any(delivered) {
                let (peer, order) = (addr(5), DeliveryOrder::InOrder);
                let payload = UnicastPayload::from(vec![1; 50_000]);
                endpoint.handle(now, Input::Send { peer, payload, order }, &mut fx);
            }
        }
        endpoint.handle(now, Input::Flush, &mut fx);
        for effect in fx.drain() {
            match effect {
                Effect::Output(Output::Packet { packet, .. }) => sent += length(&packet),
                Effect::Event(event) => events.push(event),
                Effect::Output(_) => {}
            }
        }
        let next = endpoint.poll_timeout().map_or(end, |(at, _)| at);
        now = next.max(now + Duration::from_micros(1)).min(now + Duration::from_secs(1));
        endpoint.handle_timeout(now, &mut fx);
    }
    (received, sent, events)
}

#[test]
fn a_peer_that_is_not_proven_gets_three_times_its_bytes_at_most() {
    for profile in PROFILES {
        for seed in 0..60 {
            let mut dice = Rng::new(seed);
            let conns = [UnicastConnId(1), UnicastConnId(2)];
            let packets: Vec<Packet> = (0..1 + dice.below(30))
                .map(|_| {
                    let count = 1 + dice.below(20);
                    Packet { blocks: (0..count).map(|_| block(&mut dice, &conns)).collect() }
                })
                .collect();
            let echo = dice.chance(1, 2);
            let seal = [Seal::None, Seal::Checksum, Seal::Key(1, 2)][seed as usize % 3];
            let config = Config { seal, ..config(profile) };
            let (received, sent, _) = amplified(config, &packets, echo);
            assert!(sent <= 3 * received, "{profile:?} {seed}: {sent} bytes for {received}");
        }
    }
}

#[test]
fn a_peer_that_may_be_sent_nothing_more_does_not_keep_us_awake() {
    // Nothing is missing, or much is, which would have to be asked for.
    for (profile, newest) in PROFILES.into_iter().flat_map(|profile| [(profile, 1), (profile, 9)]) {
        let (mut now, mut fx) = (Instant::from_secs(5), Fx::new());
        let mut endpoint = Endpoint::new(config(profile), Rng::new(3));
        let whole = |n| MessageFragment {
            order: DeliveryOrder::InOrder,
            continues: false,
            more: false,
            payload: message(n),
        };
        let (conn, token) = (UnicastConnId(4), None);
        let data = |seq| {
            let messages = vec![whole(seq)];
            ConnBlock::Data(Data { conn, seq, first: seq == 1, again: false, token, messages })
        };
        let blocks = if newest == 1 { vec![data(1)] } else { vec![data(1), data(newest)] };
        // Three times one byte is no acknowledgement.
        let packet = Input::Packet { peer: addr(5), packet: Packet { blocks }, bytes: 1 };
        endpoint.handle(now, packet, &mut fx);
        endpoint.handle(now, Input::Flush, &mut fx);
        let (end, mut woken) = (now + Duration::from_secs(5), 0);
        while let Some((at, _)) = endpoint.poll_timeout()
            && at < end
        {
            (now, woken) = (at, woken + 1);
            endpoint.handle_timeout(now, &mut fx);
            assert!(woken < 20, "{profile:?}: awake again at {now:?}");
        }
        assert!(!fx.outputs().any(|output| matches!(output, Output::Packet { .. })));
    }
}

#[test]
fn an_application_that_answers_a_stranger_is_held_back_until_it_shows_itself() {
    for profile in PROFILES {
        let whole = MessageFragment {
            order: DeliveryOrder::InOrder,
            continues: false,
            more: false,
            payload: message(1),
        };
        let (conn, token) = (UnicastConnId(4), None);
        let messages = vec![whole];
        let data = Data { conn, seq: 1, first: true, again: false, token, messages };
        let hello = Packet { blocks: vec![ConnBlock::Data(data)] };
        let (received, sent, events) = amplified(config(profile), &[hello], true);
        assert!(sent > 0 && sent <= 3 * received, "{sent} for {received}");
        let held =
            |e: &&Event| matches!(e, Event::Limit { limit: UnicastLimit::Amplification, .. });
        assert!(events.iter().any(|e| held(&e)), "{profile:?}");
        // A real peer that is answered at length gets all of it.
        let mut world = World::pair(profile);
        world.send(0, 1, 1);
        world.run_ms(30);
        for n in 1..=3_000 {
            world.queue(1, 0, n);
        }
        world.flush(1);
        world.run_secs(20);
        assert_eq!(world.numbers(0, 1).len(), 3_000, "{profile:?}");
    }
}

#[test]
fn a_huge_number_is_refused_and_nothing_is_reserved_for_it() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send(0, 1, 1);
        world.run_secs(1);
        let conn = world.receiver(1, 0).unwrap().conn;
        for seq in [70_000, 2_147_000_000, 1 << 40, (1 << 62) - 1] {
            let payload = message(1);
            let whole = MessageFragment {
                order: DeliveryOrder::InOrder,
                continues: false,
                more: false,
                payload,
            };
            let (first, again, token) = (false, false, None);
            let messages = vec![whole];
            let data = Data { conn, seq, first, again, token, messages };
            world.inject(1, addr(0), Packet { blocks: vec![ConnBlock::Data(data)] });
        }
        let beyond = |e: &Event| matches!(e, Event::Rejected { why: Rejection::BeyondWindow, .. });
        assert_eq!(world.count(1, beyond), 4);
        let view = world.receiver(1, 0).unwrap();
        assert_eq!((view.newest, view.missing, view.held), (1, 0, 0), "{profile:?}");
    }
}

#[test]
fn a_flood_of_requests_brings_each_message_once_a_round_trip() {
    let mut world = World::pair(Profile::Adaptive);
    world.send(0, 1, 1);
    world.run_secs(1);
    world.nodes[1].up = false;
    world.send_all(0, 1, 2..=100);
    let conn = world.sender(0, 1).unwrap().conn;
    let before = world.nodes[0].endpoint.counters().resent;
    for _ in 0..1_000 {
        let (messages, bytes, wanted) = (1_000, 100_000, vec![(2, 100)]);
        let ack = Ack {
            conn,
            upto: 1,
            newest: 1,
            delay: 0,
            messages,
            bytes,
            wanted,
            counts: AckCounts::default(),
        };
        world.inject(0, addr(1), Packet { blocks: vec![ConnBlock::Ack(ack)] });
        world.run(Duration::from_micros(100));
    }
    // A tenth of a second is five round trips.
    let resent = world.nodes[0].endpoint.counters().resent - before;
    assert!(resent <= 99 * 7, "{resent} resent");
}

#[test]
fn strangers_fill_no_more_than_the_table_of_peers() {
    let config = Config { peers: 50, ..config(Profile::Adaptive) };
    let mut world = World::new(config, 2, 1);
    world.send(0, 1, 1);
    world.run_secs(1);
    for n in 0..500_u32 {
        let from = std::net::SocketAddr::from((std::net::Ipv4Addr::from(0x0b00_0000 + n), 9));
        let payload = message(1);
        let whole = MessageFragment {
            order: DeliveryOrder::InOrder,
            continues: false,
            more: false,
            payload,
        };
        let (conn, first, again, token) = (UnicastConnId(u64::from(n)), true, false, None);
        let data = Data { conn, seq: 1, first, again, token, messages: vec![whole] };
        let packet = Packet { blocks: vec![ConnBlock::Data(data)] };
        world.input(1, Input::Packet { peer: from, packet, bytes: 30 });
    }
    assert_eq!(world.nodes[1].endpoint.view().len(), 50);
    world.send(0, 1, 2);
    world.run_secs(1);
    assert_eq!(world.numbers(1, 0), [1, 2], "who was here stays");
    world.run_secs(400);
    assert!(world.nodes[1].endpoint.view().len() <= 1, "idle ones go");
}

#[test]
fn a_sealed_datagram_that_was_changed_is_none() {
    for seal in [Seal::Checksum, Seal::Key(1, 2)] {
        let packet = Packet { blocks: vec![ConnBlock::Probe { conn: UnicastConnId(3), sent: 4 }] };
        let mut bytes = Vec::new();
        packet.encode(&seal, &mut bytes);
        let good = UnicastPayload::from(bytes.clone());
        assert_eq!(Packet::parse(&good, &seal), Ok(packet));
        assert_eq!(Packet::parse(&good, &Seal::Key(1, 3)), Err(PacketError::Seal));
        for at in 0..bytes.len() {
            let mut bad = bytes.clone();
            bad[at] ^= 0x10;
            assert_eq!(Packet::parse(&bad.into(), &seal), Err(PacketError::Seal));
        }
    }
}
