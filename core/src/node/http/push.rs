//! Pushes that others request for servents whose push proxy we are (RT-25): by
//! an HTTP request, as deployed servents send it.

use core::net::{IpAddr, SocketAddrV4};

use super::Http;
use super::reply::{Form, ReplyWriter};
use crate::id::{ConnId, FileIndex, Guid};
use crate::node::cx::NodeCx;
use crate::time::Duration;
use crate::wire::http::Headers;
use crate::wire::queue as headers;

/// Time after which a target may be named again.
const AGAIN: Duration = Duration::from_secs(30);

/// A request that a servent connect to the client that asks.
#[derive(Debug, Clone, Copy)]
pub(in crate::node) struct PushWish {
    pub(in crate::node) servent: Guid,
    pub(in crate::node) index: FileIndex,
    /// Where to connect: always the address the request came from.
    pub(in crate::node) at: SocketAddrV4,
    form: Form,
}

/// What became of a push request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::node) enum Passed {
    /// It was passed on.
    On,
    /// We are not the proxy of that servent.
    Unknown,
    /// Its target was named too often.
    TooOften,
    /// Its target is not a plausible address.
    BadAddress,
}

impl PushWish {
    /// The push that a request asks for, to the address `peer` it comes from
    /// and the port it names. `None` when it is malformed. The IP address it
    /// names is ignored: a stranger must not direct connections at others.
    pub(super) fn from_request(
        servent: Option<Guid>,
        index: FileIndex,
        headers: &Headers,
        (peer, form): (IpAddr, Form),
    ) -> Option<Self> {
        let port = headers::callback(headers)?.port();
        match peer.to_canonical() {
            IpAddr::V4(ip) => {
                Some(Self { servent: servent?, index, at: SocketAddrV4::new(ip, port), form })
            }
            // A push cannot carry an IPv6 address.
            IpAddr::V6(_) => None,
        }
    }
}

impl Http {
    /// Answers a push request with what became of it.
    pub(in crate::node) fn push_answered(
        &mut self,
        cx: &mut NodeCx<'_>,
        conn: ConnId,
        wish: &PushWish,
        passed: Passed,
    ) {
        let writer = ReplyWriter::from_cx(cx);
        let reply = match passed {
            Passed::On => writer.short((202, "Push Message Sent"), wish.form),
            Passed::Unknown => writer.short((410, "Servent Not Connected"), wish.form),
            Passed::BadAddress => writer.short((400, "Bad Request"), wish.form),
            Passed::TooOften => writer.come_back((429, "Too Many Requests"), AGAIN, wish.form),
        };
        self.say(cx, conn, reply);
    }
}
