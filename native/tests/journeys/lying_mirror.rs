//! `get --mirror` where one of the servers has other bytes.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use servent_core::id::Sha1;
use servent_core::thex::{Tree, TreeHasher};
use servent_core::wire::thex;
use sha1::Digest as _;

use crate::program::{Place, Running, assert_same, noise, until};

const SIZE: usize = 6_000_000;

/// A plain web server with one file, whatever it is asked for; each of its
/// replies has these lines too.
fn web_server(bytes: Vec<u8>, lines: &str) -> SocketAddr {
    counted(bytes, lines, None).0
}

/// The same with the hash tree of the file, for whoever asks for that, and the
/// count of the file's bytes that it has sent.
fn counted(bytes: Vec<u8>, lines: &str, tree: Option<Vec<u8>>) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let file = Arc::new((bytes, lines.to_owned(), tree));
    let sent = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&sent);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let (file, sent) = (Arc::clone(&file), Arc::clone(&sent));
            std::thread::spawn(move || {
                let (bytes, lines, tree) = &*file;
                let mut heard = BufReader::new(stream.try_clone().unwrap()).lines();
                while let Some(Ok(line)) = heard.next() {
                    let line = line.to_lowercase();
                    if let (true, Some(tree)) = (line.starts_with("get /uri-res/n2x"), tree) {
                        let head =
                            format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", tree.len());
                        stream.write_all(&[head.as_bytes(), tree].concat()).unwrap();
                    }
                    let Some((first, last)) =
                        line.strip_prefix("range: bytes=").and_then(|range| range.split_once('-'))
                    else {
                        continue;
                    };
                    let first: usize = first.parse().unwrap();
                    let last = last.trim().parse().unwrap_or(SIZE - 1).min(SIZE - 1);
                    let head = format!(
                        "HTTP/1.1 206 OK\r\nContent-Range: bytes {first}-{last}/{SIZE}\r\n\
                         Content-Length: {}\r\n{lines}\r\n",
                        last + 1 - first
                    );
                    let said = stream.write_all(head.as_bytes());
                    if said.and_then(|()| stream.write_all(&bytes[first..=last])).is_err() {
                        return;
                    }
                    sent.fetch_add(last + 1 - first, Ordering::Relaxed);
                }
            });
        }
    });
    (at, count)
}

fn etag(tag: &str) -> String {
    format!("ETag: \"{tag}\"\r\n")
}

/// The hash by which a file is asked for.
fn urn_of(bytes: &[u8]) -> String {
    format!("urn:sha1:{}", Sha1(sha1::Sha1::digest(bytes).into()))
}

fn tree_of(bytes: &[u8]) -> Tree {
    let mut hasher = TreeHasher::new(bytes.len() as u64);
    hasher.update(bytes);
    hasher.finish().unwrap()
}

fn other_bytes(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| byte ^ 0x5a).collect()
}

#[test]
fn with_a_hash_the_liar_is_found_and_named_and_the_file_is_right() {
    for liar_first in [false, true] {
        let place = Place::new();
        let bytes = noise(SIZE);
        let honest = web_server(bytes.clone(), &etag("a"));
        let liar = web_server(other_bytes(&bytes), &etag("a"));
        let [first, second] = if liar_first { [liar, honest] } else { [honest, liar] };
        let [first, mirror] = [first, second].map(|at| format!("http://{at}/film"));
        let urn = urn_of(&bytes);
        let get = ["get", &first, &urn, "--mirror", &mirror, "-o", "film", "--state", "get"];
        let output = place.run(&get);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_same(&place.path("film"), &bytes);
        assert!(said.contains(&format!("{liar} sent bytes of another file")), "{said}");
        assert!(!said.contains(&format!("{honest} sent bytes of another")), "{said}");
    }
}

