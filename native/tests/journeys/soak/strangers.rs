//! What strangers do to a servent that does not want to know them.

use std::io::{Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use servent_core::id::{FileIndex, Guid};
use servent_core::rng::Rng;
use servent_core::wire::gnutella::{
    HitBuilder, MessageBody, OverlayMessage, Ping, Push, Qrp, Quality,
};
use socket2::{Domain, Socket, Type};

use crate::program::pause;
use crate::program::peer::{Peer, guid, query};

/// What one stranger does until it is over; the number tells strangers apart.
pub(super) type Flood = fn(SocketAddr, u64, &AtomicBool);

/// Against who shares.
pub(super) const TO_A_SHARE: [(&str, Flood); 11] = [
    ("slow heads", half_heads),
    ("requests for nothing", not_found),
    ("requests for a slot", slots),
    ("queries", queries),
    ("pings, hits and pushes", answers),
    ("keyword tables", keyword_tables),
    ("datagrams", datagrams),
    ("connections", connections),
    ("bad bytes", bad_bytes),
    ("WebSocket upgrades", upgrades),
    ("WebSockets, one after another", web_sockets),
];

/// Against the lab of a servent that shares.
pub(super) const TO_A_LAB: [(&str, Flood); 2] =
    [("slow heads at the lab", half_heads), ("connections to the lab", connections)];

/// Against who receives files.
pub(super) const TO_A_RECEIVER: [(&str, Flood); 1] = [("first words", first_words)];

/// A connection from another address of this machine.
fn from(at: SocketAddr, stranger: u64) -> Option<TcpStream> {
    let last = u8::try_from(stranger + 2).unwrap();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).ok()?;
    socket.bind(&SocketAddr::from(([127, 0, 0, last], 0)).into()).ok()?;
    socket.connect_timeout(&at.into(), Duration::from_secs(5)).ok()?;
    let stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_millis(500))).ok()?;
    stream.set_write_timeout(Some(Duration::from_millis(500))).ok()?;
    Some(stream)
}

fn half_heads(at: SocketAddr, stranger: u64, over: &AtomicBool) {
    let mut held = Vec::new();
    while !over.load(Relaxed) && held.len() < 200 {
        let Some(mut stream) = from(at, stranger) else { return };
        if stream.write_all(b"GET /get/0/big HTTP/1.1\r\nHost: ").is_ok() {
            held.push(stream);
        }
    }
    while !over.load(Relaxed) {
        pause(Duration::from_millis(20));
    }
}

/// Requests on one connection, as fast as they are answered.
fn ask(at: SocketAddr, stranger: u64, over: &AtomicBool, target: &str) {
    let Some(mut stream) = from(at, stranger) else { return };
    let request = format!("GET {target} HTTP/1.1\r\nHost: a\r\nX-Queue: 1.0\r\n\r\n");
    let mut sink = [0; 16_384];
    while !over.load(Relaxed) && stream.write_all(request.as_bytes()).is_ok() {
        if !stream.read(&mut sink).is_ok_and(|n| n > 0) {
            return;
        }
    }
}

fn not_found(at: SocketAddr, stranger: u64, over: &AtomicBool) {
    ask(at, stranger, over, "/get/7/nothing");
}

fn slots(at: SocketAddr, _: u64, over: &AtomicBool) {
    ask(at, 0, over, "/get/0/big");
}

fn connections(at: SocketAddr, stranger: u64, _: &AtomicBool) {
    drop(from(at, stranger));
}

/// A neighbour that sends a hundred messages after the other, by their numbers, and
/// reads what comes.
fn neighbour(at: SocketAddr, stranger: u64, over: &AtomicBool, say: impl Fn(u64) -> Vec<u8>) {
    let mut peer = Peer::join(at, "");
    peer.stream.set_write_timeout(Some(Duration::from_millis(500))).unwrap();
    let reading = peer.stream.try_clone().unwrap();
    reading.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    std::thread::scope(|scope| {
        scope.spawn(move || {
            rustix::process::nice(19).unwrap();
            let mut sink = [0; 65_536];
            while !over.load(Relaxed) && (&reading).read(&mut sink).map_or(true, |n| n > 0) {}
        });
        let mut n = stranger << 32;
        while !over.load(Relaxed) {
            let many: Vec<u8> = (0..100).flat_map(|more| say(n + more)).collect();
            n += 100;
            if !peer.send(&many) {
                return;
            }
        }
    });
}

fn queries(at: SocketAddr, stranger: u64, over: &AtomicBool) {
    neighbour(at, stranger, over, |n| query(n, "rare thing").to_bytes());
}

/// Pings, answers to questions that were not asked, and pushes to absent servents.
fn answers(at: SocketAddr, stranger: u64, over: &AtomicBool) {
    let nowhere = SocketAddrV4::new(Ipv4Addr::new(240, 0, 0, 1), 6_346);
    let absent = Guid([9; 16]);
    let mut hit = HitBuilder::new(nowhere, 1, (*b"TEST", Quality::default()), absent, 4_096);
    assert!(hit.add(FileIndex(1), 10, "an answer", None));
    let hit = MessageBody::Hit(hit.finish().unwrap());
    let index = FileIndex(1);
    let push = Push { servent: absent, index, at: nowhere, ggep: Default::default() };
    let bodies = [MessageBody::Ping(Ping::default()), hit, MessageBody::Push(push)];
    neighbour(at, stranger, over, |n| {
        let body = bodies[n as usize % bodies.len()].clone();
        OverlayMessage { guid: guid(n), ttl: 5, hops: 1, body }.to_bytes()
    });
}

