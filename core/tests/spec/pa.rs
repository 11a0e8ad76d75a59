//! PA-9: peers that change their address.

use crate::unicast_support;

use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::time::Duration;
use servent_core::unicast::{Config, ConnEnding, Event, Input, Output, Profile, Side};
use servent_core::wire::unicast::{ConnBlock, Packet};
use unicast_support::{Fate, World, addr, config, number};

/// Where the peer is after its move; nothing else is there.
const ELSEWHERE: usize = 7;

/// A listener that strangers can reach, and a peer that has sent it a hundred
/// messages.
fn talking() -> World {
    let config = Config { prove: true, ..config(Profile::Adaptive) };
    let mut world = World::new(config, 2, 1);
    world.send_all(0, 1, 1..=100);
    world.run_secs(1);
    world
}

fn got(world: &World, at: usize) -> Vec<u64> {
    world.nodes[at].got.iter().map(|got| number(&got.payload)).collect()
}

fn moved(event: &Event) -> bool {
    matches!(event, Event::Moved { peer, to, .. } if (*peer, *to) == (addr(0), addr(ELSEWHERE)))
}

#[test]
fn pa_9_a_peer_at_another_address_keeps_its_connection_and_gets_its_answers() {
    let mut world = talking();
    world.nodes[0].addr = addr(ELSEWHERE);
    let begun = world.now;
    // A datagram each, which all arrive in one turn.
    (101..=200).for_each(|n| world.send(0, 1, n));
    world.queue(1, 0, 1); // To its name, which stays.
    world.run_secs(5);
    assert_eq!(got(&world, 1), (1..=200).collect::<Vec<_>>(), "each once");
    let last = world.nodes[1].got.last().unwrap();
    assert!(last.at.since(begun) <= Duration::from_secs(1), "{:?}", last.at.since(begun));
    assert!(world.nodes[1].got.iter().all(|got| got.conn == last.conn), "one connection");
    assert_eq!(world.count(1, moved), 1);
    assert_eq!(got(&world, 0), [1], "what is sent to its name finds it");
    assert_eq!(world.nodes[1].endpoint.name_at(addr(ELSEWHERE)), addr(0));
}

#[test]
fn pa_9_a_peer_that_comes_back_is_found_at_its_own_address() {
    let mut world = talking();
    for (at, numbers) in [(ELSEWHERE, 101..=200), (0, 201..=300), (ELSEWHERE, 301..=400)] {
        world.nodes[0].addr = addr(at);
        world.send_all(0, 1, numbers);
        world.run_secs(5);
    }
    assert_eq!(got(&world, 1), (1..=400).collect::<Vec<_>>());
    assert_eq!(world.count(1, moved), 2);
}

#[test]
fn pa_9_a_first_message_sent_again_from_elsewhere_is_delivered_once() {
    let config = Config { prove: true, ..config(Profile::Adaptive) };
    let mut world = World::new(config, 2, 1);
    // The acknowledgement of the first message is lost, and its sender moves.
    world.hook(|from, packet| {
        let acknowledges = packet.blocks.iter().any(|block| matches!(block, ConnBlock::Ack(_)));
        if from == 1 && acknowledges { Fate::Drop } else { Fate::Pass }
    });
    world.send(0, 1, 1);
    world.run_secs(1);
    assert_eq!(got(&world, 1), [1]);
    world.nodes[0].addr = addr(ELSEWHERE);
    world.unhook();
    world.run_secs(10);
    world.send(0, 1, 2);
    world.run_secs(10);
    assert_eq!(got(&world, 1), [1, 2]);
}

/// A datagram with the next message of the peer, which has arrived.
fn copied(world: &mut World) -> Packet {
    let (copies, copy) = std::sync::mpsc::channel();
    world.hook(move |from, packet| {
        if from == 0 {
            let _ = copies.send(packet.clone());
        }
        Fate::Pass
    });
    world.send(0, 1, 101);
    world.run_secs(1);
    copy.try_iter().find(unicast_support::has_data).unwrap()
}

/// Gives the listener a datagram from an address, of so many bytes as it returns.
fn arrive(world: &mut World, from: usize, packet: &Packet, fx: &mut Fx<Output, Event>) -> u32 {
    let mut bytes = Vec::new();
    packet.encode(&world.config.seal, &mut bytes);
    let bytes = bytes.len() as u32;
    let input = Input::Packet { peer: addr(from), packet: packet.clone(), bytes };
    world.nodes[1].endpoint.handle(world.now, input, fx);
    bytes
}

/// What an endpoint sends to an address for a datagram from there.
fn answers(world: &mut World, from: usize, packet: &Packet) -> (u64, Vec<Packet>) {
    let mut fx = Fx::new();
    let bytes = arrive(world, from, packet, &mut fx);
    world.nodes[1].endpoint.handle(world.now, Input::Flush, &mut fx);
    let mut sent = Vec::new();
    for effect in fx.drain() {
        match effect {
            Effect::Output(Output::Packet { peer, packet }) if peer == addr(from) => {
                sent.push(packet);
            }
            Effect::Event(event) => assert!(!moved(&event), "{event:?}"),
            Effect::Output(_) => {}
        }
    }
    (bytes.into(), sent)
}