/// Servents know the hash tree of what they share, so every piece is checked.
#[test]
fn among_servents_a_liar_is_named_by_the_first_piece_that_is_wrong() {
    let (place, another) = (Place::new(), Place::new());
    let bytes = noise(SIZE);
    let servents = [&place, &another].map(|place| {
        place.share("film", SIZE);
        place.sharing(&[])
    });
    let (urn, liar) = (urn_of(&bytes), web_server(other_bytes(&bytes), ""));
    let [one, two] = [0, 1].map(|n: usize| format!("http://{}/get/0/film", servents[n].at));
    let lying = format!("http://{liar}/film");
    for order in [[&lying, &one, &two], [&one, &two, &lying], [&one, &lying, &lying]] {
        let [first, second, third] = order;
        let mirrors = ["--mirror", second, "--mirror", third];
        let get = [&["get", first, &urn, "-o", "film", "--state", "get"][..], &mirrors].concat();
        let output = place.run(&get);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{said}");
        assert_same(&place.path("film"), &bytes);
        assert!(said.contains(&format!("{liar} gave bytes that do not match")), "{said}");
        for servent in &servents {
            assert!(!said.contains(&format!("{} gave bytes", servent.at)), "{said}");
        }
        std::fs::remove_file(place.path("film")).unwrap();
    }
}

#[test]
fn with_a_hash_tree_what_is_right_is_fetched_once() {
    let place = Place::new();
    let bytes = noise(SIZE);
    let (urn, tree) = (urn_of(&bytes), tree_of(&bytes));
    let lines = format!("X-Thex-URI: /uri-res/N2X?{urn};{}\r\n", tree.root());
    let (honest, sent) = counted(bytes.clone(), &lines, Some(thex::write(&tree)));
    // One byte in every million; it tells the right tree, too.
    let mut lies = bytes.clone();
    lies.iter_mut().step_by(1_000_000).for_each(|byte| *byte ^= 1);
    let (liar, lied) = counted(lies, &lines, None);
    let (url, mirror) = (format!("http://{honest}/film"), format!("http://{liar}/film"));
    let output =
        place.run(&["get", &url, &urn, "--mirror", &mirror, "-o", "film", "--state", "get"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_same(&place.path("film"), &bytes);
    assert!(said.contains(&format!("{liar} gave bytes that do not match")), "{said}");
    assert!(lied.load(Ordering::Relaxed) > 0);
    assert!(sent.load(Ordering::Relaxed) <= SIZE, "nothing of the honest one was asked for twice");
}

/// Bytes on disk that are wrong, whoever wrote them, are found when the
/// download goes on.
#[test]
fn after_a_kill_pieces_are_checked_again() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 2 * SIZE);
    let server = place.sharing(&["--set", "upload_rate=6000000"]);
    let url = format!("http://{}/get/0/film", server.at);
    let get = ["get", &url, "-o", "film", "--state", "get", "--time-scale", "20"];
    let running = Running::start(place.servent(&get));
    let part = place.path("film.part");
    until("half of it is there", || part.metadata().is_ok_and(|m| m.len() > SIZE as u64));
    running.kill();
    let file = std::fs::OpenOptions::new().write(true).open(&part).unwrap();
    file.write_all_at(&[!bytes[300_000]], 300_000).unwrap();
    let output = place.run(&get);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_same(&place.path("film"), &bytes);
    assert!(!said.contains("do not match") && !said.contains("another file"), "{said}");
}

#[test]
fn without_a_hash_nothing_is_mixed_and_the_other_server_is_named() {
    let place = Place::new();
    let bytes = noise(SIZE);
    let [one, two] = [(bytes.clone(), "a"), (other_bytes(&bytes), "b")]
        .map(|(bytes, tag)| web_server(bytes, &etag(tag)));
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
    let [one, two] = [(); 2].map(|()| web_server(bytes.clone(), &etag("same")));
    let (url, mirror) = (format!("http://{one}/film"), format!("http://{two}/film"));
    let output = place.run(&["get", &url, "--mirror", &mirror, "-o", "film", "--state", "get"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_same(&place.path("film"), &bytes);
}
