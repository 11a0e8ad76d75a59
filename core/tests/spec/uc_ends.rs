//! UNICAST3 where connections begin and end. Each test is named by its
//! requirement; those that hold for both profiles run for both.

use crate::unicast_support;

use servent_core::time::Duration;
use servent_core::unicast::{Config, ConnEnding, Event, Input, Profile, Rejection, Side};
use servent_core::wire::unicast::{Close, ConnBlock, Packet, UnicastConnId};
use unicast_support::{Fate, PROFILES, World, addr, carries, config, has_data};

fn close(world: &mut World, from: usize, to: usize) {
    world.input(from, Input::Close { peer: addr(to) });
    world.flush(from);
}

fn abandon(world: &mut World, from: usize, to: usize) {
    world.input(from, Input::Abandon { peer: addr(to) });
    world.flush(from);
}

fn closed(side: Side, ending: ConnEnding) -> impl Fn(&Event) -> bool {
    move |e| matches!(e, Event::Closed { side: s, why, .. } if *s == side && *why == ending)
}

#[test]
fn uc_6_both_halves_go_through_open_closing_and_closed() {
    for profile in PROFILES {
        let mut world = World::new(Config { ..config(profile) }, 2, 1);
        world.send(0, 1, 1);
        world.run_secs(1);
        for (at, side) in [(0, Side::Sender), (1, Side::Receiver)] {
            let opened = |e: &Event| matches!(e, Event::Opened { side: s, .. } if *s == side);
            assert_eq!(world.count(at, opened), 1);
        }
        // Long silence: first CLOSING, then nothing is left but a tomb.
        world.run_secs(121);
        assert!(world.sender(0, 1).unwrap().closing && world.receiver(1, 0).unwrap().closing);
        world.run_secs(61);
        assert!(world.peer_view(0, 1).is_none() && world.peer_view(1, 0).is_none());
        assert_eq!(world.nodes[1].endpoint.tombstones(), 1);
        assert_eq!(world.count(0, closed(Side::Sender, ConnEnding::Idle)), 1);
    }
}

#[test]
fn uc_7_a_closing_sender_goes_on_until_everything_is_acknowledged() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        let mut tries = 0;
        world.hook(move |from, packet| {
            tries += u32::from(from == 0 && has_data(packet));
            if tries <= 2 { Fate::Drop } else { Fate::Pass }
        });
        world.send_all(0, 1, 1..=5);
        close(&mut world, 0, 1);
        world.run_secs(20);
        assert_eq!(world.numbers(1, 0), [1, 2, 3, 4, 5], "{profile:?}");
        world.run_secs(60);
        assert_eq!(world.count(0, closed(Side::Sender, ConnEnding::Asked)), 1);
        assert_eq!(world.count(0, |e| matches!(e, Event::Undelivered { .. })), 0);
    }
}

#[test]
fn uc_7_sending_on_a_closing_connection_opens_it_again() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send(0, 1, 1);
        close(&mut world, 0, 1);
        let before = world.sender(0, 1).unwrap();
        assert!(before.closing);
        world.send(0, 1, 2);
        let after = world.sender(0, 1).unwrap();
        assert!(!after.closing);
        assert_eq!(before.conn, after.conn);
        world.run_secs(100);
        assert!(!world.sender(0, 1).unwrap().closing, "its time begins anew");
        assert_eq!(world.numbers(1, 0), [1, 2]);
    }
}

#[test]
fn uc_7_sending_on_a_closed_connection_begins_a_fresh_one() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send(0, 1, 1);
        world.run_secs(2);
        let before = world.sender(0, 1).unwrap().conn;
        close(&mut world, 0, 1);
        world.run_secs(70);
        assert!(world.sender(0, 1).is_none());
        world.send(0, 1, 2);
        world.run_secs(2);
        assert_ne!(world.sender(0, 1).unwrap().conn, before);
        assert_eq!(world.sender(0, 1).unwrap().highest_sent, 1, "numbers begin anew");
        assert_eq!(world.numbers(1, 0), [1, 2]);
    }
}

#[test]
fn uc_8_an_idle_connection_closes_and_the_sender_says_so() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send(0, 1, 1);
        world.run_secs(110);
        assert!(!world.sender(0, 1).unwrap().closing);
        world.run_secs(11);
        assert!(world.sender(0, 1).unwrap().closing, "{profile:?}");
        world.run_secs(58);
        assert!(world.sender(0, 1).is_some());
        // The receiver hears of it before its own time is over.
        let receiver = |e: &Event| matches!(e, Event::Closed { side: Side::Receiver, .. });
        assert_eq!(world.count(1, receiver), 0);
        world.run_secs(3);
        assert!(world.sender(0, 1).is_none());
        assert_eq!(world.count(1, receiver), 1);
    }
}

#[test]
fn uc_8_without_an_expiry_nothing_closes_by_itself() {
    let mut world =
        World::new(Config { conn_expiry: Duration::ZERO, ..config(Profile::Adaptive) }, 2, 1);
    world.send(0, 1, 1);
    world.run_secs(100_000);
    assert!(!world.sender(0, 1).unwrap().closing && !world.receiver(1, 0).unwrap().closing);
}

