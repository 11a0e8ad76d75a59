//! `get --mirror` where one of the servers has other bytes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use crate::program::{Place, Wire, assert_same, noise};

const SIZE: usize = 6_000_000;

/// A plain web server with one file, whatever it is asked for.
fn web_server(bytes: Vec<u8>, etag: &'static str) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let bytes = Arc::new(bytes);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let bytes = Arc::clone(&bytes);
            std::thread::spawn(move || {
                let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
                while let Some(Ok(line)) = lines.next() {
                    let line = line.to_lowercase();
                    let Some((first, last)) =
                        line.strip_prefix("range: bytes=").and_then(|range| range.split_once('-'))
                    else {
                        continue;
                    };
                    let first: usize = first.parse().unwrap();
                    let last = last.trim().parse().unwrap_or(SIZE - 1).min(SIZE - 1);
                    let head = format!(
                        "HTTP/1.1 206 OK\r\nContent-Range: bytes {first}-{last}/{SIZE}\r\n\
                         Content-Length: {}\r\nETag: \"{etag}\"\r\n\r\n",
                        last + 1 - first
                    );
                    let sent = stream.write_all(head.as_bytes());
                    if sent.and_then(|()| stream.write_all(&bytes[first..=last])).is_err() {
                        return;
                    }
                }
            });
        }
    });
    at
}

fn other_bytes(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ 0x5a).collect()
}

#[test]
fn with_a_hash_the_liar_is_found_and_named_and_the_file_is_right() {
    for liar_first in [false, true] {
        let place = Place::new();
        let (_, bytes) = place.share("film", SIZE);
        let running = place.sharing(&[]);
        let liar = web_server(other_bytes(&bytes), "a");
        let (honest, lying) =
            (format!("http://{}/get/0/film", running.at), format!("http://{liar}/film"));
        let one_byte = Wire::connect(running.at).get("/get/0/film", &["Range: bytes=0-0"]);
        let urn = one_byte.header("x-gnutella-content-urn").unwrap().to_owned();
        let (first, mirror) = if liar_first { (&lying, &honest) } else { (&honest, &lying) };
        let get = ["get", first, &urn, "--mirror", mirror, "-o", "film", "--state", "get"];
        let output = place.run(&get);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_same(&place.path("film"), &bytes);
        assert!(said.contains(&format!("{liar} sent bytes of another file")), "{said}");
        assert!(!said.contains(&format!("{} sent bytes of another", running.at)), "{said}");
    }
}

#[test]
fn without_a_hash_nothing_is_mixed_and_the_other_server_is_named() {
    let place = Place::new();
    let bytes = noise(SIZE);
    let [one, two] = [(bytes.clone(), "a"), (other_bytes(&bytes), "b")]
        .map(|(bytes, etag)| web_server(bytes, etag));
    let (url, mirror) = (format!("http://{one}/film"), format!("http://{two}/film"));
    let output = place.run(&["get", &url, "--mirror", &mirror, "-o", "film", "--state", "get"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("may have another file of that length"), "{said}");
    // Which one it is depends on who is first; it is never some of each.
    let found = std::fs::read(place.path("film")).unwrap();
    assert!(found == bytes || found == other_bytes(&bytes), "a mixture");
}

#[test]
fn without_a_hash_servers_that_say_the_same_of_their_file_share_it() {
    let place = Place::new();
    let bytes = noise(SIZE);
    let [one, two] = [(); 2].map(|()| web_server(bytes.clone(), "same"));
    let (url, mirror) = (format!("http://{one}/film"), format!("http://{two}/film"));
    let output = place.run(&["get", &url, "--mirror", &mirror, "-o", "film", "--state", "get"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("film"), &bytes);
}
