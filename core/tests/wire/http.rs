//! Heads of HTTP as strangers send them: whatever comes in, it is read or
//! refused, within the limits, and cut anywhere.

use proptest::prelude::*;
use servent_core::wire::http::{
    HeadError, HeadLimits, HeadWriter, HttpMethod, HttpVersion, RequestHead, ResponseHead, Target,
};

const LIMITS: HeadLimits = HeadLimits { bytes: 4096, lines: 16 };

fn request(text: &str) -> RequestHead {
    let (head, used) = RequestHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap();
    assert_eq!(used, text.len());
    head
}

fn refused(text: &str) -> HeadError {
    RequestHead::parse(text.as_bytes(), &LIMITS).unwrap_err()
}

fn response(text: &str) -> ResponseHead {
    ResponseHead::parse(text.as_bytes(), &LIMITS).unwrap().unwrap().0
}

#[test]
fn a_raw_name_with_blanks_is_split_at_the_last_version() {
    let head = request("GET /get/3/a HTTP/1.0 song.ogg HTTP/1.1\r\n\r\n");
    assert_eq!(head.target, "/get/3/a HTTP/1.0 song.ogg");
    assert_eq!((head.method, head.version), (HttpMethod::Get, HttpVersion::Http11));
    let head = request("HEAD /get/3/a%20b/ HTTP/1.0\r\n\r\n");
    assert_eq!((head.method, head.version), (HttpMethod::Head, HttpVersion::Http10));
    let name = String::from("a b");
    let index = servent_core::id::FileIndex(3);
    assert_eq!(Target::parse(&head.target), Target::File { index, name });
}

#[test]
fn fields_may_be_folded_repeated_and_in_any_case() {
    let head = request("GET / HTTP/1.1\nX-a: one\n two\n\n".replace('\n', "\r\n").as_str());
    assert_eq!(head.headers.get("x-A"), Some("one two"));
    let head = request("GET / HTTP/1.1\r\nA:\r\n\t1\r\na: 3\r\nC:\r\n\r\n");
    assert_eq!(head.headers.joined("A"), "1, 3");
    assert_eq!((head.headers.get("c"), head.headers.len()), (Some(""), 3));
    // Of a server more is taken.
    let head = response("HTTP/1.1 200 OK\nA:\n\t1\nB : 2\na: 3\nnot a field\nC:\n\n");
    assert_eq!(head.headers.joined("A"), "1, 3");
    assert_eq!(head.headers.get("b"), Some("2"));
    assert_eq!(head.headers.get("c"), Some(""));
    assert_eq!(head.headers.len(), 4);
}

#[test]
fn a_request_that_two_readers_could_read_as_two_is_refused() {
    for fields in [
        "Host : x\r\n",
        "Host\t: x\r\n",
        " Host: x\r\n",
        "\tfolded\r\nHost: x\r\n",
        "Host: x\n",
        "A: b\rHost: x\r\n",
        "not a field\r\nHost: x\r\n",
        ": x\r\nHost: x\r\n",
        "A(b): c\r\n",
    ] {
        let text = format!("GET / HTTP/1.1\r\n{fields}\r\n");
        assert_eq!(refused(&text), HeadError::Fields, "{fields:?}");
        if fields.starts_with([' ', '\t']) {
            // Behind another field it would go on with that.
            continue;
        }
        // Not after very many fields either.
        let many = format!("GET / HTTP/1.1\r\n{}{fields}\r\n", "A: b\r\n".repeat(40));
        let limits = HeadLimits { bytes: 4096, lines: 64 };
        assert_eq!(RequestHead::parse(many.as_bytes(), &limits), Err(HeadError::Fields));
    }
    assert_eq!(refused("GET / HTTP/1.1\nHost: x\r\n\r\n"), HeadError::Fields);
    assert_eq!(refused("GET / HTTP/1.1\r\nHost: x\r\n\n"), HeadError::Fields);
}

#[test]
fn a_request_is_for_one_host() {
    let one = |fields: &str| request(&format!("GET / HTTP/1.1\r\n{fields}\r\n")).names_one_host();
    assert!(one("Host: x\r\n") && one("host:\r\n"));
    assert!(!one("") && !one("Host: x\r\nhost: x\r\n"));
    assert!(request("GET / HTTP/1.0\r\n\r\n").names_one_host());
    assert!(!request("GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n").names_one_host());
}

#[test]
fn pipelined_requests_are_cut_apart() {
    let two = "\r\nGET /1 HTTP/1.1\r\n\r\nGET /2 HTTP/1.1\r\nA: b\r\n\r\n";
    let (first, used) = RequestHead::parse(two.as_bytes(), &LIMITS).unwrap().unwrap();
    assert_eq!(first.target, "/1");
    assert_eq!(request(&two[used..]).target, "/2");
}

#[test]
fn what_is_no_request_is_refused() {
    for line in ["GET /", "GET HTTP/1.1", " / HTTP/1.1", "G@T / HTTP/1.1", "GET /\t HTTP/1.1"] {
        assert_eq!(refused(&format!("{line}\r\n\r\n")), HeadError::FirstLine, "{line}");
    }
    for version in ["HTTP/2.0", "HTTP/1", "HTTP/x.y", "HTTP/1.1.1", "HTTP/"] {
        assert_eq!(refused(&format!("GET / {version}\r\n\r\n")), HeadError::Version, "{version}");
    }
    assert_eq!(refused("GET / HTTP/1.1\r\nA: \0\r\n\r\n"), HeadError::Fields);
}

