//! PA-10: a meeting place is asked by strangers, and gives them little.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use servent_core::engine::{Engine as _, Fx};
use servent_core::meet::{
    Config, Event, MeetKey, MeetPlace, MeetRefusal, MeetSide, MeetVisitor, MeetingId, NatMapping,
    PlaceInput, PlaceOutput, Visit, VisitInput, VisitOutput, door_address, is_meeting_peer,
};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::wire::meet::{Introduction, MeetCard, MeetPacket, Registration};

/// Between two visits of one address, so that the place answers each.
pub(super) const PAUSE: Duration = Duration::from_millis(10);
const KEY: MeetKey = MeetKey(1, 2);
const CALLER: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 1)), 4_000);
const LISTENER: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 9)), 5_000);

/// A place, the present, and how many bytes went to and came from each address.
pub(super) struct MeetingPlace {
    pub(super) place: MeetPlace,
    pub(super) now: Instant,
    sent: u64,
    received: u64,
    /// The bytes passed on to each, at once or later.
    pub(super) passed: BTreeMap<SocketAddr, u64>,
}

impl MeetingPlace {
    pub(super) fn new(config: Config) -> Self {
        let place = MeetPlace::new(Config { place: true, ..config }, Rng::new(1));
        Self {
            place,
            now: Instant::from_secs(1_000),
            sent: 0,
            received: 0,
            passed: BTreeMap::new(),
        }
    }

    pub(super) fn tell(
        &mut self,
        from: SocketAddr,
        packet: MeetPacket,
    ) -> Vec<(SocketAddr, MeetPacket)> {
        let bytes = packet.encode().len() as u32;
        self.received += u64::from(bytes);
        let mut fx = Fx::new();
        self.place.handle(self.now, PlaceInput::Packet { from, packet, bytes }, &mut fx);
        self.packets(&fx)
    }

    /// Datagrams of 1 200 bytes arrive that are not about meetings.
    pub(super) fn foreign(&mut self, from: SocketAddr, bytes: u32) -> Vec<PlaceOutput> {
        let mut fx = Fx::new();
        self.place.handle(self.now, PlaceInput::Foreign { from, segment: 1_200, bytes }, &mut fx);
        self.packets(&fx);
        fx.outputs().cloned().collect()
    }

    fn packets(&mut self, fx: &Fx<PlaceOutput, Event>) -> Vec<(SocketAddr, MeetPacket)> {
        for output in fx.outputs() {
            if let PlaceOutput::Forward { to, bytes } | PlaceOutput::Release { to, bytes, .. } =
                output
            {
                *self.passed.entry(*to).or_default() += u64::from(*bytes);
            }
        }
        let packets: Vec<_> = fx
            .outputs()
            .filter_map(|output| match output {
                PlaceOutput::Packet { to, packet } => Some((*to, packet.clone())),
                // As the other port sends it.
                PlaceOutput::Elsewhere { to, nonce } => {
                    Some((*to, MeetPacket::Cookie { nonce: *nonce, cookie: 0, seen: *to }))
                }
                PlaceOutput::Forward { .. }
                | PlaceOutput::Hold { .. }
                | PlaceOutput::Release { .. }
                | PlaceOutput::Discard { .. } => None,
            })
            .collect();
        self.sent += packets.iter().map(|(_, packet)| packet.encode().len() as u64).sum::<u64>();
        packets
    }

    fn cookie(&mut self, from: SocketAddr) -> u64 {
        match &self.tell(from, MeetPacket::Question { nonce: 3 })[..] {
            [(to, MeetPacket::Cookie { nonce: 3, cookie, seen })]
                if (*to, *seen) == (from, from) =>
            {
                *cookie
            }
            other => panic!("{other:?}"),
        }
    }

    /// Takes a seat; the answers.
    pub(super) fn sit(
        &mut self,
        from: SocketAddr,
        side: MeetSide,
        meeting: u8,
        nonce: u64,
    ) -> Vec<(SocketAddr, MeetPacket)> {
        let cookie = self.cookie(from);
        self.tell(from, registration(side, meeting, nonce, cookie))
    }

