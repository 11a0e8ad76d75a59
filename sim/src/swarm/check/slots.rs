//! Work conservation (§4): under `adaptive` no upload slot stays idle while a
//! client could use it; and nothing is sent twice.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::super::event::client_of;
use super::super::scenario::Scenario;
use crate::check::RecordViolations;
use servent_core::id::ConnId;
use servent_core::swarm::bits::PieceSet;
use servent_core::swarm::{Config, Event, SwarmPolicy};
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;

/// Larger swarms are not checked, because every pair of clients is checked at
/// every instant.
const CLIENTS: u32 = 40;

/// A piece received this shortly before a session ended may not be on the disk.
const MOMENT: Duration = Duration::from_secs(10);

/// What the records say about a client.
#[derive(Debug, Clone, Default)]
struct ClientSlots {
    there: bool,
    active: bool,
    quarantined: bool,
    /// It has reported what it has and wants.
    joined: bool,
    /// The records do not say exactly which pieces it has.
    unsure: bool,
    /// When its last session ended, a piece was in transit or had just arrived:
    /// whether it is on disk is unknown.
    doubtful: bool,
    came: Option<Instant>,
    have: PieceSet,
    held: u32,
    /// Active transfers to it and from it.
    receiving: u32,
    sending: u32,
    most_down: u32,
    most_up: u32,
}

/// The oracle.
#[derive(Debug, Clone)]
pub(super) struct Slots {
    config: Config,
    pieces: u32,
    watches: bool,
    /// The client whose account each client uses.
    owner: Vec<u32>,
    seats: Vec<ClientSlots>,
    /// Pieces in transit, by downloader and piece; true once the piece has
    /// arrived.
    moving: BTreeMap<(u32, u32), (Option<u32>, bool)>,
    /// Failed pieces to be retried: these wait for an uploader that has not
    /// failed them.
    failed: BTreeSet<(u32, u32)>,
    /// Something has changed since the last check.
    changed: bool,
    at: Instant,
}

