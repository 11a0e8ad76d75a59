//! PA-7 over real sockets: routers that mark, that mark everything, that clear marks and
//! that swallow what may be marked.
#![expect(unsafe_code, reason = "no library sets this option safely")]

use std::ffi::c_int;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::AsRawFd as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::Duration;

use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use servent::unicast::{Endpoint, EndpointOptions, UnicastPayload};
use servent_core::unicast::Config;

const PATIENCE: Duration = Duration::from_secs(60);
/// Messages of a transfer, and their bytes.
const MESSAGES: u64 = 6_000;
const SIZE: usize = 1_000;
/// Datagrams that may say so on a path on which it means nothing: the trial, the tests, and
/// what is under way until they are answered.
const FEW: u64 = 2_000;

/// What a router does to marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum MarkingRouter {
    /// Marks every hundredth datagram that may be marked.
    Marks,
    MarksEverything,
    /// Says of each that it may not be marked, and has not been.
    Clears,
    /// Drops what may be marked.
    Swallows,
}

/// What it has seen of datagrams to the receiver.
#[derive(Default)]
struct SeenMarks {
    all: AtomicU64,
    capable: AtomicU64,
    /// The last of those, counted from the first of all.
    last: AtomicU64,
}

/// Forwards to a receiver, and back to the sender who spoke last.
struct Forwarder {
    at: SocketAddr,
    ends: Arc<AtomicBool>,
    seen: Arc<SeenMarks>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarder {
    fn start(router: MarkingRouter, to: SocketAddr) -> Self {
        let socket = UdpSocket::bind(("127.0.0.1", 0)).unwrap();
        let at = socket.local_addr().unwrap();
        let state = UdpSocketState::new((&socket).into()).unwrap();
        omit_arrival_times(&socket);
        // That has made it one that does not wait.
        socket.set_nonblocking(false).unwrap();
        socket.set_read_timeout(Some(Duration::from_millis(20))).unwrap();
        let (ends, seen) = (Arc::new(AtomicBool::new(false)), Arc::<SeenMarks>::default());
        let (stop, counts) = (Arc::clone(&ends), Arc::clone(&seen));
        let thread = std::thread::spawn(move || {
            let mut sender = to;
            while !stop.load(Relaxed) {
                router.forward((&socket, &state), to, &mut sender, &counts);
            }
        });
        Self { at, ends, seen, thread: Some(thread) }
    }
}

/// What `quinn-udp` 0.6 asks for leaves no room for the marks of a train.
fn omit_arrival_times(socket: &UdpSocket) {
    let off: c_int = 0;
    let (value, size) = (std::ptr::from_ref(&off).cast(), size_of_val(&off) as libc::socklen_t);
    let (level, option) = (libc::SOL_SOCKET, libc::SO_TIMESTAMPNS);
    // SAFETY: the call reads one C integer, which outlives it, from an open socket.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, value, size) };
    assert_eq!(done, 0);
}

impl Drop for Forwarder {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

impl MarkingRouter {
    fn forward(
        self,
        (socket, state): (&UdpSocket, &UdpSocketState),
        receiver: SocketAddr,
        sender: &mut SocketAddr,
        seen: &SeenMarks,
    ) {
        let mut buffers = vec![vec![0; 65_536]; BATCH_SIZE];
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut slices: Vec<_> =
            buffers.iter_mut().map(|buffer| std::io::IoSliceMut::new(buffer)).collect();
        let Ok(count) = state.recv(socket.into(), &mut slices, &mut metas) else { return };
        for (meta, buffer) in metas[..count].iter().zip(&buffers) {
            let there = meta.addr != receiver;
            if there {
                *sender = meta.addr;
            }
            let destination = if there { receiver } else { *sender };
            for contents in buffer[..meta.len].chunks(meta.stride) {
                let ecn = if there { self.passes(meta.ecn, seen) } else { Some(meta.ecn) };
                if let Some(ecn) = ecn {
                    let (segment_size, src_ip) = (None, None);
                    let transmit = Transmit { destination, ecn, contents, segment_size, src_ip };
                    let _ = state.try_send(socket.into(), &transmit);
                }
            }
        }
    }

