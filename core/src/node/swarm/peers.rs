//! The connections of a swarm: what each is used for, and when it is given up.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::cx::SwarmCx;
use super::io::SwarmFile;
use crate::id::ConnId;
use crate::time::{Duration, Instant};
use crate::wire::pdtp::FrameReader;

/// What a connection is used for.
#[derive(Debug, Clone)]
pub(super) enum Role {
    /// A client of our coordinator.
    Client(PeerLink),
    /// The coordinator that we are a client of.
    Coordinator(PeerLink),
    /// A peer requests pieces from us, or uploads them to us.
    Asking(ServingSide),
    /// We request pieces from a peer, or upload them to it.
    Asked(RequestSide),
}

/// A connection that carries messages, both ways.
#[derive(Debug, Clone, Default)]
pub(super) struct PeerLink {
    pub(super) reader: FrameReader,
    /// The other end understands several messages in one frame.
    pub(super) merge: bool,
}

/// A connection on which a peer sends requests.
#[derive(Debug, Clone)]
pub(super) struct ServingSide {
    pub(super) step: AskingStep,
    /// Another request may follow.
    pub(super) keep: bool,
}

/// The progress of a peer's request.
#[derive(Debug, Clone)]
pub(super) enum AskingStep {
    /// Waiting for the next request.
    Head,
    /// The request is being verified. With a `PUT`: the length of its body, if
    /// known, and whether the peer waits for our answer before it sends it.
    Verify { put: Option<(Option<u64>, bool)> },
    /// The body is being sent.
    Sending(Moving),
    /// The body of a `PUT` is being written to disk.
    Storing(Moving),
}

/// A connection on which we send requests.
#[derive(Debug, Clone)]
pub(super) struct RequestSide {
    pub(super) to: SocketAddr,
    pub(super) step: AskedStep,
    /// The response allows another request.
    pub(super) keep: bool,
}

/// The progress of our request.
#[derive(Debug, Clone)]
pub(super) enum AskedStep {
    /// The connection is being made for this job.
    Dialing { job: u32 },
    /// No request is active; the connection is kept for the next one.
    Idle,
    /// Waiting for the head of the response. `reused`: the connection was idle
    /// before, so the peer may just have closed it.
    Head { job: u32, reused: bool },
    /// The body is being written to disk.
    Storing(Moving),
    /// The body of a `PUT` is being sent.
    Sending(Moving),
    /// All of the body is sent, which took so long; waiting for the peer's
    /// response.
    Confirming { job: u32, took: Duration },
}

/// A range of a file being transferred.
#[derive(Debug, Clone, Copy)]
pub(super) struct Moving {
    /// For which job; `None` for our coordinator's own source.
    pub(super) job: Option<u32>,
    pub(super) file: SwarmFile,
    pub(super) start: u64,
    pub(super) end: u64,
    pub(super) done: u64,
    pub(super) since: Instant,
}

impl Moving {
    /// Sets how many bytes have been transferred; returns how many that adds.
    pub(super) fn reach(&mut self, bytes: u64) -> u64 {
        let before = self.done;
        self.done = self.done.max(bytes.min(self.end - self.start));
        self.done - before
    }

    pub(super) const fn is_whole(&self) -> bool {
        self.done == self.end - self.start
    }
}

#[derive(Debug, Clone)]
struct PeerConn {
    role: Role,
    /// Received bytes that are not processed yet.
    unread: Vec<u8>,
    due: Option<Instant>,
}

/// All connections of the swarm.
#[derive(Debug, Clone, Default)]
pub(super) struct SwarmPeers {
    all: BTreeMap<ConnId, PeerConn>,
    due: BTreeSet<(Instant, ConnId)>,
    /// Our connections that are idle and can be reused, the longest idle first.
    idle: Vec<(SocketAddr, ConnId)>,
}

impl SwarmPeers {
    pub(super) fn insert(&mut self, conn: ConnId, role: Role) {
        self.all.insert(conn, PeerConn { role, unread: Vec::new(), due: None });
    }

    pub(super) fn remove(&mut self, conn: ConnId) -> Option<Role> {
        self.rest(conn);
        self.idle.retain(|(_, idle)| *idle != conn);
        self.all.remove(&conn).map(|peer| peer.role)
    }

    pub(super) fn role(&mut self, conn: ConnId) -> Option<&mut Role> {
        self.all.get_mut(&conn).map(|peer| &mut peer.role)
    }

    pub(super) fn link(&mut self, conn: ConnId) -> Option<&mut PeerLink> {
        match self.role(conn)? {
            Role::Client(link) | Role::Coordinator(link) => Some(link),
            Role::Asking(_) | Role::Asked(_) => None,
        }
    }

