//! Requests that are answered later, and clients that say goodbye: the line as
//! it looks on the wire.

use crate::node_support;
use crate::queue::{PQ, busy, finish, trickle};

use node_support::{Host, config, get, header, status, var};
use servent_core::id::ConnId;
use servent_core::node::{ConnInput, DiskInput, FileInfo, Input, NodeCommand};

/// A busy host of the adaptive policy.
fn adaptive() -> (Host, ConnId) {
    let mut config = config();
    config.queue.policy = servent_core::queue::QueuePolicy::Adaptive;
    busy(config)
}

#[test]
fn a_held_request_is_answered_with_the_slot_and_a_plain_one_too() {
    let (mut host, holder) = adaptive();
    let (ours, reply) = host.ask("9.9.9.2:1", &format!("{PQ}X-Features: hold/1.0\r\n"));
    assert_eq!(reply, "", "the answer is held back");
    let (plain, reply) = host.ask("9.9.9.3:1", "");
    assert_eq!(reply, "");
    let (_, reply) = host.ask("9.9.9.4:1", PQ);
    assert_eq!((status(&reply), var(&reply, "position")), (503, "3"), "it did not say it waits");
    finish(&mut host, holder);
    assert_eq!(status(&host.heard(ours)), 200);
    host.input(Input::Connection(ours, ConnInput::Served { bytes: 100_000 }));
    assert_eq!(status(&host.heard(plain)), 200);
}

/// A head that names the old version in front of bytes of the new one would let a
/// client join the two.
#[test]
fn a_file_that_changes_while_its_request_is_held_is_not_sent_under_the_old_head() {
    let (mut host, holder) = adaptive();
    let (held, reply) = host.ask("9.9.9.2:1", &format!("{PQ}X-Features: hold/1.0\r\n"));
    assert_eq!(reply, "");
    let old = host.shared().remove(0);
    let hash = |n| Some(servent_core::id::Sha1([n; 20]));
    host.input(Input::Disk(DiskInput::Shared(FileInfo { sha1: hash(9), ..old })));
    finish(&mut host, holder);
    assert!(host.hung_up.contains(&held), "it asks anew");
    assert_eq!(host.heard(held), "");
    let (again, reply) = host.ask("9.9.9.2:2", PQ);
    assert_eq!(status(&reply), 200, "{reply}");
    assert_eq!(header(&reply, "ETag"), hash(9).map(|sha1| format!("\"{sha1}\"")).as_deref());
    assert!(!host.hung_up.contains(&again));
}

#[test]
fn a_plain_client_hears_its_place_when_its_hold_is_over() {
    let (mut host, holder) = adaptive();
    let (plain, _) = host.ask("9.9.9.3:1", "");
    let mut sent = 0;
    trickle(&mut host, holder, 19, &mut sent);
    assert_eq!(host.heard(plain), "");
    trickle(&mut host, holder, 2, &mut sent);
    let reply = host.heard(plain);
    assert_eq!(status(&reply), 503, "{reply}");
    assert!(header(&reply, "Retry-After").is_some() && host.hung_up.contains(&plain));
}

#[test]
fn a_client_that_sends_more_while_its_request_is_held_is_answered_in_order() {
    let (mut host, _) = adaptive();
    let hold = format!("{PQ}X-Features: hold/1.0\r\n");
    let conn = host.accept("9.9.9.2:1");
    assert_eq!(host.say(conn, &get(0, &hold)), "");
    let reply = host.say(conn, "GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!((status(&reply), reply.matches("HTTP/1.1 404").count()), (503, 1), "{reply}");
    // Both in one packet.
    let conn = host.accept("9.9.9.5:1");
    let both = format!("{}GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n", get(0, &hold));
    let reply = host.say(conn, &both);
    assert_eq!((status(&reply), reply.matches("HTTP/1.1 404").count()), (503, 1), "{reply}");
}

#[test]
fn a_connection_that_closes_while_its_request_is_held_leaves_nothing_behind() {
    let (mut host, holder) = adaptive();
    let (plain, _) = host.ask("9.9.9.3:1", "");
    host.input(Input::Connection(plain, ConnInput::Closed));
    finish(&mut host, holder);
    let (_, reply) = host.ask("9.9.9.4:1", PQ);
    assert_eq!(status(&reply), 200);
}

/// A servent that is stopped keeps the order of those who wait, also of those who were
/// not told a place yet.
#[test]
fn a_servent_that_stops_tells_held_clients_their_places() {
    let (mut host, _holder) = adaptive();
    let hold = format!("{PQ}X-Features: hold/1.0\r\n");
    let held = ["9.9.9.2:1", "9.9.9.3:1"].map(|peer| host.ask(peer, &hold).0);
    let (plain, reply) = host.ask("9.9.9.4:1", "");
    assert_eq!(reply, "");
    let saved = host.ops.len();
    host.input(Input::Command(NodeCommand::Stop));
    for (conn, position) in held.into_iter().zip(["1", "2"]) {
        let reply = host.heard(conn);
        assert_eq!((status(&reply), var(&reply, "position")), (503, position), "{reply}");
        assert!(host.hung_up.contains(&conn));
    }
    assert_eq!(status(&host.heard(plain)), 503);
    assert!(host.ops.len() >= saved + 2, "both places are saved");
}

/// QA-8 on the wire: the announcement, and the goodbye on another connection.
#[test]
fn a_goodbye_on_another_connection_frees_place_and_slot() {
    let (mut host, _holder) = busy(config());
    let (first, reply) = host.ask("9.9.9.2:1", PQ);
    assert_eq!(header(&reply, "X-Features"), Some("leave/1.0"), "{reply}");
    let (_, behind) = host.ask("9.9.9.3:1", PQ);
    assert_eq!(var(&behind, "position"), "2");
    let leave = |host: &mut Host, reply: &str| {
        let conn = host.accept("9.9.9.4:1");
        let id = var(reply, "ID");
        host.say(
            conn,
            &format!("HEAD /get/0/f HTTP/1.1\r\nHost: x\r\nX-Queued: leave=1; ID={id}\r\n\r\n"),
        )
    };
    assert!(leave(&mut host, &reply).starts_with("HTTP/1.1 "));
    assert!(host.hung_up.contains(&first));
    let (_, last) = host.ask("9.9.9.5:1", PQ);
    assert_eq!(var(&last, "position"), "2", "there is one before it now");
}

#[test]
fn a_goodbye_ends_a_transfer_and_its_slot() {
    let mut host = Host::new(config(), &[100_000, 50]);
    host.stalled = true;
    let (holder, reply) = host.ask("9.9.9.1:1", PQ);
    assert_eq!((status(&reply), header(&reply, "X-Features")), (200, Some("leave/1.0")));
    let conn = host.accept("9.9.9.1:2");
    let id = var(&reply, "ID");
    let said = host.say(
        conn,
        &format!("HEAD /get/0/f HTTP/1.1\r\nHost: x\r\nX-Queued: leave=1; ID={id}\r\n\r\n"),
    );
    assert!(said.starts_with("HTTP/1.1 "), "{said}");
    assert!(host.hung_up.contains(&holder));
    let (_, reply) = host.ask("9.9.9.2:1", PQ);
    assert_eq!(status(&reply), 200, "the slot is free");
}
