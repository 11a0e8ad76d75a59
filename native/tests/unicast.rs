//! Reliable unicast on loopback: the library's endpoints, and the commands
//! `send` and `receive` as a user runs them.

mod program;

use std::io::Write as _;
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Stdio};
use std::time::Duration;

use program::{PATIENCE, Place, Running, assert_same, complains, finish, noise};
use serde_json::Value;
use servent::unicast::{Config, Connection, Endpoint, Lost, Options, SendError};

const LOOPBACK: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

async fn endpoint(options: Options) -> Endpoint {
    Endpoint::bind(LOOPBACK, options).await.unwrap()
}

fn lossy(seed: u64) -> Options {
    Options { loss: "10%".parse().unwrap(), seed, ..Options::default() }
}

async fn patient<T>(future: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, future).await.expect("in time")
}

#[tokio::test]
async fn messages_both_ways_arrive_in_order_and_once_despite_loss() {
    const COUNT: u32 = 3_000;
    let (a, b) = (endpoint(lossy(1)).await, endpoint(lossy(2)).await);
    let there = a.connect(b.local_addr()).unwrap();
    let talk = async |connection: &Connection| {
        let send = async {
            for n in 0..COUNT {
                connection.send(n.to_be_bytes().to_vec()).await.unwrap();
            }
        };
        let hear = async {
            for n in 0..COUNT {
                let message = connection.recv().await.unwrap().unwrap();
                assert_eq!(message, n.to_be_bytes().as_slice());
            }
        };
        tokio::join!(send, hear);
        connection.close().await.unwrap();
        assert_eq!(connection.recv().await, Ok(None));
    };
    let back = async { talk(&b.accept().await.unwrap()).await };
    patient(async { tokio::join!(talk(&there), back) }).await;
    assert!(a.counters().socket.lost_out > 0 && a.counters().protocol.resent > 0);
}

#[tokio::test]
async fn a_reader_who_does_not_read_makes_the_sender_wait() {
    let (a, b) = (endpoint(Options::default()).await, endpoint(Options::default()).await);
    let there = a.connect(b.local_addr()).unwrap();
    let message = noise(10_000);
    let flood = async {
        loop {
            there.send(message.clone()).await.unwrap();
        }
    };
    assert!(tokio::time::timeout(Duration::from_secs(1), flood).await.is_err());
    let stuck = there.progress().accepted;
    let Config { send_bytes, recv_bytes, .. } = Config::default();
    assert!(stuck <= send_bytes + recv_bytes + (2 << 20), "{stuck} bytes were taken");
    let here = patient(b.accept()).await.unwrap();
    for _ in 0..stuck / 10_000 {
        assert_eq!(patient(here.recv()).await.unwrap().unwrap(), message);
    }
    patient(there.close()).await.unwrap();
}

#[tokio::test]
async fn closing_names_what_nobody_acknowledged() {
    let silent = UdpSocket::bind(LOOPBACK).unwrap();
    let options = Options { close_deadline: Duration::from_millis(300), ..Options::default() };
    let a = endpoint(options).await;
    let connection = a.connect(silent.local_addr().unwrap()).unwrap();
    for message in ["one", "two", "three"] {
        connection.send(message).await.unwrap();
    }
    let undelivered = patient(connection.close()).await.unwrap_err();
    assert_eq!((undelivered.numbers, undelivered.bytes), (vec![(1, 3)], 11));
    assert_eq!(connection.send("late").await, Err(SendError::Lost(Lost::Closed)));
}

#[tokio::test]
async fn a_peer_that_never_answers_ends_the_connection() {
    let silent = UdpSocket::bind(LOOPBACK).unwrap();
    let config = Config { time_scale: 20, ..Config::default() };
    let a = endpoint(Options { config, ..Options::default() }).await;
    let connection = a.connect(silent.local_addr().unwrap()).unwrap();
    connection.send("hello").await.unwrap();
    assert_eq!(patient(connection.recv()).await, Err(Lost::Unreachable));
    assert_eq!(connection.send("more").await, Err(SendError::Lost(Lost::Unreachable)));
    assert_eq!(patient(connection.close()).await.unwrap_err().numbers, vec![(1, 1)]);
    assert!(a.connect(silent.local_addr().unwrap()).is_ok(), "it may be tried again");
}

