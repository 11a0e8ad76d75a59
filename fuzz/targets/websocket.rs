//! Strangers at the WebSocket door: the handshake, frames and masks, and pages
//! that are put through to each other. What is read does not depend on how the
//! bytes were cut, it is what a second reading finds, and no limit is passed.
#![no_main]

// Not all of the door is of use here.
#[allow(dead_code)]
#[path = "../../native/src/clock.rs"]
mod clock;
#[path = "../../native/src/dice.rs"]
mod dice;
#[allow(dead_code)]
#[path = "../../native/src/net/websocket/door/mod.rs"]
mod door;
#[path = "../support/frames.rs"]
mod frames;
#[path = "../support/pages.rs"]
mod pages;
// The clock and the dice are of the system.
#[allow(dead_code)]
#[path = "../../native/src/sys/linux/machine.rs"]
mod sys;

use std::collections::VecDeque;
use std::io::{self, Read, Write};

use door::frames::{Frames, MESSAGE};
use door::handshake::{FirstBytes, OpeningBytes, Origins};
use door::relay::Wish;
use frames::{End, ParsedFrames};
use servent_core::rng::Rng;
use servent_core::wire::http::{HeadLimits, RequestHead};

/// A page that is admitted wherever it was opened.
const ALLOWED: &str = "http://a";
/// The port of our own page.
const PORT: u16 = 6_380;
const LIMITS: HeadLimits = HeadLimits { bytes: 8_192, lines: 128 };
/// The code of a goodbye to a page that did not (RFC 6455 §7.4.1).
const GOODBYE: u16 = 1_000;
/// Codes of a goodbye to a page that broke the rules: which one, its text, its size.
const BROKEN: [u16; 3] = [1_002, 1_003, 1_009];

libfuzzer_sys::fuzz_target!(|data: &[u8]| {
    let Some((first, rest)) = data.split_first() else { return };
    match first % 4 {
        0 => pages::run(rest),
        // A connection from its first byte, or from its first frame.
        1 => connection(rest, first.wrapping_div(4)),
        _ => both_ways(rest, first.wrapping_div(4)),
    }
});

/// A socket in memory.
#[derive(Default)]
struct Socket {
    incoming: VecDeque<Vec<u8>>,
    outgoing: Vec<u8>,
    /// Bytes that it accepts before its writer has to wait.
    room: usize,
}

impl Read for Socket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(mut next) = self.incoming.pop_front() else { return Ok(0) };
        if next.is_empty() {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        let n = next.len().min(buffer.len());
        buffer[..n].copy_from_slice(&next[..n]);
        next.drain(..n);
        if !next.is_empty() {
            self.incoming.push_front(next);
        }
        Ok(n)
    }
}

