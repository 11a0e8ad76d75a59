//! UC-13: what keeps a connection, and what does not. Only silence ends one.

use crate::unicast_support;

use servent_core::unicast::{Config, Event, Input, Profile, UnicastConnId};
use servent_core::wire::unicast::{Close, ConnBlock, FirstMessageRequest, Packet};
use unicast_support::{Fate, PROFILES, World, addr, config};

const WINDOW: u64 = 10;

/// Node 1 does not read, and has room for [`WINDOW`] messages.
fn paused(config: Config) -> World {
    let mut world = World::new(Config { recv_messages: WINDOW as u32, ..config }, 2, 1);
    world.nodes[1].takes = false;
    world.send(0, 1, 1);
    world.run_secs(1);
    world.send_all(0, 1, 2..=3 * WINDOW);
    world
}

fn ended(event: &Event) -> bool {
    matches!(event, Event::Closing { .. } | Event::Closed { .. } | Event::PeerUnreachable { .. })
}

#[test]
fn uc_13_a_reader_that_pauses_for_ten_minutes_keeps_its_connection() {
    for profile in PROFILES {
        let mut world = paused(config(profile));
        world.run_secs(600);
        assert_eq!(world.nodes[1].got.len() as u64, WINDOW, "{profile:?}: as much as fits");
        assert_eq!((world.count(0, ended), world.count(1, ended)), (0, 0), "{profile:?}");
        let conn = world.sender(0, 1).unwrap().conn;
        world.nodes[1].takes = true;
        world.input(1, Input::Taken { peer: addr(0), messages: WINDOW, bytes: 8 * WINDOW });
        world.flush(1);
        world.run_secs(10);
        assert_eq!(world.numbers(1, 0), (1..=3 * WINDOW).collect::<Vec<_>>(), "{profile:?}");
        assert_eq!(world.sender(0, 1).unwrap().conn, conn, "{profile:?}: the same connection");
    }
}

#[test]
fn uc_13_a_window_of_zero_is_asked_about_and_not_besieged() {
    for profile in PROFILES {
        let mut world = paused(config(profile));
        world.run_secs(60);
        let before = world.datagrams;
        world.run_secs(600);
        let told = world.datagrams - before;
        assert!((2 * 60..=2 * 1_300).contains(&told), "{profile:?}: {told} in ten minutes");
    }
}

#[test]
fn uc_13_a_reader_that_pauses_and_dies_is_noticed() {
    for profile in PROFILES {
        let mut world = paused(config(profile));
        world.run_secs(300);
        assert_eq!(world.count(0, ended), 0, "{profile:?}");
        world.nodes[1].up = false;
        // A path may be dark for a while, except in the text's own profile.
        world.run_secs(if profile == Profile::Unicast3 { 15 } else { 95 });
        let unreachable = |e: &Event| matches!(e, Event::PeerUnreachable { .. });
        assert_eq!(world.count(0, unreachable), 1, "{profile:?}");
        world.run_secs(100);
        assert!(world.sender(0, 1).is_none(), "{profile:?}");
        let named = |e: &Event| matches!(e, Event::Undelivered { from: 11, to: 30, .. });
        assert_eq!(world.count(0, named), 1, "{profile:?}");
    }
}

#[test]
fn uc_13_a_sender_that_dies_before_a_paused_reader_is_forgotten() {
    for profile in PROFILES {
        let mut world = paused(config(profile));
        world.run_secs(300);
        world.nodes[0].up = false;
        world.run_secs(100);
        assert_eq!(world.count(1, ended), 0, "{profile:?}: not yet");
        world.run_secs(100);
        assert!(world.receiver(1, 0).is_none(), "{profile:?}");
    }
}

#[test]
fn uc_13_a_reader_cut_off_for_longer_than_expiry_is_taken_back() {
    for profile in PROFILES {
        // The receiver forgets soon; its sender never gives up.
        let base = config(profile);
        let mut world = paused(Config { unreachable: base.conn_expiry.ratio(10, 1), ..base });
        world.run_secs(5);
        world.hook(|_, _| Fate::Drop);
        world.run_secs(110);
        world.unhook();
        world.run_secs(30);
        assert_eq!((world.count(0, ended), world.count(1, ended)), (0, 0), "{profile:?}");
        assert!(!world.receiver(1, 0).unwrap().closing);
    }
}

#[test]
fn uc_13_what_is_of_no_connection_with_a_peer_is_not_heard_of_it() {
    for profile in PROFILES {
        let mut world = World::pair(profile);
        world.send(0, 1, 1);
        world.run_secs(1);
        let heard = |world: &World| [0, 1].map(|n| world.nodes[n].endpoint.heard(addr(1 - n)));
        let before = heard(&world);
        assert!(before.iter().all(|count| *count > 0), "{profile:?}: {before:?}");
        let known = world.sender(0, 1).unwrap().conn;
        let conn = UnicastConnId(known.0 ^ 1);
        for block in [
            ConnBlock::Challenge { conn, token: 7 },
            ConnBlock::Closed { conn, upto: 1 },
            ConnBlock::Close(Close { conn, last: 0, abandoned: false }),
            // A host that knows nothing of the connection asks for its first message.
            ConnBlock::Request(FirstMessageRequest { conn: known, token: 7 }),
        ] {
            for n in [0, 1] {
                world.inject(n, addr(1 - n), Packet { blocks: vec![block.clone()] });
            }
        }
        assert_eq!(heard(&world), before, "{profile:?}");
        world.send(0, 1, 2);
        world.run_secs(1);
        let after = heard(&world);
        assert!(after[0] > before[0] && after[1] > before[1], "{profile:?}: {after:?}");
    }
}
