//! Many peers that say nothing cost honest ones no time.

use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream};
use std::time::Duration;

use servent::transfer::knock;
use servent::unicast::{Endpoint, EndpointOptions};
use socket2::{Domain, Socket, Type};

use crate::program::{PATIENCE, Place, Wire, assert_same, noise, receiving};

/// So many are silent, of so many addresses.
const SILENT: usize = 1_000;
/// Each has an endpoint of its own.
const SILENT_SENDERS: usize = 320;
const ADDRESSES: usize = 20;
/// The longest that an honest one may wait on a busy machine: far less than the time
/// after which a silent one is given up.
const SOON: Duration = Duration::from_secs(20);

fn address(n: usize) -> IpAddr {
    Ipv4Addr::new(127, 0, 7, 1 + u8::try_from(n % ADDRESSES).unwrap()).into()
}

/// How many this process may have open, and the servent at the other end, too.
fn descriptors() -> usize {
    usize::try_from(servent::raise_descriptors().connections(0) / 2).unwrap()
}

#[test]
fn clients_that_are_silent_delay_no_other() {
    let place = Place::new();
    let (_, bytes) = place.share("song", 100_000);
    let running = place.sharing(&["--lab", "off"]);
    let silent = |n| {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        socket.bind(&SocketAddr::from((address(n), 0)).into()).unwrap();
        socket.connect_timeout(&running.at.into(), PATIENCE).unwrap();
        TcpStream::from(socket)
    };
    let silent: Vec<TcpStream> = (0..SILENT.min(descriptors())).map(silent).collect();
    let clock = servent::Clock::new();
    let begun = clock.now();
    let reply = Wire::connect(running.at).get("/get/0/song", &[]);
    let took = clock.now().since(begun);
    println!("beside {} silent clients: {} us", silent.len(), took.as_micros());
    assert!((reply.status, &reply.body) == (200, &bytes));
    assert!(took.as_secs() < SOON.as_secs(), "{} s", took.as_secs());
}

/// Each has shown that it is where it says it is, and then says nothing.
#[test]
fn senders_that_are_silent_delay_no_other() {
    let place = Place::new();
    let bytes = noise(100_000);
    std::fs::write(place.path("song"), &bytes).unwrap();
    let (mut receiver, at) = receiving(&place, &[]);
    let at: SocketAddr = at.parse().unwrap();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let silent = runtime.block_on(async {
        let mut knocking = tokio::task::JoinSet::new();
        for n in 0..SILENT_SENDERS.min(descriptors()) {
            knocking.spawn(async move {
                let from = SocketAddr::new(address(n), 0);
                let endpoint = Endpoint::bind(from, EndpointOptions::default()).await.unwrap();
                let connection = endpoint.connect(at).unwrap();
                // It may be put off already.
                let _ = tokio::time::timeout(SOON / 2, knock(&connection)).await;
                (endpoint, connection)
            });
        }
        knocking.join_all().await
    });
    let clock = servent::Clock::new();
    let begun = clock.now();
    let sent = place.run(&["send", "--open", &at.to_string(), "song", "-q"]);
    let took = clock.now().since(begun);
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    receiver.event("received");
    println!("beside {} silent senders: {} us", silent.len(), took.as_micros());
    assert_same(&place.path("in/song"), &bytes);
    assert!(took.as_secs() < SOON.as_secs(), "{} s", took.as_secs());
    drop(silent);
}