    /// Runs its timers for so long; what it sends.
    pub(super) fn run(&mut self, length: Duration) -> Vec<(SocketAddr, MeetPacket)> {
        let until = self.now + length;
        let mut packets = Vec::new();
        while let Some((at, _)) = self.place.poll_timeout().filter(|(at, _)| *at <= until) {
            let mut fx = Fx::new();
            self.place.handle_timeout(at, &mut fx);
            packets.extend(self.packets(&fx));
        }
        self.now = until;
        packets
    }
}

fn registration(side: MeetSide, meeting: u8, nonce: u64, cookie: u64) -> MeetPacket {
    let meeting = MeetingId([meeting; 16]);
    let card =
        MeetCard { mapping: NatMapping::Same, candidates: vec![([10, 0, 0, 1], 9_000).into()] };
    let card = card.seal(KEY, (meeting, side, nonce));
    MeetPacket::Register(Registration {
        nonce,
        cookie,
        meeting,
        side,
        rtt: 20_000,
        card,
        once: false,
    })
}

pub(super) fn introductions(
    packets: &[(SocketAddr, MeetPacket)],
) -> Vec<(SocketAddr, Introduction)> {
    let introduction = |(to, packet): &(SocketAddr, MeetPacket)| match packet {
        MeetPacket::Introduce(it) => Some((*to, it.clone())),
        _ => None,
    };
    packets.iter().filter_map(introduction).collect()
}

#[test]
fn pa_10_two_sides_are_introduced_and_forgotten() {
    let mut place = MeetingPlace::new(Config::default());
    assert!(matches!(
        &place.sit(LISTENER, MeetSide::Listener, 1, 11)[..],
        [(LISTENER, MeetPacket::Waiting { nonce: 11 })]
    ));
    let told = introductions(&place.sit(CALLER, MeetSide::Caller, 1, 21));
    let [(CALLER, theirs), (LISTENER, ours)] = &told[..] else { panic!("{told:?}") };
    assert_eq!((theirs.nonce, theirs.other, theirs.seen), (21, 11, LISTENER));
    assert_eq!((ours.nonce, ours.other, ours.seen), (11, 21, CALLER));
    let meeting = MeetingId([1; 16]);
    assert!(MeetCard::open(&theirs.card, KEY, (meeting, MeetSide::Listener, 11)).is_some());
    // Until each confirms it is told again, a few times.
    assert!(place.tell(CALLER, MeetPacket::Heard { nonce: 21 }).is_empty());
    let again = introductions(&place.run(Duration::from_secs(5)));
    assert!((1..=4).contains(&again.len()), "{again:?}");
    assert!(again.iter().all(|(to, _)| *to == LISTENER));
    // The one that has its introduction is forgotten sooner: it may have died.
    place.run(Duration::from_secs(2));
    let next = SocketAddr::from(([198, 51, 100, 77], 4_000));
    let told = place.sit(next, MeetSide::Caller, 1, 41);
    assert_eq!(introductions(&told).len(), 2, "the next caller has its seat");
    place.run(Duration::from_secs(60));
    assert_eq!(place.place.counters().meetings, 0, "all were silent");
}

/// Its router has forgotten it between two registrations, and what was sent to it with it.
#[test]
fn pa_10_a_side_that_has_moved_is_introduced_anew_within_three_times_the_bytes() {
    let mut place = MeetingPlace::new(Config::default());
    place.sit(LISTENER, MeetSide::Listener, 1, 11);
    assert_eq!(introductions(&place.sit(CALLER, MeetSide::Caller, 1, 21)).len(), 2);
    let moved = SocketAddr::new(LISTENER.ip(), 5_002);
    let told = introductions(&place.sit(moved, MeetSide::Listener, 1, 11));
    let seen: Vec<_> = told.iter().map(|(to, it)| (*to, it.other, it.seen)).collect();
    assert_eq!(seen, [(moved, 21, CALLER), (CALLER, 11, moved)]);
    // However often one moves, the other is sent three times what it has sent, at most.
    let size = |packet: &MeetPacket| packet.encode().len();
    let sent_by_caller = size(&registration(MeetSide::Caller, 1, 21, 0));
    let mut sent_to_caller = 0;
    for port in 6_000..6_100 {
        let moved = SocketAddr::new(LISTENER.ip(), port);
        place.now += PAUSE;
        let told = place.sit(moved, MeetSide::Listener, 1, 11);
        let to_caller = told.iter().filter(|(to, _)| *to == CALLER);
        sent_to_caller += to_caller.map(|(_, packet)| size(packet)).sum::<usize>();
    }
    assert!(sent_to_caller <= 3 * sent_by_caller, "{sent_to_caller} for {sent_by_caller}");
}

