//! The heads of transfers: HTTP/1.1 between peers, one request after another on
//! a connection.

use alloc::vec::Vec;

use super::Span;
use crate::wire::http::{ContentRange, HeadWriter, RangeSpec, RequestHead, ResponseHead};

/// The header with the sender's own id.
pub(crate) const PEER_ID: &str = "X-PDTP-Peer-Id";
/// Requests the body of a `PUT`.
pub(crate) const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";

/// The range that a request is about.
#[must_use]
pub(crate) fn span_of(head: &RequestHead) -> Span {
    match head.headers.get("Range").and_then(RangeSpec::parse) {
        Some(RangeSpec::Between(a, b)) => Span::new(a, b.saturating_add(1)),
        Some(RangeSpec::From(a)) => Span { start: a, end: None },
        Some(RangeSpec::Last(_)) | None => Span::ALL,
    }
}

/// The length of the body of a `PUT`; `None` when it is not given.
#[must_use]
pub(crate) fn length_of(head: &RequestHead) -> Option<u64> {
    head.headers.get("Content-Length").and_then(|n| n.trim().parse().ok())
}

/// A request that downloads or uploads bytes `start..end`.
#[must_use]
pub fn ask(method: &str, target: &str, (start, end): (u64, u64), id: &str) -> Vec<u8> {
    let mut head = HeadWriter::request(method, target);
    head.header("Host", "swarm")
        .header("Range", RangeSpec::Between(start, end.saturating_sub(1)))
        .header(PEER_ID, id);
    if method == "PUT" {
        head.header("Content-Length", end - start).header("Expect", "100-continue");
    }
    head.finish()
}

/// The head of a response without a body.
#[must_use]
pub fn status(status: u16, keep: bool) -> Vec<u8> {
    let reason = match status {
        201 => "Created",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        416 => "Range Not Satisfiable",
        503 => "Busy",
        _ => "No",
    };
    let mut head = HeadWriter::status(status, reason);
    head.header("Content-Length", 0);
    if !keep {
        head.header("Connection", "close");
    }
    head.finish()
}

/// The head of a response with bytes `start..end` of a file of `size` bytes.
#[must_use]
pub fn part((start, end): (u64, u64), size: u64, keep: bool) -> Vec<u8> {
    let mut head = HeadWriter::status(206, "Partial Content");
    head.header("Content-Range", ContentRange { range: Some((start, end)), size: Some(size) })
        .header("Content-Length", end - start);
    if !keep {
        head.header("Connection", "close");
    }
    head.finish()
}

/// True when a response carries exactly `start..end`. A server that ignores
/// ranges sends the whole file, which has another length.
#[must_use]
pub fn brings(head: &ResponseHead, (start, end): (u64, u64)) -> bool {
    let told = head.headers.get("Content-Range").and_then(ContentRange::parse);
    let fits = told.is_none_or(|told| told.range.is_none_or(|range| range == (start, end)));
    matches!(head.status, 200 | 206) && fits && head.content_length() == Some(end - start)
}

#[cfg(test)]
mod tests {
    use alloc::string::String;

    use super::*;
    use crate::wire::http::HeadLimits;

    const HEAD: HeadLimits = HeadLimits { bytes: 16 * 1024, lines: 64 };

    fn response(text: &str) -> ResponseHead {
        ResponseHead::parse(text.as_bytes(), &HEAD).unwrap().unwrap().0
    }

    #[test]
    fn only_a_response_with_the_very_bytes_is_taken() {
        let head = part((10, 20), 100, true);
        let head = response(&String::from_utf8(head).unwrap());
        assert!(brings(&head, (10, 20)) && head.keep_alive());
        assert!(!brings(&head, (10, 21)) && !brings(&head, (0, 10)));
        // A source that does not say which bytes it sends, only how many.
        let plain = response("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n");
        assert!(brings(&plain, (10, 20)));
        let refused = status(403, true);
        assert!(!brings(&response(&String::from_utf8(refused).unwrap()), (0, 0)));
    }

    #[test]
    fn a_request_says_which_bytes_and_for_which_peer() {
        let bytes = ask("PUT", "/f", (4, 8), "me");
        let (head, used) = RequestHead::parse(&bytes, &HEAD).unwrap().unwrap();
        assert_eq!(used, bytes.len());
        assert_eq!((span_of(&head), length_of(&head)), (Span::new(4, 8), Some(4)));
        assert_eq!(head.headers.get(PEER_ID), Some("me"));
        assert!(head.keep_alive());
    }
}
