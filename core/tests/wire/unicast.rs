//! The examples of docs/wire-unicast.md, and bytes of every other kind.

use proptest::prelude::*;
use servent_core::wire::unicast::{
    Ack, AckCounts, Close, ConnBlock, Data, DeliveryOrder, FirstMessageRequest, MessageFragment,
    Packet, PacketError, Seal, Slice, UnicastConnId, UnicastPayload, begins_with_messages,
    begins_with_messages_again,
};

const DOCUMENT: &str = include_str!("../../../docs/wire-unicast.md");
const CONN: UnicastConnId = UnicastConnId(0x0123_4567_89ab_cdef);

/// The bytes of the example called `name`.
fn example(name: &str) -> Vec<u8> {
    let begin = format!("```hex {name}\n");
    let (_, rest) = DOCUMENT.split_once(&begin).expect("the document has the example");
    let (hex, _) = rest.split_once("```").expect("the example ends");
    let byte = |text| u8::from_str_radix(text, 16).expect("two hexadecimal digits");
    hex.split_whitespace().map(byte).collect()
}

fn message(payload: &[u8]) -> MessageFragment {
    let payload = UnicastPayload::copy_from_slice(payload);
    MessageFragment { order: DeliveryOrder::InOrder, continues: false, more: false, payload }
}

fn data(seq: u64, messages: Vec<MessageFragment>) -> Data {
    Data { conn: CONN, seq, first: false, again: false, token: None, messages }
}

#[test]
fn the_examples_of_the_document_are_what_is_written_and_read() {
    let three = vec![message(b"a"), message(b"bc"), message(b"")];
    let urgent = MessageFragment { order: DeliveryOrder::AtOnce, ..message(&[0; 20]) };
    let ack = Ack {
        conn: CONN,
        upto: 45,
        newest: 50,
        delay: 1_500,
        messages: 1_000,
        bytes: 65_536,
        wanted: vec![(46, 46), (48, 48)],
        counts: AckCounts::default(),
    };
    let counts = AckCounts { early: 3_000, late: 0, marked: 2 };
    let counted = Ack { counts, wanted: Vec::new(), ..ack.clone() };
    let piece = Slice {
        conn: CONN,
        seq: 7,
        offset: 1_000,
        total: 1_003,
        order: DeliveryOrder::InOrder,
        continues: true,
        more: false,
        bytes: UnicastPayload::from_static(b"xyz"),
    };
    let found =
        Data { first: true, again: true, token: Some(255), ..data(46, vec![message(b"x")]) };
    let close = |last, abandoned| ConnBlock::Close(Close { conn: CONN, last, abandoned });
    let again = ConnBlock::Data(Data { again: true, ..data(300, vec![urgent]) });
    let examples = [
        ("data", vec![ConnBlock::Data(Data { first: true, ..data(1, three) })]),
        ("lone", vec![ConnBlock::Data(data(4, vec![message(b"d")]))]),
        ("again", vec![again, ConnBlock::Probe { conn: CONN, sent: 300 }]),
        ("ack", vec![ConnBlock::Ack(ack)]),
        ("request", vec![ConnBlock::Request(FirstMessageRequest { conn: CONN, token: 255 })]),
        ("first", vec![ConnBlock::Data(found)]),
        ("close", vec![close(50, false)]),
        ("closed", vec![ConnBlock::Closed { conn: CONN, upto: 50 }]),
        ("abandoned", vec![close(7, true)]),
        ("counted", vec![ConnBlock::Ack(counted)]),
        ("size", vec![ConnBlock::SizeProbe { conn: CONN, size: 20 }]),
        ("found", vec![ConnBlock::SizeFound { conn: CONN, size: 1_400 }]),
        ("challenge", vec![ConnBlock::Challenge { conn: CONN, token: 255 }]),
        ("response", vec![ConnBlock::Response { conn: CONN, token: 255 }]),
        ("slice", vec![ConnBlock::Slice(piece)]),
    ];
    assert_eq!(DOCUMENT.matches("```hex ").count(), examples.len(), "each example is checked");
    for (name, blocks) in examples {
        let packet = Packet { blocks };
        let mut bytes = Vec::new();
        packet.encode(&Seal::None, &mut bytes);
        assert_eq!(bytes, example(name), "{name}");
        assert_eq!(Packet::parse(&bytes.into(), &Seal::None), Ok(packet), "{name}");
    }
}

