//! Reliable unicast on loopback: the library's endpoints, and the commands
//! `send` and `receive` as a user runs them.

use crate::program;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, UdpSocket};
use std::process::{Child, Stdio};
use std::time::Duration;

use program::{
    PATIENCE, Place, Running, assert_same, complains, ended, finish, free_port, noise, receiving,
};
use serde_json::Value;
use servent::unicast::{Config, Connection, Endpoint, EndpointOptions, Lost, SendError};

const LOOPBACK: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0);

async fn endpoint(options: EndpointOptions) -> Endpoint {
    Endpoint::bind(LOOPBACK, options).await.unwrap()
}

fn lossy(seed: u64) -> EndpointOptions {
    EndpointOptions { loss: "10%".parse().unwrap(), seed, ..EndpointOptions::default() }
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pa_5_on_loopback_hardly_anything_is_sent_again() {
    const COUNT: u64 = 100_000;
    let large = Config { mtu: 65_000, ..Config::default() };
    let options = || EndpointOptions { config: large.clone(), ..EndpointOptions::default() };
    let (a, b) = (endpoint(options()).await, endpoint(options()).await);
    let there = a.connect(b.local_addr()).unwrap();
    let hear = tokio::spawn(async move {
        let back = b.accept().await.unwrap();
        while back.recv().await.unwrap().is_some() {}
        back.close().await.unwrap();
    });
    let message = servent::unicast::UnicastPayload::from(noise(1_024));
    for _ in 0..COUNT {
        there.send(message.clone()).await.unwrap();
    }
    patient(there.close()).await.unwrap();
    hear.await.unwrap();
    let counters = a.counters();
    assert_eq!(counters.socket.send_failed, 0, "datagrams that the socket had no room for");
    assert!(counters.protocol.resent * 50 <= COUNT, "{} of {COUNT}", counters.protocol.resent);
}

#[tokio::test]
async fn a_reader_who_does_not_read_makes_the_sender_wait() {
    let (a, b) =
        (endpoint(EndpointOptions::default()).await, endpoint(EndpointOptions::default()).await);
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
async fn closing_names_what_was_not_acknowledged() {
    let silent = UdpSocket::bind(LOOPBACK).unwrap();
    let options = EndpointOptions {
        close_deadline: Duration::from_millis(300),
        ..EndpointOptions::default()
    };
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
    let a = endpoint(EndpointOptions { config, ..EndpointOptions::default() }).await;
    let connection = a.connect(silent.local_addr().unwrap()).unwrap();
    connection.send("hello").await.unwrap();
    assert_eq!(patient(connection.recv()).await, Err(Lost::Unreachable));
    assert_eq!(connection.send("more").await, Err(SendError::Lost(Lost::Unreachable)));
    assert_eq!(patient(connection.close()).await.unwrap_err().numbers, vec![(1, 1)]);
    assert!(a.connect(silent.local_addr().unwrap()).is_ok(), "it may be tried again");
}

/// A sender whose standard input is ours.
fn piping(place: &Place, to: &str, extra: &[&str]) -> Child {
    let mut arguments = vec!["send", "--open", to, "-"];
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
        let sent = place.run(&[
            "send",
            "--open",
            &at,
            "song.ogg",
            "--loss",
            loss,
            "--profile",
            profile,
            "--json",
        ]);
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
            let mut command = place.servent(&["send", "--open", &at, &format!("{n}/a.bin"), "-q"]);
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
fn twenty_senders_at_once_each_get_a_file() {
    let place = Place::new();
    let (running, at) = receiving(&place, &["--loss", "1%"]);
    let senders: Vec<(Vec<u8>, Child)> = (0..20)
        .map(|n| {
            let bytes = noise(30_000 + 1_000 * n);
            std::fs::write(place.path(&format!("{n}.bin")), &bytes).unwrap();
            let mut command = place.servent(&["send", "--open", &at, &format!("{n}.bin"), "-q"]);
            command.stdout(Stdio::piped()).stderr(Stdio::piped());
            (bytes, command.spawn().unwrap())
        })
        .collect();
    for (n, (bytes, child)) in senders.into_iter().enumerate() {
        let output = finish(child);
        assert!(output.status.success(), "{n}: {}", String::from_utf8_lossy(&output.stderr));
        assert_same(&place.path(&format!("in/{n}.bin")), &bytes);
    }
    running.signal("INT");
    assert_eq!(running.end().code(), Some(0));
}

#[test]
fn the_texts_own_profile_repairs_what_is_lost_too() {
    let place = Place::new();
    let bytes = noise(60_000);
    std::fs::write(place.path("small"), &bytes).unwrap();
    let letter = ["--profile", "unicast3", "--loss", "5%", "--mtu", "1200", "--seed", "3"];
    let (running, at) = receiving(&place, &[&["--once"][..], &letter[..]].concat());
    let sent = place.run(&[&["send", "--open", &at, "small", "--json"][..], &letter[..]].concat());
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    let told: Value =
        serde_json::from_str(String::from_utf8(sent.stdout).unwrap().lines().last().unwrap())
            .unwrap();
    let counted = |name: &str| told["counters"][name].as_u64().unwrap();
    assert!(counted("lost_out") > 0 && counted("resent") > 0, "{told}");
    // A repair waits for the task: once lost, half a second at least.
    assert!(told["micros"].as_u64().unwrap() > 300_000, "{told}");
    assert!(running.end().success());
    assert_same(&place.path("in/small"), &bytes);
}

#[test]
fn what_was_traced_happens_again() {
    let place = Place::new();
    let bytes = noise(200_000);
    std::fs::write(place.path("song.ogg"), &bytes).unwrap();
    let (running, at) = receiving(&place, &["--once", "--loss", "5%", "--trace", "in.sqlog"]);
    let sent =
        place.run(&["send", "--open", &at, "song.ogg", "--loss", "5%", "--trace", "out.sqlog"]);
    assert!(sent.status.success(), "{}", String::from_utf8_lossy(&sent.stderr));
    assert!(running.end().success());
    assert_same(&place.path("in/song.ogg"), &bytes);
    for tape in ["in.sqlog", "out.sqlog"] {
        let replayed = place.run(&["replay", tape, "--json"]);
        assert!(replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stderr));
        let report: Value = serde_json::from_slice(&replayed.stdout).unwrap();
        assert_eq!(report["verified"], report["checkpoints"], "{report}");
        assert!(report["inputs"].as_u64() > Some(10) && report["diverged_at"].is_null());
        assert_eq!(report["unverified_inputs"], 0, "{report}");
    }
    // One byte of what was received changed: it shows.
    let mut tape = std::fs::read_to_string(place.path("in.sqlog")).unwrap();
    let at = tape.rfind("\"data\":\"3e").or_else(|| tape.rfind("\"data\":\"20")).unwrap();
    let digit = at + 40;
    let other = if &tape[digit..=digit] == "0" { "1" } else { "0" };
    tape.replace_range(digit..=digit, other);
    std::fs::write(place.path("in.sqlog"), tape).unwrap();
    let replayed = place.run(&["replay", "in.sqlog"]);
    assert!(!replayed.status.success(), "{}", String::from_utf8_lossy(&replayed.stdout));
    complains(
        &place.run(&["send", "--open", "127.0.0.1:1", "song.ogg", "--trace", "no/such/t"]),
        4,
        "no/such/t",
    );
}

#[test]
fn pipes_on_both_sides_carry_a_stream() {
    let place = Place::new();
    let at = UdpSocket::bind(LOOPBACK).unwrap().local_addr().unwrap().to_string();
    let mut receive = place.servent(&["receive", "--listen", &at, "-q", "--open", "--yes"]);
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

/// Reads ten bytes of what a receiver prints, as `head -c 10` does.
#[track_caller]
fn reads_ten(place: &Place, receive: &[&str]) {
    let mut command = place.servent(&[receive, &["--open", "--yes", "-o", "-", "-q"]].concat());
    let mut receiver = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut out = receiver.stdout.take().unwrap();
    out.read_exact(&mut [0; 10]).unwrap();
    drop(out);
    let mut said = String::new();
    receiver.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    assert_eq!((ended(&mut receiver).code(), &said[..]), (Some(0), ""), "{receive:?}");
}

#[test]
fn a_receiver_whose_reader_has_enough_ends_quietly() {
    let place = Place::new();
    std::fs::write(place.path("a"), noise(3_000_000)).unwrap();
    let port = format!("127.0.0.1:{}", free_port());
    let mut sender = Running::start(place.servent(&["send", "--open", "--wait=60s", &port, "a"]));
    reads_ten(&place, &["receive", "--listen", &port]);
    assert!(!sender.ended().success(), "it did not arrive as a whole");
    let port = format!("127.0.0.1:{}", free_port());
    let several = ["send", "--open", "--to=1", "--listen", &port, "a", "--json"];
    let mut sender = Running::start(place.servent(&several));
    assert_eq!(sender.event("packing")["of"], 3_000_000);
    sender.event("listening");
    reads_ten(&place, &["receive", "--from", &port]);
}

#[test]
fn an_absent_peer_is_said_with_advice() {
    let place = Place::new();
    let silent = UdpSocket::bind(LOOPBACK).unwrap();
    let at = silent.local_addr().unwrap().to_string();
    std::fs::write(place.path("a"), "a").unwrap();
    let output = place.run(&["send", "--open", &at, "a", "--set", "unicast.unreachable=500ms"]);
    complains(&output, 3, &format!("no receiver answers at {at}"));
    assert!(String::from_utf8_lossy(&output.stderr).contains("servent receive"));
}

#[test]
fn a_port_where_no_program_listens_is_said_long_before_silence_would_be() {
    let place = Place::new();
    let at = UdpSocket::bind(LOOPBACK).unwrap().local_addr().unwrap().to_string();
    std::fs::write(place.path("a"), "a").unwrap();
    // Silence alone would outlast the test.
    let clock = servent::Clock::new();
    let begun = clock.now();
    let output = place.run(&["send", "--open", &at, "a", "--set", "unicast.unreachable=600s"]);
    complains(&output, 3, &format!("no receiver listens at UDP {at}"));
    let took = clock.now().since(begun).as_micros() / 1_000;
    assert!((2_000..3_500).contains(&took), "{took} ms");
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
fn a_strangers_datagrams_disturb_no_transfer() {
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
    // A receiver that is not running meanwhile keeps a few hundred of them.
    assert!(counters["garbage"].as_u64() > Some(50), "{counters}");
    assert!(running.end().success());
    assert_same(&place.path("in/received"), &bytes);
}

/// Everything a socket has received: datagrams and bytes.
fn drain(socket: &UdpSocket) -> (u64, u64) {
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let (mut datagrams, mut bytes) = (0, 0);
    let mut buffer = [0; 65_536];
    while let Ok(n) = socket.recv(&mut buffer) {
        datagrams += 1;
        bytes += n as u64;
    }
    (datagrams, bytes)
}

#[tokio::test]
async fn a_stranger_gets_three_times_its_bytes_at_most_and_ends_no_transfer_of_others() {
    // One that takes a first word for what it is: it asks no peer for a token.
    let config = Config { prove: false, ..Config::default() };
    let trusting = EndpointOptions { config, ..EndpointOptions::default() };
    let (a, b) = (endpoint(EndpointOptions::default()).await, endpoint(trusting).await);
    let there = a.connect(b.local_addr()).unwrap();
    there.send("before").await.unwrap();
    let here = patient(b.accept()).await.unwrap();
    assert_eq!(patient(here.recv()).await.unwrap().unwrap(), "before");
    let stranger = UdpSocket::bind(LOOPBACK).unwrap();
    let mut sent = 0;
    for (n, junk) in noise(64 * 500).chunks(64).enumerate() {
        // Our version and every kind of block; every fourth opens a window.
        let mut datagram = junk[..9 + n % 40].to_vec();
        datagram[0] = if n % 4 == 0 { 0x22 } else { 0x20 | (n % 16) as u8 };
        if n % 4 == 0 {
            datagram.truncate(9);
            datagram.extend([1, 0, 8, 7]);
        }
        sent += stranger.send_to(&datagram, b.local_addr()).unwrap() as u64;
        if n % 50 == 0 {
            tokio::task::yield_now().await;
        }
    }
    // A program that takes the stranger on answers generously, and is held back.
    let guest = patient(b.accept()).await.unwrap();
    let _ = tokio::time::timeout(Duration::from_millis(100), guest.send(noise(200_000))).await;
    let got = tokio::task::spawn_blocking(move || drain(&stranger)).await.unwrap();
    assert!(got.1 <= 3 * sent, "{} bytes for {sent}", got.1);
    for n in 0..1_000_u32 {
        there.send(n.to_be_bytes().to_vec()).await.unwrap();
    }
    for n in 0..1_000_u32 {
        assert_eq!(patient(here.recv()).await.unwrap().unwrap(), n.to_be_bytes().as_slice());
    }
    patient(there.close()).await.unwrap();
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn small_messages_to_many_peers_share_system_calls() {
    let a = endpoint(EndpointOptions::default()).await;
    let mut others = Vec::new();
    for _ in 0..30 {
        let other = endpoint(EndpointOptions::default()).await;
        others.push((a.connect(other.local_addr()).unwrap(), other));
    }
    // No task yields between the messages, so they leave in one turn.
    for (connection, _) in &others {
        connection.send("to everybody").await.unwrap();
    }
    for (_, other) in &others {
        let connection = patient(other.accept()).await.unwrap();
        assert_eq!(patient(connection.recv()).await.unwrap().unwrap(), "to everybody");
    }
    let counters = a.counters();
    let (datagrams, calls) = (counters.protocol.packets_out, counters.socket.send_calls);
    assert!(datagrams >= 30 && calls * 3 <= datagrams, "{datagrams} datagrams, {calls} calls");
}

#[test]
fn what_cannot_be_is_said_before_anything_is_sent() {
    let place = Place::new();
    std::fs::write(place.path("there"), "x").unwrap();
    complains(&place.run(&["receive", "-o", "there"]), 4, "there is there already");
    complains(&place.run(&["receive", "-o", "there/in/"]), 4, "cannot make there/in/");
    complains(&place.run(&["send", "--open", "127.0.0.1", "missing"]), 4, "cannot read missing");
    complains(&place.run(&["send", "--open", "127.0.0.1", "there", "-"]), 2, "standard input");
    complains(&place.run(&["receive", "-o", "in/"]), 2, "add --code");
    complains(&place.run(&["receive", "--open", "-o", "in/"]), 2, "no terminal");
    complains(&place.run(&["send", "127.0.0.1", "there"]), 2, "there is no code");
    complains(&place.run(&["send", "127.0.0.1", "there", "--code", "1234"]), 2, "too short");
    complains(
        &place.run(&["send", "127.0.0.1", "there", "--code-file", "no"]),
        4,
        "the code in no",
    );
    complains(
        &place.run(&["send", "--open", "127.0.0.1", "there", "--mtu", "100"]),
        2,
        "100 bytes",
    );
    complains(
        &place.run(&["send", "--open", "no.such.host.invalid", "there"]),
        3,
        "no.such.host.invalid",
    );
    let taken = UdpSocket::bind(LOOPBACK).unwrap();
    let at = taken.local_addr().unwrap().to_string();
    complains(&place.run(&["receive", "--open", "--yes", "--listen", &at]), 6, "in use");
    assert_eq!(
        place.run(&["send", "--open", "127.0.0.1", "there", "--loss", "all"]).status.code(),
        Some(2)
    );
}

/// A router between a sender and a receiver that gives the sender another port
/// when it is told to.
fn router(to: SocketAddr) -> (SocketAddr, std::sync::Arc<std::sync::atomic::AtomicBool>) {
    use std::sync::atomic::{AtomicBool, Ordering};
    let inside = UdpSocket::bind(LOOPBACK).unwrap();
    let at = inside.local_addr().unwrap();
    let changes = std::sync::Arc::new(AtomicBool::new(false));
    let told = std::sync::Arc::clone(&changes);
    inside.set_read_timeout(Some(Duration::from_millis(1))).unwrap();
    let outside = move || {
        let socket = UdpSocket::bind(LOOPBACK).unwrap();
        socket.connect(to).unwrap();
        socket.set_nonblocking(true).unwrap();
        socket
    };
    std::thread::spawn(move || {
        let (mut socket, mut buffer, mut sender) = (outside(), vec![0; 65_536], None);
        loop {
            if told.swap(false, Ordering::Relaxed) {
                socket = outside();
            }
            if let Ok((length, from)) = inside.recv_from(&mut buffer) {
                sender = Some(from);
                let _ = socket.send(&buffer[..length]);
            }
            while let Ok(length) = socket.recv(&mut buffer) {
                let Some(sender) = sender else { break };
                let _ = inside.send_to(&buffer[..length], sender);
            }
        }
    });
    (at, changes)
}

#[test]
fn pa_9_a_sender_whose_router_gives_it_another_port_goes_on() {
    let place = Place::new();
    let (running, at) = receiving(&place, &["--once"]);
    let (through, changes) = router(at.parse().unwrap());
    let bytes = noise(1_200_000);
    let mut sender = piping(&place, &through.to_string(), &[]);
    let mut input = sender.stdin.take().unwrap();
    for (third, part) in bytes.chunks(400_000).enumerate() {
        changes.store(third > 0, std::sync::atomic::Ordering::Relaxed);
        input.write_all(part).unwrap();
        let wanted = (third as u64 + 1) * 360_000;
        program::until("it is there", || {
            std::fs::metadata(place.path("in/received.part")).is_ok_and(|file| file.len() > wanted)
        });
    }
    drop(input);
    assert!(finish(sender).status.success());
    assert_eq!(running.end().code(), Some(0));
    assert_same(&place.path("in/received"), &bytes);
}
