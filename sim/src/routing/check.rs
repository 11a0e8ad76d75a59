//! Oracles: what must be true of any run of an overlay, checked on its records
//! alone.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Debug;

use super::event::{Event, MessageEvent, MessageOutcome, RoutingIncident, SearchEvent};
use super::links::wire_of;
use super::net::Net;
use super::scenario::Scenario;
use crate::check::{Oracle, RecordViolations, Violation};
use servent_core::id::Guid;
use servent_core::routing::{self, Config, DropReason, PushRouting, Which};
use servent_core::time::Instant;
use servent_core::trace::{NodeId, Record};
use servent_core::wire::gnutella::MessageKind;

/// A message between two records.
#[derive(Debug, Clone, Copy)]
struct CheckedFlight {
    from: u32,
    to: u32,
    due: Instant,
    said: ImmutableParts,
}

/// The parts of a message that must not change in transit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct ImmutableParts {
    kind: MessageKind,
    guid: Guid,
    of: Option<NodeId>,
    set: u32,
    ttl: u8,
    hops: u8,
}

/// The message processed last.
#[derive(Debug, Clone, Copy)]
struct ProcessedMessage {
    seq: u64,
    node: u32,
    from: u32,
    said: ImmutableParts,
    verdict: MessageOutcome,
}

/// A message that a node accepted, and from which neighbour; `None`: its own.
#[derive(Debug, Clone, Copy)]
struct Took {
    boot: u32,
    at: Instant,
    from: Option<u32>,
    /// The connection it came over has closed since.
    gone: bool,
    /// A query that arrived with a TTL of 1 and may come again.
    probe: bool,
    /// The neighbour it came from before that, which may still be the route
    /// back.
    before: Option<u32>,
}

/// Prefixes that distinguish keys of different kinds.
const QUERY: u64 = 0;
const PUSH: u64 = 1;
const SERVENT: u64 = 2;
const HIT: u64 = 3;
const OWN: u64 = 4;
/// A search of a leaf that the node conducts (RT-18).
const LED: u64 = 5;

/// All oracles over a world.
#[derive(Debug, Clone, Default)]
pub struct RoutingOracles {
    config: Config,
    net: Option<Net>,
    /// The first node that is a leaf; all later ones are too.
    leaves_from: u32,
    /// The first node with the servent id of each node.
    bearers: Vec<u32>,
    /// Restarts of each node so far.
    boots: Vec<u32>,
    guids: BTreeMap<Guid, u32>,
    flying: BTreeMap<u64, CheckedFlight>,
    last: Option<ProcessedMessage>,
    /// By node, kind and number.
    took: BTreeMap<(u64, u64), Took>,
    /// Nodes behind a firewall.
    walled: BTreeSet<u32>,
    /// Searches and pushes begun by each node.
    own: Vec<u32>,
    /// Messages may arrive at any time.
    open: bool,
    sent: u64,
    ended: u64,
    violations: Vec<Violation>,
}

