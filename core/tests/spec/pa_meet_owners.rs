//! PA-10, PA-13: what one address may have of a place, whatever way it comes.

use std::net::{Ipv6Addr, SocketAddr};

use servent_core::engine::{Engine as _, Fx};
use servent_core::meet::{Config, MeetRefusal, MeetSide, PlaceInput, PlaceOutput, door_address};
use servent_core::time::Duration;
use servent_core::wire::meet::MeetPacket;

use super::pa_meet::{MeetingPlace, PAUSE, introductions};

/// When a seat that was not renewed is its visitor's elsewhere.
const MOVES_AFTER: Duration = Duration::from_secs(6);

fn at(ip: u8, port: u16) -> SocketAddr {
    ([203, 0, 113, ip], port).into()
}

fn is_full(told: &[(SocketAddr, MeetPacket)], to: SocketAddr) -> bool {
    told.iter().any(|(told, packet)| {
        *told == to && matches!(packet, MeetPacket::Refused { why: MeetRefusal::Full, .. })
    })
}

/// Both sides of a meeting, from two ports of two addresses.
fn pair(place: &mut MeetingPlace, meeting: u8, [one, other]: [SocketAddr; 2]) -> bool {
    let number = 1_000 + 2 * u64::from(meeting);
    place.sit(one, MeetSide::Listener, meeting, number);
    let told = introductions(&place.sit(other, MeetSide::Caller, meeting, number + 1));
    place.tell(one, MeetPacket::Heard { nonce: number });
    place.tell(other, MeetPacket::Heard { nonce: number + 1 });
    told.iter().any(|(_, it)| it.relays)
}

fn passes(place: &mut MeetingPlace, from: SocketAddr, to: SocketAddr) -> bool {
    let mut fx = Fx::new();
    let input = PlaceInput::Foreign { from, segment: 100, bytes: 100 };
    place.place.handle(place.now, input, &mut fx);
    fx.outputs().eq([&PlaceOutput::Forward { to, bytes: 100 }])
}

#[test]
fn pa_10_a_socket_that_takes_seats_with_known_numbers_has_one() {
    let mut place = MeetingPlace::new(Config { seats_per_ip: 1_000, ..Config::default() });
    for n in 0..50 {
        place.now += PAUSE;
        place.sit(at(1, 5_000 + u16::from(n)), MeetSide::Caller, n, u64::from(n));
        place.sit(at(1, 9_000), MeetSide::Caller, n, u64::from(n));
    }
    assert_eq!(place.place.counters().meetings, 1);
    // Nor both seats of a meeting.
    place.sit(at(1, 9_000), MeetSide::Listener, 49, 7);
    assert_eq!(place.place.counters().waiting, 1);
}

#[test]
fn pa_10_seats_that_are_moved_are_counted_like_others() {
    let mut place = MeetingPlace::new(Config { meetings_per_ip: 5, ..Config::default() });
    // Others take them for the address that keeps them.
    for n in 0..20 {
        place.sit(at(2 + n, 5_000), MeetSide::Caller, n, u64::from(n));
    }
    place.run(MOVES_AFTER);
    for n in 0..20 {
        place.sit(at(1, 5_000 + u16::from(n)), MeetSide::Caller, n, u64::from(n));
    }
    let first = (0..20).filter(|n| {
        let told = place.sit(at(1, 6_000 + u16::from(*n)), MeetSide::Caller, *n, u64::from(*n));
        matches!(told[..], [(_, MeetPacket::Waiting { .. })])
    });
    assert_eq!(first.count(), 5, "its share");
}

/// A host that reads the line of one who waits knows the name, the side and the number.
#[test]
fn pa_10_a_seat_that_is_renewed_is_not_moved_to_another_network() {
    let mut place = MeetingPlace::new(Config::default());
    let (waits, reader) = (at(1, 5_000), at(200, 7_000));
    for second in 0..30 {
        if second % 5 == 0 {
            place.sit(waits, MeetSide::Listener, 1, 11);
        }
        let told = place.sit(reader, MeetSide::Listener, 1, 11);
        assert_eq!(told, [], "it is not seated");
        place.run(Duration::from_secs(1));
    }
    let told = introductions(&place.sit(at(2, 5_000), MeetSide::Caller, 1, 21));
    assert_eq!(told.iter().map(|(to, _)| *to).collect::<Vec<_>>(), [at(2, 5_000), waits]);
}

