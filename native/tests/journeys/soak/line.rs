//! A server with a line before it, killed while others are told their places:
//! a client that was told one has it afterwards, and every recording verifies.

use std::collections::BTreeMap;
use std::io::{self, Read as _, Write as _};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::process::Stdio;
use std::time::Duration;

use servent_core::rng::Rng;
use socket2::{Domain, Socket, Type};

use super::Lane;
use crate::program::{PATIENCE, Running, finish, free_port, lab_get};

/// The position told to each id.
type Told = BTreeMap<String, u64>;

pub(super) fn run(mut lane: Lane) {
    lane.place.share("file", 2_000_000);
    let at = SocketAddr::from(([127, 0, 0, 1], free_port()));
    while lane.goes_on() {
        let mut told = Told::new();
        for life in 0..lane.dice.between(2, 6) {
            let tape = format!("{life}.sqlog");
            let running = share(lane.place.servent(&words(&at.to_string(), &tape)));
            holds(&running, &told);
            let mut dice = lane.dice.fork("addresses", life);
            let asking = std::thread::spawn(move || ask_until_it_dies(at, &mut dice));
            lane.kill_within(300, running);
            told.extend(asking.join().unwrap());
            verifies(&lane, &tape);
        }
        // Yesterday again: deadlines on disk are far ahead now.
        let running = share(lane.shifted(-1, &words(&at.to_string(), "last.sqlog")));
        holds(&running, &told);
        lane.kill_within(10, running);
        // A recording is never written over an earlier one.
        std::fs::remove_file(lane.place.path("last.sqlog")).unwrap();
        for _ in &told {
            lane.soak.count("places kept");
        }
        std::fs::remove_dir_all(lane.place.path("state")).unwrap();
    }
}

fn words<'a>(at: &'a str, tape: &'a str) -> [&'a str; 17] {
    [
        "share",
        "shared",
        "--json",
        "--state",
        "state",
        "--listen",
        at,
        "--lab",
        "127.0.0.1:0",
        "--slots",
        "1",
        "--set",
        "upload_rate=50000",
        "--set",
        "queue.per_ip=1000",
        "--trace",
        tape,
    ]
}

fn share(command: std::process::Command) -> Running {
    let mut running = Running::start(command);
    running.event("listening");
    let url = running.event("lab")["url"].as_str().unwrap().to_owned();
    running.lab = url.strip_prefix("http://").unwrap().trim_end_matches('/').parse().ok();
    running
}

/// A client that was told a place has it, or a better one.
fn holds(running: &Running, told: &Told) {
    let view = lab_get(running.lab.unwrap(), "/api/view").json();
    let cards = view["queue"]["cards"].as_array().unwrap();
    let place = |id: &str| cards.iter().find(|card| card["ticket"] == *id).map(|c| &c["position"]);
    for (id, position) in told {
        let kept = place(id).and_then(serde_json::Value::as_u64);
        assert_eq!(kept, Some(*position), "{id} of {}", cards.len());
    }
}

/// New clients, each from an address of its own, until no answer comes. A client that got
/// the slot keeps its connection.
fn ask_until_it_dies(at: SocketAddr, dice: &mut Rng) -> Told {
    let (mut told, mut served) = (Told::new(), Vec::new());
    while let Ok((head, stream)) = ask(at, dice) {
        if head.starts_with("HTTP/1.1 200") {
            served.push(stream);
            continue;
        }
        let Some(line) = head.lines().find_map(|line| line.strip_prefix("X-Queued: ")) else {
            continue;
        };
        let part = |key| line.split([';', ',']).find_map(|p| p.trim().strip_prefix(key));
        told.insert(
            part("ID=").unwrap_or_else(|| panic!("no id in {head}")).to_lowercase(),
            part("position=").unwrap_or_else(|| panic!("no position in {head}")).parse().unwrap(),
        );
        // More than the lab lists at once would have to be asked for by hand.
        if told.len() > 30 {
            break;
        }
    }
    told
}

/// A request, and the whole head of what it gave.
fn ask(at: SocketAddr, dice: &mut Rng) -> io::Result<(String, TcpStream)> {
    let [a, b, c] = dice.bytes();
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None)?;
    socket.bind(&SocketAddr::from((Ipv4Addr::new(127, a, b, c.clamp(2, 254)), 0)).into())?;
    socket.connect_timeout(&at.into(), PATIENCE)?;
    let mut stream = TcpStream::from(socket);
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.write_all(b"GET /get/0/file HTTP/1.1\r\nHost: a\r\nX-Queue: 1.0\r\n\r\n")?;
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte)?;
        head.push(byte[0]);
    }
    Ok((String::from_utf8_lossy(&head).into_owned(), stream))
}

/// What a killed servent recorded is true as far as it goes.
fn verifies(lane: &Lane, tape: &str) {
    let mut command = lane.place.servent(&["replay", tape]);
    let output = finish(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let said = String::from_utf8_lossy(&output.stderr);
    if output.status.success() {
        lane.soak.count("tapes verified");
    } else {
        // A short life has nothing to compare yet.
        assert!(said.contains("it was cut before its first checkpoint"), "{said}");
        lane.soak.count("tapes too short");
    }
    std::fs::remove_file(lane.place.path(tape)).unwrap();
}
