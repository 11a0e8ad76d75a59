//! The upload queue over several turns: a client that takes many small files and
//! one that takes large ones come to the same number of bytes.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;

use crate::program::{Place, Wire, until};

/// Bytes a second of all uploads, and of the files; a turn is 4 MiB.
const RATE: u64 = 6_000_000;
const SMALL: usize = 100_000;
const LARGE: usize = 4_000_000;
/// How many turns each has at least. By files the small ones would come to a
/// fortieth of the bytes.
const TURNS: u64 = 6;

/// A person at an address of their own who takes the same file again and again
/// on one connection, until told to stop.
struct Person {
    taken: Arc<AtomicU64>,
    files: Arc<AtomicU64>,
    thread: JoinHandle<()>,
}

fn person(from: [u8; 4], at: SocketAddr, file: &'static str, stop: &Arc<AtomicBool>) -> Person {
    let (taken, files, stop) = (Arc::default(), Arc::default(), Arc::clone(stop));
    let counts = (Arc::clone(&taken), Arc::clone(&files));
    let thread = std::thread::spawn(move || {
        let (taken, files): (Arc<AtomicU64>, Arc<AtomicU64>) = counts;
        let mut wire = Wire::connect_from(IpAddr::from(from), at);
        while !stop.load(Ordering::SeqCst) {
            let reply = wire.get(&format!("/shared/{file}"), &[]);
            assert_eq!(reply.status, 200, "{reply:?}");
            taken.fetch_add(reply.body.len() as u64, Ordering::SeqCst);
            files.fetch_add(1, Ordering::SeqCst);
        }
    });
    Person { taken, files, thread }
}

#[test]
fn qa_7_small_files_and_large_ones_get_the_same_bytes() {
    let place = Place::new();
    place.share("small", SMALL);
    place.share("large", LARGE);
    let rate = format!("upload_rate={RATE}");
    let server = place.sharing(&["--lab", "off", "--slots", "1", "--set", &rate]);
    let stop = Arc::new(AtomicBool::new(false));
    let small = person([127, 0, 0, 2], server.at, "small", &stop);
    let large = person([127, 0, 0, 3], server.at, "large", &stop);
    until("both had several turns", || {
        large.files.load(Ordering::SeqCst) >= TURNS
            && small.taken.load(Ordering::SeqCst) >= TURNS * LARGE as u64 / 2
    });
    let (of_small, of_large) =
        (small.taken.load(Ordering::SeqCst), large.taken.load(Ordering::SeqCst));
    stop.store(true, Ordering::SeqCst);
    for person in [small, large] {
        person.thread.join().unwrap();
    }
    let (few, many) = (of_small.min(of_large), of_small.max(of_large));
    assert!(few * 2 >= many, "{of_small} bytes in small files, {of_large} in large ones");
}
