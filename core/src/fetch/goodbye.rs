//! Goodbyes: a download that is stopped, or ends while it waits, gives its places
//! and slots back to the servers that understand that (QA-8), so that those behind
//! it need not wait until it is missed.
//!
//! A goodbye outlives its download. It goes over the connection on which the place
//! was waited for, or over one of its own, and is over with the server's reply.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::cx::FetchCx;
use super::download::Download;
use super::event::FetchLimit;
use super::source::{SourceLink, Src};
use super::{Event, Output};
use crate::id::ConnId;
use crate::queue::client::PlaceLoss;
use crate::time::{Duration, Instant};
use crate::wire::http::{HeadWriter, ResponseHead};
use crate::wire::queue::{may_leave, write_leave};

/// Goodbyes on their way at a time; a further place is left to its deadline.
const MOST: usize = 64;
/// How long a server may take for one, connecting included.
const DEADLINE: Duration = Duration::from_secs(5);

/// A goodbye on its way.
#[derive(Debug, Clone)]
struct Goodbye {
    /// The request; empty once it was sent.
    request: Vec<u8>,
    until: Instant,
}

/// The goodbyes on their way, by connection.
#[derive(Debug, Clone, Default)]
pub(super) struct Goodbyes(BTreeMap<ConnId, Goodbye>);

impl Goodbyes {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The request for a connection that has been made.
    pub(super) fn request(&mut self, conn: ConnId) -> Option<Vec<u8>> {
        self.0.get_mut(&conn).map(|goodbye| core::mem::take(&mut goodbye.request))
    }

    /// Forgets a goodbye; false when the connection carries none.
    pub(super) fn forget(&mut self, conn: ConnId) -> bool {
        self.0.remove(&conn).is_some()
    }

    /// Takes those that took too long.
    pub(super) fn expire(&mut self, now: Instant) -> Vec<ConnId> {
        let late = super::keys_where(&self.0, |goodbye| goodbye.until <= now);
        late.into_iter().inspect(|conn| drop(self.0.remove(conn))).collect()
    }

    /// When the first of them will have taken too long.
    pub(super) fn due(&self) -> Option<(Instant, &'static str)> {
        self.0.values().map(|goodbye| (goodbye.until, "goodbye")).min()
    }
}

impl Src {
    /// Notes whether the server of a reply takes back the place or slot it names.
    pub(super) fn note_leave(&mut self, head: &ResponseHead) {
        self.takes_back = may_leave(&head.headers);
    }

    /// True when it has a place or slot for us that would be missed only later. A
    /// slot whose transfer is over ends with its connection, and may be the next
    /// download's until then.
    fn has_to_leave(&self) -> bool {
        let (reached, under_way) = match self.link {
            SourceLink::Kept { .. } => (true, false),
            SourceLink::Asked { .. } | SourceLink::Receiving(_) => (!self.pushed, true),
            // A transfer that broke off: the slot is held for us.
            SourceLink::None | SourceLink::Dialing { .. } => (!self.pushed, self.failures > 0),
        };
        self.takes_back && reached && (under_way || self.waiting().is_some())
    }
}

impl Download {
    /// Gives the place or slot at a source back, if there is one and its server
    /// understands. The source is without a place then.
    pub(super) fn say_goodbye(&mut self, no: u32, cx: &mut FetchCx<'_>) {
        let Some(src) = self.sources.get(&no).filter(|src| src.has_to_leave()) else { return };
        let Some(ticket) = src.client.claim().ticket else { return };
        if cx.conns.goodbyes.len() >= MOST {
            return cx.fx.event(Event::Limit { fetch: self.id, limit: FetchLimit::Goodbyes });
        }
        let mut head = HeadWriter::request("HEAD", &src.target(self.sha1));
        head.header("Host", &src.source.host).header("User-Agent", &cx.speech.agent);
        write_leave(&mut head, ticket);
        let (request, link, at) = (head.finish(), src.link, src.at());
        let until = cx.now + DEADLINE.scaled(cx.config.time_scale).max(Duration::from_millis(1));
        let (conn, request) = match link {
            SourceLink::Kept { conn } => {
                cx.conns.forget(conn);
                cx.fx.output(Output::Write { conn, data: request });
                (conn, Vec::new())
            }
            _ => {
                self.release(no, cx);
                let conn = cx.conns.number();
                cx.fx.output(Output::Dial { conn, to: at });
                (conn, request)
            }
        };
        cx.conns.goodbyes.0.insert(conn, Goodbye { request, until });
        let Some(src) = self.sources.get_mut(&no) else { return };
        src.link = SourceLink::None;
        src.client = Src::new(cx.config, src.source.clone()).client;
        cx.fx.event(Event::PlaceLost { fetch: self.id, at, why: PlaceLoss::Left });
    }
}
