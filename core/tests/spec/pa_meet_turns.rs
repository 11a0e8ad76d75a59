//! PA-10: one servent is met by many, who come at once: each visit is for one other only.

use std::net::SocketAddr;

use servent_core::meet::{Config, MeetKey, MeetRefusal, MeetSide, MeetingId, NatMapping};
use servent_core::time::Duration;
use servent_core::wire::meet::{MeetCard, MeetPacket, Registration};

use super::pa_meet::{MeetingPlace, introductions};

const MEETING: MeetingId = MeetingId([1; 16]);

/// The servent, and the visitors: each has a socket of its own, behind one router.
fn servent(port: u16) -> SocketAddr {
    ([203, 0, 113, 9], 5_000 + port).into()
}

fn visitor(port: u16) -> SocketAddr {
    ([198, 51, 100, 1], 4_000 + port).into()
}

/// Takes a seat for one meeting; what the place says.
fn sit(
    place: &mut MeetingPlace,
    from: SocketAddr,
    side: MeetSide,
    nonce: u64,
) -> Vec<(SocketAddr, MeetPacket)> {
    let told = place.tell(from, MeetPacket::Question { nonce: 3 });
    let [(_, MeetPacket::Cookie { cookie, .. })] = told[..] else { panic!("{told:?}") };
    let card = MeetCard { mapping: NatMapping::Same, candidates: Vec::new() };
    let card = card.seal(MeetKey(1, 2), (MEETING, side, nonce));
    let it = Registration { nonce, cookie, meeting: MEETING, side, rtt: 0, card, once: true };
    place.tell(from, MeetPacket::Register(it))
}

fn pairs(told: &[(SocketAddr, MeetPacket)]) -> Vec<(u64, u64)> {
    introductions(told).iter().map(|(_, it)| (it.nonce, it.other)).collect()
}

fn is_taken(told: &[(SocketAddr, MeetPacket)]) -> bool {
    matches!(told, [(_, MeetPacket::Refused { why: MeetRefusal::Taken, .. })])
}

fn place() -> MeetingPlace {
    MeetingPlace::new(Config { relay_rate: 1_000_000, ..Config::default() })
}

/// Twenty who come at once, from one router, meet a servent that takes its seat again as soon
/// as it has met one; what is relayed for the others goes on.
#[test]
fn pa_10_visitors_who_come_at_once_are_met_one_after_the_other() {
    let mut place = place();
    sit(&mut place, servent(0), MeetSide::Listener, 100);
    let mut waiting: Vec<u16> = (0..20).collect();
    for turn in 0..20 {
        let mut met = Vec::new();
        for n in waiting.clone() {
            place.now += Duration::from_millis(10);
            let told = sit(&mut place, visitor(n), MeetSide::Caller, 200 + u64::from(n));
            if is_taken(&told) {
                continue;
            }
            let (seat, number) = (100 + u64::from(turn), 200 + u64::from(n));
            assert_eq!(pairs(&told), [(number, seat), (seat, number)]);
            met.push(n);
        }
        let [n] = met[..] else { panic!("{met:?} in turn {turn}") };
        waiting.retain(|it| *it != n);
        let (seat, number) = (100 + u64::from(turn), 200 + u64::from(n));
        place.tell(visitor(n), MeetPacket::Heard { nonce: number });
        place.tell(servent(turn), MeetPacket::Heard { nonce: seat });
        let told = sit(&mut place, servent(turn + 1), MeetSide::Listener, seat + 1);
        assert!(matches!(told[..], [(_, MeetPacket::Waiting { .. })]), "{told:?}");
    }
    assert_eq!(place.place.counters().relayed, 20, "none is in the way of another");
    for n in 0..20 {
        assert_eq!(place.foreign(visitor(n), 1_200).len(), 1, "visitor {n} is relayed");
    }
}

