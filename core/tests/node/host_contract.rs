//! What a host must not do is said aloud, and what is not configured is
//! declined.

use crate::node_support;

use node_support::{Host, config, get, status};
use servent_core::engine::Effect;
use servent_core::id::{ConnId, FetchId, FileIndex, Guid};
use servent_core::node::swarm::{self, SwarmFile};
use servent_core::node::{
    ConnEvent, ConnInput, DialError, DiskInput, FetchCommand, Get, HttpCommand, Input, Misuse,
    NodeAnswer, NodeCommand, Output, OverlayCommand, PartRow, RestoredNode, ServiceName,
};
use servent_core::trace::Event;

/// What the host was told that it did wrong.
fn faults(host: &Host) -> Vec<Misuse> {
    let fault = |effect: &Effect<Output, Event>| match effect {
        Effect::Event(Event::Conn(ConnEvent::Misuse { fault })) => Some(*fault),
        _ => None,
    };
    host.log.iter().filter_map(fault).collect()
}

/// An input that is nothing but a fault: it is said, and ignored.
fn only(host: &mut Host, input: Input, fault: Misuse) {
    let before = (host.log.len(), host.node.view(1, 9));
    host.input(input);
    let expected = Effect::Event(Event::Conn(ConnEvent::Misuse { fault }));
    assert_eq!(host.log[before.0..], [expected]);
    assert_eq!(host.node.view(1, 9), before.1);
}

#[test]
fn a_node_is_started_first_and_once() {
    let mut host = Host::blank(config(), &[]);
    let (conn, peer) = (ConnId(0), "9.9.9.9:9".parse().unwrap());
    only(
        &mut host,
        Input::Connection(conn, ConnInput::Accepted { peer, local: None }),
        Misuse::NotStarted,
    );
    host.input(Input::Start(RestoredNode::default()));
    assert_eq!(faults(&host), [Misuse::NotStarted]);
    only(&mut host, Input::Start(RestoredNode::default()), Misuse::StartedTwice);
    host.input(Input::Command(NodeCommand::Stop));
    let before = host.log.len();
    host.input(Input::Connection(conn, ConnInput::Closed));
    assert_eq!(host.log.len(), before, "what was under way at the stop is no fault");
}

#[test]
fn numbers_of_connections_are_even_and_new() {
    let mut host = Host::new(config(), &[9]);
    let peer = "9.9.9.9:9".parse().unwrap();
    for conn in [ConnId(1), ConnId(u64::MAX)] {
        only(
            &mut host,
            Input::Connection(conn, ConnInput::Accepted { peer, local: None }),
            Misuse::Parity { conn },
        );
    }
    let conn = host.accept("9.9.9.9:9");
    only(
        &mut host,
        Input::Connection(conn, ConnInput::Accepted { peer, local: None }),
        Misuse::Repeated { conn },
    );
    assert_eq!(status(&host.say(conn, &get(0, ""))), 200, "the one that is there stays");
}

#[test]
fn no_host_reports_on_a_dial_that_was_not_asked_for() {
    let mut host = Host::new(config(), &[9]);
    let local = "1.2.3.4:5".parse().unwrap();
    let conn = ConnId(7);
    only(
        &mut host,
        Input::Connection(conn, ConnInput::Dialed { local }),
        Misuse::NotDialing { conn },
    );
    let why = DialError::Refused;
    only(
        &mut host,
        Input::Connection(conn, ConnInput::DialFailed { why }),
        Misuse::NotDialing { conn },
    );
    host.input(Input::Command(NodeCommand::Http(HttpCommand::Giv {
        to: local,
        index: FileIndex(0),
    })));
    let (conn, _) = host.dials[0];
    host.input(Input::Connection(conn, ConnInput::Dialed { local }));
    only(
        &mut host,
        Input::Connection(conn, ConnInput::Dialed { local }),
        Misuse::NotDialing { conn },
    );
}

#[test]
fn a_file_that_is_not_shared_is_not_named() {
    let mut host = Host::new(config(), &[9]);
    let index = FileIndex(5);
    only(&mut host, Input::Disk(DiskInput::Unshared { index }), Misuse::UnknownFile { index });
    let to = "1.2.3.4:5".parse().unwrap();
    only(
        &mut host,
        Input::Command(NodeCommand::Http(HttpCommand::Giv { to, index })),
        Misuse::UnknownFile { index },
    );
}

#[test]
fn a_service_that_is_off_declines() {
    let mut quiet = config();
    (quiet.http, quiet.download) = (false, false);
    let mut host = Host::new(quiet, &[9]);
    let (conn, reply) = host.ask("9.9.9.9:9", "");
    assert_eq!(status(&reply), 503);
    assert!(host.hung_up.contains(&conn));
    let caller = host.accept("9.9.9.9:9");
    host.say(caller, "QUEUE 00112233445566778899aabbccddeeff 9.9.9.9:9\r\n\r\n");
    assert!(host.hung_up.contains(&caller));
    let at = "9.9.9.9:9".parse().unwrap();
    let wish = Get { name: "x".into(), sha1: None, sources: Vec::new() };
    for (command, service) in [
        (NodeCommand::Fetch(FetchCommand::Get(wish)), ServiceName::Downloads),
        (NodeCommand::Fetch(FetchCommand::Cancel { fetch: FetchId(1) }), ServiceName::Downloads),
        (NodeCommand::Http(HttpCommand::Giv { to: at, index: FileIndex(0) }), ServiceName::Http),
        (NodeCommand::Overlay(OverlayCommand::Join { at }), ServiceName::Overlay),
        (NodeCommand::Swarm(swarm::SwarmCommand::Leave { file: SwarmFile(1) }), ServiceName::Swarm),
        (
            NodeCommand::Overlay(OverlayCommand::Search { search: 1, words: "x".into() }),
            ServiceName::Overlay,
        ),
    ] {
        host.input(Input::Command(command));
        assert_eq!(host.answers.pop(), Some(NodeAnswer::Off { service }));
    }
    assert!(host.dials.is_empty() && faults(&host).is_empty());
}

#[test]
fn remembered_downloads_rest_while_nothing_is_downloaded() {
    let mut quiet = config();
    quiet.download = false;
    let mut host = Host::blank(quiet, &[]);
    let source = servent_core::node::DownloadSource {
        at: "9.9.9.9:9".parse().unwrap(),
        target: "/x".into(),
        host: "9.9.9.9".into(),
    };
    let get = Get { name: "x".into(), sha1: None, sources: vec![source] }.into();
    let row = PartRow::new(FetchId(1), get);
    let servent = Some(Guid([7; 16]));
    host.input(Input::Start(RestoredNode {
        servent,
        fetches: vec![row],
        ..RestoredNode::default()
    }));
    assert!(host.dials.is_empty() && host.ops.is_empty(), "neither asked for nor forgotten");
}
