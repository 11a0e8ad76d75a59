//! What the recordings of several servents tell of one overlay: what one of them said
//! and another heard is one message, and both its ends are real. A servent that
//! recorded nothing is there as far as others heard of it.

use alloc::collections::{BTreeMap, VecDeque};
use alloc::vec;
use alloc::vec::Vec;
use core::net::SocketAddr;

use super::observed::{ObservedLink, ObservedOverlay, Passed};
use super::streams::{self, StreamEnd, Streams};
use super::traffic::{Traffic, WAY};
use crate::routing::event::MessageLoss;
use crate::routing::shown::chart::{Journey, Leg, fate};
use servent_core::id::{ConnId, Guid};
use servent_core::time::Instant;
use servent_core::wire::gnutella::MessageKind;

/// A link or a message: of which recording, and its number there.
type MergedIndex = (usize, usize);

/// An instant by the clock of the first servent.
#[must_use]
pub const fn moved(at: Instant, by: i64) -> Instant {
    Instant::from_micros(at.as_micros().saturating_add_signed(by))
}

/// How far each recording is to be moved, in microseconds, so that nothing arrives
/// before it was sent. Clocks of one machine agree, and stay as they are. `least`
/// is the shortest way from one recording to another by their own clocks.
#[must_use]
pub fn shifts(tapes: usize, least: impl Fn(usize, usize) -> Option<i64>) -> Vec<i64> {
    let mut shifts = vec![None; tapes];
    // From the first recording on: a node that has talked to one whose clock is known.
    for first in 0..tapes {
        shifts[first].get_or_insert(0);
        let mut known = VecDeque::from([first]);
        while let Some(m) = known.pop_front() {
            for k in 0..tapes {
                let talk = || least(m, k).zip(least(k, m));
                let Some((there, back)) = shifts[k].is_none().then(talk).flatten() else {
                    continue;
                };
                let apart = if there < 0 || back < 0 { (back - there) / 2 } else { 0 };
                shifts[k] = shifts[m].map(|by| by + apart);
                known.push_back(k);
            }
        }
    }
    shifts.into_iter().map(Option::unwrap_or_default).collect()
}

/// Who the neighbours of all are, and what became of every message.
#[derive(Debug, Clone, Default)]
pub struct MergedOverlay {
    /// The other end of each connection, where that was recorded, and the same of
    /// links.
    ends: BTreeMap<StreamEnd, StreamEnd>,
    links: BTreeMap<MergedIndex, MergedIndex>,
    /// The node at the other end of every link of every tape.
    who: Vec<Vec<u32>>,
    /// Those that recorded nothing, by their addresses.
    strangers: Vec<SocketAddr>,
    /// Where each message that was sent arrived, and where each came from.
    arrived: BTreeMap<MergedIndex, MergedIndex>,
    causes: BTreeMap<MergedIndex, MergedIndex>,
}

impl MergedOverlay {
    /// Merges what was observed on each recording.
    #[must_use]
    pub fn new(tapes: &[ObservedOverlay]) -> Self {
        let ends = streams::pairs(&all(tapes));
        let link = |(tape, conn): &StreamEnd| Some((*tape, tapes[*tape].link(*conn)?));
        let links = ends.iter().filter_map(|(one, other)| link(one).zip(link(other))).collect();
        let mut merged = Self { ends, links, ..Self::default() };
        merged.name(tapes);
        merged.follow(tapes);
        merged
    }

    /// True when two of them were neighbours.
    #[must_use]
    pub fn are_neighbours(&self) -> bool {
        !self.links.is_empty()
    }

    /// True when two of them had a connection, whatever they said on it.
    #[must_use]
    pub fn is_connected(&self) -> bool {
        !self.ends.is_empty()
    }

    /// The recording at the other end of a connection.
    #[must_use]
    pub fn peer(&self, tape: usize, conn: ConnId) -> Option<usize> {
        self.ends.get(&(tape, conn)).map(|(other, _)| *other)
    }

