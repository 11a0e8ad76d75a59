//! Connections: what each is for, what it has sent us that is not dealt with
//! yet, and how long we wait for more.
//!
//! This is the room below all services: it knows bytes, limits and deadlines
//! and nobody who uses them. A connection that only holds a place is the
//! common case and must cost little: no read buffer while nothing is unread,
//! and everything that only a running transfer needs is boxed.

use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};

use super::gate::Gate;
use super::{ConnEvent, Effects, Limit, Limits, Output, tell};
use crate::address::owner;
use crate::id::{ConnId, FileIndex, Guid};
use crate::time::Instant;

/// One connection.
#[derive(Debug, Clone)]
pub(super) struct Conn {
    /// The other end.
    pub(super) peer: SocketAddr,
    /// Where it has found us, when it came by itself and the host knows.
    pub(super) local: Option<SocketAddr>,
    /// What it is for at this moment.
    pub(super) phase: Phase,
    /// Bytes that came in and are not dealt with. No capacity when empty.
    pub(super) unread: Vec<u8>,
    /// What happens when, if nothing else does.
    due: Option<(Instant, Timer)>,
}

/// What a connection is for at this moment.
#[derive(Debug, Clone)]
pub(super) enum Phase {
    /// We are connecting.
    Dialing(Purpose),
    /// Nothing has come in yet: the first line decides what it is.
    Fresh,
    /// The other end asks us; its next request is awaited. It may hold a
    /// place in the line until then, and is not idle before.
    Serving { place_until: Instant },
    /// A request is in whose answer the queue still holds back.
    Held,
    /// A file body is on its way out; requests wait for its end.
    Sending(Box<Transfer>),
    /// A long list is on its way out, piece by piece; requests wait for its
    /// end.
    Listing(Box<Listing>),
    /// We ask the other end for a file, and this is what comes next.
    Fetching(Awaited),
    /// A neighbour in the overlay, who may become one, or a push proxy.
    Overlay,
    /// A client of our coordinator, our coordinator, or a peer of a swarm.
    Swarm,
    /// Closed by us; the host will say when it is gone.
    Closing,
}

/// Which service a connection belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    /// Whoever asks us, and whoever has not said yet what it wants.
    Http,
    /// Downloads of ours.
    Downloads,
    /// Neighbours.
    Overlay,
    /// Swarms.
    Swarm,
    /// Nobody any more: it is closing.
    Nobody,
}

impl Phase {
    /// Who is told what happens on the connection.
    pub(super) const fn owner(&self) -> Owner {
        match self {
            Self::Fresh
            | Self::Serving { .. }
            | Self::Held
            | Self::Sending(_)
            | Self::Listing(_)
            | Self::Dialing(Purpose::Call(_) | Purpose::Giv(_)) => Owner::Http,
            Self::Fetching(_) | Self::Dialing(Purpose::Fetch) => Owner::Downloads,
            Self::Overlay | Self::Dialing(Purpose::Neighbour | Purpose::Proxy) => Owner::Overlay,
            Self::Swarm | Self::Dialing(Purpose::Swarm) => Owner::Swarm,
            Self::Closing => Owner::Nobody,
        }
    }
}

/// Why we connect to somebody.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Purpose {
    /// To call a client back to its place (PARQ §4, `QUEUE`).
    Call(Guid),
    /// To give a file to somebody who cannot reach us (`GIV`).
    Giv(FileIndex),
    /// To download.
    Fetch,
    /// To have a neighbour in the overlay.
    Neighbour,
    /// To ask for a push.
    Proxy,
    /// For a swarm: its coordinator, or a peer.
    Swarm,
}

/// A file body on its way out.
#[derive(Debug, Clone)]
pub(super) struct Transfer {
    /// The range, `start..end`.
    pub(super) start: u64,
    /// Its end.
    pub(super) end: u64,
    /// How much of it has left.
    pub(super) sent: u64,
    /// The file ends where the range ends, and nothing of it is left to ask for.
    pub(super) last: bool,
    /// The connection stays open afterwards.
    pub(super) keep: bool,
    /// How much had left when the rate was judged last.
    pub(super) judged: u64,
    /// The body is an archive, which has come so far.
    pub(super) archive: Option<Box<Archive>>,
}

/// Where an archive of a folder that is sent has come to.
#[derive(Debug, Clone)]
pub(super) struct Archive {
    pub(super) folder: String,
    /// The last file that is in it.
    pub(super) after: Option<String>,
    /// Files with larger numbers came later, and are not in it.
    pub(super) newest: FileIndex,
    /// Bytes of the archive before those of the present file.
    pub(super) before: u64,
    /// Bytes of that file.
    pub(super) size: u64,
}

