//! A meeting place that strangers ask a hundred thousand times a second, from many
//! addresses, still brings two people together within a second (PA-10).

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use servent_core::wire::meet::{
    MeetPacket, MeetSide, MeetingId, QUESTION, REGISTRATION, Registration,
};

use crate::program::{Place, Running, pause};

/// Datagrams a second.
const RATE: u64 = 100_000;
/// Addresses from which they come.
const ADDRESSES: u64 = 1_000;
/// Pairs that meet meanwhile.
const PAIRS: usize = 10;
/// How long one may take, in milliseconds.
const LONGEST: u64 = 1_000;

/// Asks a place until told to end; counts what it has sent.
fn ask(place: SocketAddr, (ends, sent): (&AtomicBool, &AtomicU64)) {
    // Each of a network of its own: of one network the place answers few.
    let bind = |n: u64| {
        let ip = Ipv4Addr::new(127, 1 + (n / 250) as u8, (n % 250) as u8, 1);
        UdpSocket::bind((ip, 0)).unwrap()
    };
    let sockets: Vec<UdpSocket> = (0..ADDRESSES).map(bind).collect();
    let clock = servent::Clock::new();
    let begun = clock.now();
    let mut number = 0;
    while !ends.load(Ordering::Relaxed) {
        let due = clock.now().since(begun).as_micros() * RATE / 1_000_000;
        while number < due {
            let socket = &sockets[(number % ADDRESSES) as usize];
            // What does not fit is lost, as on a network.
            let _ = socket.send_to(&question(number), place);
            number += 1;
        }
        sent.store(number, Ordering::Relaxed);
        thread::yield_now();
    }
}

/// Three of four ask for a cookie, the others take a seat with one that is invented.
fn question(number: u64) -> Vec<u8> {
    if number % 4 < 3 {
        return MeetPacket::Question { nonce: number }.encode();
    }
    let meeting = MeetingId([number as u8; 16]);
    MeetPacket::Register(Registration {
        nonce: number,
        cookie: number,
        meeting,
        side: MeetSide::Caller,
        rtt: 0,
        card: Vec::new().into(),
        once: false,
    })
    .encode()
}

/// How long it takes from the sender's start until it has a path, in milliseconds.
fn meets(at: &Place, via: &str, pair: usize) -> u64 {
    let code = format!("ocean-pepper{pair}-violin-garden-moon");
    let start = |words: &[&str]| {
        let mut command = at.servent(words);
        command.env("SERVENT_CODE", &code);
        Running::start(command)
    };
    let mut receiver = start(&["receive", "--via", via, "-o", "in", "--yes", "--json"]);
    receiver.event("at_place");
    let clock = servent::Clock::new();
    let begun = clock.now();
    let mut sender = start(&["send", "--via", via, "song.ogg", "--json"]);
    sender.event("path");
    let took = clock.now().since(begun).as_micros() / 1_000;
    assert_eq!(sender.end().code(), Some(0));
    receiver.signal("INT");
    receiver.end();
    std::fs::remove_file(at.path("in/song.ogg")).unwrap();
    took
}

#[test]
#[ignore = "run by `cargo xtask campaign`: it needs the whole machine"]
fn pa_10_a_flood_of_questions_does_not_keep_two_people_apart() {
    let at = Place::new();
    std::fs::create_dir(at.path("in")).unwrap();
    std::fs::write(at.path("song.ogg"), "words").unwrap();
    let words = ["meet", "--relay", "1M", "--listen", "127.0.0.1:0", "--json"];
    let mut place = Running::start(at.servent(&words));
    let via = place.event("listening")["address"].as_str().unwrap().to_owned();
    let quiet = meets(&at, &via, PAIRS);
    let (ends, sent) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let flood = {
        let (to, ends, sent) = (via.parse().unwrap(), Arc::clone(&ends), Arc::clone(&sent));
        thread::spawn(move || ask(to, (&ends, &sent)))
    };
    while sent.load(Ordering::Relaxed) < RATE {
        pause(std::time::Duration::from_millis(10));
    }
    let clock = servent::Clock::new();
    let (begun, before) = (clock.now(), sent.load(Ordering::Relaxed));
    let mut took: Vec<u64> = (0..PAIRS).map(|pair| meets(&at, &via, pair)).collect();
    let asked = sent.load(Ordering::Relaxed) - before;
    let rate = asked * 1_000_000 / clock.now().since(begun).as_micros();
    ends.store(true, Ordering::Relaxed);
    flood.join().unwrap();
    took.sort_unstable();
    place.signal("INT");
    let told = place.event("meetings");
    println!(
        "{rate} datagrams a second of {QUESTION} and {REGISTRATION} bytes from {ADDRESSES} addresses"
    );
    println!("a pair meets after {quiet} ms in quiet, {took:?} ms in the flood; {told}");
    assert!(took.iter().all(|took| *took <= LONGEST), "{took:?}");
    assert!(rate >= RATE * 9 / 10, "it was no such flood: {rate} a second");
}