#[test]
fn a_small_message_costs_what_the_document_says() {
    let cost = |seq, sizes: &[usize]| {
        let messages = sizes.iter().map(|size| message(&vec![1; *size])).collect();
        let mut bytes = Vec::new();
        Packet { blocks: vec![ConnBlock::Data(data(seq, messages))] }
            .encode(&Seal::None, &mut bytes);
        bytes.len() - sizes.iter().sum::<usize>()
    };
    assert_eq!((cost(127, &[15]), cost(16_383, &[15]), cost(2_000_000, &[15])), (10, 11, 12));
    assert_eq!(cost(127, &[100]), 10, "whatever its length");
    assert!(cost(16_383, &[15, 15]) <= 2 * 7);
    assert!(cost(1_000_000, &[100; 13]) <= 13 * 3);
}

#[test]
fn what_is_cut_short_or_from_elsewhere_is_refused() {
    let whole = example("ack");
    for end in 0..whole.len() {
        let cut = UnicastPayload::copy_from_slice(&whole[..end]);
        assert_eq!(Packet::parse(&cut, &Seal::None), Err(PacketError::Short), "{end}");
    }
    let parse = |bytes: &[u8]| Packet::parse(&UnicastPayload::copy_from_slice(bytes), &Seal::None);
    assert_eq!(parse(b"GET / HTTP/1.0"), Err(PacketError::Version(2)));
    assert_eq!(parse(&[0x3d, 1]), Err(PacketError::Number), "the same as which?");
    assert_eq!(parse(&[0x2f, 0, 0, 0, 0, 0, 0, 0, 0, 9]), Err(PacketError::Kind(9)));
    let short = [0x2f, 0, 0, 0, 0, 0, 0, 0, 0, 1, 99];
    assert_eq!(parse(&short), Err(PacketError::Number), "another size than it says");
    assert_eq!(parse(&[0x2e, 0, 0, 0, 0, 0, 0, 0, 0, 0]), Err(PacketError::Number));
    let zero = [0x20, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(parse(&zero), Err(PacketError::Number), "numbers begin with 1");
}

#[test]
fn a_datagram_with_messages_is_known_by_its_first_byte() {
    let begins = |name| begins_with_messages(&example(name));
    for name in ["data", "lone", "again", "first"] {
        assert!(begins(name), "{name}");
    }
    for name in ["ack", "counted", "request", "close", "closed", "abandoned", "size", "found"] {
        assert!(!begins(name), "{name}");
    }
    let again = |name| begins_with_messages_again(&example(name));
    assert!(again("again") && again("first"));
    assert!(!again("data") && !again("lone") && !again("ack") && !again("challenge"));
    assert!(!begins_with_messages(b"") && !begins_with_messages(b"GET / HTTP/1.0"));
}

fn number() -> impl Strategy<Value = u64> {
    prop_oneof![0..300_u64, any::<u64>().prop_map(|n| n >> 2)]
}

fn messages() -> impl Strategy<Value = Vec<MessageFragment>> {
    let payload = prop::collection::vec(any::<u8>(), 0..40);
    let one =
        (payload, any::<(bool, bool, bool)>()).prop_map(|(bytes, (at_once, continues, more))| {
            let order = if at_once { DeliveryOrder::AtOnce } else { DeliveryOrder::InOrder };
            MessageFragment { order, continues, more, payload: bytes.into() }
        });
    prop::collection::vec(one, 1..6)
}

fn block() -> impl Strategy<Value = ConnBlock> {
    let conn = || prop_oneof![Just(CONN), any::<u64>().prop_map(UnicastConnId)];
    let marks = (any::<(bool, bool)>(), prop::option::of(any::<u64>()));
    let data = (conn(), number(), marks, messages()).prop_map(
        |(conn, seq, ((first, again), token), messages)| {
            ConnBlock::Data(Data { conn, seq: seq + 1, first, again, token, messages })
        },
    );
    let counts = prop_oneof![
        Just(AckCounts::default()),
        (number(), number(), number()).prop_map(|(early, late, marked)| AckCounts {
            early,
            late,
            marked
        }),
    ];
    let gaps = prop::collection::vec((0..900_u64, 0..900_u64), 0..9);
    let numbers = (number(), number(), number(), number(), 0..9_000_u64);
    let ack = (conn(), numbers, gaps, counts).prop_map(
        |(conn, (upto, delay, messages, bytes, up), gaps, counts)| {
            let mut end = upto;
            let wanted = gaps.into_iter().map(|(gap, more)| {
                let range = (end + gap + 1, end + gap + 1 + more);
                end = range.1;
                range
            });
            let wanted = wanted.collect();
            ConnBlock::Ack(Ack {
                conn,
                upto,
                newest: upto + up,
                delay,
                messages,
                bytes,
                wanted,
                counts,
            })
        },
    );
    prop_oneof![
        4 => data,
        3 => ack,
        1 => (conn(), any::<u64>())
            .prop_map(|(conn, token)| ConnBlock::Request(FirstMessageRequest { conn, token })),
        1 => (conn(), number(), any::<bool>())
            .prop_map(|(conn, last, abandoned)| ConnBlock::Close(Close { conn, last, abandoned })),
        1 => (conn(), number()).prop_map(|(conn, upto)| ConnBlock::Closed { conn, upto }),
        1 => (conn(), number()).prop_map(|(conn, sent)| ConnBlock::Probe { conn, sent }),
        1 => (conn(), any::<u32>()).prop_map(|(conn, size)| ConnBlock::SizeFound { conn, size }),
        1 => (conn(), any::<u64>()).prop_map(|(conn, token)| ConnBlock::Challenge { conn, token }),
        1 => (conn(), any::<u64>()).prop_map(|(conn, token)| ConnBlock::Response { conn, token }),
    ]
}

/// What extends to the end of its datagram. The size of a probe is that of the whole
/// datagram; here, by how much it is longer than the blocks before.
fn last_block() -> impl Strategy<Value = Option<ConnBlock>> {
    let payload = prop::collection::vec(any::<u8>(), 1..40);
    let marks = any::<(bool, bool, bool)>();
    let slice = (any::<u64>(), number(), 0..9_000_u32, payload, marks).prop_map(
        |(conn, seq, offset, bytes, (at_once, continues, more))| {
            let order = if at_once { DeliveryOrder::AtOnce } else { DeliveryOrder::InOrder };
            let total = offset + bytes.len() as u32 + u32::from(more);
            let (conn, seq, bytes) = (UnicastConnId(conn), seq + 1, bytes.into());
            ConnBlock::Slice(Slice { conn, seq, offset, total, order, continues, more, bytes })
        },
    );
    let probe = (any::<u64>(), 20..2_000_u32)
        .prop_map(|(conn, size)| ConnBlock::SizeProbe { conn: UnicastConnId(conn), size });
    prop::option::of(prop_oneof![slice, probe])
}

fn seals() -> impl Strategy<Value = Seal> {
    prop_oneof![
        Just(Seal::None),
        Just(Seal::Checksum),
        any::<(u64, u64)>().prop_map(|(a, b)| Seal::Key(a, b)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_packet_comes_back_as_it_was(
        mut blocks in prop::collection::vec(block(), 1..6),
        last in last_block(),
        seal in seals(),
    ) {
        let mut bytes = Vec::new();
        Packet { blocks: blocks.clone() }.encode(&seal, &mut bytes);
        blocks.extend(last.map(|last| match last {
            ConnBlock::SizeProbe { conn, size } => {
                ConnBlock::SizeProbe { conn, size: bytes.len() as u32 + size }
            }
            other => other,
        }));
        let packet = Packet { blocks };
        bytes.clear();
        packet.encode(&seal, &mut bytes);
        prop_assert_eq!(Packet::parse(&bytes.into(), &seal), Ok(packet));
    }

    #[test]
    fn any_bytes_are_read_or_refused_and_have_one_spelling(
        mut bytes in prop::collection::vec(any::<u8>(), 0..200),
        ours in any::<bool>(),
    ) {
        if let Some(head) = bytes.first_mut().filter(|_| ours) {
            *head = 0x20 | (*head & 0x0f);
        }
        if let Ok(packet) = Packet::parse(&bytes.clone().into(), &Seal::None) {
            let mut again = Vec::new();
            packet.encode(&Seal::None, &mut again);
            let back = Packet::parse(&again.clone().into(), &Seal::None);
            prop_assert_eq!(back, Ok(packet));
            prop_assert!(again.len() <= bytes.len() + 1, "never longer than it was");
        }
    }

    #[test]
    fn a_flipped_or_cut_datagram_never_panics(
        blocks in prop::collection::vec(block(), 1..4),
        at in any::<prop::sample::Index>(),
        bit in 0..8_u8,
    ) {
        let mut bytes = Vec::new();
        Packet { blocks }.encode(&Seal::None, &mut bytes);
        let at = at.index(bytes.len());
        let cut = UnicastPayload::copy_from_slice(&bytes[..at]);
        let _ = Packet::parse(&cut, &Seal::None);
        bytes[at] ^= 1 << bit;
        let _ = Packet::parse(&bytes.into(), &Seal::None);
    }
}
