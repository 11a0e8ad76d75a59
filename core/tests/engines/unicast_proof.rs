//! With [`Config::prove`] no peer is known by its first message alone: it has to
//! show that it gets what is sent to its address.

use crate::unicast_support;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{
    Config, Congestion, DeliveryOrder, Endpoint, Event, Input, Output, Profile, Rejection,
    UnicastConnId, UnicastPayload,
};
use servent_core::wire::unicast::{
    Close, ConnBlock, Data, FirstMessageRequest, MessageFragment, Packet, Seal,
};
use unicast_support::{PROFILES, World, addr, config, message};

fn wary(profile: Profile) -> Config {
    Config { prove: true, ..config(profile) }
}

fn first(conn: u64, token: Option<u64>) -> Packet {
    let message = MessageFragment {
        order: DeliveryOrder::InOrder,
        continues: false,
        more: false,
        payload: message(1),
    };
    let messages = vec![message];
    let data =
        Data { conn: UnicastConnId(conn), seq: 1, first: true, again: false, token, messages };
    Packet { blocks: vec![ConnBlock::Data(data)] }
}

fn length(packet: &Packet, seal: &Seal) -> usize {
    let mut bytes = Vec::new();
    packet.encode(seal, &mut bytes);
    bytes.len()
}

fn alone(block: ConnBlock) -> Packet {
    Packet { blocks: vec![block] }
}

/// Hosts of one network.
fn network(host: u16) -> SocketAddr {
    SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, host], 7_000))
}

/// What a stranger's datagram brings about.
fn heard(endpoint: &mut Endpoint, from: SocketAddr, packet: Packet) -> Vec<Output> {
    let (now, mut fx) = (Instant::from_secs(1), Fx::new());
    let bytes = length(&packet, &endpoint.config().seal) as u32;
    endpoint.handle(now, Input::Packet { peer: from, packet, bytes }, &mut fx);
    endpoint.handle(now, Input::Flush, &mut fx);
    let outputs = fx.drain().filter_map(|effect| match effect {
        Effect::Output(output) => Some(output),
        Effect::Event(_) => None,
    });
    outputs.collect()
}

#[test]
fn one_datagram_leaves_nothing_behind_and_is_answered_by_a_shorter_one() {
    for seal in [Seal::None, Seal::Checksum, Seal::Key(1, 2)] {
        let mut endpoint = Endpoint::new(Config { seal, ..wary(Profile::Adaptive) }, Rng::new(1));
        let close = ConnBlock::Close(Close { conn: UnicastConnId(9), last: 5, abandoned: false });
        let probe = ConnBlock::Probe { conn: UnicastConnId(9), sent: 1_000 };
        for n in 0..2_000_u32 {
            let ip = std::net::Ipv4Addr::from_bits(0x5000_0000 + n);
            let from = SocketAddr::new(ip.into(), 7_000);
            let forged = first(u64::from(n), (n % 2 == 0).then_some(u64::from(n)));
            for packet in [forged, alone(close.clone()), alone(probe.clone())] {
                let most = length(&packet, &seal);
                for output in heard(&mut endpoint, from, packet) {
                    let Output::Packet { packet, peer } = output else { panic!("{output:?}") };
                    assert!(peer == from && length(&packet, &seal) <= most);
                }
            }
        }
        assert_eq!((endpoint.view().len(), endpoint.held(), endpoint.tombstones()), (0, 0, 0));
        assert_eq!(endpoint.poll_timeout(), None, "not even a peer to forget");
    }
}

/// Such as a meeting place: what it answers would be taken for a sign of life of the peer
/// that was reached through it.
#[test]
fn one_that_can_have_no_peers_asks_none_for_proof() {
    let config = Config { peers: 0, ..wary(Profile::Adaptive) };
    let mut endpoint = Endpoint::new(config, Rng::new(1));
    let conn = UnicastConnId(9);
    let close = ConnBlock::Close(Close { conn, last: 5, abandoned: false });
    for packet in [first(9, None), alone(ConnBlock::Probe { conn, sent: 7 }), alone(close)] {
        assert_eq!(heard(&mut endpoint, addr(0), packet), []);
    }
}