    /// Those that recorded nothing, by their addresses; their numbers follow those
    /// of the recordings.
    #[must_use]
    pub fn strangers(&self) -> &[SocketAddr] {
        &self.strangers
    }

    /// The node at the other end of a recording's link.
    #[must_use]
    pub fn other(&self, tape: usize, link: u32) -> Option<u32> {
        self.who.get(tape)?.get(link as usize).copied()
    }

    /// The shortest ways of bytes from one recording to another, by their own clocks.
    #[must_use]
    pub fn ways(&self, tapes: &[ObservedOverlay]) -> BTreeMap<(usize, usize), i64> {
        streams::ways(&all(tapes), &self.ends)
    }

    /// The recording that wrote what a step of another read on a connection, and its
    /// newest record by then.
    #[must_use]
    pub fn cause(
        &self,
        (tape, conn): (usize, ConnId),
        step: usize,
        tapes: &[ObservedOverlay],
    ) -> Option<(usize, u64)> {
        streams::written(&all(tapes), &self.ends, (tape, conn), step)
    }

    /// All of it as one picture. `shifts` moves the clock of each, and `seq` gives
    /// the number of a recording's record among all of them.
    #[must_use]
    pub fn traffic(
        &self,
        tapes: &[ObservedOverlay],
        shifts: &[i64],
        seq: impl Fn(usize, u64) -> u64,
    ) -> Traffic {
        let mut traffic = Traffic::default();
        traffic.set_nodes((tapes.len() + self.strangers.len()) as u32);
        self.turns(tapes, shifts, &mut traffic);
        let mut legs = self.legs(tapes, shifts, &mut traffic, seq);
        legs.sort_by_key(|(_, leg)| leg.departs);
        let mut begun: BTreeMap<Guid, Journey> = BTreeMap::new();
        for (id, leg) in &legs {
            let tape = tapes.get(leg.from as usize);
            if let Some(words) = tape.and_then(|tape| tape.searches().get(id)) {
                let (node, at, seq, words) = (leg.from, leg.departs, leg.seq, words.clone());
                begun.entry(*id).or_insert_with(|| Journey {
                    id: *id,
                    node,
                    at,
                    seq,
                    words,
                    ..Journey::default()
                });
            }
        }
        for (guid, leg) in legs {
            traffic.pass(guid, leg, |estimated| begun.remove(&guid).unwrap_or(estimated));
        }
        traffic.sort();
        traffic
    }

    /// Who is at the other end of every link.
    fn name(&mut self, tapes: &[ObservedOverlay]) {
        let mut known: BTreeMap<SocketAddr, u32> = BTreeMap::new();
        // An address at which one node was reached once never belongs to another.
        for ((k, i), (m, _)) in &self.links {
            let link = &tapes[*k].links()[*i];
            if link.is_dialed() {
                known.insert(link.peer, *m as u32);
            }
        }
        for (k, tape) in tapes.iter().enumerate() {
            let node = |(i, link): (usize, &ObservedLink)| {
                let recorded = self.links.get(&(k, i)).map(|(m, _)| *m as u32);
                recorded.unwrap_or_else(|| {
                    *known.entry(link.peer).or_insert_with(|| {
                        self.strangers.push(link.peer);
                        (tapes.len() + self.strangers.len() - 1) as u32
                    })
                })
            };
            self.who.push(tape.links().iter().enumerate().map(node).collect());
        }
    }

