//! PARQ, the downloader's side. Each test is named after the requirement it
//! holds us to.

use crate::fetch_support;

use fetch_support::{Desk, FETCH, GOOD, ID, LOCAL, addr, get, id};
use servent_core::fetch::{Config, DialError, Event, Input, Output};
use servent_core::queue::Dialect;
use servent_core::time::Duration;

const A: &str = "80.1.1.1:6346";

/// A reply from the far part of the line, which hangs up.
fn far(position: u32) -> String {
    format!(
        "HTTP/1.1 503 Queued\nX-Queue: 1.0\nConnection: close\nRetry-After: 600\n\
         X-Queued: position={position}; length=1840; ETA=4200; lifetime=3600;\n ID={ID}"
    )
}

/// A reply from the near part, which keeps the connection.
fn near(position: u32, retry_after: u64) -> String {
    format!(
        "HTTP/1.1 503 Queued\nX-Queue: 1.0\nContent-Length: 0\nRetry-After: {retry_after}\n\
         X-Queued: position={position}; length=40; ID={ID}"
    )
}

#[test]
fn pq_3_a_client_says_its_level_and_where_it_can_be_called() {
    let mut desk = Desk::new(Config::default(), Dialect::Parq);
    desk.input(Input::Listening(Some(addr("81.0.0.1:9999"))));
    desk.input(Input::Get(get(None, &[A])));
    let first = desk.connect();
    assert_eq!(first.header("X-Queue"), Some("1.0"));
    assert_eq!(first.header("X-Node"), Some("81.0.0.1:9999"));
    assert_eq!(first.header("X-Queued"), None);
}

#[test]
fn pq_8_a_client_that_listens_on_all_addresses_names_the_one_it_comes_from() {
    for (listen, named) in [("0.0.0.0:9999", Some("81.0.0.7:9999")), ("[::1]:9", Some("[::1]:9"))] {
        let mut desk = Desk::new(Config::default(), Dialect::Parq);
        desk.input(Input::Listening(Some(addr(listen))));
        desk.input(Input::Get(get(None, &[A])));
        assert_eq!(desk.connect().header("X-Node"), named);
    }
}

#[test]
fn pq_4_the_far_part_hangs_up_and_the_near_part_stays() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(first.conn, &far(1503));
    assert!(desk.closed(first.conn));
    desk.secs(602);
    let second = desk.connect();
    assert_ne!(second.conn, first.conn);
    desk.reply(second.conn, &near(14, 290));
    assert!(!desk.closed(second.conn));
    desk.secs(292);
    assert_eq!(desk.last().conn, second.conn);
    desk.reply(second.conn, &near(1, 30));
    desk.secs(32);
    desk.serve(second.conn, 0, 10, 10);
    assert_eq!(desk.state(), "verifying");
}

#[test]
fn pq_5_a_client_announcing_1_0_honours_a_legacy_reply() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    let told = desk.now;
    desk.reply(
        first.conn,
        "HTTP/1.1 503 Queued\nContent-Length: 0\nX-Queue: position=2,length=5\n\
         X-Queue: limit=4,pollMin=45,pollMax=120",
    );
    let queued = desk.events.iter().find_map(|e| match e {
        Event::Queued { dialect, position, length, deadline, .. } => {
            Some((*dialect, *position, *length, deadline.since(told).as_secs()))
        }
        _ => None,
    });
    assert_eq!(queued, Some((Dialect::Active, Some(2), Some(5), 120)));
    desk.secs(47);
    assert_eq!((desk.asked.len(), desk.last().conn), (2, first.conn));
    assert_eq!(desk.last().header("X-Queued"), None);
}

#[test]
fn pq_6_a_request_gives_the_id_and_the_position_told_last() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(first.conn, &far(1503));
    desk.secs(602);
    let second = desk.connect();
    assert_eq!(second.header("X-Queued"), Some(format!("position=1503; ID={ID}").as_str()));
    desk.reply(second.conn, &far(1203));
    desk.secs(602);
    assert_eq!(desk.connect().header("X-Queued").unwrap(), format!("position=1203; ID={ID}"));
}