impl RoutingOracles {
    /// For a scenario: the rules depend on its configuration.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let mut bearers: Vec<u32> = (0..scenario.nodes).collect();
        for (first, second) in &scenario.twins {
            bearers[second.0 as usize] = bearers[first.0 as usize];
        }
        let none = alloc::vec![0; scenario.nodes as usize];
        Self {
            config: scenario.config.clone(),
            net: Some(Net::new(scenario)),
            leaves_from: scenario.nodes.saturating_sub(scenario.leaves),
            bearers,
            boots: none.clone(),
            own: none,
            ..Self::default()
        }
    }

    /// For a world in which messages may arrive at any time.
    #[must_use]
    pub const fn open_timing(mut self) -> Self {
        self.open = true;
        self
    }

    /// All that further judgements depend on, whatever order it was heard in.
    pub(super) fn future(&self) -> impl Debug + '_ {
        let flying = |flight: &CheckedFlight| (flight.from, flight.to, flight.said);
        let mut flying: Vec<_> = self.flying.values().map(flying).collect();
        flying.sort_unstable();
        let Self { guids, boots, took, walled, own, violations, .. } = self;
        (flying, guids, boots, took, walled, own, violations)
    }

    fn peer(&self, node: u32, wire: u32) -> Option<u32> {
        self.net.as_ref()?.wires().get(wire as usize).map(|link| link.other(node))
    }

    fn number(&mut self, guid: Guid) -> u64 {
        let next = self.guids.len() as u32;
        (*self.guids.entry(guid).or_insert_with(|| next)).into()
    }

    fn boot(&self, node: u32) -> u32 {
        self.boots.get(node as usize).copied().unwrap_or_default()
    }

    /// What a node has accepted since its last restart.
    fn taken(&mut self, node: u32, key: (u64, u64)) -> Option<Took> {
        let took = self.took.get(&(u64::from(node) << 32 | key.0, key.1)).copied();
        took.filter(|took| took.boot == self.boot(node))
    }

    fn take(&mut self, node: u32, key: (u64, u64), at: Instant, from: Option<u32>) {
        let boot = self.boot(node);
        let took = Took { boot, at, from, gone: false, probe: false, before: None };
        self.took.insert((u64::from(node) << 32 | key.0, key.1), took);
    }

    /// A connection has closed: what came over it before, and only that, has no way
    /// back. It counts what was recorded first, not the instants: much may happen
    /// within one.
    fn lose_ways(&mut self, node: u32, peer: u32) {
        let (first, last) = (u64::from(node) << 32, u64::from(node) << 32 | u64::from(u32::MAX));
        let came = self.took.range_mut((first, 0)..=(last, u64::MAX)).map(|(_, took)| took);
        came.filter(|took| took.from == Some(peer)).for_each(|took| took.gone = true);
    }

    fn app(
        &mut self,
        record: &Record<Event>,
        event: &SearchEvent,
        found: &mut RecordViolations<'_>,
    ) {
        let node = record.node.0;
        match event {
            SearchEvent::Searched { guid, .. } => {
                let number = self.number(*guid);
                self.take(node, (QUERY, number), record.at, None);
                self.take(node, (OWN, number), record.at, None);
                self.own[node as usize] += 1;
            }
            SearchEvent::Asked { guid, .. } => {
                let number = self.number(*guid);
                self.take(node, (PUSH, number), record.at, None);
                self.own[node as usize] += 1;
            }
            SearchEvent::Found { guid, .. } => {
                // A node that did not ask gets no answers (RT-2).
                let number = self.number(*guid);
                let took = self.taken(node, (QUERY, number));
                if took.is_none_or(|took| took.from.is_some()) {
                    found.violation("way_back", "check.not_asked", [("guid", hex(*guid))]);
                }
            }
            SearchEvent::Answered { .. }
            | SearchEvent::NoWay { .. }
            | SearchEvent::Obeyed { .. }
            | SearchEvent::Flooded { .. }
            | SearchEvent::Refused { .. } => {}
        }
    }

    fn message(
        &mut self,
        record: &Record<Event>,
        event: &MessageEvent,
        found: &mut RecordViolations<'_>,
    ) {
        match event {
            MessageEvent::Sent { id, to, kind, guid, ttl, hops, due, of, set, .. } => {
                let (kind, guid, of, set) = (*kind, *guid, *of, *set);
                let said = ImmutableParts { kind, guid, of, set, ttl: *ttl, hops: *hops };
                let flight = CheckedFlight { from: record.node.0, to: to.0, due: *due, said };
                self.sent += 1;
                if self.flying.insert(*id, flight).is_some() {
                    found.violation("conservation", "check.sent_twice", [("id", format!("{id}"))]);
                }
                self.leaves(record, &flight, found);
            }
            MessageEvent::Judged {
                id, from, kind, guid, ttl, hops, verdict, why, of, set, ..
            } => {
                let (kind, guid, of, set) = (*kind, *guid, *of, *set);
                let said = ImmutableParts { kind, guid, of, set, ttl: *ttl, hops: *hops };
                self.ended += 1;
                let same =
                    |f: &CheckedFlight| (f.from, f.to, f.said) == (from.0, record.node.0, said);
                let is_late = |f: &CheckedFlight| !self.open && f.due != record.at;
                let is_wrong = |f: &CheckedFlight| !same(f) || is_late(f);
                let flight = self.flying.remove(id);
                if flight.as_ref().is_none_or(is_wrong) {
                    found.violation("conservation", "check.never_sent", [("id", format!("{id}"))]);
                }
                let (seq, node, verdict) = (record.seq, record.node.0, *verdict);
                let judged = ProcessedMessage { seq, node, from: from.0, said, verdict };
                self.last = Some(judged);
                self.judged(record.at, &judged, *why, found);
            }
            MessageEvent::Lost { id, .. } => {
                self.ended += 1;
                if self.flying.remove(id).is_none() {
                    found.violation("conservation", "check.never_sent", [("id", format!("{id}"))]);
                }
            }
        }
    }

    /// Checks what is sent: never beyond its TTL, never after it was dropped,
    /// never back to its sender, and answers only along the route of their
    /// query.
    fn leaves(
        &mut self,
        record: &Record<Event>,
        flight: &CheckedFlight,
        found: &mut RecordViolations<'_>,
    ) {
        let CheckedFlight { from: node, to, said, .. } = *flight;
        let told = || [("guid", hex(said.guid)), ("to", format!("{to}"))];
        // A query is passed on to leaves even when its TTL is spent.
        let end = said.kind == MessageKind::Query && said.ttl == 1 && to >= self.leaves_from;
        let most = u32::from(self.config.max_ttl) + u32::from(end);
        if u32::from(said.ttl) + u32::from(said.hops) > most {
            found.violation("ttl", "check.too_far", told());
        }
        let caused = |last: &&ProcessedMessage| Some(last.seq) == record.cause && last.node == node;
        if let Some(last) = self.last.as_ref().filter(caused)
            && (last.said.kind, last.said.guid) == (said.kind, said.guid)
        {
            // An ultrapeer conducts the search of its leaf (RT-18).
            let led = said.kind == MessageKind::Query
                && self.config.dynamic
                && last.from >= self.leaves_from;
            let allowed = if led {
                last.verdict != MessageOutcome::Dropped
            } else {
                last.verdict == MessageOutcome::Forwarded
            };
            if !allowed {
                found.violation("verdict", "check.dropped_and_sent", told());
            }
            let ImmutableParts { ttl, hops, .. } = last.said;
            let on = ImmutableParts { ttl: said.ttl, hops: hops + 1, ..last.said };
            let end = end && ttl <= 1;
            if said != on || (said.ttl >= ttl && !led && !end) {
                found.violation("ttl", "check.changed", told());
            }
            if to == last.from {
                found.violation("loop", "check.sent_back", told());
            }
        }
        let number = self.number(said.guid);
        if said.kind == MessageKind::Query
            && said.hops == 0
            && self.taken(node, (OWN, number)).is_some()
        {
            // A new neighbour is asked too, and the answers are for this node
            // again.
            self.take(node, (QUERY, number), record.at, None);
        }
        if said.kind == MessageKind::Query
            && record.cause.is_none()
            && let Some(led) = self.taken(node, (LED, number))
        {
            // The next step of a leaf's search: the answers are for the leaf.
            self.take(node, (QUERY, number), record.at, led.from);
        }
        if said.kind == MessageKind::Hit {
            let took = self.taken(node, (QUERY, number));
            let way =
                |took: &Took| took.before == Some(to) || (took.from == Some(to) && !took.gone);
            if !took.as_ref().is_some_and(way) {
                found.violation("way_back", "check.not_the_way", told());
            }
        }
        if let (MessageKind::Push, Some(of)) = (said.kind, said.of)
            && self.config.push_routing == PushRouting::Standard
        {
            let servent = self.bearers[of.0 as usize].into();
            let way = self.taken(node, (SERVENT, servent));
            // The node that begins a push may send it to the neighbour that
            // brought the hit.
            let own = self.taken(node, (PUSH, number)).is_some_and(|took| took.from.is_none());
            let right = |way: &Took| way.before == Some(to) || (way.from == Some(to) && !way.gone);
            if !own && !way.as_ref().is_some_and(right) {
                found.violation("way_back", "check.not_the_way", told());
            }
        }
    }

    /// Checks what arrives: it is accepted once, and dropped only for a reason
    /// that the records support.
    fn judged(
        &mut self,
        at: Instant,
        it: &ProcessedMessage,
        why: Option<DropReason>,
        found: &mut RecordViolations<'_>,
    ) {
        let ProcessedMessage { node, from, said, verdict, .. } = *it;
        let told = || [("guid", hex(said.guid)), ("from", format!("{from}"))];
        if (verdict == MessageOutcome::Dropped) != why.is_some() {
            found.violation("verdict", "check.no_reason", told());
        }
        let number = self.number(said.guid);
        let (key, life) = match said.kind {
            MessageKind::Query => ((QUERY, number), self.config.query_life),
            MessageKind::Push => ((PUSH, number), self.config.duplicate_life),
            MessageKind::Hit => {
                ((HIT | u64::from(said.set) << 2, number), self.config.duplicate_life)
            }
            _ => return,
        };
        // Each kind has its own numbers; hits are also distinguished by their
        // content.
        let key = (key.0 & 3, key.1 | key.0 >> 2 << 32);
        let life = life.scaled(self.config.time_scale);
        let known = self.taken(node, key);
        let again = known.is_some_and(|known| at < known.at + life);
        let farther = known.is_some_and(|known| known.probe) && said.ttl > 1;
        if verdict != MessageOutcome::Dropped && again && !farther {
            found.violation("once", "check.twice", told());
        }
        if why == Some(DropReason::Duplicate) && known.is_none() {
            found.violation("once", "check.never_seen", told());
        }
        if said.kind == MessageKind::Hit {
            self.answer(at, it, why, found);
        }
        if why == Some(DropReason::NoRoute) && said.kind == MessageKind::Push {
            self.lost_way(at, it, found);
        }
        let remembered = match why {
            None => true,
            Some(DropReason::TtlSpent) => said.kind != MessageKind::Query,
            Some(DropReason::NoRoute | DropReason::RouteGone | DropReason::WayItCame) => {
                said.kind == MessageKind::Push
            }
            Some(why) => matches!(why, DropReason::PushLimit | DropReason::BadAddress),
        };
        // A query that comes farther keeps the way it came first, while that
        // is there.
        let stays = again && farther && known.is_some_and(|known| !known.gone);
        if remembered && !stays {
            self.take(node, key, at, Some(from));
        }
        if said.kind == MessageKind::Query && remembered {
            if self.config.dynamic && from >= self.leaves_from {
                self.take(node, (LED, number), at, Some(from));
            }
            let probe = self.config.dynamic && said.ttl == 1;
            if let Some(took) = self.took.get_mut(&(u64::from(node) << 32 | key.0, key.1)) {
                took.probe = probe && !farther;
                took.before = known.filter(|_| farther).and_then(|known| known.from);
            }
        }
    }

    /// Checks an answer: the route back is kept for as long as promised, even
    /// during a flood (RT-1, RT-5).
    fn answer(
        &mut self,
        at: Instant,
        it: &ProcessedMessage,
        why: Option<DropReason>,
        found: &mut RecordViolations<'_>,
    ) {
        let ProcessedMessage { node, from, said, .. } = *it;
        let told = || [("guid", hex(said.guid)), ("from", format!("{from}"))];
        let number = self.number(said.guid);
        let asked = self.taken(node, (QUERY, number));
        let life = self.config.query_life.scaled(self.config.time_scale);
        if why == Some(DropReason::NoRoute) && asked.is_some_and(|asked| at < asked.at + life) {
            found.violation("promise", "check.forgotten", told());
        }
        if why == Some(DropReason::RouteGone) && asked.is_none_or(|asked| !asked.gone) {
            found.violation("promise", "check.still_there", told());
        }
        // The route of pushes is learnt, and not replaced while the first one
        // is valid.
        if let (None | Some(DropReason::TtlSpent), Some(of)) = (why, said.of) {
            let servent = self.bearers[of.0 as usize];
            let key = (SERVENT, servent.into());
            let life = self.config.push_life.scaled(self.config.time_scale);
            let way = self.taken(node, key);
            let lives =
                way.is_some_and(|way| way.from != Some(from) && !way.gone && at < way.at + life);
            if !lives && servent != self.bearers[node as usize] {
                self.take(node, key, at, Some(from));
                // An entry lives for up to two lives: the first may still be
                // the way.
                let first = way.filter(|way| at < way.at + life + life).and_then(|way| way.from);
                if let Some(took) = self.took.get_mut(&(u64::from(node) << 32 | key.0, key.1)) {
                    took.before = first;
                }
            }
        }
    }

    /// Checks that the route to a servent is kept for as long as promised
    /// (RT-3).
    fn lost_way(&mut self, at: Instant, it: &ProcessedMessage, found: &mut RecordViolations<'_>) {
        let Some(of) = it.said.of.filter(|_| self.config.push_routing == PushRouting::Standard)
        else {
            return;
        };
        let servent = self.bearers[of.0 as usize];
        let way = self.taken(it.node, (SERVENT, servent.into()));
        let life = self.config.push_life.scaled(self.config.time_scale);
        if way.is_some_and(|way| at < way.at + life) {
            let told = [("guid", hex(it.said.guid)), ("of", format!("{}", of.0))];
            found.violation("promise", "check.forgotten", told);
        }
    }

    /// Checks that one of two nodes that connect lets the other one in.
    fn opened(&self, node: u32, wire: u32, found: &mut RecordViolations<'_>) {
        let peer = self.peer(node, wire).filter(|peer| self.walled.contains(peer));
        if let Some(peer) = peer.filter(|_| self.walled.contains(&node)) {
            found.violation("firewall", "check.let_in", [("from", format!("{peer}"))]);
        }
    }

    /// Checks that a table holds no more than the quotas of the neighbours
    /// allow (RT-5).
    fn turned(&self, node: u32, table: Which, entries: u64, found: &mut RecordViolations<'_>) {
        let slots = self.net.as_ref().map_or(0, |net| net.degree() as u64);
        let quota = match table {
            Which::Queries | Which::Answers => self.config.queries_per_link,
            _ => self.config.entries_per_link,
        };
        let own = self.own.get(node as usize).copied().unwrap_or_default();
        if entries > slots * u64::from(quota) + u64::from(own) {
            found.violation("memory", "check.too_many", [("entries", format!("{entries}"))]);
        }
    }
}

