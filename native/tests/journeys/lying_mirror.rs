//! `get --mirror` where one of the servers has other bytes.

use std::io::{self, BufRead as _, BufReader, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::Value;
use servent_core::id::Sha1;
use servent_core::thex::{Tree, TreeHasher};
use servent_core::wire::thex;
use sha1::Digest as _;

use crate::program::{Place, Running, assert_same, noise, pause};

const SIZE: usize = 6_000_000;

/// A plain web server with one file, whatever it is asked for.
struct Server {
    at: SocketAddr,
    /// Bytes of the file that it has sent, and how many it sends at most.
    sent: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

/// What it has: the file as it is at that moment, lines of its replies, and the
/// hash tree for a client that asks for it.
struct Has<F> {
    bytes: F,
    lines: String,
    tree: Option<Vec<u8>>,
}

fn web_server(bytes: Vec<u8>, lines: &str) -> SocketAddr {
    serve(Has { bytes: move || bytes.clone(), lines: lines.into(), tree: None }).at
}

fn serve<F: Fn() -> Vec<u8> + Send + Sync + 'static>(has: Has<F>) -> Server {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    let (sent, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(usize::MAX)));
    let shared = Arc::new((has, Arc::clone(&sent), Arc::clone(&most)));
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let shared = Arc::clone(&shared);
            std::thread::spawn(move || {
                let (has, sent, most) = &*shared;
                // The client that asked may go at any time.
                let _ = answer(stream, has, sent, most);
            });
        }
    });
    Server { at, sent, most }
}

/// Answers what comes on one connection.
fn answer<F: Fn() -> Vec<u8>>(
    mut stream: TcpStream,
    has: &Has<F>,
    sent: &AtomicUsize,
    most: &AtomicUsize,
) -> io::Result<()> {
    for line in BufReader::new(stream.try_clone()?).lines() {
        let line = line?.to_lowercase();
        if line.starts_with("get /uri-res/n2x") {
            let (status, tree) = match &has.tree {
                Some(tree) => ("200 OK", &tree[..]),
                None => ("404 Not Found", &[][..]),
            };
            let head = format!("HTTP/1.1 {status}\r\nContent-Length: {}\r\n\r\n", tree.len());
            stream.write_all(&[head.as_bytes(), tree].concat())?;
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
             Content-Length: {}\r\n{}\r\n",
            last + 1 - first,
            has.lines
        );
        stream.write_all(head.as_bytes())?;
        for part in (has.bytes)()[first..=last].chunks(50_000) {
            while sent.load(Ordering::Relaxed) >= most.load(Ordering::Relaxed) {
                pause(Duration::from_millis(5));
            }
            stream.write_all(part)?;
            sent.fetch_add(part.len(), Ordering::Relaxed);
        }
    }
    Ok(())
}

/// Bytes that a line of `get --json` says are there.
fn have(line: &str) -> Option<u64> {
    serde_json::from_str::<Value>(line).ok()?["download"]["have"].as_u64()
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
    let (right, message) = (bytes.clone(), Some(thex::write(&tree)));
    let honest = serve(Has { bytes: move || right.clone(), lines: lines.clone(), tree: message });
    // One byte in every million; it tells the right tree, too.
    let mut lies = bytes.clone();
    lies.iter_mut().step_by(1_000_000).for_each(|byte| *byte ^= 1);
    let liar = serve(Has { bytes: move || lies.clone(), lines, tree: None });
    let [url, mirror] = [honest.at, liar.at].map(|at| format!("http://{at}/film"));
    let output =
        place.run(&["get", &url, &urn, "--mirror", &mirror, "-o", "film", "--state", "get"]);
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert_same(&place.path("film"), &bytes);
    assert!(said.contains(&format!("{} gave bytes that do not match", liar.at)), "{said}");
    assert!(
        honest.sent.load(Ordering::Relaxed) <= SIZE,
        "nothing of the honest one was asked for twice"
    );
}

/// Bytes on disk that are wrong, whichever program wrote them, are found when the
/// download goes on.
#[test]
fn after_a_kill_pieces_are_checked_again() {
    let place = Place::new();
    let (_, bytes) = place.share("film", 2 * SIZE);
    let server = place.sharing(&["--set", "upload_rate=3000000"]);
    let url = format!("http://{}/get/0/film", server.at);
    let get = ["get", &url, "-o", "film", "--state", "get", "--time-scale", "20"];
    let often = ["--json", "--set", "fetch.save_bytes=262144"];
    let mut running = Running::start(place.servent(&[&get[..], &often].concat()));
    running.line(|line| have(line) > Some(SIZE as u64));
    running.kill();
    let part = place.path("film.part");
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

/// Nothing is said that tells one from the other, and half of one is on disk.
#[test]
fn without_a_hash_a_file_that_became_another_is_not_continued() {
    for same in [false, true] {
        let place = Place::new();
        let before = noise(SIZE);
        let after = if same { before.clone() } else { other_bytes(&before) };
        let now = Arc::new(Mutex::new(before.clone()));
        let file = Arc::clone(&now);
        let bytes = move || file.lock().unwrap().clone();
        let server = serve(Has { bytes, lines: String::new(), tree: None });
        let url = format!("http://{}/film", server.at);
        let often = ["--json", "--set", "fetch.save_bytes=262144"];
        let get = ["get", &url, "-o", "film", "--state", "get"];
        let half = SIZE / 2;
        server.most.store(half, Ordering::Relaxed);
        let mut running = Running::start(place.servent(&[&get[..], &often].concat()));
        running.line(|line| have(line) >= Some(half as u64));
        running.kill();
        *now.lock().unwrap() = after.clone();
        server.most.store(usize::MAX, Ordering::Relaxed);
        let before = server.sent.load(Ordering::Relaxed);
        let output = place.run(&get);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        assert_same(&place.path("film"), &after);
        let again = server.sent.load(Ordering::Relaxed) - before;
        assert_eq!(again < SIZE, same, "{again}");
    }
}
