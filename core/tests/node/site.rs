//! A divided site: two members, and a part that goes from one to the other.

use std::collections::{BTreeMap, BTreeSet};

use crate::node_support;

use node_support::{Host, config, get, header, status, var};
use servent_core::id::{ConnId, FileKey, Guid};
use servent_core::lease::Partition;
use servent_core::lease::membership::Leader;
use servent_core::node::{
    ConnInput, DownloadSource, FetchCommand, Get, Input, NodeAnswer, NodeCommand, NodeOp, SiteInput,
};
use servent_core::queue::{QueuePolicy, RowState, StoredEntry};
use servent_core::time::Duration;

const AQ: &str = "X-Queue: 0.1\r\n";
const PQ: &str = "X-Queue: 1.0\r\n";
const OTHER: &str = "9.9.8.1:6347";

/// The part of the only file.
fn part() -> Partition {
    Partition::containing(FileKey(100))
}

fn leaders(its: Leader) -> Input {
    let of = |one: Partition| if one == part() { its } else { Leader::Vacant };
    Input::Site(SiteInput::Divided { leaders: Partition::all().map(of).collect() })
}

fn leads(queue: Vec<StoredEntry>) -> Input {
    Input::Site(SiteInput::Leads { parts: BTreeSet::from([part()]), queue })
}

/// A member that leads the part of its file.
fn member() -> Host {
    let mut host = Host::new(config(), &[200_000]);
    host.stalled = true;
    host.input(leaders(Leader::Vacant));
    host.input(leads(Vec::new()));
    host
}

/// What the store remembers after these changes.
fn rows(host: &Host) -> Vec<StoredEntry> {
    let mut rows: BTreeMap<Guid, StoredEntry> = BTreeMap::new();
    for op in &host.ops {
        match op {
            NodeOp::Queue(row) => drop(rows.insert(row.ticket, *row)),
            NodeOp::QueueGone(ticket) => drop(rows.remove(ticket)),
            _ => {}
        }
    }
    let mut rows: Vec<StoredEntry> = rows.into_values().collect();
    rows.sort_by_key(|row| row.arrival);
    rows
}

#[test]
fn st_4_a_request_at_the_wrong_member_hears_where_to_ask() {
    let mut host = Host::new(config(), &[200_000]);
    host.input(leaders(Leader::At(OTHER.parse().unwrap())));
    let (_, reply) = host.ask("9.9.9.1:1", "");
    assert_eq!(status(&reply), 307, "{reply}");
    assert_eq!(header(&reply, "Location"), Some("//9.9.8.1:6347/file%200.bin"), "{reply}");
    for dialect in [AQ, PQ] {
        let (_, reply) = host.ask("9.9.9.2:1", dialect);
        assert_eq!((status(&reply), header(&reply, "X-Queued")), (503, None), "{reply}");
        assert_eq!(header(&reply, "X-Alt"), Some(OTHER), "{reply}");
        assert!(header(&reply, "Retry-After").is_some(), "{reply}");
    }
    // It has the file, and says so.
    let conn = host.accept("9.9.9.3:1");
    let head = "HEAD /get/0/file%200.bin HTTP/1.1\r\nHost: h\r\n\r\n";
    assert_eq!(status(&host.say(conn, head)), 200);
    assert!(rows(&host).is_empty(), "it has promised something");
}

#[test]
fn st_4_while_a_part_changes_hands_nothing_is_promised() {
    // That it is ours is only said: its places are not here yet.
    for its in [Leader::Vacant, Leader::Us] {
        let mut host = Host::new(config(), &[200_000]);
        host.input(leaders(its));
        for dialect in ["", AQ, PQ] {
            let (_, reply) = host.ask("9.9.9.1:1", dialect);
            assert_eq!((status(&reply), header(&reply, "Location")), (503, None), "{reply}");
            assert!(header(&reply, "Retry-After").is_some(), "{reply}");
        }
        assert!(rows(&host).is_empty(), "it has promised something");
    }
}

#[test]
fn st_4_a_place_moves_with_its_part_and_keeps_its_order() {
    let (mut one, mut two) = (member(), member());
    let (_, reply) = one.ask("9.9.9.1:1", PQ);
    assert_eq!(status(&reply), 200);
    let places: Vec<String> =
        (2..5).map(|n| var(&one.ask(&format!("9.9.9.{n}:1"), PQ).1, "ID").to_owned()).collect();
    let before = one.ops.len();
    one.input(leaders(Leader::At(OTHER.parse().unwrap())));
    assert_eq!(one.ops.len(), before, "the rows are another's now");
    assert_eq!(one.node.view(1, 9).queue.length, 0);
    // The other one has a client of its own, of a part that it has always led.
    two.input(leaders(Leader::Vacant));
    two.input(leads(rows(&one)));
    for (n, id) in places.iter().enumerate() {
        let conn = two.accept(&format!("9.9.9.{}:2", n + 2));
        let reply = two.say(conn, &get(0, &format!("{PQ}X-Queued: ID={id}\r\n")));
        let told = (var(&reply, "ID"), var(&reply, "position"));
        assert_eq!(told, (id.as_str(), &*(n + 1).to_string()), "{reply}");
    }
    // Its owner was being served, and goes on.
    let owner = rows(&one)[0].ticket;
    let conn = two.accept("9.9.9.1:2");
    let reply = two.say(conn, &get(0, &format!("{PQ}X-Queued: ID={owner}\r\n")));
    assert_eq!(status(&reply), 200, "{reply}");
}

