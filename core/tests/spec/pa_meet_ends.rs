//! PA-13: both sides of a relayed meeting hear how it ends, and no meeting is kept alive
//! by one side alone.

use std::net::SocketAddr;

use servent_core::engine::{Engine as _, Fx};
use servent_core::meet::{
    Config, Event, MeetPlace, MeetRefusal, MeetSide, MeetingId, PlaceInput, PlaceOutput,
    door_address,
};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::wire::meet::{MeetPacket, Registration};

const MEETING: MeetingId = MeetingId([1; 16]);

fn at(text: &str) -> SocketAddr {
    text.parse().unwrap()
}

fn caller() -> SocketAddr {
    at("198.51.100.1:4000")
}

fn listener() -> SocketAddr {
    at("203.0.113.9:5000")
}

struct RelayingPlace {
    place: MeetPlace,
    now: Instant,
}

/// What an address is told about the end.
type Told = Vec<(SocketAddr, u64, MeetRefusal)>;

impl RelayingPlace {
    fn new() -> Self {
        let config = Config { place: true, relay_rate: 1_000_000, ..Config::default() };
        Self { place: MeetPlace::new(config, Rng::new(1)), now: Instant::from_secs(1_000) }
    }

    fn say(&mut self, input: PlaceInput) -> Vec<PlaceOutput> {
        let mut fx = Fx::<_, Event>::new();
        self.place.handle(self.now, input, &mut fx);
        fx.outputs().cloned().collect()
    }

    fn packet(&mut self, from: SocketAddr, packet: MeetPacket) -> Vec<PlaceOutput> {
        let bytes = packet.encode().len() as u32;
        self.say(PlaceInput::Packet { from, packet, bytes })
    }

    fn sit(&mut self, from: SocketAddr, side: MeetSide, nonce: u64) -> Vec<PlaceOutput> {
        let asked = self.packet(from, MeetPacket::Question { nonce });
        let [PlaceOutput::Packet { packet: MeetPacket::Cookie { cookie, .. }, .. }] = &asked[..]
        else {
            panic!("{asked:?}")
        };
        let (cookie, card) = (*cookie, vec![0; 20].into());
        let it =
            Registration { nonce, cookie, meeting: MEETING, side, rtt: 20_000, card, once: false };
        self.packet(from, MeetPacket::Register(it))
    }

    /// Two that are relayed, and whose seats are forgotten.
    fn relayed(mut self) -> Self {
        self.sit(listener(), MeetSide::Listener, 11);
        self.sit(caller(), MeetSide::Caller, 21);
        self.packet(caller(), MeetPacket::Heard { nonce: 21 });
        self.packet(listener(), MeetPacket::Heard { nonce: 11 });
        for _ in 0..10 {
            self.run(Duration::from_secs(1));
            self.both_speak();
        }
        let counters = self.place.counters();
        assert_eq!((counters.meetings, counters.relayed), (0, 1));
        self
    }

    /// True when what one sends reaches the other.
    fn passes(&mut self, from: SocketAddr, to: SocketAddr) -> bool {
        let passed = self.say(PlaceInput::Foreign { from, segment: 100, bytes: 100 });
        passed == [PlaceOutput::Forward { to, bytes: 100 }]
    }

    fn both_speak(&mut self) {
        assert!(self.passes(caller(), listener()) && self.passes(listener(), caller()));
    }

    fn run(&mut self, length: Duration) -> Vec<PlaceOutput> {
        let until = self.now + length;
        let mut fx = Fx::<_, Event>::new();
        while let Some((at, _)) = self.place.poll_timeout().filter(|(at, _)| *at <= until) {
            self.place.handle_timeout(at, &mut fx);
        }
        self.now = until;
        fx.outputs().cloned().collect()
    }

    fn leave(&mut self, from: SocketAddr, nonce: u64, side: MeetSide) -> Vec<PlaceOutput> {
        self.packet(from, MeetPacket::Leave { nonce, meeting: MEETING, side })
    }
}

fn told(outputs: &[PlaceOutput]) -> Told {
    let refused = |output: &PlaceOutput| match output {
        PlaceOutput::Packet { to, packet: MeetPacket::Refused { nonce, why } } => {
            Some((*to, *nonce, *why))
        }
        _ => None,
    };
    outputs.iter().filter_map(refused).collect()
}

#[test]
fn pa_13_a_side_that_leaves_is_known_to_the_other_within_a_second() {
    let mut place = RelayingPlace::new().relayed();
    let left = place.leave(caller(), 21, MeetSide::Caller);
    assert_eq!(told(&left), []);
    place.both_speak(); // What it has said last, and the answer.
    let ends = place.run(Duration::from_secs(1));
    assert_eq!(told(&ends), [(listener(), 11, MeetRefusal::Gone)]);
    assert!(!place.passes(listener(), caller()), "it sends nothing to one that has left");
    assert_eq!(place.place.counters().relayed, 0);
}

#[test]
fn pa_13_a_stranger_ends_no_relayed_meeting() {
    let mut place = RelayingPlace::new().relayed();
    place.leave(at("192.0.2.66:4000"), 21, MeetSide::Caller);
    place.leave(caller(), 22, MeetSide::Caller);
    place.leave(listener(), 21, MeetSide::Caller);
    assert_eq!(told(&place.run(Duration::from_secs(10))), []);
    place.both_speak();
}

