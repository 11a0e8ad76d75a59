//! Where servents are met that cannot be connected to: what hits and neighbours say of it.

use servent_core::id::{ConnId, FileIndex, Guid};
use servent_core::node::{ConnInput, Input, NodeAnswer, NodeCommand, OverlayCommand};
use servent_core::wire::gnutella::ggep::GgepBlock;
use servent_core::wire::gnutella::{
    HitBuilder, HitMeeting, MessageBody, OverlayMessage, Quality, Query, Wishes,
};

use crate::node_support::Host;
use crate::overlay_proxies::{heard, host, neighbour, overlay, says};

#[test]
fn pa_16_hits_say_where_a_servent_is_met_that_cannot_be_reached() {
    let meeting = HitMeeting { at: "80.9.9.9:6349".parse().unwrap(), code: "a-b-c".into() };
    for walled in [true, false] {
        let mut host = host(overlay(walled));
        let HitMeeting { at, code } = meeting.clone();
        host.input(Input::Command(NodeCommand::Overlay(OverlayCommand::Meets { at, code })));
        let conn = neighbour(&mut host, "80.1.1.1:50000", true);
        heard(&mut host, conn);
        let query = Query::new(Wishes::default(), "file", &[]);
        says(&mut host, conn, Guid([1; 16]), MessageBody::Query(query));
        let said = heard(&mut host, conn).into_iter().find_map(|message| match message.body {
            MessageBody::Hit(hit) => Some(hit.meeting()),
            _ => None,
        });
        assert_eq!(said, Some(walled.then(|| meeting.clone())));
    }
}

#[test]
fn pa_16_a_place_that_a_stranger_names_is_asked_only_where_connections_may_go() {
    let mut host = host(overlay(false));
    let conn = neighbour(&mut host, "80.1.1.1:50000", true);
    let words = "needle".into();
    let search = OverlayCommand::Search { search: 1, words };
    host.input(Input::Command(NodeCommand::Overlay(search)));
    let guid = heard(&mut host, conn).into_iter().find_map(|message| match message.body {
        MessageBody::Query(_) => Some(message.guid),
        _ => None,
    });
    let quality = Quality { push: Some(true), ..Quality::default() };
    let named = ["81.1.1.1:6349", "10.0.0.1:6349", "81.1.1.2:53", "127.0.0.1:6349"];
    for (number, at) in (0..).zip(named) {
        let meeting = HitMeeting { at: at.parse().unwrap(), code: "a-b-c".into() };
        let blocks = [GgepBlock::new(b"SM", &meeting.to_bytes())];
        let at = "10.0.0.7:6346".parse().unwrap();
        let hit = HitBuilder::new(at, 1, (*b"SRVT", quality), Guid([number + 1; 16]), 4_000);
        let mut hit = hit.with(&blocks);
        assert!(hit.add(FileIndex(7), 100, "a needle", None));
        let body = MessageBody::Hit(hit.finish().unwrap());
        let guid = guid.unwrap();
        host.bytes(conn, &OverlayMessage { guid, ttl: 3, hops: 1, body }.to_bytes());
    }
    let meets = |answer: &NodeAnswer| match answer {
        NodeAnswer::Meets { at, .. } => Some(at.to_string()),
        _ => None,
    };
    let told: Vec<String> = host.answers.iter().filter_map(meets).collect();
    assert_eq!(told, ["81.1.1.1:6349"]);
}

fn comes(host: &mut Host, from: &str, place: &str) -> ConnId {
    let conn = host.accept(from);
    let head = format!("GNUTELLA CONNECT/0.6\r\nX-Ultrapeer: True\r\n{place}\r\n");
    assert!(host.say(conn, &head).starts_with("GNUTELLA/0.6 200 "));
    host.bytes(conn, b"GNUTELLA/0.6 200 OK\r\n\r\n");
    conn
}

