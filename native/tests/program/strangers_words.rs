//! What strangers wrote is printed so that it moves no cursor, turns no text
//! round, ends no line and looks like nothing else; with `--json` it is exact.

use crate::program;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Output, Stdio};

use program::peer::Peer;
use program::{PATIENCE, Place, finish, until};
use serde_json::Value;
use servent_core::id::{FileIndex, Guid};
use servent_core::text::Lines;
use servent_core::wire::gnutella::{HitBuilder, MessageBody, OverlayMessage, Quality};

/// A title for the terminal, a colour, a line of its own, text that runs
/// backwards, a line separator, and the address of another file.
const NASTY: &str = "nasty \u{1b}]0;title\u{7}\u{1b}[31m\u{9b}2J\r\nover \u{202e}gpj.exe \
                     \u{2066}\u{2028}\u{200b}  http://evil.example/get/1/x";
/// It, as a file can be called.
const FILE: &str =
    "nasty \u{1b}]0;title\u{7}\u{1b}[31m\u{9b}2J\r\nover \u{202e}gpj.exe \u{2066}\u{2028}";

/// Nothing hidden, and as many lines as it should have.
#[track_caller]
fn is_plain(bytes: &[u8], lines: usize) -> String {
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(Lines(&text).to_string(), text, "something is hidden in {text:?}");
    assert_eq!(text.lines().count(), lines, "{text:?}");
    text
}

/// Nothing hidden.
#[track_caller]
fn is_plain_somehow(bytes: &[u8]) -> String {
    let lines = String::from_utf8_lossy(bytes).lines().count();
    is_plain(bytes, lines)
}

fn hit(guid: Guid) -> OverlayMessage {
    let quality = Quality::default();
    let at = "127.0.0.1:6399".parse().unwrap();
    let mut hit = HitBuilder::new(at, 350, (*b"EVIL", quality), Guid([0x4c; 16]), 4_000);
    assert!(hit.add(FileIndex(7), 2_000, NASTY, None));
    OverlayMessage { guid, ttl: 3, hops: 0, body: MessageBody::Hit(hit.finish().unwrap()) }
}

/// Serves connections one after the other, each with this.
fn server(serve: impl Fn(TcpStream) + Send + 'static) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    std::thread::spawn(move || listener.incoming().map_while(Result::ok).for_each(serve));
    at
}

/// The head that a peer says.
fn head(stream: &mut TcpStream) -> String {
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).unwrap_or(0) > 0 {
        head.push(byte[0]);
    }
    String::from_utf8_lossy(&head).into_owned()
}

fn search(place: &Place, extra: &[&str]) -> Output {
    place.run(&[&["search", "--state", "s"], extra].concat())
}

/// The fields of the only line, and what `--json` says of the same.
fn listed(human: &Output, json: &Output) {
    let text = is_plain(&human.stdout, 1);
    let fields = text.split("  ").map(str::trim).filter(|field| !field.is_empty());
    let [number, _size, name, address] = fields.collect::<Vec<_>>()[..] else {
        panic!("number, size, name, address: {text}");
    };
    assert_eq!(number, "1");
    assert!(name.starts_with("nasty \\u{1b}]0;title"), "{name}");
    assert!(!name.contains("http://") && name.contains("\\u{202e}gpj.exe"));
    assert!(address.starts_with("http://127.0.0.1:") && address.contains("/get/7/nasty%20%1B"));
    let json: Value = serde_json::from_slice(&json.stdout).unwrap();
    assert_eq!((&json["event"], &json["name"]), (&"hit".into(), &NASTY.into()));
}

#[test]
fn search_prints_names_that_only_look_odd() {
    let place = Place::new();
    let browsed = server(|mut stream| {
        head(&mut stream);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/x-gnutella-packets\r\n\r\n";
        let _ = stream.write_all(&[head.as_bytes(), &hit(Guid([1; 16])).to_bytes()].concat());
    });
    let browsed = browsed.to_string();
    let browse = ["--browse", &browsed];
    listed(&search(&place, &browse), &search(&place, &[&browse[..], &["--json"]].concat()));

    let neighbour = server(|mut stream| {
        head(&mut stream);
        let _ = stream.write_all(b"GNUTELLA/0.6 200 OK\r\nUser-Agent: Test\r\n\r\n");
        head(&mut stream);
        let mut message = [0; 23];
        while stream.read_exact(&mut message).is_ok() {
            let length = u32::from_le_bytes(message[19..].try_into().unwrap());
            let mut payload = vec![0; length as usize];
            let _ = stream.read_exact(&mut payload);
            if message[16] == 0x80 {
                let guid = Guid(message[..16].try_into().unwrap());
                let _ = stream.write_all(&hit(guid).to_bytes());
            }
        }
    });
    let neighbour = neighbour.to_string();
    let asked = ["nasty", "--peer", &neighbour, "--wait", "4"];
    listed(&search(&place, &asked), &search(&place, &[&asked[..], &["--json"]].concat()));
}

/// A refusal that a neighbour gives its own words to.
fn refusing() -> SocketAddr {
    server(|mut stream| {
        head(&mut stream);
        let _ = stream.write_all(
            "GNUTELLA/0.6 503 No \u{1b}[2J\u{9b}31m\u{202e}way  http://evil/\r\n\r\n".as_bytes(),
        );
    })
}