/// A list on its way out.
#[derive(Debug, Clone)]
pub(super) struct Listing {
    /// The last file that is in it.
    pub(super) after: FileIndex,
    /// It is written in chunks, else to the end of the connection.
    pub(super) chunked: bool,
    /// The connection stays open afterwards.
    pub(super) keep: bool,
    /// Bytes that the host still has.
    pub(super) behind: u64,
    /// When a piece of it was written last.
    pub(super) took: Instant,
}

/// What is expected next of somebody we ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Awaited {
    /// The head of a reply.
    Head,
    /// So many bytes in all go to the disk; the host takes them off the wire.
    Storing(u64),
    /// A body of unknown length goes to the disk; the host says when it is over.
    StoringBody,
    /// So many more bytes are of no use.
    Skipping(u64),
    /// A body of so many bytes is wanted whole, or one in chunks.
    Collecting(Option<u64>),
}

/// What a connection can run out of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Timer {
    /// Time for a whole head.
    Head,
    /// Time without a request.
    Idle,
    /// Time over which a reader's rate is judged.
    Rate,
    /// Time to the next piece of a list.
    List,
}

impl Conn {
    fn new(peer: SocketAddr, phase: Phase) -> Self {
        Self { peer, local: None, phase, unread: Vec::new(), due: None }
    }

    /// Takes over what came in, copying only when something is unread.
    fn push(&mut self, data: Vec<u8>) {
        if self.unread.is_empty() {
            self.unread = data;
        } else {
            self.unread.extend_from_slice(&data);
        }
    }

    /// Keeps as unread what follows the first `used` bytes, in little more
    /// memory than that.
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

    /// The first `used` unread bytes are dealt with.
    pub(super) fn drop_read(&mut self, used: usize) {
        let bytes = core::mem::take(&mut self.unread);
        self.keep_unread(bytes, used);
    }

    /// The timer that runs.
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
    limits: Limits,
    /// Boxed, because a leaf of the map has room for eleven, and most nodes
    /// have one connection at a time and make one after the other.
    conns: BTreeMap<ConnId, Box<Conn>>,
    per_owner: BTreeMap<IpAddr, u32>,
    due: BTreeMap<(Instant, ConnId), Timer>,
    gate: Gate,
    dialed: u64,
}

impl Connections {
    /// None.
    pub(super) fn new(limits: Limits) -> Self {
        Self {
            limits,
            conns: BTreeMap::new(),
            per_owner: BTreeMap::new(),
            due: BTreeMap::new(),
            gate: Gate::default(),
            dialed: 0,
        }
    }