#[test]
fn a_token_counts_only_on_a_first_message() {
    let mut endpoint = Endpoint::new(wary(Profile::Adaptive), Rng::new(1));
    let token = asked(&mut endpoint, addr(0), 1);
    let mut later = first(1, token);
    let ConnBlock::Data(data) = &mut later.blocks[0] else { panic!("{later:?}") };
    (data.seq, data.first) = (2, false);
    heard(&mut endpoint, addr(0), later);
    assert_eq!((endpoint.view().len(), endpoint.poll_timeout()), (0, None), "no peer is known");
    assert!(delivers(&heard(&mut endpoint, addr(0), first(1, token))));
}

/// The token that a first message without one is answered with.
fn asked(endpoint: &mut Endpoint, from: SocketAddr, conn: u64) -> Option<u64> {
    heard(endpoint, from, first(conn, None)).into_iter().find_map(|one| match one {
        Output::Packet { packet, .. } => packet.blocks.into_iter().find_map(|block| match block {
            ConnBlock::Request(FirstMessageRequest { token, .. }) => Some(token),
            _ => None,
        }),
        _ => None,
    })
}

/// Brings back what it is asked for.
fn proves(endpoint: &mut Endpoint, from: SocketAddr, conn: u64) -> Vec<Output> {
    let token = asked(endpoint, from, conn);
    heard(endpoint, from, first(conn, token))
}

fn delivers(said: &[Output]) -> bool {
    said.iter().any(|one| matches!(one, Output::Deliver { .. }))
}

#[test]
fn the_token_opens_a_window_for_its_address_and_its_connection_alone() {
    let mut endpoint = Endpoint::new(wary(Profile::Adaptive), Rng::new(1));
    assert!(delivers(&proves(&mut endpoint, addr(0), 1)));
    let token = asked(&mut endpoint, addr(1), 2);
    assert!(!delivers(&heard(&mut endpoint, addr(2), first(2, token))));
    assert!(!delivers(&heard(&mut endpoint, addr(1), first(3, token))));
    assert!(delivers(&heard(&mut endpoint, addr(1), first(2, token))));
}

#[test]
fn one_address_has_no_more_than_its_peers_and_others_come_in() {
    let config = Config { peers_per_ip: 3, ..wary(Profile::Adaptive) };
    let mut endpoint = Endpoint::new(config, Rng::new(1));
    let in_all =
        (1..=9).filter(|n| delivers(&proves(&mut endpoint, network(*n), u64::from(*n)))).count();
    assert_eq!(in_all, 3);
    assert!(delivers(&proves(&mut endpoint, addr(0), 10)));
}

#[test]
fn a_peer_that_leaves_makes_room_for_one_more_of_its_address() {
    let config = Config { peers_per_ip: 3, ..wary(Profile::Adaptive) };
    let mut endpoint = Endpoint::new(config, Rng::new(1));
    let come = |endpoint: &mut Endpoint, hosts: std::ops::RangeInclusive<u16>| {
        hosts
            .filter(|host| delivers(&proves(endpoint, network(*host), u64::from(*host))))
            .collect::<Vec<_>>()
    };
    assert_eq!(come(&mut endpoint, 1..=4), [1, 2, 3]);
    let close = ConnBlock::Close(Close { conn: UnicastConnId(1), last: 1, abandoned: false });
    heard(&mut endpoint, network(1), alone(close));
    assert_eq!(come(&mut endpoint, 5..=7), [5]);
}

#[test]
fn a_sender_gets_through_in_a_round_trip_more_and_sends_nothing_twice_for_a_loss() {
    let config = Config { congestion: Congestion::Cubic, ..wary(Profile::Adaptive) };
    let mut world = World::new(config, 2, 1);
    for n in 1..=60 {
        let mut payload = vec![0; 1_000];
        payload[..8].copy_from_slice(&u64::to_be_bytes(n));
        let payload = UnicastPayload::from(payload);
        world.input(0, Input::Send { peer: addr(1), payload, order: DeliveryOrder::InOrder });
    }
    world.flush(0);
    let all = world.run_until(Duration::from_secs(2), |world| world.nodes[1].got.len() == 60);
    assert!(all < Duration::from_millis(80), "four trips of 10 ms and some: {all:?}");
    assert_eq!(world.numbers(1, 0), Vec::from_iter(1..=60));
    assert_eq!(world.nodes[0].endpoint.counters().resent, 0);
}

