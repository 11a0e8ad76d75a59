//! PA-10: a meeting place that strangers ask a hundred thousand times a second, from many
//! addresses, serves two people all the same, and sends no address more than it may. What
//! that costs a machine is measured by the journey `meeting_flood`.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, SocketAddr};

use servent_core::engine::{Engine as _, Fx};
use servent_core::meet::{
    Config, Event, MeetKey, MeetPlace, MeetRefusal, MeetSide, MeetingId, NatMapping, PlaceInput,
    PlaceOutput,
};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::wire::meet::{MeetCard, MeetPacket, Registration};

/// Datagrams of strangers in a second, one every ten microseconds.
const RATE: u64 = 100_000;
/// Their addresses.
const STRANGERS: u64 = 1_000;
/// A meeting that no stranger knows.
const OURS: MeetingId = MeetingId([0xff; 16]);

/// What an address has sent and was sent.
#[derive(Debug, Clone, Copy, Default)]
struct AddressTraffic {
    received: u64,
    sent: u64,
    /// It has returned its cookie.
    valid: bool,
}

struct FloodedPlace {
    place: MeetPlace,
    now: Instant,
    addresses: BTreeMap<SocketAddr, AddressTraffic>,
    cookies: BTreeMap<SocketAddr, u64>,
    asked: u64,
    /// How many strangers are of one network.
    crowd: u32,
    rng: Rng,
}

impl FloodedPlace {
    fn new() -> Self {
        let config = Config { place: true, relay_rate: 1_000_000, ..Config::default() };
        Self {
            place: MeetPlace::new(config, Rng::new(1)),
            now: Instant::from_secs(1_000),
            addresses: BTreeMap::new(),
            cookies: BTreeMap::new(),
            asked: 0,
            crowd: 1,
            rng: Rng::new(2),
        }
    }

    /// One datagram; what the place sends in return. No address is sent more than it sent
    /// until it has returned its cookie, nor more than three times that afterwards.
    fn tell(&mut self, from: SocketAddr, packet: MeetPacket) -> Vec<(SocketAddr, MeetPacket)> {
        let bytes = packet.encode().len() as u32;
        let cookie = match &packet {
            MeetPacket::Register(it) => Some(it.cookie),
            MeetPacket::Elsewhere { cookie, .. } => Some(*cookie),
            _ => None,
        };
        let known = self.cookies.get(&from).copied();
        let traffic = self.addresses.entry(from).or_default();
        traffic.received += u64::from(bytes);
        traffic.valid |= cookie.is_some() && cookie == known;
        let mut fx = Fx::new();
        self.place.handle(self.now, PlaceInput::Packet { from, packet, bytes }, &mut fx);
        self.packets(&fx)
    }

    fn packets(&mut self, fx: &Fx<PlaceOutput, Event>) -> Vec<(SocketAddr, MeetPacket)> {
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
        for (to, packet) in &packets {
            let traffic = self.addresses.entry(*to).or_default();
            traffic.sent += packet.encode().len() as u64;
            let most = traffic.received * if traffic.valid { 3 } else { 1 };
            assert!(traffic.sent <= most, "{to}: {traffic:?}");
            if let MeetPacket::Cookie { cookie, .. } = packet
                && *cookie != 0
            {
                self.cookies.insert(*to, *cookie);
            }
        }
        packets
    }

    /// Ten microseconds, in which a stranger sends a datagram: a question, a registration
    /// with its cookie or an invented one, a wish for the other port, a goodbye.
    fn stranger(&mut self) -> Vec<(SocketAddr, MeetPacket)> {
        self.now += Duration::from_micros(1_000_000 / RATE);
        self.asked += 1;
        let mut sent = Vec::new();
        while self.place.poll_timeout().is_some_and(|(at, _)| at <= self.now) {
            let mut fx = Fx::new();
            self.place.handle_timeout(self.now, &mut fx);
            sent.extend(self.packets(&fx));
        }
        let n = self.rng.below(STRANGERS);
        let (network, host) = (n as u32 / self.crowd, n as u32 % self.crowd);
        let ip = Ipv4Addr::from_bits(0x5000_0000 + (network << 8) + host);
        let from = SocketAddr::from((ip, 1_024 + self.rng.below(64) as u16));
        let nonce = self.rng.next_u64();
        let known = self.cookies.get(&from).copied().unwrap_or(nonce);
        let meeting = MeetingId(u128::from(self.rng.next_u64()).to_be_bytes());
        let side = if self.rng.chance(1, 2) { MeetSide::Caller } else { MeetSide::Listener };
        let packet = match self.rng.below(8) {
            0..=2 => MeetPacket::Question { nonce },
            3 => register(meeting, (side, nonce), self.rng.next_u64()),
            4..=5 => register(meeting, (side, nonce), known),
            6 => MeetPacket::Elsewhere { nonce, cookie: known },
            _ => MeetPacket::Leave { nonce, meeting: OURS, side },
        };
        sent.extend(self.tell(from, packet));
        sent
    }

    /// One of ours, in the middle of it: asks, and takes a seat; what came for ours.
    fn visits(&mut self, at: SocketAddr, side: MeetSide, nonce: u64) -> Vec<MeetPacket> {
        self.tell(at, MeetPacket::Question { nonce });
        (0..100).for_each(|_| drop(self.stranger()));
        let cookie = self.cookies[&at];
        let sent = self.tell(at, register(OURS, (side, nonce), cookie));
        sent.into_iter().filter(|(to, _)| *to == at).map(|(_, packet)| packet).collect()
    }
}

