//! The data for drawing a run, from its records alone: an arrow for each
//! datagram, a mark for each event on a lifeline.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use serde::Serialize;

use super::event::{DatagramEvent, DatagramId, Event, Label, MessagingEvent, UnicastIncident};
use super::world::UnicastWorld;
use crate::links::datagram::DatagramLoss;
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};
use servent_core::unicast::{self, ConnEnding, Rejection, RetransmitReason, Side, UnicastConnId};

/// A datagram.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Arrow {
    /// Its id; negative for a copy.
    pub id: DatagramId,
    /// Its number in its direction; a copy has that of the original.
    pub n: u32,
    /// The record of its sending.
    pub seq: u64,
    /// The sender.
    pub from: NodeId,
    /// The receiver.
    pub to: NodeId,
    /// When it was sent.
    pub sent: Instant,
    /// When it arrives, or would have arrived.
    pub due: Instant,
    /// When it arrived or was lost.
    pub at: Option<Instant>,
    /// What happened to it.
    pub fate: ArrowFate,
    /// Why it was lost or late.
    pub why: Option<LossCause>,
    /// The datagram it is a copy of.
    pub copy_of: Option<DatagramId>,
    /// It contains a retransmission.
    pub again: bool,
    /// Its length.
    pub bytes: u32,
    /// Its content.
    pub blocks: Vec<Label>,
}

/// What happened to a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrowFate {
    /// Not known yet.
    Flying,
    /// It arrived.
    Arrived,
    /// It was lost.
    Lost,
}

/// Why it was lost or delayed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LossCause {
    /// Delayed by a fault.
    Delay,
    /// Lost.
    #[serde(untagged)]
    Loss(DatagramLoss),
}

/// An event on a lifeline.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
#[allow(missing_docs)] // The fields are named by what they hold.
pub struct LifelineMark {
    pub at: Instant,
    pub seq: u64,
    pub node: NodeId,
    pub kind: &'static str,
    pub peer: Option<NodeId>,
    pub conn: Option<UnicastConnId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub side: Option<Side>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub why: Option<Reason>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seq_no: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ha: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hs: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub from: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub count: Option<u64>,
    /// What the congestion control allows: bytes a second, and bytes under way.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<u64>,
}

/// The reason given in an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(untagged)]
#[allow(missing_docs)]
pub enum Reason {
    Ending(ConnEnding),
    Again(RetransmitReason),
    Rejection(Rejection),
}

/// All drawing data of one branch, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct Diagram {
    arrows: Vec<Arrow>,
    /// Those in transit, by their ids.
    flying: BTreeMap<u64, usize>,
    /// The longest transit time of any datagram.
    longest: Duration,
    marks: Vec<LifelineMark>,
    /// When messages were written, and how many by then.
    written: Vec<(Instant, u64)>,
}

impl Diagram {
    /// Arrows, each in order of time, and marks that were gathered elsewhere.
    #[must_use]
    pub fn mark(arrows: Vec<Arrow>, marks: Vec<LifelineMark>) -> Self {
        let ends = |arrow: &Arrow| arrow.due.max(arrow.at.unwrap_or(arrow.due)).since(arrow.sent);
        let longest = arrows.iter().map(ends).max().unwrap_or_default();
        Self { arrows, marks, longest, ..Self::default() }
    }

    /// Processes the next record.
    pub fn observe(&mut self, world: &UnicastWorld, record: &Record<Event>) {
        if let Event::Datagram(event) = &record.event {
            return self.datagram(record, event);
        }
        let mark = LifelineMark {
            at: record.at,
            seq: record.seq,
            node: record.node,
            peer: world.other(&record.event),
            ..LifelineMark::default()
        };
        let mark = match &record.event {
            Event::Unicast(event) => mark.mark(event),
            Event::World(event) => Some(LifelineMark { kind: of_world(event), ..mark }),
            Event::App(MessagingEvent::Wrote { from, last, .. }) => {
                let before = self.written.last().map_or(0, |(_, count)| *count);
                self.written.push((record.at, before + (last + 1 - from)));
                None
            }
            _ => None,
        };
        self.marks.extend(mark);
    }

