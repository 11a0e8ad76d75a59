//! One connection of a capture; those of the overlay are shown uncompressed.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;
use core::net::SocketAddr;

use crate::time::Instant;
use crate::wire::gnutella::{Hello, InflateLimits, Inflater};

/// The port on which dissectors expect messages of the overlay.
const PORT: u16 = 6346;
/// Maximum length of a handshake head.
const HEAD: usize = 64 * 1024;
/// How much a damaged recording may inflate to.
const LIMITS: InflateLimits = InflateLimits { bytes: 16 << 20, ratio: 64 };

/// One connection. Both counters are the sequence number of the next byte.
#[derive(Debug, Clone)]
pub(super) struct TcpFlow {
    pub(super) ours: SocketAddr,
    pub(super) theirs: SocketAddr,
    /// We opened it.
    pub(super) by_us: bool,
    /// When it was opened, until the opening is written: what the connection is
    /// used for decides the port.
    opened: Option<Instant>,
    link: Option<Box<OverlayLink>>,
    pub(super) sent: u32,
    pub(super) received: u32,
    /// Bytes of the range being served that have been written.
    pub(super) served: u64,
    /// Bytes of the range being stored that have been written.
    pub(super) stored: u64,
    pub(super) closed: bool,
}

impl TcpFlow {
    pub(super) const fn new(ours: SocketAddr, theirs: SocketAddr, by_us: bool) -> Self {
        Self {
            ours,
            theirs,
            by_us,
            opened: None,
            link: None,
            sent: 0,
            received: 0,
            served: 0,
            stored: 0,
            closed: false,
        }
    }

    /// The connection is open since `at`.
    pub(super) const fn open(&mut self, at: Instant) {
        self.opened = Some(at);
    }

    /// When it was opened, the first time that something of it is written:
    /// `first`, or its end.
    pub(super) fn begins(&mut self, first: &[u8]) -> Option<Instant> {
        let at = self.opened.take()?;
        let length = first.len().min(Hello::BEGINS.len());
        if length > 0 && first[..length] == Hello::BEGINS.as_bytes()[..length] {
            self.link = Some(Box::default());
            let serving = if self.by_us { &mut self.theirs } else { &mut self.ours };
            serving.set_port(PORT);
        }
        Some(at)
    }

    /// The pieces in which bytes are shown: on a connection of the overlay
    /// heads and messages separately, and inflated; on any other unchanged.
    pub(super) fn shown(&mut self, by_us: bool, data: &[u8]) -> Vec<Vec<u8>> {
        match &mut self.link {
            Some(link) if by_us == self.by_us => link.caller.shown(data),
            Some(link) => link.called.shown(data),
            None => alloc::vec![data.to_vec()],
        }
    }
}

/// A connection of the overlay: the caller sends two heads, the callee one.
#[derive(Debug, Clone)]
struct OverlayLink {
    caller: FlowDirection,
    called: FlowDirection,
}

impl Default for OverlayLink {
    fn default() -> Self {
        let way = |heads| FlowDirection { heads, head: Vec::new(), inflater: None };
        Self { caller: way(2), called: way(1) }
    }
}

/// One direction of it.
#[derive(Debug, Clone)]
struct FlowDirection {
    /// Heads that are still expected before the messages.
    heads: u8,
    /// The bytes of the next head so far.
    head: Vec<u8>,
    inflater: Option<Inflater>,
}