#[test]
fn pa_9_a_copied_datagram_moves_nothing_and_is_answered_with_no_more_than_it_brings() {
    let mut world = talking();
    let copy = copied(&mut world);
    let (brings, sent) = answers(&mut world, ELSEWHERE, &copy);
    let [challenge] = &sent[..] else { panic!("{sent:?}") };
    let mut bytes = Vec::new();
    challenge.encode(&world.config.seal, &mut bytes);
    assert!(bytes.len() as u64 <= brings, "{} bytes for {brings}", bytes.len());
    let [ConnBlock::Challenge { conn, token }] = challenge.blocks[..] else {
        panic!("{challenge:?}")
    };
    // It cannot know the token, which is sent elsewhere; nor is it good there.
    for (from, token) in [(ELSEWHERE, token ^ 1), (ELSEWHERE + 1, token)] {
        let guess = Packet { blocks: vec![ConnBlock::Response { conn, token }] };
        assert_eq!(answers(&mut world, from, &guess).1, []);
    }
    world.send_all(0, 1, 102..=200);
    world.run_secs(1);
    assert_eq!(got(&world, 1), (1..=200).collect::<Vec<_>>(), "it is where it was");
}

/// Strangers use up what one turn looks at, and no turn ends with a flush.
#[test]
fn pa_9_a_flood_of_strangers_keeps_no_peer_from_its_move() {
    let mut world = talking();
    let copy = copied(&mut world);
    let feed = |world: &mut World, from: usize, packet: &Packet| {
        let mut fx = Fx::new();
        arrive(world, from, packet, &mut fx);
        fx.drain().collect::<Vec<_>>()
    };
    let challenge = |effects: &[Effect<Output, Event>]| {
        let packet = effects.iter().find_map(|effect| match effect {
            Effect::Output(Output::Packet { packet, .. }) => packet.blocks.first().cloned(),
            _ => None,
        });
        match packet {
            Some(ConnBlock::Challenge { conn, token }) => Some((conn, token)),
            _ => None,
        }
    };
    let strangers = 100..140;
    let answered = strangers
        .clone()
        .filter(|from| challenge(&feed(&mut world, *from, &copy)).is_some())
        .count();
    assert!((1..40).contains(&answered), "a turn looks at some of them");
    world.now += Duration::from_secs(5);
    let (conn, token) =
        challenge(&feed(&mut world, ELSEWHERE, &copy)).expect("another turn looks again");
    strangers.for_each(|from| drop(feed(&mut world, from, &copy)));
    let proof = Packet { blocks: vec![ConnBlock::Response { conn, token }] };
    let effects = feed(&mut world, ELSEWHERE, &proof);
    assert!(effects.iter().any(|it| matches!(it, Effect::Event(event) if moved(event))));
}

/// What is sent through a relay comes from one address: that of the relay.
#[test]
fn pa_13_another_peer_at_one_address_is_another_peer_and_ends_the_connections_of_the_one_before() {
    let config = Config { prove: true, ..config(Profile::Adaptive) };
    let mut world = World::new(config, 7, 1);
    let route = |world: &mut World, name| {
        world.input(1, Input::Route { peer: addr(name), to: addr(0) });
    };
    let (one, other) = (5, 6);
    route(&mut world, one);
    world.send_all(0, 1, 1..=10);
    world.run_secs(1);
    world.queue(1, one, 1); // Answers go to the name.
    world.run_secs(1);
    assert_eq!((got(&world, 1), got(&world, 0)), ((1..=10).collect(), vec![1]));
    assert!(world.nodes[1].got.iter().all(|got| got.from == one), "it is called by its name");
    // It is gone with messages of ours; the next one begins behind the same address.
    world.restart(0);
    world.queue(1, one, 2);
    route(&mut world, other);
    let ended = |event: &Event| matches!(event, Event::Closed { peer, why: ConnEnding::Replaced, .. } if *peer == addr(one));
    assert_eq!(world.count(1, ended), 2, "both halves");
    let before = world.nodes[1].got.len();
    world.send_all(0, 1, 1..=10);
    world.run_secs(5);
    let new = &world.nodes[1].got[before..];
    let numbers: Vec<_> = new.iter().map(|got| (got.from, number(&got.payload))).collect();
    assert_eq!(numbers, (1..=10).map(|n| (other, n)).collect::<Vec<_>>());
}

#[test]
fn uc_10_a_whole_connection_does_not_go_on_with_a_process_that_knows_nothing_of_it() {
    let config = Config { prove: true, whole: true, ..config(Profile::Adaptive) };
    let mut world = World::new(config, 2, 1);
    world.send_all(0, 1, 1..=100);
    world.run_secs(1);
    world.restart(1);
    world.send_all(0, 1, 101..=110);
    world.run_secs(3);
    assert_eq!(got(&world, 1), [0; 0], "what came before was for another process");
    let told = |event: &Event| {
        let side = Side::Sender;
        matches!(event, Event::Closed { side: it, why: ConnEnding::Finished, .. } if *it == side)
    };
    assert_eq!(world.count(0, told), 1);
    let lost = |event: &Event| matches!(event, Event::Undelivered { from: 101, to: 110, .. });
    assert_eq!(world.count(0, lost), 1, "its sender knows what did not arrive");
    world.send_all(0, 1, 1..=10);
    world.run_secs(3);
    assert_eq!(got(&world, 1), (1..=10).collect::<Vec<_>>(), "a new one is taken");
}