    /// What a datagram says when it has passed; `None`: it does not.
    fn passes(self, ecn: Option<EcnCodepoint>, seen: &SeenMarks) -> Option<Option<EcnCodepoint>> {
        let nth = seen.all.fetch_add(1, Relaxed);
        if ecn.is_none() {
            return Some(None);
        }
        seen.last.store(nth, Relaxed);
        let capable = seen.capable.fetch_add(1, Relaxed);
        match self {
            Self::Marks if capable % 100 == 50 => Some(Some(EcnCodepoint::Ce)),
            Self::Marks => Some(ecn),
            Self::MarksEverything => Some(Some(EcnCodepoint::Ce)),
            Self::Clears => Some(None),
            Self::Swallows => None,
        }
    }
}

/// Sends through a router: what it has seen, and how many marks the receiver has counted.
async fn transfer(router: MarkingRouter) -> (Forwarder, u64) {
    let config = Config { mtu: 1_400, ..Config::default() };
    // On a busy machine what is buffered takes longer to leave than a person would wait.
    let close_deadline = PATIENCE;
    let options = || {
        let config = config.clone();
        EndpointOptions { config, close_deadline, ..EndpointOptions::default() }
    };
    let bind = || Endpoint::bind(([127, 0, 0, 1], 0).into(), options());
    let (a, b) = (bind().await.unwrap(), bind().await.unwrap());
    let forwarder = Forwarder::start(router, b.local_addr());
    let there = a.connect(forwarder.at).unwrap();
    let message = UnicastPayload::from(vec![7; SIZE]);
    let send = async {
        for _ in 0..MESSAGES {
            there.send(message.clone()).await.unwrap();
        }
        let closed = there.close().await;
        assert!(closed.is_ok(), "{router:?}: {closed:?}");
    };
    let hear = async {
        let back = b.accept().await.unwrap();
        let mut heard = 0;
        while back.recv().await.unwrap().is_some() {
            heard += 1;
        }
        assert_eq!(heard, MESSAGES, "{router:?}");
    };
    let both = async { tokio::join!(send, hear) };
    tokio::time::timeout(2 * PATIENCE, both).await.expect("everything arrives");
    (forwarder, b.counters().socket.marked_in)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pa_7_marks_are_asked_for_until_the_end_where_a_router_marks() {
    let (forwarder, marked) = transfer(MarkingRouter::Marks).await;
    let seen = &forwarder.seen;
    let (all, capable) = (seen.all.load(Relaxed), seen.capable.load(Relaxed));
    assert!(capable >= MESSAGES / 2, "{capable} of {all} datagrams might be marked");
    let last = seen.last.load(Relaxed);
    assert!(last + 100 >= all, "the last was number {last} of {all}");
    assert!(marked >= capable / 200, "{marked} of {capable} arrived with a mark");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pa_7_what_means_nothing_on_a_path_is_no_longer_said() {
    for router in [MarkingRouter::MarksEverything, MarkingRouter::Clears, MarkingRouter::Swallows] {
        let (forwarder, marked) = transfer(router).await;
        let seen = &forwarder.seen;
        let (all, capable) = (seen.all.load(Relaxed), seen.capable.load(Relaxed));
        assert!(all >= MESSAGES, "{router:?}: {all} datagrams");
        assert!((1..=FEW).contains(&capable), "{router:?}: {capable} of {all} might be marked");
        let last = seen.last.load(Relaxed);
        assert!(last <= all - 1_000, "{router:?}: the last was number {last} of {all}");
        assert!(router == MarkingRouter::MarksEverything || marked == 0, "{router:?}: {marked}");
    }
}
