//! The data for drawing an overlay, from its records: where every message was
//! when, and what belongs to one search.

use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;

use crate::routing::event::{Event, MessageEvent, MessageLoss, MessageOutcome, SearchEvent};
use crate::routing::net::Net;
use servent_core::id::Guid;
use servent_core::routing::DropReason;
use servent_core::time::{Duration, Instant};
use servent_core::trace::{NodeId, Record};
use servent_core::wire::gnutella::MessageKind;

/// The fate of a message as a number, because the page reads thousands of them
/// for each frame.
pub mod fate {
    use super::{DropReason, MessageLoss};

    /// Not known yet.
    pub const FLYING: u8 = 0;
    /// It was forwarded.
    pub const FORWARDED: u8 = 1;
    /// It reached its destination.
    pub const LOCAL: u8 = 2;
    /// It was dropped: this plus the index of the reason in [`DropReason::ALL`].
    pub const DROPPED: u8 = 10;
    /// It was lost: this plus the index of the reason.
    pub const LOST: u8 = 40;

    /// The fate of a message dropped for this reason.
    #[must_use]
    pub const fn dropped(why: DropReason) -> u8 {
        DROPPED + why as u8
    }

    /// The fate of a message lost for this reason.
    #[must_use]
    pub const fn lost(why: MessageLoss) -> u8 {
        LOST + why as u8
    }
}

/// One message on one link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Leg {
    /// The sender.
    pub from: u32,
    /// The receiver.
    pub to: u32,
    /// The link.
    pub wire: u32,
    /// The search or push it belongs to.
    pub journey: Option<u32>,
    /// When it left.
    pub departs: Instant,
    /// When it arrived, or was lost; until that is known, when it is due.
    pub arrives: Instant,
    /// The record of its sending.
    pub seq: u64,
    /// The kind of message.
    pub kind: MessageKind,
    /// Its [`fate`].
    pub fate: u8,
    /// Hops before this one.
    pub hops: u8,
}

/// A search, a push, or a query of a flood, with its results.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Journey {
    /// Its GUID.
    pub id: Guid,
    /// For a push, the node it is for.
    pub of: Option<NodeId>,
    /// It is part of a flood.
    pub flood: bool,
    /// The node that began it.
    pub node: u32,
    /// The words of a search.
    pub words: String,
    /// When it began.
    pub at: Instant,
    /// The record of its start.
    pub seq: u64,
    /// Its messages, without hits.
    pub messages: u32,
    /// Of these, how many came twice.
    pub duplicates: u32,
    /// How many nodes accepted it.
    pub reached: u32,
    /// How many hits have reached the searching node.
    pub found: u32,
}

/// An entry that a node has added to its tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableEntry {
    pub(crate) at: Instant,
    pub(crate) what: Thing,
}

/// The kind of entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Thing {
    /// A query.
    Query(u32),
    /// A push.
    Push(u32),
    /// A route to the servent of that node.
    Servent(u32),
}

/// All drawing data of one branch, as far as it is known.
#[derive(Debug, Clone, Default)]
pub struct Chart {
    legs: Vec<Leg>,
    /// The longest transit time of any message.
    longest: Duration,
    journeys: Vec<Journey>,
    numbers: BTreeMap<Guid, u32>,
    seen: BTreeMap<u32, Vec<TableEntry>>,
    home: Vec<Home>,
    /// When nodes accepted a search, by search.
    taken: BTreeMap<u32, Vec<Instant>>,
    refusals: Vec<ConnectRefusal>,
}

/// A node could not connect to another one, which is behind a firewall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConnectRefusal {
    /// When.
    pub at: Instant,
    /// Who wanted to connect.
    pub from: u32,
    /// Who is behind the firewall.
    pub by: u32,
}

/// A hit that reached the searching node: for which search, and from which node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Home {
    at: Instant,
    pub(crate) journey: u32,
    pub(crate) of: u32,
}

impl Chart {
    /// Processes the next record.
    pub fn observe(&mut self, net: &Net, record: &Record<Event>) {
        let node = record.node.0;
        match &record.event {
            Event::Message(message) => self.message(net, record, message),
            Event::App(SearchEvent::Searched { guid, words }) => {
                let words = words.clone();
                self.begin(record, Journey { id: *guid, words, ..Journey::default() });
                self.remember(node, record.at, *guid, Thing::Query);
            }
            Event::App(SearchEvent::Asked { guid, of }) => {
                self.begin(record, Journey { id: *guid, of: Some(*of), ..Journey::default() });
                self.remember(node, record.at, *guid, Thing::Push);
            }
            Event::App(SearchEvent::Flooded { guid }) => {
                self.begin(record, Journey { id: *guid, flood: true, ..Journey::default() });
            }
            Event::App(SearchEvent::Found { guid, of, .. }) => {
                if let Some(journey) = self.journey_mut(*guid) {
                    journey.found += 1;
                }
                if let (Some(journey), Some(of)) = (self.numbers.get(guid), of) {
                    self.home.push(Home { at: record.at, journey: *journey, of: of.0 });
                }
            }
            Event::App(SearchEvent::Refused { by }) => {
                self.refusals.push(ConnectRefusal { at: record.at, from: node, by: by.0 });
            }
            Event::App(_) | Event::Routing(_) | Event::World(_) => {}
        }
    }

