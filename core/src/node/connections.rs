//! Connections: what each is used for, what has been received and not processed
//! yet, and how long we wait for more.
//!
//! This is the layer below all services: it knows bytes, limits and deadlines,
//! and no service. A connection that only holds a place is the common case and
//! must cost little: no read buffer while nothing is unread, and what only an
//! active transfer needs is boxed.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::gate::Gate;
use super::{ConnEvent, NodeEffects, NodeLimit, NodeLimits, Output, tell};
use crate::address::owner;
use crate::id::{ConnId, FileIndex, Guid};
use crate::time::Instant;

/// One connection.
#[derive(Debug, Clone)]
pub(super) struct NodeConn {
    /// The address of the other end.
    pub(super) peer: SocketAddr,
    /// Our own address it connected to, when it was accepted and the host
    /// knows.
    pub(super) local: Option<SocketAddr>,
    /// What it is used for at the moment.
    pub(super) phase: ConnPhase,
    /// Received bytes that are not processed yet. No capacity when empty.
    pub(super) unread: Vec<u8>,
    /// Closed by us after requests were answered on it.
    pub(super) answered: bool,
    /// The next timeout, and which one it is.
    due: Option<(Instant, Timer)>,
}

/// What a connection is used for at the moment.
#[derive(Debug, Clone)]
pub(super) enum ConnPhase {
    /// We are connecting.
    Dialing(Purpose),
    /// Nothing has been received yet: the first line decides what it is.
    Fresh,
    /// We serve the other end and await its next request. It may hold a place
    /// in the queue until then, and is not idle before.
    Serving { place_until: Instant },
    /// A request was received, and the queue is holding its answer back.
    Held,
    /// A file body is being sent; further requests wait for its end.
    Sending(Box<BodyTransfer>),
    /// A long list is being sent in parts; further requests wait for its end.
    Listing(Box<Listing>),
    /// A file for the inbox is being received; further requests wait for its
    /// end.
    Receiving,
    /// We request a file from the other end; this is what we expect next.
    Fetching(Awaited),
    /// A neighbour in the overlay, a connection that may become one, or a push
    /// proxy.
    Overlay,
    /// A client of our coordinator, our coordinator, or a peer of a swarm.
    Swarm,
    /// Closed by us; the host will report when it is gone.
    Closing,
}

/// Which service a connection belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Clients that ask us, and connections that have not said yet what they
    /// want.
    Http,
    /// Downloads of ours.
    Downloads,
    /// Neighbours.
    Overlay,
    /// Swarms.
    Swarm,
    /// No service any more: it is closing.
    Nobody,
}

impl ConnPhase {
    /// The service that is told what happens on the connection.
    pub(super) const fn owner(&self) -> Owner {
        match self {
            Self::Fresh
            | Self::Serving { .. }
            | Self::Held
            | Self::Sending(_)
            | Self::Listing(_)
            | Self::Receiving
            | Self::Dialing(Purpose::Call(_) | Purpose::Giv(_)) => Owner::Http,
            Self::Fetching(_) | Self::Dialing(Purpose::Fetch) => Owner::Downloads,
            Self::Overlay | Self::Dialing(Purpose::Neighbour | Purpose::Proxy) => Owner::Overlay,
            Self::Swarm | Self::Dialing(Purpose::Swarm) => Owner::Swarm,
            Self::Closing => Owner::Nobody,
        }
    }
}

/// Why we dial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To call a client back to its place (PARQ §4, `QUEUE`).
    Call(Guid),
    /// To offer a file to a client that cannot reach us (`GIV`).
    Giv(FileIndex),
    /// To download.
    Fetch,
    /// To have a neighbour in the overlay.
    Neighbour,
    /// To request a push.
    Proxy,
    /// For a swarm: its coordinator, or a peer.
    Swarm,
}

/// A file body being sent.
#[derive(Debug, Clone)]
pub(super) struct BodyTransfer {
    /// The range, `start..end`.
    pub(super) start: u64,
    /// Its end.
    pub(super) end: u64,
    /// Bytes of it sent so far.
    pub(super) sent: u64,
    /// The file ends where the range ends, and the client needs no other part
    /// of it.
    pub(super) last: bool,
    /// The connection stays open afterwards.
    pub(super) keep: bool,
    /// Bytes sent when the rate was last checked.
    pub(super) judged: u64,
    /// The position in the archive, when the body is one.
    pub(super) archive: Option<Box<Archive>>,
}

/// The position in an archive that is being sent.
#[derive(Debug, Clone)]
pub(super) struct Archive {
    pub(super) folder: String,
    /// The last file that is in it.
    pub(super) after: Option<String>,
    /// Files with larger numbers came later, and are not in it.
    pub(super) newest: FileIndex,
    /// Bytes of the archive before those of the current file.
    pub(super) before: u64,
    /// Bytes of that file.
    pub(super) size: u64,
}

