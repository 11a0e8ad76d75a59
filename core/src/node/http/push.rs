//! Pushes that others want of servents whose proxy we are (RT-25): asked for
//! like a file, as deployed servents do.

use core::net::{IpAddr, SocketAddrV4};

use super::Http;
use super::reply::{Form, Writer};
use crate::id::{ConnId, FileIndex, Guid};
use crate::node::cx::Cx;
use crate::time::Duration;
use crate::wire::http::Headers;
use crate::wire::queue as headers;

/// Time after which a target may be named again.
const AGAIN: Duration = Duration::from_secs(30);

/// Somebody wants a servent to connect to it.
#[derive(Debug, Clone, Copy)]
pub(in crate::node) struct PushWish {
    pub(in crate::node) servent: Guid,
    pub(in crate::node) index: FileIndex,
    /// Where to: only ever the address it asks from.
    pub(in crate::node) at: SocketAddrV4,
    form: Form,
}

/// What became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::node) enum Passed {
    /// It is on its way.
    On,
    /// We are not the proxy of that servent.
    Unknown,
    /// Its target has been named too often.
    TooOften,
    /// Its target cannot be.
    BadAddress,
}

impl PushWish {
    /// What a request for a push asks for: whoever comes from `peer` and names
    /// its port. `None` when it makes no sense. The address it names besides is
    /// nobody's business: a stranger must not aim at others.
    pub(super) fn of(
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
            // A push has no room for it.
            IpAddr::V6(_) => None,
        }
    }
}

impl Http {
    /// Says what became of a push.
    pub(in crate::node) fn passed(
        &mut self,
        cx: &mut Cx<'_>,
        conn: ConnId,
        wish: &PushWish,
        passed: Passed,
    ) {
        let writer = Writer::of(cx);
        let reply = match passed {
            Passed::On => writer.short((202, "Push Message Sent"), wish.form),
            Passed::Unknown => writer.short((410, "Servent Not Connected"), wish.form),
            Passed::BadAddress => writer.short((400, "Bad Request"), wish.form),
            Passed::TooOften => writer.come_back((429, "Too Many Requests"), AGAIN, wish.form),
        };
        self.say(cx, conn, reply);
    }
}
