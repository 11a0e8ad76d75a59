//! When datagrams have arrived, by the clock that their round trips are measured with.

#![expect(clippy::disallowed_methods, reason = "it measures when a datagram was sent")]

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use servent::unicast::{Endpoint, EndpointOptions};
use servent::{Clock, TraceFile};
use servent_core::node::{Input, MessageInput};
use servent_core::trace::qlog::{Split, parse};
use servent_core::trace::tape::RecordingLine;

/// Datagrams that come while the endpoint has nothing else to do, and those that come while
/// it is at work.
const ALONE: usize = 100;
const BESIDE: usize = 1_000;
/// The work: so many datagrams at once, of so many bytes.
const WORK: (usize, usize) = (4, 8_000);
/// What the two clocks may drift apart meanwhile, in microseconds.
const DRIFT: i64 = 300;
/// No type of datagram: they are counted, recorded and dropped.
const STRANGE: u8 = 0xff;

/// Sends so many datagrams that say when they were sent.
fn send_dated(clock: Clock, count: usize, pause: Duration, to: SocketAddr) {
    let stranger = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
    for _ in 0..count {
        let mut datagram = vec![STRANGE];
        datagram.extend(clock.now().as_micros().to_be_bytes());
        stranger.send_to(&datagram, to).unwrap();
        std::thread::sleep(pause);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pa_1_no_datagram_has_arrived_before_it_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("arrivals.sqlog");
    let trace = Some(TraceFile { path: path.clone(), limit: 0, waits: true });
    let options = EndpointOptions { trace, ..EndpointOptions::default() };
    let endpoint = Endpoint::bind(([127, 0, 0, 1], 0).into(), options).await.unwrap();
    let at = endpoint.local_addr();
    let sent = tokio::task::spawn_blocking(move || {
        let clock = Clock::new();
        send_dated(clock, ALONE, Duration::from_millis(2), at);
        std::thread::scope(|scope| {
            let dated = scope.spawn(|| send_dated(clock, BESIDE, Duration::from_micros(200), at));
            let stranger = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
            while !dated.is_finished() {
                for _ in 0..WORK.0 {
                    stranger.send_to(&vec![STRANGE; WORK.1], at).unwrap();
                }
                std::thread::sleep(Duration::from_millis(40));
            }
        });
    });
    sent.await.unwrap();
    endpoint.shutdown().await.unwrap();
    let recording = std::fs::read(path).unwrap();
    // How long each took, by two clocks that may differ by a constant.
    let mut took = Vec::new();
    for line in Split::new(&recording) {
        let Ok(RecordingLine::Input {
            at,
            input: Input::Messages(MessageInput::Datagrams { segment: 9, data, .. }),
        }) = parse(line)
        else {
            continue;
        };
        for datagram in data.chunks(9) {
            let sent = u64::from_be_bytes(datagram[1..].try_into().unwrap());
            took.push(at.as_micros() as i64 - sent as i64);
        }
    }
    assert!(took.len() > ALONE + BESIDE / 4, "{} arrived", took.len());
    let (alone, beside) = took.split_at(ALONE);
    let (least, earliest) = (alone.iter().min().unwrap(), beside.iter().min().unwrap());
    assert!(earliest + DRIFT >= *least, "{earliest} µs, and {least} µs at least");
}