    pub(super) fn asking(&mut self, conn: ConnId) -> Option<&mut ServingSide> {
        match self.role(conn)? {
            Role::Asking(asking) => Some(asking),
            _ => None,
        }
    }

    pub(super) fn asked(&mut self, conn: ConnId) -> Option<&mut RequestSide> {
        match self.role(conn)? {
            Role::Asked(asked) => Some(asked),
            _ => None,
        }
    }

    /// All connections, and whether each carries messages.
    pub(super) fn all(&self) -> Vec<(ConnId, bool)> {
        let speaks = |role: &Role| matches!(role, Role::Client(_) | Role::Coordinator(_));
        self.all.iter().map(|(conn, peer)| (*conn, speaks(&peer.role))).collect()
    }

    /// The transfer on a connection.
    pub(super) fn moving(&mut self, conn: ConnId) -> Option<&mut Moving> {
        match self.role(conn)? {
            Role::Asking(ServingSide {
                step: AskingStep::Sending(moving) | AskingStep::Storing(moving),
                ..
            })
            | Role::Asked(RequestSide {
                step: AskedStep::Sending(moving) | AskedStep::Storing(moving),
                ..
            }) => Some(moving),
            _ => None,
        }
    }

    /// Takes the received bytes that are not processed yet.
    pub(super) fn unread(&mut self, conn: ConnId) -> Vec<u8> {
        self.all.get_mut(&conn).map(|peer| core::mem::take(&mut peer.unread)).unwrap_or_default()
    }

    /// Puts them back, without the first `used` bytes.
    pub(super) fn put_back(&mut self, conn: ConnId, mut bytes: Vec<u8>, used: usize) {
        if let Some(peer) = self.all.get_mut(&conn) {
            bytes.drain(..used);
            peer.unread = bytes;
        }
    }

    /// Adds received bytes; returns how many are unprocessed now.
    pub(super) fn push(&mut self, conn: ConnId, data: Vec<u8>) -> usize {
        let Some(peer) = self.all.get_mut(&conn) else { return 0 };
        if peer.unread.is_empty() {
            peer.unread = data;
        } else {
            peer.unread.extend_from_slice(&data);
        }
        peer.unread.len()
    }

    /// Sets the one deadline of a connection.
    pub(super) fn wake(&mut self, conn: ConnId, at: Instant) {
        let Some(peer) = self.all.get_mut(&conn) else { return };
        if let Some(old) = peer.due.replace(at) {
            self.due.remove(&(old, conn));
        }
        self.due.insert((at, conn));
    }

    /// Clears the deadline of a connection.
    pub(super) fn rest(&mut self, conn: ConnId) {
        if let Some(old) = self.all.get_mut(&conn).and_then(|peer| peer.due.take()) {
            self.due.remove(&(old, conn));
        }
    }

    /// The earliest deadline.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first().map(|(at, _)| *at)
    }

    /// Takes the connection with the earliest deadline, if it has passed.
    pub(super) fn expired(&mut self, now: Instant) -> Option<ConnId> {
        let (at, conn) = *self.due.first()?;
        if at > now {
            return None;
        }
        self.rest(conn);
        Some(conn)
    }

    /// Takes an idle connection to this peer.
    pub(super) fn reuse(&mut self, to: SocketAddr) -> Option<ConnId> {
        let found = self.idle.iter().rposition(|(at, _)| *at == to)?;
        let (_, conn) = self.idle.remove(found);
        self.rest(conn);
        Some(conn)
    }

    /// A transfer of ours is over: keeps the connection for the next one, if
    /// that is possible, or closes it.
    pub(super) fn release(&mut self, conn: ConnId, cx: &mut SwarmCx<'_>) {
        let Some(peer) = self.all.get_mut(&conn) else { return };
        let Role::Asked(asked) = &mut peer.role else { return };
        if !asked.keep || !peer.unread.is_empty() {
            self.remove(conn);
            return cx.close(conn, false, "the peer wants no more");
        }
        asked.step = AskedStep::Idle;
        let to = asked.to;
        // Somewhat earlier than the peer would close it.
        let stale = Duration::from_micros(cx.limits.idle.as_micros() / 4 * 3);
        self.wake(conn, cx.after(stale));
        self.idle.push((to, conn));
        if self.idle.len() > cx.limits.kept as usize {
            let (_, oldest) = self.idle[0];
            self.remove(oldest);
            cx.close(oldest, false, "too many connections are idle");
        }
    }
}
