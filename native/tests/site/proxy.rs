//! HAProxy as docs/site.md shows it, in front of members that die.

use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use crate::document::blocks;
use crate::members::{FAST, Member, Site, Told};
use crate::program::{Wire, assert_same, ended, free_port, until};

/// Where the proxy is; `None` where it is not installed.
pub(crate) fn installed() -> Option<&'static str> {
    let places = ["/usr/sbin/haproxy", "/usr/bin/haproxy"];
    let found = places.into_iter().find(|path| Path::new(path).is_file());
    if found.is_none() {
        println!("left out: HAProxy is not installed (`sudo apt-get install haproxy`)");
    }
    found
}

/// A proxy that runs; killed when dropped.
struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill(); // It may have ended.
        let _ = self.0.wait();
    }
}

/// Three members at addresses of their own, and the proxy of the document with
/// these addresses in place of those it shows.
fn site_behind(program: &str, site: &Site) -> (Proxy, Member, [Member; 3]) {
    let (port, lab) = (free_port(), free_port());
    let member = |n: u8| {
        let at = |port| SocketAddr::from(([127, 0, 2, n], port));
        Member { at: at(port), lab: at(lab), state: n.to_string() }
    };
    let front = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let file = site.place.path("haproxy.cfg");
    let text = blocks("haproxy")[0]
        .replace("bind :6346", &format!("bind {front}"))
        .replace("192.0.2.", "127.0.2.")
        .replace(":6346", &format!(":{port}"))
        .replace("port 6380", &format!("port {lab}"));
    std::fs::write(&file, text).unwrap();
    let mut proxy = Command::new(program);
    proxy.args(["-db", "-q", "-f"]).arg(&file).stdin(Stdio::null());
    let proxy = Proxy(proxy.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap());
    let door = Member { at: front, lab: front, state: String::new() };
    (proxy, door, [member(1), member(2), member(3)])
}

/// What the proxy's clients hear, if they hear anything.
fn through(door: &Member, told: Option<&Told>) -> Option<Told> {
    let asked = std::panic::catch_unwind(|| door.ask(told, &[]));
    asked.ok().and_then(|(wire, reply)| Told::from_reply(wire, &reply))
}

/// A member behind the proxy answers.
fn answers(door: &Member) -> bool {
    let list = || Wire::connect(door.at).get("/", &["Connection: close"]);
    std::panic::catch_unwind(list).is_ok()
}

#[test]
fn st_6_through_the_proxy_of_the_document_a_takeover_costs_no_client_its_place() {
    let Some(program) = installed() else { return };
    let Some(site) = Site::new() else { return };
    let (_proxy, door, [one, two, three]) = site_behind(program, &site);
    let leading = site.leads(&one);
    let _holder = one.occupy();
    let mut told = Vec::new();
    until("the proxy has found who leads", || {
        told.extend(through(&door, None));
        !told.is_empty()
    });
    told.extend((0..3).map(|_| door.place(None, &[])));
    let mut standing = site.stands_by(&two);
    let mut third = site.stands_by(&three);
    leading.kill();
    until("it has found who leads now", || through(&door, told.last()).is_some());
    let again: Vec<_> = told.iter().map(|one| door.place(Some(one), &[])).collect();
    for (before, now) in told.iter().zip(&again) {
        assert_eq!(before.key(), now.key());
    }
    // One of the two leads; the other one goes on standing by.
    let leads = [&two, &three].map(Member::ready);
    assert!(leads == [200, 503] || leads == [503, 200], "{leads:?}");
    let leader = if leads[0] == 200 { &mut standing } else { &mut third };
    leader.event("listening");
}

/// A client that only knows the proxy's address gets the whole file.
#[test]
fn st_3_a_download_through_the_proxy_goes_on_at_the_new_leader() {
    let Some(program) = installed() else { return };
    let Some(site) = Site::new() else { return };
    let (_proxy, door, [one, two, _]) = site_behind(program, &site);
    let bytes = std::fs::read(site.place.path("shared/file")).unwrap();
    let leading = site.leads_with(&one, &FAST);
    let _standing = site.stands_by_with(&two, &FAST);
    let url = format!("http://{}/get/0/file", door.at);
    until("the proxy has found who leads", || answers(&door));
    let mut get = site.place.servent(&["get", &url, "-o", "file", "--state", "get", "--wait"]);
    let mut get = get.stdout(Stdio::null()).spawn().unwrap();
    until("it downloads", || {
        std::fs::metadata(site.place.path("file.part")).is_ok_and(|part| part.len() > 100_000)
    });
    leading.kill();
    assert!(ended(&mut get).success());
    assert_same(&site.place.path("file"), &bytes);
}

/// It is not ready for anybody new, and goes on with the clients it serves.
#[test]
fn st_7_a_download_through_the_proxy_goes_on_while_the_database_is_away() {
    let Some(program) = installed() else { return };
    let Some(site) = Site::new() else { return };
    let (_proxy, door, [one, ..]) = site_behind(program, &site);
    let bytes = std::fs::read(site.place.path("shared/file")).unwrap();
    let _leading = site.leads_with(&one, &["--set", "upload_rate=400000"]);
    until("the proxy has found who leads", || answers(&door));
    let (url, to) = (format!("http://{}/get/0/file", door.at), site.place.path("file"));
    let mut curl = Command::new("curl").args(["-s", &url, "-o"]).arg(&to).spawn().unwrap();
    let came = || std::fs::metadata(&to).map_or(0, |file| file.len());
    until("it downloads", || came() > 100_000);
    site.server.stop();
    until("the proxy knows that it is not ready", || {
        std::panic::catch_unwind(|| Wire::connect(door.at).get("/", &["Connection: close"]))
            .is_err()
    });
    assert!(came() < bytes.len() as u64, "there was something left to go on with");
    assert!(ended(&mut curl).success());
    assert_same(&to, &bytes);
    site.server.start_again();
}

/// The check of a proxy sends no name, or one that is none of ours.
#[test]
fn st_6_health_is_told_under_every_name() {
    let Some(site) = Site::new() else { return };
    let one = site.member("one");
    let _leading = site.leads(&one);
    for host in ["", "Host: archive.example.org\r\n", "Host: 127.0.0.1\r\n"] {
        for target in ["/healthz", "/readyz"] {
            let mut wire = Wire::connect(one.lab);
            wire.send(&format!("GET {target} HTTP/1.0\r\n{host}\r\n"));
            assert_eq!(wire.reply().status, 200, "{host}{target}");
        }
        let mut wire = Wire::connect(one.lab);
        wire.send(&format!("GET /metrics HTTP/1.0\r\n{host}\r\n"));
        let status = if host.contains("127") { 200 } else { 421 };
        assert_eq!(wire.reply().status, status, "{host}");
    }
}
