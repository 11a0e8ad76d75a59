//! How we get along with gtk-gnutella and LimeWire, which a peer by hand
//! stands for: neighbours in both directions, files in both directions.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use servent::driver::{Handle, ServentOptions};
use servent_core::id::{FileIndex, Guid, Sha1};
use servent_core::node::{
    DownloadSource, FetchCommand, Get, NodeAnswer, NodeCommand, OverlayCommand, SearchHit,
};
use servent_core::queue::QueuePolicy;
use servent_core::thex::{Tree, TreeHasher};
use servent_core::wire::gnutella::{
    HitBuilder, Keywords, MessageBody, MessageKind, OverlayPayload, Ping, Push, Quality, Query,
    Vendor, Wishes,
};
use servent_core::wire::http::RangeSpec;
use servent_core::wire::thex;
use sha1::Digest as _;
use tokio::sync::broadcast::Receiver;

use crate::common::{PATIENCE, Raw, fetched, header, shared, sharing, start, until};
use crate::foreign::{
    Foreign, gtk_accept, gtk_connect, gtk_get, gtk_piece, gtk_queued, gtk_refuse,
    is_good_ultrapeer, lime_accept, lime_connect, lime_get, lime_gives, lime_piece, lime_queued,
};

/// The id of a servent by hand.
pub(crate) const SERVENT: Guid = Guid([0x4c; 16]);
pub(crate) const SIZE: usize = 300_000;

/// An ultrapeer as the program runs one.
pub(crate) fn joined(mut options: ServentOptions) -> ServentOptions {
    let overlay = &mut options.node.overlay;
    (overlay.enabled, overlay.degree) = (true, 32);
    overlay.router.dynamic = true;
    options.node.queue.policy = QueuePolicy::Adaptive;
    options
}

/// One that shares a song, hashed.
pub(crate) async fn sharer(
    state: &std::path::Path,
) -> (Handle, tempfile::TempDir, Vec<u8>, String) {
    sharer_with(state, 1, QueuePolicy::Adaptive).await
}

/// The same with another queue, whose times are shorter by so much.
async fn sharer_with(
    state: &std::path::Path,
    scale: u32,
    policy: QueuePolicy,
) -> (Handle, tempfile::TempDir, Vec<u8>, String) {
    let (files, bytes) = shared("citrus song.mp3", SIZE);
    let mut options = joined(sharing(state, files.path(), 1, scale));
    options.node.queue.policy = policy;
    let servent = start(options).await;
    until("it is hashed", async || servent.library().hashed_files == 1).await;
    let urn = format!("urn:sha1:{}", Sha1(sha1::Sha1::digest(&bytes).into()));
    (servent, files, bytes, urn)
}

pub(crate) fn listener() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = listener.local_addr().unwrap();
    (listener, at)
}

/// Runs what a peer by hand does beside the runtime.
pub(crate) async fn by_hand<T: Send + 'static>(does: impl FnOnce() -> T + Send + 'static) -> T {
    tokio::task::spawn_blocking(does).await.unwrap()
}

/// The next answer that fits.
pub(crate) async fn told<T>(
    answers: &mut Receiver<NodeAnswer>,
    fits: impl Fn(&NodeAnswer) -> Option<T>,
) -> T {
    let wait = async {
        loop {
            if let Some(found) = fits(&answers.recv().await.unwrap()) {
                return found;
            }
        }
    };
    tokio::time::timeout(PATIENCE, wait).await.expect("it is told in time")
}

fn found(answer: &NodeAnswer) -> Option<SearchHit> {
    match answer {
        NodeAnswer::Found(hit) => Some(hit.clone()),
        _ => None,
    }
}

