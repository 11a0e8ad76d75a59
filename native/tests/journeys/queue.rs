//! The upload queue with the settings people have: the slots are busy as long
//! as anybody waits.
#![expect(clippy::disallowed_methods, reason = "how long it takes is what is tested")]

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::program::{PATIENCE, Place, Running, assert_same, finish, lab_get, until};

const RATE: u64 = 3_000_000;

/// `servent get`, begun.
fn get(place: &Place, at: SocketAddr, n: usize) -> Child {
    let (url, to, state) = (format!("http://{at}/get/0/file"), format!("{n}"), format!("get-{n}"));
    let mut command = place.servent(&["get", &url, "-o", &to, "--state", &state]);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

/// How long so many files of `size` bytes take at best.
fn ideal(count: usize, size: usize) -> Duration {
    Duration::from_micros((count * size) as u64 * 1_000_000 / RATE)
}

/// Slots that wait for the schedule take many times as long. How close it comes
/// to the best is measured by `cargo xtask bench queue`, with nothing beside it.
#[track_caller]
fn assert_not_idle(took: Duration, best: Duration) {
    assert!(took <= best.mul_f64(2.0), "{took:?} instead of {best:?}");
}

#[test]
fn twelve_downloads_through_two_slots_take_little_longer_than_the_line_is_long() {
    const SIZE: usize = 6_000_000;
    let place = Place::new();
    let (_, bytes) = place.share("file", SIZE);
    let rate = format!("upload_rate={RATE}");
    let server = place.sharing(&["--slots", "2", "--set", &rate]);
    let begun = Instant::now();
    let downloads: Vec<Child> = (0..12).map(|n| get(&place, server.at, n)).collect();
    for (n, download) in downloads.into_iter().enumerate() {
        let output = finish(download);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_same(&place.path(&n.to_string()), &bytes);
    }
    let (took, best) = (begun.elapsed(), ideal(12, SIZE));
    println!("{took:?} of {best:?}");
    assert_not_idle(took, best);
}

/// What any program that knows of no queues does: asks once.
fn plain(at: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.write_all(b"GET /get/0/file HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").unwrap();
    stream
}

/// And takes what comes: the first line of the reply, and when its last byte
/// was there.
fn taken(mut stream: TcpStream, size: usize) -> (String, Instant) {
    let mut reply = Vec::with_capacity(size + 1_000);
    stream.read_to_end(&mut reply).unwrap();
    let line = reply.split(|byte| *byte == b'\r').next().unwrap_or_default();
    (String::from_utf8_lossy(line).into_owned(), Instant::now())
}

#[test]
fn plain_clients_alone_are_served_in_order_without_asking_twice() {
    const SIZE: usize = 5_000_000;
    let place = Place::new();
    place.share("file", SIZE);
    let rate = format!("upload_rate={RATE}");
    let server = place.sharing(&["--slots", "1", "--set", &rate]);
    let (at, begun) = (server.at, Instant::now());
    let (lab, done) = (server.lab.unwrap(), Arc::new(AtomicU64::new(0)));
    // Those who wait, the one that is served, and those who were.
    let came = || {
        let queue = lab_get(lab, "/api/view").json()["queue"].clone();
        let here = queue["length"].as_u64().unwrap() + u64::from(queue["free"] == 0);
        here + done.load(Ordering::SeqCst)
    };
    let clients: Vec<_> = (1..=10)
        .map(|n| {
            let (stream, done) = (plain(at), Arc::clone(&done));
            let client = std::thread::spawn(move || {
                let taken = taken(stream, SIZE);
                done.fetch_add(1, Ordering::SeqCst);
                taken
            });
            until("it is in line behind the others", || came() >= n);
            client
        })
        .collect();
    let ends: Vec<Instant> = clients
        .into_iter()
        .map(|client| {
            let (line, end) = client.join().unwrap();
            assert_eq!(line, "HTTP/1.1 200 OK");
            end
        })
        .collect();
    assert!(ends.is_sorted(), "in the order in which they came");
    let (took, best) = (begun.elapsed(), ideal(10, SIZE));
    println!("{took:?} of {best:?}");
    assert_not_idle(took, best);
}

#[test]
fn a_limit_of_either_side_holds_on_the_loopback_too() {
    const SIZE: usize = 900_000;
    let place = Place::new();
    let (_, bytes) = place.share("file", SIZE);
    let (free, bound) = (place.sharing(&[]), ["--limit-rate", "300k"]);
    let url = format!("http://{}/get/0/file", free.at);
    let begun = Instant::now();
    let output = place.run(&[&["get", &url, "-o", "one", "--state", "get"], &bound[..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(begun.elapsed() > Duration::from_secs(2), "{:?}", begun.elapsed());
    drop(free);
    let server = place.sharing(&bound);
    let begun = Instant::now();
    let output = finish(get(&place, server.at, 2));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(begun.elapsed() > Duration::from_secs(2), "{:?}", begun.elapsed());
    assert_same(&place.path("one"), &bytes);
    assert_same(&place.path("2"), &bytes);
}

/// QA-8 from our side: a client that is stopped is not waited for.
#[test]
fn a_get_that_is_stopped_gives_back_its_place_and_its_slot_at_once() {
    let place = Place::new();
    place.share("file", 6_000_000);
    let server = place.sharing(&["--slots", "1", "--set", "upload_rate=200000"]);
    let lab = server.lab.unwrap();
    let view = || {
        let queue = lab_get(lab, "/api/view").json()["queue"].clone();
        (queue["length"].as_u64().unwrap(), queue["free"].as_u64().unwrap())
    };
    let url = format!("http://{}/get/0/file", server.at);
    let start = |n: usize| {
        let (to, state) = (n.to_string(), format!("get-{n}"));
        Running::start(place.servent(&["get", &url, "-o", &to, "--state", &state]))
    };
    let mut first = start(0);
    until("it has the slot", || view() == (0, 0));
    let mut second = start(1);
    until("it waits in line", || view() == (1, 0));
    for (get, wanted) in [(&mut second, (0, 0)), (&mut first, (0, 1))] {
        let stopped = Instant::now();
        get.signal("INT");
        assert_eq!(get.ended().code(), Some(130));
        until("nothing is kept for it", || view() == wanted);
        let took = stopped.elapsed();
        assert!(took < Duration::from_secs(3), "{took:?}");
    }
    // Both go on with what they have.
    assert!(place.path("0.part").exists());
}