#[test]
fn pa_10_one_that_has_another_network_has_its_seat_again_within_seconds() {
    let mut place = MeetingPlace::new(Config::default());
    place.sit(at(1, 5_000), MeetSide::Listener, 1, 11);
    place.run(MOVES_AFTER);
    let told = place.sit(at(200, 7_000), MeetSide::Listener, 1, 11);
    assert!(matches!(told[..], [(_, MeetPacket::Waiting { nonce: 11 })]), "{told:?}");
}

#[test]
fn pa_10_the_number_that_one_side_is_told_does_not_give_it_the_others_seat() {
    let mut place = MeetingPlace::new(Config::default());
    place.sit(at(1, 5_000), MeetSide::Listener, 1, 11);
    let told = introductions(&place.sit(at(2, 5_000), MeetSide::Caller, 1, 21));
    let (_, it) = &told[0];
    let told = place.sit(at(2, 5_001), MeetSide::Listener, 1, it.other);
    assert!(matches!(told[..], [(_, MeetPacket::Refused { why: MeetRefusal::Taken, .. })]));
}

#[test]
fn pa_10_pairs_of_one_address_give_way_too_the_oldest_first() {
    let mut place = MeetingPlace::new(Config { meetings: 10, ..Config::default() });
    for n in 0..10 {
        let port = 5_000 + 2 * u16::from(n);
        place.run(Duration::from_millis(10));
        pair(&mut place, n, [at(1, port), at(1, port + 1)]);
    }
    let told = place.sit(at(2, 5_000), MeetSide::Caller, 100, 9);
    assert!(is_full(&told, at(1, 5_000)) && is_full(&told, at(1, 5_001)), "{told:?}");
    assert!(matches!(told.last(), Some((_, MeetPacket::Waiting { nonce: 9 }))), "{told:?}");
}

#[test]
fn pa_13_relayed_meetings_of_one_address_give_way_to_those_of_others() {
    let relaying = Config { relay_rate: 1_000_000, meetings: 8, ..Config::default() };
    let mut place = MeetingPlace::new(relaying);
    let greedy = |n: u8| [1, 2].map(|ip| at(ip, 5_000 + u16::from(n)));
    for n in 0..8 {
        assert!(pair(&mut place, n, greedy(n)));
        // They are kept alive for ever, long after their seats.
        for _ in 0..8 {
            place.run(Duration::from_secs(1));
            for [one, other] in (0..=n).map(greedy) {
                assert!(passes(&mut place, one, other) && passes(&mut place, other, one));
            }
        }
    }
    assert_eq!((place.place.counters().relayed, place.place.counters().meetings), (8, 0));
    let [one, other] = [at(8, 5_000), at(9, 5_000)];
    assert!(pair(&mut place, 100, [one, other]), "it is said that it relays");
    assert!(passes(&mut place, one, other) && passes(&mut place, other, one));
    assert_eq!(place.place.counters().relayed, 8);
    // One that cannot be relayed is not told that it is.
    let mut place = MeetingPlace::new(Config { meetings_per_ip: 2, ..relaying });
    let met: Vec<_> = (0..3).map(|n| pair(&mut place, n, greedy(n))).collect();
    assert_eq!(met, [true, true, false]);
}

#[test]
fn pa_13_an_address_has_one_share_over_udp_and_through_the_door() {
    let mut place = MeetingPlace::new(Config { meetings_per_ip: 2, ..Config::default() });
    let mut seats = 0;
    for n in 0..3 {
        let from = at(1, 5_000 + u16::from(n));
        for (meeting, from) in [(n, from), (10 + n, door_address(from))] {
            let told = place.sit(from, MeetSide::Caller, meeting, 1);
            seats += usize::from(matches!(told[..], [(_, MeetPacket::Waiting { .. })]));
        }
    }
    assert_eq!(seats, 2);
}