    /// Lets a new connection in, unless a limit forbids it: then it is closed.
    pub(super) fn accept(
        &mut self,
        now: Instant,
        conn: ConnId,
        (peer, local): (SocketAddr, Option<SocketAddr>),
        fx: &mut Effects,
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

    fn admit(&mut self, conn: ConnId, peer: SocketAddr) -> Result<(), Limit> {
        if !self.has_room() {
            return Err(Limit::Connections);
        }
        let held = self.per_owner.get(&owner(peer.ip())).copied().unwrap_or_default();
        if held >= self.limits.connections_per_ip {
            return Err(Limit::ConnectionsPerIp);
        }
        self.insert(conn, Conn::new(peer, Phase::Fresh));
        Ok(())
    }

    /// A number for a connection of our own. Downloads number theirs 1, 5,
    /// 9, …; all others are 3, 7, 11, …
    pub(super) const fn number(&mut self) -> ConnId {
        let conn = ConnId(self.dialed * 4 + 3);
        self.dialed += 1;
        conn
    }

    /// Asks the host to connect to somebody a stranger named; false when a limit
    /// forbids it.
    pub(super) fn knock(
        &mut self,
        now: Instant,
        conn: ConnId,
        (to, purpose): (SocketAddr, Purpose),
        fx: &mut Effects,
    ) -> bool {
        if self.has_room() && !self.gate.lets(now, to, &self.limits) {
            tell(fx, ConnEvent::Limit { conn, limit: Limit::Knocks });
            return false;
        }
        self.dial(conn, to, purpose, fx)
    }

    /// Whoever is at the other end is what it was called: it may be called as
    /// often as strangers like.
    pub(super) fn answered(&mut self, conn: ConnId) {
        if let Some(state) = self.conns.get(&conn) {
            self.gate.answered(state.peer);
        }
    }

    /// Asks the host to connect to somebody our user named; false when a limit
    /// forbids it.
    pub(super) fn dial(
        &mut self,
        conn: ConnId,
        to: SocketAddr,
        purpose: Purpose,
        fx: &mut Effects,
    ) -> bool {
        if !self.has_room() {
            tell(fx, ConnEvent::Limit { conn, limit: Limit::Connections });
            return false;
        }
        self.insert(conn, Conn::new(to, Phase::Dialing(purpose)));
        tell(fx, ConnEvent::Dialing { conn, to });
        fx.output(Output::Dial { conn, to });
        true
    }

    fn has_room(&self) -> bool {
        self.conns.len() < usize::try_from(self.limits.connections).unwrap_or(usize::MAX)
    }

    fn insert(&mut self, conn: ConnId, state: Conn) {
        *self.per_owner.entry(owner(state.peer.ip())).or_default() += 1;
        self.conns.insert(conn, Box::new(state));
    }

    /// Bytes came in: keeps them as unread and says whose they are; `None`
    /// when they are nobody's.
    pub(super) fn receive(&mut self, conn: ConnId, data: Vec<u8>) -> Option<Owner> {
        let state = self.open(conn).filter(|c| !matches!(c.phase, Phase::Dialing(_)))?;
        state.push(data);
        Some(state.phase.owner())
    }

    /// Sends bytes.
    #[allow(clippy::unused_self)] // The one way out, beside the one way in.
    pub(super) fn write(&self, conn: ConnId, data: Vec<u8>, fx: &mut Effects) {
        fx.output(Output::Write { conn, data });
    }

    /// Closes a connection; what it was for until now, for its owner to learn
    /// of at once and not only when the host reports it gone. `None` when it
    /// was not open.
    pub(super) fn close(
        &mut self,
        conn: ConnId,
        flush: bool,
        why: &str,
        fx: &mut Effects,
    ) -> Option<Phase> {
        let state = self.open(conn)?;
        let was = core::mem::replace(&mut state.phase, Phase::Closing);
        state.unread = Vec::new();
        self.rest(conn);
        tell(fx, ConnEvent::Closing { conn, why: String::from(why) });
        fx.output(Output::Close { conn, flush });
        Some(was)
    }

    /// Closes them all, without a word to their owners.
    pub(super) fn close_all(&mut self, why: &str, fx: &mut Effects) {
        let flush = |conn: &Conn| match conn.phase {
            Phase::Closing => None,
            Phase::Serving { .. } | Phase::Overlay => Some(true),
            _ => Some(false),
        };
        let open = self.conns.iter().filter_map(|(conn, state)| Some((*conn, flush(state)?)));
        let open: Vec<(ConnId, bool)> = open.collect();
        for (conn, flush) in open {
            self.close(conn, flush, why, fx);
        }
    }

    /// Forgets a connection that is gone.
    pub(super) fn remove(&mut self, conn: ConnId) -> Option<Conn> {
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

    /// A connection that is not closed yet.
    pub(super) fn open(&mut self, conn: ConnId) -> Option<&mut Conn> {
        self.conns.get_mut(&conn).map(|c| &mut **c).filter(|c| !matches!(c.phase, Phase::Closing))
    }

    /// A connection in any phase, to look at.
    pub(super) fn get(&self, conn: ConnId) -> Option<&Conn> {
        self.conns.get(&conn).map(|c| &**c)
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.conns.len()
    }

    /// Sets the one timer of a connection, in place of any other.
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

    /// The first deadline and the name of its timer.
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

    /// Takes the first timer that has run out, and when it did.
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
        let limits = Limits { connections: 3, connections_per_ip: 2, ..Limits::default() };
        let mut t = Connections::new(limits);
        let mut fx = Fx::new();
        let at = |s: &str| s.parse::<SocketAddr>().unwrap();
        assert_eq!(t.admit(ConnId(0), at("[2001:db8::1]:1")), Ok(()));
        assert_eq!(t.admit(ConnId(2), at("[2001:db8::2]:1")), Ok(()));
        let refused = t.admit(ConnId(4), at("[2001:db8::3]:1"));
        assert_eq!(refused, Err(Limit::ConnectionsPerIp));
        assert!(t.dial(ConnId(1), at("1.1.1.1:1"), Purpose::Fetch, &mut fx));
        assert_eq!(t.admit(ConnId(4), at("2.2.2.2:1")), Err(Limit::Connections));
        assert!(!t.dial(ConnId(5), at("1.1.1.1:1"), Purpose::Fetch, &mut fx));
        assert_eq!((t.number(), t.number()), (ConnId(3), ConnId(7)));
        t.remove(ConnId(0));
        assert_eq!(t.admit(ConnId(4), at("[2001:db8::3]:1")), Ok(()));
        assert_eq!(t.len(), 3);
    }

    #[test]
    fn a_connection_has_one_timer() {
        let mut t = Connections::new(Limits::default());
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
        let mut c = Conn::new("1.1.1.1:1".parse().unwrap(), Phase::Fresh);
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
        assert!(size_of::<Conn>() <= 160, "{}", size_of::<Conn>());
    }
}