impl Slots {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let count = scenario.count();
        let config = scenario.swarm.clone();
        Self {
            pieces: scenario.pieces,
            watches: config.policy == SwarmPolicy::Adaptive && !config.strict && count <= CLIENTS,
            owner: scenario.owners(),
            seats: (0..count).map(|_| ClientSlots::default()).collect(),
            moving: BTreeMap::new(),
            failed: BTreeSet::new(),
            changed: false,
            at: Instant::ZERO,
            config,
        }
    }

    /// All clients are disconnected.
    pub(super) fn restarted(&mut self) {
        (0..self.seats.len() as u32).for_each(|client| self.parts(client));
        self.moving.clear();
        self.failed = BTreeSet::new();
        for seat in &mut self.seats {
            let (have, held) = (core::mem::take(&mut seat.have), seat.held);
            *seat = ClientSlots { have, held, doubtful: seat.doubtful, ..ClientSlots::default() };
        }
    }

    /// A client's session ends.
    fn parts(&mut self, client: u32) {
        let moving = self.moving.range((client, 0)..(client + 1, 0)).next().is_some();
        let now = self.at;
        if let Some(seat) = self.seats.get_mut(client as usize) {
            let recent = seat.came.is_some_and(|at| now.since(at) < MOMENT);
            seat.doubtful |= moving || recent;
            seat.there = false;
        }
    }

    fn seat(&mut self, conn: ConnId) -> &mut ClientSlots {
        let at = client_of(conn) as usize;
        if at >= self.seats.len() {
            self.seats.resize_with(at + 1, ClientSlots::default);
        }
        &mut self.seats[at]
    }

    pub(super) fn observe(&mut self, event: &Event, found: &mut RecordViolations<'_>) {
        let now = found.now();
        if now > self.at {
            if core::mem::take(&mut self.changed) && self.watches {
                self.look(found);
            }
            self.at = now;
        }
        self.changed = true;
        self.note(event, found);
    }

    fn note(&mut self, event: &Event, found: &mut RecordViolations<'_>) {
        let (down, up) = (self.config.default_download, 1);
        match event {
            Event::Registered { client, active, .. } => {
                let active = *active;
                let seat = self.seat(*client);
                let (have, held) = (core::mem::take(&mut seat.have), seat.held);
                let (most_down, most_up, doubtful) = (down, up, seat.doubtful);
                *seat = ClientSlots {
                    there: true,
                    active,
                    have,
                    held,
                    most_down,
                    most_up,
                    doubtful,
                    ..ClientSlots::default()
                };
            }
            Event::Left { client } => {
                self.parts(client_of(*client));
                let at = client_of(*client);
                let its: Vec<(u32, u32)> =
                    self.failed.range((at, 0)..(at + 1, 0)).copied().collect();
                its.iter().for_each(|key| {
                    self.failed.remove(key);
                });
            }
            Event::Joined { client, held, .. } => {
                let seat = self.seat(*client);
                // A client that lost a piece not yet flushed in its previous
                // run has fewer than the records know.
                seat.joined = true;
                seat.unsure = seat.held != *held || seat.doubtful;
            }
            Event::Mode { client, active, .. } => self.seat(*client).active = *active,
            Event::Quarantined { client, .. } => self.seat(*client).quarantined = true,
            Event::Released { client } => self.seat(*client).quarantined = false,
            Event::Concurrency { client, download, upload, .. } => {
                let seat = self.seat(*client);
                (seat.most_down, seat.most_up) = (*download, *upload);
            }
            Event::Assigned { piece, down, up, .. } => self.assigned(*piece, *down, *up, found),
            Event::Arrived { piece, down, .. } => {
                if let Some(moving) = self.moving.get_mut(&(client_of(*down), *piece)) {
                    moving.1 = true;
                }
                let now = self.at;
                let seat = self.seat(*down);
                seat.came = Some(now);
                seat.held += u32::from(seat.have.insert(*piece));
                seat.receiving = seat.receiving.saturating_sub(1);
            }
            Event::Confirmed { piece, down, .. } => {
                self.ended(*piece, *down);
            }
            Event::Failed { piece, down, .. } if self.ended(*piece, *down) => {
                self.failed.insert((client_of(*down), *piece));
            }
            _ => {}
        }
    }

    fn assigned(
        &mut self,
        piece: u32,
        down: ConnId,
        up: Option<ConnId>,
        found: &mut RecordViolations<'_>,
    ) {
        let taker = client_of(down);
        self.failed.remove(&(taker, piece));
        let seat = self.seat(down);
        seat.receiving += 1;
        if seat.have.contains(piece) && !seat.unsure {
            found.violation_of(NodeId(taker), "slots", "check.given_again", [("piece", piece)]);
        }
        if let Some(up) = up {
            self.seat(up).sending += 1;
        }
        self.moving.insert((taker, piece), (up.map(client_of), false));
    }

    /// A transfer has ended; true when its piece has not arrived.
    fn ended(&mut self, piece: u32, down: ConnId) -> bool {
        let Some((giver, there)) = self.moving.remove(&(client_of(down), piece)) else {
            return false;
        };
        if !there {
            let seat = self.seat(down);
            seat.receiving = seat.receiving.saturating_sub(1);
        }
        if let Some(giver) = giver.and_then(|giver| self.seats.get_mut(giver as usize)) {
            giver.sending = giver.sending.saturating_sub(1);
        }
        !there
    }

    /// Looks for an idle slot that a client could use.
    fn look(&self, found: &mut RecordViolations<'_>) {
        let usable =
            |seat: &ClientSlots| seat.there && seat.joined && !seat.unsure && !seat.quarantined;
        for (giver, up) in (0..).zip(&self.seats) {
            if !usable(up) || up.sending >= up.most_up || up.held == 0 {
                continue;
            }
            for (taker, down) in (0..).zip(&self.seats) {
                let pair = taker != giver && (up.active || down.active);
                if !pair || !usable(down) || down.receiving >= down.most_down {
                    continue;
                }
                // An account with this many failures is given nothing more
                // (SW-27).
                if self.failures(taker) >= self.config.quarantine {
                    continue;
                }
                if let Some(piece) = self.wanted(taker, down, up) {
                    let args = [("giver", u64::from(giver)), ("piece", piece.into())];
                    found.violation_of(NodeId(taker), "slots", "check.idle_but_useful", args);
                    return;
                }
            }
        }
    }

    /// How many pieces are to be retried by those who share a client's account.
    fn failures(&self, client: u32) -> u32 {
        let owner = |client: u32| self.owner.get(client as usize);
        self.failed.iter().filter(|(taker, _)| owner(*taker) == owner(client)).count() as u32
    }

    /// A piece that one could upload to the other.
    fn wanted(&self, taker: u32, down: &ClientSlots, up: &ClientSlots) -> Option<u32> {
        let free = |piece: &u32| {
            let key = (taker, *piece);
            !down.have.contains(*piece)
                && !self.moving.contains_key(&key)
                && !self.failed.contains(&key)
        };
        (0..self.pieces).filter(|piece| up.have.contains(*piece)).find(free)
    }
}