    fn begin(&mut self, record: &Record<Event>, journey: Journey) {
        self.numbers.insert(journey.id, self.journeys.len() as u32);
        let (node, at, seq) = (record.node.0, record.at, record.seq);
        self.journeys.push(Journey { node, at, seq, ..journey });
    }

    fn remember(&mut self, node: u32, at: Instant, guid: Guid, thing: impl Fn(u32) -> Thing) {
        if let Some(number) = self.numbers.get(&guid) {
            let what = thing(*number);
            self.seen.entry(node).or_default().push(TableEntry { at, what });
        }
    }

    fn journey_mut(&mut self, guid: Guid) -> Option<&mut Journey> {
        let number = *self.numbers.get(&guid)?;
        self.journeys.get_mut(number as usize)
    }

    fn message(&mut self, net: &Net, record: &Record<Event>, message: &MessageEvent) {
        let (at, node) = (record.at, record.node.0);
        match message {
            MessageEvent::Sent { to, kind, guid, hops, due, .. } => {
                let journey = self.numbers.get(guid).copied();
                self.legs.push(Leg {
                    from: node,
                    to: to.0,
                    wire: net.between(to.0, node).unwrap_or(u32::MAX),
                    journey,
                    departs: at,
                    arrives: *due,
                    seq: record.seq,
                    kind: *kind,
                    fate: fate::FLYING,
                    hops: *hops,
                });
                self.longest = self.longest.max(due.since(at));
                if let Some(journey) = self.journey_mut(*guid).filter(|_| *kind != MessageKind::Hit)
                {
                    journey.messages += 1;
                }
            }
            MessageEvent::Judged { id, kind, guid, verdict, why, of, .. } => {
                let fate = match (verdict, why) {
                    (_, Some(why)) => fate::dropped(*why),
                    (MessageOutcome::Forwarded, _) => fate::FORWARDED,
                    _ => fate::LOCAL,
                };
                self.ends(*id, at, fate);
                self.judged(node, at, (*kind, *guid, *of), fate);
            }
            MessageEvent::Lost { id, why, .. } => self.ends(*id, at, fate::lost(*why)),
        }
    }

    fn ends(&mut self, id: u64, at: Instant, fate: u8) {
        // Messages are numbered in the order of sending.
        let Some(leg) = self.legs.get_mut(id as usize) else { return };
        (leg.arrives, leg.fate) = (at, fate);
    }

    fn judged(
        &mut self,
        node: u32,
        at: Instant,
        (kind, guid, of): (MessageKind, Guid, Option<NodeId>),
        fate: u8,
    ) {
        let taken = fate < fate::DROPPED;
        if let Some(journey) = self.journey_mut(guid) {
            if fate == fate::dropped(DropReason::Duplicate) && kind != MessageKind::Hit {
                journey.duplicates += 1;
            }
            if taken && kind != MessageKind::Hit {
                journey.reached += 1;
                if let Some(number) = self.numbers.get(&guid) {
                    self.taken.entry(*number).or_default().push(at);
                }
            }
        }
        match (kind, of) {
            (MessageKind::Query, _) if taken => self.remember(node, at, guid, Thing::Query),
            (MessageKind::Push, _) if fate != fate::dropped(DropReason::Duplicate) => {
                self.remember(node, at, guid, Thing::Push);
            }
            (MessageKind::Hit, Some(of)) if taken => {
                self.seen
                    .entry(node)
                    .or_default()
                    .push(TableEntry { at, what: Thing::Servent(of.0) });
            }
            _ => {}
        }
    }

    /// All known connections that a firewall prevented, in order.
    #[must_use]
    pub fn refusals(&self) -> &[ConnectRefusal] {
        &self.refusals
    }

    /// All known messages, in order of departure.
    #[must_use]
    pub fn legs(&self) -> &[Leg] {
        &self.legs
    }

    /// Searches, pushes and queries of floods, in the order in which they
    /// began.
    #[must_use]
    pub fn journeys(&self) -> &[Journey] {
        &self.journeys
    }

    /// Messages in transit at some moment between two instants, with their
    /// numbers, oldest first.
    pub fn flights(&self, from: Instant, to: Instant) -> impl Iterator<Item = (u32, &Leg)> {
        let first = self.legs.partition_point(|leg| leg.departs + self.longest < from);
        let later = self.legs[first..].iter().take_while(move |leg| leg.departs <= to);
        let numbered = later.zip(first as u32..).map(|(leg, number)| (number, leg));
        numbered.filter(move |(_, leg)| leg.arrives >= from)
    }

    /// Hits that had reached their search by an instant.
    pub(crate) fn found_until(&self, at: Instant) -> &[Home] {
        &self.home[..self.home.partition_point(|home| home.at <= at)]
    }

    /// How many nodes had accepted the newest search by an instant.
    pub(crate) fn reached_until(&self, at: Instant) -> u32 {
        let begun = |(_, journey): &(u32, &Journey)| !journey.flood && journey.at <= at;
        let newest = (0..).zip(&self.journeys).filter(begun).last();
        let taken = newest.and_then(|(number, _)| self.taken.get(&number));
        taken.map_or(0, |taken| taken.partition_point(|when| *when <= at) as u32)
    }

    /// The entries a node had added to its tables by an instant.
    pub(crate) fn seen(&self, node: u32, until: Instant) -> &[TableEntry] {
        let all = self.seen.get(&node).map_or(&[][..], Vec::as_slice);
        &all[..all.partition_point(|seen| seen.at <= until)]
    }
}
