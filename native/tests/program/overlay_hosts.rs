//! How servents find each other without being told: by the servent that runs
//! here, by the hosts it met before, by the local network. And what they show.

use crate::program;

use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use program::peer::Peer;
use program::{Place, Running, complains, lab_get, until};
use serde_json::Value;
use servent_core::wire::gnutella::code;

/// A servent that shares one file named after it.
fn share(place: &Place, name: &str, extra: &[&str]) -> Running {
    let (state, folder) = (format!("state-{name}"), format!("folder-{name}"));
    std::fs::create_dir_all(place.path(&folder)).unwrap();
    std::fs::write(place.path(&folder).join(format!("the {name} thing.txt")), name).unwrap();
    let mut arguments = vec!["share", &folder, "--state", &state, "--json"];
    if !extra.contains(&"--listen") {
        arguments.extend(["--listen", "127.0.0.1:0"]);
    }
    arguments.extend(["--lab", "127.0.0.1:0"]);
    arguments.extend(extra);
    let mut running = Running::start(place.servent(&arguments));
    running.at = running.event("listening")["at"].as_str().unwrap().parse().unwrap();
    let url = running.event("lab")["url"].as_str().unwrap().to_owned();
    running.lab = url.strip_prefix("http://").unwrap().trim_end_matches('/').parse().ok();
    running.event("hashed");
    running
}

fn overlay(running: &Running) -> Value {
    let status = lab_get(running.lab.unwrap(), "/api/status").json();
    status["servents"][0]["overlay"].clone()
}

fn neighbours(running: &Running) -> Vec<String> {
    let links = overlay(running)["links"].as_array().unwrap().clone();
    links.iter().map(|link| link["peer"].as_str().unwrap().to_owned()).collect()
}

