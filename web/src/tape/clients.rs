//! The clients of a recorded coordinator: who came, which piece went where, and
//! how that was chosen.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde_json::Value;
use servent_core::id::ConnId;
use servent_core::node::Event;
use servent_core::swarm::Event as Told;
use servent_core::time::Instant;
use servent_core::trace::again::{Again, ReplayStep};
use servent_core::trace::player::Player;
use servent_core::trace::{NodeId, Record};
use servent_sim::swarm::{Event as Shown, connection};

use crate::swarm::Selection;

/// A client.
pub(super) struct Came {
    pub(super) peer: IpAddr,
    pub(super) at: Instant,
    pub(super) whole: Option<Instant>,
}

/// A piece on its way.
pub(super) struct PieceFlow {
    /// The record of its assignment.
    pub(super) id: u64,
    pub(super) down: u32,
    pub(super) piece: u32,
    /// When it ended.
    pub(super) ends: Option<Instant>,
}

/// The clients of a tape.
pub(super) struct Clients {
    /// Taken out while it works.
    again: Option<Again>,
    rows: Vec<Came>,
    numbers: BTreeMap<ConnId, u32>,
    flows: Vec<PieceFlow>,
    choices: BTreeMap<u64, Selection>,
    /// When pieces arrived.
    arrivals: Vec<Instant>,
    /// The pieces of the file.
    pieces: u32,
}

impl Clients {
    /// For the recording of a coordinator.
    pub(super) fn new(player: &Player) -> Option<Self> {
        let start = player.start()?;
        start.config.swarm.coordinator.as_ref()?;
        Some(Self {
            again: Some(Again::new(start)),
            rows: Vec::new(),
            numbers: BTreeMap::new(),
            flows: Vec::new(),
            choices: BTreeMap::new(),
            arrivals: Vec::new(),
            pieces: 0,
        })
    }

    /// Takes up what is new on the tape.
    pub(super) fn learn(&mut self, player: &Player) {
        let Some(mut again) = self.again.take() else { return };
        if again.go_on(player, |step| self.observe(step)) {
            let half = again.node().swarm(0).coordinator;
            let pieces = half.and_then(|half| Some(half.swarm.files.first()?.pieces));
            self.pieces = self.pieces.max(pieces.unwrap_or(0));
        }
        self.again = Some(again);
    }

    /// The pieces of the file, as far as it is known.
    pub(super) const fn pieces(&self) -> u32 {
        self.pieces
    }

    /// All that ever came, in order.
    pub(super) fn rows(&self) -> &[Came] {
        &self.rows
    }

    /// Connections in a record get the numbers that simulated ones have; returns
    /// the client it is about, or else the coordinator.
    pub(super) fn rename(&self, event: &mut Value) -> NodeId {
        let mut about = None;
        let body = event.get_mut("swarm").and_then(Value::as_object_mut);
        for (key, value) in body.into_iter().flatten() {
            let conn =
                value.as_u64().filter(|_| matches!(&key[..], "client" | "down" | "up" | "by"));
            let Some(row) = conn.and_then(|conn| self.row(ConnId(conn))) else { continue };
            *value = connection(row, 0).0.into();
            if matches!(&key[..], "client" | "down") {
                about = Some(row);
            }
        }
        NodeId(about.unwrap_or(self.rows.len() as u32))
    }

    /// All connections, with their rows.
    pub(super) fn connections(&self) -> impl Iterator<Item = (ConnId, u32)> {
        self.numbers.iter().map(|(conn, row)| (*conn, *row))
    }

    /// The row of a connection.
    pub(super) fn row(&self, conn: ConnId) -> Option<u32> {
        self.numbers.get(&conn).copied()
    }

    /// The newest assignment of a piece to a client by an instant, if it is on
    /// its way.
    pub(super) fn flow(&self, down: u32, piece: u32, since: Instant) -> Option<&PieceFlow> {
        let of = |flow: &&PieceFlow| {
            flow.down == down && flow.piece == piece && flow.ends.is_none_or(|end| end >= since)
        };
        self.flows.iter().find(of)
    }

    /// How a transfer was chosen.
    pub(super) fn choice(&self, id: u64) -> Option<&Selection> {
        self.choices.get(&id)
    }

    /// Pieces that had arrived by an instant.
    pub(super) fn arrived_by(&self, at: Instant) -> u64 {
        self.arrivals.partition_point(|arrival| *arrival <= at) as u64
    }

    fn observe(&mut self, step: &ReplayStep<'_>) {
        for (seq, event) in step.events() {
            if let Event::Swarm(told) = event {
                self.told(step.at, seq, told);
            }
        }
    }

    fn told(&mut self, at: Instant, seq: u64, told: &Told) {
        match told {
            Told::Registered { client, peer, .. } => {
                self.numbers.insert(*client, self.rows.len() as u32);
                self.rows.push(Came { peer: *peer, at, whole: None });
            }
            Told::Finished { client, .. } => {
                let row = self.row(*client).and_then(|row| self.rows.get_mut(row as usize));
                if let Some(row) = row {
                    row.whole = Some(at);
                }
            }
            Told::Assigned { down, piece, .. } => {
                let Some(taker) = self.row(*down) else { return };
                let flow = PieceFlow { id: seq, down: taker, piece: *piece, ends: None };
                self.flows.push(flow);
                self.choose(at, seq, told.clone());
            }
            Told::Arrived { down, piece, .. } => {
                self.arrivals.push(at);
                self.end(*down, *piece, at);
            }
            Told::Failed { down, piece, .. } => self.end(*down, *piece, at),
            _ => {}
        }
    }

    fn end(&mut self, down: ConnId, piece: u32, at: Instant) {
        let Some(down) = self.row(down) else { return };
        let of =
            |flow: &&mut PieceFlow| flow.down == down && flow.piece == piece && flow.ends.is_none();
        if let Some(flow) = self.flows.iter_mut().rev().find(of) {
            flow.ends = Some(at);
        }
    }

    /// The same choice with the numbers that rows have here.
    fn choose(&mut self, at: Instant, seq: u64, mut told: Told) {
        let number = |conn: ConnId| self.numbers.get(&conn).map(|row| connection(*row, 0));
        if let Told::Assigned { down, up, .. } = &mut told {
            *down = number(*down).unwrap_or(*down);
            *up = up.and_then(number);
        }
        let node = NodeId(0);
        let record = Record { seq, at, node, cause: None, event: Shown::Swarm(told) };
        self.choices.extend(Selection::from_record(&record).map(|choice| (seq, choice)));
    }
}
