//! Connections: what each is used for, what has been received and not processed
//! yet, and how long we wait for more.
//!
//! This is the layer below all services: it knows bytes, limits and deadlines,
//! and no service. A connection that only holds a place is the common case and
//! must cost little: there is no read buffer while nothing is unread.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::gate::Gate;
use super::{ConnEvent, ConnOutput, NodeEffects, NodeLimit, NodeLimits, Output, tell};
use crate::address::owner;
use crate::id::ConnId;
use crate::time::Instant;

/// One connection. What a service knows of it beyond this lives in the service.
#[derive(Debug, Clone)]
pub(super) struct NodeConn {
    /// The address of the other end.
    pub(super) peer: SocketAddr,
    /// Our own address it connected to, when it was accepted and the host
    /// knows.
    pub(super) local: Option<SocketAddr>,
    /// The service that is told what happens on it.
    pub(super) owner: Owner,
    phase: ConnPhase,
    /// Received bytes that are not processed yet. No capacity when empty.
    pub(super) unread: Vec<u8>,
    /// The next timeout, and which one it is.
    due: Option<(Instant, Timer)>,
}

/// Whether a connection can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnPhase {
    /// We are connecting.
    Dialing,
    Open,
    /// Closed by us; the host will report when it is gone. `answered`: requests
    /// were answered on it.
    Closing {
        answered: bool,
    },
}

/// Which service a connection belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Its first line will decide. Until then it is treated as a client's that
    /// sends requests.
    Undecided,
    /// Clients that send requests.
    Http,
    /// Downloads of ours.
    Downloads,
    /// Neighbours.
    Overlay,
    /// Swarms.
    Swarm,
}

/// Both ends of a connection that a peer has opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ConnEnds {
    /// The address of the peer.
    pub(super) peer: SocketAddr,
    /// Our own address, when the host knows it.
    pub(super) local: Option<SocketAddr>,
}

/// A connection that we open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct NewDial {
    pub(super) conn: ConnId,
    pub(super) to: SocketAddr,
    /// The service that wants it.
    pub(super) owner: Owner,
}