/// Hits of a search with this state and no neighbour named.
fn search(place: &Place, state: &str, words: &str) -> Vec<Value> {
    let out = place.run(&["search", words, "--state", state, "--json", "--wait", "4"]);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(!text.is_empty(), "{}", String::from_utf8_lossy(&out.stderr));
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn a_host_a_servent_met_is_asked_and_called_again_without_being_named() {
    let place = Place::new();
    let far = share(&place, "far", &["--set", "overlay.degree=0"]);
    let peer = far.at.to_string();
    let mut near = share(&place, "near", &["--peer", &peer]);
    until("they are neighbours", || neighbours(&near) == [peer.clone()]);
    let hits = search(&place, "state-near", "far thing");
    assert_eq!(hits[0]["at"], peer, "through the servent that runs here");

    near.signal("INT");
    assert!(near.ended().success());
    let hits = search(&place, "state-near", "far thing");
    assert_eq!((&hits[0]["at"], &hits[0]["hops"]), (&Value::from(peer.clone()), &Value::from(0)));

    let again = share(&place, "near", &[]);
    until("it finds back", || neighbours(&again) == [peer.clone()]);
}

#[test]
fn a_search_without_a_known_peer_says_what_to_do() {
    let place = Place::new();
    let out = place.run(&["search", "what", "ever", "--state", "none"]);
    complains(&out, 2, "no peer of the overlay is known yet");
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(said.contains("--peer HOST:PORT") && said.contains("--lan"), "{said}");
    assert!(!place.path("none").join("state.redb").exists(), "looking makes nothing");
    place.share("a.txt", 10);
    let _running = place.sharing(&["--lab", "off"]);
    let out = place.run(&["search", "what", "ever", "--state", "state"]);
    let said = String::from_utf8_lossy(&out.stderr).into_owned();
    assert!(!said.contains("no peer of the overlay is known yet"), "{said}");
}

#[test]
fn the_overlay_is_in_the_status_and_the_metrics_and_goodbye_is_said() {
    let place = Place::new();
    let mut running = share(&place, "one", &["--set", "overlay.degree=0"]);
    let mut peer = Peer::join(running.at, "");
    until("a neighbour", || neighbours(&running).len() == 1);
    let out = place.run(&["status", "--state", "state-one"]);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(text.contains("neighbours 1 ") && text.contains(" Test "), "{text}");
    let out = place.run(&["status", "--state", "state-one", "--json"]);
    let json: Value = serde_json::from_slice(&out.stdout).unwrap();
    assert_eq!(json["servents"][0]["overlay"]["tables"].as_array().unwrap().len(), 9);
    let metrics = lab_get(running.lab.unwrap(), "/metrics").body;
    let metrics = String::from_utf8_lossy(&metrics).into_owned();
    for row in [
        "servent_overlay_neighbours{servent=\"servent\"} 1",
        "servent_overlay_table_entries{servent=\"servent\",table=\"queries\"} 0",
        "servent_overlay_sent_total{servent=\"servent\",kind=\"ping\"} 1",
    ] {
        assert!(metrics.contains(row), "no {row} in {metrics}");
    }
    running.signal("INT");
    assert_eq!(peer.goodbye(), Some(code::EXIT));
    assert!(running.ended().success());
}

#[test]
fn hits_of_a_neighbour_with_ipv6_alone_tell_its_address() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        eprintln!("skipped: there is no IPv6 here");
        return;
    }
    let place = Place::new();
    let six = share(&place, "six", &["--listen", "[::1]:0", "--set", "overlay.degree=0"]);
    let peer = six.at.to_string();
    let near = share(&place, "near", &["--peer", &peer]);
    until("they are neighbours", || neighbours(&near) == [peer.clone()]);
    let hits = search(&place, "state-near", "six thing");
    // It stands in an extension; servents that do not read it ask for a push.
    assert_eq!((&hits[0]["push"], &hits[0]["hops"]), (&Value::Bool(false), &Value::from(1)));
    assert!(hits[0]["get"].as_str().unwrap().contains(&peer), "{hits:?}");
    let (url, sha1) = (hits[0]["get"].as_str().unwrap(), hits[0]["sha1"].as_str().unwrap());
    let out = place.run(&["get", url, sha1, "-o", "got.txt", "--state", "getting"]);
    assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
    assert_eq!(std::fs::read(place.path("got.txt")).unwrap(), b"six");
}

/// True when this machine hears its own multicast on the loopback.
fn hears_itself() -> bool {
    let group = Ipv4Addr::new(224, 0, 0, 251);
    let heard = || -> std::io::Result<bool> {
        let ear = UdpSocket::bind("0.0.0.0:0")?;
        ear.join_multicast_v4(&group, &Ipv4Addr::LOCALHOST)?;
        ear.set_read_timeout(Some(Duration::from_secs(2)))?;
        let mouth = UdpSocket::bind("127.0.0.1:0")?;
        mouth.send_to(b"?", (group, ear.local_addr()?.port()))?;
        Ok(ear.recv(&mut [0; 8])? == 1)
    };
    heard().unwrap_or(false)
}

#[test]
fn servents_of_the_local_network_find_each_other() {
    if !hears_itself() {
        eprintln!("skipped: no multicast on the loopback");
        return;
    }
    let place = Place::new();
    // More than there are, should other servents be about.
    let many = ["--lan", "--set", "overlay.degree=16"];
    let (one, two) = (share(&place, "one", &many), share(&place, "two", &many));
    let joined = |from: &Running, to: SocketAddr| neighbours(from).contains(&to.to_string());
    // Questions are asked again after one, two, four … seconds.
    let mut found = false;
    for _ in 0..4 {
        let looked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            until("they find each other", || joined(&one, two.at) || joined(&two, one.at));
        }));
        if looked.is_ok() {
            found = true;
            break;
        }
    }
    assert!(found);
    let out = place.run(&["search", "one thing", "--lan", "--state", "s", "--json", "--wait", "8"]);
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    assert!(text.contains("the one thing.txt"), "{}", String::from_utf8_lossy(&out.stderr));
}
