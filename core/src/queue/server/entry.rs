//! One client in the line or in a slot.

use core::net::{IpAddr, SocketAddr};
use core::num::{NonZeroU16, NonZeroU64};

use super::wheel::Links;
use crate::address::may_knock;
use crate::id::{ConnId, Guid};
use crate::queue::{Dialect, FileKey, Row, RowState};
use crate::time::Instant;

/// What an entry is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// In the line; `present` in the line's sense is kept there.
    Waiting,
    /// In a slot, its transfer running.
    Uploading,
    /// In a slot between two ranges on one connection (AQ-9).
    Pausing,
    /// In a slot whose transfer broke (PQ-14).
    Reserved,
}

/// What a place has borne from others of the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Patience {
    /// Nobody was served past it while a slot was kept for it.
    Untried,
    /// Somebody was, after the reserve.
    Passed,
    /// It asked in its time all the same: that happens once.
    Proven,
}

/// A place. About 150 bytes, because there may be a million.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry {
    pub(super) ticket: Guid,
    pub(super) arrival: u64,
    /// When it came.
    pub(super) since: Instant,
    pub(super) file: FileKey,
    pub(super) bytes: u64,
    pub(super) told_at: Instant,
    pub(super) not_before: Instant,
    pub(super) deadline: Instant,
    conn: Option<NonZeroU64>,
    pub(super) peer: IpAddr,
    pub(super) dialect: Dialect,
    pub(super) phase: Phase,
    pub(super) breaks: u8,
    pub(super) calls: u8,
    /// Its next waking is a call whose turn was bought already.
    pub(super) call_booked: bool,
    /// It may not have heard what it was told last: its connection broke
    /// since, or we were restarted.
    pub(super) unheard: bool,
    pub(super) patience: Patience,
    /// The store has a row of it.
    pub(super) saved: bool,
    /// The port of its `X-Node`; the address is `peer` (decision §2.9).
    pub(super) call_port: Option<NonZeroU16>,
    pub(super) told: u32,
    pub(super) seat: u32,
    /// When it has to be looked at; see [`super::wheel`].
    pub(super) links: Links,
    /// Neighbours among the entries of one address; see [`super::places`].
    pub(super) kin_prev: u32,
    pub(super) kin_next: u32,
    /// How many entries its address has; true of the first of them only.
    pub(super) kin_count: u32,
}

impl Entry {
    pub(super) fn new(ticket: Guid, arrival: u64, peer: IpAddr, now: Instant) -> Self {
        Self {
            ticket,
            arrival,
            since: now,
            file: FileKey::default(),
            bytes: 0,
            told_at: now,
            not_before: now,
            deadline: now,
            conn: None,
            peer,
            dialect: Dialect::Passive,
            phase: Phase::Waiting,
            breaks: 0,
            calls: 0,
            call_booked: false,
            unheard: false,
            patience: Patience::Untried,
            saved: false,
            call_port: None,
            told: 0,
            seat: 0,
            links: Links::default(),
            kin_prev: 0,
            kin_next: 0,
            kin_count: 0,
        }
    }

    pub(super) fn conn(&self) -> Option<ConnId> {
        self.conn.map(|n| ConnId(n.get() - 1))
    }

    /// # Panics
    /// On the one number no host ever reaches.
    pub(super) fn set_conn(&mut self, conn: Option<ConnId>) {
        self.conn = conn
            .map(|c| NonZeroU64::MIN.checked_add(c.0).expect("connections are fewer than 2^64"));
    }

    /// Where it may be called.
    pub(super) fn callback(&self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.peer, self.call_port?.get()))
    }

    /// Takes a claimed callback address: only if it is the address the
    /// request came from, so that nobody is called on a stranger's word, and no
    /// service of a system.
    pub(super) fn set_callback(&mut self, claimed: Option<SocketAddr>) {
        let honest =
            claimed.filter(|at| at.ip().to_canonical() == self.peer && may_knock(*at, self.peer));
        self.call_port = honest.and_then(|at| NonZeroU16::new(at.port()));
    }

    pub(super) fn row(&self) -> Row {
        Row {
            ticket: self.ticket,
            arrival: self.arrival,
            state: match self.phase {
                Phase::Waiting => RowState::Waiting,
                Phase::Uploading | Phase::Pausing => RowState::Uploading,
                Phase::Reserved => RowState::Reserved,
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
    pub(super) fn sample() -> Self {
        Self::new(Guid([7; 16]), 0, IpAddr::V4(core::net::Ipv4Addr::LOCALHOST), Instant::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_million_entries_are_ordinary() {
        assert!(size_of::<Entry>() <= 152, "{}", size_of::<Entry>());
    }

    #[test]
    fn a_callback_to_somebody_else_is_not_believed() {
        let mut entry = Entry::sample();
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
