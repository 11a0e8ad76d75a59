//! Pages reach each other through the servent, and no other client that way.

use std::net::SocketAddr;
use std::thread::spawn;
use std::time::Duration;

use crate::common::{start, until};
use crate::websocket::{Page, admitting, beside};
use servent::driver::{Handle, ServentOptions};
use servent::{RelayLimits, Relayed};
use tungstenite::Message;
use tungstenite::protocol::frame::coding::CloseCode;

const PAGE: &str = "240.1.2.3:5000";
const SECRET: &str = "00112233445566778899aabbccddeeff";

fn listen(at: SocketAddr, page: &str) -> Result<Page, u16> {
    Page::try_open(at, &format!("/listen/{page}/{SECRET}"))
}

/// Calls a page; 0 when it does not answer.
fn call(at: SocketAddr, page: &str) -> Result<Page, u16> {
    ring(at, "call", page)
}

/// The same for bytes (`call`), or to arrange another way (`signal`).
fn ring(at: SocketAddr, what: &str, page: &str) -> Result<Page, u16> {
    let mut caller = Page::try_open(at, &format!("/{what}/{page}"))?;
    match caller.socket.read() {
        Ok(Message::Binary(answered)) if answered.is_empty() => Ok(caller),
        Ok(Message::Close(_)) => Err(0),
        other => panic!("{other:?}"),
    }
}

/// Answers the next call that the line tells of.
fn take(at: SocketAddr, line: &mut Page) -> Page {
    let told = line.line();
    let ticket = told.strip_prefix("CALL ").and_then(|rest| rest.split(' ').next()).unwrap();
    Page::try_open(at, &format!("/take/{ticket}")).unwrap()
}

/// Calls, and answers that from another thread.
fn connect(at: SocketAddr, line: &mut Page) -> (Page, Page) {
    let calling = spawn(move || call(at, PAGE));
    let answer = take(at, line);
    (calling.join().unwrap().unwrap(), answer)
}

async fn servent(limits: RelayLimits) -> (Handle, SocketAddr, tempfile::TempDir) {
    let state = tempfile::tempdir().unwrap();
    let mut options = admitting(ServentOptions::under(state.path()));
    options.relay = limits;
    let servent = start(options).await;
    let at = servent.addr().unwrap();
    (servent, at, state)
}

fn relayed(servent: &Handle) -> Relayed {
    servent.relayed().unwrap()
}

/// Neither calls nor connections remain.
async fn idle(servent: &Handle) {
    until("nothing is left", async || {
        let relayed = relayed(servent);
        relayed.calls == 0
            && relayed.pages == 0
            && servent.view(1, 0).await.unwrap().connections == 0
    })
    .await;
}

/// WB-3, WB-4
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn bytes_pass_both_ways_and_the_end_of_one_is_the_end_of_the_other() {
    let (servent, at, _state) = servent(RelayLimits::default()).await;
    beside(move || {
        let mut line = listen(at, PAGE).unwrap();
        for caller_ends in [true, false] {
            let (mut caller, mut called) = connect(at, &mut line);
            let large: Vec<u8> = (0..3_000_000_u32).map(|n| (n % 251) as u8).collect();
            let sent = large.clone();
            let sending = spawn(move || {
                for piece in sent.chunks(100_000) {
                    called.send(piece);
                }
                called
            });
            caller.send(b"a request");
            assert!(caller.take(large.len()) == large);
            let mut called = sending.join().unwrap();
            assert_eq!(called.take(9), b"a request");
            let (mut first, mut second) =
                if caller_ends { (caller, called) } else { (called, caller) };
            first.socket.close(None).unwrap();
            second.closed();
        }
    })
    .await;
    idle(&servent).await;
    let relayed = relayed(&servent);
    assert_eq!((relayed.answered, relayed.bytes), (2, 2 * 3_000_009));
    servent.stop().await.unwrap();
}

