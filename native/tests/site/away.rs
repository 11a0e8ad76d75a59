//! The database is away for a while: nothing is promised that is not kept, the
//! rest goes on, and it resumes by itself.

use crate::members::{Member, Site};
use crate::program::{Reply, Wire, lab_get, until};
use crate::troubles::said;

/// A client that asks first when the database is away: its place was decided before
/// that was known, so the reply is held back.
fn held_back(member: &Member) -> Wire {
    let mut first = Wire::connect(member.at);
    first.send("GET /get/0/file HTTP/1.1\r\nHost: h\r\nX-Queue: 1.0\r\n\r\n");
    until("it is known", || member.ready() == 503);
    first
}

/// When the member resumes, it is told its place, the second; or it has heard
/// before that that it is to come back, because that took long.
fn released(member: &Member, mut first: Wire) -> Wire {
    until("it resumes", || member.ready() == 200);
    let reply = first.head();
    match reply.number("x-queued", "position") {
        Some(position) => assert!((position - 2.0).abs() < 0.1, "{reply:?}"),
        None => put_off(&reply),
    }
    first
}

fn metrics(member: &Member) -> String {
    String::from_utf8(lab_get(member.lab, "/metrics").body).unwrap()
}

/// One of its figures.
fn gauge(member: &Member, name: &str) -> f64 {
    let text = metrics(member);
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    value.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
}

/// A reply that promises nothing.
fn put_off(reply: &Reply) {
    assert_eq!((reply.status, reply.header("x-queued")), (503, None), "{reply:?}");
    assert!(reply.header("retry-after").is_some(), "{reply:?}");
}

#[test]
fn st_7_while_the_database_restarts_nothing_is_promised_and_the_rest_goes_on() {
    let Some(site) = Site::new() else { return };
    let one = site.member("one");
    let _leading = site.leads(&one);
    let _holder = one.occupy();
    let told = one.place(None, &[]);
    site.server.stop();
    let first = held_back(&one);
    for client in [Some(&told), None] {
        put_off(&one.ask(client, &[]).1);
    }
    let list = Wire::connect(one.at).get("/", &["Connection: close"]);
    assert_eq!(list.status, 200, "what promises nothing goes on");
    let lag = gauge(&one, "servent_store_lag_seconds");
    until("it falls behind", || gauge(&one, "servent_store_lag_seconds") > lag);
    assert!(gauge(&one, "servent_store_away") > 0.5);
    site.server.start_again();
    let _held = released(&one, first);
    assert_eq!(one.place(Some(&told), &[]).key(), told.key(), "no client is blamed");
    assert_eq!(one.place(None, &[]).position, 3);
    assert!(gauge(&one, "servent_store_lag_seconds").abs() < f64::EPSILON, "all is saved");
    let metrics = metrics(&one);
    assert!(metrics.contains("servent_store_outages_total{servent=\"servent\"} 1"), "{metrics}");
}

/// A member that leads and has nothing to save finds out as well, and so does one that stands
/// by. Both say so, and both say when it is over.
#[test]
fn st_7_a_member_that_has_nothing_to_save_notices_too() {
    let Some(site) = Site::new() else { return };
    let (one, two) = (site.member("one"), site.member("two"));
    let (_leading, log) = site.logs(&one, "hashed");
    let (_standing, other) = site.logs(&two, "standby");
    site.server.stop();
    until("it is known", || one.ready() == 503);
    assert!(gauge(&one, "servent_store_away") > 0.5);
    let status = site.place.run(&["status", "--state", &one.state]).stdout;
    let status = String::from_utf8(status).unwrap();
    assert!(status.contains("the database of the site is away"), "{status}");
    until("the other one says so", || !said(&other, "cannot be used").is_empty());
    assert!(!said(&log, "cannot be used").is_empty());
    site.server.start_again();
    until("it resumes", || one.ready() == 200);
    until("the other one says so", || !said(&other, "is back").is_empty());
    for log in [&log, &other] {
        assert_eq!(said(log, "cannot be used").len(), 1, "however it goes away");
        assert_eq!(said(log, "is back").len(), 1);
    }
    assert!(gauge(&one, "servent_store_away") < 0.5);
}

