//! The examples of docs/wire-meet.md, and bytes of every other kind.

use std::net::SocketAddr;

use proptest::prelude::*;
use servent_core::wire::meet::{
    CARD, Introduction, Knock, KnockKey, KnockStep, MAGIC, MeetCard, MeetKey, MeetPacket,
    MeetPacketError, MeetRefusal, MeetSide, MeetingId, NatMapping, QUESTION, REGISTRATION,
    Registration, is_meet,
};
use servent_core::wire::unicast::{Packet, Seal, UnicastPayload};

const DOCUMENT: &str = include_str!("../../../docs/wire-meet.md");
const KEY: MeetKey = MeetKey(1, 2);
const KNOCK: KnockKey = KnockKey { key: KEY, caller: 3, listener: 4 };
const MEETING: MeetingId = MeetingId(*b"sixteen bytes...");

/// The bytes of the example called `name`.
fn example(name: &str) -> Vec<u8> {
    let begin = format!("```hex {name}\n");
    let (_, rest) = DOCUMENT.split_once(&begin).expect("the document has the example");
    let (hex, _) = rest.split_once("```").expect("the example ends");
    let byte = |text| u8::from_str_radix(text, 16).expect("two hexadecimal digits");
    hex.split_whitespace().map(byte).collect()
}

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn card() -> UnicastPayload {
    let candidates = vec![at("192.168.1.7:6348"), at("[2001:db8::7]:6348")];
    let card = MeetCard { mapping: NatMapping::Same, candidates };
    card.seal(KEY, (MEETING, MeetSide::Caller, 7))
}

fn registration() -> Registration {
    Registration {
        nonce: 7,
        cookie: 9,
        meeting: MEETING,
        side: MeetSide::Caller,
        rtt: 20_000,
        card: card(),
        once: true,
    }
}

fn introduction() -> Introduction {
    Introduction {
        nonce: 7,
        wait: 10_000,
        relays: true,
        seen: at("203.0.113.5:40000"),
        other: 11,
        card: card(),
    }
}

/// One of each kind.
fn all() -> Vec<MeetPacket> {
    let knock = Knock::new(MeetSide::Listener, KnockStep::Answer, 5);
    let knock = Knock { token: 6, returned: 8, ..knock }.signed(&KNOCK);
    vec![
        MeetPacket::Question { nonce: 7 },
        MeetPacket::Cookie { nonce: 7, cookie: 9, seen: at("203.0.113.5:40000") },
        MeetPacket::Cookie { nonce: 7, cookie: 9, seen: at("[2001:db8::7]:6348") },
        MeetPacket::Register(registration()),
        MeetPacket::Waiting { nonce: 7 },
        MeetPacket::Introduce(introduction()),
        MeetPacket::Heard { nonce: 7 },
        MeetPacket::Leave { nonce: 7, meeting: MEETING, side: MeetSide::Listener },
        MeetPacket::Elsewhere { nonce: 7, cookie: 8 },
        MeetPacket::Over { nonce: 7, meeting: MEETING, proof: 8 },
        MeetPacket::Ended { nonce: 7, proof: 8 },
        MeetPacket::Refused { nonce: 7, why: MeetRefusal::Taken },
        MeetPacket::Refused { nonce: 7, why: MeetRefusal::Closing },
        MeetPacket::Refused { nonce: 7, why: MeetRefusal::Over },
        MeetPacket::Knock(knock),
    ]
}

#[test]
fn the_examples_of_the_document_are_what_is_written_and_read() {
    let choice = Knock::new(MeetSide::Caller, KnockStep::Choose, 5);
    let choice = Knock { token: 6, returned: 8, ..choice };
    let shown = [
        ("cookie", MeetPacket::Cookie { nonce: 7, cookie: 9, seen: at("203.0.113.5:40000") }),
        ("waiting", MeetPacket::Waiting { nonce: 7 }),
        ("refused", MeetPacket::Refused { nonce: 7, why: MeetRefusal::Taken }),
        ("gone", MeetPacket::Refused { nonce: 7, why: MeetRefusal::Gone }),
        ("choice", MeetPacket::Knock(choice.signed(&KNOCK))),
    ];
    for (name, packet) in shown {
        assert_eq!(packet.encode(), example(name), "{name}");
        assert_eq!(MeetPacket::parse(&example(name)), Ok(packet), "{name}");
    }
}