impl FlowDirection {
    fn shown(&mut self, data: &[u8]) -> Vec<Vec<u8>> {
        let (mut shown, mut rest) = (Vec::new(), data);
        while self.heads > 0 && !rest.is_empty() {
            let before = self.head.len();
            self.head.extend_from_slice(rest);
            let Some(end) = end(&self.head) else {
                if self.head.len() > HEAD {
                    (self.heads, self.head) = (0, Vec::new());
                }
                shown.push(rest.to_vec());
                return shown;
            };
            shown.push(rest[..end - before].to_vec());
            rest = &rest[end - before..];
            let mut head = mem::take(&mut self.head);
            head.truncate(end);
            head.make_ascii_lowercase();
            let old = head.starts_with(b"gnutella connect/0.4");
            self.heads = if old { 0 } else { self.heads - 1 };
            if self.heads == 0 && is_deflated(&head) {
                self.inflater = Some(Inflater::new(LIMITS));
            }
        }
        let plain = match self.inflater.as_mut().map(|inflater| inflater.push(rest)) {
            Some(Ok(plain)) => plain,
            Some(Err(_)) => {
                self.inflater = None;
                rest.to_vec()
            }
            None => rest.to_vec(),
        };
        if !plain.is_empty() {
            shown.push(plain);
        }
        shown
    }
}

/// The end of a head: its first empty line.
fn end(head: &[u8]) -> Option<usize> {
    let mut blank = false;
    for (at, byte) in head.iter().enumerate() {
        match byte {
            b'\n' if blank => return Some(at + 1),
            b'\n' => blank = true,
            b'\r' => {}
            _ => blank = false,
        }
    }
    None
}

/// True when a head, in lower case, says that what follows is compressed.
fn is_deflated(head: &[u8]) -> bool {
    head.split(|b| *b == b'\n').any(|line| {
        line.strip_prefix(b"content-encoding:")
            .is_some_and(|value| value.windows(7).any(|seven| seven == b"deflate"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::gnutella::Deflater;

    const HELLO: &[u8] = b"GNUTELLA CONNECT/0.6\r\nContent-Encoding: deflate\r\n\r\n";
    const LAST: &[u8] = b"GNUTELLA/0.6 200 OK\r\ncontent-ENCODING: deflate\r\n\r\n";

    fn flow() -> TcpFlow {
        let mut flow =
            TcpFlow::new("1.1.1.1:8080".parse().unwrap(), "2.2.2.2:4000".parse().unwrap(), false);
        flow.open(Instant::from_secs(1));
        flow
    }

    #[test]
    fn a_link_is_known_by_its_first_bytes_and_stands_on_its_port() {
        let mut link = flow();
        assert_eq!(link.begins(HELLO), Some(Instant::from_secs(1)));
        assert_eq!((link.ours.port(), link.theirs.port()), (6346, 4000));
        assert_eq!(link.begins(HELLO), None, "once");
        let mut other = flow();
        assert!(other.begins(b"GET / HTTP/1.1\r\n").is_some());
        assert_eq!(other.ours.port(), 8080);
    }

    #[test]
    fn heads_stand_apart_and_what_follows_is_unpacked_however_it_was_cut() {
        let mut packer = Deflater::new();
        let packed = [packer.push(b"first"), packer.push(b"second")].concat();
        let stream = [HELLO, LAST, &packed].concat();
        for size in [1, 7, 60, stream.len()] {
            let mut link = flow();
            link.begins(&stream[..size]);
            let pieces: Vec<Vec<u8>> =
                stream.chunks(size).flat_map(|data| link.shown(false, data)).collect();
            let heads = [HELLO, LAST].concat();
            assert_eq!(pieces.concat(), [&heads[..], b"firstsecond"].concat(), "{size}");
            let mut at = 0;
            for piece in &pieces {
                at += piece.len();
                assert!(at <= heads.len() || at - piece.len() >= heads.len(), "cut at the heads");
            }
        }
        // The other direction has one head, and is not compressed here.
        let mut link = flow();
        link.begins(HELLO);
        let both = [b"GNUTELLA/0.6 200 OK\r\n\r\n", &b"\0\x01"[..]].concat();
        assert_eq!(link.shown(true, &both)[1], b"\0\x01");
    }

    #[test]
    fn what_cannot_be_unpacked_is_shown_as_it_is() {
        let mut link = flow();
        link.begins(HELLO);
        link.shown(false, HELLO);
        link.shown(false, LAST);
        assert_eq!(link.shown(false, b"\xff\xff\xff"), [b"\xff\xff\xff".to_vec()]);
    }
}