/// A list being sent.
#[derive(Debug, Clone)]
pub(super) struct Listing {
    /// The last file written to it.
    pub(super) after: FileIndex,
    /// It is sent in chunks; otherwise the end of the connection ends it.
    pub(super) chunked: bool,
    /// The connection stays open afterwards.
    pub(super) keep: bool,
    /// Bytes that have not left the host yet.
    pub(super) behind: u64,
    /// When a part of it was last written.
    pub(super) took: Instant,
}

/// What is expected next on a connection on which we send requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The head of a reply.
    Head,
    /// A body of so many bytes goes to the disk; the host takes it off the
    /// connection.
    Storing(u64),
    /// A body of unknown length goes to the disk; the host reports its end.
    StoringBody,
    /// So many more bytes are to be discarded.
    Skipping(u64),
    /// A body is collected as a whole: of so many bytes, or in chunks.
    Collecting(Option<u64>),
}

/// The timeouts of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// To receive a whole head.
    Head,
    /// To receive the next request.
    Idle,
    /// To check a reader's rate, or a visitor's who uploads.
    Rate,
    /// To write the next part of a list.
    List,
}

impl NodeConn {
    fn new(peer: SocketAddr, phase: ConnPhase) -> Self {
        Self { peer, local: None, phase, unread: Vec::new(), answered: false, due: None }
    }

    /// Adds what was received, copying only when something is already unread.
    pub(super) fn push(&mut self, data: Vec<u8>) {
        if self.unread.is_empty() {
            self.unread = data;
        } else {
            self.unread.extend_from_slice(&data);
        }
    }

    /// Keeps what follows the first `used` bytes as unread, in a buffer of
    /// little more than that size.
    pub(super) fn keep_unread(&mut self, mut bytes: Vec<u8>, used: usize) {
        if used == bytes.len() {
            bytes = Vec::new();
        } else {
            bytes.drain(..used);
            if bytes.capacity() > 2 * bytes.len() {
                bytes.shrink_to_fit();
            }
        }
        self.unread = bytes;
    }

    /// The first `used` unread bytes have been processed.
    pub(super) fn drop_read(&mut self, used: usize) {
        let bytes = core::mem::take(&mut self.unread);
        self.keep_unread(bytes, used);
    }

    /// The timer that is running.
    pub(super) const fn timer(&self) -> Option<Timer> {
        match self.due {
            Some((_, timer)) => Some(timer),
            None => None,
        }
    }
}

/// All connections, with their deadlines in order.
#[derive(Debug, Clone)]
pub(super) struct Connections {
    limits: NodeLimits,
    /// Boxed, because a leaf of the map has room for eleven, and most nodes
    /// have only one connection at a time, but open many in succession.
    conns: BTreeMap<ConnId, Box<NodeConn>>,
    per_owner: BTreeMap<IpAddr, u32>,
    due: BTreeMap<(Instant, ConnId), Timer>,
    gate: Gate,
    dialed: u64,
}

impl Connections {
    /// Without connections.
    pub(super) fn new(limits: NodeLimits) -> Self {
        Self {
            limits,
            conns: BTreeMap::new(),
            per_owner: BTreeMap::new(),
            due: BTreeMap::new(),
            gate: Gate::default(),
            dialed: 0,
        }
    }

    /// Admits a new connection, or closes it when a limit forbids it.
    pub(super) fn accept(
        &mut self,
        now: Instant,
        conn: ConnId,
        (peer, local): (SocketAddr, Option<SocketAddr>),
        fx: &mut NodeEffects,
    ) {
        match self.admit(conn, peer) {
            Ok(()) => {
                if let Some(state) = self.conns.get_mut(&conn) {
                    state.local = local;
                }
                tell(fx, ConnEvent::Accepted { conn, peer });
                self.wake(conn, now + self.limits.request_deadline, Timer::Head);
            }
            Err(limit) => {
                tell(fx, ConnEvent::Limit { conn, limit });
                fx.output(Output::Close { conn, flush: false });
            }
        }
    }

    fn admit(&mut self, conn: ConnId, peer: SocketAddr) -> Result<(), NodeLimit> {
        if !self.has_room() {
            return Err(NodeLimit::Connections);
        }
        let held = self.per_owner.get(&owner(peer.ip())).copied().unwrap_or_default();
        if held >= self.limits.connections_per_ip {
            return Err(NodeLimit::ConnectionsPerIp);
        }
        self.insert(conn, NodeConn::new(peer, ConnPhase::Fresh));
        Ok(())
    }

