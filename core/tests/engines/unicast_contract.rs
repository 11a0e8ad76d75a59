//! The contract every engine keeps, put to the reliable unicast in both
//! profiles: any packets of any peers, in any order, at any time.

use crate::contract;

use std::net::SocketAddr;

use contract::{Step, keeps_the_contract};
use proptest::prelude::*;
use servent_core::engine::{Engine as _, Fx};
use servent_core::node::{self, MessageCommand, Node, NodeCommand, PathNews, RestoredNode};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{
    Config, DeliveryOrder, Endpoint, Input, Profile, Side, UnicastConnId, UnicastPayload,
};
use servent_core::wire::unicast::{
    Ack, AckCounts, Close, ConnBlock, Data, FirstMessageRequest, MessageFragment, Packet, Seal,
    Slice,
};

/// Effects of one call: a window of messages, an event and an output each.
const MOST: usize = 400;

fn peer() -> impl Strategy<Value = SocketAddr> {
    (0..3_u8).prop_map(|n| SocketAddr::from(([10, 0, 0, n], 7_000)))
}

fn config(profile: Profile) -> Config {
    Config {
        profile,
        mtu: 300,
        send_messages: 50,
        recv_messages: 40,
        recv_bytes: 4_000,
        max_message: 1_500,
        trace_messages: true,
        ..Config::default()
    }
}

/// The ids the endpoint under test draws first, alone or in a node, so that
/// strangers know them.
fn conns() -> Vec<UnicastConnId> {
    let dice = [Rng::new(1), Rng::new(1).fork("datagrams", 0)];
    let six = |mut rng: Rng| (0..6).map(move |_| UnicastConnId(rng.next_u64()));
    dice.into_iter().flat_map(six).collect()
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![8 => 0..30_u64, 1 => any::<u64>().prop_map(|n| n >> 2)]
}

fn block() -> impl Strategy<Value = ConnBlock> {
    let conn = || prop::sample::select(conns());
    let message = (any::<(bool, bool, bool)>(), 0..200_usize).prop_map(
        |((at_once, continues, more), length)| MessageFragment {
            order: if at_once { DeliveryOrder::AtOnce } else { DeliveryOrder::InOrder },
            continues,
            more,
            payload: vec![1; length].into(),
        },
    );
    let messages = prop::collection::vec(message, 1..5);
    let data = (conn(), number(), any::<(bool, bool)>(), messages).prop_map(
        |(conn, seq, (first, again), messages)| {
            ConnBlock::Data(Data { conn, seq: seq + 1, first, again, token: None, messages })
        },
    );
    let ack = (conn(), number(), number(), number(), 0..50_u64).prop_map(
        |(conn, upto, messages, bytes, up)| {
            let (newest, delay) = (upto + up, messages);
            let wanted = if up > 9 { vec![(upto + 1, upto + up)] } else { Vec::new() };
            ConnBlock::Ack(Ack {
                conn,
                upto,
                newest,
                delay,
                messages,
                bytes,
                wanted,
                counts: AckCounts { early: up, late: upto, marked: bytes },
            })
        },
    );
    let slice =
        (conn(), number(), 0..400_u32, 1..200_usize).prop_map(|(conn, seq, offset, length)| {
            let bytes = UnicastPayload::from(vec![3; length]);
            let (order, total) = (DeliveryOrder::InOrder, offset + length as u32);
            let (continues, more) = (false, false);
            ConnBlock::Slice(Slice {
                conn,
                seq: seq + 1,
                offset,
                total,
                order,
                continues,
                more,
                bytes,
            })
        });
    prop_oneof![
        6 => data,
        4 => ack,
        1 => (conn(), any::<u64>())
            .prop_map(|(conn, token)| ConnBlock::Request(FirstMessageRequest { conn, token })),
        1 => (conn(), number(), any::<bool>())
            .prop_map(|(conn, last, abandoned)| ConnBlock::Close(Close { conn, last, abandoned })),
        1 => (conn(), number()).prop_map(|(conn, upto)| ConnBlock::Closed { conn, upto }),
        1 => (conn(), number()).prop_map(|(conn, sent)| ConnBlock::Probe { conn, sent }),
        1 => (conn(), 200..1_400_u32).prop_map(|(conn, size)| ConnBlock::SizeProbe { conn, size }),
        1 => (conn(), 0..9_000_u32).prop_map(|(conn, size)| ConnBlock::SizeFound { conn, size }),
        1 => (conn(), any::<u64>()).prop_map(|(conn, token)| ConnBlock::Challenge { conn, token }),
        1 => (conn(), any::<u64>()).prop_map(|(conn, token)| ConnBlock::Response { conn, token }),
        2 => slice,
    ]
}

