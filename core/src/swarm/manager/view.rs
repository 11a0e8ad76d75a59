//! The state of the swarm as plain data.
#![allow(missing_docs)] // The fields are named by what they hold.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::net::IpAddr;

use serde::Serialize;

use super::super::event::Funnel;
use super::super::io::FileSpec;
use super::client::Up;
use super::{Manager, SwarmCounters};
use crate::id::ConnId;
use crate::time::Instant;

/// The state of the coordinator.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct View {
    pub at: Instant,
    pub clients: u32,
    /// Addresses that are remembered.
    pub ledger: u32,
    pub counters: SwarmCounters,
    pub files: Vec<ManagedFileView>,
}

/// A file, with some of its clients.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ManagedFileView {
    pub url: String,
    pub size: u64,
    pub pieces: u32,
    /// Downloads that one upload earns, in thousandths.
    pub ratio: u32,
    /// Copies of each piece among the clients, including those in transfer.
    pub copies: Vec<u32>,
    /// Clients on the file; the list below may hold only some of them.
    pub members: u32,
    pub clients: Vec<ClientView>,
    pub transfers: Vec<TransferView>,
}

impl ManagedFileView {
    /// A file without clients.
    pub(crate) fn idle(spec: &FileSpec, ratio: u32) -> Self {
        Self {
            url: spec.url.to_string(),
            size: spec.size,
            pieces: spec.hashes.len() as u32,
            ratio,
            copies: alloc::vec![0; spec.hashes.len()],
            members: 0,
            clients: Vec::new(),
            transfers: Vec::new(),
        }
    }
}

/// A row of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientView {
    pub client: ConnId,
    pub id: String,
    pub peer: IpAddr,
    pub active: bool,
    pub held: u32,
    pub wanted: u32,
    /// Which pieces it has, 64 to a word, as hexadecimal text.
    pub have: Vec<String>,
    pub credit: i64,
    pub uploads: u64,
    pub downloads: u64,
    pub grants: u64,
    pub stalled: Option<Instant>,
    pub failures: u32,
    pub quarantined: bool,
    /// Bytes per second as an uploader.
    pub rate: u64,
    pub sending: u32,
    pub receiving: u32,
    pub failed: u32,
}

/// A piece in transfer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct TransferView {
    pub piece: u32,
    pub down: ConnId,
    /// `None` for the source.
    pub up: Option<ConnId>,
    pub put: bool,
    pub since: Instant,
    pub up_said: bool,
    pub down_said: bool,
    /// How it was chosen, if the configuration asks for that.
    pub funnel: Option<Funnel>,
}

/// The state of a client on a file, in numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct ClientStanding {
    /// Others can connect to it, as far as is known.
    pub active: bool,
    pub held: u32,
    pub wanted: u32,
    pub credit: i64,
    pub uploads: u64,
    pub downloads: u64,
    pub grants: u64,
    /// It has a free piece, used or reserved (SW-7).
    pub free: bool,
    pub stalled: Option<Instant>,
    pub failures: u32,
    pub quarantined: bool,
    /// Bytes per second as an uploader.
    pub rate: u64,
    pub sending: u32,
    pub receiving: u32,
}

impl Manager {
    /// The state of a client on a file; `None` while it is not on it.
    #[must_use]
    #[doc(hidden)]
    pub fn standing(&self, conn: ConnId, file: u32) -> Option<ClientStanding> {
        let at = self.place(conn, file)?;
        let member = self.files.get(file as usize)?.member(at);
        let client = self.client(member.client);
        let entry = self.ledger.get(client.row);
        Some(ClientStanding {
            active: client.active(),
            held: member.held,
            wanted: member.wanted,
            credit: self.credit_of(file, at),
            uploads: entry.row.uploads,
            downloads: entry.row.downloads,
            grants: entry.row.grants,
            free: entry.row.free,
            stalled: member.stalled,
            failures: entry.failures(),
            quarantined: entry.quarantined,
            rate: client.rate,
            sending: client.busy_up,
            receiving: client.busy_down,
        })
    }