#[test]
fn refusals_are_shown_plainly_by_search_and_in_the_log_of_share() {
    let place = Place::new();
    let peer = refusing().to_string();
    let out = search(&place, &["nasty", "--peer", &peer, "--wait", "2"]);
    let said = is_plain_somehow(&out.stderr);
    assert!(said.contains("503 No \\u{1b}[2J\\u{9b}31m\\u{202e}way"), "{said}");
    let out = search(&place, &["nasty", "--peer", &peer, "--wait", "2", "--json"]);
    let first: Value =
        serde_json::from_str(String::from_utf8(out.stdout).unwrap().lines().next().unwrap())
            .unwrap();
    assert_eq!(first["reason"], "No \u{1b}[2J\u{9b}31m\u{202e}way  http://evil/");

    place.share("file", 10);
    let arguments = ["share", "shared", "-v", "--state", "sharing", "--listen", "127.0.0.1:0"];
    let more = ["--lab", "off", "--peer", &peer];
    let mut share = place.servent(&[&arguments[..], &more].concat());
    let mut share = share.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut log = std::io::BufReader::new(share.stderr.take().unwrap());
    let line = std::io::BufRead::lines(&mut log)
        .map_while(Result::ok)
        .find(|line| line.contains("does not accept us"));
    let line = line.expect("the refusal in the log");
    let _ = share.kill();
    let _ = share.wait();
    assert!(is_plain(line.as_bytes(), 1).contains("503 No \\u{1b}[2J"), "{line}");
}

#[test]
fn status_shows_what_neighbours_call_themselves() {
    let place = Place::new();
    place.share("file", 10);
    let servent = place.sharing(&[]);
    let lab = servent.lab.unwrap();
    let mut stream = TcpStream::connect(servent.at).unwrap();
    // What cannot stand in a head at all is left out of it before.
    let agent = "Evil \u{202e}gpj\u{2028}  ://";
    let hello = format!("GNUTELLA CONNECT/0.6\r\nUser-Agent: {agent}\r\n\r\n");
    stream.write_all(hello.as_bytes()).unwrap();
    head(&mut stream);
    stream.write_all(b"GNUTELLA/0.6 200 OK\r\n\r\n").unwrap();
    let _other = Peer::join(servent.at, "");
    until("both are neighbours", || {
        let status = program::lab_get(lab, "/api/status").json();
        status["servents"][0]["overlay"]["links"].as_array().is_some_and(|links| links.len() == 2)
    });
    let out = place.run(&["status", "--state", "state"]);
    let text = is_plain_somehow(&out.stdout);
    assert!(text.contains("Evil \\u{202e}gpj\\u{2028} \\u{20}\\u{3a}//"), "{text}");
}

/// Receives one file called so, sent by another process; what both said.
fn transferred(place: &Place, name: &str, more: &[&str]) -> (Output, Output) {
    let receive =
        ["receive", "--open", "--yes", "--listen", "127.0.0.1:0", "-o", "inbox/", "--once"];
    let mut receive = place.servent(&[&receive[..], more].concat());
    let mut receive = receive.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Where it listens is the first thing it says, byte by byte so that the
    // rest is left for the end.
    let pipe: &mut dyn std::io::Read = match more {
        [] => receive.stderr.as_mut().unwrap(),
        _ => receive.stdout.as_mut().unwrap(),
    };
    let (mut line, mut byte) = (Vec::new(), [0]);
    while !line.ends_with(b"\n") {
        pipe.read_exact(&mut byte).unwrap();
        line.push(byte[0]);
    }
    let line = String::from_utf8(line).unwrap();
    let at = &line[line.find("127.0.0.1:").expect("where it listens")..];
    let at = at.trim_end().trim_end_matches(['"', '}', ',']).split('"').next().unwrap();
    let sent = place.run(&[&["send", "--open", at, name][..], more].concat());
    assert!(sent.status.success(), "{sent:?}");
    (sent, finish(receive))
}

#[test]
fn send_and_receive_print_names_plainly() {
    let place = Place::new();
    std::fs::write(place.path(FILE), "content").unwrap();
    let (sent, received) = transferred(&place, FILE, &[]);
    for out in [&sent.stdout, &sent.stderr, &received.stdout, &received.stderr] {
        let text = is_plain_somehow(out);
        assert!(!text.contains("\nover"), "a line of its own: {text}");
    }
    let said = String::from_utf8(received.stderr).unwrap();
    assert!(said.contains("receiving nasty \\u{1b}]0;title"), "{said}");
    let (sent, received) = transferred(&place, FILE, &["--json"]);
    for out in [sent.stdout, received.stdout] {
        let text = String::from_utf8(out).unwrap();
        let facts = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        assert!(facts.into_iter().any(|fact| fact["name"] == FILE), "{text}");
    }
}

#[test]
fn get_names_files_plainly_when_they_come_and_when_they_do_not() {
    let place = Place::new();
    let (folder, bytes) = place.share("other", 10);
    std::fs::write(folder.join(FILE), &bytes).unwrap();
    let servent = place.sharing(&[]);
    let list = search(&place, &["--browse", &servent.at.to_string(), "nasty", "--json"]);
    let hit: Value = serde_json::from_slice(&list.stdout).unwrap();
    assert_eq!(hit["name"], format!("shared/{FILE}"));
    let url = hit["get"].as_str().unwrap();
    let out = place.run(&["get", url]);
    assert!(out.status.success(), "{out:?}");
    for out in [&out.stdout, &out.stderr] {
        is_plain_somehow(out);
    }
    let url = format!("http://{}/get/99/%1B%5B31m%E2%80%AEgpj%0Aexe", servent.at);
    let out = place.run(&["get", &url, &format!("{url}x")]);
    assert!(!out.status.success());
    for out in [&out.stdout, &out.stderr] {
        is_plain_somehow(out);
    }
}
