//! The one that leads is gone, or was only slow: another one leads, and a client that
//! was told a place has it.

use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::process::Stdio;
use std::time::Duration;

use servent::Clock;

use crate::members::{FAST, Site};
use crate::program::{Wire, assert_same, complains, ended, pause, until};

/// A client that said where to reach it is called by the new leader (PQ-12).
#[test]
fn st_3_the_new_leader_calls_clients_that_can_be_called() {
    let Some(site) = Site::new() else { return };
    let (one, two) = (site.member("one"), site.member("two"));
    let leading = site.leads(&one);
    let _holder = one.occupy();
    let phone = TcpListener::bind("127.0.0.1:0").unwrap();
    let node = format!("X-Node: {}", phone.local_addr().unwrap());
    let told = one.place(None, &[&node]);
    let mut standing = site.stands_by(&two);
    leading.kill();
    standing.event("listening");
    let (call, _) = phone.accept().unwrap();
    let mut line = String::new();
    BufReader::new(call).read_line(&mut line).unwrap();
    let line = line.to_lowercase();
    assert!(line.starts_with("queue ") && line.contains(&told.id), "{line}");
    assert!(line.contains(&two.at.to_string()), "{line}");
}

/// A goodbye is quicker than a death.
#[test]
fn st_2_a_leader_that_says_goodbye_is_followed_at_once() {
    let Some(site) = Site::new() else { return };
    let (one, two) = (site.member("one"), site.member("two"));
    let leading = site.leads(&one);
    let _holder = one.occupy();
    let told = one.place(None, &[]);
    let mut standing = site.stands_by(&two);
    leading.signal("TERM");
    assert!(leading.end().success());
    let clock = Clock::new();
    let left = clock.now();
    standing.event("listening");
    let took = clock.now().since(left);
    println!("after a goodbye: {took:?}");
    assert!(took.as_micros() < 4_000_000, "{took:?}"); // Two seconds, and a busy machine.
    assert_eq!(two.place(Some(&told), &[]).key(), told.key());
}

/// A leader that was stopped, not killed, wakes up when another one leads: it
/// writes nothing, says so and ends.
#[test]
fn st_2_a_leader_that_was_only_slow_ends_and_writes_nothing() {
    let Some(site) = Site::new() else { return };
    let (one, two) = (site.member("one"), site.member("two"));
    let mut slow = site.leads(&one);
    let _holder = one.occupy();
    let told = one.place(None, &[]);
    let mut standing = site.stands_by(&two);
    slow.signal("STOP");
    standing.event("listening");
    let again = two.place(Some(&told), &[]);
    assert_eq!(again.key(), told.key());
    let places = "SELECT string_agg(encode(id, 'hex'), ',' ORDER BY id) FROM servent.rows
        WHERE kind = 1";
    let before = site.server.sql(&site.url, places);
    // It is asked before it can know.
    let mut late = Wire::connect(one.at);
    late.send("GET /get/0/file HTTP/1.1\r\nHost: h\r\nX-Queue: 1.0\r\n\r\n");
    slow.signal("CONT");
    assert_eq!(slow.ended().code(), Some(7));
    assert!(late.closed(), "it has promised something");
    assert_eq!(site.server.sql(&site.url, places), before);
}

/// Our own client knows both addresses and gets its file whole.
#[test]
fn st_3_a_download_goes_on_at_the_new_leader() {
    let Some(site) = Site::new() else { return };
    let (one, two) = (site.member("one"), site.member("two"));
    let bytes = std::fs::read(site.place.path("shared/file")).unwrap();
    let leading = site.leads_with(&one, &FAST);
    let mut standing = site.stands_by_with(&two, &FAST);
    let url = |at| format!("http://{at}/get/0/file");
    let (first, second) = (url(one.at), url(two.at));
    let mut get = vec!["get", &first, "--mirror", &second, "-o", "file", "--state", "get"];
    get.extend(["--wait", "--time-scale", "20"]);
    let mut get = site.place.servent(&get).stdout(Stdio::null()).spawn().unwrap();
    until("it downloads", || site.place.path("file.part").exists());
    pause(Duration::from_millis(300));
    leading.kill();
    standing.event("listening");
    assert!(ended(&mut get).success());
    assert_same(&site.place.path("file"), &bytes);
}

/// `servent site status` shows who leads.
#[test]
fn st_6_the_status_of_a_site_shows_who_leads_and_who_stands_by() {
    let Some(site) = Site::new() else { return };
    let (one, two) = (site.member("one"), site.member("two"));
    let _leading = site.leads(&one);
    let _holder = one.occupy();
    one.place(None, &[]);
    let _standing = site.stands_by(&two);
    let table = site.table();
    let line = |role: &str| table.lines().find(|line| line.starts_with(role)).unwrap_or_default();
    assert!(line("leads").contains(&one.at.to_string()), "{table}");
    assert!(line("stands by").contains(&two.at.to_string()), "{table}");
    let json = site.status();
    assert_eq!((&json["led"], &json["places"]), (&true.into(), &2.into()), "{json}");
    assert_eq!(json["members"][0]["serves"], one.at.to_string());
    assert_eq!((&json["serves"], &json["members"][1]["there"]), (&"files".into(), &true.into()));
}

/// A member that says goodbye is in the list no more; one that has died is shown as gone, and
/// does not lead.
#[test]
fn st_6_the_status_of_a_site_tells_who_has_ended_and_who_has_died() {
    let Some(site) = Site::new() else { return };
    let (one, two) = (site.member("one"), site.member("two"));
    let leading = site.leads(&one);
    let standing = site.stands_by(&two);
    let asked = site.place.run(&["status", "--state", &two.state]);
    complains(&asked, 7, "servent site status");
    standing.signal("TERM");
    assert!(standing.end().success());
    let members = || site.status()["members"].as_array().unwrap().clone();
    assert_eq!(members().len(), 1, "it has said goodbye");
    leading.kill();
    until("it is seen to be gone", || members()[0]["there"] == false);
    let status = site.status();
    assert_eq!((&status["led"], &status["members"][0]["leads"]), (&false.into(), &false.into()));
    let table = site.table();
    assert!(table.contains("no member leads\ngone "), "{table}");
    let _again = site.leads(&one);
    assert_eq!(members().len(), 1, "the one that died was in its place");
}