#[test]
fn pq_7_nothing_is_asked_before_retry_after_even_when_the_connection_breaks() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(first.conn, &near(14, 290));
    desk.secs(10);
    desk.input(Input::Closed { conn: first.conn });
    desk.secs(279);
    assert_eq!(desk.dials().len(), 1);
    desk.secs(4);
    let second = desk.connect();
    assert_eq!(second.header("X-Queued").unwrap(), format!("position=14; ID={ID}"));
    let waited = second.at.since(first.at).as_secs();
    assert!((290..=300).contains(&waited), "within the remanence: {waited}");
}

#[test]
fn pq_8_a_call_is_answered_with_an_ordinary_request_on_its_connection() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(first.conn, &far(1503));
    desk.secs(100);
    let conn = servent_core::id::ConnId(2);
    let server = Some(addr("80.1.1.1:7777"));
    let peer = addr("80.1.1.1:50123");
    desk.input(Input::Called { conn, peer, ticket: id(), server });
    let answer = desk.last();
    assert_eq!(answer.conn, conn);
    assert_eq!(answer.header("X-Queued").unwrap(), format!("position=1503; ID={ID}"));
    assert!(desk.events.contains(&Event::CalledBack { fetch: FETCH, conn, ticket: id() }));
    desk.reply(conn, &far(9));
    desk.secs(602);
    assert_eq!(desk.dials().last().unwrap().1, addr("80.1.1.1:7777"), "its address changed");
}

#[test]
fn pq_8_a_call_without_our_id_or_naming_a_third_party_leads_nowhere() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(first.conn, &far(1503));
    let stranger = servent_core::id::ConnId(2);
    let ticket = servent_core::id::Guid([1; 16]);
    desk.input(Input::Called { conn: stranger, peer: addr("9.9.9.9:9"), ticket, server: None });
    assert!(desk.closed(stranger));
    assert_eq!(desk.asked.len(), 1);
    let (conn, peer) = (servent_core::id::ConnId(4), addr("80.1.1.1:5"));
    let victim = Some(addr("66.6.6.6:80"));
    desk.input(Input::Called { conn, peer, ticket: id(), server: victim });
    desk.reply(conn, &far(9));
    desk.secs(602);
    assert_eq!(desk.dials().last().unwrap().1, addr(A));
}

#[test]
fn pq_12_a_place_is_remembered_before_its_connection_is_closed() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.outputs.clear();
    desk.reply(first.conn, &far(1503));
    let [Output::Save(row), Output::Close { .. }] = &desk.outputs[..] else {
        panic!("{:?}", desk.outputs)
    };
    assert_eq!((row.tickets[0].at, row.tickets[0].ticket), (addr(A), id()));
    assert_eq!(row.tickets[0].told, Some(1503));
    assert_eq!(row.tickets[0].not_before.since(first.at).as_secs(), 600);
}

#[test]
fn pq_12_after_a_restart_the_place_is_claimed_and_no_earlier_than_allowed() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(first.conn, &far(1503));
    let row = desk.row();
    let mut again = Desk::new(Config::default(), Dialect::Parq);
    again.now = desk.now;
    again.input(Input::Restore(row.clone()));
    again.input(Input::Resume);
    again.secs(599);
    assert_eq!(again.dials(), []);
    again.secs(1);
    assert_eq!(again.connect().header("X-Queued").unwrap(), format!("position=1503; ID={ID}"));
    // Days later, when the server comes back and calls, the place is still ours.
    let mut later = Desk::new(Config::default(), Dialect::Parq);
    later.input(Input::Restore(row));
    later.input(Input::Resume);
    let conn = servent_core::id::ConnId(2);
    later.input(Input::Called { conn, peer: addr("80.1.1.1:5"), ticket: id(), server: None });
    assert_eq!(later.last().header("X-Queued").unwrap(), format!("position=1503; ID={ID}"));
}