/// The servent takes its seat again before the visitor's word has come that it was introduced.
#[test]
fn pa_10_one_that_was_introduced_is_introduced_to_no_other() {
    let mut place = place();
    sit(&mut place, servent(0), MeetSide::Listener, 100);
    sit(&mut place, visitor(0), MeetSide::Caller, 200);
    place.tell(servent(0), MeetPacket::Heard { nonce: 100 });
    assert!(is_taken(&sit(&mut place, visitor(1), MeetSide::Caller, 201)));
    let told = sit(&mut place, servent(1), MeetSide::Listener, 101);
    assert!(matches!(told[..], [(_, MeetPacket::Waiting { nonce: 101 })]), "{told:?}");
    assert_eq!(place.place.counters().relayed, 1);
    let told = sit(&mut place, visitor(1), MeetSide::Caller, 201);
    assert_eq!(pairs(&told), [(201, 101), (101, 201)]);
    // One that has left at once is in no other's way either.
    let leave = MeetPacket::Leave { nonce: 201, meeting: MEETING, side: MeetSide::Caller };
    place.tell(visitor(1), leave);
    let told = sit(&mut place, visitor(2), MeetSide::Caller, 202);
    assert!(matches!(told[..], [(_, MeetPacket::Waiting { nonce: 202 })]), "{told:?}");
}

/// One that says nothing of its introduction has died: the seats are free when it was told
/// often enough. One that died before is in the way of its like for a few seconds.
#[test]
fn pa_10_a_visitor_that_died_keeps_the_others_waiting_for_seconds_at_most() {
    let mut place = place();
    sit(&mut place, visitor(0), MeetSide::Caller, 200);
    place.run(Duration::from_secs(2));
    assert!(is_taken(&sit(&mut place, visitor(1), MeetSide::Caller, 201)));
    place.run(Duration::from_secs(8));
    let told = sit(&mut place, visitor(1), MeetSide::Caller, 201);
    assert!(matches!(told[..], [(_, MeetPacket::Waiting { nonce: 201 })]), "{told:?}");
    assert_eq!(introductions(&sit(&mut place, servent(0), MeetSide::Listener, 100)).len(), 2);
    place.run(Duration::from_secs(1));
    assert_eq!(place.place.counters().meetings, 0, "both seats are free");
}

/// One that asks for its turn, every 600 ms until it has its seat.
struct AskingVisitor {
    at: SocketAddr,
    number: u64,
    seated: bool,
}

/// A flood of visitors asks without pause, and the servent takes its seat each three seconds, as
/// one does that has had many strangers. How many meetings there are until all of these were met.
fn meetings_until_all_were_met(
    flood: impl Fn(u64) -> SocketAddr,
    visitors: impl Iterator<Item = SocketAddr>,
) -> usize {
    const STEP: u64 = 50;
    let mut place = place();
    let visitor = |(n, at): (u64, SocketAddr)| AskingVisitor { at, number: 1 + n, seated: false };
    let mut left: Vec<AskingVisitor> = (0..).zip(visitors).map(visitor).collect();
    let (mut asked, mut meetings) = (0, 0);
    for step in 0..6_000_u64 {
        place.run(Duration::from_millis(STEP));
        for _ in 0..10 {
            asked += 1;
            sit(&mut place, flood(asked), MeetSide::Caller, 1_000_000 + asked);
        }
        // The flood was there before them.
        let come = step >= 200;
        for it in left.iter_mut().filter(|it| come && !it.seated && step % 12 == it.number % 12) {
            let told = sit(&mut place, it.at, MeetSide::Caller, it.number);
            it.seated = matches!(told[..], [(_, MeetPacket::Waiting { .. })]);
            assert!(it.seated || is_taken(&told), "{told:?}");
        }
        if step % 60 != 0 {
            continue;
        }
        let (servent, number) = (servent(u16::try_from(step / 60).unwrap()), 500_000 + step);
        let met = introductions(&sit(&mut place, servent, MeetSide::Listener, number));
        for (to, it) in &met {
            place.tell(*to, MeetPacket::Heard { nonce: it.nonce });
        }
        meetings += usize::from(come && !met.is_empty());
        left.retain(|visitor| met.iter().all(|(_, it)| it.nonce != visitor.number));
        if left.is_empty() {
            return meetings;
        }
    }
    panic!("{} visitors are not met in {meetings} meetings", left.len());
}