/// A receiver into the folder `in`, and where it listens.
fn receiving(place: &Place, extra: &[&str]) -> (Running, String) {
    std::fs::create_dir_all(place.path("in")).unwrap();
    let mut arguments = vec!["receive", "--listen", "127.0.0.1:0", "-o", "in", "--json"];
    arguments.extend(extra);
    let mut running = Running::start(place.servent(&arguments));
    let at = running.event("listening")["address"].as_str().unwrap().to_owned();
    (running, at)
}

/// A sender whose standard input is ours.
fn piping(place: &Place, to: &str, extra: &[&str]) -> Child {
    let mut arguments = vec!["send", to, "-"];
    arguments.extend(extra);
    let mut command = place.servent(&arguments);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().unwrap()
}

#[test]
fn a_file_arrives_identical_with_and_without_loss() {
    let place = Place::new();
    let bytes = noise(3_000_000);
    std::fs::write(place.path("song.ogg"), &bytes).unwrap();
    for (loss, profile) in [("0%", "adaptive"), ("5%", "adaptive"), ("0%", "unicast3")] {
        let (running, at) = receiving(&place, &["--once", "--loss", loss, "--seed", "7"]);
        let sent =
            place.run(&["send", &at, "song.ogg", "--loss", loss, "--profile", profile, "--json"]);
        assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
        let told = String::from_utf8(sent.stdout).unwrap();
        let told: Value = serde_json::from_str(told.lines().last().unwrap()).unwrap();
        assert_eq!((&told["event"], &told["bytes"]), (&"sent".into(), &bytes.len().into()));
        assert_eq!(told["counters"]["lost_out"].as_u64() > Some(0), loss == "5%");
        assert!(running.end().success());
        assert_same(&place.path("in/song.ogg"), &bytes);
        std::fs::remove_file(place.path("in/song.ogg")).unwrap();
    }
}