/// Numbers of arrival are each member's own: what is restored behind others is
/// saved with the new ones, or the next member would mix them up.
#[test]
fn st_4_order_survives_a_second_move() {
    let (mut one, mut two) = (member(), member());
    one.ask("9.9.9.1:1", PQ);
    let first: Vec<String> =
        (2..6).map(|n| var(&one.ask(&format!("9.9.9.{n}:1"), PQ).1, "ID").to_owned()).collect();
    for n in 10..30 {
        two.ask(&format!("9.9.9.{n}:1"), PQ); // Its numbers are ahead.
    }
    two.input(leaders(Leader::Vacant));
    two.ops.clear();
    two.input(leads(rows(&one)));
    // One of them asks before the next move, the others do not.
    let conn = two.accept("9.9.9.2:2");
    two.say(conn, &get(0, &format!("{PQ}X-Queued: ID={}\r\n", first[0])));
    let waiting = rows(&two).into_iter().filter(|row| row.state == RowState::Waiting);
    let order: Vec<String> = waiting.map(|row| row.ticket.to_string()).collect();
    assert_eq!(order, first);
}

#[test]
fn st_4_an_upload_goes_on_to_its_end_where_it_runs() {
    let mut one = member();
    let (conn, reply) = one.ask("9.9.9.1:1", PQ);
    assert_eq!(status(&reply), 200);
    one.input(leaders(Leader::At(OTHER.parse().unwrap())));
    assert!(!one.hung_up.contains(&conn));
    let before = one.ops.len();
    one.input(Input::Connection(conn, ConnInput::Served { bytes: 200_000 }));
    assert_eq!(one.ops.len(), before, "the row is another's");
    assert_eq!(one.node.view(1, 9).queue.uploads.len(), 0, "its slot is free");
    let reply = one.say(conn, &get(0, PQ));
    assert_eq!((status(&reply), header(&reply, "X-Alt")), (503, Some(OTHER)), "{reply}");
}

#[test]
fn st_4_a_request_that_is_held_hears_where_to_ask() {
    let mut config = config();
    config.queue.policy = QueuePolicy::Adaptive;
    let mut one = Host::new(config, &[200_000]);
    one.stalled = true;
    one.input(leaders(Leader::Vacant));
    one.input(leads(Vec::new()));
    one.ask("9.9.9.1:1", PQ);
    let (plain, reply) = one.ask("9.9.9.2:1", "");
    assert_eq!(reply, "", "it is held");
    one.input(leaders(Leader::At(OTHER.parse().unwrap())));
    let reply = one.heard(plain);
    assert_eq!(status(&reply), 307, "{reply}");
    one.wait(Duration::from_secs(600));
    assert_eq!(one.heard(plain), "", "nothing else follows");
}

/// A place of Active Queueing is its connection's and in no store.
#[test]
fn st_4_a_place_of_active_queueing_ends_with_its_connection() {
    let mut one = member();
    one.ask("9.9.9.1:1", PQ);
    let (conn, reply) = one.ask("9.9.9.2:1", AQ);
    assert_eq!(var(&reply, "position"), "1");
    one.input(leaders(Leader::At(OTHER.parse().unwrap())));
    assert!(one.hung_up.contains(&conn));
}

const FIRST: &str = "9.9.8.9:6347";
const ID: &str = "ba032a149e78f1cc25c3b4268af3606b";

/// It connects; what it says there.
fn connects(host: &mut Host, to: &str) -> (ConnId, String) {
    let (conn, at) = host.dials.pop().expect("it dials");
    assert_eq!(at, to.parse().unwrap());
    host.input(Input::Connection(conn, ConnInput::Dialed { local: "9.9.9.9:7".parse().unwrap() }));
    (conn, host.heard(conn))
}

/// Our own download goes where a member sends it, and has its place there. When
/// that member is gone, it asks the first one again and says the same id.
#[test]
fn st_4_a_download_goes_where_it_is_sent_and_back_with_its_place() {
    let mut host = Host::new(config(), &[]);
    let at = FIRST.parse().unwrap();
    let source = DownloadSource { at, target: "/file".into(), host: FIRST.into() };
    let get = Get { name: "file".into(), sha1: None, sources: [source].into() };
    host.input(Input::Command(NodeCommand::Fetch(FetchCommand::Get(get))));
    let (conn, asked) = connects(&mut host, FIRST);
    assert!(asked.starts_with("GET /file "), "{asked}");
    let elsewhere = format!("Retry-After: 60\r\nLocation: //{OTHER}/file\r\n");
    let reply = format!("HTTP/1.1 503 Elsewhere\r\n{elsewhere}Content-Length: 0\r\n\r\n");
    host.input(Input::Connection(conn, ConnInput::Bytes { data: reply.into() }));
    let Some(NodeAnswer::Moved { fetch, from, to }) = host.answers.last().cloned() else {
        panic!("{:?}", host.answers)
    };
    assert_eq!(to, format!("//{OTHER}/file"));
    let there = DownloadSource { at: OTHER.parse().unwrap(), ..from.clone() };
    host.input(Input::Command(NodeCommand::Fetch(FetchCommand::Moved {
        fetch,
        from,
        to: Some(there),
    })));
    let (conn, _) = connects(&mut host, OTHER);
    let place = format!("X-Queued: ID={ID}; position=1; lifetime=100; length=1\r\n");
    let reply =
        format!("HTTP/1.1 503 Queued\r\nRetry-After: 1\r\n{place}Content-Length: 0\r\n\r\n");
    host.input(Input::Connection(conn, ConnInput::Bytes { data: reply.into() }));
    host.input(Input::Connection(conn, ConnInput::Closed));
    host.wait(Duration::from_secs(60));
    let (_, asked) = connects(&mut host, FIRST);
    assert!(asked.contains(ID), "{asked}");
}