impl Oracle for RoutingOracles {
    type Event = Event;

    fn observe(&mut self, record: &Record<Event>) {
        let mut list = core::mem::take(&mut self.violations);
        let mut found = RecordViolations::at(record, &mut list);
        let node = record.node.0;
        match &record.event {
            Event::Message(message) => self.message(record, message, &mut found),
            Event::App(event) => self.app(record, event, &mut found),
            Event::World(RoutingIncident::Killed) => {
                if let Some(boot) = self.boots.get_mut(node as usize) {
                    *boot += 1;
                }
            }
            Event::World(RoutingIncident::Firewall { closed: true }) => {
                self.walled.insert(node);
            }
            Event::World(RoutingIncident::Firewall { closed: false }) => {
                self.walled.remove(&node);
            }
            Event::World(_) => {}
            Event::Routing(routing::Event::Opened { conn, .. }) => {
                self.opened(node, wire_of(*conn).0, &mut found);
            }
            Event::Routing(routing::Event::Closed { conn, .. }) => {
                if let Some(peer) = self.peer(node, wire_of(*conn).0) {
                    self.lose_ways(node, peer);
                }
            }
            Event::Routing(routing::Event::Turned { table, entries }) => {
                self.turned(node, *table, *entries, &mut found);
            }
            Event::Routing(_) => {}
        }
        self.violations = list;
    }

    /// The run has ended: every message sent has arrived, is lost, or is still
    /// due to arrive.
    fn finish(&mut self, end: Instant) {
        let mut list = core::mem::take(&mut self.violations);
        let mut found = RecordViolations::at_end(end, &mut list);
        let late = self.flying.iter().find(|(_, flight)| flight.due <= end);
        if let Some((id, flight)) = late {
            let told = [("id", format!("{id}")), ("from", format!("{}", flight.from))];
            found.violation("conservation", "check.vanished", told);
        }
        if self.sent != self.ended + self.flying.len() as u64 {
            let told = [("sent", format!("{}", self.sent)), ("ended", format!("{}", self.ended))];
            found.violation("conservation", "check.sum", told);
        }
        self.violations = list;
    }

    fn violations(&self) -> &[Violation] {
        &self.violations
    }
}

fn hex(guid: Guid) -> String {
    format!("{guid}")
}
