//! PA-3: windows that grow, up to a limit of all, and are given back; PA-7: marks that are
//! asked for only where they are heeded and arrive.

use crate::unicast_support;

use servent_core::time::Duration;
use servent_core::unicast::{
    Config, Congestion, DeliveryOrder, Event, Input, Profile, UnicastLimit, UnicastPayload,
};
use servent_core::wire::unicast::ConnBlock;
use unicast_support::{Fate, World, addr, config};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
/// What a receiver grants at first; a sender keeps more, as by default.
const START: u64 = 64 * KIB;
/// Seconds after which a window in which nothing arrives is given back.
const IDLE: u64 = 10;

/// Many receivers, senders or both; a round trip of 100 ms.
fn far(nodes: usize, grown_total: u64) -> World {
    let config = Config {
        recv_start: START,
        recv_bytes: 16 * MIB,
        send_start: 4 * START,
        send_bytes: 16 * MIB,
        max_message: 8 * KIB as u32,
        grown_total,
        ..config(Profile::Adaptive)
    };
    let mut world = World::new(config, nodes, 1);
    world.link.delay = Duration::from_millis(50);
    world
}

/// Offers all that a window takes, a hundred times in a second. The most by which the first
/// sender's has grown.
fn flood(world: &mut World, senders: &[usize], to: usize, seconds: u64) -> u64 {
    let mut most = 0;
    for _ in 0..seconds * 100 {
        for &from in senders {
            while world.nodes[from].endpoint.room(addr(to)).bytes >= 4 * KIB {
                let payload = UnicastPayload::from(vec![7; 4 * KIB as usize]);
                let order = DeliveryOrder::InOrder;
                world.input(from, Input::Send { peer: addr(to), payload, order });
            }
            world.flush(from);
        }
        world.run_ms(10);
        most = most.max(grown(world, senders[0]));
    }
    most
}

fn grown(world: &World, at: usize) -> u64 {
    world.nodes[at].endpoint.grown()
}

#[test]
fn pa_3_a_window_that_has_grown_is_given_back_when_it_is_idle() {
    let mut world = far(2, 512 * MIB);
    let sender = flood(&mut world, &[0], 1, 5);
    let both = [sender, grown(&world, 1)];
    assert!(both.iter().all(|it| *it >= MIB), "{both:?} bytes grown");
    while world.unacked(0, 1) > 0 {
        world.run_ms(10);
    }
    assert_eq!(grown(&world, 0), 0, "a sender that has nothing to keep needs no room");
    world.run_secs(IDLE - 1);
    assert!(grown(&world, 1) >= MIB, "a pause is no end");
    world.run_secs(2);
    assert_eq!(grown(&world, 1), 0);
    // What is granted from then on is what was granted at first.
    let told = std::rc::Rc::new(std::cell::Cell::new(0));
    let last = std::rc::Rc::clone(&told);
    world.hook(move |from, packet| {
        for block in &packet.blocks {
            if let (1, ConnBlock::Ack(ack)) = (from, block) {
                last.set(ack.bytes);
            }
        }
        Fate::Pass
    });
    world.send(0, 1, 1);
    world.run_secs(1);
    assert!(told.get() <= START, "{} bytes granted", told.get());
}

#[test]
fn pa_3_all_windows_together_grow_no_further_than_their_limit() {
    const LIMIT: u64 = 2 * MIB;
    let mut world = far(6, LIMIT);
    let senders = [0, 1, 2, 3];
    for _ in 0..5 {
        flood(&mut world, &senders, 5, 1);
        assert!(grown(&world, 5) <= LIMIT, "{}", grown(&world, 5));
    }
    assert!(grown(&world, 5) > LIMIT / 2, "they want more than that");
    let full = |event: &Event| matches!(event, Event::Limit { limit: UnicastLimit::Windows, .. });
    assert!(world.count(5, full) > 0, "reaching it is an event");
    let before = world.nodes[5].got.len();
    flood(&mut world, &senders, 5, 1);
    assert!(world.nodes[5].got.len() > before, "all go on, with what they have");
    while senders.iter().any(|from| world.unacked(*from, 5) > 0) {
        world.run_ms(10);
    }
    world.run_secs(IDLE + 1);
    assert_eq!(grown(&world, 5), 0);
    // Another one may have what they gave back.
    flood(&mut world, &[4], 5, 5);
    assert!(grown(&world, 5) >= MIB, "{}", grown(&world, 5));
}

#[test]
fn pa_3_an_ended_connection_gives_its_window_back_at_once() {
    let mut world = far(2, 512 * MIB);
    flood(&mut world, &[0], 1, 5);
    world.input(0, Input::Close { peer: addr(1) });
    world.flush(0);
    while grown(&world, 0) > 0 {
        world.run_ms(10);
        assert!(world.now < servent_core::time::Instant::from_secs(1_020));
    }
    world.run_secs(1);
    assert_eq!(grown(&world, 1), 0);
}

/// RFC 3168: a datagram says that it may be marked only if its sender heeds marks.
#[test]
fn pa_7_only_a_sender_that_heeds_marks_asks_for_them() {
    for (congestion, profile, heeds) in [
        (Congestion::Bbr, Profile::Adaptive, true),
        (Congestion::Cubic, Profile::Adaptive, true),
        (Congestion::Fixed(10_000), Profile::Adaptive, false),
        (Congestion::None, Profile::Adaptive, false),
        (Congestion::Bbr, Profile::Unicast3, false),
    ] {
        let mut world = World::new(Config { congestion, ..config(profile) }, 2, 1);
        assert!(!world.nodes[0].endpoint.heeds_marks(addr(1)), "it sends nothing");
        world.send_all(0, 1, 1..=1_000);
        world.run_secs(2);
        assert_eq!(world.nodes[0].endpoint.heeds_marks(addr(1)), heeds, "{congestion:?}");
        assert!(!world.nodes[1].endpoint.heeds_marks(addr(0)), "it only acknowledges");
    }
}

/// Sends a thousand datagrams; when the host has marked some itself, so many of them are
/// counted by the receiver.
fn tested(counted: u64) -> World {
    let config = Config { congestion: Congestion::Bbr, ..config(Profile::Adaptive) };
    let mut world = World::new(config, 2, 1);
    for n in 0..1_000 {
        world.queue(0, 1, n);
        world.flush(0);
        world.run_ms(1);
        if n == 50 {
            world.input(0, Input::TestMarks { peer: addr(1), datagrams: 3 });
        }
        if n == 60 && counted > 0 {
            world.input(1, Input::Marked { peer: addr(0), datagrams: counted });
        }
    }
    world.run_secs(1);
    world
}

#[test]
fn pa_7_marks_of_our_own_show_whether_marks_arrive() {
    assert!(tested(3).nodes[0].endpoint.heeds_marks(addr(1)));
    assert!(tested(1).nodes[0].endpoint.heeds_marks(addr(1)), "the others are lost");
}
