//! The access log: one record per request, made from the node's events.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::mpsc::{SyncSender, TrySendError};

use serde::Serialize;
use servent_core::id::ConnId;
use servent_core::node::ConnEvent;
use servent_core::queue;
use servent_core::time::{Duration, Instant, WallClock};
use servent_core::trace::Event;
use servent_core::wire::http::{HeadLimits, ResponseHead};

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
    /// The name under which the client was authenticated, if names are asked for.
    pub user: Option<String>,
    /// The status of the response.
    pub status: u16,
    /// Bytes of the body that were sent, of a file, a page or a refusal; of a transfer
    /// that was cut short, as many as the system has taken. `None`: not known.
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
    /// The only user who is served; `None`: all clients are.
    user: Option<String>,
    to: SyncSender<Access>,
    /// Records dropped because the reader was too slow.
    lost: u64,
    /// By which requests are dated.
    wall: WallClock,
}

/// A connection.
#[derive(Debug)]
struct OpenConnection {
    peer: SocketAddr,
    /// The request being answered.
    asked: Option<Access>,
    waited: Option<Duration>,
    /// Bytes of a file that the system has taken for the reply.
    served: ServedBytes,
    /// The reply that the node writes itself, without bytes of a file.
    body: Option<ReplyBody>,
}

/// Bytes of a reply that are read from files, as far as they are reported: those of
/// each file grow, and then begin anew with the next one.
#[derive(Debug, Clone, Copy, Default)]
struct ServedBytes {
    before: u64,
    current: u64,
}

impl ServedBytes {
    fn note(&mut self, bytes: u64) {
        if bytes < self.current {
            self.before += self.current;
        }
        self.current = bytes;
    }

    const fn all(self) -> u64 {
        self.before + self.current
    }
}

/// A reply that is not of a file: its bytes are in no event, so they are counted
/// where they are written.
#[derive(Debug, Clone, Copy)]
struct ReplyBody {
    written: u64,
    end: BodyEnd,
}

/// How the end of a body is known.
#[derive(Debug, Clone, Copy)]
enum BodyEnd {
    /// Its head has not been written yet.
    Unknown,
    Length(u64),
    Chunked,
    /// It ends with the connection.
    Close,
}

impl ReplyBody {
    const NEW: Self = Self { written: 0, end: BodyEnd::Unknown };

    /// Counts what is written; true when that is all of it.
    fn ends_with(&mut self, mut data: &[u8]) -> bool {
        if matches!(self.end, BodyEnd::Unknown) {
            let Ok(Some((head, used))) = ResponseHead::parse(data, &LIMITS) else { return true };
            let length = head.headers.get("Content-Length").and_then(|text| text.parse().ok());
            let chunked = head.headers.get("Transfer-Encoding").is_some();
            self.end = match length {
                Some(length) => BodyEnd::Length(length),
                None if chunked => BodyEnd::Chunked,
                None if head.status == 304 => BodyEnd::Length(0),
                None => BodyEnd::Close,
            };
            data = &data[used..];
        }
        match self.end {
            BodyEnd::Chunked if data == LAST_CHUNK => return true,
            BodyEnd::Chunked => {
                let size = data.iter().position(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                self.written += data.len().saturating_sub(size + CHUNK_END) as u64;
            }
            _ => self.written += data.len() as u64,
        }
        matches!(self.end, BodyEnd::Length(length) if self.written >= length)
    }
}

/// Heads of our own are shorter.
const LIMITS: HeadLimits = HeadLimits { bytes: 1 << 20, lines: 100 };
/// What a client is refused with whose name was not checked, or was wrong.
const UNAUTHENTICATED: [u16; 2] = [401, 429];
/// The end of a body in chunks.
const LAST_CHUNK: &[u8] = b"0\r\n\r\n";
/// What each chunk ends with.
const CHUNK_END: usize = 2;

impl AccessWatch {
    /// `user` is the only one who is served; `None`: all clients are.
    pub(crate) fn new(to: SyncSender<Access>, user: Option<String>) -> Self {
        Self { open: BTreeMap::new(), user, to, lost: 0, wall: WallClock::default() }
    }

    /// The wall clock shows `wall` now: requests are dated by it.
    pub(crate) const fn set_wall(&mut self, now: Instant, wall: Instant) {
        self.wall.set(now, wall);
    }

    /// Bytes are written to a connection that the node made itself.
    pub(crate) fn wrote(&mut self, now: Instant, conn: ConnId, data: &[u8]) {
        let Some(open) = self.open.get_mut(&conn) else { return };
        let Some(body) = &mut open.body else { return };
        if body.ends_with(data) {
            let written = body.written;
            self.end(now, conn, Some(written));
        }
    }