/// What leaves send behind their handshake: what they understand, a ping with
/// extensions, a keyword table; then they ask.
fn settles_in(peer: &mut Foreign, guid: Guid, words: &str) {
    let supported = Vendor {
        standard: false,
        vendor: [0; 4],
        selector: 0,
        version: 0,
        data: OverlayPayload::from_static(b"\x01\x00BEAR\x04\x00\x01\x00"),
    };
    peer.send(Guid([1; 16]), (1, 0), MessageBody::Vendor(supported));
    let ggep = OverlayPayload::from_static(b"\xc3\x83SCP\x41\x01");
    peer.send(Guid([2; 16]), (1, 0), MessageBody::Ping(Ping { ggep }));
    let mut table = Keywords::new(16);
    table.add("gtk own file");
    for part in table.messages() {
        peer.send(Guid([3; 16]), (1, 0), MessageBody::Qrp(part));
    }
    let query = Query::new(Wishes::default(), words, &[]);
    peer.send(guid, (4, 0), MessageBody::Query(query));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn leaves_of_both_makes_take_us_for_their_ultrapeer_and_find_what_we_have() {
    let state = tempfile::tempdir().unwrap();
    let (servent, _files, _, urn) = sharer(state.path()).await;
    let at = servent.addr().unwrap();
    for (n, connect) in [(1, gtk_connect as fn(SocketAddr, bool) -> String), (2, lime_connect)] {
        let urn = urn.clone();
        by_hand(move || {
            let listens = SocketAddr::from(([127, 0, 0, 1], 6_350 + n));
            let (mut peer, head) = Foreign::call(at, &connect(listens, false));
            assert!(head.starts_with("GNUTELLA/0.6 200 "), "{head}");
            assert!(is_good_ultrapeer(&head), "{head}");
            peer.say("GNUTELLA/0.6 200 OK\r\nContent-Encoding: deflate\r\n\r\n");
            peer.flow((header(&head, "Content-Encoding") == Some("deflate"), true));
            let guid = Guid([40 + n as u8; 16]);
            settles_in(&mut peer, guid, "citrus SONG");
            let hit = peer.hear(|message| match &message.body {
                MessageBody::Hit(hit) if message.guid == guid => Some(hit.clone()),
                _ => None,
            });
            let result = hit.results().next().unwrap();
            assert_eq!(result.name, b"citrus song.mp3");
            assert_eq!(format!("urn:sha1:{}", result.sha1().unwrap()), urn);
            assert_eq!(hit.quality().push, Some(false), "it was reached here");
            assert_eq!(SocketAddr::V4(hit.at()), at);
            let tables = peer.heard.iter().filter(|message| message.kind() == MessageKind::Qrp);
            assert_eq!(tables.count(), 0, "a leaf gets no table");
            // The same servent once more.
            let (_, head) = Foreign::call(at, &connect(listens, false));
            assert!(head.starts_with("GNUTELLA/0.6 409 "), "{head}");
        })
        .await;
    }
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ultrapeers_of_both_makes_are_called_told_our_keywords_and_their_hits_heard() {
    let state = tempfile::tempdir().unwrap();
    let (servent, _files, _, _) = sharer(state.path()).await;
    let mut answers = servent.answers();
    for (n, make) in ["gtk", "lime"].into_iter().enumerate() {
        let (listener, listens) = listener();
        servent.command(NodeCommand::Overlay(OverlayCommand::Join { at: listens })).await.unwrap();
        let words = format!("{make} needle");
        let search =
            NodeCommand::Overlay(OverlayCommand::Search { search: n as u32, words: words.clone() });
        let peer = by_hand(move || {
            let (mut peer, head) = Foreign::called(&listener);
            assert!(head.starts_with("GNUTELLA CONNECT/0.6\r\n") && is_good_ultrapeer(&head));
            peer.say(&if make == "gtk" { gtk_accept() } else { lime_accept(listens) });
            let last = peer.head();
            assert!(last.starts_with("GNUTELLA/0.6 200 "), "{last}");
            peer.flow((header(&last, "Content-Encoding") == Some("deflate"), true));
            peer.hear(|message| (message.kind() == MessageKind::Qrp).then_some(()));
            peer
        });
        let mut peer = peer.await;
        servent.command(search).await.unwrap();
        by_hand(move || {
            let asked = |message: &servent_core::wire::gnutella::OverlayMessage| match &message.body
            {
                MessageBody::Query(query) if query.criteria() == words.as_bytes() => {
                    Some((message.guid, message.ttl))
                }
                _ => None,
            };
            let (guid, ttl) = peer.hear(asked);
            assert!((1..=4).contains(&ttl), "{ttl}");
            let SocketAddr::V4(at) = listens else { unreachable!() };
            let quality = Quality { push: Some(true), ..Quality::default() };
            let vendor = if make == "gtk" { *b"GTKG" } else { *b"LIME" };
            let mut hit = HitBuilder::new(at, 350, (vendor, quality), SERVENT, 4_000);
            assert!(hit.add(FileIndex(9), 2_000, &words, Some(Sha1([5; 20]))));
            peer.send(guid, (5, 0), MessageBody::Hit(hit.finish().unwrap()));
            // It stays until its hit was heard.
            peer
        })
        .await;
        let hit = told(&mut answers, found).await;
        assert_eq!((hit.search, hit.name.as_str()), (n as u32, format!("{make} needle").as_str()));
        assert_eq!((hit.sha1, hit.servent, hit.push), (Some(Sha1([5; 20])), SERVENT, true));
    }
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_they_say_when_they_do_not_want_us_is_told() {
    let state = tempfile::tempdir().unwrap();
    let (servent, _files, _, _) = sharer(state.path()).await;
    let mut answers = servent.answers();
    for (status, head) in [
        (403, gtk_refuse("403 High Outdegree and Dynamic Querying Required")),
        (409, gtk_refuse("409 Already connected")),
        (429, gtk_refuse("429 Banned for 5m 0s")),
        (503, "GNUTELLA/0.6 503 Not Good Ultrapeer\r\nX-Try-Ultrapeers: \r\n\r\n".into()),
        (503, "GNUTELLA/0.6 503 Starting, Need LimeWire\r\n\r\n".into()),
    ] {
        let (listener, listens) = listener();
        servent.command(NodeCommand::Overlay(OverlayCommand::Join { at: listens })).await.unwrap();
        let line = head.lines().next().unwrap().to_owned();
        by_hand(move || Foreign::called(&listener).0.say(&head)).await;
        let (at, said) = told(&mut answers, |answer| match answer {
            NodeAnswer::Refused { at, status, reason } => Some((*at, (*status, reason.clone()))),
            _ => None,
        })
        .await;
        assert_eq!((at, said.0), (listens, status));
        assert_eq!(line, format!("GNUTELLA/0.6 {} {}", said.0, said.1));
    }
    servent.stop().await.unwrap();
}

/// LimeWire answers every push with `GIV 0:<id>/file`, and knows only hashes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_comes_from_limewire_by_push() {
    let state = tempfile::tempdir().unwrap();
    let (_files, bytes) = shared("citrus.mp3", SIZE);
    let sha1 = Sha1(sha1::Sha1::digest(&bytes).into());
    let servent = start(joined(ServentOptions::under(state.path()))).await;
    let mut answers = servent.answers();
    let (listener, listens) = listener();
    servent.command(NodeCommand::Overlay(OverlayCommand::Join { at: listens })).await.unwrap();
    let mut peer = by_hand(move || {
        let (mut peer, _) = Foreign::called(&listener);
        peer.say(&lime_accept(listens));
        let last = peer.head();
        peer.flow((header(&last, "Content-Encoding") == Some("deflate"), true));
        peer
    })
    .await;
    let search =
        NodeCommand::Overlay(OverlayCommand::Search { search: 1, words: "lime citrus".into() });
    servent.command(search).await.unwrap();
    let peer = by_hand(move || {
        let guid =
            peer.hear(|message| (message.kind() == MessageKind::Query).then_some(message.guid));
        let SocketAddr::V4(at) = listens else { unreachable!() };
        let quality = Quality { push: Some(true), ..Quality::default() };
        let mut hit = HitBuilder::new(at, 350, (*b"LIME", quality), SERVENT, 4_000);
        assert!(hit.add(FileIndex(7), SIZE as u64, "lime citrus.mp3", Some(sha1)));
        peer.send(guid, (3, 0), MessageBody::Hit(hit.finish().unwrap()));
        peer
    });
    let mut peer = peer.await;
    let hit = told(&mut answers, found).await;
    let get = Get { name: "citrus.mp3".into(), sha1: hit.sha1, sources: Vec::new() };
    servent.command(NodeCommand::Fetch(FetchCommand::Get(get))).await.unwrap();
    let fetch = told(&mut answers, |answer| match answer {
        NodeAnswer::Fetching { fetch } => Some(*fetch),
        _ => None,
    })
    .await;
    let (servent_id, index) = (hit.servent, hit.index);
    for command in [
        NodeCommand::Fetch(FetchCommand::ExpectGiv { fetch, servent: servent_id, index }),
        NodeCommand::Overlay(OverlayCommand::AskPush {
            servent: servent_id,
            index,
            via: None,
            proxies: Vec::new(),
        }),
    ] {
        servent.command(command).await.unwrap();
    }
    let whole = bytes.clone();
    by_hand(move || {
        let push = peer.hear(|message| match &message.body {
            MessageBody::Push(push) => Some(push.clone()),
            _ => None,
        });
        let Push { servent, index, at, .. } = push;
        assert_eq!((servent, index), (SERVENT, FileIndex(7)));
        let giv = format!("GIV 0:{}/file\n\n", SERVENT.to_string().to_uppercase());
        let (mut given, asked) = Foreign::call(SocketAddr::V4(at), &giv);
        let urn = format!("urn:sha1:{sha1}");
        assert!(asked.starts_with(&format!("GET /uri-res/N2R?{urn} HTTP/1.1\r\n")), "{asked}");
        given.say(&lime_gives(&urn, SIZE));
        given.bytes(&whole);
        peer
    })
    .await;
    // As long as no peer had come there was no source.
    let done = |answer: &NodeAnswer| matches!(answer, NodeAnswer::Fetched { .. }).then_some(());
    told(&mut answers, done).await;
    assert!(std::fs::read(servent.path_of(fetch).unwrap()).unwrap() == bytes);
    servent.stop().await.unwrap();
}

/// LimeWire as a source: no numbers of files, a place by Active Queueing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_comes_from_limewire_by_its_hash_after_a_place_in_its_line() {
    let state = tempfile::tempdir().unwrap();
    let (files, bytes) = shared("citrus.mp3", SIZE);
    let sha1 = Sha1(sha1::Sha1::digest(&bytes).into());
    // Its 45 seconds shall not be ours.
    let mut options = sharing(state.path(), files.path(), 1, 60);
    options.shares.clear();
    let servent = start(joined(options)).await;
    let mut answers = servent.answers();
    let (listener, listens) = listener();
    let source = DownloadSource {
        at: listens,
        target: "/get/7/citrus.mp3".into(),
        host: listens.to_string(),
    };
    let get = Get { name: "citrus.mp3".into(), sha1: Some(sha1), sources: vec![source] };
    servent.command(NodeCommand::Fetch(FetchCommand::Get(get))).await.unwrap();
    let whole = bytes.clone();
    by_hand(move || {
        let urn = format!("urn:sha1:{sha1}");
        let (mut peer, asked) = Foreign::called(&listener);
        assert!(asked.starts_with("GET /get/7/citrus.mp3 "), "{asked}");
        peer.say(
            "HTTP/1.1 404 Not Found\r\nServer: LimeWire/@version@\r\nContent-Length: 0\r\n\r\n",
        );
        let by_hash = format!("GET /uri-res/N2R?{urn} HTTP/1.1\r\n");
        assert!(peer.head().starts_with(&by_hash));
        peer.say(&lime_queued(&urn));
        assert!(peer.head().starts_with(&by_hash), "polled on the same connection");
        peer.say(&lime_gives(&urn, SIZE));
        peer.bytes(&whole);
    })
    .await;
    let path = fetched(&servent, &mut answers).await.unwrap();
    assert!(std::fs::read(path).unwrap() == bytes);
    servent.stop().await.unwrap();
}

fn tree_of(bytes: &[u8]) -> Tree {
    let mut hasher = TreeHasher::new(bytes.len() as u64);
    hasher.update(bytes);
    hasher.finish().unwrap()
}

/// One of them as a source with a hash tree, until it has given all that is
/// asked of it; its replies begin with these lines. gtk-gnutella gives trees in
/// chunks. How often it was asked for the tree.
fn gives_trees(
    listener: TcpListener,
    make: fn(&str, &str, (usize, usize), usize) -> String,
    file: (Vec<u8>, String),
    tree: (Vec<u8>, bool),
) -> Arc<AtomicUsize> {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&asked);
    let shared = Arc::new((file, tree));
    std::thread::spawn(move || {
        loop {
            let (mut peer, mut head) = Foreign::called(&listener);
            let (count, shared) = (Arc::clone(&count), Arc::clone(&shared));
            std::thread::spawn(move || {
                let ((bytes, thex), (message, chunked)) = &*shared;
                loop {
                    if head.starts_with("GET /uri-res/N2X?urn:sha1:") {
                        count.fetch_add(1, Ordering::Relaxed);
                        peer.bytes(&tree_reply(message, *chunked));
                    } else {
                        let range = header(&head, "Range").and_then(RangeSpec::parse).unwrap();
                        let (start, end) = range.resolve(bytes.len() as u64).unwrap();
                        let (start, end) = (start as usize, end as usize);
                        let urn = thex.split([';', '?']).nth(1).unwrap();
                        peer.say(&make(urn, thex, (start, end), bytes.len()));
                        if !peer.may_send(&bytes[start..end]) {
                            return;
                        }
                    }
                    match peer.next_head() {
                        Some(next) => head = next,
                        None => return,
                    }
                }
            });
        }
    });
    asked
}