/// One of these networks, by one address or many.
fn of_network(network: u8, host: u8, port: u16) -> SocketAddr {
    ([192, 0, network, host], port).into()
}

/// A stranger with half the code that asks more often than all others together.
#[test]
fn pa_10_visitors_beside_a_flood_of_one_network_are_met_before_its_next() {
    for one_address in [true, false] {
        let flood = |n: u64| {
            let host = if one_address { 1 } else { (n % 200) as u8 };
            of_network(2, host, 1_024 + (n % 10_000) as u16)
        };
        let apart = (1..=6).map(|n| of_network(100 + n, 7, 4_000));
        let meetings = meetings_until_all_were_met(flood, apart);
        assert!(meetings <= 7, "six visitors are met in {meetings} meetings");
    }
}

/// A class behind one router has every second turn, and so has one beside the flood in a /24.
#[test]
fn pa_10_visitors_of_one_address_beside_a_flood_have_every_second_turn() {
    let flood = |n: u64| of_network(2, (n % 3) as u8, 1_024 + (n % 10_000) as u16);
    let class = || (1..=6).map(|n| of_network(3, 7, 4_000 + n));
    let meetings = meetings_until_all_were_met(flood, class());
    assert!(meetings <= 13, "six of one address are met in {meetings} meetings");
    let beside = [of_network(2, 99, 4_000)].into_iter();
    let meetings = meetings_until_all_were_met(flood, beside);
    assert!(meetings <= 2, "one of the same network is met in {meetings} meetings");
    // Of one address the one that has waited longest is before those that come again.
    let same = [of_network(2, 1, 999)].into_iter();
    let meetings = meetings_until_all_were_met(|_| of_network(2, 1, 1_024), same);
    assert!(meetings <= 3, "one of the same address is met in {meetings} meetings");
}

/// Those that come too late are told what the listener has said, which they can check. A place
/// cannot: what it is told by one that has no right to say so keeps no caller from its seat.
#[test]
fn pa_10_a_caller_is_told_that_the_listener_wants_no_more() {
    let mut place = place();
    let over = |nonce| MeetPacket::Over { nonce, meeting: MEETING, proof: 8 };
    sit(&mut place, servent(0), MeetSide::Listener, 100);
    // Only the one that has the seat can say so.
    place.tell(servent(1), over(100));
    place.tell(servent(0), over(101));
    assert_eq!(place.place.counters().waiting, 1);
    place.tell(servent(0), over(100));
    let leave = |nonce, side| MeetPacket::Leave { nonce, meeting: MEETING, side };
    place.tell(servent(0), leave(100, MeetSide::Listener));
    for n in 0..3 {
        let nonce = 200 + u64::from(n);
        let told = sit(&mut place, visitor(n), MeetSide::Caller, nonce);
        let told = told.into_iter().map(|(_, packet)| packet).collect::<Vec<_>>();
        assert_eq!(told, [MeetPacket::Ended { nonce, proof: 8 }, MeetPacket::Waiting { nonce }]);
        place.tell(visitor(n), leave(nonce, MeetSide::Caller));
        place.run(Duration::from_secs(60));
    }
    sit(&mut place, servent(2), MeetSide::Listener, 102);
    let told = sit(&mut place, visitor(0), MeetSide::Caller, 203);
    assert_eq!(pairs(&told), [(203, 102), (102, 203)], "it was started again");
}

