//! A divided site: every part has one leader, a file's line is at one member, and
//! a place that was told goes along when its part moves.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::IpAddr;

use super::super::host::Plan;
use super::super::scenario::Scenario;
use super::site::{CheckedMember, report_leaderless};
use crate::check::RecordViolations;
use servent_core::id::Guid;
use servent_core::lease::{PARTS, Partition};
use servent_core::node::WorldEvent;
use servent_core::queue::{Dialect, Event as Queue};
use servent_core::time::Instant;
use servent_core::trace::{Event, NodeId, Record};

/// A place as the records of the member that leads its part know it.
#[derive(Debug, Clone, Copy)]
struct PartitionedPosition {
    part: Partition,
    at: NodeId,
    /// The record that made it.
    since: u64,
    saved: bool,
    told: bool,
}

impl PartitionedPosition {
    /// A place that is not saved yet, and that no client has heard of.
    const fn new(part: Partition, at: NodeId, since: u64) -> Self {
        Self { part, at, since, saved: false, told: false }
    }
}

/// A place whose slot was given back.
#[derive(Debug, Clone, Copy)]
struct Done {
    place: PartitionedPosition,
    /// The record of that.
    since: u64,
    /// The store knows.
    saved: bool,
}

/// The members of a divided site, and what was promised.
#[derive(Debug, Clone)]
pub(super) struct Division {
    all: Vec<CheckedMember>,
    /// The parts that each of them says it leads.
    parts: Vec<u64>,
    store_away: bool,
    /// Since when no member leads a partition although one could and nothing goes
    /// wrong.
    without: BTreeMap<Partition, Instant>,
    /// Which part a client's file belongs to.
    part_of: BTreeMap<IpAddr, Partition>,
    /// Who took a part last, at which record.
    owner: BTreeMap<Partition, (NodeId, u64)>,
    places: BTreeMap<Guid, PartitionedPosition>,
    /// Those that were served.
    done: BTreeMap<Guid, Done>,
    /// What a member decided of a part that another one has taken meanwhile, and
    /// the last record of that.
    strays: BTreeMap<NodeId, u64>,
    /// What is being sent to its end by a member that does not lead its part any more.
    released: BTreeSet<(NodeId, Guid)>,
    /// Places that were there when a member took their part, until it has
    /// restored them.
    restoring: Option<(Instant, NodeId, BTreeSet<Guid>)>,
}

impl Division {
    pub(super) fn new(scenario: &Scenario) -> Self {
        let plan = Plan::new(scenario);
        let file = |name: &str| plan.files.iter().find(|file| file.name == name);
        let part_of = plan.profiles.iter().filter_map(|one| {
            Some((one.at.ip(), Partition::containing(file(&one.get.as_ref()?.name)?.key)))
        });
        let members = scenario.servers.len();
        Self {
            part_of: part_of.collect(),
            all: alloc::vec![CheckedMember::default(); members],
            parts: alloc::vec![0; members],
            store_away: false,
            without: BTreeMap::new(),
            owner: BTreeMap::new(),
            places: BTreeMap::new(),
            done: BTreeMap::new(),
            strays: BTreeMap::new(),
            released: BTreeSet::new(),
            restoring: None,
        }
    }

    /// The next record, of any node.
    pub(super) fn observe(&mut self, record: &Record, found: &mut RecordViolations<'_>) {
        self.check_gaps(record.at, found);
        if self.restoring.as_ref().is_some_and(|(at, ..)| *at < record.at) {
            self.restored(found);
        }
        let node = record.node;
        match &record.event {
            Event::World(event) if (node.0 as usize) < self.all.len() => {
                self.world(record, node, event, found);
            }
            Event::Queue(event) => self.queue(record.seq, node, event, found),
            Event::Fetch(servent_core::fetch::Event::Queued { ticket: Some(ticket), .. }) => {
                self.observe_position(*ticket, found);
            }
            _ => {}
        }
    }

    pub(super) fn finish(&mut self, end: Instant, found: &mut RecordViolations<'_>) {
        self.check_gaps(end, found);
    }