    /// Finds for each message that arrived where it was sent.
    fn follow(&mut self, tapes: &[ObservedOverlay]) {
        let mut sent: BTreeMap<(MergedIndex, Guid, MessageKind), VecDeque<MergedIndex>> =
            BTreeMap::new();
        for (k, tape) in tapes.iter().enumerate() {
            for (i, one) in tape.passed().iter().enumerate().filter(|(_, one)| one.ours) {
                let link = (k, one.link as usize);
                sent.entry((link, one.guid, one.kind)).or_default().push_back((k, i));
            }
        }
        for (m, tape) in tapes.iter().enumerate() {
            for (j, one) in tape.passed().iter().enumerate().filter(|(_, one)| !one.ours) {
                let Some(link) = self.links.get(&(m, one.link as usize)) else { continue };
                let alike = sent.get_mut(&(*link, one.guid, one.kind));
                if let Some(place) = alike.and_then(VecDeque::pop_front) {
                    self.arrived.insert(place, (m, j));
                    self.causes.insert((m, j), place);
                }
            }
        }
    }

    /// When links went up and down: those of two recordings, when both knew.
    fn turns(&self, tapes: &[ObservedOverlay], shifts: &[i64], traffic: &mut Traffic) {
        let ends = |(k, i): MergedIndex| {
            let link = &tapes[k].links()[i];
            (moved(link.opened, shifts[k]), link.closed.map(|at| moved(at, shifts[k])))
        };
        for (k, tape) in tapes.iter().enumerate() {
            for i in 0..tape.links().len() {
                let (mut opened, mut closed) = ends((k, i));
                if let Some(there) = self.links.get(&(k, i)) {
                    if *there < (k, i) {
                        continue;
                    }
                    let other = ends(*there);
                    opened = opened.max(other.0);
                    closed = [closed, other.1].into_iter().flatten().min();
                }
                let wire = traffic.wire(k as u32, self.who[k][i]);
                traffic.turn(opened, wire, true);
                if let Some(closed) = closed {
                    traffic.turn(closed.max(opened), wire, false);
                }
            }
        }
    }

    fn legs(
        &self,
        tapes: &[ObservedOverlay],
        shifts: &[i64],
        traffic: &mut Traffic,
        seq: impl Fn(usize, u64) -> u64,
    ) -> Vec<(Guid, Leg)> {
        let mut legs = Vec::new();
        for (k, tape) in tapes.iter().enumerate() {
            for (i, one) in tape.passed().iter().enumerate() {
                if self.causes.contains_key(&(k, i)) {
                    continue; // It is there as what was sent.
                }
                let (own, other) = (k as u32, self.who[k][one.link as usize]);
                let at = moved(one.at, shifts[k]);
                let wire = traffic.wire(own, other);
                let mut leg = one.leg((own, other), wire, at);
                leg.seq = seq(k, one.record);
                if let Some((m, j)) = self.arrived.get(&(k, i)) {
                    let there = &tapes[*m].passed()[*j];
                    (leg.arrives, leg.fate) = (moved(there.at, shifts[*m]), there.fate);
                } else if one.ours && self.links.contains_key(&(k, one.link as usize)) {
                    leg.fate = fate::lost(MessageLoss::Closed);
                }
                // Two clocks are never quite the same.
                leg.arrives = leg.arrives.max(leg.departs);
                legs.push((one.guid, leg));
            }
        }
        legs
    }
}

impl Passed {
    /// As the recording by itself tells it: the other end is estimated. `nodes` are its
    /// own and the other.
    #[must_use]
    pub fn leg(&self, (own, other): (u32, u32), wire: u32, at: Instant) -> Leg {
        let before = Instant::from_micros(at.as_micros().saturating_sub(WAY.as_micros()));
        let (from, to, departs, arrives, fate) = if self.ours {
            (own, other, at, at + WAY, fate::FORWARDED)
        } else {
            (other, own, before, at, self.fate)
        };
        let (kind, hops, seq) = (self.kind, self.hops, self.record);
        Leg { from, to, wire, journey: None, departs, arrives, seq, kind, fate, hops }
    }
}

fn all(tapes: &[ObservedOverlay]) -> Vec<&Streams> {
    tapes.iter().map(ObservedOverlay::streams).collect()
}