#[test]
fn several_senders_at_once_each_get_a_file() {
    let place = Place::new();
    let (running, at) = receiving(&place, &["--loss", "2%"]);
    let senders: Vec<(String, Vec<u8>, Child)> = (0..3)
        .map(|n| {
            let (folder, bytes) = (place.path(&format!("{n}")), noise(400_000 + n));
            std::fs::create_dir(&folder).unwrap();
            std::fs::write(folder.join("a.bin"), &bytes).unwrap();
            let mut command = place.servent(&["send", &at, &format!("{n}/a.bin"), "-q"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            (format!("{n}"), bytes, command.spawn().unwrap())
        })
        .collect();
    let mut wanted: Vec<Vec<u8>> = Vec::new();
    for (name, bytes, child) in senders {
        let output = finish(child);
        assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
        wanted.push(bytes);
    }
    let mut found: Vec<Vec<u8>> = ["a.bin", "a (2).bin", "a (3).bin"]
        .map(|name| std::fs::read(place.path("in").join(name)).unwrap())
        .into();
    found.sort();
    wanted.sort();
    assert!(found == wanted, "each sender's bytes are in one of the files");
    running.signal("INT");
    assert_eq!(running.end().code(), Some(0));
}

#[test]
fn pipes_on_both_sides_carry_a_stream() {
    let place = Place::new();
    let at = UdpSocket::bind(LOOPBACK).unwrap().local_addr().unwrap().to_string();
    let mut receive = place.servent(&["receive", "--listen", &at, "-q"]);
    let receiver = receive.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let receiver = std::thread::spawn(move || finish(receiver));
    let bytes = noise(1_500_000);
    let mut sender = piping(&place, &at, &["--loss", "1/50"]);
    sender.stdin.take().unwrap().write_all(&bytes).unwrap();
    assert!(finish(sender).status.success());
    let output = receiver.join().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout == bytes, "{} of {} bytes", output.stdout.len(), bytes.len());
}

#[test]
fn nobody_there_is_said_with_advice() {
    let place = Place::new();
    let silent = UdpSocket::bind(LOOPBACK).unwrap();
    let at = silent.local_addr().unwrap().to_string();
    std::fs::write(place.path("a"), "a").unwrap();
    let output = place.run(&["send", &at, "a", "--set", "unicast.unreachable=500ms"]);
    complains(&output, 3, &format!("nobody answers at {at}"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("servent receive"));
}

#[test]
fn a_receiver_that_is_killed_is_noticed_and_what_arrived_is_named() {
    let place = Place::new();
    let (mut running, at) = receiving(&place, &[]);
    let mut sender = piping(&place, &at, &["--set", "unicast.unreachable=1s"]);
    let mut input = sender.stdin.take().unwrap();
    input.write_all(&noise(100_000)).unwrap();
    running.event("receiving");
    program::until("something was written", || {
        std::fs::metadata(place.path("in/received.part")).is_ok_and(|file| file.len() > 50_000)
    });
    running.kill();
    // The sender may be gone before it has read all of this.
    let _ = input.write_all(&noise(100_000));
    drop(input);
    complains(&finish(sender), 3, "had reached it");
}

#[test]
fn a_sender_that_is_killed_leaves_a_part_and_a_sentence() {
    let place = Place::new();
    let brief = ["--once", "--set", "unicast.conn_expiry=1s", "--set", "unicast.conn_close=1s"];
    let (mut running, at) = receiving(&place, &brief);
    let mut sender = piping(&place, &at, &[]);
    let mut input = sender.stdin.take().unwrap();
    input.write_all(&noise(100_000)).unwrap();
    running.event("receiving");
    program::until("something was written", || {
        std::fs::metadata(place.path("in/received.part")).is_ok_and(|file| file.len() > 50_000)
    });
    sender.kill().unwrap();
    sender.wait().unwrap();
    assert_eq!(running.end().code(), Some(3));
    assert!(place.path("in/received.part").exists() && !place.path("in/received").exists());
}

#[test]
fn a_strangers_datagrams_disturb_nobody() {
    let place = Place::new();
    let (mut running, at) = receiving(&place, &["--once"]);
    let bytes = noise(2_000_000);
    let mut sender = piping(&place, &at, &[]);
    let mut input = sender.stdin.take().unwrap();
    let (first, rest) = bytes.split_at(200_000);
    input.write_all(first).unwrap();
    running.event("receiving");
    let stranger = UdpSocket::bind(LOOPBACK).unwrap();
    let junk = noise(2_000 * 64);
    for (n, datagram) in junk.chunks(64).enumerate() {
        let mut datagram = datagram[..n % 64].to_vec();
        if let Some(head) = datagram.first_mut().filter(|_| n % 2 == 0) {
            *head = 0x20 | (n % 16) as u8; // Our version, any kind of block.
        }
        stranger.send_to(&datagram, &at).unwrap();
    }
    input.write_all(rest).unwrap();
    drop(input);
    assert!(finish(sender).status.success());
    let counters = running.event("received")["counters"].clone();
    assert!(counters["garbage"].as_u64() > Some(500), "{counters}");
    assert!(running.end().success());
    assert_same(&place.path("in/received"), &bytes);
}

#[test]
fn what_cannot_be_is_said_before_anything_is_sent() {
    let place = Place::new();
    std::fs::write(place.path("there"), "x").unwrap();
    complains(&place.run(&["receive", "-o", "there"]), 4, "there is there already");
    complains(&place.run(&["receive", "-o", "nowhere/"]), 4, "there is no folder nowhere/");
    complains(&place.run(&["send", "127.0.0.1", "missing"]), 4, "cannot read missing");
    complains(&place.run(&["send", "127.0.0.1", "."]), 4, "is a folder");
    complains(&place.run(&["send", "127.0.0.1", "there", "--mtu", "100"]), 2, "100 bytes");
    complains(&place.run(&["send", "no.such.host.invalid", "there"]), 3, "no.such.host.invalid");
    let taken = UdpSocket::bind(LOOPBACK).unwrap();
    let at = taken.local_addr().unwrap().to_string();
    complains(&place.run(&["receive", "--listen", &at]), 6, "in use");
    assert_eq!(place.run(&["send", "127.0.0.1", "there", "--loss", "all"]).status.code(), Some(2));
}