#[test]
fn pa_13_one_side_alone_does_not_keep_a_meeting_alive() {
    let mut place = RelayingPlace::new().relayed();
    for _ in 0..75 {
        assert_eq!(told(&place.run(Duration::from_secs(1))), [], "a line may fail for a minute");
        assert!(place.passes(caller(), listener()));
    }
    place.run(Duration::from_secs(1));
    let ends = place.say(PlaceInput::Foreign { from: caller(), segment: 100, bytes: 100 });
    let gone = [(caller(), 21, MeetRefusal::Gone), (listener(), 11, MeetRefusal::Gone)];
    assert_eq!(told(&ends), gone);
    // However seldom it speaks.
    let mut place = RelayingPlace::new().relayed();
    let mut ends = Vec::new();
    for _ in 0..4 {
        ends.extend(place.run(Duration::from_secs(80)));
        place.say(PlaceInput::Foreign { from: caller(), segment: 100, bytes: 100 });
    }
    assert_eq!(told(&ends), gone);
    // Two that are silent both, and speak again, are no such pair.
    let mut place = RelayingPlace::new().relayed();
    assert_eq!(told(&place.run(Duration::from_secs(200))), []);
    place.both_speak();
    assert_eq!(told(&place.run(Duration::from_secs(301))), gone);
}

#[test]
fn pa_13_a_side_that_is_started_again_goes_on_with_its_new_number() {
    let mut place = RelayingPlace::new().relayed();
    place.leave(caller(), 21, MeetSide::Caller);
    place.sit(listener(), MeetSide::Listener, 12);
    place.sit(caller(), MeetSide::Caller, 22);
    assert_eq!(told(&place.run(Duration::from_secs(5))), [], "they have met again");
    place.both_speak();
    place.leave(listener(), 12, MeetSide::Listener);
    let ends = place.run(Duration::from_secs(5));
    assert_eq!(told(&ends), [(caller(), 22, MeetRefusal::Gone)]);
}

#[test]
fn pa_13_a_side_that_meets_another_is_gone_for_the_one_before_and_one_that_moves_is_not() {
    let mut place = RelayingPlace::new().relayed();
    let next = at("198.51.100.77:4000");
    place.sit(listener(), MeetSide::Listener, 12);
    let met = place.sit(next, MeetSide::Caller, 31);
    assert_eq!(told(&met)[..1], [(caller(), 21, MeetRefusal::Gone)]);
    // Its router gives it another port.
    let moved = at("198.51.100.77:4001");
    assert_eq!(told(&place.sit(moved, MeetSide::Caller, 31)), []);
    assert!(place.passes(moved, listener()) && !place.passes(next, listener()));
}

#[test]
fn pa_13_a_visitor_that_leaves_through_the_door_has_left_its_seat_and_its_meeting() {
    let mut place = RelayingPlace::new();
    let through = door_address(caller());
    place.sit(listener(), MeetSide::Listener, 11);
    place.sit(through, MeetSide::Caller, 21);
    let ends = place.say(PlaceInput::Lost { at: through });
    assert_eq!(told(&ends), [(listener(), 11, MeetRefusal::Gone)]);
    let counters = place.place.counters();
    assert_eq!((counters.meetings, counters.relayed), (1, 0), "the other one waits");
    assert!(!place.passes(listener(), through));
}

#[test]
fn pa_13_a_place_that_ends_tells_those_that_wait_and_those_that_it_relays() {
    let mut place = RelayingPlace::new().relayed();
    let waits = at("192.0.2.7:4000");
    place.sit(waits, MeetSide::Listener, 31);
    let mut ends = told(&place.say(PlaceInput::Close));
    ends.sort();
    let mut all = [(waits, 31), (caller(), 21), (listener(), 11)];
    all.sort();
    assert_eq!(ends, all.map(|(at, number)| (at, number, MeetRefusal::Closing)));
    let counters = place.place.counters();
    assert_eq!((counters.meetings, counters.relayed), (0, 0));
    let late = place.sit(waits, MeetSide::Listener, 32);
    assert_eq!(told(&late), [(waits, 32, MeetRefusal::Closing)]);
    // One that has its seat and is relayed is told once.
    let mut place = RelayingPlace::new();
    place.sit(listener(), MeetSide::Listener, 11);
    place.sit(caller(), MeetSide::Caller, 21);
    assert_eq!(told(&place.say(PlaceInput::Close)).len(), 2);
}

#[test]
fn pa_10_one_that_waits_while_others_come_and_go_gets_three_times_its_bytes_at_most() {
    let mut place = RelayingPlace::new();
    let mut sent = 0;
    let mut count = |outputs: Vec<PlaceOutput>| {
        for output in outputs {
            if let PlaceOutput::Packet { to, packet } = output
                && to == listener()
                && !matches!(packet, MeetPacket::Cookie { .. })
            {
                sent += packet.encode().len();
            }
        }
    };
    count(place.sit(listener(), MeetSide::Listener, 11));
    for nonce in 21..71 {
        count(place.sit(caller(), MeetSide::Caller, nonce));
        count(place.leave(caller(), nonce, MeetSide::Caller));
        count(place.run(Duration::from_secs(1)));
    }
    let card = vec![0; 20].into();
    let (meeting, side) = (MEETING, MeetSide::Listener);
    let it = Registration { nonce: 11, cookie: 0, meeting, side, rtt: 0, card, once: false };
    let received = MeetPacket::Register(it).encode().len();
    assert!(sent <= 3 * received, "{sent} bytes for {received}");
}