fn input() -> impl Strategy<Value = Input> {
    let send = (peer(), 0..1_600_usize, any::<bool>()).prop_map(|(peer, length, at_once)| {
        let order = if at_once { DeliveryOrder::AtOnce } else { DeliveryOrder::InOrder };
        Input::Send { peer, payload: UnicastPayload::from(vec![7; length]), order }
    });
    let packet = (peer(), prop::collection::vec(block(), 1..4), 0..1_400_u32)
        .prop_map(|(peer, blocks, bytes)| Input::Packet { peer, packet: Packet { blocks }, bytes });
    prop_oneof![
        6 => send,
        10 => packet,
        2 => Just(Input::Flush),
        1 => (peer(), number())
            .prop_map(|(peer, datagrams)| Input::Marked { peer, datagrams }),
        1 => (peer(), number())
            .prop_map(|(peer, datagrams)| Input::TestMarks { peer, datagrams }),
        1 => (peer(), 0..1_400_u32).prop_map(|(peer, bytes)| Input::TooLarge { peer, bytes }),
        2 => (peer(), number(), number())
            .prop_map(|(peer, messages, bytes)| Input::Taken { peer, messages, bytes }),
        1 => peer().prop_map(|peer| Input::Close { peer }),
        1 => peer().prop_map(|peer| Input::Abandon { peer }),
        1 => (peer(), peer()).prop_map(|(peer, to)| Input::Route { peer, to }),
        1 => (peer(), any::<bool>()).prop_map(|(peer, sender)| {
            Input::Forget { peer, side: if sender { Side::Sender } else { Side::Receiver } }
        }),
    ]
}

fn steps() -> impl Strategy<Value = Vec<Step<Input>>> {
    let after = prop_oneof![
        3 => Just(Duration::ZERO),
        3 => (0..20_000_u64).prop_map(Duration::from_micros),
        2 => (0..3_000_u64).prop_map(Duration::from_millis),
        1 => (0..90_u64).prop_map(Duration::from_secs),
    ];
    let step = (after, input()).prop_map(|(after, input)| Step { after, input });
    prop::collection::vec(step, 0..40)
}

/// The same on the wire, now and then damaged.
fn in_bytes(input: Input, damage: Option<usize>) -> node::Input {
    let command = match input {
        Input::Packet { peer: from, packet, .. } => {
            let mut data = Vec::new();
            packet.encode(&Seal::None, &mut data);
            let mut segment = data.len() as u32;
            if let Some(at) = damage {
                data.truncate(at.max(1));
                let flipped = at / 2 % data.len();
                data[flipped] ^= 1 << (at % 8);
                segment = at as u32 % 50;
            }
            return node::Input::Messages(node::MessageInput::Datagrams {
                from,
                segment,
                data: data.into(),
            });
        }
        // A node routes only those that it has met.
        Input::Flush | Input::Route { .. } => {
            return node::Input::Messages(node::MessageInput::Flush);
        }
        Input::Marked { peer: from, datagrams } => {
            let news = PathNews::Marked { from, datagrams };
            return node::Input::Messages(node::MessageInput::Path(news));
        }
        Input::TestMarks { peer: to, datagrams } => {
            let news = PathNews::TestMarks { to, datagrams };
            return node::Input::Messages(node::MessageInput::Path(news));
        }
        Input::TooLarge { peer: to, bytes } => {
            let news = PathNews::TooLarge { to, bytes };
            return node::Input::Messages(node::MessageInput::Path(news));
        }
        Input::Send { peer: to, payload: data, order } => {
            NodeCommand::Messages(MessageCommand::Send {
                to,
                messages: vec![node::UnicastMessage { order, data }],
            })
        }
        Input::Taken { peer: from, messages, bytes } => {
            NodeCommand::Messages(MessageCommand::Taken { from, messages, bytes })
        }
        Input::Close { peer: to } => NodeCommand::Messages(MessageCommand::Close { to }),
        Input::Abandon { peer: to } => NodeCommand::Messages(MessageCommand::Abandon { to }),
        Input::Forget { peer, side } => {
            NodeCommand::Messages(MessageCommand::Forget { peer, side })
        }
    };
    node::Input::Command(command)
}

/// A node that runs.
fn node(profile: Profile) -> Node {
    let config = node::Config { datagrams: Some(config(profile)), ..node::Config::default() };
    let mut node = Node::new(config, 1);
    let start = node::Input::Start(RestoredNode::default());
    node.handle(Instant::from_secs(999_999), start, &mut Fx::new());
    node
}

fn steps_in_bytes() -> impl Strategy<Value = Vec<Step<node::Input>>> {
    let damaged = prop_oneof![4 => Just(None), 1 => (0..60_usize).prop_map(Some)];
    (steps(), prop::collection::vec(damaged, 40)).prop_map(|(steps, damaged)| {
        let pairs = steps.into_iter().zip(damaged);
        let in_bytes = |(Step { after, input }, by)| Step { after, input: in_bytes(input, by) };
        pairs.map(in_bytes).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_profile_of_the_text_keeps_the_contract(steps in steps()) {
        let build = || Endpoint::new(config(Profile::Unicast3), Rng::new(1));
        keeps_the_contract(build, &steps, MOST);
    }

    #[test]
    fn the_adaptive_profile_keeps_the_contract(steps in steps()) {
        let build = || Endpoint::new(config(Profile::Adaptive), Rng::new(1));
        keeps_the_contract(build, &steps, MOST);
    }

    #[test]
    fn a_node_with_datagrams_keeps_the_contract(steps in steps_in_bytes(), letter: bool) {
        let profile = if letter { Profile::Unicast3 } else { Profile::Adaptive };
        keeps_the_contract(|| node(profile), &steps, MOST);
    }
}
