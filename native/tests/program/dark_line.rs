//! A line between sender and receiver that is dark for a while.

#![expect(clippy::disallowed_methods, reason = "it counts what passes in a time")]

use crate::program;

use std::net::{SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use program::{Place, Running, assert_same, noise, pause, receiving};

const LOOPBACK: &str = "127.0.0.1:0";
/// How long the line waits for the next datagram of one direction.
const TURN: Duration = Duration::from_millis(1);

/// Passes on datagrams between a sender and a receiver, unless it is dark.
struct Line {
    at: SocketAddr,
    dark: Arc<AtomicBool>,
    /// Bytes passed on to the receiver.
    passed: Arc<AtomicU64>,
    over: Arc<AtomicBool>,
}

impl Line {
    fn to(receiver: &str) -> Self {
        let [here, there] = [(); 2].map(|()| UdpSocket::bind(LOOPBACK).unwrap());
        there.connect(receiver).unwrap();
        for socket in [&here, &there] {
            socket.set_read_timeout(Some(TURN)).unwrap();
        }
        let at = here.local_addr().unwrap();
        let (dark, passed, over) = <(Arc<AtomicBool>, Arc<AtomicU64>, Arc<AtomicBool>)>::default();
        let line = Self { at, dark, passed, over };
        let (dark, passed, over) = (line.dark.clone(), line.passed.clone(), line.over.clone());
        thread::spawn(move || {
            let (mut buffer, mut sender) = ([0; 65_536], None);
            while !over.load(Ordering::Relaxed) {
                let dark = || dark.load(Ordering::Relaxed);
                while let Ok((bytes, from)) = here.recv_from(&mut buffer) {
                    sender = Some(from);
                    if !dark() && there.send(&buffer[..bytes]).is_ok() {
                        passed.fetch_add(bytes as u64, Ordering::Relaxed);
                    }
                    if bytes < 1_000 {
                        break;
                    }
                }
                while let (Ok(bytes), Some(sender)) = (there.recv(&mut buffer), sender) {
                    if !dark() {
                        here.send_to(&buffer[..bytes], sender).unwrap();
                    }
                }
            }
        });
        line
    }

    fn set_dark(&self, dark: bool) {
        self.dark.store(dark, Ordering::Relaxed);
    }

    /// Bytes that pass from now on within so long, to the receiver.
    fn passes(&self, time: Duration) -> u64 {
        let before = self.passed.load(Ordering::Relaxed);
        pause(time);
        self.passed.load(Ordering::Relaxed) - before
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

/// A transfer to a receiver of one.
struct DarkTransfer {
    place: Place,
    receiver: Running,
    sender: Running,
    line: Line,
}

/// A transfer at this rate over a line that was dark for a while, and is not any more.
fn darkened(bytes: &[u8], rate: &str, seconds: u64) -> DarkTransfer {
    let place = Place::new();
    std::fs::write(place.path("film"), bytes).unwrap();
    let (receiver, at) = receiving(&place, &["--once"]);
    let line = Line::to(&at);
    let to = line.at.to_string();
    let send = ["send", "--open", &to, "film", "--json", "--limit-rate", rate];
    let mut sender = Running::start(place.servent(&send));
    sender.event("progress");
    line.set_dark(true);
    pause(Duration::from_secs(seconds));
    line.set_dark(false);
    DarkTransfer { place, receiver, sender, line }
}

/// What a limit did not let go while the line was dark does not go all at once afterwards.
#[test]
fn a_limit_saves_up_nothing_while_the_line_is_dark() {
    const RATE: u64 = 500_000;
    let bytes = noise(6_000_000);
    let DarkTransfer { place, receiver, mut sender, line } = darkened(&bytes, "500k", 5);
    // The next question of the sender comes within two seconds.
    let (begun, before) = (Instant::now(), line.passed.load(Ordering::Relaxed));
    while line.passed.load(Ordering::Relaxed) < before + RATE / 10 {
        assert!(begun.elapsed() < Duration::from_secs(10), "nothing passes");
        pause(TURN);
    }
    let passed = line.passes(Duration::from_secs(1));
    assert!((RATE / 2..RATE * 5 / 4).contains(&passed), "{passed} bytes in a second");
    let sent = sender.event("sent");
    let rate = sent["rate"].as_u64().unwrap();
    assert!(rate <= RATE, "{sent}");
    assert!(sender.end().success() && receiver.end().success());
    assert_same(&place.path("in/film"), &bytes);
}

/// PA-8: the receiver of one transfer waits as long for its sender as that does for it.
#[test]
fn pa_8_a_minute_without_a_word_ends_no_receiver_of_one_transfer() {
    let bytes = noise(4_000_000);
    let DarkTransfer { place, receiver, mut sender, line: _line } = darkened(&bytes, "1M", 61);
    sender.event("sent");
    assert!(sender.end().success() && receiver.end().success());
    assert_same(&place.path("in/film"), &bytes);
}