#[test]
fn limits_hold_whole_or_in_pieces() {
    let long = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(4096));
    assert_eq!(refused(&long), HeadError::TooLong);
    assert_eq!(refused(&long[..4096]), HeadError::TooLong);
    assert_eq!(RequestHead::parse(&long.as_bytes()[..4095], &LIMITS), Ok(None));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(16));
    assert_eq!(refused(&many), HeadError::TooManyLines);
    let most = format!("GET / HTTP/1.1\r\n{}\r\n", "A: b\r\n".repeat(15));
    assert_eq!(request(&most).headers.len(), 15);
    assert_eq!(refused(&"\r\n".repeat(17)), HeadError::TooManyLines);
    let exact = format!("GET / HTTP/1.1\r\nA: {}\r\n\r\n", "x".repeat(4096 - 23));
    assert_eq!(exact.len(), 4096);
    assert_eq!(request(&exact).headers.len(), 1);
}

#[test]
fn connections_are_kept_as_the_version_says() {
    let keeps = |text: &str| request(text).keep_alive();
    assert!(keeps("GET / HTTP/1.1\r\n\r\n"));
    assert!(!keeps("GET / HTTP/1.1\r\nConnection: Upgrade, Close\r\n\r\n"));
    assert!(!keeps("GET / HTTP/1.0\r\n\r\n"));
    assert!(keeps("GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n"));
    assert!(!response("HTTP/1.0 200 OK\r\n\r\n").keep_alive());
    assert!(response("HTTP/1.1 503\r\n\r\n").keep_alive());
}

#[test]
fn a_response_tells_its_length_once() {
    let length =
        |fields: &str| response(&format!("HTTP/1.1 200 OK\r\n{fields}\r\n")).content_length();
    assert_eq!(length("Content-Length: 12\r\n"), Some(12));
    assert_eq!(length("Content-Length: 12\r\ncontent-length: 12\r\n"), Some(12));
    assert_eq!(length("Content-Length: 12\r\nContent-Length: 13\r\n"), None);
    assert_eq!(length("Content-Length: -1\r\n"), None);
    assert_eq!(length("Content-Length: 18446744073709551616\r\n"), None);
    assert_eq!(length(""), None);
}

#[test]
fn old_status_lines_are_read_and_wrong_ones_refused() {
    let head = response("HTTP 200 OK\r\n\r\n");
    assert_eq!((head.version, head.status), (HttpVersion::Http10, 200));
    let head = response("HTTP/1.1 503 Queued behind you\r\n\r\n");
    assert_eq!(head.reason, "Queued behind you");
    for line in ["HTTP/1.1 99 x", "HTTP/1.1 1000 x", "HTTP/1.1 abc", "HTTP/1.1", "ICY 200 OK"] {
        let text = format!("{line}\r\n\r\n");
        assert!(ResponseHead::parse(text.as_bytes(), &LIMITS).is_err(), "{line}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_read_without_harm(
        bytes in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"GETHTTP/1. :\r\n\t\x00".to_vec())], 0..600),
    ) {
        if let Ok(Some((_, used))) = RequestHead::parse(&bytes, &LIMITS) {
            prop_assert!(used <= bytes.len());
        }
        let _ = ResponseHead::parse(&bytes, &LIMITS);
    }

    #[test]
    fn any_fields_are_read_without_harm(
        fields in prop::collection::vec(prop_oneof![any::<u8>(), prop::sample::select(b"Aa: \r\n\t,;=".to_vec())], 0..300),
    ) {
        let text = [b"HTTP/1.1 200 OK\r\n", &fields[..], b"\r\n\r\n"].concat();
        if let Ok(Some((head, _))) = ResponseHead::parse(&text, &LIMITS) {
            let clean = head.headers.iter().all(|(n, v)| !n.contains(['\r', '\n']) && !v.contains(['\r', '\n']));
            prop_assert!(clean);
        }
    }

    #[test]
    fn a_head_is_found_only_when_it_is_whole(cut in 0..60_usize, tail: Vec<u8>) {
        let whole = b"GET /get/1/a b HTTP/1.1\r\nHost: x\r\nRange: bytes=0-\r\n\r\n";
        let cut = cut.min(whole.len() - 1);
        prop_assert_eq!(RequestHead::parse(&whole[..cut], &LIMITS), Ok(None));
        let more = [&whole[..], &tail[..]].concat();
        let (_, used) = RequestHead::parse(&more, &LIMITS).unwrap().unwrap();
        prop_assert_eq!(used, whole.len());
    }

    #[test]
    fn what_is_written_is_one_head_whatever_is_put_in(
        target in "\\PC{1,20}|[\r\n a/]{1,20}", name in "[A-Za-z-]{1,10}",
        value in "\\PC{0,20}|[\r\n a:]{0,20}",
    ) {
        prop_assume!(!target.trim().is_empty());
        let mut head = HeadWriter::request("GET", &target);
        head.header(&name, &value);
        let bytes = head.finish();
        let (head, used) = RequestHead::parse(&bytes, &LIMITS).unwrap().unwrap();
        prop_assert_eq!(used, bytes.len());
        prop_assert_eq!(head.headers.len(), 1);
        let flat: String = value.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        prop_assert_eq!(head.headers.get(&name), Some(flat.trim_matches([' ', '\t'])));
    }
}