#[test]
fn pa_10_both_begin_to_knock_at_one_instant() {
    let mut place = MeetingPlace::new(Config::default());
    place.sit(LISTENER, MeetSide::Listener, 1, 11);
    let cookie = place.cookie(CALLER);
    let MeetPacket::Register(it) = registration(MeetSide::Caller, 1, 21, cookie) else { panic!() };
    // A caller five times as far away.
    let told = place.tell(CALLER, MeetPacket::Register(Registration { rtt: 100_000, ..it }));
    let waits: Vec<_> = introductions(&told).iter().map(|(to, it)| (*to, it.wait)).collect();
    assert_eq!(waits, [(CALLER, 0), (LISTENER, 40_000)]);
}

#[test]
fn pa_10_nothing_is_remembered_for_an_address_that_proves_nothing() {
    let mut place = MeetingPlace::new(Config::default());
    for n in 0..10_000_u32 {
        let from = SocketAddr::from((std::net::Ipv4Addr::from_bits(0x5000_0000 + n), 4_000));
        place.now += PAUSE;
        let answers = place.tell(from, registration(MeetSide::Caller, 1, u64::from(n), 77));
        assert!(matches!(answers[..], [(to, MeetPacket::Cookie { .. })] if to == from));
        place.cookie(from);
    }
    assert_eq!(place.place.counters().meetings, 0);
    assert!(place.sent < place.received, "amplification {} of {}", place.sent, place.received);
    // The cookie of one address is none of another's.
    let cookie = place.cookie(CALLER);
    let answers = place.tell(LISTENER, registration(MeetSide::Caller, 1, 1, cookie));
    assert!(matches!(answers[..], [(LISTENER, MeetPacket::Cookie { .. })]));
    // Nor is an old one good.
    place.run(Duration::from_secs(120));
    let answers = place.tell(CALLER, registration(MeetSide::Caller, 1, 1, cookie));
    assert!(matches!(answers[..], [(CALLER, MeetPacket::Cookie { .. })]));
}

#[test]
fn pa_10_a_proven_address_is_sent_three_times_its_bytes_at_most() {
    let mut place = MeetingPlace::new(Config { introductions: 1_000, ..Config::default() });
    place.sit(LISTENER, MeetSide::Listener, 1, 11);
    place.sit(CALLER, MeetSide::Caller, 1, 21);
    place.run(Duration::from_secs(59));
    assert!(place.sent <= 3 * place.received, "{} for {}", place.sent, place.received);
}

#[test]
fn pa_10_a_seat_is_neither_seen_nor_taken_by_a_third_party() {
    let mut place = MeetingPlace::new(Config::default());
    let thief = SocketAddr::from(([192, 0, 2, 66], 4_000));
    place.sit(LISTENER, MeetSide::Listener, 1, 11);
    let answers = place.sit(thief, MeetSide::Listener, 1, 99);
    assert!(matches!(
        answers[..],
        [(_, MeetPacket::Refused { nonce: 99, why: MeetRefusal::Taken })]
    ));
    for nonce in 0..100 {
        let meeting = MeetingId([1; 16]);
        let leave = MeetPacket::Leave { nonce, meeting, side: MeetSide::Listener };
        assert!(place.tell(thief, leave).is_empty());
    }
    assert_eq!(introductions(&place.sit(CALLER, MeetSide::Caller, 1, 21)).len(), 2);
    // The visitor itself may start again from another port, and leave.
    let again = SocketAddr::new(LISTENER.ip(), 5_001);
    assert_eq!(introductions(&place.sit(again, MeetSide::Listener, 1, 12)).len(), 2);
    let meeting = MeetingId([1; 16]);
    place.tell(again, MeetPacket::Leave { nonce: 12, meeting, side: MeetSide::Listener });
    place.tell(CALLER, MeetPacket::Leave { nonce: 21, meeting, side: MeetSide::Caller });
    assert_eq!(place.place.counters().meetings, 0);
}