/// WB-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_page_is_put_through_to_one_that_did_not_ask() {
    let limits = RelayLimits { answer: Duration::from_millis(300), ..RelayLimits::default() };
    let (servent, at, _state) = servent(limits).await;
    beside(move || {
        let refused = |path: &str| Page::try_open(at, path).err();
        assert_eq!(refused("/call/240.9.9.9:5000"), Some(404), "an address no page has");
        assert_eq!(refused("/signal/240.9.9.9:5000"), Some(404), "the same for a signal");
        assert_eq!(refused("/call/127.0.0.1:6346"), Some(404), "an address of this machine");
        assert_eq!(refused(&format!("/take/{SECRET}")), Some(404), "a ticket no page was given");
        assert_eq!(refused("/take/../listen"), Some(404));
        assert_eq!(refused("/listen/10.0.0.1:5000/00112233445566778899aabbccddeeff"), Some(404));
        let mut line = listen(at, PAGE).unwrap();
        let other = "ffeeddccbbaa99887766554433221100";
        assert_eq!(
            refused(&format!("/listen/{PAGE}/{other}")),
            Some(409),
            "another page's address"
        );
        // A call that is not answered, and its ticket after that.
        assert_eq!(call(at, PAGE).err(), Some(0));
        let told = line.line();
        let ticket = told.split(' ').nth(1).unwrap();
        assert_eq!(refused(&format!("/take/{ticket}")), Some(404), "too late");
        // A ticket is good for one answer.
        let calling = spawn(move || call(at, PAGE));
        let told = line.line();
        let path = format!("/take/{}", told.split(' ').nth(1).unwrap());
        let _answer = Page::try_open(at, &path).unwrap();
        assert_eq!(refused(&path), Some(404), "twice");
        assert!(calling.join().unwrap().is_ok());
        // The one who has the secret takes its address back; the old line ends, and
        // who still reads it learns why.
        let _again = listen(at, PAGE).unwrap();
        assert_eq!(line.line(), "MOVED\n");
        assert_eq!(line.closed(), CloseCode::Library(4001));
    })
    .await;
    idle(&servent).await;
    servent.stop().await.unwrap();
}

/// WB-4, WB-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pages_arrange_a_way_of_their_own_and_pass_nothing_else_there() {
    let limits = RelayLimits { signal_bytes: 1_000, ..RelayLimits::default() };
    let (servent, at, _state) = servent(limits).await;
    beside(move || {
        let mut line = listen(at, PAGE).unwrap();
        for much in [false, true] {
            let calling = spawn(move || ring(at, "signal", PAGE));
            let told = line.line();
            let mut words = told.split(' ');
            assert_eq!(words.next(), Some("SIGNAL"));
            let path = format!("/take/{}", words.next().unwrap());
            let peer: SocketAddr = words.next().unwrap().trim().parse().unwrap();
            assert!(peer.ip().is_loopback(), "a called page learns the caller");
            let mut called = Page::try_open(at, &path).unwrap();
            assert_eq!(Page::try_open(at, &path).err(), Some(404), "a signal is answered once");
            let mut caller = calling.join().unwrap().unwrap();
            caller.send(b"an offer");
            assert_eq!(called.take(8), b"an offer");
            called.send(b"an answer");
            assert_eq!(caller.take(9), b"an answer");
            if much {
                caller.send(&[b'x'; 1_000]);
                called.take(1_000);
                caller.closed();
                called.closed();
            }
        }
    })
    .await;
    idle(&servent).await;
    let relayed = relayed(&servent);
    assert_eq!((relayed.signalled, relayed.answered, relayed.bytes), (2, 0, 0));
    assert_eq!(relayed.refused, 3, "two answers and what was too much");
    servent.stop().await.unwrap();
}

