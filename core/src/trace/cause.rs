//! Which record caused which, as far as one node can tell by itself.
//!
//! What was received over a link has the sender's record as its cause; the host
//! knows that one. For anything else, such as a timer, the cause is the last
//! record about the same place, download, connection or peer.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::{Event, RecordCause};
use crate::id::{ConnId, FetchId, Guid};
use crate::{fetch, node::ConnEvent, queue};

/// What a record is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordSubject {
    /// A place in a queue.
    Ticket(Guid),
    /// A download.
    Fetch(FetchId),
    /// A connection.
    Conn(ConnId),
    /// A peer of messages over datagrams.
    Peer(SocketAddr),
}

/// What an event is about, the most specific subject first.
#[must_use]
pub fn subjects(event: &Event) -> [Option<RecordSubject>; 2] {
    match event {
        Event::Conn(e) => [None, conn_of(e).map(RecordSubject::Conn)],
        Event::Queue(e) => {
            let (ticket, conn) = place_of(e);
            [ticket.map(RecordSubject::Ticket), conn.map(RecordSubject::Conn)]
        }
        Event::Fetch(e) => {
            let (fetch, conn) = download_of(e);
            [fetch.map(RecordSubject::Fetch), conn.map(RecordSubject::Conn)]
        }
        Event::Routing(e) => [None, neighbour_of(e).map(RecordSubject::Conn)],
        Event::Unicast(e) => [None, Some(RecordSubject::Peer(e.peer()))],
        Event::Meet(e) => [None, Some(RecordSubject::Peer(e.peer()))],
        Event::Swarm(e) => [None, e.clients().0.map(RecordSubject::Conn)],
        Event::Client(_) | Event::World(_) => [None, None],
    }
}

/// True when this is the last event about its first subject.
const fn is_last(event: &Event) -> bool {
    matches!(
        event,
        Event::Conn(ConnEvent::Closed { .. } | ConnEvent::DialFailed { .. })
            | Event::Queue(
                queue::Event::Lost { .. }
                    | queue::Event::Finished { .. }
                    | queue::Event::Unreserved { .. }
            )
            | Event::Fetch(fetch::Event::Done { .. } | fetch::Event::Failed { .. })
    )
}

const fn neighbour_of(event: &crate::routing::Event) -> Option<ConnId> {
    use crate::routing::Event as E;
    match event {
        E::Opened { conn, .. }
        | E::Closed { conn, .. }
        | E::Judged { conn, .. }
        | E::Overflow { conn, .. }
        | E::Conflict { conn, .. }
        | E::Keywords { conn, .. }
        | E::Limit { conn, .. } => Some(*conn),
        E::Sent { .. } | E::Turned { .. } => None,
    }
}

fn conn_of(event: &ConnEvent) -> Option<ConnId> {
    use ConnEvent as E;
    match event {
        E::Accepted { conn, .. }
        | E::Dialing { conn, .. }
        | E::Dialed { conn }
        | E::DialFailed { conn, .. }
        | E::Request { conn, .. }
        | E::Reply { conn, .. }
        | E::Response { conn, .. }
        | E::Line { conn, .. }
        | E::Sent { conn, .. }
        | E::Limit { conn, .. }
        | E::Closing { conn, .. }
        | E::Closed { conn } => Some(*conn),
        _ => None,
    }
}

fn place_of(event: &queue::Event) -> (Option<Guid>, Option<ConnId>) {
    use queue::Event as E;
    match event {
        E::Asked { ticket, conn, .. }
        | E::Started { ticket, conn, .. }
        | E::Continued { ticket, conn } => (Some(*ticket), Some(*conn)),
        E::Arrived { ticket, .. }
        | E::Told { ticket, .. }
        | E::Entitled { ticket }
        | E::Passed { ticket, .. }
        | E::Finished { ticket, .. }
        | E::Reserved { ticket, .. }
        | E::Unreserved { ticket, .. }
        | E::Away { ticket, .. }
        | E::Moved { ticket, .. }
        | E::Lost { ticket, .. }
        | E::Called { ticket, .. }
        | E::Restored { ticket, .. } => (Some(*ticket), None),
        E::Refused { conn, .. } => (None, Some(*conn)),
        _ => (None, None),
    }
}