#[test]
fn every_kind_is_read_as_it_was_written_and_is_none_of_the_unicast() {
    for packet in all() {
        let bytes = packet.encode();
        assert_eq!(MeetPacket::parse(&bytes), Ok(packet.clone()));
        assert!(is_meet(&bytes));
        assert!(Packet::parse(&bytes.clone().into(), &Seal::None).is_err(), "{packet:?}");
        for cut in 0..bytes.len() {
            assert!(MeetPacket::parse(&bytes[..cut]).is_err(), "{packet:?} cut at {cut}");
        }
    }
}

#[test]
fn pa_10_no_answer_of_a_place_is_longer_than_its_question() {
    let longest = |packet: &MeetPacket| packet.encode().len();
    for packet in all() {
        match &packet {
            MeetPacket::Cookie { .. } => assert!(longest(&packet) <= QUESTION),
            MeetPacket::Waiting { .. } | MeetPacket::Refused { .. } => {
                assert!(longest(&packet) <= QUESTION);
            }
            _ => {}
        }
    }
    let card = vec![0; CARD].into();
    let seen = at("[2001:db8::7]:6348");
    let longest = longest(&MeetPacket::Introduce(Introduction { seen, card, ..introduction() }));
    assert!(longest <= REGISTRATION, "{longest}");
    for short in [vec![MAGIC, 1, 0, 0, 0, 0, 0, 0, 0, 7], {
        let mut bytes = MeetPacket::Register(registration()).encode();
        bytes.truncate(REGISTRATION - 1);
        bytes
    }] {
        assert_eq!(MeetPacket::parse(&short), Err(MeetPacketError::Short));
    }
}

#[test]
fn pa_12_a_card_and_a_knock_are_of_this_meeting_and_of_the_other_side() {
    let sealed = card();
    let open = |key, whose| MeetCard::open(&sealed, key, whose);
    let whose = (MEETING, MeetSide::Caller, 7);
    assert_eq!(open(KEY, whose).unwrap().candidates.len(), 2);
    assert_eq!(open(MeetKey(1, 3), whose), None);
    assert_eq!(open(KEY, (MeetingId([0; 16]), MeetSide::Caller, 7)), None);
    assert_eq!(open(KEY, (MEETING, MeetSide::Listener, 7)), None);
    assert_eq!(open(KEY, (MEETING, MeetSide::Caller, 8)), None, "another registration");
    for at in 0..sealed.len() {
        let mut changed = sealed.to_vec();
        changed[at] ^= 1;
        assert_eq!(MeetCard::open(&changed, KEY, whose), None, "byte {at}");
    }
    let knock = Knock::new(MeetSide::Caller, KnockStep::Ask, 5).signed(&KNOCK);
    assert!(knock.is_signed(&KNOCK));
    for other in [
        KnockKey { key: MeetKey(2, 1), ..KNOCK },
        KnockKey { caller: 4, ..KNOCK },
        KnockKey { listener: 3, ..KNOCK },
        KnockKey { caller: 4, listener: 3, ..KNOCK },
    ] {
        assert!(!knock.is_signed(&other), "{other:?}");
    }
    for other in [
        Knock { step: KnockStep::Choose, ..knock },
        Knock { side: MeetSide::Listener, ..knock },
        Knock { nonce: 6, ..knock },
        Knock { token: 1, ..knock },
        Knock { returned: 1, ..knock },
    ] {
        assert!(!other.is_signed(&KNOCK), "{other:?}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..Default::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(kind in 0..12_u8, rest in prop::collection::vec(any::<u8>(), 0..320)) {
        let mut bytes = vec![MAGIC, kind];
        bytes.extend(&rest);
        if let Ok(packet) = MeetPacket::parse(&bytes) {
            // What fills up questions and registrations is not looked at.
            prop_assert_eq!(MeetPacket::parse(&packet.encode()), Ok(packet));
        }
        let _ = MeetPacket::parse(&rest);
        let _ = MeetCard::open(&rest, KEY, (MEETING, MeetSide::Caller, 7));
    }
}