fn tree_reply(message: &[u8], chunked: bool) -> Vec<u8> {
    let mut reply = b"HTTP/1.1 200 OK\r\nContent-Type: application/dime\r\n".to_vec();
    if !chunked {
        reply.extend(format!("Content-Length: {}\r\n\r\n", message.len()).bytes());
        reply.extend(message);
        return reply;
    }
    reply.extend(b"Transfer-Encoding: chunked\r\n\r\n");
    for chunk in message.chunks(500) {
        reply.extend(format!("{:X}\r\n", chunk.len()).bytes());
        reply.extend(chunk);
        reply.extend(b"\r\n");
    }
    reply.extend(b"0\r\n\r\n");
    reply
}

/// Both makes as sources of one file, one of them with wrong bytes: the other's
/// tree shows it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tree_of_either_make_shows_that_the_other_lies() {
    const MANY: usize = 3_000_000;
    for lime_lies in [false, true] {
        let state = tempfile::tempdir().unwrap();
        let (_files, bytes) = shared("citrus.mp3", MANY);
        let sha1 = Sha1(sha1::Sha1::digest(&bytes).into());
        let tree = tree_of(&bytes);
        let thex = format!("/uri-res/N2X?urn:sha1:{sha1};{}", tree.root());
        let wrong: Vec<u8> = bytes.iter().map(|byte| !byte).collect();
        let [(gtk, gtk_at), (lime, lime_at)] = [(); 2].map(|()| listener());
        let message = thex::write(&tree);
        let (of_gtk, of_lime) = if lime_lies { (&bytes, &wrong) } else { (&wrong, &bytes) };
        let file = (of_gtk.clone(), thex.clone());
        let gtk = gives_trees(gtk, gtk_piece, file, (message.clone(), true));
        let lime = gives_trees(lime, lime_piece, (of_lime.clone(), thex.clone()), (message, false));
        let servent = start(joined(ServentOptions::under(state.path()))).await;
        let mut answers = servent.answers();
        let source = |at: SocketAddr| {
            let target = format!("/uri-res/N2R?urn:sha1:{sha1}");
            DownloadSource { at, target, host: at.to_string() }
        };
        let sources = vec![source(gtk_at), source(lime_at)];
        let get = Get { name: "citrus.mp3".into(), sha1: Some(sha1), sources };
        servent.command(NodeCommand::Fetch(FetchCommand::Get(get))).await.unwrap();
        let path = fetched(&servent, &mut answers).await.unwrap();
        assert!(std::fs::read(path).unwrap() == bytes);
        let view = servent.view(0, 0).await.unwrap();
        let lost = view.fetches[0].sources.iter().filter(|source| source.state == "lost");
        let liar = if lime_lies { lime_at } else { gtk_at };
        assert_eq!(lost.map(|s| s.at.clone()).collect::<Vec<_>>(), [liar.to_string()]);
        let asked = gtk.load(Ordering::Relaxed) + lime.load(Ordering::Relaxed);
        assert_eq!(asked, 1, "one of them, and once");
        servent.stop().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn both_makes_find_our_tree_where_we_say_it_is() {
    let state = tempfile::tempdir().unwrap();
    let (servent, _files, bytes, urn) = sharer(state.path()).await;
    let at = servent.addr().unwrap();
    by_hand(move || {
        let tree = tree_of(&bytes);
        let gtk = gtk_get(&urn, at, "Range: bytes=0-9\r\n");
        // One after the other: the first has the slot, the second waits for it.
        let mut first = None;
        for (asks, status) in [(gtk, "206"), (lime_get(&urn, at, (0, 9)), "503")] {
            let (mut peer, head) = Foreign::call(at, &asks);
            assert!(head.starts_with(&format!("HTTP/1.1 {status} ")), "{head}");
            peer.body(if status == "206" { 10 } else { 0 });
            let told = header(&head, "X-Thex-URI").unwrap();
            assert_eq!(told, format!("/uri-res/N2X?{urn};{}", tree.root()));
            let target = told.split(';').next().unwrap();
            peer.say(&format!("GET {target} HTTP/1.1\r\nHost: {at}\r\n\r\n"));
            let head = peer.head();
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            assert_eq!(header(&head, "Content-Type"), Some("application/dime"));
            let length = header(&head, "Content-Length").unwrap().parse().unwrap();
            let message = peer.body(length);
            assert_eq!(thex::read(&message, SIZE as u64, tree.root()), Some(tree.clone()));
            let text = String::from_utf8_lossy(&message);
            for part in ["<file size=\"300000\" segmentsize=\"1024\"/>", "depth=\"1\""] {
                assert!(text.contains(part), "{text}");
            }
            first.get_or_insert(peer);
        }
    })
    .await;
    servent.stop().await.unwrap();
}

/// gtk-gnutella holds a place of ours and calls us for it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_place_in_the_line_of_gtk_gnutella_is_called() {
    let state = tempfile::tempdir().unwrap();
    let (_files, bytes) = shared("citrus.mp3", SIZE);
    let sha1 = Sha1(sha1::Sha1::digest(&bytes).into());
    let servent = start(joined(ServentOptions::under(state.path()))).await;
    let mut answers = servent.answers();
    let (listener, listens) = listener();
    let target = format!("/uri-res/N2R?urn:sha1:{sha1}");
    let source = DownloadSource { at: listens, target, host: listens.to_string() };
    let get = Get { name: "citrus.mp3".into(), sha1: Some(sha1), sources: vec![source] };
    servent.command(NodeCommand::Fetch(FetchCommand::Get(get))).await.unwrap();
    let (urn, id) = (format!("urn:sha1:{sha1}"), "1dd36e7599f9be22d847861dfcf33190");
    let queued = gtk_queued(&urn, id);
    let (peer, node) = by_hand(move || {
        let (mut peer, asked) = Foreign::called(&listener);
        let node: SocketAddr = header(&asked, "X-Node").unwrap().parse().unwrap();
        peer.say(&queued);
        (peer, node)
    })
    .await;
    // A call for a place that is not known yet would be hung up on.
    until("it has its place", async || {
        servent.view(0, 0).await.unwrap().fetches[0].sources[0].position == Some(2)
    })
    .await;
    let whole = bytes.clone();
    by_hand(move || {
        let (mut calls, again) = Foreign::call(node, &format!("QUEUE {id} {listens}\r\n\r\n"));
        assert!(again.starts_with(&format!("GET /uri-res/N2R?{urn} HTTP/1.1\r\n")), "{again}");
        let claim = header(&again, "X-Queued").unwrap();
        assert!(claim.contains(&format!("ID={id}")), "{claim}");
        calls.say(&lime_gives(&urn, SIZE));
        calls.bytes(&whole);
        (peer, calls)
    })
    .await;
    let path = fetched(&servent, &mut answers).await.unwrap();
    assert!(std::fs::read(path).unwrap() == bytes);
    servent.stop().await.unwrap();
}