fn register(meeting: MeetingId, (side, nonce): (MeetSide, u64), cookie: u64) -> MeetPacket {
    let candidates = vec![([10, 0, 0, 1], 9_000).into()];
    let card = MeetCard { mapping: NatMapping::Same, candidates };
    let card = card.seal(MeetKey(1, 2), (meeting, side, nonce));
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

#[test]
fn pa_10_a_flood_from_many_addresses_keeps_no_pair_apart_and_is_not_amplified() {
    let mut place = FloodedPlace::new();
    for _ in 0..2 * RATE {
        place.stranger();
    }
    let full = Config::default().meetings as usize;
    let counters = place.place.counters();
    assert_eq!(counters.meetings, full as u64, "its meetings are all taken");
    for pair in 0..20 {
        let at = |n: u8| SocketAddr::from(([203, 0, 113, n], 5_000 + pair));
        let begun = place.now;
        let nonce = 1_000 + 2 * u64::from(pair);
        let waits = place.visits(at(1), MeetSide::Listener, nonce);
        assert!(matches!(waits[..], [MeetPacket::Waiting { .. }]), "{waits:?}");
        let met = place.visits(at(2), MeetSide::Caller, nonce + 1);
        assert!(matches!(met[..], [MeetPacket::Introduce(_)]), "{met:?}");
        let took = place.now.since(begun);
        assert_eq!(took, Duration::from_millis(2), "that of two hundred strangers");
        for (n, side) in [(1, MeetSide::Listener), (2, MeetSide::Caller)] {
            let nonce = if n == 1 { nonce } else { nonce + 1 };
            place.tell(at(n), MeetPacket::Leave { nonce, meeting: OURS, side });
        }
    }
    let all = place.addresses.values();
    let (received, sent) =
        all.fold((0, 0), |(received, sent), it| (received + it.received, sent + it.sent));
    assert!(sent < received, "{sent} bytes for {received}");
    assert!(place.place.counters().meetings >= full as u64 - 1, "as before");
    println!("{} datagrams: {received} bytes received, {sent} sent", place.asked);
}

#[test]
fn pa_10_a_flood_from_a_few_networks_is_hardly_answered_and_keeps_no_pair_apart() {
    let networks = STRANGERS / 250;
    let mut place = FloodedPlace { crowd: 250, ..FloodedPlace::new() };
    let sent: usize = (0..RATE).map(|_| place.stranger().len()).sum();
    let unanswered = place.place.counters().unanswered;
    // Those that have proved their address are served, each for itself.
    assert!(unanswered > RATE / 4, "{unanswered} of {RATE}");
    let cookies = place.place.counters().cookies;
    let most = 256 * networks + 16 * STRANGERS;
    assert!(cookies <= most, "{cookies} cookies in a second, {sent} datagrams");
    for pair in 0..20 {
        let at = |n: u8| SocketAddr::from(([203, 0, 113, n], 5_000 + pair));
        let nonce = 1_000 + 2 * u64::from(pair);
        let waits = place.visits(at(1), MeetSide::Listener, nonce);
        assert!(matches!(waits[..], [MeetPacket::Waiting { .. }]), "{waits:?}");
        let met = place.visits(at(2), MeetSide::Caller, nonce + 1);
        assert!(matches!(met[..], [MeetPacket::Introduce(_)]), "{met:?}");
        for (n, side) in [(1, MeetSide::Listener), (2, MeetSide::Caller)] {
            let nonce = nonce + u64::from(n) - 1;
            place.tell(at(n), MeetPacket::Leave { nonce, meeting: OURS, side });
        }
    }
}

#[test]
fn pa_10_one_socket_has_one_seat() {
    let mut place = FloodedPlace::new();
    let at = SocketAddr::from(([203, 0, 113, 1], 5_000));
    place.tell(at, MeetPacket::Question { nonce: 1 });
    let cookie = place.cookies[&at];
    for n in 0..40 {
        let told = place.tell(at, register(MeetingId([n; 16]), (MeetSide::Caller, 9), cookie));
        assert!(matches!(told[..], [(_, MeetPacket::Waiting { .. })]), "{told:?}");
    }
    assert_eq!(place.place.counters().meetings, 1);
}

#[test]
fn pa_10_a_visitor_that_gives_way_to_another_address_is_told() {
    let config = Config { place: true, meetings: 3, ..Config::default() };
    let mut place =
        FloodedPlace { place: MeetPlace::new(config, Rng::new(1)), ..FloodedPlace::new() };
    let mut sits = |ip: u8, port: u16, meeting: u8| {
        let at = SocketAddr::from(([203, 0, 113, ip], port));
        place.tell(at, MeetPacket::Question { nonce: 1 });
        let cookie = place.cookies[&at];
        place.tell(at, register(MeetingId([meeting; 16]), (MeetSide::Caller, 9), cookie))
    };
    for n in 0..3 {
        sits(1, 5_000 + u16::from(n), n);
    }
    let full = |told: &[(SocketAddr, MeetPacket)], at: SocketAddr| {
        let refused = (at, MeetPacket::Refused { nonce: 9, why: MeetRefusal::Full });
        told.contains(&refused)
    };
    let first = SocketAddr::from(([203, 0, 113, 1], 5_000));
    assert!(full(&sits(1, 5_003, 3), SocketAddr::from(([203, 0, 113, 1], 5_003))), "not itself");
    let told = sits(2, 5_000, 4);
    assert!(full(&told, first), "{told:?}");
    assert!(matches!(told[..], [_, (_, MeetPacket::Waiting { .. })]), "{told:?}");
    // Each has one now, or one more: no address loses its only seat.
    let third = SocketAddr::from(([203, 0, 113, 3], 5_000));
    assert!(!full(&sits(3, 5_000, 5), third));
    let fourth = SocketAddr::from(([203, 0, 113, 4], 5_000));
    assert!(full(&sits(4, 5_000, 6), fourth));
}
