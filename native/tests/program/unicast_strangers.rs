//! What strangers can do to `servent receive`: no more than cost themselves.

use crate::program;

use std::net::{SocketAddr, UdpSocket};
use std::process::Stdio;
use std::sync::atomic::{AtomicBool, Ordering};

use program::{Place, Running, assert_same, complains, finish};

fn receiving(place: &Place, extra: &[&str]) -> (Running, SocketAddr) {
    let mut arguments =
        vec!["receive", "-o", "inbox/", "--open", "--yes", "--json", "--listen", "127.0.0.1:0"];
    arguments.extend(extra);
    let mut running = Running::start(place.servent(&arguments));
    let at = running.event("listening")["address"].as_str().unwrap().parse().unwrap();
    (running, at)
}

fn send(place: &Place, to: SocketAddr, file: &str) -> std::process::Output {
    let mut command = place.servent(&["send", "--open", &to.to_string(), file]);
    finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

/// The first message of a transfer, for which a token never comes.
fn hello(n: usize) -> Vec<u8> {
    let conn = (n as u64).to_be_bytes();
    [&[0x22], &conn[..], &[1, 0, 2 << 3, 0, 2]].concat()
}

fn names(place: &Place) -> Vec<String> {
    let entries = std::fs::read_dir(place.path("inbox")).unwrap();
    entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

/// Becomes true when this is dropped.
struct SetWhenDropped<'a>(&'a AtomicBool);

impl Drop for SetWhenDropped<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// More first words than there are places, again and again: they take none.
#[test]
fn first_words_of_strangers_make_no_file_and_take_no_place() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 300_000);
    let (running, at) = receiving(&place, &[]);
    let strangers: Vec<UdpSocket> =
        (0..200).map(|_| UdpSocket::bind("127.0.0.1:0").unwrap()).collect();
    let say = |round: usize| {
        for (n, stranger) in strangers.iter().enumerate() {
            // A full queue of the system loses it, as any network may.
            let _ = stranger.send_to(&hello(round * 1_000 + n), at);
        }
    };
    say(0);
    let over = AtomicBool::new(false);
    let sent = std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut round = 1;
            while !over.load(Ordering::Relaxed) {
                say(round);
                round += 1;
                std::thread::yield_now();
                program::pause(std::time::Duration::from_millis(20));
            }
        });
        // Also when it fails: otherwise the thread, and with it the test, would never end.
        let _over = SetWhenDropped(&over);
        send(&place, at, "shared/film")
    });
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    assert_same(&place.path("inbox/film"), &bytes);
    assert_eq!(names(&place), ["film"]);
    drop(running);
}

#[test]
fn a_folder_takes_no_more_than_it_may_hold() {
    let place = Place::new();
    place.share("film", 300_000);
    let (mut running, at) = receiving(&place, &["--inbox-limit", "400k"]);
    assert!(send(&place, at, "shared/film").status.success());
    running.event("received");
    std::fs::write(place.path("more"), vec![7; 200_000]).unwrap();
    let refused = send(&place, at, "more");
    complains(&refused, refused.status.code().unwrap(), "no room");
    assert!(!refused.status.success());
    let told = running.event("failed")["what"].as_str().unwrap().to_owned();
    assert!(told.contains("full") && !told.contains("next:"), "{told}");
    assert_eq!(names(&place), ["film"]);
    // A program that empties it makes room.
    std::fs::remove_file(place.path("inbox/film")).unwrap();
    assert!(send(&place, at, "more").status.success());
}
