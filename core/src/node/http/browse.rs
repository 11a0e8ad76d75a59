//! Everything we share, as query hits, for servents that browse us: deployed
//! ones request `GET /` with `Accept: application/x-gnutella-packets`.
//!
//! A short list is one reply of known length. A long one is written part by
//! part as the client reads it, so that it costs the same memory however much
//! is shared. Neither takes a slot.

use alloc::boxed::Box;
use alloc::format;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddrV4};

use super::Http;
use super::exchange::{Exchange, Listing};
use super::reply::{Form, Length, ReplyWriter};
use super::serving;
use crate::id::{ConnId, FileIndex, Guid};
use crate::node::connections::Timer;
use crate::node::cx::NodeCx;
use crate::node::hits::HitSender;
use crate::node::{ConnEvent, NodeLimit};
use crate::time::Duration;
use crate::wire::gnutella::{MessageBody, OverlayMessage};
use crate::wire::http::{Headers, HttpVersion, weight};

/// The media type of a list of query hits.
pub(super) const PACKETS: &str = "application/x-gnutella-packets";
/// Files in one part.
const PIECE: usize = 256;
/// Time from one part to the next.
const BETWEEN: Duration = Duration::from_millis(20);
/// Unsent bytes at which the next part still waits.
const WINDOW: u64 = 64 * 1024;

/// True when a client prefers query hits to a page.
pub(super) fn is_wanted(headers: &Headers) -> bool {
    let page = weight(headers, "text/html").unwrap_or(0);
    weight(headers, PACKETS).is_some_and(|hits| hits > 0 && hits >= page)
}

impl Http {
    /// Answers with everything we share.
    pub(super) fn browse(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        version: HttpVersion,
        mut form: Form,
    ) {
        let (first, next) = self.piece(cx, conn, None);
        let chunked = version == HttpVersion::Http11;
        let length = match next {
            None => Length::Known(first.len()),
            Some(_) if chunked => Length::Chunked,
            Some(_) => Length::ToTheEnd,
        };
        form.keep &= length != Length::ToTheEnd;
        let mut reply = ReplyWriter::from_cx(cx).packets(length, form);
        let Some(after) = next.filter(|_| !form.head_only) else {
            if !form.head_only {
                reply.data.extend_from_slice(&first);
            }
            return self.say(cx, conn, reply);
        };
        self.write(cx, conn, reply);
        let keep = form.keep;
        let listing = Listing { after, chunked, keep, behind: 0, took: cx.now };
        self.exchanges.insert(conn, Exchange::Listing(Box::new(listing)));
        self.write_piece(cx, conn, chunked, first);
        cx.io.wake(conn, cx.now + BETWEEN, Timer::List);
    }

    /// Writes the next part of a list, if it is time.
    pub(super) fn list_on(&mut self, cx: &mut NodeCx<'_>, conn: ConnId) {
        let Some(Exchange::Listing(listing)) = self.exchanges.get_mut(&conn) else { return };
        if listing.behind > WINDOW {
            if cx.now.since(listing.took) < cx.config.limits.reader_window {
                return cx.io.wake(conn, cx.now + BETWEEN, Timer::List);
            }
            cx.tell(ConnEvent::Limit { conn, limit: NodeLimit::ReaderRate });
            return self.close(cx, conn, false, "the reader is too slow");
        }
        listing.took = cx.now;
        let Listing { after, chunked, keep, .. } = **listing;
        let (piece, next) = self.piece(cx, conn, Some(after));
        self.write_piece(cx, conn, chunked, piece);
        match (next, self.exchanges.get_mut(&conn)) {
            (Some(next), Some(Exchange::Listing(listing))) => {
                listing.after = next;
                cx.io.wake(conn, cx.now + BETWEEN, Timer::List);
            }
            _ => {
                if chunked {
                    cx.io.write(conn, b"0\r\n\r\n".to_vec(), cx.fx);
                }
                if !keep {
                    return self.close(cx, conn, true, "the reply ends the connection");
                }
                serving::rest(self, cx, conn);
            }
        }
    }

    /// The host reports how much of a list is unsent; true when the connection
    /// sends one.
    pub(super) fn list_behind(&mut self, conn: ConnId, bytes: u64) -> bool {
        let Some(Exchange::Listing(listing)) = self.exchanges.get_mut(&conn) else { return false };
        listing.behind = bytes;
        true
    }

    fn write_piece(&self, cx: &mut NodeCx<'_>, conn: ConnId, chunked: bool, piece: Vec<u8>) {
        if piece.is_empty() {
            // An empty chunk would be the last.
            return;
        }
        if !chunked {
            return cx.io.write(conn, piece, cx.fx);
        }
        let mut chunk = format!("{:x}\r\n", piece.len()).into_bytes();
        chunk.extend_from_slice(&piece);
        chunk.extend_from_slice(b"\r\n");
        cx.io.write(conn, chunk, cx.fx);
    }

    /// The next part of the list, and the last file in it, after which the
    /// following part begins.
    fn piece(
        &self,
        cx: &NodeCx<'_>,
        conn: ConnId,
        after: Option<FileIndex>,
    ) -> (Vec<u8>, Option<FileIndex>) {
        let mut last = None;
        let files = cx.shelf.files.after(after).take(PIECE);
        let hits = self.sender(cx, conn).hits(files.inspect(|file| last = Some(file.index)));
        let more = last.filter(|last| cx.shelf.files.after(Some(*last)).next().is_some());
        let mut data = Vec::new();
        for hit in hits {
            // A GUID of zeros: no query was sent for it.
            let message = OverlayMessage {
                guid: Guid::default(),
                ttl: 1,
                hops: 0,
                body: MessageBody::Hit(hit),
            };
            message.write(&mut data);
        }
        (data, more)
    }

    /// What the hits say about us to the other end: the address at which it
    /// found us, if it connected to us.
    fn sender(&self, cx: &NodeCx<'_>, conn: ConnId) -> HitSender {
        let local = cx.io.get(conn).and_then(|state| state.local);
        let at = local.map(|local| cx.us.reached_at(local)).or(cx.us.listen);
        let (at, six) = match at.map(|at| (at.ip().to_canonical(), at.port())) {
            Some((IpAddr::V4(ip), port)) => (SocketAddrV4::new(ip, port), None),
            Some((IpAddr::V6(ip), port)) => {
                (SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, port), Some(ip))
            }
            None => (SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0), None),
        };
        HitSender {
            servent: cx.us.servent,
            at,
            six,
            push: cx.config.overlay.firewalled || cx.us.listen.is_none(),
            busy: self.queue.free() == 0,
            // A client that asks can already reach us.
            proxies: Vec::new(),
            meeting: None,
        }
    }
}