#[test]
fn pa_10_one_address_tries_few_names_and_a_flood_of_addresses_keeps_no_peer_out() {
    let mut place = MeetingPlace::new(Config { meetings: 300, ..Config::default() });
    let mut seats = 0;
    for n in 0..200 {
        place.now += PAUSE;
        let answers = place.sit(CALLER, MeetSide::Caller, n, 1);
        seats += usize::from(matches!(answers[..], [(_, MeetPacket::Waiting { .. })]));
    }
    assert_eq!(seats, Config::default().seats_per_ip as usize);
    for n in 0..100_000_u32 {
        let from = SocketAddr::from((std::net::Ipv4Addr::from_bits(0x5000_0000 + n), 4_000));
        place.tell(from, MeetPacket::Question { nonce: 1 });
    }
    place.sit(LISTENER, MeetSide::Listener, 250, 11);
    let other = SocketAddr::from(([198, 51, 100, 77], 4_000));
    assert_eq!(introductions(&place.sit(other, MeetSide::Caller, 250, 21)).len(), 2);
}

#[test]
fn pa_10_the_networks_of_one_customer_try_few_names_too() {
    let mut place = MeetingPlace::new(Config::default());
    let at = |customer, network| {
        let ip = std::net::Ipv6Addr::new(0x2001, 0xdb8, customer, network, 0, 0, 0, 1);
        SocketAddr::from((ip, 4_000))
    };
    let seated =
        |answers: &[(SocketAddr, MeetPacket)]| matches!(answers, [(_, MeetPacket::Waiting { .. })]);
    let mut seats = 0;
    for n in 0..1_000 {
        let number = u64::from(n);
        place.now += PAUSE;
        seats += u32::from(seated(&place.sit(at(1, n), MeetSide::Caller, n as u8, number)));
    }
    assert!(seats <= 4 * Config::default().seats_per_ip, "{seats} names in a minute");
    assert!(seated(&place.sit(at(2, 1), MeetSide::Caller, 255, 5_000)), "another customer");
}

#[test]
fn pa_13_a_relay_passes_on_what_one_side_sends_to_the_other_alone_and_no_faster() {
    let mut place = MeetingPlace::new(Config { relay_rate: 1_000_000, ..Config::default() });
    place.sit(LISTENER, MeetSide::Listener, 1, 11);
    let told = introductions(&place.sit(CALLER, MeetSide::Caller, 1, 21));
    assert!(told.iter().all(|(_, it)| it.relays));
    assert_eq!(place.foreign(CALLER, 2_500), [PlaceOutput::Forward { to: LISTENER, bytes: 2_500 }]);
    assert_eq!(place.foreign(LISTENER, 100), [PlaceOutput::Forward { to: CALLER, bytes: 100 }]);
    let stranger = SocketAddr::from(([192, 0, 2, 66], 4_000));
    assert_eq!(place.foreign(stranger, 100), []);
    for _ in 0..10_000 {
        place.run(Duration::from_millis(1));
        for output in place.foreign(CALLER, 12_000) {
            if let PlaceOutput::Forward { bytes, .. } | PlaceOutput::Release { bytes, .. } = output
            {
                assert!(bytes % 1_200 == 0, "whole datagrams");
            }
        }
    }
    let passed = place.passed[&LISTENER];
    assert!((9_500_000..10_500_000).contains(&passed), "{passed} bytes in ten seconds");
    assert_eq!(place.place.counters().relayed_bytes, passed + 100);
    place.run(Duration::from_secs(700));
    assert_eq!(place.place.counters().relayed, 0, "it was silent");
    assert_eq!(place.foreign(CALLER, 100), []);
}