    /// Pieces that failed for a client and wait to be tried again, and when
    /// they were chosen (SW-14).
    #[doc(hidden)]
    pub fn failed(&self, conn: ConnId, file: u32) -> impl Iterator<Item = (Instant, u32)> {
        let member = self.place(conn, file).map(|at| self.files[file as usize].member(at));
        member.into_iter().flat_map(|member| member.failed.keys().copied())
    }

    /// Copies of a piece among the clients, including those in transfer.
    #[must_use]
    #[doc(hidden)]
    pub fn copies(&self, file: u32, piece: u32) -> u32 {
        self.files.get(file as usize).map_or(0, |file| file.rarity.copies(piece))
    }

    /// Downloads that one upload earns on a file, in thousandths (SW-11), and
    /// how long a piece takes.
    #[must_use]
    #[doc(hidden)]
    pub fn pace(&self, file: u32) -> Option<(u32, crate::time::Duration)> {
        let file = self.files.get(file as usize)?;
        Some((file.ratio, file.piece_time(self.config.piece_time)))
    }

    fn place(&self, conn: ConnId, file: u32) -> Option<u32> {
        let client = self.client(*self.by_conn.get(&conn)?);
        client.files.iter().find(|place| place.file == file).map(|place| place.member)
    }

    /// Sets whether each choice is reported with how it was made.
    #[doc(hidden)]
    pub const fn explain(&mut self, on: bool) {
        self.config.explain = on;
    }

    /// The state of every file, with `count` of its clients starting at number
    /// `from`.
    #[must_use]
    #[doc(hidden)]
    pub fn view(&self, from: u32, count: u32, now: Instant) -> View {
        let files = (0..self.files.len() as u32).map(|file| self.file_view(file, from, count));
        View {
            at: now,
            clients: self.by_conn.len() as u32,
            ledger: self.ledger.len() as u32,
            counters: self.counters,
            files: files.collect(),
        }
    }

    fn file_view(&self, number: u32, from: u32, count: u32) -> ManagedFileView {
        let file = &self.files[number as usize];
        let members = (0..).zip(&file.members).filter(|(_, member)| member.is_some());
        let shown = members.clone().skip(from as usize).take(count as usize);
        let transfers = self.transfers.iter().flatten().filter(|t| t.file == number);
        ManagedFileView {
            url: file.spec.url.to_string(),
            size: file.spec.size,
            pieces: file.pieces,
            ratio: file.ratio,
            copies: (0..file.pieces).map(|piece| file.rarity.copies(piece)).collect(),
            members: members.count() as u32,
            clients: shown.map(|(at, _)| self.client_view(number, at)).collect(),
            transfers: transfers
                .map(|transfer| TransferView {
                    piece: transfer.piece,
                    down: self.client(transfer.down).conn,
                    up: match transfer.up {
                        Up::Source(_) => None,
                        Up::Client(up) => Some(self.client(up).conn),
                    },
                    put: transfer.put,
                    since: transfer.at,
                    up_said: transfer.up_said,
                    down_said: transfer.down_said,
                    funnel: transfer.funnel,
                })
                .collect(),
        }
    }

    fn client_view(&self, number: u32, at: u32) -> ClientView {
        let member = self.files[number as usize].member(at);
        let client = self.client(member.client);
        let entry = self.ledger.get(client.row);
        ClientView {
            client: client.conn,
            id: client.id.as_deref().unwrap_or_default().to_string(),
            peer: client.peer,
            active: client.active(),
            held: member.held,
            wanted: member.wanted,
            have: member.have.words().iter().map(|word| alloc::format!("{word:016x}")).collect(),
            credit: self.credit_of(number, at),
            uploads: entry.row.uploads,
            downloads: entry.row.downloads,
            grants: entry.row.grants,
            stalled: member.stalled,
            failures: entry.failures(),
            quarantined: entry.quarantined,
            rate: client.rate,
            sending: client.busy_up,
            receiving: client.busy_down,
            failed: member.failed.len() as u32,
        }
    }

    /// The rows of the ledger, for a new store.
    #[must_use]
    #[doc(hidden)]
    pub fn rows(&self) -> Vec<super::super::ledger::LedgerRow> {
        self.ledger.iter().map(|entry| entry.row.clone()).collect()
    }
}
