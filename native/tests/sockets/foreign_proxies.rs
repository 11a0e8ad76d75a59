//! Push proxies of other makes, by hand: gtk-gnutella is ours, we are
//! LimeWire's, and a file comes over one.

use std::net::SocketAddr;

use servent::driver::ServentOptions;
use servent_core::id::{FileIndex, Guid, Sha1};
use servent_core::node::{FetchCommand, Get, NodeAnswer, NodeCommand, OverlayCommand};
use servent_core::wire::gnutella::{
    MessageBody, MessageKind, OverlayMessage, OverlayPayload, Push, Query, Vendor, Wishes,
};
use sha1::Digest as _;

use crate::common::{header, shared, start, until};
use crate::foreign::{Foreign, gtk_accept, lime_connect, lime_gives};
use crate::foreign_peers::{SERVENT, SIZE, by_hand, joined, listener, sharer, told};

/// A servent id in base 32, as LimeWire writes it.
const SERVENT32: &str = "JRGEYTCMJRGEYTCMJRGEYTCMJQ";

fn vendor(name: [u8; 4], selector: u16, version: u16, data: &[u8]) -> MessageBody {
    let data = OverlayPayload::copy_from_slice(data);
    MessageBody::Vendor(Vendor { standard: false, vendor: name, selector, version, data })
}