fn at6(customer: u16, network: u16, host: u16) -> SocketAddr {
    (Ipv6Addr::new(0x2001, 0xdb8, customer, network, 0, 0, 0, host), 5_000).into()
}

#[test]
fn pa_13_an_ipv6_network_has_one_share_over_udp_and_through_the_door() {
    let mut place = MeetingPlace::new(Config { meetings_per_ip: 2, ..Config::default() });
    let mut seats = 0;
    for n in 0..3 {
        let host = u16::from(n) + 1;
        let both = [(n, at6(1, 1, host)), (10 + n, door_address(at6(1, 1, 100 + host)))];
        for (meeting, from) in both {
            let told = place.sit(from, MeetSide::Caller, meeting, 1);
            seats += usize::from(matches!(told[..], [(_, MeetPacket::Waiting { .. })]));
        }
    }
    assert_eq!(seats, 2);
    let told = place.sit(door_address(at6(1, 2, 1)), MeetSide::Caller, 50, 1);
    assert!(matches!(told[..], [(_, MeetPacket::Waiting { .. })]), "another network");
}

#[test]
fn pa_10_the_many_networks_of_one_customer_cannot_fill_a_place() {
    let mut place = MeetingPlace::new(Config { meetings: 40, ..Config::default() });
    for n in 0..40 {
        let told = place.sit(at6(2, 0x100 + u16::from(n), 1), MeetSide::Caller, n, 1);
        assert!(matches!(told[..], [(_, MeetPacket::Waiting { .. })]), "there is room");
    }
    for (n, from) in [at(1, 5_000), at6(3, 0, 1), door_address(at6(4, 0, 1))].iter().enumerate() {
        let told = place.sit(*from, MeetSide::Caller, 100 + n as u8, 9);
        assert!(matches!(told.last(), Some((_, MeetPacket::Waiting { .. }))), "{told:?}");
        let full = told.iter().filter(|(to, _)| is_full(&told, *to) && to.is_ipv6());
        assert_eq!(full.count(), 1, "one of the crowd gives way: {told:?}");
    }
}

#[test]
fn pa_13_an_address_with_many_meetings_has_one_share_of_what_is_relayed() {
    const RATE: u64 = 1_000_000;
    let mut place = MeetingPlace::new(Config { relay_rate: RATE, ..Config::default() });
    let greedy = |n: u8| [1, 2].map(|ip| at(ip, 5_000 + u16::from(n)));
    let honest = [at(8, 5_000), at(9, 5_000)];
    for n in 0..20 {
        assert!(pair(&mut place, n, greedy(n)));
    }
    assert!(pair(&mut place, 100, honest));
    for _ in 0..300 {
        place.run(Duration::from_millis(10));
        for [from, _] in (0..20).map(greedy).chain([honest]) {
            place.foreign(from, 60_000);
        }
    }
    let passed = place.passed[&honest[1]];
    assert!(passed >= 3 * RATE * 45 / 100, "{passed} of {} bytes", 3 * RATE);
}

/// The addresses of one network are one crowd: 64 of them leave the others half of the rate.
#[test]
fn pa_13_the_addresses_of_one_network_have_one_share_of_what_is_relayed() {
    const RATE: u64 = 1_000_000;
    let mut place = MeetingPlace::new(Config { relay_rate: RATE, ..Config::default() });
    let greedy = |n: u8| [5_000, 5_001].map(|port| at(1 + n, port));
    let honest = [1, 2].map(|ip| SocketAddr::from(([198, 51, 100, ip], 5_000)));
    for n in 0..64 {
        assert!(pair(&mut place, n, greedy(n)));
    }
    assert!(pair(&mut place, 100, honest));
    for _ in 0..300 {
        place.run(Duration::from_millis(10));
        for [from, _] in (0..64).map(greedy).chain([honest]) {
            place.foreign(from, 12_000);
        }
    }
    let passed = place.passed[&honest[1]];
    assert!(passed >= 3 * RATE * 45 / 100, "{passed} of {} bytes", 3 * RATE);
}