    fn datagram(&mut self, record: &Record<Event>, event: &DatagramEvent) {
        let (at, seq, from) = (record.at, record.seq, record.node);
        match event {
            DatagramEvent::Sent { id, to, n, bytes, due, blocks } => {
                let again = |label: &Label| matches!(label, Label::Data { again: Some(_), .. });
                self.fly(Arrow {
                    id: *id,
                    n: *n,
                    seq,
                    from,
                    to: *to,
                    sent: at,
                    due: *due,
                    at: None,
                    fate: ArrowFate::Flying,
                    why: None,
                    copy_of: None,
                    again: blocks.iter().any(again),
                    bytes: *bytes,
                    blocks: blocks.clone(),
                });
            }
            DatagramEvent::Duplicated { id, copy, due, .. } => {
                if let Some(original) = self.flying.get(&(id.0 as u64)) {
                    let original = self.arrows[*original].clone();
                    let (id, copy_of) = (*copy, Some(*id));
                    self.fly(Arrow { id, seq, sent: at, due: *due, copy_of, ..original });
                }
            }
            DatagramEvent::Delayed { id, due, .. } => {
                if let Some(arrow) = self.flying.get(&(id.0 as u64)) {
                    let arrow = &mut self.arrows[*arrow];
                    (arrow.due, arrow.why) = (*due, Some(LossCause::Delay));
                }
            }
            DatagramEvent::Arrived { id, .. } => self.ends(*id, at, ArrowFate::Arrived, None),
            DatagramEvent::Lost { id, why, .. } => {
                self.ends(*id, at, ArrowFate::Lost, Some(LossCause::Loss(*why)));
            }
        }
    }

    fn fly(&mut self, arrow: Arrow) {
        self.flying.insert(arrow.id.0 as u64, self.arrows.len());
        self.arrows.push(arrow);
    }

    fn ends(&mut self, id: DatagramId, at: Instant, fate: ArrowFate, why: Option<LossCause>) {
        let Some(arrow) = self.flying.remove(&(id.0 as u64)) else { return };
        let arrow = &mut self.arrows[arrow];
        (arrow.at, arrow.fate) = (Some(at), fate);
        arrow.why = why.or(arrow.why);
        self.longest = self.longest.max(arrow.due.max(at).since(arrow.sent));
    }

    /// Messages written until an instant.
    pub(super) fn written_until(&self, at: Instant) -> u64 {
        let known = self.written.partition_point(|(when, _)| *when <= at);
        known.checked_sub(1).map_or(0, |i| self.written[i].1)
    }

    /// All arrows and all marks, each in order of time.
    pub(super) fn known(&self) -> (&[Arrow], &[LifelineMark]) {
        (&self.arrows, &self.marks)
    }

    /// Datagrams in transit between two instants, oldest first, limited in
    /// number.
    pub fn arrows(
        &self,
        from: Instant,
        to: Instant,
        most: usize,
    ) -> impl Iterator<Item = &Arrow> + '_ {
        // Those without a known end may have been in transit for any time;
        // there are few of them.
        let first = self.arrows.partition_point(|arrow| arrow.sent + self.longest < from);
        let early = self.flying.values().copied().filter(move |arrow| *arrow < first);
        let early = early.map(|arrow| &self.arrows[arrow]);
        let later = self.arrows[first..].iter().take_while(move |arrow| arrow.sent <= to);
        let touches = move |arrow: &&Arrow| {
            arrow.fate == ArrowFate::Flying || arrow.at.unwrap_or(arrow.due).max(arrow.due) >= from
        };
        early.chain(later).filter(touches).take(most)
    }

    /// What happened between two instants. When there is more than `most`,
    /// whole kinds are left out, the most frequent first.
    #[must_use]
    pub fn marks(&self, from: Instant, to: Instant, most: usize) -> Vec<&LifelineMark> {
        let first = self.marks.partition_point(|mark| mark.at < from);
        let last = self.marks.partition_point(|mark| mark.at <= to);
        let mut marks: Vec<&LifelineMark> =
            self.marks.get(first..last).unwrap_or_default().iter().collect();
        for kind in ["delivered", "acked", "task"] {
            if marks.len() > most {
                marks.retain(|mark| mark.kind != kind);
            }
        }
        marks.truncate(most);
        marks
    }
}

