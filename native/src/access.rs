//! The access log: one record per request, made from the node's events.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::{SyncSender, TrySendError};

use serde::Serialize;
use servent_core::id::ConnId;
use servent_core::node::ConnEvent;
use servent_core::queue;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Event;

/// A request and its answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Access {
    /// When the request arrived.
    pub at: Instant,
    /// The client.
    pub peer: SocketAddr,
    /// `GET`, `HEAD` and so on, as received.
    pub method: String,
    /// The request target, as received.
    pub target: String,
    /// The minor version of HTTP/1 it was sent with: 0 or 1.
    pub minor: u8,
    /// The requested range, `-n` for the last n bytes.
    pub range: Option<String>,
    /// The client's `User-Agent`.
    pub agent: Option<String>,
    /// The status of the response.
    pub status: u16,
    /// Bytes of the file that were sent; `None` when the transfer was cut
    /// short.
    pub bytes: Option<u64>,
    /// Time from the request to the end of the response.
    pub took: Duration,
    /// How long it waited in the queue, if it got an upload slot.
    pub waited: Option<Duration>,
}

/// Assembles records, and sends each one as soon as it is complete.
#[derive(Debug)]
pub(crate) struct AccessWatch {
    open: BTreeMap<ConnId, OpenConnection>,
    to: SyncSender<Access>,
    /// Records dropped because the reader was too slow.
    lost: u64,
}

/// A connection.
#[derive(Debug)]
struct OpenConnection {
    peer: SocketAddr,
    /// The request being answered.
    asked: Option<Access>,
    waited: Option<Duration>,
}

impl AccessWatch {
    pub(crate) fn new(to: SyncSender<Access>) -> Self {
        Self { open: BTreeMap::new(), to, lost: 0 }
    }

    /// Processes an event.
    pub(crate) fn note(&mut self, now: Instant, event: &Event) {
        match event {
            Event::Conn(event) => self.conn(now, event),
            Event::Queue(queue::Event::Started { conn, waited, .. }) => {
                if let Some(open) = self.open.get_mut(conn) {
                    open.waited = Some(*waited);
                }
            }
            _ => {}
        }
    }

    fn conn(&mut self, now: Instant, event: &ConnEvent) {
        match event {
            ConnEvent::Accepted { conn, peer } | ConnEvent::Dialing { conn, to: peer } => {
                self.open.insert(*conn, OpenConnection { peer: *peer, asked: None, waited: None });
            }
            ConnEvent::Request { conn, method, target, range, agent, version } => {
                self.end(now, *conn, None);
                let Some(open) = self.open.get_mut(conn) else { return };
                open.asked = Some(Access {
                    at: now,
                    peer: open.peer,
                    method: method.clone(),
                    target: target.clone(),
                    minor: version.0,
                    range: range.clone(),
                    agent: agent.clone(),
                    status: 0,
                    bytes: None,
                    took: Duration::ZERO,
                    waited: None,
                });
            }
            ConnEvent::Reply { conn, status, start, end } => {
                let Some(open) = self.open.get_mut(conn) else { return };
                let Some(asked) = &mut open.asked else { return };
                asked.status = *status;
                asked.waited = open.waited.take();
                // A response without bytes of a file is complete with its head.
                if start == end || asked.method == "HEAD" {
                    self.end(now, *conn, Some(0));
                }
            }
            ConnEvent::Sent { conn, bytes } => self.end(now, *conn, Some(*bytes)),
            ConnEvent::Closed { conn } | ConnEvent::DialFailed { conn, .. } => {
                self.end(now, *conn, None);
                self.open.remove(conn);
            }
            _ => {}
        }
    }

    /// The current request on that connection has ended, if it was answered.
    fn end(&mut self, now: Instant, conn: ConnId, bytes: Option<u64>) {
        let asked = self.open.get_mut(&conn).and_then(|open| open.asked.take());
        let Some(mut access) = asked.filter(|asked| asked.status != 0) else { return };
        access.bytes = bytes;
        access.took = now.since(access.at);
        if let Err(TrySendError::Full(_)) = self.to.try_send(access) {
            if self.lost == 0 {
                tracing::warn!(
                    "requests come faster than the access log is written: some are left out"
                );
            }
            self.lost += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv4Addr;
    use std::sync::mpsc::{Receiver, sync_channel};

    use servent_core::id::Guid;
    use servent_core::node::Minor;

    use super::*;

    const CONN: ConnId = ConnId(2);
    const PEER: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 7);

    fn at(seconds: u64) -> Instant {
        Instant::ZERO + Duration::from_secs(seconds)
    }

    fn watch() -> (AccessWatch, Receiver<Access>) {
        let (to, records) = sync_channel(9);
        let mut watch = AccessWatch::new(to);
        watch.conn(at(0), &ConnEvent::Accepted { conn: CONN, peer: PEER });
        (watch, records)
    }

    fn ask(watch: &mut AccessWatch, seconds: u64, method: &str) {
        let (method, target) = (method.to_owned(), "/get/0/a".to_owned());
        let (range, agent, version) = (None, None, Minor::default());
        let ask = ConnEvent::Request { conn: CONN, method, target, range, agent, version };
        watch.conn(at(seconds), &ask);
    }

    fn reply(status: u16, end: u64) -> ConnEvent {
        ConnEvent::Reply { conn: CONN, status, start: 0, end }
    }

    #[test]
    fn a_transfer_is_told_when_it_ends_with_its_wait() {
        let (mut watch, records) = watch();
        ask(&mut watch, 1, "GET");
        let waited = Duration::from_secs(40);
        let (ticket, peer) = (Guid([1; 16]), PEER.ip());
        watch.note(
            at(2),
            &Event::Queue(queue::Event::Started { ticket, conn: CONN, peer, waited, free: 0 }),
        );
        watch.conn(at(2), &reply(200, 10));
        assert!(records.try_recv().is_err());
        watch.conn(at(5), &ConnEvent::Sent { conn: CONN, bytes: 10 });
        let access = records.try_recv().unwrap();
        assert_eq!((access.status, access.bytes, access.waited), (200, Some(10), Some(waited)));
        assert_eq!((access.at, access.took), (at(1), Duration::from_secs(4)));
    }

    #[test]
    fn a_refusal_is_told_at_once_and_a_broken_transfer_without_its_bytes() {
        let (mut watch, records) = watch();
        ask(&mut watch, 1, "GET");
        watch.conn(at(1), &reply(503, 0));
        assert_eq!(records.try_recv().unwrap().status, 503);
        ask(&mut watch, 2, "HEAD");
        watch.conn(at(2), &reply(200, 10));
        assert_eq!(records.try_recv().unwrap().bytes, Some(0));
        ask(&mut watch, 3, "GET");
        watch.conn(at(3), &reply(206, 10));
        watch.conn(at(4), &ConnEvent::Closed { conn: CONN });
        assert_eq!(records.try_recv().unwrap().bytes, None);
        // Without a response there is no record.
        watch.conn(at(5), &ConnEvent::Closed { conn: CONN });
        assert!(records.try_recv().is_err());
    }

    #[test]
    fn a_slow_reader_holds_nobody_up() {
        let (mut watch, records) = watch();
        for _ in 0..12 {
            ask(&mut watch, 1, "GET");
            watch.conn(at(1), &reply(404, 0));
        }
        assert_eq!((records.iter().take(9).count(), watch.lost), (9, 3));
    }
}