/// A stranger that knows the name of a meeting, and no word of its code, comes as a caller that
/// wants to meet one only.
#[test]
fn pa_10_a_caller_frees_no_seat_for_another_listener() {
    let stranger: SocketAddr = ([192, 0, 2, 66], 9_000).into();
    for once in [false, true] {
        let mut place = place();
        let take = |place: &mut MeetingPlace, from, side, nonce, once| {
            let told = place.tell(from, MeetPacket::Question { nonce: 3 });
            let [(_, MeetPacket::Cookie { cookie, .. })] = told[..] else { panic!("{told:?}") };
            let card = Default::default();
            let meeting = MEETING;
            let it = Registration { nonce, cookie, meeting, side, rtt: 0, card, once };
            place.tell(from, MeetPacket::Register(it))
        };
        take(&mut place, servent(0), MeetSide::Listener, 100, once);
        assert_eq!(pairs(&take(&mut place, stranger, MeetSide::Caller, 200, true)).len(), 2);
        place.tell(stranger, MeetPacket::Heard { nonce: 200 });
        // The listener confirms nothing that is not signed.
        for _ in 0..20 {
            place.run(Duration::from_millis(200));
            let told = take(&mut place, stranger, MeetSide::Listener, 300, true);
            assert!(is_taken(&told), "{once}: {told:?}");
        }
        let told = take(&mut place, servent(0), MeetSide::Listener, 100, once);
        assert!(!is_taken(&told), "{once}: it comes again");
        let told = take(&mut place, visitor(0), MeetSide::Caller, 201, true);
        assert_eq!(pairs(&told), [(201, 100), (100, 201)], "{once}");
    }
}

/// A sender of several comes again for each of them: that is counted once.
#[test]
fn pa_10_a_listener_may_meet_more_callers_than_an_address_may_take_seats() {
    let (mut place, seats) = (place(), Config::default().seats_per_ip);
    for n in 0..3 * seats {
        let number = u64::from(n);
        let told = sit(&mut place, servent(0), MeetSide::Listener, 1_000 + number);
        assert!(matches!(told[..], [(_, MeetPacket::Waiting { .. })]), "{n}: {told:?}");
        let caller = ([198, 51, 100, (n % 250) as u8], 4_000).into();
        let told = sit(&mut place, caller, MeetSide::Caller, 10_000 + number);
        assert_eq!(pairs(&told).len(), 2, "{n}");
        place.tell(caller, MeetPacket::Heard { nonce: 10_000 + number });
        place.tell(servent(0), MeetPacket::Heard { nonce: 1_000 + number });
        place.run(Duration::from_millis(100));
    }
}

/// A place remembers for a bounded time whose seat is free between two callers, and that a
/// listener wants no more of them.
#[test]
fn pa_10_what_a_place_knows_of_a_listener_that_has_left_is_forgotten() {
    let mut place = place();
    let other: SocketAddr = ([192, 0, 2, 66], 9_000).into();
    sit(&mut place, servent(0), MeetSide::Listener, 100);
    sit(&mut place, visitor(0), MeetSide::Caller, 200);
    place.tell(visitor(0), MeetPacket::Heard { nonce: 200 });
    place.tell(servent(0), MeetPacket::Heard { nonce: 100 });
    place.run(Duration::from_millis(4_900));
    assert!(is_taken(&sit(&mut place, other, MeetSide::Listener, 300)));
    place.run(Duration::from_secs(2));
    assert!(!is_taken(&sit(&mut place, other, MeetSide::Listener, 300)));

    place.tell(other, MeetPacket::Over { nonce: 300, meeting: MEETING, proof: 8 });
    let mut is_told = |after| {
        place.run(Duration::from_secs(after));
        let told = sit(&mut place, visitor(0), MeetSide::Caller, 201);
        told.iter().any(|(_, packet)| matches!(packet, MeetPacket::Ended { .. }))
    };
    assert!(is_told(298) && !is_told(2));
}
