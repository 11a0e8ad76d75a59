//! The data for drawing a run, from its records alone: an arrow for each datagram.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::SocketAddr;

use serde::Serialize;
use servent_core::meet::KnockStep;
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};

use super::event::{Event, PacketEvent, PacketKind, PersonEvent, RouterEvent};
use super::router::RouterDrop;
use super::scenario::Scenario;
use super::totals::MeetTotals;
use super::world::MeetWorld;
use crate::links::datagram::DatagramLoss;

/// A datagram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeetArrow {
    /// Its number.
    pub id: u32,
    /// The record of its sending.
    pub seq: u64,
    /// The record of its end.
    pub end_seq: Option<u64>,
    /// The node that sent it.
    pub from: NodeId,
    /// The node it is on its way to, or at which it ended; none has its address
    /// otherwise.
    pub to: Option<NodeId>,
    /// The address it was sent from.
    pub local: SocketAddr,
    /// The address others see as its sender.
    pub seen: SocketAddr,
    /// The address it was sent to.
    pub target: SocketAddr,
    /// When it was sent.
    pub sent: Instant,
    /// When it arrives.
    pub due: Instant,
    /// When it ended.
    pub at: Option<Instant>,
    /// What became of it.
    pub fate: PacketFate,
    /// Why a router dropped it.
    pub dropped: Option<RouterDrop>,
    /// Why it was lost.
    pub lost: Option<DatagramLoss>,
    /// What it is.
    pub kind: PacketKind,
    /// Of a knock, which step.
    pub step: Option<KnockStep>,
    /// Its length.
    pub bytes: u32,
}

/// What became of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum PacketFate {
    /// It is on its way.
    Flying,
    /// It arrived.
    Arrived,
    /// It was lost.
    Lost,
    /// A router dropped it.
    Dropped,
}

/// Something else that happened to a node.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MeetMark {
    /// When.
    pub at: Instant,
    /// Its record.
    pub seq: u64,
    /// Which node.
    pub node: NodeId,
    /// What.
    pub kind: MeetMarkKind,
    /// The address it is about: a mapping's outer one, that of a path.
    pub addr: Option<SocketAddr>,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[allow(missing_docs)] // They are named as their events are.
pub enum MeetMarkKind {
    Came,
    Relayed,
    Direct,
    Moved,
    Alone,
    Mapped,
    Expired,
    Evicted,
    Fault,
}

/// All drawing data of one branch, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct MeetDiagram {
    arrows: Vec<MeetArrow>,
    /// Those under way, by their numbers.
    flying: BTreeMap<u32, usize>,
    /// The longest way of any datagram.
    longest: Duration,
    marks: Vec<MeetMark>,
    /// What it came to after each record that changed it.
    totals: Vec<(Instant, MeetTotals)>,
}

