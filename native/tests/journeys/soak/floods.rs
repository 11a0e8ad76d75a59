//! Floods of strangers against a share and a receiver, while an honest client
//! measures how long it waits; and whether what they took is given back.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use super::Lane;
use super::outside::{Has, has, waits};
use crate::program::peer::{Peer, query};
use crate::program::{Running, Wire, assert_same, finish, pause, until};

/// What one stranger does until it is over; the number tells strangers apart.
type Flood = fn(SocketAddr, u64, &AtomicBool);

/// Strangers of each flood.
const STRANGERS: u64 = 4;

/// Against the share.
const FLOODS: [(&str, Flood); 6] = [
    ("half-sent heads", half_heads),
    ("requests for nothing", not_found),
    ("requests for a slot", slots),
    ("queries", queries),
    ("datagrams", datagrams),
    ("connections", connections),
];

pub(super) struct Flooded<'a> {
    lane: Lane<'a>,
    share: Running,
    receiver: (Running, SocketAddr),
    before: [Has; 2],
    /// When the last flood ended.
    since: Instant,
}

impl<'a> Flooded<'a> {
    pub(super) fn new(lane: Lane<'a>) -> Self {
        let place = &lane.place;
        place.share("rare thing", 1_000);
        std::fs::write(place.path("shared/big"), vec![7; 4_000_000]).unwrap();
        let words = ["share", "shared", "--json", "--state", "s", "--listen", "127.0.0.1:0"];
        let more = ["--lab", "off", "--slots", "4", "--set", "overlay.degree=0"];
        let mut share =
            Running::start(logged(place.servent(&[&words[..], &more].concat()), "share"));
        share.at = share.event("listening")["at"].as_str().unwrap().parse().unwrap();
        share.event("hashed");
        let words = ["receive", "--open", "--yes", "--json", "--listen", "127.0.0.1:0"];
        let receive = place.servent(&[&words[..], &["-o", "inbox/"]].concat());
        let mut receiver = Running::start(logged(receive, "receive"));
        let at = receiver.event("listening")["address"].as_str().unwrap().parse().unwrap();
        let before = [has(share.pid()), has(receiver.pid())];
        Self { lane, share, receiver: (receiver, at), before, since: Instant::now() }
    }

    pub(super) fn flood(&mut self) {
        let length = Duration::from_millis(if self.lane.soak.long() { 8_000 } else { 300 });
        let at = self.share.at;
        let honest = || {
            let reply = Wire::connect(at).get("/get/1/rare%20thing", &["Connection: close"]);
            assert_eq!((reply.status, reply.body.len()), (200, 1_000));
        };
        let quiet = waits(length, honest);
        self.before[0] = has(self.share.pid());
        println!("share, quiet: {quiet:.1?}, {:?}", self.before[0]);
        for (name, flood) in FLOODS {
            let during = while_it_lasts(at, flood, || waits(length, honest));
            println!("share, {name}: {during:.1?}, {:?}", has(self.share.pid()));
            self.bearable(name, quiet.1, during.1);
        }
        self.carry(length);
        self.since = Instant::now();
        for log in ["share.log", "receive.log"] {
            let size = std::fs::metadata(self.lane.place.path(log)).unwrap().len();
            println!("{log}: {size} bytes");
            assert!(size < 100_000, "{log} has {size} bytes");
        }
    }

    /// The same to whoever receives files.
    fn carry(&mut self, length: Duration) {
        let (place, at) = (&self.lane.place, self.receiver.1);
        let to = at.to_string();
        let honest = || {
            let mut send = place.servent(&["send", "--open", &to, "shared/rare thing", "-q"]);
            let sent = finish(send.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
            assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
            let whole = std::fs::read(place.path("shared/rare thing")).unwrap();
            assert_same(&place.path("inbox/rare thing"), &whole);
            std::fs::remove_file(place.path("inbox/rare thing")).unwrap();
        };
        let quiet = waits(length, honest);
        self.before[1] = has(self.receiver.0.pid());
        println!("receive, quiet: {quiet:.1?}, {:?}", self.before[1]);
        let during = while_it_lasts(at, first_words, || waits(length, honest));
        println!("receive, first words: {during:.1?}, {:?}", has(self.receiver.0.pid()));
        self.bearable("first words", quiet.1, during.1);
    }

    /// Whether honest clients hardly notice. That takes time to measure, and
    /// a machine with other things to do may be late by itself.
    fn bearable(&self, name: &str, quiet: Duration, during: Duration) {
        let bound = (quiet * 10).max(Duration::from_millis(500));
        let notices = self.lane.soak.long() && during > bound;
        assert!(!notices, "{name}: {during:?} instead of {quiet:?}");
    }

    /// Descriptors are all back; memory, a minute later, nearly so.
    pub(super) fn settled(self) {
        let pids = [self.share.pid(), self.receiver.0.pid()];
        for (pid, before) in pids.into_iter().zip(self.before) {
            until("descriptors are back", || has(pid).descriptors <= before.descriptors);
        }
        if !self.lane.soak.long() {
            return;
        }
        pause(Duration::from_secs(60).saturating_sub(self.since.elapsed()));
        for (pid, before) in pids.into_iter().zip(self.before) {
            let after = has(pid);
            println!("memory before {} KiB, a minute after {} KiB", before.memory, after.memory);
            assert!(after.memory * 10 <= before.memory * 12, "{after:?} of {before:?}");
        }
    }
}

/// Does `what` while strangers do theirs.
fn while_it_lasts<T>(at: SocketAddr, flood: Flood, what: impl FnOnce() -> T) -> T {
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for stranger in 0..STRANGERS {
            let over = &over;
            scope.spawn(move || {
                // Strangers have processors of their own.
                rustix::process::nice(19).unwrap();
                while !over.load(Relaxed) {
                    flood(at, stranger, over);
                    // Whoever is refused need not spin: there are two processors.
                    pause(Duration::from_millis(1));
                }
            });
        }
        // They are to be under way.
        pause(Duration::from_millis(100));
        let _over = Over(&over);
        what()
    })
}

/// Lets the strangers go home, whatever happens.
struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// What it says on its standard error goes into a file.
fn logged(command: Command, name: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("exec \"$0\" \"$@\" 2>{name}.log")]);
    shell.arg(command.get_program()).args(command.get_args()).env_clear();
    for (key, value) in command.get_envs() {
        shell.env(key, value.unwrap_or_default());
    }
    shell.current_dir(command.get_current_dir().unwrap()).stdin(Stdio::null());
    shell
}

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

fn queries(at: SocketAddr, stranger: u64, over: &AtomicBool) {
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
            let many: Vec<u8> =
                (0..100).flat_map(|more| query(n + more, "rare thing").to_bytes()).collect();
            n += 100;
            if !peer.send(&many) {
                return;
            }
        }
    });
}

/// Lets pass the times of a stranger who sends 4 000 times a second: what fills the line
/// keeps everybody out, whatever the program does. True when it is over.
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