/// A visitor, and what it says to what happens to it, all at one instant.
fn visitor() -> impl FnMut(VisitInput) -> Vec<VisitOutput> {
    let mut visitor = MeetVisitor::new(Config::default(), Rng::new(1));
    move |input| {
        let mut fx = Fx::new();
        visitor.handle(Instant::from_secs(1_000), input, &mut fx);
        fx.outputs().cloned().collect()
    }
}

#[test]
fn pa_13_a_visitor_that_comes_through_the_door_says_so_and_is_not_knocked_at() {
    let place = SocketAddr::from(([192, 0, 2, 1], 6_349));
    let visit = Visit {
        places: vec![place],
        probes: vec![SocketAddr::from(([192, 0, 2, 1], 6_350))],
        meeting: MeetingId([1; 16]),
        key: KEY,
        side: MeetSide::Caller,
        local: vec![([10, 0, 0, 1], 4_000).into()],
        once: false,
    };
    let mut say = visitor();
    let asked = say(VisitInput::Begin(visit));
    let question = |output: &VisitOutput| match output {
        VisitOutput::Packet { to, packet: MeetPacket::Question { nonce } } if *to == place => {
            Some(*nonce)
        }
        _ => None,
    };
    let nonce = asked.iter().find_map(question).unwrap();
    let cookie = MeetPacket::Cookie { nonce, cookie: 9, seen: door_address(CALLER) };
    let told = say(VisitInput::Packet { from: place, packet: cookie });
    let registration = |output: &VisitOutput| match output {
        VisitOutput::Packet { packet: MeetPacket::Register(it), .. } => Some(it.clone()),
        _ => None,
    };
    let it = told.iter().find_map(registration).expect("it does not wait for the second port");
    let card = MeetCard::open(&it.card, KEY, (it.meeting, MeetSide::Caller, it.nonce)).unwrap();
    assert_eq!(card.mapping, NatMapping::Blocked);
    // The other side has come through the door as well.
    let (meeting, side) = (it.meeting, MeetSide::Listener);
    let card = MeetCard { mapping: NatMapping::Blocked, candidates: Vec::new() };
    let introduction = Introduction {
        nonce: it.nonce,
        wait: 0,
        relays: true,
        seen: door_address(LISTENER),
        other: 5,
        card: card.seal(KEY, (meeting, side, 5)),
    };
    let packet = MeetPacket::Introduce(introduction);
    let told = say(VisitInput::Packet { from: place, packet });
    let met = |output: &VisitOutput| {
        matches!(output, VisitOutput::Met { relayed: true, theirs: NatMapping::Blocked, .. })
    };
    assert!(told.iter().any(met), "{told:?}");
    let knocks = |output: &VisitOutput| {
        matches!(output, VisitOutput::Packet { packet: MeetPacket::Knock(_), .. })
    };
    assert!(!told.iter().any(knocks), "{told:?}");
}

