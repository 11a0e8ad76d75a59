//! The neighbours of a recorded servent, and every message between it and them.
//! What happens beyond them, nobody recorded.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use servent_core::id::{ConnId, Guid};
use servent_core::node::{Command, Event, Input};
use servent_core::routing::{Event as Told, Verdict, Why};
use servent_core::time::{Duration, Instant};
use servent_core::trace::player::Player;
use servent_core::wire::gnutella::Kind;
use servent_sim::routing::{Journey, KindTally, Leg, RoutingTotals, TallyView, fate};

use super::again::{Again, Step};

/// How long a message is drawn on its way: only its near end was recorded.
pub(super) const WAY: Duration = Duration::from_millis(40);

/// The recorded node.
const OURS: u32 = 0;

/// The neighbours of a tape.
pub(super) struct Around {
    /// Taken out while it works.
    again: Option<Again>,
    conns: BTreeMap<ConnId, u32>,
    /// Neighbours, by their numbers from 1 on, and which program they are.
    neighbours: Vec<(SocketAddr, String)>,
    /// When a link went up or down.
    turns: Vec<(Instant, u32, bool)>,
    legs: Vec<Leg>,
    journeys: Vec<Journey>,
    numbers: BTreeMap<Guid, u32>,
    /// Words of a search of our own that has not been sent yet.
    words: Option<String>,
    /// When hits for us arrived.
    hits: Vec<Instant>,
}

impl Around {
    /// For a tape with a start.
    pub(super) fn new(player: &Player) -> Option<Self> {
        Some(Self {
            again: Some(Again::new(player.start()?)),
            conns: BTreeMap::new(),
            neighbours: Vec::new(),
            turns: Vec::new(),
            legs: Vec::new(),
            journeys: Vec::new(),
            numbers: BTreeMap::new(),
            words: None,
            hits: Vec::new(),
        })
    }

    /// Takes up what is new on the tape.
    pub(super) fn learn(&mut self, player: &Player) {
        let Some(mut again) = self.again.take() else { return };
        if again.go_on(player, |step| self.see(step)) {
            self.legs.sort_by_key(|leg| leg.departs);
        }
        self.again = Some(again);
    }

    /// The neighbours, by their numbers from 1 on.
    pub(super) fn neighbours(&self) -> &[(SocketAddr, String)] {
        &self.neighbours
    }

    /// Searches and pushes that passed here.
    pub(super) fn journeys(&self) -> &[Journey] {
        &self.journeys
    }

    /// Messages in transit at some moment between two instants, with their
    /// numbers, by when they left.
    pub(super) fn flights(&self, from: Instant, to: Instant) -> impl Iterator<Item = (u32, &Leg)> {
        let first = self.legs.partition_point(|leg| leg.arrives < from);
        let legs = (first as u32..).zip(&self.legs[first..]);
        legs.take_while(move |(_, leg)| leg.departs <= to)
    }

    /// Which neighbours are connected at an instant, and how often that had
    /// changed.
    pub(super) fn links(&self, at: Instant) -> (Vec<bool>, usize) {
        let known = self.turns.partition_point(|(when, ..)| *when <= at);
        let mut up = vec![false; self.neighbours.len()];
        for (_, peer, on) in &self.turns[..known] {
            up[*peer as usize - 1] = *on;
        }
        (up, known)
    }

