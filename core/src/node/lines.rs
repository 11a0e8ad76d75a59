//! The first line of a connection decides what it is: an HTTP request, a `GIV`
//! or `QUEUE` line, a neighbour's handshake, or nothing we speak.

use alloc::string::{String, ToString};

use crate::wire::gnutella::Hello;

/// The longest first line that is not HTTP.
const LINE: usize = 1_024;

/// What a client hears that speaks TLS where none is expected.
pub(super) const PLAIN: &str = "HTTP/1.1 400 Bad Request\r\n\
    Content-Type: text/plain; charset=utf-8\r\n\
    Connection: close\r\nContent-Length: 64\r\n\r\n\
    This port does not speak TLS: write http:// instead of https://\n";

/// What a first line says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum First {
    /// The line is not complete yet.
    More,
    /// An HTTP request.
    Http,
    /// A `GIV` or `QUEUE` line, and its length in bytes.
    Line(String, usize),
    /// A handshake of the overlay.
    Overlay,
    /// A PDTP frame.
    Frame,
    /// The first message of TLS, where none is expected.
    Tls,
    /// Nothing we speak.
    Garbage,
}

/// Looks at the first line, after any empty ones. When `frames` are accepted,
/// one is recognised by the bracket after its length, where no line has one.
pub(super) fn first(bytes: &[u8], limit: u32, frames: bool) -> First {
    if frames {
        match bytes {
            [_, _, b'[', ..] => return First::Frame,
            [b'\r' | b'\n', ..] if bytes.len() < 3 => return First::More,
            [first, ..] if !first.is_ascii_alphabetic() && !matches!(first, b'\r' | b'\n') => {
                return First::Frame;
            }
            _ => {}
        }
    }
    let Some(from) = bytes.iter().position(|b| !matches!(b, b'\r' | b'\n')) else {
        return if bytes.len() >= limit as usize { First::Garbage } else { First::More };
    };
    match &bytes[from..] {
        [0x16] => return First::More,
        [0x16, 3, ..] => return First::Tls,
        _ => {}
    }
    if !bytes[from].is_ascii_alphabetic() {
        return First::Garbage;
    }
    if bytes[from..].starts_with(Hello::BEGINS.as_bytes()) {
        return First::Overlay;
    }
    let Some(length) = bytes[from..].iter().position(|&b| b == b'\n') else {
        // A line that is too long is left to the head parser, which refuses it
        // properly.
        return if bytes.len() >= limit as usize { First::Http } else { First::More };
    };
    let line = &bytes[from..from + length];
    if line.starts_with(b"GIV ") || line.starts_with(b"QUEUE ") {
        if length > LINE {
            return First::Garbage;
        }
        let text = String::from_utf8_lossy(line);
        return First::Line(text.trim_ascii_end().to_string(), from + length + 1);
    }
    if line.windows(6).any(|w| w == b" HTTP/") { First::Http } else { First::Garbage }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use proptest::prelude::*;

    use super::*;
    use crate::engine::{Engine as _, Fx};
    use crate::id::ConnId;
    use crate::node::{Config, ConnInput, Input, Node, RestoredNode};
    use crate::time::Instant;

    proptest! {
        #[test]
        fn unread_bytes_stay_within_the_limits(
            pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..3_000), 0..30),
            line in "(GET /|HEAD /get/1/|X|\r\n| HTTP/1.1\r\n|A: ){0,9}",
        ) {
            let mut node = Node::new(Config::default(), 1);
            let mut fx = Fx::new();
            node.handle(Instant::ZERO, Input::Start(RestoredNode::default()), &mut fx);
            let (conn, peer) = (ConnId(0), "9.9.9.9:9".parse().unwrap());
            node.handle(Instant::ZERO, Input::Connection(conn, ConnInput::Accepted { peer, local: None }), &mut fx);
            let mut data = line.into_bytes();
            for piece in pieces {
                data.extend(piece);
                node.handle(Instant::ZERO, Input::Connection(conn, ConnInput::Bytes { data }), &mut fx);
                data = vec![b'x'; 7];
                let unread = &node.io.get(conn).unwrap().unread;
                prop_assert!(unread.len() <= node.config.limits.head_bytes as usize);
                prop_assert!(unread.capacity() <= 2 * unread.len());
            }
        }
    }

    #[test]
    fn the_first_line_decides() {
        assert_eq!(first(b"", 100, false), First::More);
        assert_eq!(first(&[b'\n'; 100], 100, false), First::Garbage);
        assert_eq!(first(b"\r\nGET / HT", 100, false), First::More);
        assert_eq!(first(b"\r\nGET / HTTP/1.1\r\n", 100, false), First::Http);
        assert_eq!(first(b"\x16", 100, false), First::More);
        assert_eq!(first(b"\x16\x03\x01", 100, false), First::Tls);
        assert_eq!(first(b"\x16\x13", 100, false), First::Garbage);
        assert_eq!(first(b"GNUTELLA CONNECT/0.6\r\n", 100, false), First::Overlay);
        assert_eq!(first(b"GNUTELLA C", 100, false), First::Overlay);
        assert_eq!(first(b"GNUTELLA", 100, false), First::More);
        assert_eq!(first(b"GIV 1:x/y\r\n\r\n", 100, false), First::Line("GIV 1:x/y".into(), 11));
        assert_eq!(first(b"\nQUEUE a b\nrest", 100, false), First::Line("QUEUE a b".into(), 11));
        assert_eq!(first(&[b'A'; 100], 100, false), First::Http);
        assert_eq!(
            first(&[b"GIV ", &[b'x'; 2_000][..], b"\n"].concat(), 9_000, false),
            First::Garbage
        );
    }

    #[test]
    fn a_frame_is_known_by_its_bracket() {
        let of = |bytes: &[u8]| first(bytes, 100, true);
        for frame in [&b"\x00\x02["[..], b"GE[", b"\n\n[", b"\x00", b"\xff\xff"] {
            assert_eq!(of(frame), First::Frame, "{frame:?}");
        }
        assert_eq!(of(b"G"), First::More);
        assert_eq!(of(b"\r\n"), First::More);
        assert_eq!(of(b"\r\nGET / HTTP/1.1\r\n"), First::Http);
        assert_eq!(first(b"\x00\x02[", 100, false), First::Garbage);
    }
}
