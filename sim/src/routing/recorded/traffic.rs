//! The data for drawing an overlay of which some nodes were recorded: what passed
//! between them and their neighbours, and what they knew of it.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec;
use alloc::vec::Vec;

use crate::routing::shown::chart::{Journey, Leg, fate};
use crate::routing::shown::tally::{KindTally, TallyView};
use crate::routing::shown::totals::RoutingTotals;
use servent_core::id::Guid;
use servent_core::routing::DropReason;
use servent_core::time::{Duration, Instant};
use servent_core::wire::gnutella::MessageKind;

/// How long a message is drawn on its way when only one end of it was recorded.
pub const WAY: Duration = Duration::from_millis(40);

/// The messages of recorded nodes, and the links between them and others.
#[derive(Debug, Clone, Default)]
pub struct Traffic {
    /// Nodes, recorded and others.
    nodes: u32,
    /// Both ends of each link.
    wires: Vec<[u32; 2]>,
    between: BTreeMap<[u32; 2], u32>,
    /// When a connection of a link was opened or closed, in order.
    turns: Vec<(Instant, u32, bool)>,
    legs: Vec<Leg>,
    longest: Duration,
    journeys: Vec<Journey>,
    numbers: BTreeMap<Guid, u32>,
    /// When hits reached who had searched.
    hits: Vec<Instant>,
}

impl Traffic {
    /// There are so many nodes.
    pub fn set_nodes(&mut self, nodes: u32) {
        self.nodes = nodes;
    }

    /// The link between two nodes.
    pub fn wire(&mut self, a: u32, b: u32) -> u32 {
        let ends = [a.min(b), a.max(b)];
        *self.between.entry(ends).or_insert_with(|| {
            self.wires.push(ends);
            self.wires.len() as u32 - 1
        })
    }

    /// A connection of a link was opened or closed.
    pub fn turn(&mut self, at: Instant, wire: u32, opened: bool) {
        self.turns.push((at, wire, opened));
    }

    /// A message; its search or push begins with the first one of it, unless more
    /// is told of that.
    pub fn pass(&mut self, guid: Guid, leg: Leg, told: impl FnOnce(Journey) -> Journey) {
        let journey = self.journey(guid, &leg, told);
        self.longest = self.longest.max(leg.arrives.since(leg.departs));
        let home = leg.kind == MessageKind::Hit && leg.fate == fate::LOCAL;
        if home {
            self.hits.push(leg.arrives);
        }
        if let Some(journey) = journey.and_then(|number| self.journeys.get_mut(number as usize)) {
            if leg.kind == MessageKind::Hit {
                journey.found += u32::from(home);
            } else {
                journey.messages += 1;
                journey.duplicates += u32::from(leg.fate == fate::dropped(DropReason::Duplicate));
                journey.reached += u32::from(leg.fate < fate::DROPPED);
            }
        }
        self.legs.push(Leg { journey, ..leg });
    }

    /// Everything is in the order of time from now on.
    pub fn sort(&mut self) {
        self.turns.sort_by_key(|(at, ..)| *at);
        self.legs.sort_by_key(|leg| leg.departs);
        self.hits.sort_unstable();
    }

    fn journey(
        &mut self,
        id: Guid,
        leg: &Leg,
        told: impl FnOnce(Journey) -> Journey,
    ) -> Option<u32> {
        if let Some(number) = self.numbers.get(&id) {
            return Some(*number);
        }
        if !matches!(leg.kind, MessageKind::Query | MessageKind::Push) {
            return None;
        }
        let number = self.journeys.len() as u32;
        self.numbers.insert(id, number);
        let (node, at, seq) = (leg.from, leg.departs, leg.seq);
        self.journeys.push(told(Journey { id, node, at, seq, ..Journey::default() }));
        Some(number)
    }

    /// Searches and pushes, in the order in which they began.
    #[must_use]
    pub fn journeys(&self) -> &[Journey] {
        &self.journeys
    }