    fn check_gaps(&mut self, now: Instant, found: &mut RecordViolations<'_>) {
        let Some(since) = self.without.values().min().copied() else { return };
        if report_leaderless(since, now, found) {
            self.without.clear();
        }
    }

    fn world(
        &mut self,
        record: &Record,
        node: NodeId,
        event: &WorldEvent,
        found: &mut RecordViolations<'_>,
    ) {
        use WorldEvent as W;
        let one = &mut self.all[node.0 as usize];
        // A fault starts the clocks anew.
        let mut fault = true;
        match event {
            W::Crashed | W::Replaced => {
                one.apply(&W::Crashed);
                self.parts[node.0 as usize] = 0;
                self.ended(node);
                fault = matches!(event, W::Crashed);
            }
            W::Store { away } => self.store_away = *away,
            W::Parts { low, high } => {
                let parts = u64::from(*low) | (u64::from(*high) << 32);
                self.leads(record, node, parts, found);
                fault = false;
            }
            W::Saved { until, .. } => {
                self.saved(node, *until, found);
                fault = false;
            }
            event => fault = one.apply(event),
        }
        self.note_leadership(record.at, fault);
    }

    /// What a member that has ended had decided and not saved never was.
    fn ended(&mut self, node: NodeId) {
        self.places.retain(|_, place| place.at != node || place.saved);
        self.done.retain(|_, done| done.place.at != node || done.saved);
        self.strays.remove(&node);
        self.released.retain(|(at, _)| *at != node);
    }

    fn note_leadership(&mut self, now: Instant, fault: bool) {
        let able: Vec<u64> = self
            .parts
            .iter()
            .zip(&self.all)
            .filter(|(_, one)| one.is_able())
            .map(|(parts, _)| *parts)
            .collect();
        let led = able.iter().fold(0, |all, parts| all | parts);
        if able.is_empty() || self.store_away {
            return self.without.clear();
        }
        for part in (0..PARTS).map(Partition) {
            if led & part.bit() != 0 {
                self.without.remove(&part);
            } else if fault {
                self.without.insert(part, now);
            } else {
                self.without.entry(part).or_insert(now);
            }
        }
    }

    /// A member leads these parts: the places told in those that it did not lead
    /// before must be there.
    fn leads(
        &mut self,
        record: &Record,
        node: NodeId,
        parts: u64,
        found: &mut RecordViolations<'_>,
    ) {
        let before = core::mem::replace(&mut self.parts[node.0 as usize], parts);
        let new = parts & !before;
        for part in (0..PARTS).map(Partition).filter(|part| new & part.bit() != 0) {
            self.owner.insert(part, (node, record.seq));
        }
        if new == 0 {
            return;
        }
        if self.restoring.as_ref().is_some_and(|(_, who, _)| *who != node) {
            self.restored(found);
        }
        // What the one before had decided and not saved never was.
        let moved = |place: &PartitionedPosition| new & place.part.bit() != 0;
        self.places.retain(|_, place| !moved(place) || place.saved);
        let due = self.places.iter().filter(|(_, place)| moved(place) && place.told);
        let due = due.map(|(ticket, _)| *ticket);
        let restoring = self.restoring.get_or_insert((record.at, node, BTreeSet::new()));
        restoring.2.extend(due);
    }

    /// Writes succeed only for the member that has taken a part last.
    fn saved(&mut self, node: NodeId, until: u64, found: &mut RecordViolations<'_>) {
        if self.strays.get(&node).is_some_and(|stray| *stray < until) {
            found.broken("one_leads", "check.two_write", &[("number", &0)]);
        }
        for place in self.places.values_mut().filter(|place| place.at == node) {
            place.saved |= place.since < until;
        }
        for done in self.done.values_mut().filter(|done| done.place.at == node) {
            done.saved |= done.since < until;
        }
    }

