//! PA-13: what is more than the rate of a relay allows waits, for a short time.

use std::net::SocketAddr;

use servent_core::engine::Engine as _;
use servent_core::meet::{Config, MeetSide, PlaceOutput};
use servent_core::time::Duration;

use super::pa_meet::MeetingPlace;

const RATE: u64 = 1_000_000;
/// What leaves at once after a pause.
const BURST: u32 = 16_384;

fn at(ip: u8, port: u16) -> SocketAddr {
    ([203, 0, 113, ip], port).into()
}

/// A place, and a pair for which it passes on what has no hurry.
fn relaying() -> (MeetingPlace, SocketAddr, SocketAddr) {
    let mut place = MeetingPlace::new(Config { relay_rate: RATE, ..Config::default() });
    let (one, other) = (at(1, 5_000), at(2, 5_000));
    place.sit(one, MeetSide::Listener, 1, 11);
    place.sit(other, MeetSide::Caller, 1, 21);
    (place, one, other)
}

/// The bytes that are kept.
fn held(outputs: &[PlaceOutput]) -> u32 {
    let held = outputs.iter().map(|output| match output {
        PlaceOutput::Hold { bytes, .. } => *bytes,
        _ => 0,
    });
    held.sum()
}

#[test]
fn pa_13_what_exceeds_the_rate_for_a_moment_waits_and_is_not_lost() {
    let (mut place, one, other) = relaying();
    place.foreign(one, BURST / 1_200 * 1_200);
    let before = place.passed[&other];
    let told = place.foreign(one, 60_000);
    let (waits, now) = (held(&told), place.passed[&other] - before);
    assert_eq!(u64::from(waits) + now, 60_000, "{told:?}");
    assert!(waits >= 50_000 && waits % 1_200 == 0, "{told:?}");
    // It leaves at the rate, and what comes meanwhile leaves after it.
    let told = place.foreign(one, 2_400);
    assert_eq!(held(&told), 2_400, "{told:?}");
    place.run(Duration::from_millis(30));
    let half = place.passed[&other] - before;
    assert!((25_000..=36_000).contains(&half), "{half} bytes in 30 ms");
    place.run(Duration::from_millis(40));
    assert_eq!(place.passed[&other] - before, 62_400);
    assert_eq!(place.place.counters().over_rate_bytes, 0);
    let told = place.foreign(one, 1_200);
    assert_eq!(told, [PlaceOutput::Forward { to: other, bytes: 1_200 }], "nothing is before it");
}

#[test]
fn pa_13_no_more_waits_than_a_tenth_of_a_second_carries() {
    let (mut place, one, other) = relaying();
    let mut waits = 0;
    for _ in 0..100 {
        waits += held(&place.foreign(one, 60_000));
    }
    assert!((90_000..=110_000).contains(&waits), "{waits} bytes wait");
    let counters = place.place.counters();
    let all = counters.relayed_bytes + counters.over_rate_bytes + u64::from(waits);
    assert_eq!(all, 6_000_000, "{counters:?}");
    // The acknowledgements of the other side do not wait behind it.
    place.run(Duration::from_millis(4));
    place.foreign(other, 60);
    place.run(Duration::from_millis(4));
    assert_eq!(place.passed[&one], 60);
}

#[test]
fn pa_13_what_waits_of_a_meeting_that_ends_is_forgotten() {
    let (mut place, one, other) = relaying();
    for _ in 0..20 {
        place.foreign(one, 60_000);
    }
    let before = place.passed[&other];
    let (third, told) = (at(3, 5_000), held(&place.foreign(one, 60_000)));
    assert_eq!(told, 0, "it is full");
    // The same visitor meets another one.
    place.sit(third, MeetSide::Listener, 2, 31);
    place.sit(one, MeetSide::Caller, 2, 41);
    place.run(Duration::from_secs(1));
    assert_eq!(place.passed[&other], before, "it is not passed on any more");
    assert_eq!(place.place.counters().relayed, 1);
}

/// What waits of many is looked at more rarely, and yet nothing of the rate is lost.
#[test]
fn pa_13_many_that_wait_cost_few_turns_and_get_the_whole_rate() {
    const PAIRS: u8 = 250;
    let each = PAIRS.into();
    let (seats_per_ip, meetings_per_ip) = (each, each);
    let config =
        Config { relay_rate: 4 * RATE, seats_per_ip, meetings_per_ip, ..Config::default() };
    let mut place = MeetingPlace::new(config);
    let pairs: Vec<_> =
        (0..PAIRS).map(|n| [at(1, 5_000 + u16::from(n)), at(2, 5_000 + u16::from(n))]).collect();
    for (n, [one, other]) in (0..PAIRS).zip(&pairs) {
        place.run(Duration::from_millis(50));
        place.sit(*one, MeetSide::Listener, n, 11);
        place.sit(*other, MeetSide::Caller, n, 21);
    }
    let told: u32 = pairs.iter().map(|[one, _]| held(&place.foreign(*one, 60_000))).sum();
    assert!(told > 12_000_000, "{told} bytes wait");
    let (before, end) = (place.place.counters().relayed_bytes, place.now + Duration::from_secs(2));
    let mut turns = 0;
    while let Some((next, _)) = place.place.poll_timeout().filter(|(next, _)| *next <= end) {
        turns += 1;
        place.run(next.since(place.now));
    }
    let passed = place.place.counters().relayed_bytes - before;
    assert!((8 * RATE * 97 / 100..=8 * RATE * 107 / 100).contains(&passed), "{passed} bytes");
    assert!(turns <= 300, "{turns} turns in two seconds");
}