/// No client waits for ever: not for a place, not for a slot that is free.
#[test]
fn st_7_a_client_that_is_promised_nothing_in_time_is_told_so() {
    let Some(site) = Site::new() else { return };
    let one = site.member("one");
    let _leading = site.leads(&one);
    site.server.stop();
    let mut slot = held_back(&one);
    let reply = slot.reply();
    put_off(&reply);
    assert!(!reply.body.is_empty(), "it says so in words, too");
    site.server.start_again();
    until("it resumes", || one.ready() == 200);
    slot.send("GET /get/0/file HTTP/1.1\r\nHost: h\r\nX-Queue: 1.0\r\n\r\n");
    assert_eq!(slot.head().status, 200, "its slot has waited for it");
}

/// Holding a request promises nothing, so it goes on; when it ends, a client that was held
/// hears what all hear, and has not lost its place in line.
#[test]
fn st_7_a_client_that_is_held_is_held_no_longer_than_otherwise() {
    let Some(site) = Site::new() else { return };
    let one = site.member("one");
    let _leading = site.leads_with(&one, &["--set=queue.hold=6s", "--set=queue.hold_plain=6s"]);
    let _holder = one.occupy();
    let hold = |dialect: &str| {
        let mut wire = Wire::connect(one.at);
        wire.send(&format!("GET /get/0/file HTTP/1.1\r\nHost: h\r\n{dialect}\r\n"));
        wire
    };
    let mut ours = hold("X-Queue: 1.0\r\nX-Features: hold/1.0\r\n");
    let length =
        || lab_get(one.lab, "/api/view").json()["queue"]["length"].as_u64().unwrap_or_default();
    until("it is held", || length() == 1);
    let mut plain = hold("");
    until("both are held", || length() == 2);
    site.server.stop();
    let mut first = Wire::connect(one.at);
    first.send("GET /get/0/file HTTP/1.1\r\nHost: h\r\nX-Queue: 1.0\r\n\r\n");
    until("it is known", || one.ready() == 503);
    put_off(&ours.reply());
    put_off(&plain.reply());
    put_off(&first.reply());
    site.server.start_again();
    until("it resumes", || one.ready() == 200);
    for (position, mut wire) in [(1.0, ours), (3.0, first)] {
        wire.send("GET /get/0/file HTTP/1.1\r\nHost: h\r\nX-Queue: 1.0\r\n\r\n");
        let reply = wire.head();
        let told = reply.number("x-queued", "position").unwrap_or_default();
        assert!((told - position).abs() < 0.1, "{position}: {reply:?}");
    }
    assert_eq!(length(), 3);
}

/// All processes of the database stand still, connections stay open.
#[test]
fn st_7_a_database_that_is_paused_is_left_and_found_again() {
    let Some(site) = Site::new() else { return };
    let one = site.member("one");
    let _leading = site.leads(&one);
    let _holder = one.occupy();
    let told = one.place(None, &[]);
    site.server.signal("STOP");
    let first = held_back(&one);
    assert_eq!(one.ask(Some(&told), &[]).1.header("x-queued"), None);
    site.server.signal("CONT");
    let _held = released(&one, first);
    let again = one.place(Some(&told), &[]);
    assert_eq!(again.key(), told.key());
    let rows = site.server.sql(&site.url, "SELECT count(*) FROM servent.rows WHERE kind = 1");
    assert_eq!(rows, "3", "the slot and both places");
}

/// The password is changed: the new one is read from its file.
#[test]
fn st_7_a_new_password_is_read_from_its_file() {
    let Some(site) = Site::new() else { return };
    let one = site.member("one");
    let _leading = site.leads(&one);
    let _holder = one.occupy();
    let told = one.place(None, &[]);
    let change = "ALTER USER servent PASSWORD 'another'; SELECT pg_terminate_backend(pid)
        FROM pg_stat_activity WHERE application_name = 'servent'";
    site.server.sql(&site.url, change);
    let first = held_back(&one);
    std::fs::write(site.place.path("secret"), "another\n").unwrap();
    let _held = released(&one, first);
    let again = one.place(Some(&told), &[]);
    assert_eq!(again.key(), told.key());
}
