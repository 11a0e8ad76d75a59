//! With [`Config::prove`] nobody is known by its first message alone: it has to
//! show that it gets what is sent to its address.

use crate::unicast_support;

use std::cell::RefCell;
use std::net::SocketAddr;
use std::rc::Rc;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{
    Config, Congestion, Conn, Endpoint, Event, Input, Order, Output, Payload, Profile, Rejection,
};
use servent_core::wire::unicast::{Block, Close, Data, Message, Packet, Request, Seal};
use unicast_support::{PROFILES, World, addr, config, message};

fn wary(profile: Profile) -> Config {
    Config { prove: true, ..config(profile) }
}

fn first(conn: u64, token: Option<u64>) -> Packet {
    let message =
        Message { order: Order::InOrder, continues: false, more: false, payload: message(1) };
    let messages = vec![message];
    let data = Data { conn: Conn(conn), seq: 1, first: true, again: false, token, messages };
    Packet { blocks: vec![Block::Data(data)] }
}

fn length(packet: &Packet) -> usize {
    let mut bytes = Vec::new();
    packet.encode(&Seal::None, &mut bytes);
    bytes.len()
}

/// What a stranger's datagram brings about.
fn heard(endpoint: &mut Endpoint, from: SocketAddr, packet: Packet) -> Vec<Output> {
    let (now, mut fx) = (Instant::from_secs(1), Fx::new());
    let bytes = length(&packet) as u32;
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
    let mut endpoint = Endpoint::new(wary(Profile::Adaptive), Rng::new(1));
    let close = Block::Close(Close { conn: Conn(9), last: 5, abandoned: false });
    let probe = Block::Probe { conn: Conn(9), sent: 1_000 };
    for n in 0..2_000_u32 {
        let from = SocketAddr::new(std::net::Ipv4Addr::from_bits(0x5000_0000 + n).into(), 7_000);
        let forged = first(u64::from(n), (n % 2 == 0).then_some(u64::from(n)));
        let alone = |block: &Block| Packet { blocks: vec![block.clone()] };
        for packet in [forged, alone(&close), alone(&probe)] {
            let most = length(&packet);
            for output in heard(&mut endpoint, from, packet) {
                let Output::Packet { packet, peer } = output else { panic!("{output:?}") };
                assert!(peer == from && length(&packet) <= most);
            }
        }
    }
    assert_eq!((endpoint.view().len(), endpoint.held(), endpoint.tombstones()), (0, 0, 0));
    assert_eq!(endpoint.poll_timeout(), None, "not even somebody to forget");
}

/// Brings back what it is asked for.
fn proves(endpoint: &mut Endpoint, from: SocketAddr, conn: u64) -> Vec<Output> {
    let asked = heard(endpoint, from, first(conn, None)).into_iter().find_map(|one| match one {
        Output::Packet { packet, .. } => packet.blocks.into_iter().find_map(|block| match block {
            Block::Request(Request { token, .. }) => Some(token),
            _ => None,
        }),
        _ => None,
    });
    heard(endpoint, from, first(conn, asked))
}

#[test]
fn the_token_opens_a_window_for_its_address_and_its_connection_alone() {
    let mut endpoint = Endpoint::new(wary(Profile::Adaptive), Rng::new(1));
    let delivers = |said: &[Output]| said.iter().any(|one| matches!(one, Output::Deliver { .. }));
    assert!(delivers(&proves(&mut endpoint, addr(0), 1)));
    let Output::Packet { packet, .. } = &heard(&mut endpoint, addr(1), first(2, None))[0] else {
        panic!("no answer")
    };
    let Block::Request(Request { token, .. }) = packet.blocks[0] else { panic!("{packet:?}") };
    assert!(!delivers(&heard(&mut endpoint, addr(2), first(2, Some(token)))));
    assert!(!delivers(&heard(&mut endpoint, addr(1), first(3, Some(token)))));
    assert!(delivers(&heard(&mut endpoint, addr(1), first(2, Some(token)))));
}

#[test]
fn one_address_has_no_more_than_its_peers_and_others_come_in() {
    let config = Config { peers_per_ip: 3, ..wary(Profile::Adaptive) };
    let mut endpoint = Endpoint::new(config, Rng::new(1));
    let delivers = |said: &[Output]| said.iter().any(|o| matches!(o, Output::Deliver { .. }));
    let network = |n: u16| SocketAddr::from(([0x2001, 0xdb8, 0, 0, 0, 0, 0, n], 7_000));
    let in_all = (1..=9).filter(|n| delivers(&proves(&mut endpoint, network(*n), 1))).count();
    assert_eq!(in_all, 3);
    assert!(delivers(&proves(&mut endpoint, addr(0), 1)));
}

#[test]
fn a_sender_gets_through_in_a_round_trip_more_and_sends_nothing_twice_for_a_loss() {
    let config = Config { congestion: Congestion::Cubic, ..wary(Profile::Adaptive) };
    let mut world = World::new(config, 2, 1);
    for n in 1..=60 {
        let mut payload = vec![0; 1_000];
        payload[..8].copy_from_slice(&u64::to_be_bytes(n));
        let payload = Payload::from(payload);
        world.input(0, Input::Send { peer: addr(1), payload, order: Order::InOrder });
    }
    world.flush(0);
    let all = world.run_until(Duration::from_secs(2), |world| world.nodes[1].got.len() == 60);
    assert!(all < Duration::from_millis(80), "four trips of 10 ms and some: {all:?}");
    assert_eq!(world.numbers(1, 0), Vec::from_iter(1..=60));
    assert_eq!(world.nodes[0].endpoint.counters().resent, 0);
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
fn whoever_has_not_brought_its_token_is_told_so() {
    let mut world = World::new(wary(Profile::Adaptive), 2, 1);
    let asked = Rc::new(RefCell::new(0));
    let seen = Rc::clone(&asked);
    world.hook(move |_, packet| {
        let request = |block: &Block| matches!(block, Block::Request(_));
        *seen.borrow_mut() += packet.blocks.iter().filter(|block| request(block)).count();
        unicast_support::Fate::Pass
    });
    world.send(0, 1, 1);
    world.run_secs(1);
    assert_eq!((world.numbers(1, 0), *asked.borrow()), (vec![1], 1));
    let unproven = |e: &Event| matches!(e, Event::Rejected { why: Rejection::Unproven, .. });
    assert_eq!(world.count(1, unproven), 1);
}