    /// All messages, in the order of their departure.
    #[must_use]
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// Messages in transit at some moment between two instants, with their
    /// numbers, by when they left.
    pub fn flights(&self, from: Instant, to: Instant) -> impl Iterator<Item = (u32, &Leg)> {
        let first = self.legs.partition_point(|leg| leg.departs + self.longest < from);
        let legs = (first as u32..).zip(&self.legs[first..]);
        let legs = legs.take_while(move |(_, leg)| leg.departs <= to);
        legs.filter(move |(_, leg)| leg.arrives >= from)
    }

    /// Both ends of every link.
    #[must_use]
    pub fn wires(&self) -> &[[u32; 2]] {
        &self.wires
    }

    /// Which links are up at an instant, and how often that had changed.
    #[must_use]
    pub fn up(&self, at: Instant) -> (Vec<bool>, usize) {
        let known = self.turns.partition_point(|(when, ..)| *when <= at);
        let mut open = vec![0_i32; self.wires.len()];
        for (_, wire, opened) in &self.turns[..known] {
            open[*wire as usize] += if *opened { 1 } else { -1 };
        }
        (open.into_iter().map(|open| open > 0).collect(), known)
    }

    /// What had happened to the messages of a node by an instant; without a
    /// node, of all.
    #[must_use]
    pub fn tally(&self, node: Option<u32>, at: Instant) -> TallyView {
        let mut kinds: BTreeMap<usize, KindTally> = BTreeMap::new();
        let mut reasons: BTreeMap<usize, u64> = BTreeMap::new();
        let (mut flying, mut lost) = (0, 0);
        for leg in self.legs.iter().take_while(|leg| leg.departs <= at) {
            let place = MessageKind::ALL.iter().position(|kind| *kind == leg.kind).unwrap_or(0);
            let of = || KindTally { kind: leg.kind, sent: 0, arrived: 0, dropped: 0 };
            let kind = kinds.entry(place).or_insert_with(of);
            kind.sent += u64::from(node.is_none_or(|node| node == leg.from));
            if leg.arrives > at {
                flying += 1;
            } else if leg.fate >= fate::LOST {
                lost += u64::from(node.is_none_or(|node| node == leg.from));
            } else if node.is_none_or(|node| node == leg.to) {
                kind.arrived += 1;
                if leg.fate >= fate::DROPPED {
                    kind.dropped += 1;
                    *reasons.entry((leg.fate - fate::DROPPED) as usize).or_default() += 1;
                }
            }
        }
        let kinds: Vec<KindTally> = kinds.into_values().collect();
        let sum = |of: fn(&KindTally) -> u64| kinds.iter().map(of).sum::<u64>();
        let (arrived, dropped) = (sum(|k| k.arrived), sum(|k| k.dropped));
        let reason = |(i, count)| DropReason::ALL.get(i).map(|why| (*why, count));
        let reasons: Vec<(DropReason, u64)> = reasons.into_iter().filter_map(reason).collect();
        let twice = reasons.iter().find(|(why, _)| *why == DropReason::Duplicate);
        TallyView {
            sent: sum(|k| k.sent),
            arrived,
            useful: arrived - dropped,
            duplicate: twice.map_or(0, |(_, count)| *count),
            dropped,
            lost,
            flying,
            reasons,
            kinds,
        }
    }

    /// The totals up to an instant. How many servents have what was searched
    /// for, is unknown.
    #[must_use]
    pub fn totals(&self, at: Instant) -> RoutingTotals {
        let hits = self.hits.partition_point(|hit| *hit <= at) as u32;
        let messages = self.legs.partition_point(|leg| leg.departs <= at) as u64;
        let newest = self.journeys.iter().rposition(|journey| journey.at <= at);
        let reached: BTreeSet<u32> = newest.map_or_else(BTreeSet::new, |number| {
            let begun = self.journeys[number].node;
            let of =
                |leg: &&Leg| leg.journey == Some(number as u32) && leg.kind != MessageKind::Hit;
            let came = |leg: &&Leg| leg.arrives <= at && leg.fate < fate::LOST && leg.to != begun;
            self.legs.iter().filter(of).filter(came).map(|leg| leg.to).collect()
        });
        let (reached, nodes) = (reached.len() as u32, self.nodes.saturating_sub(1));
        RoutingTotals { messages, hits, found: hits, existing: 0, reached, nodes }
    }
}