    /// What had happened to the messages of a node by an instant; without a
    /// node, of all.
    pub(super) fn tally(&self, node: Option<u32>, at: Instant) -> TallyView {
        let mut kinds: BTreeMap<usize, KindTally> = BTreeMap::new();
        let mut reasons: BTreeMap<usize, u64> = BTreeMap::new();
        let mut flying = 0;
        for leg in self.legs.iter().take_while(|leg| leg.departs <= at) {
            let place = Kind::ALL.iter().position(|kind| *kind == leg.kind).unwrap_or(0);
            let of = || KindTally { kind: leg.kind, sent: 0, arrived: 0, dropped: 0 };
            let kind = kinds.entry(place).or_insert_with(of);
            kind.sent += u64::from(node.is_none_or(|node| node == leg.from));
            if leg.arrives > at {
                flying += 1;
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
        let reason = |(i, count)| Why::ALL.get(i).map(|why| (*why, count));
        let reasons: Vec<(Why, u64)> = reasons.into_iter().filter_map(reason).collect();
        let twice = reasons.iter().find(|(why, _)| *why == Why::Duplicate);
        TallyView {
            sent: sum(|k| k.sent),
            arrived,
            useful: arrived - dropped,
            duplicate: twice.map_or(0, |(_, count)| *count),
            dropped,
            lost: 0,
            flying,
            reasons,
            kinds,
        }
    }

    /// The totals up to an instant. How many servents have what was searched
    /// for, nobody knows.
    pub(super) fn totals(&self, at: Instant) -> RoutingTotals {
        let hits = self.hits.partition_point(|hit| *hit <= at) as u32;
        let messages = self.legs.partition_point(|leg| leg.departs <= at) as u64;
        let newest = self.journeys.iter().rev().find(|journey| journey.at <= at);
        let reached = newest.map_or(0, |journey| {
            let number = self.numbers.get(&journey.id).copied();
            let of =
                |leg: &&Leg| leg.journey == number && leg.from == OURS && leg.kind != Kind::Hit;
            self.legs.iter().filter(of).filter(|leg| leg.arrives <= at).count() as u32
        });
        let nodes = self.neighbours.len() as u32;
        RoutingTotals {
            messages,
            hits,
            found: hits,
            existing: 0,
            reached: reached.min(nodes),
            nodes,
        }
    }

    fn see(&mut self, step: &Step<'_>) {
        if let Some(Input::Command(Command::Search { words, .. })) = step.input {
            self.words = Some(words.clone());
        }
        for (seq, event) in step.events() {
            if let Event::Routing(told) = event {
                self.told(step.at, seq, told);
            }
        }
    }

    fn told(&mut self, at: Instant, seq: u64, told: &Told) {
        match told {
            Told::Opened { conn, peer, agent } => {
                let known = self.neighbours.iter().position(|(at, _)| at == peer);
                let place = known.unwrap_or_else(|| {
                    self.neighbours.push((*peer, agent.clone()));
                    self.neighbours.len() - 1
                });
                let number = place as u32 + 1;
                self.conns.insert(*conn, number);
                self.turns.push((at, number, true));
            }
            Told::Closed { conn, .. } => {
                if let Some(number) = self.conns.get(conn) {
                    self.turns.push((at, *number, false));
                }
            }
            Told::Judged { conn, guid, kind, hops, verdict, .. } => {
                self.judged(at, seq, (*conn, *guid, *kind, *hops), verdict);
            }
            Told::Sent { guid, kind, to, .. } => {
                let words = self.words.take_if(|_| *kind == Kind::Query);
                let journey = self.journey(at, seq, (*guid, *kind), OURS, words);
                for conn in to {
                    self.leaves(at, seq, *kind, journey, (*conn, 0));
                }
            }
            _ => {}
        }
    }

    fn judged(
        &mut self,
        at: Instant,
        seq: u64,
        (conn, guid, kind, hops): (ConnId, Guid, Kind, u8),
        verdict: &Verdict,
    ) {
        let Some(from) = self.conns.get(&conn).copied() else { return };
        let journey = self.journey(at, seq, (guid, kind), from, None);
        let fate = match verdict {
            Verdict::Forward { .. } => fate::FORWARDED,
            Verdict::Local => fate::LOCAL,
            Verdict::Drop { why } => fate::dropped(*why),
        };
        let departs = Instant::from_micros(at.as_micros().saturating_sub(WAY.as_micros()));
        let wire = from - 1;
        let leg =
            Leg { from, to: OURS, wire, journey, departs, arrives: at, seq, kind, fate, hops };
        self.legs.push(leg);
        if kind == Kind::Hit && *verdict == Verdict::Local {
            self.hits.push(at);
        }
        if let Some(journey) = journey.and_then(|number| self.journeys.get_mut(number as usize)) {
            if kind == Kind::Hit {
                journey.found += u32::from(*verdict == Verdict::Local);
            } else {
                journey.messages += 1;
                journey.duplicates += u32::from(fate == fate::dropped(Why::Duplicate));
            }
        }
        if let Verdict::Forward { to } = verdict {
            for conn in to {
                self.leaves(at, seq, kind, journey, (*conn, hops.saturating_add(1)));
            }
        }
    }

    fn leaves(
        &mut self,
        at: Instant,
        seq: u64,
        kind: Kind,
        journey: Option<u32>,
        (conn, hops): (ConnId, u8),
    ) {
        let Some(to) = self.conns.get(&conn).copied() else { return };
        let (wire, arrives, fate) = (to - 1, at + WAY, fate::FORWARDED);
        let leg =
            Leg { from: OURS, to, wire, journey, departs: at, arrives, seq, kind, fate, hops };
        self.legs.push(leg);
        let journey = journey.and_then(|number| self.journeys.get_mut(number as usize));
        if let Some(journey) = journey.filter(|_| kind != Kind::Hit) {
            journey.messages += 1;
            journey.reached += 1;
        }
    }

    /// The search or push that a message belongs to; it begins with the first
    /// one.
    fn journey(
        &mut self,
        at: Instant,
        seq: u64,
        (id, kind): (Guid, Kind),
        node: u32,
        words: Option<String>,
    ) -> Option<u32> {
        if let Some(number) = self.numbers.get(&id) {
            return Some(*number);
        }
        if !matches!(kind, Kind::Query | Kind::Push) {
            return None;
        }
        let number = self.journeys.len() as u32;
        self.numbers.insert(id, number);
        let words = words.unwrap_or_default();
        self.journeys.push(Journey { id, node, words, at, seq, ..Journey::default() });
        Some(number)
    }
}