fn download_of(event: &fetch::Event) -> (Option<FetchId>, Option<ConnId>) {
    use fetch::Event as E;
    match event {
        E::Asked { fetch, conn, .. }
        | E::Queued { fetch, conn, .. }
        | E::Receiving { fetch, conn, .. }
        | E::CalledBack { fetch, conn, .. } => (Some(*fetch), Some(*conn)),
        E::Begun { fetch, .. }
        | E::Source { fetch, .. }
        | E::Waiting { fetch, .. }
        | E::Stored { fetch, .. }
        | E::SourceLost { fetch, .. }
        | E::KeptBack { fetch, .. }
        | E::Paused { fetch }
        | E::TreeLearnt { fetch, .. }
        | E::PieceWrong { fetch, .. }
        | E::Done { fetch, .. }
        | E::Corrupt { fetch, .. }
        | E::Failed { fetch, .. } => (Some(*fetch), None),
        _ => (None, None),
    }
}

/// The last record about each subject of one node, at most [`Causes::LIMIT`] of
/// them; when there are more, the older half is forgotten, and what follows
/// from it has no cause.
#[derive(Debug, Clone, Default)]
pub struct Causes {
    // A map for each kind of subject, because keys are compared for every
    // record.
    places: BTreeMap<Guid, u64>,
    fetches: BTreeMap<FetchId, u64>,
    conns: BTreeMap<ConnId, u64>,
    peers: BTreeMap<SocketAddr, u64>,
}

impl Causes {
    /// Maximum number of subjects remembered.
    pub const LIMIT: usize = 65_536;

    /// The last record about the subjects of `event`.
    #[must_use]
    pub fn find_cause(&self, event: &Event) -> RecordCause {
        let [first, second] = subjects(event);
        first.and_then(|s| self.get(s)).or_else(|| self.get(second?))
    }

    /// The last record about a connection.
    #[must_use]
    pub fn of_conn(&self, conn: ConnId) -> RecordCause {
        self.conns.get(&conn).copied()
    }

    /// Records that `seq` is the last record about its subjects.
    pub fn note(&mut self, seq: u64, event: &Event) {
        let [first, second] = subjects(event);
        if is_last(event) {
            self.forget(first.or(second));
            return;
        }
        for subject in [first, second].into_iter().flatten() {
            match subject {
                RecordSubject::Ticket(ticket) => self.places.insert(ticket, seq),
                RecordSubject::Fetch(fetch) => self.fetches.insert(fetch, seq),
                RecordSubject::Conn(conn) => self.conns.insert(conn, seq),
                RecordSubject::Peer(peer) => self.peers.insert(peer, seq),
            };
        }
        if self.len() > Self::LIMIT {
            self.forget_older_half();
        }
    }

    fn len(&self) -> usize {
        self.places.len() + self.fetches.len() + self.conns.len() + self.peers.len()
    }

    fn get(&self, subject: RecordSubject) -> RecordCause {
        match subject {
            RecordSubject::Ticket(ticket) => self.places.get(&ticket).copied(),
            RecordSubject::Fetch(fetch) => self.fetches.get(&fetch).copied(),
            RecordSubject::Conn(conn) => self.conns.get(&conn).copied(),
            RecordSubject::Peer(peer) => self.peers.get(&peer).copied(),
        }
    }

    fn forget(&mut self, subject: Option<RecordSubject>) {
        let _ = match subject {
            Some(RecordSubject::Ticket(ticket)) => self.places.remove(&ticket),
            Some(RecordSubject::Fetch(fetch)) => self.fetches.remove(&fetch),
            Some(RecordSubject::Conn(conn)) => self.conns.remove(&conn),
            Some(RecordSubject::Peer(peer)) => self.peers.remove(&peer),
            None => None,
        };
    }

    fn forget_older_half(&mut self) {
        let Self { places, fetches, conns, peers } = self;
        let all = places.values().chain(fetches.values());
        let mut seqs: Vec<u64> = all.chain(conns.values()).chain(peers.values()).copied().collect();
        let (_, &mut middle, _) = seqs.select_nth_unstable(Self::LIMIT / 2);
        places.retain(|_, seq| *seq > middle);
        fetches.retain(|_, seq| *seq > middle);
        conns.retain(|_, seq| *seq > middle);
        peers.retain(|_, seq| *seq > middle);
    }
}