    /// A number for a connection that we open. Those of downloads are 1, 5, 9,
    /// …; all others are 3, 7, 11, …
    pub(super) const fn number(&mut self) -> ConnId {
        let conn = ConnId(self.dialed * 4 + 3);
        self.dialed += 1;
        conn
    }

    /// Asks the host to connect to an address that a stranger named; false when
    /// a limit forbids it.
    pub(super) fn dial_for_stranger(
        &mut self,
        now: Instant,
        conn: ConnId,
        (to, purpose): (SocketAddr, Purpose),
        fx: &mut NodeEffects,
    ) -> bool {
        if self.has_room() && !self.gate.allows(now, to, &self.limits) {
            tell(fx, ConnEvent::Limit { conn, limit: NodeLimit::StrangerDials });
            return false;
        }
        self.dial(conn, to, purpose, fx)
    }

    /// The other end is what it was said to be: its address may be dialed as
    /// often as strangers name it.
    pub(super) fn answered(&mut self, conn: ConnId) {
        if let Some(state) = self.conns.get(&conn) {
            self.gate.answered(state.peer);
        }
    }

    /// Asks the host to connect to an address that our user named; false when a
    /// limit forbids it.
    pub(super) fn dial(
        &mut self,
        conn: ConnId,
        to: SocketAddr,
        purpose: Purpose,
        fx: &mut NodeEffects,
    ) -> bool {
        if !self.has_room() {
            tell(fx, ConnEvent::Limit { conn, limit: NodeLimit::Connections });
            return false;
        }
        self.insert(conn, NodeConn::new(to, ConnPhase::Dialing(purpose)));
        tell(fx, ConnEvent::Dialing { conn, to });
        fx.output(Output::Dial { conn, to });
        true
    }

    fn has_room(&self) -> bool {
        self.conns.len() < usize::try_from(self.limits.connections).unwrap_or(usize::MAX)
    }

    fn insert(&mut self, conn: ConnId, state: NodeConn) {
        *self.per_owner.entry(owner(state.peer.ip())).or_default() += 1;
        self.conns.insert(conn, Box::new(state));
    }

    /// Adds received bytes to the unread ones and returns the connection's
    /// owner; `None` when the connection is not open.
    pub(super) fn receive(&mut self, conn: ConnId, data: Vec<u8>) -> Option<Owner> {
        let state = self.open(conn).filter(|c| !matches!(c.phase, ConnPhase::Dialing(_)))?;
        state.push(data);
        Some(state.phase.owner())
    }

    /// Sends bytes.
    #[allow(clippy::unused_self)] // The counterpart of `receive`.
    pub(super) fn write(&self, conn: ConnId, data: Vec<u8>, fx: &mut NodeEffects) {
        fx.output(Output::Write { conn, data });
    }

    /// Closes a connection and returns what it was used for, so that its owner
    /// learns of it at once and not only when the host reports it gone. `None`
    /// when it was not open.
    pub(super) fn close(
        &mut self,
        conn: ConnId,
        flush: bool,
        why: &str,
        fx: &mut NodeEffects,
    ) -> Option<ConnPhase> {
        let state = self.open(conn)?;
        let was = core::mem::replace(&mut state.phase, ConnPhase::Closing);
        state.answered = was.owner() == Owner::Http && !matches!(was, ConnPhase::Dialing(_));
        state.unread = Vec::new();
        self.rest(conn);
        tell(fx, ConnEvent::Closing { conn, why: String::from(why) });
        fx.output(Output::Close { conn, flush });
        Some(was)
    }

    /// Closes all connections without telling their owners.
    pub(super) fn close_all(&mut self, why: &str, fx: &mut NodeEffects) {
        let flush = |conn: &NodeConn| match conn.phase {
            ConnPhase::Closing => None,
            ConnPhase::Serving { .. } | ConnPhase::Overlay => Some(true),
            _ => Some(false),
        };
        let open = self.conns.iter().filter_map(|(conn, state)| Some((*conn, flush(state)?)));
        let open: Vec<(ConnId, bool)> = open.collect();
        for (conn, flush) in open {
            self.close(conn, flush, why, fx);
        }
    }

    /// Removes a connection that is gone.
    pub(super) fn remove(&mut self, conn: ConnId) -> Option<NodeConn> {
        self.rest(conn);
        let gone = self.conns.remove(&conn)?;
        let owner = owner(gone.peer.ip());
        if let Some(held) = self.per_owner.get_mut(&owner) {
            *held -= 1;
            if *held == 0 {
                self.per_owner.remove(&owner);
            }
        }
        Some(*gone)
    }

    /// A connection that has not been closed yet.
    pub(super) fn open(&mut self, conn: ConnId) -> Option<&mut NodeConn> {
        self.conns
            .get_mut(&conn)
            .map(|c| &mut **c)
            .filter(|c| !matches!(c.phase, ConnPhase::Closing))
    }