impl MeetDiagram {
    /// Before the first record.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let totals = alloc::vec![(Instant::ZERO, MeetTotals::new(scenario))];
        Self { totals, ..Self::default() }
    }

    /// What it came to by an instant.
    #[must_use]
    pub fn totals(&self, until: Instant) -> MeetTotals {
        let known = self.totals.partition_point(|(at, _)| *at <= until);
        self.totals[..known].last().map(|(_, totals)| totals.clone()).unwrap_or_default()
    }

    fn count(&mut self, record: &Record<Event>) {
        let Some((at, last)) = self.totals.last_mut() else { return };
        let mut totals = last.clone();
        totals.count(record);
        if totals == *last {
            return;
        }
        if *at == record.at {
            *last = totals;
        } else {
            self.totals.push((record.at, totals));
        }
    }

    /// Processes the next record.
    pub fn observe(&mut self, _: &MeetWorld, record: &Record<Event>) {
        self.count(record);
        match &record.event {
            Event::Packet(event) => self.packet(record, event),
            Event::Router(event) => {
                let (kind, addr) = match event {
                    RouterEvent::Mapped { outside, .. } => (MeetMarkKind::Mapped, outside),
                    RouterEvent::Expired { outside, .. } => (MeetMarkKind::Expired, outside),
                    RouterEvent::Evicted { outside, .. } => (MeetMarkKind::Evicted, outside),
                };
                self.mark(record, kind, Some(*addr));
            }
            Event::Person(event) => match event {
                PersonEvent::Came { .. } => self.mark(record, MeetMarkKind::Came, None),
                PersonEvent::Connected { peer, relayed, .. } => {
                    let kind = if *relayed { MeetMarkKind::Relayed } else { MeetMarkKind::Direct };
                    self.mark(record, kind, Some(*peer));
                }
                PersonEvent::Moved { to, .. } => self.mark(record, MeetMarkKind::Moved, Some(*to)),
                PersonEvent::Alone { .. } => self.mark(record, MeetMarkKind::Alone, None),
                PersonEvent::Wrote { .. } | PersonEvent::Read { .. } => {}
            },
            Event::World(_) => self.mark(record, MeetMarkKind::Fault, None),
            Event::Meet(_) => {}
        }
    }

    fn mark(&mut self, record: &Record<Event>, kind: MeetMarkKind, addr: Option<SocketAddr>) {
        let (at, seq, node) = (record.at, record.seq, record.node);
        self.marks.push(MeetMark { at, seq, node, kind, addr });
    }

    fn packet(&mut self, record: &Record<Event>, event: &PacketEvent) {
        let (at, seq) = (record.at, record.seq);
        match *event {
            PacketEvent::Sent { id, from, seen, to, toward, due, kind, step, bytes } => {
                self.flying.insert(id, self.arrows.len());
                self.longest = self.longest.max(due.since(at));
                self.arrows.push(MeetArrow {
                    id,
                    seq,
                    end_seq: None,
                    from: record.node,
                    to: toward,
                    local: from,
                    seen,
                    target: to,
                    sent: at,
                    due,
                    at: None,
                    fate: PacketFate::Flying,
                    dropped: None,
                    lost: None,
                    kind,
                    step,
                    bytes,
                });
            }
            PacketEvent::Arrived { id, .. } => {
                self.end(id, record, |arrow| {
                    (arrow.fate, arrow.to) = (PacketFate::Arrived, Some(record.node));
                });
            }
            PacketEvent::Lost { id, why, .. } => {
                self.end(id, record, |arrow| {
                    (arrow.fate, arrow.lost) = (PacketFate::Lost, Some(why));
                });
            }
            PacketEvent::Dropped { id, why, .. } => {
                self.end(id, record, |arrow| {
                    (arrow.fate, arrow.dropped) = (PacketFate::Dropped, Some(why));
                    arrow.to = Some(record.node);
                });
            }
        }
    }

    fn end(&mut self, id: u32, record: &Record<Event>, change: impl FnOnce(&mut MeetArrow)) {
        let Some(at) = self.flying.remove(&id) else { return };
        let arrow = &mut self.arrows[at];
        (arrow.at, arrow.end_seq) = (Some(record.at), Some(record.seq));
        change(arrow);
    }

    /// Datagrams under way between two instants, at most so many.
    pub fn arrows(
        &self,
        from: Instant,
        to: Instant,
        most: usize,
    ) -> impl Iterator<Item = &MeetArrow> {
        let earliest =
            Instant::from_micros(from.as_micros().saturating_sub(self.longest.as_micros()));
        let first = self.arrows.partition_point(|arrow| arrow.sent < earliest);
        let within = self.arrows[first..].iter().take_while(move |arrow| arrow.sent <= to);
        within.filter(move |arrow| arrow.at.unwrap_or(arrow.due) >= from).take(most)
    }

    /// What else happened between two instants, at most so much.
    #[must_use]
    pub fn marks(&self, from: Instant, to: Instant, most: usize) -> &[MeetMark] {
        let first = self.marks.partition_point(|mark| mark.at < from);
        let last = self.marks.partition_point(|mark| mark.at <= to);
        &self.marks[first..last.min(first + most)]
    }
}