/// The places of neighbours that the host was told of.
fn told(host: &Host) -> Vec<String> {
    let place = |answer: &NodeAnswer| match answer {
        NodeAnswer::Place { at } => Some(at.to_string()),
        _ => None,
    };
    host.answers.iter().filter_map(place).collect()
}

/// A place that does not answer keeps no other out.
#[test]
fn pa_16_the_place_of_another_neighbour_is_told_when_that_of_one_does_not_answer() {
    let mut host = host(overlay(true));
    let other = |host: &mut Host| {
        let command = OverlayCommand::OtherPlace;
        host.input(Input::Command(NodeCommand::Overlay(command)));
    };
    other(&mut host);
    let place = |port: u16| format!("X-Meeting-Place: {port}\r\n");
    let first = comes(&mut host, "80.1.1.3:50000", &place(6_349));
    other(&mut host);
    assert_eq!(told(&host), ["80.1.1.3:6349"], "there is no other");
    comes(&mut host, "80.1.1.4:50000", &place(7_000));
    comes(&mut host, "80.1.1.5:50000", &place(8_000));
    (0..4).for_each(|_| other(&mut host));
    let all = ["80.1.1.3:6349", "80.1.1.4:7000", "80.1.1.5:8000", "80.1.1.3:6349", "80.1.1.4:7000"];
    assert_eq!(told(&host), all, "each is tried before one is tried again");
    // One that is told nothing of has left.
    host.input(Input::Connection(first, ConnInput::Closed));
    assert_eq!(told(&host), all);
    other(&mut host);
    assert_eq!(told(&host)[5..], ["80.1.1.5:8000"]);
}

/// Others cannot connect to us, and a neighbour runs a meeting place: the host hears of it once,
/// and of another one when that neighbour has left.
#[test]
fn pa_16_one_that_cannot_be_reached_is_told_of_the_meeting_place_of_a_neighbour() {
    let mut host = host(overlay(true));
    comes(&mut host, "80.1.1.1:50000", "");
    assert!(told(&host).is_empty());
    for wrong in ["0", "65536", "-1", "x", "53"] {
        comes(&mut host, "80.1.1.2:1", &format!("X-Meeting-Place: {wrong}\r\n"));
    }
    assert!(told(&host).is_empty(), "{:?}", told(&host));
    let first = comes(&mut host, "80.1.1.3:50000", "X-Meeting-Place: 6349\r\n");
    comes(&mut host, "80.1.1.4:50000", "X-Meeting-Place: 7000\r\n");
    assert_eq!(told(&host), ["80.1.1.3:6349"]);
    host.input(Input::Connection(first, ConnInput::Closed));
    assert_eq!(told(&host), ["80.1.1.3:6349", "80.1.1.4:7000"]);
}

/// The user has named a place; or others can connect to us.
#[test]
fn pa_16_a_place_that_the_user_has_named_is_kept_and_ours_is_told_to_neighbours() {
    for walled in [true, false] {
        let mut host = host(overlay(walled));
        if walled {
            let (at, code) = ("80.9.9.9:6349".parse().unwrap(), "a-b-c".into());
            host.input(Input::Command(NodeCommand::Overlay(OverlayCommand::Meets { at, code })));
        }
        let runs = OverlayCommand::RunsPlace { port: 6349 };
        host.input(Input::Command(NodeCommand::Overlay(runs)));
        let conn = host.accept("80.1.1.3:50000");
        let head = "GNUTELLA CONNECT/0.6\r\nX-Ultrapeer: True\r\nX-Meeting-Place: 6349\r\n\r\n";
        let said = host.say(conn, head);
        assert!(said.contains("\r\nX-Meeting-Place: 6349\r\n"), "{said}");
        host.bytes(conn, b"GNUTELLA/0.6 200 OK\r\n\r\n");
        assert!(!host.answers.iter().any(|it| matches!(it, NodeAnswer::Place { .. })));
    }
}