#[test]
fn uc_8_what_a_closed_sender_could_not_deliver_is_named() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=3);
        world.run_secs(2);
        world.lose_data(0);
        world.send_all(0, 1, 4..=8);
        close(&mut world, 0, 1);
        world.run_secs(62);
        let named = |e: &Event| matches!(e, Event::Undelivered { from: 4, to: 8, .. });
        assert_eq!(world.count(0, named), 1, "{profile:?}");
        assert_eq!(world.count(1, closed(Side::Receiver, ConnEnding::Abandoned)), 1);
        world.run_secs(10);
        assert!(world.peer_view(0, 1).is_none() && world.peer_view(1, 0).is_none());
    }
}

#[test]
fn uc_8_what_is_abandoned_ends_at_once_on_both_sides() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=3);
        world.run_secs(2);
        // Nothing more of it arrives; the end is no data.
        world.lose_data(0);
        world.send_all(0, 1, 4..=8);
        let conn = world.receiver(1, 0).unwrap().conn;
        abandon(&mut world, 0, 1);
        assert!(world.sender(0, 1).is_none(), "{profile:?}");
        world.run_secs(1);
        assert!(world.receiver(1, 0).is_none(), "{profile:?}");
        assert_eq!(world.count(1, closed(Side::Receiver, ConnEnding::Abandoned)), 1);
        let named = |e: &Event| matches!(e, Event::Undelivered { from: 4, to: 8, .. });
        assert_eq!(world.count(0, named), 1, "{profile:?}");
        // What is sent from now on is another connection.
        world.hook(|_, _| Fate::Pass);
        world.send(0, 1, 9);
        world.run_secs(2);
        assert_ne!(world.receiver(1, 0).unwrap().conn, conn);
        assert_eq!(world.numbers(1, 0), [1, 2, 3, 9], "{profile:?}");
        // With nothing left to send it is an end like any other.
        abandon(&mut world, 0, 1);
        world.run_secs(1);
        assert_eq!(world.count(1, closed(Side::Receiver, ConnEnding::Finished)), 1);
    }
}

#[test]
fn uc_9_close_removes_only_the_entry_of_the_same_connection() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send(0, 1, 1);
        world.run_secs(2);
        let conn = world.receiver(1, 0).unwrap().conn;
        let say = |conn| {
            let close = Close { conn, last: 1, abandoned: false };
            Packet { blocks: vec![ConnBlock::Close(close)] }
        };
        world.inject(1, addr(0), say(UnicastConnId(conn.0 ^ 1)));
        assert!(world.receiver(1, 0).is_some());
        world.inject(1, addr(0), say(conn));
        assert!(world.receiver(1, 0).is_none());
        assert_eq!(world.count(1, closed(Side::Receiver, ConnEnding::Finished)), 1);
    }
}

#[test]
fn uc_9_a_close_that_overtakes_the_last_messages_waits_for_them() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send(0, 1, 1);
        world.run_secs(2);
        let conn = world.receiver(1, 0).unwrap().conn;
        let close = Close { conn, last: 3, abandoned: false };
        world.inject(1, addr(0), Packet { blocks: vec![ConnBlock::Close(close)] });
        assert!(world.receiver(1, 0).is_some(), "two are not here yet");
        world.send_all(0, 1, 2..=3);
        world.run_ms(11);
        assert_eq!(world.numbers(1, 0), [1, 2, 3], "{profile:?}");
        assert!(world.receiver(1, 0).is_none());
    }
}

#[test]
fn uc_9_a_lost_close_is_said_again_until_it_is_acknowledged() {
    let mut world = World::pair(Profile::Adaptive);
    world.send(0, 1, 1);
    world.run_secs(1);
    let mut lost = 0;
    world.hook(move |_, packet| {
        let speaks = |b: &ConnBlock| matches!(b, ConnBlock::Close(_) | ConnBlock::Closed { .. });
        lost += u32::from(packet.blocks.iter().any(speaks));
        if lost > 0 && lost < 5 { Fate::Drop } else { Fate::Pass }
    });
    close(&mut world, 0, 1);
    world.run_secs(30);
    assert!(world.peer_view(0, 1).is_none() && world.peer_view(1, 0).is_none());
    let quiet = world.datagrams;
    world.run_secs(100);
    assert_eq!(world.datagrams, quiet);
}

#[test]
fn uc_10_a_receiver_that_lost_its_entry_goes_on_where_it_stood() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send_all(0, 1, 1..=5);
        world.run_secs(2);
        world.input(1, Input::Forget { peer: addr(0), side: Side::Receiver });
        world.flush(1);
        assert!(world.receiver(1, 0).is_none());
        world.send_all(0, 1, 6..=10);
        world.run_secs(10);
        assert_eq!(world.numbers(1, 0), (1..=10).collect::<Vec<_>>(), "{profile:?}");
        assert!(world.count(1, |e| matches!(e, Event::FirstRequested { .. })) >= 1);
        assert_eq!(world.unacked(0, 1), 0);
    }
}

#[test]
fn uc_10_a_message_that_is_not_the_first_opens_nothing() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.hook(|_, packet| if carries(packet, 1) { Fate::Drop } else { Fate::Pass });
        world.send(0, 1, 1);
        world.send_all(0, 1, 2..=4);
        world.run_secs(3);
        assert!(world.receiver(1, 0).is_none());
        assert!(world.nodes[1].got.is_empty());
        let refused = |e: &Event| matches!(e, Event::Rejected { why: Rejection::NotOpen, .. });
        assert!(world.count(1, refused) >= 1, "{profile:?}");
    }
}
