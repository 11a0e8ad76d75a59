//! Hash trees of what we share: announced with every word about a file, and
//! given to a client that asks.

use std::sync::Arc;

use crate::node_support::{self, Host, config, get, header, status};
use servent_core::id::{Sha1, Tth};
use servent_core::node::{Config, ConnInput, DiskInput, FileInfo, Input};
use servent_core::thex::{Tree, TreeHasher};
use servent_core::wire::thex;

const SIZE: usize = 600_000;

fn tree(bytes: &[u8]) -> Tree {
    let mut hasher = TreeHasher::new(bytes.len() as u64);
    hasher.update(bytes);
    hasher.finish().unwrap()
}

/// A host with two files, whose first one has a tree.
fn host() -> (Host, Tree) {
    host_with(config())
}

fn host_with(config: Config) -> (Host, Tree) {
    let mut host = Host::new(config, &[SIZE, 10]);
    let tree = tree(&host.files[&servent_core::id::FileIndex(0)]);
    let info = host.shared().remove(0);
    host.input(Input::Disk(DiskInput::Shared(FileInfo {
        tree: Some(Arc::new(tree.clone())),
        ..info
    })));
    (host, tree)
}

fn n2x(urn: &str) -> String {
    format!("GET /uri-res/N2X?{urn} HTTP/1.1\r\nHost: x\r\n\r\n")
}

fn body(host: &mut Host, peer: &str, request: &str) -> (u16, Vec<u8>) {
    let conn = host.accept(peer);
    host.input(Input::Connection(conn, ConnInput::Bytes { data: request.into() }));
    let reply: Vec<u8> = host.wire.remove(&conn).unwrap_or_default().into();
    let at = reply.windows(4).position(|w| w == b"\r\n\r\n").unwrap() + 4;
    let head = String::from_utf8(reply[..at].to_vec()).unwrap();
    let length = (reply.len() - at).to_string();
    assert_eq!(header(&head, "Content-Length"), Some(&length[..]), "{head}");
    if status(&head) == 200 {
        assert_eq!(header(&head, "Content-Type"), Some("application/dime"));
    }
    (status(&head), reply[at..].to_vec())
}

#[test]
fn a_reply_about_a_file_tells_its_tree_to_waiting_clients_too() {
    let (mut host, tree) = host();
    let (sha1, root) = (node_support::sha(0), tree.root());
    let told = format!("/uri-res/N2X?urn:sha1:{sha1};{root}");
    let (_, first) = host.ask("9.9.9.1:1", "X-Queue: 0.1\r\nRange: bytes=0-9\r\n");
    let (_, waits) = host.ask("9.9.9.2:1", "X-Queue: 0.1\r\n");
    assert_eq!((status(&first), status(&waits)), (206, 503));
    for reply in [first, waits] {
        assert_eq!(header(&reply, "X-Thex-URI"), Some(&told[..]), "{reply}");
        let bitprint = format!("urn:bitprint:{sha1}.{root}");
        assert_eq!(header(&reply, "X-Content-URN"), Some(&bitprint[..]));
        let urn = format!("urn:sha1:{sha1}");
        assert_eq!(header(&reply, "X-Gnutella-Content-URN"), Some(&urn[..]));
    }
    let conn = host.accept("9.9.9.3:1");
    let reply = host.say(conn, &get(1, "X-Queue: 0.1\r\n"));
    assert_eq!(header(&reply, "X-Thex-URI"), None, "that of the other is not known yet");
}

#[test]
fn a_tree_is_given_by_every_name_of_its_file_without_a_slot_or_a_place() {
    let (mut host, tree) = host();
    host.stalled = true;
    let (_, taken) = host.ask("9.9.9.1:1", "X-Queue: 0.1\r\n");
    assert_eq!(status(&taken), 200, "the only slot");
    let (sha1, root) = (node_support::sha(0), tree.root());
    for urn in [
        format!("urn:sha1:{sha1}"),
        format!("urn:bitprint:{sha1}.{root}"),
        format!("URN:SHA1:{}", sha1.to_string().to_lowercase()),
    ] {
        let (status, message) = body(&mut host, "9.9.9.2:1", &n2x(&urn));
        assert_eq!(status, 200, "{urn}");
        assert_eq!(thex::read(&message, SIZE as u64, root), Some(tree.clone()));
        assert_eq!(thex::read(&message, SIZE as u64, Tth([0; 24])), None);
    }
    assert_eq!(host.node.view(1, 9).queue.length, 0, "no client waits");
    let conn = host.accept("9.9.9.2:2");
    let head = host.say(conn, &n2x(&format!("urn:sha1:{sha1}")).replace("GET", "HEAD"));
    assert!(status(&head) == 200 && head.ends_with("\r\n\r\n"), "{head}");
    for urn in [format!("urn:sha1:{}", node_support::sha(1)), format!("urn:sha1:{}", Sha1([9; 20]))]
    {
        assert_eq!(body(&mut host, "9.9.9.2:1", &n2x(&urn)).0, 404, "{urn}");
    }
    let named = format!(
        "GET /uri-res/N2R?urn:bitprint:{sha1}.{root} HTTP/1.1\r\nHost: x\r\nX-Queue: 0.1\r\n\r\n"
    );
    let conn = host.accept("9.9.9.4:1");
    assert_eq!(status(&host.say(conn, &named)), 503, "the file itself is queued for");
}

#[test]
fn asking_for_trees_without_end_is_hammering() {
    let mut config = config();
    config.queue.hammer_requests = 60;
    let (mut host, tree) = host_with(config);
    let urn = format!("urn:bitprint:{}.{}", node_support::sha(0), tree.root());
    let answers: Vec<u16> = (0..200).map(|_| body(&mut host, "9.9.9.2:1", &n2x(&urn)).0).collect();
    assert_eq!((answers[0], answers[199]), (200, 429));
    assert_eq!(body(&mut host, "9.9.9.3:1", &n2x(&urn)).0, 200, "others get it");
}

#[test]
fn the_client_in_the_slot_may_ask_for_trees_as_often_as_it_needs() {
    let mut config = config();
    config.queue.hammer_requests = 10;
    let (mut host, tree) = host_with(config);
    host.stalled = true;
    let (_, taken) = host.ask("9.9.9.1:1", "X-Queue: 0.1\r\n");
    assert_eq!(status(&taken), 200, "the only slot");
    let urn = format!("urn:bitprint:{}.{}", node_support::sha(0), tree.root());
    let mut last = |peer| (0..40).map(|_| body(&mut host, peer, &n2x(&urn)).0).last();
    assert_eq!((last("9.9.9.1:2"), last("9.9.9.2:1")), (Some(200), Some(429)));
}
