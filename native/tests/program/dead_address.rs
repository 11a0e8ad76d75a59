//! A name of which one address leads nowhere: what is dialed by that name comes by
//! the other one, without waiting for the first (RFC 8305).
#![expect(clippy::disallowed_methods, reason = "it measures how long a command takes")]

use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use socket2::{Domain, Socket, Type};

use crate::program::{Place, Running, assert_same, finish};
use crate::swarm_program::coordinator;

const NAME: &str = "both.test";
/// Longer than a busy machine takes, and shorter than any command waits for an
/// address that does not answer.
const LIMIT: Duration = Duration::from_millis(2_500);

/// A port of `[::1]` that never answers a connection: the one that fits in its line is
/// there, and the system drops all others.
struct DeadEnd {
    _listener: TcpListener,
    _waits: TcpStream,
}

impl DeadEnd {
    /// `None` where there is no IPv6; then that address fails at once.
    fn beside(alive: SocketAddr) -> Option<Self> {
        let at: SocketAddr = format!("[::1]:{}", alive.port()).parse().unwrap();
        let socket = Socket::new(Domain::IPV6, Type::STREAM, None).ok()?;
        socket.bind(&at.into()).ok()?;
        socket.listen(0).unwrap();
        let waits = TcpStream::connect(at).unwrap();
        let next = TcpStream::connect_timeout(&at, Duration::from_millis(300));
        assert!(next.is_err(), "it is no dead end");
        Some(Self { _listener: socket.into(), _waits: waits })
    }
}

/// The program, where that name has both addresses.
fn knowing(place: &Place, arguments: &[&str]) -> Option<Command> {
    place.knowing(NAME, &["::1".parse().unwrap(), "127.0.0.1".parse().unwrap()], arguments)
}

/// Executes it, and compares the file that it makes.
#[track_caller]
fn brings(place: &Place, arguments: &[&str], file: &str, bytes: &[u8]) {
    let Some(mut command) = knowing(place, arguments) else { return };
    let begun = Instant::now();
    let out = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let took = begun.elapsed();
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_same(&place.path(file), bytes);
    assert!(took < LIMIT, "{arguments:?} took {took:?}");
}

#[test]
fn a_file_comes_by_the_address_that_answers() {
    let place = Place::new();
    let (_, bytes) = place.share("song", 50_000);
    let server = place.sharing(&["--lab", "off", "--name", NAME]);
    let _dead = DeadEnd::beside(server.at);
    let url = format!("http://{NAME}:{}/shared/song", server.at.port());
    brings(&place, &["get", &url, "-o", "got", "--state", "get"], "got", &bytes);
}

#[test]
fn a_swarm_is_joined_at_the_address_that_answers() {
    let place = Place::new();
    let (swarm, bytes) = coordinator(&place, 50_000, "127.0.0.1:0", &[]);
    let _dead = DeadEnd::beside(swarm.at);
    let url = format!("pdtp://{NAME}:{}/film.mkv", swarm.at.port());
    brings(&place, &["swarm", "get", &url, "-o", "got", "--state", "get"], "got", &bytes);
}

#[test]
fn a_servent_is_browsed_and_joined_at_the_address_that_answers() {
    let place = Place::new();
    place.share("the far thing.txt", 1_000);
    let server = place.sharing(&["--lab", "off", "--name", NAME]);
    let _dead = DeadEnd::beside(server.at);
    let at = format!("{NAME}:{}", server.at.port());
    for how in [&["--browse", &at][..], &["far", "thing", "--peer", &at]] {
        let arguments = [&["search"], how, &["--state", "search", "--json"]].concat();
        let Some(command) = knowing(&place, &arguments) else { return };
        let begun = Instant::now();
        let mut searching = Running::start(command);
        let hit = searching.event("hit");
        let took = begun.elapsed();
        assert!(hit["name"].as_str().unwrap().ends_with("far thing.txt"), "{hit}");
        assert!(took < LIMIT, "{how:?} took {took:?}");
    }
}
