//! Only who knows the password is served.

use crate::node_support;

use node_support::{Host, config, header, status};
use servent_core::id::ConnId;
use servent_core::node::{Config, ConnInput, ConnOutput, HttpCommand, Input, NodeCommand, Output};
use servent_core::queue;

const RIGHT: &str = "Basic YWxpY2U6c2VjcmV0";
const WRONG: &str = "Basic YWxpY2U6d3Jvbmc=";

fn guarded() -> Host {
    Host::new(Config { guarded: true, ..config() }, &[1_000])
}

fn get(words: &str) -> String {
    format!("GET /get/0/file%200.bin HTTP/1.1\r\nHost: x\r\nAuthorization: {words}\r\n\r\n")
}

/// What the host is asked to judge.
fn asked(host: &Host) -> Vec<(ConnId, String)> {
    let judge = |output: &&Output| match output {
        Output::Connection(conn, ConnOutput::Authenticate { words }) => {
            Some((*conn, words.clone()))
        }
        _ => None,
    };
    host.outputs().iter().filter_map(judge).collect()
}

#[test]
fn without_a_password_nothing_is_told_of_what_is_shared() {
    for target in ["/", "/get/0/file%200.bin", "/get/9/none", "/uri-res/N2X?urn:sha1:x"] {
        let mut host = guarded();
        let conn = host.accept("9.9.9.9:1");
        let reply = host.say(conn, &format!("GET {target} HTTP/1.1\r\nHost: x\r\n\r\n"));
        assert_eq!(status(&reply), 401, "{target}: {reply}");
        assert!(header(&reply, "WWW-Authenticate").unwrap().starts_with("Basic realm="));
        assert_eq!(asked(&host), []);
    }
}

#[test]
fn right_words_are_judged_once_and_what_was_asked_waits_for_that() {
    let mut host = guarded();
    let conn = host.accept("9.9.9.9:1");
    assert_eq!(host.say(conn, &get(RIGHT)), "");
    assert_eq!(asked(&host), [(conn, RIGHT.to_owned())]);
    host.input(Input::Connection(conn, ConnInput::Authenticated { good: true }));
    let reply = host.heard(conn);
    assert_eq!(status(&reply), 200, "{reply}");
    // The same words on another connection are known, others are not.
    let second = host.accept("9.9.9.9:2");
    assert_eq!(status(&host.say(second, &get(RIGHT))), 200);
    let third = host.accept("9.9.9.9:3");
    assert_eq!(host.say(third, &get(WRONG)), "");
    assert_eq!(asked(&host).len(), 2);
    host.input(Input::Connection(third, ConnInput::Authenticated { good: false }));
    let reply = host.heard(third);
    assert_eq!((status(&reply), header(&reply, "Connection")), (401, Some("close")));
    // No client gets in on the words of an earlier request.
    let plain = host.say(second, "GET / HTTP/1.1\r\nHost: x\r\n\r\n");
    assert_eq!(status(&plain), 401, "{plain}");
}

#[test]
fn another_password_ends_what_the_old_one_let_in() {
    let mut host = guarded();
    let first = host.accept("9.9.9.9:1");
    host.say(first, &get(RIGHT));
    host.input(Input::Connection(first, ConnInput::Authenticated { good: true }));
    assert_eq!(status(&host.heard(first)), 200);
    let second = host.accept("9.9.9.9:2");
    assert_eq!(host.say(second, &get(WRONG)), "");
    host.input(Input::Command(NodeCommand::Http(HttpCommand::CheckAgain)));
    // This answer is the old password's: the host is asked again.
    host.input(Input::Connection(second, ConnInput::Authenticated { good: true }));
    assert_eq!((host.heard(second).as_str(), asked(&host).len()), ("", 3));
    let third = host.accept("9.9.9.9:3");
    assert_eq!((host.say(third, &get(RIGHT)).as_str(), asked(&host).len()), ("", 4));
}

#[test]
fn guessing_is_hammering() {
    let queue = queue::Config { hammer_requests: 5, ..config().queue };
    let mut host = Host::new(Config { guarded: true, queue, ..config() }, &[1_000]);
    let mut said = Vec::new();
    for n in 0..6 {
        let conn = host.accept(&format!("9.9.9.9:{}", n + 1));
        host.say(conn, &get(WRONG));
        host.input(Input::Connection(conn, ConnInput::Authenticated { good: false }));
        said.push(status(&host.heard(conn)));
    }
    assert_eq!(said, [401, 401, 401, 401, 401, 429]);
}

#[test]
fn what_is_sent_before_the_judgement_is_bounded() {
    let mut host = guarded();
    let conn = host.accept("9.9.9.9:1");
    host.say(conn, &get(RIGHT));
    let much = "x".repeat(4_000);
    for _ in 0..8 {
        host.say(conn, &much);
    }
    let closed = |output: &&Output| matches!(output, Output::Connection(c, ConnOutput::Close { .. }) if *c == conn);
    assert!(host.outputs().iter().any(closed));
    host.input(Input::Connection(conn, ConnInput::Authenticated { good: true }));
}