#[test]
fn the_first_part_of_a_long_message_fits_with_its_token_and_its_seal() {
    for (profile, seal) in PROFILES.into_iter().zip([Seal::Checksum, Seal::Key(1, 2)]) {
        let mut world = World::new(Config { seal, ..wary(profile) }, 2, 1);
        let (payload, order) = (UnicastPayload::from(vec![7; 10_000]), DeliveryOrder::InOrder);
        world.input(0, Input::Send { peer: addr(1), payload: payload.clone(), order });
        world.run_until(Duration::from_secs(5), |world| !world.nodes[1].got.is_empty());
        assert_eq!(world.nodes[1].got[0].payload, payload, "{profile:?}");
    }
}

#[test]
fn under_loss_and_across_restarts_all_is_delivered_once_and_in_order() {
    for profile in PROFILES {
        for seed in 0..20 {
            let mut world = World::new(wary(profile), 2, seed);
            (world.link.loss, world.link.jitter) = (150, Duration::from_millis(15));
            world.send_all(0, 1, 1..=100);
            world.send_all(1, 0, 1..=100);
            world.run_secs(60);
            for (at, from) in [(0, 1), (1, 0)] {
                assert_eq!(world.numbers(at, from), Vec::from_iter(1..=100), "{profile:?} {seed}");
            }
            world.restart(1);
            world.send_all(0, 1, 101..=120);
            world.run_secs(60);
            assert_eq!(world.numbers(1, 0), Vec::from_iter(101..=120), "{profile:?} {seed}");
        }
    }
}

#[test]
fn a_peer_that_has_not_brought_its_token_is_told_so() {
    let mut world = World::new(wary(Profile::Adaptive), 2, 1);
    let asked = Rc::new(RefCell::new(0));
    let seen = Rc::clone(&asked);
    world.hook(move |_, packet| {
        let request = |block: &ConnBlock| matches!(block, ConnBlock::Request(_));
        *seen.borrow_mut() += packet.blocks.iter().filter(|block| request(block)).count();
        unicast_support::Fate::Pass
    });
    world.send(0, 1, 1);
    world.run_secs(1);
    assert_eq!((world.numbers(1, 0), *asked.borrow()), (vec![1], 1));
    let unproven = |e: &Event| matches!(e, Event::Rejected { why: Rejection::Unproven, .. });
    assert_eq!(world.count(1, unproven), 1);
}

#[test]
fn in_the_name_of_a_peer_that_was_called_only_one_speaks_that_has_heard_us() {
    for profile in PROFILES {
        let mut world = World::new(wary(profile), 2, 1);
        world.send(0, 1, 1);
        let forge = |world: &mut World, conn| {
            let (peer, packet) = (addr(1), first(conn, None));
            let bytes = length(&packet, &world.nodes[0].endpoint.config().seal) as u32;
            world.input(0, Input::Packet { peer, packet, bytes });
            world.flush(0);
        };
        for conn in 70..80 {
            forge(&mut world, conn);
        }
        world.run_until(Duration::from_secs(5), |world| world.nodes[1].got.len() == 1);
        forge(&mut world, 80);
        // Long after it has said that it has the message.
        world.run_secs(2);
        forge(&mut world, 81);
        assert!(world.numbers(0, 1).is_empty(), "{profile:?}");
        world.send_all(1, 0, [5, 6]);
        let took = world.run_until(Duration::from_secs(5), |world| world.nodes[0].got.len() == 2);
        assert!(
            took <= Duration::from_millis(11),
            "{profile:?}: its answer takes one trip: {took:?}"
        );
        forge(&mut world, 82);
        world.send(1, 0, 7);
        world.run_secs(2);
        assert_eq!(world.numbers(0, 1), [5, 6, 7], "{profile:?}");
    }
}

#[test]
fn a_long_answer_takes_one_trip_too() {
    let mut world = World::new(wary(Profile::Adaptive), 2, 1);
    world.send(0, 1, 1);
    world.run_until(Duration::from_secs(5), |world| world.nodes[1].got.len() == 1);
    world.run_secs(2);
    for _ in 0..5 {
        let (peer, payload) = (addr(0), UnicastPayload::from(vec![7; 1_000]));
        world.input(1, Input::Send { peer, payload, order: DeliveryOrder::InOrder });
    }
    world.flush(1);
    let took = world.run_until(Duration::from_secs(5), |world| !world.nodes[0].got.is_empty());
    assert!(took <= Duration::from_millis(11), "{took:?}");
}
