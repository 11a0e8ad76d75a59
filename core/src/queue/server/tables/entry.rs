//! One client in the queue or in a slot.

use core::net::{IpAddr, SocketAddr};
use core::num::{NonZeroU16, NonZeroU64};

use super::wheel::WheelLinks;
use crate::address::may_dial;
use crate::id::{ConnId, Guid};
use crate::queue::{Dialect, FileKey, RowState, StoredEntry};
use crate::time::Instant;

/// The state of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryPhase {
    /// In the queue; the queue itself knows whether it is `present`.
    Waiting,
    /// In a slot, with a running transfer.
    Uploading,
    /// In a slot between two ranges on one connection (AQ-9).
    Pausing,
    /// In a slot that is reserved for it after its transfer broke (PQ-14).
    Reserved,
}

/// Whether an entry has been passed by others of the queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Patience {
    /// No client was served ahead of it while a slot was reserved for it.
    Untried,
    /// A client was, after the reserve time.
    Passed,
    /// It was, and asked in time nevertheless: it is not passed again.
    Proven,
}

/// What the store has of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stored {
    Nothing,
    /// A row.
    Row,
    /// A row that is another servent's by now, as its file is: only what is being
    /// sent is left here.
    Released,
}

/// A place. At most 160 bytes, because there may be a million of them.
#[derive(Debug, Clone, Copy)]
pub(crate) struct QueueEntry {
    pub(crate) ticket: Guid,
    pub(crate) arrival: u64,
    /// When it arrived.
    pub(crate) since: Instant,
    pub(crate) file: FileKey,
    pub(crate) bytes: u64,
    pub(crate) told_at: Instant,
    pub(crate) not_before: Instant,
    pub(crate) deadline: Instant,
    /// A free slot is not reserved for it for longer than this, even if its
    /// place is kept longer: what it would have done by then is unknown, because
    /// we were restarted. [`Instant::MAX`] otherwise.
    pub(crate) awaited: Instant,
    conn: Option<NonZeroU64>,
    pub(crate) peer: IpAddr,
    pub(crate) dialect: Dialect,
    pub(crate) phase: EntryPhase,
    pub(crate) breaks: u8,
    pub(crate) calls: u8,
    /// Its next timer is a call whose time has been booked.
    pub(crate) call_booked: bool,
    /// It may not have received our last reply: its connection broke since, or
    /// we were restarted.
    pub(crate) unheard: bool,
    pub(crate) patience: Patience,
    /// It may wake only once a minute (WB-7).
    pub(crate) sleeps: bool,
    /// What the store has of it.
    pub(crate) stored: Stored,
    /// The port of its `X-Node`; the address is `peer` (decision §2.9).
    pub(crate) call_port: Option<NonZeroU16>,
    pub(crate) told: u32,
    pub(crate) seat: u32,
    /// Its timer; see [`super::wheel`].
    pub(crate) links: WheelLinks,
    /// Its neighbours in the list of entries with the same address; see
    /// [`super::places`].
    pub(crate) kin_prev: u32,
    pub(crate) kin_next: u32,
    /// How many entries its address has; valid only in the first of them.
    pub(crate) kin_count: u32,
}

impl QueueEntry {
    pub(crate) fn new(ticket: Guid, arrival: u64, peer: IpAddr, now: Instant) -> Self {
        Self {
            ticket,
            arrival,
            since: now,
            file: FileKey::default(),
            bytes: 0,
            told_at: now,
            not_before: now,
            deadline: now,
            awaited: Instant::MAX,
            conn: None,
            peer,
            dialect: Dialect::Passive,
            phase: EntryPhase::Waiting,
            breaks: 0,
            calls: 0,
            call_booked: false,
            unheard: false,
            patience: Patience::Untried,
            sleeps: false,
            stored: Stored::Nothing,
            call_port: None,
            told: 0,
            seat: 0,
            links: WheelLinks::default(),
            kin_prev: 0,
            kin_next: 0,
            kin_count: 0,
        }
    }

    pub(crate) fn conn(&self) -> Option<ConnId> {
        self.conn.map(|n| ConnId(n.get() - 1))
    }

    /// # Panics
    /// For connection number `u64::MAX`, which no host reaches.
    pub(crate) fn set_conn(&mut self, conn: Option<ConnId>) {
        self.conn = conn
            .map(|c| NonZeroU64::MIN.checked_add(c.0).expect("connections are fewer than 2^64"));
    }

    /// The callback address, if known.
    pub(crate) fn callback(&self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.peer, self.call_port?.get()))
    }

    /// Takes over a claimed callback address, but only if it is the address the
    /// request came from, so that no host is called on a stranger's word, and
    /// not a system service.
    pub(crate) fn set_callback(&mut self, claimed: Option<SocketAddr>) {
        let honest =
            claimed.filter(|at| at.ip().to_canonical() == self.peer && may_dial(*at, self.peer));
        self.call_port = honest.and_then(|at| NonZeroU16::new(at.port()));
    }

    pub(crate) fn row(&self) -> StoredEntry {
        StoredEntry {
            ticket: self.ticket,
            arrival: self.arrival,
            state: match self.phase {
                EntryPhase::Waiting => RowState::Waiting,
                EntryPhase::Uploading | EntryPhase::Pausing => RowState::Uploading,
                EntryPhase::Reserved => RowState::Reserved,
            },
            peer: self.peer,
            dialect: self.dialect,
            file: self.file,
            bytes: self.bytes,
            told: self.told,
            not_before: self.not_before,
            deadline: self.deadline,
            callback: self.callback(),
            breaks: self.breaks,
        }
    }

    #[cfg(test)]
    pub(crate) fn sample() -> Self {
        Self::new(Guid([7; 16]), 0, IpAddr::V4(core::net::Ipv4Addr::LOCALHOST), Instant::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_entries_are_ordinary() {
        assert!(size_of::<QueueEntry>() <= 160, "{}", size_of::<QueueEntry>());
    }

    #[test]
    fn a_callback_to_a_third_party_is_not_believed() {
        let mut entry = QueueEntry::sample();
        entry.set_callback(Some("127.0.0.1:6346".parse().unwrap()));
        assert_eq!(entry.callback(), Some("127.0.0.1:6346".parse().unwrap()));
        entry.set_callback(Some("192.0.2.1:6346".parse().unwrap()));
        assert_eq!(entry.callback(), None);
        for port in [0, 22, 1_023] {
            entry.set_callback(Some(([127, 0, 0, 1], port).into()));
            assert_eq!(entry.callback(), None);
        }
    }
}