    /// A connection in any phase.
    pub(super) fn get(&self, conn: ConnId) -> Option<&NodeConn> {
        self.conns.get(&conn).map(|c| &**c)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.conns.len()
    }

    /// Sets the one timer of a connection, replacing any other.
    pub(super) fn wake(&mut self, conn: ConnId, at: Instant, timer: Timer) {
        if let Some(state) = self.conns.get_mut(&conn) {
            if let Some((old, _)) = state.due.replace((at, timer)) {
                self.due.remove(&(old, conn));
            }
            self.due.insert((at, conn), timer);
        }
    }

    /// Stops the timer of a connection.
    pub(super) fn rest(&mut self, conn: ConnId) {
        if let Some((old, _)) = self.conns.get_mut(&conn).and_then(|c| c.due.take()) {
            self.due.remove(&(old, conn));
        }
    }

    /// The earliest deadline and the name of its timer.
    pub(super) fn next_due(&self) -> Option<(Instant, &'static str)> {
        let ((at, _), timer) = self.due.first_key_value()?;
        let name = match timer {
            Timer::Head => "request_deadline",
            Timer::Idle => "idle_deadline",
            Timer::Rate => "reader_rate",
            Timer::List => "list",
        };
        Some((*at, name))
    }

    /// Takes the earliest expired timer, and when it was due.
    pub(super) fn expired(&mut self, now: Instant) -> Option<(ConnId, Timer, Instant)> {
        let (&(at, conn), _) = self.due.first_key_value()?;
        if at > now {
            return None;
        }
        self.due.remove(&(at, conn));
        let (_, timer) = self.conns.get_mut(&conn)?.due.take()?;
        Some((conn, timer, at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Fx;

    #[test]
    fn limits_count_addresses_and_are_given_back() {
        let limits = NodeLimits { connections: 3, connections_per_ip: 2, ..NodeLimits::default() };
        let mut t = Connections::new(limits);
        let mut fx = Fx::new();
        let at = |s: &str| s.parse::<SocketAddr>().unwrap();
        assert_eq!(t.admit(ConnId(0), at("[2001:db8::1]:1")), Ok(()));
        assert_eq!(t.admit(ConnId(2), at("[2001:db8::2]:1")), Ok(()));
        let refused = t.admit(ConnId(4), at("[2001:db8::3]:1"));
        assert_eq!(refused, Err(NodeLimit::ConnectionsPerIp));
        assert!(t.dial(ConnId(1), at("1.1.1.1:1"), Purpose::Fetch, &mut fx));
        assert_eq!(t.admit(ConnId(4), at("2.2.2.2:1")), Err(NodeLimit::Connections));
        assert!(!t.dial(ConnId(5), at("1.1.1.1:1"), Purpose::Fetch, &mut fx));
        assert_eq!((t.number(), t.number()), (ConnId(3), ConnId(7)));
        t.remove(ConnId(0));
        assert_eq!(t.admit(ConnId(4), at("[2001:db8::3]:1")), Ok(()));
        assert_eq!(t.len(), 3);
    }

    #[test]
    fn a_connection_has_one_timer() {
        let mut t = Connections::new(NodeLimits::default());
        t.admit(ConnId(0), "1.1.1.1:1".parse().unwrap()).unwrap();
        t.wake(ConnId(0), Instant::from_secs(1), Timer::Head);
        t.wake(ConnId(0), Instant::from_secs(2), Timer::Idle);
        assert_eq!(t.expired(Instant::from_secs(1)), None);
        assert_eq!(t.next_due(), Some((Instant::from_secs(2), "idle_deadline")));
        let two = Instant::from_secs(2);
        assert_eq!(t.expired(Instant::from_secs(3)), Some((ConnId(0), Timer::Idle, two)));
        assert_eq!(t.expired(Instant::from_secs(9)), None);
    }

    #[test]
    fn nothing_unread_costs_nothing() {
        let mut c = NodeConn::new("1.1.1.1:1".parse().unwrap(), ConnPhase::Fresh);
        let mut data = Vec::with_capacity(65_536);
        data.extend_from_slice(b"abc");
        c.push(data);
        let bytes = core::mem::take(&mut c.unread);
        c.keep_unread(bytes, 1);
        assert_eq!(c.unread, b"bc");
        assert!(c.unread.capacity() <= 8);
        let bytes = core::mem::take(&mut c.unread);
        c.keep_unread(bytes, 2);
        assert_eq!(c.unread.capacity(), 0);
        assert!(size_of::<NodeConn>() <= 160, "{}", size_of::<NodeConn>());
    }
}
