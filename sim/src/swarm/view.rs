//! Views of a swarm.
#![allow(missing_docs)] // The fields are named by what they hold.

use alloc::string::{String, ToString as _};
use alloc::vec::Vec;
use core::net::IpAddr;

use serde::Serialize;

use super::event::connection;
use super::scenario::Habit;
use super::world::SwarmWorld;
use servent_core::swarm::manager::{ClientStanding, SwarmCounters};
use servent_core::time::{Duration, Instant};

/// The state of a piece at a client. The numeric values are what the page draws
/// from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[repr(u8)]
pub enum Cell {
    Missing = 0,
    Held = 1,
    /// Assigned; no bytes flow yet.
    Assigned = 2,
    Coming = 3,
    /// It failed and waits to be retried (SW-14).
    Failed = 4,
    /// Some of what is on disk is wrong.
    Wrong = 5,
    /// It is held and being uploaded.
    Sent = 6,
}

/// A summary of a client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientSummary {
    pub habit: Habit,
    pub up: bool,
    /// It has not arrived yet.
    pub expected: bool,
    /// It is stalled.
    pub still: bool,
    /// No peer can connect to it, and it knows that.
    pub passive: bool,
    /// No peer can connect to it, and it does not know that.
    pub firewalled: bool,
    /// Pieces on its disk.
    pub held: u32,
    pub done: bool,
    pub standing: Option<ClientStanding>,
}

/// A row of the matrix.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientRow {
    pub id: u32,
    pub name: String,
    pub addr: IpAddr,
    pub role: Habit,
    pub up: bool,
    /// It has not arrived yet.
    pub expected: bool,
    /// It is stalled.
    pub still: bool,
    /// No peer can connect to it, and it does not know that.
    pub firewalled: bool,
    /// Pieces on its disk.
    pub held: u32,
    pub done: Option<Instant>,
    pub conn: u64,
    /// The coordinator's view of it; `None` while the coordinator does not know
    /// it.
    #[serde(flatten)]
    pub standing: Option<ClientStanding>,
}

/// The details of a client.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ClientView {
    #[serde(flatten)]
    pub row: ClientRow,
    /// Pieces that failed, and since when they are wanted.
    pub again: Vec<Again>,
    pub receiving_now: Vec<Moving>,
    pub sending_now: Vec<Moving>,
}

/// A piece that is to be retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Again {
    pub piece: u32,
    pub at: Instant,
}

/// A transfer, seen from one of its ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Moving {
    pub id: u64,
    pub piece: u32,
    /// The other end; the source when `None`.
    pub with: Option<u32>,
    pub at: Instant,
}

/// The details of the coordinator.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CoordinatorView {
    pub counters: SwarmCounters,
    /// How much may be downloaded per upload, in thousandths.
    pub ratio: u32,
    pub piece_time: Duration,
    pub clients: u32,
    pub transfers: u32,
}

impl SwarmWorld {
    /// The number of clients and of pieces.
    #[must_use]
    #[doc(hidden)]
    pub fn size(&self) -> (u32, u32) {
        (self.coordinator().0, self.net.scenario.pieces)
    }

    /// The state of every piece at every client, row by row.
    #[must_use]
    #[doc(hidden)]
    pub fn cells(&self) -> Vec<u8> {
        let (clients, pieces) = self.size();
        let mut cells = alloc::vec![Cell::Missing as u8; (clients * pieces) as usize];
        let mut set = |client: u32, piece: u32, cell: Cell| {
            cells[(client * pieces + piece) as usize] = cell as u8;
        };
        for (client, peer) in (0..).zip(self.peers()) {
            for piece in self.wrong(client) {
                set(client, piece, Cell::Wrong);
            }
            for (_, piece) in self.manager().failed(self.connection(client), 0) {
                set(client, piece, Cell::Failed);
            }
            peer.kept.iter().for_each(|piece| set(client, piece, Cell::Held));
        }
        for (taker, piece, running) in self.running() {
            let flows = running.flows.is_some_and(|(begin, _)| begin <= self.now());
            if !self.peer(taker).kept.contains(piece) {
                set(taker, piece, if flows { Cell::Coming } else { Cell::Assigned });
                if let Some(giver) = running.giver.filter(|_| flows) {
                    set(giver, piece, Cell::Sent);
                }
            }
        }
        cells
    }

    /// For each piece, how many clients hold it.
    #[must_use]
    #[doc(hidden)]
    pub fn holders(&self) -> Vec<u32> {
        let mut holders = alloc::vec![0; self.size().1 as usize];
        for (_, peer) in (0..).zip(self.peers()).filter(|(client, _)| self.up(*client)) {
            peer.kept.iter().for_each(|piece| holders[piece as usize] += 1);
        }
        holders
    }

    /// The coordinator's view of a client; `None` while the coordinator does
    /// not know it.
    #[must_use]
    #[doc(hidden)]
    pub fn standing(&self, client: u32) -> Option<ClientStanding> {
        let peer = self.nodes.get(client as usize)?.own.as_ref()?;
        self.manager().standing(connection(client, peer.life), 0)
    }

    /// A summary of a client; `None` when there is no such client.
    #[must_use]
    #[doc(hidden)]
    pub fn summary(&self, client: u32) -> Option<ClientSummary> {
        let peer = self.nodes.get(client as usize)?.own.as_ref()?;
        Some(ClientSummary {
            habit: peer.habit,
            up: self.up(client),
            expected: !peer.came,
            still: self.still(client),
            passive: peer.passive,
            firewalled: peer.firewalled && !peer.passive,
            held: peer.held,
            done: peer.done.is_some(),
            standing: self.standing(client),
        })
    }

    /// A client's row; `None` when there is no such client.
    #[must_use]
    #[doc(hidden)]
    pub fn row(&self, client: u32) -> Option<ClientRow> {
        let summary = self.summary(client)?;
        Some(ClientRow {
            id: client,
            name: name(client),
            addr: self.address(client),
            role: summary.habit,
            up: summary.up,
            expected: summary.expected,
            still: summary.still,
            firewalled: summary.firewalled,
            held: summary.held,
            done: self.done_at(client),
            conn: self.connection(client).0,
            standing: summary.standing,
        })
    }

    /// The details of a client.
    #[must_use]
    #[doc(hidden)]
    pub fn client_view(&self, client: u32) -> Option<ClientView> {
        let row = self.row(client)?;
        let again = self.manager().failed(self.connection(client), 0);
        let (mut receiving_now, mut sending_now) = (Vec::new(), Vec::new());
        for (taker, piece, running) in self.running() {
            let moving = |with| Moving { id: running.id, piece, with, at: running.at };
            if taker == client {
                receiving_now.push(moving(running.giver));
            }
            if running.giver == Some(client) {
                sending_now.push(moving(Some(taker)));
            }
        }
        let again = again.map(|(at, piece)| Again { piece, at }).collect();
        Some(ClientView { row, again, receiving_now, sending_now })
    }

    /// The details of the coordinator.
    #[must_use]
    #[doc(hidden)]
    pub fn coordinator_view(&self) -> CoordinatorView {
        let (ratio, piece_time) = self.manager().pace(0).unwrap_or((0, Duration::ZERO));
        CoordinatorView {
            counters: self.manager().counters(),
            ratio,
            piece_time,
            clients: (0..self.coordinator().0).filter(|client| self.up(*client)).count() as u32,
            transfers: self.net.running.len() as u32,
        }
    }
}

/// The name of a client.
#[must_use]
pub fn name(client: u32) -> String {
    let mut name = String::from("c");
    name.push_str(&client.to_string());
    name
}