#[test]
fn pq_12_a_clock_that_was_set_back_does_not_make_us_wait_for_years() {
    let mut desk = Desk::getting(None, &[A]);
    desk.now += Duration::from_secs(10 * 365 * 86_400);
    let first = desk.connect();
    desk.reply(first.conn, &far(1503));
    let mut again = Desk::new(Config::default(), Dialect::Parq);
    again.input(Input::Restore(desk.row()));
    again.input(Input::Resume);
    again.secs(24 * 3_600);
    assert_eq!(again.dials().len(), 1);
}

#[test]
fn pq_12_a_slot_is_remembered_too_and_its_owner_can_be_called_into_it() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(
        first.conn,
        &format!(
            "HTTP/1.1 206 OK\nContent-Range: bytes 0-99/100\nContent-Length: 100\n\
             ETag: \"one\"\nX-Queued: ID={ID}"
        ),
    );
    assert_eq!(desk.row().tickets[0].ticket, id());
    desk.input(Input::Stored { conn: first.conn, bytes: 40 });
    desk.input(Input::Closed { conn: first.conn });
    assert_eq!(desk.row().have, [(0, 40)]);
    let conn = servent_core::id::ConnId(2);
    desk.input(Input::Called { conn, peer: addr("80.1.1.1:5"), ticket: id(), server: None });
    let answer = desk.last();
    assert_eq!(answer.header("Range"), Some("bytes=40-99"));
    assert_eq!(answer.header("X-Queued").unwrap(), format!("ID={ID}"));
}

#[test]
fn pq_14_a_broken_transfer_comes_back_soon_for_the_same_file() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(
        first.conn,
        "HTTP/1.1 206 OK\nContent-Range: bytes 0-99/100\nContent-Length: 100\nETag: \"one\"",
    );
    desk.input(Input::Stored { conn: first.conn, bytes: 30 });
    desk.input(Input::Closed { conn: first.conn });
    desk.secs(10);
    let second = desk.connect();
    assert_eq!(second.header("Range"), Some("bytes=30-99"));
    assert!(second.at.since(first.at).as_secs() <= 300);
}

#[test]
fn pq_12_an_unreachable_server_does_not_cost_the_place() {
    let mut desk = Desk::getting(None, &[A]);
    let first = desk.connect();
    desk.reply(first.conn, &far(7));
    desk.secs(602);
    let (conn, _) = *desk.dials().last().unwrap();
    desk.input(Input::DialFailed { conn, why: DialError::Refused });
    desk.secs(30);
    assert_eq!(desk.connect().header("X-Queued").unwrap(), format!("position=7; ID={ID}"));
}

#[test]
fn pq_17_polls_carry_the_download_mesh() {
    let mut desk = Desk::getting(Some(GOOD), &[A, "80.2.2.2:6346", "80.3.3.3:6346"]);
    let [(a, _), (b, _), (c, _)] = desk.dials()[..] else { panic!("three dials") };
    for conn in [a, b, c] {
        desk.input(Input::Dialed { conn, local: LOCAL });
    }
    desk.reply(a, &near(2, 50));
    desk.grant(b, 1 << 20, (1 << 20) + 1_000, 10_000_000);
    desk.input(Input::Stored { conn: b, bytes: 1_000 });
    // Neither by its number nor by its hash.
    desk.reply(c, "HTTP/1.1 404 Not Found");
    let again = desk.connect();
    desk.reply(again.conn, "HTTP/1.1 404 Not Found");
    desk.secs(52);
    let poll = desk.asked.iter().rfind(|asked| asked.conn == a).unwrap();
    assert_eq!(poll.header("X-Alt"), Some("80.2.2.2"));
    assert_eq!(poll.header("X-NAlt"), Some("80.3.3.3"));
    assert_eq!(poll.header("X-Gnutella-Content-URN"), Some(format!("urn:sha1:{GOOD}").as_str()));
}
