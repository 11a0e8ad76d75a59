//! The contract every engine keeps, put to a meeting place and to a visitor: any
//! packets of any peers, in any order, at any time.

use crate::contract;

use std::net::SocketAddr;

use contract::{Step, keeps_the_contract};
use proptest::prelude::*;
use servent_core::meet::{
    Config, MeetKey, MeetPlace, MeetRefusal, MeetSide, MeetVisitor, MeetingId, PlaceInput, Visit,
    VisitInput,
};
use servent_core::rng::Rng;
use servent_core::time::Duration;
use servent_core::wire::meet::{
    Introduction, Knock, KnockKey, KnockStep, MeetCard, MeetPacket, NatMapping, Registration,
};

/// Effects of one call: a datagram to every address, and an event for each.
const MOST: usize = 80;
const KEY: MeetKey = MeetKey(1, 2);

fn peer() -> impl Strategy<Value = SocketAddr> {
    (0..4_u8).prop_map(|n| SocketAddr::from(([10, 0, 0, n], 7_000)))
}

fn side() -> impl Strategy<Value = MeetSide> {
    prop_oneof![Just(MeetSide::Caller), Just(MeetSide::Listener)]
}

/// The number that a visitor under test draws, and others.
fn nonce() -> impl Strategy<Value = u64> {
    let mut rng = Rng::new(1);
    let drawn: Vec<u64> = (0..4)
        .flat_map(|_| {
            let n = rng.next_u64();
            [n, n | 1]
        })
        .collect();
    prop_oneof![prop::sample::select(drawn), 0..3_u64]
}

fn refusal() -> impl Strategy<Value = MeetRefusal> {
    let kinds = [MeetRefusal::Full, MeetRefusal::Gone, MeetRefusal::Closing];
    prop::sample::select(kinds.to_vec())
}

fn packet() -> impl Strategy<Value = MeetPacket> {
    let meeting = (0..3_u8).prop_map(|n| MeetingId([n; 16]));
    let step = prop::sample::select(vec![
        KnockStep::Ask,
        KnockStep::Answer,
        KnockStep::Choose,
        KnockStep::Agree,
    ]);
    let card = |side: MeetSide, number: u64| {
        let candidates = vec![([10, 0, 0, 9], 9_000).into(), ([127, 0, 0, 1], 22).into()];
        MeetCard { mapping: NatMapping::Same, candidates }
            .seal(KEY, (MeetingId([0; 16]), side, number))
    };
    prop_oneof![
        nonce().prop_map(|nonce| MeetPacket::Question { nonce }),
        (nonce(), peer()).prop_map(|(nonce, seen)| MeetPacket::Cookie { nonce, cookie: 5, seen }),
        (nonce(), meeting, side(), any::<bool>()).prop_map(move |(nonce, meeting, side, once)| {
            let (cookie, rtt, card) = (0, 3_000, card(side, nonce));
            MeetPacket::Register(Registration { nonce, cookie, meeting, side, rtt, card, once })
        }),
        nonce().prop_map(|nonce| MeetPacket::Waiting { nonce }),
        (nonce(), any::<bool>(), peer(), side(), 0..3_u64).prop_map(
            move |(nonce, relays, seen, side, other)| {
                let (wait, card) = (1_000, card(side, other));
                MeetPacket::Introduce(Introduction { nonce, wait, relays, seen, other, card })
            }
        ),
        nonce().prop_map(|nonce| MeetPacket::Heard { nonce }),
        nonce().prop_map(|nonce| MeetPacket::Elsewhere { nonce, cookie: nonce }),
        (nonce(), side()).prop_map(|(nonce, side)| {
            MeetPacket::Leave { nonce, meeting: MeetingId([0; 16]), side }
        }),
        (nonce(), refusal()).prop_map(|(nonce, why)| MeetPacket::Refused { nonce, why }),
        (step, side(), (nonce(), nonce(), 0..3_u64)).prop_map(|(step, side, numbers)| {
            let (nonce, ours, other) = numbers;
            let (caller, listener) =
                if side == MeetSide::Caller { (other, ours) } else { (ours, other) };
            let key = KnockKey { key: KEY, caller, listener };
            MeetPacket::Knock(Knock::new(side, step, nonce).signed(&key))
        }),
    ]
}

fn after() -> impl Strategy<Value = Duration> {
    prop_oneof![4 => 0..500_000_u64, 1 => 0..100_000_000_u64].prop_map(Duration::from_micros)
}

fn visit(side: MeetSide) -> Visit {
    Visit {
        places: vec![([10, 0, 0, 0], 7_000).into(), ([10, 0, 0, 1], 7_000).into()],
        probes: vec![([10, 0, 0, 2], 7_000).into()],
        meeting: MeetingId([0; 16]),
        key: KEY,
        side,
        local: vec![([10, 0, 0, 7], 7_000).into()],
        once: false,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..Default::default() })]

    #[test]
    fn a_meeting_place_keeps_the_contract(
        steps in prop::collection::vec((after(), peer(), packet(), any::<bool>()), 1..60)
    ) {
        let steps: Vec<_> = steps.into_iter().map(|(after, from, packet, foreign)| {
            let bytes = packet.encode().len() as u32;
            let input = if foreign {
                PlaceInput::Foreign { from, segment: 1_200, bytes: 5_000 }
            } else {
                PlaceInput::Packet { from, packet, bytes }
            };
            Step { after, input }
        }).collect();
        let config = Config { place: true, relay_rate: 10_000, meetings: 2, ..Config::default() };
        let place = keeps_the_contract(|| MeetPlace::new(config, Rng::new(1)), &steps, MOST);
        prop_assert!(place.counters().meetings <= 2);
    }

    #[test]
    fn a_visitor_keeps_the_contract(
        first in side(),
        steps in prop::collection::vec((after(), peer(), packet(), 0..20_u8), 1..80)
    ) {
        let begin = Step { after: Duration::from_secs(0), input: VisitInput::Begin(visit(first)) };
        let rest = steps.into_iter().map(|(after, from, packet, which)| {
            let input = match which {
                0 => VisitInput::End,
                1 => VisitInput::Begin(visit(first.other())),
                _ => VisitInput::Packet { from, packet },
            };
            Step { after, input }
        });
        let steps: Vec<_> = std::iter::once(begin).chain(rest).collect();
        keeps_the_contract(|| MeetVisitor::new(Config::default(), Rng::new(1)), &steps, MOST);
    }
}