/// A vendor message of LimeWire's, with its id.
fn of_lime(message: &OverlayMessage, selector: u16) -> Option<(Guid, Vendor)> {
    match &message.body {
        MessageBody::Vendor(vendor) if (vendor.vendor, vendor.selector) == (*b"LIME", selector) => {
            Some((message.guid, vendor.clone()))
        }
        _ => None,
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn gtk_gnutella_becomes_our_proxy_and_our_hits_say_so() {
    let state = tempfile::tempdir().unwrap();
    let (files, _) = shared("citrus song.mp3", SIZE);
    let mut options = joined(ServentOptions::under(state.path()));
    options.shares = vec![files.path().to_owned()];
    options.node.overlay.firewalled = true;
    let servent = start(options).await;
    until("it is shared", async || servent.library().hashed_files == 1).await;
    let (listener, listens) = listener();
    servent.command(NodeCommand::Overlay(OverlayCommand::Join { at: listens })).await.unwrap();
    by_hand(move || {
        let (mut peer, head) = Foreign::called(&listener);
        assert_eq!(header(&head, "Listen-IP"), None, "no peer can connect to it");
        let ours = header(&head, "GUID").expect("its servent id").to_owned();
        peer.say(&gtk_accept());
        let last = peer.head();
        peer.flow((header(&last, "Content-Encoding") == Some("deflate"), true));
        // Of what it understands: BEAR/4 version 1, LIME/21 version 2.
        let list = b"\x02\0BEAR\x04\0\x01\0LIME\x15\0\x02\0";
        peer.send(Guid([1; 16]), (1, 0), vendor([0; 4], 0, 0, list));
        let (id, request) = peer.hear(|message| of_lime(message, 21));
        assert_eq!((id.to_string(), request.version, request.data.len()), (ours, 2, 0));
        let SocketAddr::V4(at) = listens else { unreachable!() };
        let data = [&at.ip().octets()[..], &at.port().to_le_bytes()].concat();
        peer.send(id, (1, 0), vendor(*b"LIME", 22, 2, &data));
        let query = Query::new(Wishes::default(), "citrus song", &[]);
        peer.send(Guid([7; 16]), (3, 0), MessageBody::Query(query));
        let hit = peer.hear(|message| match &message.body {
            MessageBody::Hit(hit) => Some(hit.clone()),
            _ => None,
        });
        assert_eq!((hit.quality().push, hit.proxies()), (Some(true), vec![at]));
    })
    .await;
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn we_are_the_proxy_of_limewire_and_pass_on_what_is_asked_over_http() {
    let state = tempfile::tempdir().unwrap();
    let (servent, _files, _, _) = sharer(state.path()).await;
    let at = servent.addr().unwrap();
    by_hand(move || {
        let listens = SocketAddr::from(([127, 0, 0, 1], 6_352));
        let (mut leaf, head) = Foreign::call(at, &lime_connect(listens, false));
        leaf.say("GNUTELLA/0.6 200 OK\r\nContent-Encoding: deflate\r\n\r\n");
        leaf.flow((header(&head, "Content-Encoding") == Some("deflate"), true));
        leaf.hear(|message| (message.kind() == MessageKind::Vendor).then_some(()));
        leaf.send(SERVENT, (1, 0), vendor(*b"LIME", 21, 1, b""));
        let (id, granted) = leaf.hear(|message| of_lime(message, 22));
        assert_eq!((id, granted.version), (SERVENT, 1));
        assert_eq!(granted.data[..], at.port().to_le_bytes());
        let ask = |method: &str, servent: &str| {
            format!(
                "{method} /gnutella/push-proxy?ServerID={servent}&file=9 HTTP/1.1\r\n\
                 Cache-Control: no-cache\r\nUser-Agent: LimeWire/@version@\r\n\
                 X-Node: 127.0.0.1:7353\r\nConnection: close\r\nHost: {at}\r\n\r\n"
            )
        };
        for method in ["HEAD", "GET"] {
            let (_, answer) = Foreign::call(at, &ask(method, SERVENT32));
            assert!(answer.starts_with("HTTP/1.1 202 "), "{answer}");
            let push = leaf.hear(|message| match &message.body {
                MessageBody::Push(push) => Some(push.clone()),
                _ => None,
            });
            let Push { servent, index, at, .. } = push;
            let asked = (SERVENT, FileIndex(9), "127.0.0.1:7353".parse().unwrap());
            assert_eq!((servent, index, at), asked);
        }
        let absent = SERVENT32.replace('J', "K");
        let (_, answer) = Foreign::call(at, &ask("GET", &absent));
        assert!(answer.starts_with("HTTP/1.1 410 "), "{answer}");
    })
    .await;
    servent.stop().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_comes_from_limewire_past_the_overlay() {
    let state = tempfile::tempdir().unwrap();
    let (_files, bytes) = shared("citrus.mp3", SIZE);
    let sha1 = Sha1(sha1::Sha1::digest(&bytes).into());
    let servent = start(joined(ServentOptions::under(state.path()))).await;
    let mut answers = servent.answers();
    let get = Get { name: "citrus.mp3".into(), sha1: Some(sha1), sources: Vec::new() };
    servent.command(NodeCommand::Fetch(FetchCommand::Get(get))).await.unwrap();
    let fetch = told(&mut answers, |answer| match answer {
        NodeAnswer::Fetching { fetch } => Some(*fetch),
        _ => None,
    })
    .await;
    let (listener, listens) = listener();
    let index = FileIndex(7);
    let gone = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for command in [
        NodeCommand::Fetch(FetchCommand::ExpectGiv { fetch, servent: SERVENT, index }),
        NodeCommand::Overlay(OverlayCommand::AskPush {
            servent: SERVENT,
            index,
            via: None,
            proxies: vec![gone, listens],
        }),
    ] {
        servent.command(command).await.unwrap();
    }
    let whole = bytes.clone();
    by_hand(move || {
        let (mut proxy, asked) = Foreign::called(&listener);
        let line = format!("GET /gnutella/push-proxy?ServerId={SERVENT32}&file=7 HTTP/1.1\r\n");
        assert!(asked.starts_with(&line), "{asked}");
        let node: SocketAddr = header(&asked, "X-Node").unwrap().parse().unwrap();
        proxy.say("HTTP/1.1 202 Push Message Sent\r\nContent-Length: 0\r\n\r\n");
        let giv = format!("GIV 0:{}/file\n\n", SERVENT.to_string().to_uppercase());
        let (mut given, asked) = Foreign::call(node, &giv);
        let urn = format!("urn:sha1:{sha1}");
        assert!(asked.starts_with(&format!("GET /uri-res/N2R?{urn} HTTP/1.1\r\n")), "{asked}");
        given.say(&lime_gives(&urn, SIZE));
        given.bytes(&whole);
    })
    .await;
    // As long as no peer had come there was no source.
    let done = |answer: &NodeAnswer| matches!(answer, NodeAnswer::Fetched { .. }).then_some(());
    told(&mut answers, done).await;
    assert!(std::fs::read(servent.path_of(fetch).unwrap()).unwrap() == bytes);
    servent.stop().await.unwrap();
}