/// WB-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_page_cannot_have_everything() {
    let limits = RelayLimits {
        pages_per_ip: 3,
        calls_per_page: 2,
        bytes: 100_000,
        answer: Duration::from_secs(2),
        ..RelayLimits::default()
    };
    let (servent, at, _state) = servent(limits).await;
    beside(move || {
        let mut line = listen(at, PAGE).unwrap();
        let others: Vec<_> =
            (0..2).map(|n| listen(at, &format!("240.0.0.{n}:5000")).unwrap()).collect();
        for n in 2..30 {
            assert_eq!(listen(at, &format!("240.0.0.{n}:5000")).err(), Some(503));
        }
        let two = (connect(at, &mut line), connect(at, &mut line));
        for _ in 0..20 {
            assert_eq!(call(at, PAGE).err(), Some(503));
        }
        // More bytes than one call may have end it.
        let ((mut caller, mut called), rest) = two;
        let sending =
            spawn(move || while called.socket.send(Message::binary(vec![0; 10_000])).is_ok() {});
        caller.take(100_000);
        caller.closed();
        drop(caller);
        sending.join().unwrap();
        // Rules are those of every WebSocket, between pages too.
        let (mut caller, _called) = rest;
        caller.socket.send(Message::text("hello")).unwrap();
        assert_eq!(caller.closed(), CloseCode::Unsupported);
        // A page that talks on its line, which is for listening, loses it.
        line.send(&[b'x'; 10_000]);
        line.closed();
        drop(others);
    })
    .await;
    idle(&servent).await;
    assert!(relayed(&servent).refused >= 48);
    servent.stop().await.unwrap();
}

/// WB-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_does_not_read_holds_up_no_other() {
    let (servent, at, _state) = servent(RelayLimits::default()).await;
    beside(move || {
        let mut line = listen(at, PAGE).unwrap();
        let (mut idle, mut flooding) = connect(at, &mut line);
        let flood = spawn(move || {
            // Until the buffers between them are full, then it waits.
            for _ in 0..300 {
                if flooding.socket.send(Message::binary(vec![0; 100_000])).is_err() {
                    break;
                }
            }
        });
        idle.take(1); // It has begun, and this one reads no more.
        let (mut caller, mut called) = connect(at, &mut line);
        caller.send(b"hello");
        assert_eq!(called.take(5), b"hello");
        drop(idle);
        flood.join().unwrap();
    })
    .await;
    idle(&servent).await;
    servent.stop().await.unwrap();
}

/// WB-5, WB-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_host_says_something_and_puts_a_page_out() {
    let (servent, at, _state) = servent(RelayLimits::default()).await;
    let (mut line, mut page) = beside(move || {
        let mut page = Page::open(at);
        page.send(b"GET /get/0/nothing HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(page.head().starts_with("HTTP/1.1 404 "));
        (listen(at, PAGE).unwrap(), page)
    })
    .await;
    servent.tell_pages("SAY look\nhere");
    assert!(servent.put_out("127.0.0.1".parse().unwrap()));
    beside(move || {
        assert_eq!(line.line(), "SAY lookhere\n");
        assert_eq!(line.line(), "OUT\n");
        line.closed();
        assert!(page.socket.read().is_err(), "its connection is cut");
        assert_eq!(Page::try_open(at, "").err(), Some(403));
        assert_eq!(listen(at, PAGE).err(), Some(403));
        assert_eq!(call(at, PAGE).err(), Some(403));
    })
    .await;
    assert_eq!(servent.out(), 1);
    servent.let_in();
    beside(move || drop((Page::open(at), listen(at, PAGE).unwrap()))).await;
    idle(&servent).await;
    servent.stop().await.unwrap();
}

/// WB-6
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_sockets_of_one_address_are_as_many_as_allowed() {
    let (servent, at, _state) = servent(RelayLimits::default()).await;
    let most = ServentOptions::without_folders().node.limits.connections_per_ip as usize;
    beside(move || {
        let mut held = Vec::new();
        for _ in 0..1_000 {
            // Those that are too many are closed, before or soon after they open.
            held.extend(Page::may_open(at));
        }
        let live = held.iter_mut().filter_map(|page| page.is_served().then_some(())).count();
        assert!((1..=most).contains(&live), "{live} are served");
        drop(held);
        // There is room again.
        while !Page::may_open(at).is_some_and(|mut page| page.is_served()) {}
    })
    .await;
    idle(&servent).await;
    servent.stop().await.unwrap();
}
