//! What a single servent shares: one of ours, and others by hand that answer
//! as gtk-gnutella and LimeWire do.

use crate::program;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::process::Output;
use std::thread::JoinHandle;

use program::{PATIENCE, Place};
use serde_json::Value;
use servent_core::id::{FileIndex, Guid, Sha1};
use servent_core::wire::gnutella::{HitBuilder, MessageBody, OverlayMessage, Quality};

const GTK: &str = "HTTP/1.1 200 OK\r\n\
    Server: gtk-gnutella/1.2.3 (2024-03-03; Topless; Linux x86_64)\r\n\
    Date: Tue, 25 Jun 2024 10:22:12 GMT\r\n\
    Content-Type: application/x-gnutella-packets\r\n\
    Transfer-Encoding: chunked\r\n\
    X-Features: tls/1.0, browse/1.0\r\n\r\n";
const LIME: &str = "HTTP/1.1 200 OK\r\n\
    Server: LimeWire/@version@\r\n\
    Content-Type: application/x-gnutella-packets\r\n\
    Connection: close\r\n\r\n";

/// A hit with one file, from a servent that takes itself for unreachable.
fn message(index: u32, name: &str) -> Vec<u8> {
    let quality = Quality { push: Some(true), ..Quality::default() };
    let at = "10.1.2.3:6346".parse().unwrap();
    let mut hit = HitBuilder::new(at, 350, (*b"LIME", quality), Guid([0x4c; 16]), 4_000);
    assert!(hit.add(FileIndex(index), 2_000, name, Some(Sha1([index as u8; 20]))));
    let body = MessageBody::Hit(hit.finish().unwrap());
    OverlayMessage { guid: Guid([9; 16]), ttl: 1, hops: 0, body }.to_bytes()
}

/// Answers once with these bytes; what it was asked.
fn answering(answer: Vec<u8>) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let (mut head, mut buffer) = (Vec::new(), [0; 4_096]);
        while !head.windows(4).any(|four| four == b"\r\n\r\n") {
            let n = stream.read(&mut buffer).unwrap();
            assert!(n > 0, "a whole head");
            head.extend_from_slice(&buffer[..n]);
        }
        stream.write_all(&answer).unwrap();
        String::from_utf8(head).unwrap()
    });
    (at, asked)
}

fn browse(place: &Place, at: SocketAddr, extra: &[&str]) -> Output {
    let at = at.to_string();
    let mut arguments = vec!["search", "--browse", &at];
    arguments.extend(extra);
    place.run(&arguments)
}

fn lines(out: &Output) -> Vec<Value> {
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn what_one_of_ours_shares_is_listed_and_can_be_fetched() {
    let place = Place::new();
    let (folder, bytes) = place.share("a song.mp3", 50_000);
    for n in 0..300 {
        std::fs::write(folder.join(format!("{n}.txt")), format!("{n}")).unwrap();
    }
    let servent = place.sharing(&[]);
    let all = lines(&browse(&place, servent.at, &["--json"]));
    assert_eq!(all.len(), 301);
    let some = lines(&browse(&place, servent.at, &["SONG", "mp3", "--json"]));
    assert_eq!(some.len(), 1, "{some:?}");
    assert_eq!(
        (&some[0]["name"], &some[0]["bytes"]),
        (&"shared/a song.mp3".into(), &50_000.into())
    );
    assert_eq!((&some[0]["push"], &some[0]["hops"]), (&false.into(), &0.into()));
    let out = place.run(&["get", some[0]["get"].as_str().unwrap(), "-o", "song", "--quiet"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert!(std::fs::read(place.path("song")).unwrap() == bytes);
    let none = browse(&place, servent.at, &["nothing", "like", "it"]);
    assert_eq!(none.status.code(), Some(1));
}

#[test]
fn what_servents_of_other_makes_share_is_listed() {
    let place = Place::new();
    let (one, two) = (message(7, "citrus one.mp3"), message(8, "citrus two.mp3"));
    // Chunks end where they like.
    let all = [&one[..], &two].concat();
    let mut gtk = GTK.as_bytes().to_vec();
    for part in [&all[..30], &all[30..31], &all[31..]] {
        gtk.extend(format!("{:x}\r\n", part.len()).into_bytes());
        gtk.extend_from_slice(part);
        gtk.extend_from_slice(b"\r\n");
    }
    gtk.extend_from_slice(b"0\r\n\r\n");
    for answer in [gtk, [LIME.as_bytes(), &all].concat()] {
        let (at, asked) = answering(answer);
        let found = lines(&browse(&place, at, &["--json"]));
        let names: Vec<&Value> = found.iter().map(|hit| &hit["name"]).collect();
        assert_eq!(names, ["citrus one.mp3", "citrus two.mp3"]);
        // It is reached where it was reached.
        let urn = format!("urn:sha1:{}", Sha1([8; 20]));
        let by = format!("http://{at}/uri-res/N2R?{urn}#/get/8/citrus%20two.mp3");
        assert_eq!(found[1]["get"], by.as_str());
        let asked = asked.join().unwrap();
        assert!(asked.starts_with("GET / HTTP/1.1\r\n"), "{asked}");
        let head = asked.to_ascii_lowercase();
        assert!(head.contains("\r\naccept: application/x-gnutella-packets\r\n"), "{asked}");
        assert!(head.contains(&format!("\r\nhost: {at}\r\n")), "{asked}");
    }
}

#[test]
fn a_host_that_is_no_servent_or_lets_no_peer_browse_is_named() {
    let place = Place::new();
    for (answer, says) in [
        ("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", "it answers 404"),
        ("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 0\r\n\r\n", "text/html"),
        (&format!("{LIME}this is nothing of the kind, and long enough"), "no list of files"),
        ("SSH-2.0-OpenSSH\r\n", "cannot look through"),
    ] {
        let (at, _) = answering(answer.as_bytes().to_vec());
        let out = browse(&place, at, &[]);
        let said = String::from_utf8_lossy(&out.stderr).into_owned();
        assert!(!out.status.success() && said.contains(says), "{answer}: {said}");
    }
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let said = browse(&place, closed, &[]);
    assert!(String::from_utf8_lossy(&said.stderr).contains("cannot reach"), "{said:?}");
}