const fn of_world(event: &UnicastIncident) -> &'static str {
    match event {
        UnicastIncident::Cut { .. } => "cut",
        UnicastIncident::Healed { .. } => "healed",
        UnicastIncident::Crashed => "crashed",
        UnicastIncident::Restarted => "restarted",
        UnicastIncident::Stalled => "stalled",
        UnicastIncident::Resumed => "resumed",
        UnicastIncident::Forgot { .. } => "forgot",
    }
}

impl LifelineMark {
    /// The mark for what happened on a connection, if it has one; `self` says
    /// when, and to which end.
    #[must_use]
    pub fn mark(self, event: &unicast::Event) -> Option<Self> {
        use unicast::Event as E;
        let on =
            |kind, conn: &UnicastConnId| LifelineMark { kind, conn: Some(*conn), ..self.clone() };
        let span = |kind, conn: &UnicastConnId, from: &u64, to: &u64| {
            let (conn, from, to) = (Some(*conn), Some(*from), Some(*to));
            LifelineMark { kind, conn, from, to, ..self.clone() }
        };
        Some(match event {
            E::Task { .. } => LifelineMark { kind: "task", ..self },
            E::Opened { conn, side, next, .. } => {
                LifelineMark { side: Some(*side), next: Some(*next), ..on("opened", conn) }
            }
            E::Closing { conn, side, why, .. } => LifelineMark {
                side: Some(*side),
                why: Some(Reason::Ending(*why)),
                ..on("closing", conn)
            },
            E::Reopened { conn, side, .. } => {
                LifelineMark { side: Some(*side), ..on("reopened", conn) }
            }
            E::Closed { conn, side, last, why, .. } => LifelineMark {
                side: Some(*side),
                last: Some(*last),
                why: Some(Reason::Ending(*why)),
                ..on("closed", conn)
            },
            E::Delivered { conn, number, .. } => {
                LifelineMark { seq_no: Some(*number), ..on("delivered", conn) }
            }
            E::Acked { conn, highest_acked, highest_sent, .. } => LifelineMark {
                ha: Some(*highest_acked),
                hs: Some(*highest_sent),
                ..on("acked", conn)
            },
            E::Resent { conn, from, to, why, .. } => {
                LifelineMark { why: Some(Reason::Again(*why)), ..span("resent", conn, from, to) }
            }
            E::Requested { conn, from, to, count, .. } => {
                LifelineMark { count: Some(*count), ..span("requested", conn, from, to) }
            }
            E::FirstRequested { conn, .. } => on("first_requested", conn),
            E::Undelivered { conn, from, to, .. } => span("undelivered", conn, from, to),
            E::Duplicate { conn, from, to, .. } => span("duplicate", conn, from, to),
            E::Rejected { conn, why, .. } => {
                LifelineMark { why: Some(Reason::Rejection(*why)), ..on("rejected", conn) }
            }
            E::PeerUnreachable { .. } => LifelineMark { kind: "unreachable", ..self },
            E::Controlled { conn, rate, window, .. } => {
                LifelineMark { rate: *rate, window: Some(*window), ..on("controlled", conn) }
            }
            E::Full { .. } => LifelineMark { kind: "full", ..self },
            E::Writable { .. } => LifelineMark { kind: "writable", ..self },
            // Sending and receiving are drawn as arrows.
            _ => return None,
        })
    }
}
