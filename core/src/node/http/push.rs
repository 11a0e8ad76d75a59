//! Pushes that others request for servents whose push proxy we are (RT-25): by
//! an HTTP request, as deployed servents send it.

use core::net::{IpAddr, SocketAddrV4};

use super::Http;
use super::reply::ReplyWriter;
use crate::id::{ConnId, FileIndex, Guid};
use crate::node::cx::{NodeCx, Passed, PushWish};
use crate::time::Duration;
use crate::wire::http::Headers;
use crate::wire::queue as headers;

/// Time after which a target may be named again.
const AGAIN: Duration = Duration::from_secs(30);

/// The push that a request asks for, to the address `peer` it comes from and the
/// port it names. `None` when it is malformed. The IP address it names is
/// ignored: a stranger must not direct connections at others.
pub(super) fn wanted(
    conn: ConnId,
    (servent, index): (Option<Guid>, FileIndex),
    headers: &Headers,
    peer: IpAddr,
) -> Option<PushWish> {
    let port = headers::callback(headers)?.port();
    match peer.to_canonical() {
        IpAddr::V4(ip) => {
            let at = SocketAddrV4::new(ip, port);
            Some(PushWish { conn, servent: servent?, index, at })
        }
        // A push cannot carry an IPv6 address.
        IpAddr::V6(_) => None,
    }
}

impl Http {
    /// Answers a push request with what became of it. Further requests may have
    /// been received behind it.
    pub(in crate::node) fn push_answered(
        &mut self,
        cx: &mut NodeCx<'_>,
        wish: &PushWish,
        passed: Passed,
    ) {
        let Some(form) = self.pushes.remove(&wish.conn) else { return };
        let writer = ReplyWriter::from_cx(cx);
        let reply = match passed {
            Passed::On => writer.short((202, "Push Message Sent"), form),
            Passed::Unknown => writer.short((410, "Servent Not Connected"), form),
            Passed::BadAddress => writer.short((400, "Bad Request"), form),
            Passed::TooOften => writer.come_back((429, "Too Many Requests"), AGAIN, form),
        };
        self.say(cx, wish.conn, reply);
        cx.io.read_again(wish.conn);
    }
}