/// A timer of a connection that has expired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ExpiredTimer {
    pub(super) conn: ConnId,
    pub(super) timer: Timer,
    /// When it was due.
    pub(super) due: Instant,
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
    const fn new(ends: ConnEnds, owner: Owner, phase: ConnPhase) -> Self {
        let ConnEnds { peer, local } = ends;
        Self { peer, local, owner, phase, unread: Vec::new(), due: None }
    }

    /// True while we are connecting.
    pub(super) fn is_dialing(&self) -> bool {
        self.phase == ConnPhase::Dialing
    }

    /// True after we have closed it, until the host reports it gone.
    pub(super) const fn is_closing(&self) -> bool {
        matches!(self.phase, ConnPhase::Closing { .. })
    }

    /// True when requests are answered on it, or were until we closed it.
    pub(super) const fn answers(&self) -> bool {
        match self.phase {
            ConnPhase::Dialing => false,
            ConnPhase::Open => matches!(self.owner, Owner::Undecided | Owner::Http),
            ConnPhase::Closing { answered } => answered,
        }
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
    /// Connections that must be read, for what was received earlier too: the
    /// node reads them at the end of each call. Empty between two calls.
    ready: VecDeque<ConnId>,
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
            ready: VecDeque::new(),
        }
    }

    /// Takes a new connection, or closes it when a limit forbids it.
    pub(super) fn accept(
        &mut self,
        now: Instant,
        conn: ConnId,
        ends: ConnEnds,
        fx: &mut NodeEffects,
    ) {
        match self.admit(ends.peer) {
            Ok(()) => {
                self.insert(conn, NodeConn::new(ends, Owner::Undecided, ConnPhase::Open));
                tell(fx, ConnEvent::Accepted { conn, peer: ends.peer });
                self.wake(conn, now + self.limits.request_deadline, Timer::Head);
            }
            Err(limit) => {
                tell(fx, ConnEvent::Limit { conn, limit });
                fx.output(Output::Connection(conn, ConnOutput::Close { flush: false }));
            }
        }
    }

    /// Whether a peer may have one more connection.
    ///
    /// # Errors
    /// The limit that forbids it.
    fn admit(&self, peer: SocketAddr) -> Result<(), NodeLimit> {
        if !self.has_room() {
            return Err(NodeLimit::Connections);
        }
        let held = self.per_owner.get(&owner(peer.ip())).copied().unwrap_or_default();
        if held >= self.limits.connections_per_ip {
            return Err(NodeLimit::ConnectionsPerIp);
        }
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
        dial: NewDial,
        fx: &mut NodeEffects,
    ) -> bool {
        if self.has_room() && !self.gate.admit(now, dial.to, &self.limits) {
            tell(fx, ConnEvent::Limit { conn: dial.conn, limit: NodeLimit::StrangerDials });
            return false;
        }
        self.dial(dial, fx)
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
    pub(super) fn dial(&mut self, dial: NewDial, fx: &mut NodeEffects) -> bool {
        let NewDial { conn, to, owner } = dial;
        if !self.has_room() {
            tell(fx, ConnEvent::Limit { conn, limit: NodeLimit::Connections });
            return false;
        }
        self.insert(
            conn,
            NodeConn::new(ConnEnds { peer: to, local: None }, owner, ConnPhase::Dialing),
        );
        tell(fx, ConnEvent::Dialing { conn, to });
        fx.output(Output::Connection(conn, ConnOutput::Dial { to }));
        true
    }

    /// A dial succeeded.
    pub(super) fn dialed(&mut self, conn: ConnId) {
        if let Some(state) = self.open(conn) {
            state.phase = ConnPhase::Open;
        }
    }

    /// Passes a connection on to another service. `None` when it is not open.
    pub(super) fn pass_to(&mut self, conn: ConnId, owner: Owner) -> Option<&mut NodeConn> {
        let state = self.open(conn)?;
        state.owner = owner;
        Some(state)
    }

    fn has_room(&self) -> bool {
        self.conns.len() < usize::try_from(self.limits.connections).unwrap_or(usize::MAX)
    }

    fn insert(&mut self, conn: ConnId, state: NodeConn) {
        *self.per_owner.entry(owner(state.peer.ip())).or_default() += 1;
        self.conns.insert(conn, Box::new(state));
    }

    /// Adds received bytes to the unread ones of an open connection.
    pub(super) fn receive(&mut self, conn: ConnId, data: Vec<u8>) {
        if let Some(state) = self.open(conn).filter(|state| !state.is_dialing()) {
            state.push(data);
            self.read_again(conn);
        }
    }

    /// A connection may have something that can be processed now.
    pub(super) fn read_again(&mut self, conn: ConnId) {
        if !self.ready.contains(&conn) {
            self.ready.push_back(conn);
        }
    }

    /// Takes the next connection to read.
    pub(super) fn next_ready(&mut self) -> Option<ConnId> {
        self.ready.pop_front()
    }

    /// Sends bytes.
    #[allow(clippy::unused_self)] // The counterpart of `receive`.
    pub(super) fn write(&self, conn: ConnId, data: Vec<u8>, fx: &mut NodeEffects) {
        fx.output(Output::Connection(conn, ConnOutput::Write { data }));
    }

    /// Closes a connection. False when it was not open; otherwise its owner must
    /// let it go now, and not only when the host reports it gone.
    pub(super) fn close(
        &mut self,
        conn: ConnId,
        flush: bool,
        why: &str,
        fx: &mut NodeEffects,
    ) -> bool {
        let Some(state) = self.open(conn) else { return false };
        state.phase = ConnPhase::Closing { answered: state.answers() };
        state.unread = Vec::new();
        self.rest(conn);
        tell(fx, ConnEvent::Closing { conn, why: String::from(why) });
        fx.output(Output::Connection(conn, ConnOutput::Close { flush }));
        true
    }

    /// Closes all connections without telling their owners. `flushes` says on
    /// which of them everything is sent first.
    pub(super) fn close_all(
        &mut self,
        flushes: impl Fn(ConnId, &NodeConn) -> bool,
        why: &str,
        fx: &mut NodeEffects,
    ) {
        let open = self.conns.iter().filter(|(_, state)| !state.is_closing());
        let open = open.map(|(conn, state)| (*conn, flushes(*conn, state)));
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
        self.conns.get_mut(&conn).map(|c| &mut **c).filter(|c| !c.is_closing())
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

    /// Takes the earliest expired timer.
    pub(super) fn expired(&mut self, now: Instant) -> Option<ExpiredTimer> {
        let (&(due, conn), _) = self.due.first_key_value()?;
        if due > now {
            return None;
        }
        self.due.remove(&(due, conn));
        let (_, timer) = self.conns.get_mut(&conn)?.due.take()?;
        Some(ExpiredTimer { conn, timer, due })
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
        let accept = |t: &mut Connections, conn, peer: &str| {
            let ends = ConnEnds { peer: at(peer), local: None };
            t.accept(Instant::ZERO, ConnId(conn), ends, &mut Fx::new());
        };
        let dial = |conn| NewDial { conn: ConnId(conn), to: at("1.1.1.1:1"), owner: Owner::Http };
        accept(&mut t, 0, "[2001:db8::1]:1");
        accept(&mut t, 2, "[2001:db8::2]:1");
        assert_eq!(t.admit(at("[2001:db8::3]:1")), Err(NodeLimit::ConnectionsPerIp));
        assert!(t.dial(dial(1), &mut fx));
        assert_eq!(t.admit(at("2.2.2.2:1")), Err(NodeLimit::Connections));
        assert!(!t.dial(dial(5), &mut fx));
        assert_eq!((t.number(), t.number()), (ConnId(3), ConnId(7)));
        t.remove(ConnId(0));
        assert_eq!(t.admit(at("[2001:db8::3]:1")), Ok(()));
        accept(&mut t, 4, "[2001:db8::3]:1");
        assert_eq!(t.len(), 3);
    }

    #[test]
    fn a_connection_has_one_timer() {
        let mut t = Connections::new(NodeLimits::default());
        let ends = ConnEnds { peer: "1.1.1.1:1".parse().unwrap(), local: None };
        t.accept(Instant::ZERO, ConnId(0), ends, &mut Fx::new());
        t.wake(ConnId(0), Instant::from_secs(1), Timer::Head);
        t.wake(ConnId(0), Instant::from_secs(2), Timer::Idle);
        assert_eq!(t.expired(Instant::from_secs(1)), None);
        assert_eq!(t.next_due(), Some((Instant::from_secs(2), "idle_deadline")));
        let two = Instant::from_secs(2);
        let expired = ExpiredTimer { conn: ConnId(0), timer: Timer::Idle, due: two };
        assert_eq!(t.expired(Instant::from_secs(3)), Some(expired));
        assert_eq!(t.expired(Instant::from_secs(9)), None);
    }

    #[test]
    fn nothing_unread_costs_nothing() {
        let ends = ConnEnds { peer: "1.1.1.1:1".parse().unwrap(), local: None };
        let mut c = NodeConn::new(ends, Owner::Undecided, ConnPhase::Open);
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
