//! What a router tells its neighbours alone: keyword tables, vendor messages,
//! and messages without the extension blocks that a neighbour does not read.

use crate::routing_support;

use routing_support::{address, config, message, neighbour, query, servent};
use servent_core::engine::{Effect, Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::rng::Rng;
use servent_core::routing::{Event, Input, Neighbour, NeighbourEnding, Output, Router};
use servent_core::time::Instant;
use servent_core::wire::gnutella::{
    Keywords, KeywordsLimits, MessageBody, OverlayMessage, OverlayPayload, Push, Qrp, Query,
    Vendor, code, ggep,
};

const NOW: Instant = Instant::from_secs(1_000);

fn give(router: &mut Router, input: Input) -> Vec<Effect<Output, Event>> {
    let mut fx = Fx::new();
    router.handle(NOW, input, &mut fx);
    fx.drain().collect()
}

fn open(router: &mut Router, conn: u64, like: Neighbour) -> Vec<Effect<Output, Event>> {
    let peer = address(conn as usize);
    give(router, Input::Opened { conn: ConnId(conn), peer, neighbour: like })
}

/// What was sent to a neighbour.
fn sent(effects: &[Effect<Output, Event>], conn: u64) -> Vec<OverlayMessage> {
    let to_it = |effect: &_| match effect {
        Effect::Output(Output::Send { to, message }) if to.contains(&ConnId(conn)) => {
            Some(message.clone())
        }
        _ => None,
    };
    effects.iter().filter_map(to_it).collect()
}

fn parts(effects: &[Effect<Output, Event>], conn: u64) -> Vec<Qrp> {
    let qrp = |message: OverlayMessage| match message.body {
        MessageBody::Qrp(qrp) => {
            assert_eq!((message.ttl, message.hops), (1, 0), "RT-14");
            Some(qrp)
        }
        _ => None,
    };
    sent(effects, conn).into_iter().filter_map(qrp).collect()
}

/// The table at the other end after these.
fn receive(mut table: Option<Keywords>, parts: &[Qrp]) -> Option<Keywords> {
    for part in parts {
        match part {
            Qrp::Reset { length, .. } => {
                table = Keywords::reset(*length, KeywordsLimits { entries: 1 << 20 }).ok();
            }
            Qrp::Patch { seq, count, compressor, bits, data } => {
                let table = table.as_mut().expect("a table before its patch");
                table.patch((*seq, *count), *compressor, *bits, data).expect("it fits");
            }
        }
    }
    table
}

fn table(names: &[&str]) -> Keywords {
    let mut table = Keywords::new(16);
    names.iter().for_each(|name| table.add(name));
    table
}

fn wants_keywords(node: usize) -> Neighbour {
    Neighbour { keywords: true, ..neighbour(node) }
}

#[test]
fn rt_14_our_keywords_go_to_neighbours_that_want_them_and_later_only_what_changed() {
    let mut router = Router::new(config(), Rng::new(1));
    assert_eq!(parts(&open(&mut router, 1, wants_keywords(1)), 1), [], "nothing known yet");
    open(&mut router, 2, neighbour(2));
    let told = give(&mut router, Input::Keywords { table: table(&["some song", "a film"]) });
    assert_eq!(parts(&told, 2), [], "it does not want them");
    let first = parts(&told, 1);
    assert!(matches!(first[0], Qrp::Reset { length: 65_536, .. }));
    let seen = receive(None, &first);
    assert!(seen.as_ref().is_some_and(|t| t.could_match("SONG") && !t.could_match("book")));

    let now = table(&["a film", "some book"]);
    let changes = parts(&give(&mut router, Input::Keywords { table: now.clone() }), 1);
    assert!(!changes.is_empty() && changes.iter().all(|part| matches!(part, Qrp::Patch { .. })));
    let seen = receive(seen, &changes).unwrap();
    assert!(seen.could_match("some book") && seen.could_match("film") && !seen.could_match("song"));
    assert_eq!(parts(&give(&mut router, Input::Keywords { table: now }), 1), [], "nothing new");

    let late = parts(&open(&mut router, 3, wants_keywords(3)), 3);
    assert!(receive(None, &late).unwrap().could_match("book"), "a newcomer gets all of it");
}

fn vendor(vendor: [u8; 4], selector: u16, data: &'static [u8]) -> MessageBody {
    let data = OverlayPayload::from_static(data);
    MessageBody::Vendor(Vendor { standard: false, vendor, selector, version: 1, data })
}

#[test]
fn rt_14_a_neighbour_learns_what_we_understand_and_may_want_fewer_queries() {
    let mut router = Router::new(config(), Rng::new(1));
    let talks = Neighbour { vendor: true, ..neighbour(1) };
    let first = sent(&open(&mut router, 1, talks), 1);
    let MessageBody::Vendor(list) = &first[0].body else { panic!("{first:?}") };
    assert_eq!(
        (list.vendor, list.selector, &list.data[..]),
        ([0; 4], 0, &b"\x02\0BEAR\x04\0\x01\0LIME\x15\0\x02\0"[..])
    );
    let silent = sent(&open(&mut router, 2, neighbour(2)), 2);
    assert!(!silent.iter().any(|message| matches!(message.body, MessageBody::Vendor(_))));

    let ask = |router: &mut Router, id, hops| {
        let message = message(id, 5, hops, MessageBody::Query(query("some words")));
        !sent(&give(router, Input::Message { conn: ConnId(2), message }), 1).is_empty()
    };
    assert!(ask(&mut router, 1, 1));
    let few = message(9, 1, 0, vendor(*b"BEAR", 4, b"\x02"));
    give(&mut router, Input::Message { conn: ConnId(1), message: few });
    assert!(ask(&mut router, 2, 0) && !ask(&mut router, 3, 1), "two hops are one too many");
    let none = message(10, 1, 0, vendor(*b"BEAR", 4, b"\0"));
    give(&mut router, Input::Message { conn: ConnId(1), message: none });
    assert!(!ask(&mut router, 4, 0));
}

#[test]
fn damaged_vendor_messages_end_the_connection_and_unknown_ones_do_not() {
    for (body, ends) in [
        (vendor(*b"BEAR", 4, b""), true),
        (vendor([0; 4], 0, b"\x02\0BEAR\x04\0\x01\0"), true),
        (vendor([0; 4], 0, b"\x01\0BEAR\x04\0\x01\0"), false),
        (vendor(*b"LIME", 99, b"what ever"), false),
    ] {
        let mut router = Router::new(config(), Rng::new(1));
        open(&mut router, 1, neighbour(1));
        for n in 0..100 {
            let message = message(n, 1, 0, body.clone());
            let said = give(&mut router, Input::Message { conn: ConnId(1), message });
            let given = |why: &NeighbourEnding| {
                matches!(why, NeighbourEnding::Given { code: code::IMPROPER })
            };
            let closed =
                |e: &_| matches!(e, Effect::Event(Event::Closed { why, .. }) if given(why));
            assert_eq!(said.iter().any(closed), ends && n == 31, "{n}: {body:?}");
        }
        assert_eq!(router.links(), usize::from(!ends));
    }
}

#[test]
fn extension_blocks_go_only_to_neighbours_that_read_them() {
    let mut router = Router::new(config(), Rng::new(1));
    for conn in [1, 2] {
        open(&mut router, conn, neighbour(conn as usize));
    }
    open(&mut router, 3, Neighbour { ggep: false, ..neighbour(3) });
    let mut payload = query("some words").payload().to_vec();
    let words = payload.len();
    ggep::write(&[ggep::GgepBlock::new(b"X", b"y")], true, &mut payload);
    payload.push(0);
    let body = MessageBody::Query(Query::parse(payload.clone().into()).unwrap());
    let told =
        give(&mut router, Input::Message { conn: ConnId(1), message: message(1, 5, 1, body) });
    let seen = |conn| match &sent(&told, conn)[0].body {
        MessageBody::Query(query) => query.payload().to_vec(),
        other => panic!("{other:?}"),
    };
    assert_eq!((seen(2), seen(3)), (payload.clone(), payload[..words].to_vec()));

    // A push back to where a hit came from, which reads none.
    let hit = message(1, 5, 1, MessageBody::Hit(routing_support::hit_of(9, "some words")));
    give(&mut router, Input::Message { conn: ConnId(3), message: hit });
    let at = "80.9.9.9:6346".parse().unwrap();
    let (index, ggep) =
        (servent_core::id::FileIndex(1), OverlayPayload::from_static(b"\xc3\x81X\x41y"));
    let push = MessageBody::Push(Push { servent: servent(9), index, at, ggep });
    let told =
        give(&mut router, Input::Message { conn: ConnId(2), message: message(2, 5, 1, push) });
    assert!(matches!(&sent(&told, 3)[0].body, MessageBody::Push(push) if push.ggep.is_empty()));
}
