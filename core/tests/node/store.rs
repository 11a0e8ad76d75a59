//! The store goes away between a decision and its reply: what was to be said is
//! unsaid, and something else is said that promises nothing.

use crate::node_support;

use node_support::{Host, config, get, header, status, var};
use servent_core::engine::{Engine as _, Fx};
use servent_core::id::ConnId;
use servent_core::node::{ConnInput, ConnOutput, Input, Output, SiteInput};
use servent_core::queue::QueuePolicy;
use servent_core::time::Duration;

const AQ: &str = "X-Queue: 0.1\r\n";
const PQ: &str = "X-Queue: 1.0\r\n";

/// The store is away, and no client has heard the last answer on a connection;
/// what is said instead.
fn unsay(host: &mut Host, conn: ConnId, several: bool) -> String {
    assert!(host.node.may_retract(conn));
    host.input(Input::Site(SiteInput::StoreUnavailable));
    host.input(Input::Connection(conn, ConnInput::Retracted { several }));
    let reply = host.heard(conn);
    assert_eq!((status(&reply), header(&reply, "X-Queued")), (503, None), "{reply}");
    assert!(header(&reply, "Retry-After").is_some(), "{reply}");
    reply
}

fn busy() -> (Host, ConnId) {
    let mut host = Host::new(config(), &[100_000]);
    host.stalled = true;
    let (holder, reply) = host.ask("9.9.9.1:1", AQ);
    assert_eq!(status(&reply), 200);
    (host, holder)
}

#[test]
fn st_7_a_place_that_was_not_told_is_kept_with_its_connection() {
    let (mut host, _) = busy();
    let (first, reply) = host.ask("9.9.9.2:1", AQ);
    assert_eq!(var(&reply, "position"), "1");
    let (_, reply) = host.ask("9.9.9.3:1", PQ);
    assert_eq!(var(&reply, "position"), "2");
    let min: u64 = header(&reply, "Retry-After").unwrap().parse().unwrap();
    host.wait(Duration::from_secs(min));
    host.say(first, &get(0, AQ)); // No client hears the answer.
    let reply = unsay(&mut host, first, false);
    assert_eq!(header(&reply, "Connection"), Some("keep-alive"));
    // Early, for what it was not told.
    host.wait(Duration::from_secs(1));
    host.input(Input::Site(SiteInput::StoreAvailable));
    let reply = host.say(first, &get(0, AQ));
    assert_eq!(var(&reply, "position"), "1", "{reply}");
}

/// A client that does not hear that it has come closer names the place it knows.
#[test]
fn st_7_a_position_that_was_not_told_is_no_fault_of_the_client() {
    let (mut host, _) = busy();
    let (first, _) = host.ask("9.9.9.2:1", AQ);
    let (second, reply) = host.ask("9.9.9.3:1", PQ);
    let claim =
        format!("X-Queued: position={}; ID={}\r\n", var(&reply, "position"), var(&reply, "ID"));
    let min: u64 = header(&reply, "Retry-After").unwrap().parse().unwrap();
    host.input(Input::Connection(first, ConnInput::Closed));
    host.wait(Duration::from_secs(min));
    host.say(second, &get(0, &format!("{PQ}{claim}"))); // No client hears the answer.
    unsay(&mut host, second, false);
    host.input(Input::Site(SiteInput::StoreAvailable));
    let again = host.say(second, &get(0, &format!("{PQ}{claim}")));
    assert_eq!((var(&again, "position"), var(&again, "ID")), ("1", var(&reply, "ID")), "{again}");
}

#[test]
fn st_7_a_slot_that_was_not_told_waits_for_its_owner() {
    for (dialect, several) in [(AQ, false), (PQ, false), (PQ, true), ("", true)] {
        let mut host = Host::new(config(), &[100_000]);
        host.stalled = true;
        let (conn, reply) = host.ask("9.9.9.1:1", dialect);
        assert_eq!(status(&reply), 200);
        let ticket = var(&reply, "ID").to_owned();
        unsay(&mut host, conn, several);
        assert_eq!(host.hung_up.contains(&conn), several);
        host.wait(Duration::from_secs(12));
        host.input(Input::Site(SiteInput::StoreAvailable));
        let (_, reply) = host.ask("9.9.9.2:1", PQ);
        assert_eq!(status(&reply), 503, "no other client gets it, {dialect:?} {several}: {reply}");
        let named =
            if ticket.is_empty() { String::new() } else { format!("X-Queued: ID={ticket}\r\n") };
        let request = get(0, &format!("{dialect}{named}"));
        let conn = if several { host.accept("9.9.9.1:2") } else { conn };
        let reply = host.say(conn, &request);
        assert_eq!(status(&reply), 200, "{dialect}: {reply}");
    }
}

/// A client that waits without a connection was told goodbye along with its
/// place: neither was said, so both are said anew.
#[test]
fn st_7_a_goodbye_that_was_not_said_is_said_again() {
    let (mut host, holder) = busy();
    let conn = host.accept("9.9.9.2:1");
    let mut fx = Fx::new();
    let data = get(0, "").into_bytes();
    host.node.handle(host.now, Input::Connection(conn, ConnInput::Bytes { data }), &mut fx);
    assert!(
        fx.outputs()
            .any(|output| *output == Output::Connection(conn, ConnOutput::Close { flush: true }))
    );
    fx.drain().for_each(drop);
    assert!(host.node.may_retract(conn));
    host.node.handle(host.now, Input::Site(SiteInput::StoreUnavailable), &mut fx);
    host.node.handle(
        host.now,
        Input::Connection(conn, ConnInput::Retracted { several: false }),
        &mut fx,
    );
    let said: Vec<&Output> = fx.outputs().collect();
    let [
        Output::Connection(_, ConnOutput::Write { data, .. }),
        Output::Connection(_, ConnOutput::Close { flush: true, .. }),
    ] = said[..]
    else {
        panic!("{said:?}")
    };
    let reply = String::from_utf8_lossy(data);
    assert_eq!((status(&reply), header(&reply, "Connection")), (503, Some("close")));
    // What we say as a client answers no request.
    assert!(host.node.may_retract(holder) && !host.node.may_retract(ConnId(77)));
}

/// Nothing is promised by holding a request: that goes on while the store is
/// away, and ends when it would have ended.
#[test]
fn st_7_a_client_held_while_the_store_is_away_is_answered_when_the_hold_ends() {
    let mut config = config();
    config.queue.policy = QueuePolicy::Adaptive;
    let mut host = Host::new(config, &[100_000]);
    host.stalled = true;
    host.ask("9.9.9.1:1", AQ);
    let (ours, reply) = host.ask("9.9.9.2:1", &format!("{PQ}X-Features: hold/1.0\r\n"));
    let (plain, another) = host.ask("9.9.9.3:1", "");
    assert_eq!((reply, another), (String::new(), String::new()), "both are held");
    host.input(Input::Site(SiteInput::StoreUnavailable));
    host.wait(Duration::from_secs(20));
    assert_eq!((host.heard(ours), status(&host.heard(plain))), (String::new(), 503));
    host.wait(Duration::from_secs(5));
    assert_eq!(var(&host.heard(ours), "position"), "1");
    unsay(&mut host, ours, false);
    host.input(Input::Site(SiteInput::StoreAvailable));
    let reply = host.say(ours, &get(0, PQ));
    assert_eq!(var(&reply, "position"), "1", "it came first: {reply}");
}