#[test]
fn pa_13_each_that_is_met_through_one_place_has_a_name_of_its_own() {
    let place = SocketAddr::from(([192, 0, 2, 1], 6_349));
    let mut say = visitor();
    let (meeting, key, side) = (MeetingId([1; 16]), KEY, MeetSide::Listener);
    let (places, probes, local) = (vec![place], Vec::new(), vec![LISTENER]);
    let asked =
        say(VisitInput::Begin(Visit { places, probes, meeting, key, side, local, once: false }));
    let [VisitOutput::Packet { packet: MeetPacket::Question { nonce }, .. }] = asked[..] else {
        panic!("{asked:?}")
    };
    let cookie = MeetPacket::Cookie { nonce, cookie: 9, seen: LISTENER };
    let told = say(VisitInput::Packet { from: place, packet: cookie });
    let registration = |output: &VisitOutput| match output {
        VisitOutput::Packet { packet: MeetPacket::Register(it), .. } => Some(it.nonce),
        _ => None,
    };
    let nonce = told.iter().find_map(registration).unwrap();
    let introduced = |other| {
        let card = MeetCard { mapping: NatMapping::Varies, candidates: Vec::new() };
        let card = card.seal(KEY, (meeting, MeetSide::Caller, other));
        let it = Introduction { nonce, wait: 0, relays: true, seen: CALLER, other, card };
        VisitInput::Packet { from: place, packet: MeetPacket::Introduce(it) }
    };
    let met = |told: Vec<VisitOutput>| {
        let peers: Vec<_> = told
            .iter()
            .filter_map(|output| match output {
                VisitOutput::Route { peer, to } if *to == place => Some(*peer),
                VisitOutput::Met { peer, relayed: true, .. } => Some(*peer),
                _ => None,
            })
            .collect();
        match peers[..] {
            [routed, met] if routed == met => met,
            _ => panic!("it has its route when it is told: {told:?}"),
        }
    };
    let (one, other) = (met(say(introduced(5))), met(say(introduced(6))));
    assert!(is_meeting_peer(one.ip()) && is_meeting_peer(other.ip()));
    assert_ne!(one, other);
    // The place says that the second one has left; of another visit it says nothing to us.
    let gone = |nonce| {
        let packet = MeetPacket::Refused { nonce, why: MeetRefusal::Gone };
        VisitInput::Packet { from: place, packet }
    };
    assert_eq!(say(gone(nonce ^ 1)), []);
    assert_eq!(say(gone(nonce)), [VisitOutput::Left { peer: other, why: MeetRefusal::Gone }]);
    assert_eq!(say(gone(nonce)), []);
}

#[test]
fn pa_11_a_second_port_that_answers_first_still_shows_what_the_router_does() {
    let at = |port| SocketAddr::from(([192, 0, 2, 1], port));
    let visit = Visit {
        places: vec![at(6_349)],
        probes: vec![at(6_350)],
        meeting: MeetingId([1; 16]),
        key: KEY,
        side: MeetSide::Caller,
        local: vec![([10, 0, 0, 1], 4_000).into()],
        once: false,
    };
    let mut say = visitor();
    let asked = say(VisitInput::Begin(visit));
    let mut last = Vec::new();
    for (port, seen) in [(6_350, 4_001), (6_349, 4_000)] {
        let nonce = asked.iter().find_map(|output| match output {
            VisitOutput::Packet { to, packet: MeetPacket::Question { nonce } } => {
                (*to == at(port)).then_some(*nonce)
            }
            _ => None,
        });
        let seen = SocketAddr::new(CALLER.ip(), seen);
        let packet = MeetPacket::Cookie { nonce: nonce.unwrap(), cookie: 9, seen };
        last = say(VisitInput::Packet { from: at(port), packet });
    }
    let varies = |output: &VisitOutput| {
        matches!(output, VisitOutput::Located { mapping: NatMapping::Varies, .. })
    };
    assert!(last.iter().any(varies), "{last:?}");
}

#[test]
fn pa_11_the_other_port_greets_only_an_address_that_has_shown_itself() {
    let mut place = MeetingPlace::new(Config::default());
    let cookie = place.cookie(CALLER);
    let asked = MeetPacket::Elsewhere { nonce: 7, cookie };
    // A stranger that borrows the cookie gets one of its own, and no greeting.
    assert!(matches!(
        place.tell(LISTENER, asked.clone())[..],
        [(LISTENER, MeetPacket::Cookie { nonce: 7, cookie: own, .. })] if own != 0 && own != cookie
    ));
    assert!(matches!(
        place.tell(CALLER, asked)[..],
        [
            (CALLER, MeetPacket::Waiting { nonce: 7 }),
            (CALLER, MeetPacket::Cookie { nonce: 7, cookie: 0, .. })
        ]
    ));
    assert!(place.sent <= place.received, "no answer is longer than its question");
}