/// The largest keyword tables, each forgotten for the next.
fn keyword_tables(at: SocketAddr, stranger: u64, over: &AtomicBool) {
    neighbour(at, stranger, over, |n| {
        let body = MessageBody::Qrp(Qrp::Reset { length: 1 << 20, infinity: 7 });
        OverlayMessage { guid: guid(n), ttl: 1, hops: 0, body }.to_bytes()
    });
}

/// How the words of each protocol begin, and how no protocol's do.
const BEGINNINGS: [&[u8]; 7] = [
    b"GET /get/0/big HTTP/1.1\r\nHost: a\r\n",
    b"GNUTELLA CONNECT/0.6\r\nX-Try: ",
    b"GIV 0:00112233445566778899aabbccddeeff/",
    b"QUEUE ",
    b"12[",
    b"\x16\x03\x01\x02\x00\x01",
    b"",
];

/// What begins well and ends badly.
fn bad_bytes(at: SocketAddr, stranger: u64, over: &AtomicBool) {
    let mut dice = Rng::new(stranger);
    let mut sink = [0; 4_096];
    while !over.load(Relaxed) {
        let Some(mut stream) = from(at, stranger) else { return };
        let beginning = BEGINNINGS[dice.below(BEGINNINGS.len() as u64) as usize];
        let junk: [u8; 1_000] = dice.bytes();
        // It may have been refused by now.
        let _ = stream.write_all(&[beginning, &junk, b"\r\n\r\n"].concat());
        let _ = stream.shutdown(std::net::Shutdown::Write);
        while stream.read(&mut sink).is_ok_and(|n| n > 0) {}
        pause(Duration::from_millis(1));
    }
}

/// A WebSocket that was opened; `None` when that was refused.
fn upgraded(at: SocketAddr, stranger: u64, path: &str) -> Option<TcpStream> {
    let mut stream = from(at, stranger)?;
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {at}\r\nUpgrade: websocket\r\n\
         Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
         Sec-WebSocket-Protocol: servent.1\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).ok()?;
    let mut reply = [0; 512];
    let n = stream.read(&mut reply).ok()?;
    reply[..n].starts_with(b"HTTP/1.1 101 ").then_some(stream)
}

/// WebSockets that are opened and left, to the servent, to pages that are not
/// there, and by pages that want to be called.
fn upgrades(at: SocketAddr, stranger: u64, over: &AtomicBool) {
    for n in 0_u64.. {
        if over.load(Relaxed) {
            return;
        }
        let path = match n % 3 {
            0 => String::from("/servent"),
            1 => format!("/servent/call/240.0.0.{}:5000", n % 250),
            _ => format!("/servent/listen/240.0.{stranger}.{}:5000/{n:032x}", n % 250),
        };
        drop(upgraded(at, stranger, &path));
        pause(Duration::from_millis(1));
    }
}

/// Frames of all kinds through WebSockets that are held as long as they may be.
fn web_sockets(at: SocketAddr, stranger: u64, over: &AtomicBool) {
    let ping = [&[0x89, 0x80 | 100, 0, 0, 0, 0][..], &[7; 100]].concat();
    let empty = [0x82, 0x80, 0, 0, 0, 0];
    let nothing = b"GET /get/7/nothing HTTP/1.1\r\nHost: a\r\n\r\n";
    let asks = [&[0x82, 0x80 | nothing.len() as u8, 0, 0, 0, 0][..], nothing].concat();
    let many = [&ping[..], &empty, &asks, &ping].concat();
    let mut sink = [0; 16_384];
    let Some(mut stream) = upgraded(at, stranger, "/servent") else { return };
    while !over.load(Relaxed) && stream.write_all(&many).is_ok() {
        if !stream.read(&mut sink).is_ok_and(|n| n > 0) {
            return;
        }
    }
}

/// Lets pass the times of a stranger who sends 4 000 times a second: what fills the line
/// keeps every client out, whatever the program does. True when it is over.
fn paced(n: u64, over: &AtomicBool) -> bool {
    if n.is_multiple_of(20) {
        pause(Duration::from_millis(5));
    }
    over.load(Relaxed)
}

/// Pings of the overlay and junk, to the port of the share.
fn datagrams(at: SocketAddr, stranger: u64, over: &AtomicBool) {
    let Ok(socket) = UdpSocket::bind("127.0.0.1:0") else { return };
    let mut ping = vec![0x5a; 16];
    ping.extend([0, 1, 0, 0, 0, 0, 0]);
    for n in 0.. {
        if paced(n, over) {
            return;
        }
        ping[..8].copy_from_slice(&(stranger << 40 | n).to_le_bytes());
        // A full queue of the system loses it, as any network may.
        let _ = socket.send_to(&ping, at);
        let _ = socket.send_to(&ping[..7], at);
    }
}

/// First words of senders that never say more.
fn first_words(at: SocketAddr, stranger: u64, over: &AtomicBool) {
    let Ok(socket) = UdpSocket::bind("127.0.0.1:0") else { return };
    for n in 0.. {
        if paced(n, over) {
            return;
        }
        let conn = (stranger << 40 | n).to_be_bytes();
        // A full queue of the system loses it, as any network may.
        let _ = socket.send_to(&[&[0x22], &conn[..], &[1, 0, 2 << 3, 0, 2]].concat(), at);
    }
}