/// The id in a reply of ours.
fn id_of(head: &str) -> String {
    let queued = header(head, "X-Queued").unwrap_or_else(|| panic!("no place: {head}"));
    let id = queued.split(';').find_map(|part| part.trim().strip_prefix("ID="));
    id.unwrap().to_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gtk_gnutella_waits_in_our_line_is_called_and_goes_on_with_the_next_range() {
    let state = tempfile::tempdir().unwrap();
    let (servent, _files, bytes, urn) = sharer_with(state.path(), 60, QueuePolicy::Text).await;
    let at = servent.addr().unwrap();
    by_hand(move || {
        let mut first = Raw::connect(at);
        let target = format!("/uri-res/N2R?{urn}");
        assert_eq!(first.ask(&target, "X-Queue: 0.1\r\nRange: bytes=0-9\r\n").0, 206);
        assert_eq!(first.body(10), bytes[..10]);
        // The slot is taken between two ranges: gtk-gnutella gets a place.
        let (listener, listens) = listener();
        let node = format!("X-Node: {listens}\r\n");
        let (peer, queued) = Foreign::call(at, &gtk_get(&urn, at, &node));
        assert!(queued.starts_with("HTTP/1.1 503 "), "{queued}");
        let id = id_of(&queued);
        assert!(header(&queued, "X-Queued").unwrap().contains("position=1"), "{queued}");
        drop(peer);
        let rest = first.ask(&target, "X-Queue: 0.1\r\nRange: bytes=10-\r\nConnection: close\r\n");
        assert_eq!((rest.0, first.body(SIZE - 10).len()), (206, SIZE - 10));
        // It is called, and answers on that connection.
        let (mut calls, line) = Foreign::called_back(&listener);
        assert_eq!(line.trim_end(), format!("QUEUE {id} {at}"));
        let half = SIZE / 2;
        for (from, to) in [(0, half - 1), (half, SIZE - 1)] {
            let lines =
                format!("X-Queued: position=0; ID={id}\r\n{node}Range: bytes={from}-{to}\r\n");
            calls.say(&gtk_get(&urn, at, &lines));
            let head = calls.head();
            assert!(head.starts_with("HTTP/1.1 206 "), "{head}");
            assert!(calls.body(to - from + 1) == bytes[from..=to]);
        }
    })
    .await;
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn limewire_takes_a_file_of_ours_in_its_ranges() {
    let state = tempfile::tempdir().unwrap();
    let (servent, _files, bytes, urn) = sharer(state.path()).await;
    let at = servent.addr().unwrap();
    by_hand(move || {
        let (mut peer, mut head) = Foreign::call(at, &lime_get(&urn, at, (0, 131_071)));
        let mut have = Vec::new();
        loop {
            assert!(head.starts_with("HTTP/1.1 206 "), "{head}");
            let length: usize = header(&head, "Content-Length").unwrap().parse().unwrap();
            have.extend(peer.body(length));
            if have.len() == SIZE {
                break;
            }
            let last = (have.len() + 131_071).min(SIZE - 1);
            peer.say(&lime_get(&urn, at, (have.len(), last)));
            head = peer.head();
        }
        assert!(have == bytes);
    })
    .await;
    servent.stop().await.unwrap();
}