impl Write for Socket {
    fn write(&mut self, data: &[u8]) -> io::Result<usize> {
        let n = data.len().min(self.room);
        if n == 0 {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        self.room -= n;
        self.outgoing.extend(&data[..n]);
        Ok(n)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What a connection's first bytes are, and what follows.
fn connection(data: &[u8], dice: u8) {
    let whole = enter(std::iter::once(data));
    let mut rng = Rng::new(dice.into());
    let cut = enter(pieces(data, &mut rng).iter().map(Vec::as_slice));
    let (Some((used, wish)), Some((again, same))) = (&whole, &cut) else {
        assert_eq!(whole, cut, "cut, it is something else");
        return;
    };
    assert_eq!((used, wish), (again, same), "cut, it is something else");
    admitted(&data[..*used], wish);
    both_ways(&data[*used..], dice);
}

/// What an upgrade wants, and where its head ends; `None` for whatever is none.
fn enter<'a>(mut pieces: impl Iterator<Item = &'a [u8]>) -> Option<(usize, Wish)> {
    let origins = Origins { ports: vec![PORT], allowed: vec![ALLOWED.into()] };
    let (mut entry, mut given) = (FirstBytes::default(), Vec::<u8>::new());
    loop {
        let piece = pieces.next()?;
        given.extend(piece);
        match entry.read(piece.to_vec(), &origins) {
            OpeningBytes::More(more) => entry = more,
            OpeningBytes::Other(bytes) => {
                assert_eq!(bytes, given, "the node gets what was sent");
                return None;
            }
            OpeningBytes::Refused(reply) => {
                assert!(reply.starts_with(b"HTTP/1.1 4") && reply.len() < 300);
                return None;
            }
            OpeningBytes::Upgrade(upgrade) => {
                let reply = String::from_utf8(upgrade.reply).expect("a reply is text");
                assert!(reply.starts_with("HTTP/1.1 101 ") && reply.ends_with("\r\n\r\n"));
                assert_eq!(reply.matches("\r\n\r\n").count(), 1, "{reply:?}");
                assert!(reply.to_lowercase().contains("sec-websocket-protocol: servent.1\r\n"));
                return Some((head_of(&given), upgrade.wish));
            }
        }
    }
}

/// Bytes to the end of the first empty line, whatever ends the lines.
fn head_of(given: &[u8]) -> usize {
    let ends = (0..given.len()).filter(|at| given[*at] == b'\n');
    let mut empty = ends.filter_map(|at| match &given[at + 1..] {
        [b'\n', ..] => Some(at + 2),
        [b'\r', b'\n', ..] => Some(at + 3),
        _ => None,
    });
    empty.next().expect("a head ends with an empty line")
}

/// Checks that no client was let in that another reading of the head would refuse.
fn admitted(head: &[u8], wish: &Wish) {
    match wish {
        Wish::Servent => {}
        Wish::Listen(at, secret) => assert!(pages::is_page(*at) && pages::is_secret(secret)),
        Wish::Call(_, at) => assert!(pages::is_page(*at)),
        Wish::Take(ticket) => assert!(pages::is_secret(ticket)),
    }
    let Ok(Some((head, _))) = RequestHead::parse(head, &LIMITS) else { return };
    let header = |name: &str| {
        let mut all = head.headers.iter().filter(|(n, _)| n.eq_ignore_ascii_case(name));
        (all.next().map(|(_, value)| value.to_owned()), all.next().is_none())
    };
    let path = head.target.split(['?', '#']).next().unwrap_or_default();
    assert_eq!(Wish::from_path(path).as_ref(), Some(wish), "{path}");
    let ((Some(origin), true), (Some(host), true)) = (header("origin"), header("host")) else {
        return;
    };
    let ours = origin.strip_prefix("http://").and_then(|o| o.strip_suffix(&format!(":{PORT}")));
    let is_ours = ours.is_some_and(|name| {
        let address = name.trim_matches(['[', ']']).parse::<std::net::IpAddr>().is_ok();
        let called = host.to_lowercase();
        (address || name.eq_ignore_ascii_case("localhost"))
            && called
                .strip_prefix(&name.to_lowercase())
                .is_some_and(|port| port.is_empty() || port.starts_with(':'))
    });
    assert!(origin == ALLOWED || is_ours, "{origin} at {host}");
}

/// The bytes in pieces.
fn pieces(data: &[u8], rng: &mut Rng) -> Vec<Vec<u8>> {
    let (mut pieces, mut rest) = (Vec::new(), data);
    while !rest.is_empty() {
        let (now, later) = rest.split_at(rng.between(1, rest.len().min(64) as u64) as usize);
        pieces.push(now.to_vec());
        rest = later;
    }
    pieces
}

/// A stranger's frames, while we say something, too.
fn both_ways(data: &[u8], dice: u8) {
    let told = frames::read(data, true, MESSAGE);
    let mut rng = Rng::new(dice.into());
    for early in [data.len(), 0, rng.below(data.len() as u64 + 1) as usize] {
        let (early, rest) = data.split_at(early);
        let mut socket = Socket::default();
        for piece in pieces(rest, &mut rng) {
            socket.incoming.push_back(piece);
            if rng.chance(1, 4) {
                socket.incoming.push_back(Vec::new()); // Later.
            }
        }
        hear(Frames::new(early.to_vec()), socket, &told, (&mut rng, data.len()));
    }
}

fn hear(mut frames: Frames, mut socket: Socket, told: &ParsedFrames, (rng, sent): (&mut Rng, usize)) {
    let (mut heard, mut ours) = (Vec::<u8>::new(), Vec::<u8>::new());
    let mut buffer = [0; 100];
    let mut goes = true;
    for round in 0.. {
        assert!(round < 10 * (sent + 100), "it never ends");
        match frames.read(&mut socket, &mut buffer) {
            Ok(_) if frames.is_refused() => break,
            Ok(0) => break,
            Ok(n) => heard.extend(&buffer[..n]),
            Err(why) => assert_eq!(why.kind(), io::ErrorKind::WouldBlock, "{why}"),
        }
        socket.room += rng.below(40) as usize;
        if goes && ours.len() < 1_000 {
            let say = vec![round as u8; rng.below(60) as usize];
            match frames.write(&mut socket, &say) {
                Ok(n) => ours.extend(&say[..n]),
                Err(why) => goes = why.kind() == io::ErrorKind::WouldBlock,
            }
        }
    }
    assert_eq!(heard, told.binary, "what was heard, of {told:?}");
    let wrong = frames.is_refused();
    match told.end {
        End::More => assert!(!wrong, "{told:?} is not wrong"),
        End::Wrong => assert!(wrong, "{told:?} is wrong"),
        End::Close(_) | End::Text => {}
    }
    frames.farewell(&mut socket, GOODBYE);
    socket.room = usize::MAX;
    for _ in 0..4 {
        let _ = frames.flush(&mut socket);
    }
    let said = frames::read(&socket.outgoing, false, MESSAGE);
    assert!(!matches!(said.end, End::Wrong | End::Text), "we said {:?}", socket.outgoing);
    assert!(said.binary.len() <= ours.len() && ours.starts_with(&said.binary));
    // A page that has said goodbye has heard ours, whatever follows.
    if wrong && !matches!(told.end, End::Close(_)) {
        let End::Close(Some(code)) = said.end else { panic!("it is not told: {said:?}") };
        assert!(BROKEN.contains(&code), "{code}");
    }
    // Each frame of theirs has at most one answer.
    assert!(socket.outgoing.len() <= ours.len() * 11 + sent + 200, "it is an amplifier");
}