    fn queue(&mut self, seq: u64, node: NodeId, event: &Queue, found: &mut RecordViolations<'_>) {
        match event {
            Queue::Arrived { ticket, peer, dialect, .. } => {
                let Some(part) = self.part_of.get(peer).copied() else { return };
                self.done.remove(ticket);
                // In Active Queueing nothing is saved.
                if *dialect != Dialect::Active {
                    self.decides(seq, node, part, found);
                    self.stands(*ticket, PartitionedPosition::new(part, node, seq));
                }
            }
            Queue::Started { ticket, peer, .. } => {
                self.served_again(seq, node, *ticket, found);
                if !self.places.contains_key(ticket)
                    && let Some(part) = self.part_of.get(peer).copied()
                {
                    self.stands(*ticket, PartitionedPosition::new(part, node, seq));
                }
            }
            Queue::Restored { ticket, .. } => {
                self.served_again(seq, node, *ticket, found);
                if let Some((_, _, due)) = &mut self.restoring {
                    due.remove(ticket);
                }
                // A slot that was given back and not saved never was given back.
                let undone = self.done.get(ticket).is_some_and(|done| !done.saved);
                if undone && let Some(done) = self.done.remove(ticket) {
                    self.stands(*ticket, done.place);
                }
                if let Some(place) = self.places.get_mut(ticket) {
                    (place.at, place.saved) = (node, true);
                }
            }
            Queue::Released { ticket, uploads: true } => {
                self.released.insert((node, *ticket));
            }
            Queue::Lost { ticket, .. } => drop(self.gone(node, *ticket)),
            Queue::Finished { ticket, .. } | Queue::Unreserved { ticket, .. } => {
                self.served(seq, node, *ticket);
            }
            // Its slot was taken from it before it had got anything worth it.
            Queue::Returned { ticket, .. } => {
                if let Some(done) = self.done.remove(ticket) {
                    self.stands(*ticket, done.place);
                }
            }
            _ => {}
        }
    }

    /// A slot is given back, by the client that has its place.
    fn served(&mut self, seq: u64, node: NodeId, ticket: Guid) {
        if !self.released.remove(&(node, ticket))
            && let Some(place) = self.gone(node, ticket)
        {
            self.done.insert(ticket, Done { place, since: seq, saved: false });
        }
    }

    fn stands(&mut self, ticket: Guid, place: PartitionedPosition) {
        self.places.insert(ticket, place);
    }

    /// A place that this member has is no more.
    fn gone(&mut self, node: NodeId, ticket: Guid) -> Option<PartitionedPosition> {
        self.places.get(&ticket).filter(|place| place.at == node)?;
        self.places.remove(&ticket)
    }

    /// A member gives a place in the line of a file: it says that it leads its
    /// part, and if another one has taken it meanwhile, nothing of that is saved.
    fn decides(
        &mut self,
        seq: u64,
        node: NodeId,
        part: Partition,
        found: &mut RecordViolations<'_>,
    ) {
        if self.parts[node.0 as usize] & part.bit() == 0 {
            found.broken("one_line", "check.not_its_part", &[("part", &part.0)]);
        }
        if self.owner.get(&part).is_some_and(|(owner, _)| *owner != node) {
            self.strays.insert(node, seq);
        }
    }

    /// A slot that was given back, as the store knows, is given to the same
    /// place again. Who does not lead its part any more and does not know that can
    /// save nothing of it, and so says nothing.
    fn served_again(
        &mut self,
        seq: u64,
        node: NodeId,
        ticket: Guid,
        found: &mut RecordViolations<'_>,
    ) {
        let Some(done) = self.done.get(&ticket).filter(|done| done.saved) else { return };
        if self.owner.get(&done.place.part).is_some_and(|(owner, _)| *owner != node) {
            self.strays.insert(node, seq);
        } else {
            found.broken("served_twice", "check.served_twice", &[("ticket", &ticket)]);
        }
    }

    /// A member has restored the parts it took.
    fn restored(&mut self, found: &mut RecordViolations<'_>) {
        let Some((_, _, missing)) = self.restoring.take() else { return };
        for ticket in missing {
            self.places.remove(&ticket);
            found.broken("kept", "check.place_gone", &[("ticket", &ticket)]);
        }
    }

    /// A client hears of its place.
    fn observe_position(&mut self, ticket: Guid, found: &mut RecordViolations<'_>) {
        let Some(place) = self.places.get_mut(&ticket) else { return };
        place.told = true;
        if !place.saved {
            found.broken("write_ahead", "check.unsaved", &[("ticket", &ticket)]);
        }
    }
}
