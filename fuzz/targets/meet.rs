//! Datagrams of strangers to a meeting place and to a visitor of it.
#![no_main]

use servent_core::engine::{Engine as _, Fx};
use servent_core::meet::{
    Config, Event, MeetKey, MeetPlace, MeetSide, MeetVisitor, MeetingId, PlaceInput, PlaceOutput,
    Visit, VisitInput,
};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::wire::meet::{MeetCard, MeetPacket};

const KEY: MeetKey = MeetKey(1, 2);

/// A length, that many bytes of a datagram, and the time to the next.
libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let config = Config { place: true, relay_rate: 1_000, meetings: 3, ..Config::default() };
    let mut place = MeetPlace::new(config, Rng::new(1));
    let mut visitor = MeetVisitor::new(config, Rng::new(2));
    let (mut now, mut place_fx, mut visit_fx) = (Instant::from_secs(1), Fx::new(), Fx::new());
    let from = |n: u8| ([10, 0, 0, n % 4], 7_000).into();
    let visit = Visit {
        places: vec![from(0)],
        probes: vec![from(1)],
        meeting: MeetingId([0; 16]),
        key: KEY,
        side: MeetSide::Caller,
        local: vec![from(3)],
        once: false,
    };
    visitor.handle(now, VisitInput::Begin(visit), &mut visit_fx);
    let (mut rest, mut received, mut sent) = (data, 0, 0);
    while let [peer, length, wait, more @ ..] = rest {
        let (datagram, more) = more.split_at(more.len().min(usize::from(*length) * 2));
        rest = more;
        now = now + Duration::from_millis(u64::from(*wait) * 20);
        place.handle_timeout(now, &mut place_fx);
        visitor.handle_timeout(now, &mut visit_fx);
        sent += bytes_of(&mut place_fx);
        visit_fx.drain().for_each(drop);
        let _ = MeetCard::open(datagram, KEY, (MeetingId([0; 16]), MeetSide::Listener, 7));
        let Ok(packet) = MeetPacket::parse(datagram) else { continue };
        assert_eq!(MeetPacket::parse(&packet.encode()), Ok(packet.clone()), "it reads back");
        let (from, bytes) = (from(*peer), datagram.len() as u32);
        received += u64::from(bytes);
        let input = PlaceInput::Packet { from, packet: packet.clone(), bytes };
        place.handle(now, input, &mut place_fx);
        visitor.handle(now, VisitInput::Packet { from, packet }, &mut visit_fx);
        sent += bytes_of(&mut place_fx);
        assert!(sent <= 3 * received, "{sent} bytes for {received}");
        assert!(visit_fx.len() < 1_000, "a visitor says little");
    }
    assert!(place.counters().meetings <= 3);
});

/// The bytes that a place sends.
fn bytes_of(fx: &mut Fx<PlaceOutput, Event>) -> u64 {
    let sent = fx.outputs().map(|output| match output {
        PlaceOutput::Packet { packet, .. } => packet.encode().len() as u64,
        // The other port sends this for it.
        PlaceOutput::Elsewhere { to, nonce } => {
            MeetPacket::Cookie { nonce: *nonce, cookie: 0, seen: *to }.encode().len() as u64
        }
        PlaceOutput::Forward { .. }
        | PlaceOutput::Hold { .. }
        | PlaceOutput::Release { .. }
        | PlaceOutput::Discard { .. } => 0,
    });
    let sent = sent.sum();
    fx.drain().for_each(drop);
    sent
}
