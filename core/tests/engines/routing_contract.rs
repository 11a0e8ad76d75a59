//! The contract every engine keeps, put to the router: any messages of any
//! neighbours, in any order, at any time.

use crate::contract;
use crate::routing_support;

use contract::{Step, keeps_the_contract};
use proptest::prelude::*;
use routing_support::{address, guid, hit_of, neighbour, query, servent};
use servent_core::id::{ConnId, FileIndex};
use servent_core::rng::Rng;
use servent_core::routing::{Breakage, Config, Input, PushRouting, Router};
use servent_core::time::Duration;
use servent_core::wire::gnutella::{
    Bye, Compressor, MessageBody, MessageFrameError, MessageKind, OverlayMessage, OverlayPayload,
    PayloadError, Ping, Pong, Push, Qrp, Vendor,
};

/// Effects of one call: what waited for a neighbour leaves all at once.
const MOST: usize = 120;

fn config(push_routing: PushRouting) -> Config {
    Config {
        push_routing,
        links: 4,
        queries_per_link: 8,
        entries_per_link: 8,
        window: 200,
        queue: 600,
        strikes: 6,
        searches: 3,
        push_targets: 2,
        keyword_entries: 256,
        trace_messages: true,
        ..Config::default()
    }
}

fn conn() -> impl Strategy<Value = ConnId> {
    (0..6_u64).prop_map(ConnId)
}

fn body() -> impl Strategy<Value = MessageBody> {
    let place = (0..4_u8, 0..3_u16).prop_map(|(ip, port)| {
        std::net::SocketAddrV4::new(std::net::Ipv4Addr::new(80, 1, 1, ip), port)
    });
    let push = (0..4_usize, place.clone()).prop_map(|(node, at)| {
        MessageBody::Push(Push {
            servent: servent(node),
            index: FileIndex(1),
            at,
            ggep: OverlayPayload::new(),
        })
    });
    let patch = (1..3_u8, prop::collection::vec(any::<u8>(), 0..40)).prop_map(|(seq, data)| {
        let data = data.into();
        MessageBody::Qrp(Qrp::Patch { seq, count: 2, compressor: Compressor::None, bits: 8, data })
    });
    prop_oneof![
        4 => "[a-c]{1,3}".prop_map(|words| MessageBody::Query(query(&words))),
        4 => (0..4_usize, "[a-c]{1,3}").prop_map(|(node, name)| MessageBody::Hit(hit_of(node, &name))),
        2 => push,
        2 => Just(MessageBody::Ping(Ping::default())),
        2 => place.prop_map(|at| {
            MessageBody::Pong(Pong { at, files: 1, kilobytes: 1, ggep: OverlayPayload::new() })
        }),
        1 => Just(MessageBody::Qrp(Qrp::Reset { length: 64, infinity: 7 })),
        1 => patch,
        1 => Just(MessageBody::Bye(Bye { code: 200, text: String::new() })),
        1 => Just(MessageBody::Vendor(Vendor {
            standard: true, vendor: [0; 4], selector: 1, version: 1, data: OverlayPayload::new(),
        })),
    ]
}

fn input() -> impl Strategy<Value = Input> {
    let message =
        (conn(), 0..12_u64, 0..18_u8, 0..18_u8, body()).prop_map(|(conn, id, ttl, hops, body)| {
            Input::Message { conn, message: OverlayMessage { guid: guid(id), ttl, hops, body } }
        });
    let opened = (conn(), 0..4_usize).prop_map(|(conn, node)| Input::Opened {
        conn,
        peer: address(node),
        neighbour: neighbour(node),
    });
    let push = (0..20_u64, 0..4_usize).prop_map(|(id, node)| {
        let (servent, at) = (servent(node), "80.1.1.1:1".parse().unwrap());
        Input::Push {
            guid: guid(id),
            push: Push { servent, index: FileIndex(1), at, ggep: OverlayPayload::new() },
            via: Some(ConnId(id % 6)),
        }
    });
    let listen = "80.1.1.1:1".parse().unwrap();
    prop_oneof![
        6 => opened,
        20 => message,
        3 => (conn(), 0..400_u64).prop_map(|(conn, bytes)| Input::Backlog { conn, bytes }),
        2 => conn().prop_map(|conn| Input::Closed { conn }),
        1 => conn().prop_map(|conn| Input::Broken {
            conn, why: Breakage::Frame(MessageFrameError::Kind(9)),
        }),
        1 => conn().prop_map(|conn| Input::Improper {
            conn, kind: MessageKind::Hit, why: PayloadError::Short,
        }),
        1 => Just(Input::Ourselves {
            servent: servent(0), listen: Some(listen), files: 1, kilobytes: 1,
        }),
        1 => (0..20_u64).prop_map(|id| Input::Search { guid: guid(id), query: query("ab") }),
        1 => (0..20_u64).prop_map(|id| Input::EndSearch { guid: guid(id) }),
        2 => (0..12_u64).prop_map(|id| Input::Answer { guid: guid(id), hops: 2, hit: hit_of(0, "ab") }),
        1 => push,
        1 => Just(Input::Shutdown),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step<Input>>> {
    let after = prop_oneof![
        4 => Just(Duration::ZERO),
        3 => (0..3_000_u64).prop_map(Duration::from_millis),
        2 => (0..90_u64).prop_map(Duration::from_secs),
        1 => (0..1_500_u64).prop_map(Duration::from_secs),
    ];
    let step = (after, input()).prop_map(|(after, input)| Step { after, input });
    prop::collection::vec(step, 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_router_keeps_the_contract(steps in steps()) {
        keeps_the_contract(|| Router::new(config(PushRouting::Standard), Rng::new(1)), &steps, MOST);
    }

    #[test]
    fn the_router_that_broadcasts_pushes_keeps_the_contract(steps in steps()) {
        keeps_the_contract(|| Router::new(config(PushRouting::Broadcast), Rng::new(1)), &steps, MOST);
    }
}