    /// Bytes of a file have been taken by the system, so many since it was begun.
    pub(crate) fn served(&mut self, conn: ConnId, bytes: u64) {
        if let Some(open) = self.open.get_mut(&conn) {
            open.served.note(bytes);
        }
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
                self.open.insert(
                    *conn,
                    OpenConnection {
                        peer: *peer,
                        asked: None,
                        waited: None,
                        served: ServedBytes::default(),
                        body: None,
                    },
                );
            }
            ConnEvent::Request { conn, method, target, range, agent, version } => {
                self.end(now, *conn, None);
                let Some(open) = self.open.get_mut(conn) else { return };
                (open.body, open.served) = (None, ServedBytes::default());
                open.asked = Some(Access {
                    at: now,
                    peer: open.peer,
                    method: method.clone(),
                    target: target.clone(),
                    minor: version.0,
                    range: range.clone(),
                    agent: agent.clone(),
                    user: self.user.clone(),
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
                if UNAUTHENTICATED.contains(status) {
                    asked.user = None;
                }
                asked.waited = open.waited.take();
                if asked.method == "HEAD" {
                    self.end(now, *conn, Some(0));
                } else if start == end {
                    open.body = Some(ReplyBody::NEW);
                }
            }
            ConnEvent::Sent { conn, bytes } => self.end(now, *conn, Some(*bytes)),
            ConnEvent::Closed { conn } | ConnEvent::DialFailed { conn, .. } => {
                let written = |open: &OpenConnection| match open.body {
                    Some(body) => body.written,
                    None => open.served.all(),
                };
                let written = self.open.get(conn).map(written);
                self.end(now, *conn, written);
                self.open.remove(conn);
            }
            _ => {}
        }
    }

    /// The current request on that connection has ended, if it was answered.
    fn end(&mut self, now: Instant, conn: ConnId, bytes: Option<u64>) {
        let open = self.open.get_mut(&conn);
        let asked = open.and_then(|open| {
            open.body = None;
            open.asked.take()
        });
        let Some(mut access) = asked.filter(|asked| asked.status != 0) else { return };
        access.bytes = bytes;
        access.took = now.since(access.at);
        access.at = self.wall.at(access.at);
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
        let mut watch = AccessWatch::new(to, Some("ann".into()));
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

    fn wrote(watch: &mut AccessWatch, seconds: u64, text: &str) {
        watch.wrote(at(seconds), CONN, text.as_bytes());
    }

    #[test]
    fn a_transfer_is_logged_when_it_ends_with_its_wait() {
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
    fn pages_and_refusals_are_logged_with_the_bytes_of_their_bodies() {
        let (mut watch, records) = watch();
        let mut logged = |status, pieces: &[&str]| {
            ask(&mut watch, 1, "GET");
            watch.conn(at(1), &reply(status, 0));
            pieces.iter().for_each(|piece| wrote(&mut watch, 2, piece));
            watch.conn(at(2), &ConnEvent::Closed { conn: CONN });
            watch.conn(at(2), &ConnEvent::Accepted { conn: CONN, peer: PEER });
            let access = records.try_recv().unwrap();
            assert!(records.try_recv().is_err(), "one request is one record");
            (access.bytes, access.user)
        };
        let ann = || Some("ann".to_owned());
        let page = "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\npage";
        assert_eq!(logged(200, &[page]), (Some(4), ann()));
        let refusal = "HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nno\n";
        assert_eq!(logged(404, &[refusal]), (Some(3), ann()));
        let stranger = "HTTP/1.1 401 Unauthorized\r\nContent-Length: 5\r\n\r\nOnly\n";
        assert_eq!(logged(401, &[stranger]), (Some(5), None));
        let hasty = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 1\r\n\r\n\n";
        assert_eq!(logged(429, &[hasty]), (Some(1), None));
        assert_eq!(logged(304, &["HTTP/1.1 304 Not Modified\r\n\r\n"]), (Some(0), ann()));
        let list = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
        let chunks = [list, "3\r\nabc\r\n", "2\r\nde\r\n", "0\r\n\r\n"];
        assert_eq!(logged(200, &chunks), (Some(5), ann()));
        assert_eq!(logged(200, &["HTTP/1.1 200 OK\r\n\r\n", "abc", "de"]), (Some(5), ann()));
    }

    #[test]
    fn a_refusal_is_logged_at_once_and_a_broken_transfer_with_what_was_taken_of_it() {
        let (mut watch, records) = watch();
        ask(&mut watch, 1, "GET");
        watch.conn(at(1), &reply(503, 0));
        wrote(&mut watch, 1, "HTTP/1.1 503 Queued\r\nContent-Length: 0\r\n\r\n");
        assert_eq!(records.try_recv().unwrap().status, 503);
        ask(&mut watch, 2, "HEAD");
        watch.conn(at(2), &reply(200, 10));
        assert_eq!(records.try_recv().unwrap().bytes, Some(0));
        ask(&mut watch, 3, "GET");
        watch.conn(at(3), &reply(206, 10));
        // Two files of an archive.
        [4, 6, 1].into_iter().for_each(|bytes| watch.served(CONN, bytes));
        watch.conn(at(4), &ConnEvent::Closed { conn: CONN });
        assert_eq!(records.try_recv().unwrap().bytes, Some(7));
        // Without a response there is no record.
        watch.conn(at(5), &ConnEvent::Closed { conn: CONN });
        assert!(records.try_recv().is_err());
    }

    #[test]
    fn a_slow_reader_delays_no_client() {
        let (mut watch, records) = watch();
        for _ in 0..12 {
            ask(&mut watch, 1, "GET");
            watch.conn(at(1), &reply(404, 0));
            wrote(&mut watch, 1, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n");
        }
        assert_eq!((records.iter().take(9).count(), watch.lost), (9, 3));
    }

    #[test]
    fn a_request_is_dated_by_the_clock_on_the_wall() {
        let (mut watch, records) = watch();
        watch.set_wall(at(3), at(3_603));
        ask(&mut watch, 4, "HEAD");
        watch.conn(at(6), &reply(200, 0));
        let access = records.try_recv().unwrap();
        assert_eq!((access.at, access.took), (at(3_604), Duration::from_secs(2)));
    }
}
