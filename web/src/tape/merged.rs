//! The datagrams of several recorded servents together: what one of them sent
//! and another received is one arrow, and both its ends are real.

use std::collections::BTreeMap;

use servent_core::time::Instant;
use servent_core::trace::NodeId;
use servent_sim::routing::moved;
use servent_sim::unicast::{
    Arrow, ArrowFate, DatagramId, DatagramLoss, Diagram, LifelineMark, LossCause, UnicastTotals,
};

use super::ends::{Ends, RecordedDatagram};

/// Which datagram: of which recording, and its number there.
type DatagramIndex = (usize, usize);

/// The datagrams of one end that are unlike all others it sent, or received, and
/// when that was.
type Once = BTreeMap<u64, Option<Instant>>;

/// The shortest ways of datagrams from one recording to another by their own clocks.
pub(super) fn ways(tapes: &[&Ends]) -> BTreeMap<(usize, usize), i64> {
    let once = |ours: bool| move |ends: &&Ends| once(ends, ours);
    let sent: Vec<Once> = tapes.iter().map(once(true)).collect();
    let came: Vec<Once> = tapes.iter().map(once(false)).collect();
    let mut ways = BTreeMap::new();
    for (k, sent) in sent.iter().enumerate() {
        for (m, came) in came.iter().enumerate().filter(|(m, _)| *m != k) {
            let all = sent.iter().filter_map(|(print, at)| {
                let (sent, came) = ((*at)?, (*came.get(print)?)?);
                Some(came.as_micros() as i64 - sent.as_micros() as i64)
            });
            ways.extend(all.min().map(|way| ((k, m), way)));
        }
    }
    ways
}

fn once(ends: &Ends, ours: bool) -> Once {
    let mut seen = Once::new();
    for one in ends.datagrams().iter().filter(|one| one.ours == ours) {
        seen.entry(one.print).and_modify(|at| *at = None).or_insert(Some(one.at));
    }
    seen
}

/// What several servents sent each other.
#[derive(Default)]
pub(super) struct MergedDatagrams {
    /// The node of every other end of every recording: a recording, or a servent that was
    /// not recorded.
    pub(super) who: Vec<Vec<NodeId>>,
    /// Those that were not recorded, by their addresses.
    pub(super) strangers: Vec<String>,
    /// What became of each datagram that was sent: where it arrived.
    pairs: BTreeMap<DatagramIndex, DatagramIndex>,
    /// For each that arrived and is known to the sender's recording, the sending.
    causes: BTreeMap<DatagramIndex, DatagramIndex>,
    pub(super) diagram: Diagram,
    /// When numbers were sent for the first time, and delivered.
    written: Vec<(Instant, u64)>,
    delivered: Vec<(Instant, u64)>,
}

impl MergedDatagrams {
    /// `seq` gives the number of a recording's record among all of them.
    pub(super) fn new(tapes: &[&Ends], shifts: &[i64], seq: impl Fn(usize, u64) -> u64) -> Self {
        let mut merged = Self::default();
        merged.pair(tapes, shifts);
        merged.name(tapes);
        let arrows = merged.arrows(tapes, shifts, &seq);
        let marks = merged.marks(tapes, shifts, &seq);
        merged.diagram = Diagram::mark(arrows, marks);
        for (ends, by) in tapes.iter().zip(shifts) {
            let [sent, delivered] = ends.flow();
            merged.written.extend(sent.iter().map(|(at, n)| (moved(*at, *by), *n)));
            merged.delivered.extend(delivered.iter().map(|(at, n)| (moved(*at, *by), *n)));
        }
        merged.written.sort_unstable();
        merged.delivered.sort_unstable();
        merged
    }

    /// The recording and its record that sent what arrived there.
    pub(super) fn cause(&self, tape: usize, input: usize, tapes: &[&Ends]) -> Option<(usize, u64)> {
        let here = tapes.get(tape)?.datagrams().iter();
        let arrived = |(_, one): &(usize, &RecordedDatagram)| !one.ours && one.place.input == input;
        let mut all = here.enumerate().filter(arrived).map(|(i, _)| (tape, i));
        let (from, i) = all.find_map(|place| self.causes.get(&place)).copied()?;
        Some((from, tapes[from].datagrams()[i].record))
    }

    /// The totals up to an instant.
    pub(super) fn totals(&self, at: Instant) -> UnicastTotals {
        let counted = UnicastTotals::until(&self.diagram, at);
        let sum = |all: &[(Instant, u64)]| {
            all.iter().take_while(|(when, _)| *when <= at).map(|(_, n)| n).sum()
        };
        let last = self.delivered.iter().rev().find(|(when, _)| *when <= at).map(|(when, _)| *when);
        UnicastTotals {
            written: sum(&self.written),
            delivered: sum(&self.delivered),
            last,
            ..counted
        }
    }

    /// Each that arrived was the latest of its like that had been sent by then.
    fn pair(&mut self, tapes: &[&Ends], shifts: &[i64]) {
        let mut sent: BTreeMap<u64, Vec<(Instant, DatagramIndex)>> = BTreeMap::new();
        for (k, ends) in tapes.iter().enumerate() {
            for (i, one) in ends.datagrams().iter().enumerate().filter(|(_, one)| one.ours) {
                sent.entry(one.print).or_default().push((moved(one.at, shifts[k]), (k, i)));
            }
        }
        for (m, ends) in tapes.iter().enumerate() {
            for (i, one) in ends.datagrams().iter().enumerate().filter(|(_, one)| !one.ours) {
                let at = moved(one.at, shifts[m]);
                let Some(alike) = sent.get_mut(&one.print) else { continue };
                let fits = |(when, (k, _)): &(Instant, DatagramIndex)| *k != m && *when <= at;
                let Some(found) = alike.iter().rposition(fits) else { continue };
                let (_, place) = alike.remove(found);
                self.pairs.insert(place, (m, i));
                self.causes.insert((m, i), place);
            }
        }
    }

    /// Who the other ends of every recording are.
    fn name(&mut self, tapes: &[&Ends]) {
        let mut who: Vec<Vec<Option<NodeId>>> =
            tapes.iter().map(|ends| vec![None; ends.peers().len()]).collect();
        for ((k, i), (m, j)) in &self.pairs {
            let [to, from] =
                [(*k, *i), (*m, *j)].map(|(tape, i)| tapes[tape].datagrams()[i].peer as usize - 1);
            who[*k][to] = Some(NodeId(*m as u32));
            who[*m][from] = Some(NodeId(*k as u32));
        }
        let first = tapes.len() as u32;
        for (ends, who) in tapes.iter().zip(who) {
            let named = who.into_iter().zip(ends.peers()).map(|(who, at)| {
                who.unwrap_or_else(|| {
                    self.strangers.push(at.to_string());
                    NodeId(first + self.strangers.len() as u32 - 1)
                })
            });
            let named: Vec<NodeId> = named.collect();
            self.who.push(named);
        }
    }

    fn arrows(
        &self,
        tapes: &[&Ends],
        shifts: &[i64],
        seq: &impl Fn(usize, u64) -> u64,
    ) -> Vec<Arrow> {
        let mut arrows = Vec::new();
        let mut counts: BTreeMap<(NodeId, NodeId), u32> = BTreeMap::new();
        for (k, ends) in tapes.iter().enumerate() {
            // As the recording by itself would draw them: with one end estimated.
            for (i, arrow) in ends.arrows().into_iter().enumerate() {
                let one = &ends.datagrams()[i];
                let peer = self.who[k][one.peer as usize - 1];
                let own = NodeId(k as u32);
                if !one.ours && self.causes.contains_key(&(k, i)) {
                    continue;
                }
                let (from, to) = if one.ours { (own, peer) } else { (peer, own) };
                let to_us = |at| moved(at, shifts[k]);
                let mut arrow = Arrow {
                    id: DatagramId(arrows.len() as i64),
                    from,
                    to,
                    seq: seq(k, arrow.seq),
                    sent: to_us(arrow.sent),
                    due: to_us(arrow.due),
                    at: arrow.at.map(to_us),
                    ..arrow
                };
                if let Some((m, j)) = self.pairs.get(&(k, i)) {
                    arrow.due = moved(tapes[*m].datagrams()[*j].at, shifts[*m]);
                    (arrow.at, arrow.fate, arrow.why) = (Some(arrow.due), ArrowFate::Arrived, None);
                } else if one.ours && (peer.0 as usize) < tapes.len() {
                    (arrow.fate, arrow.why) =
                        (ArrowFate::Lost, Some(LossCause::Loss(DatagramLoss::Chance)));
                }
                arrows.push(arrow);
            }
        }
        arrows.sort_by_key(|arrow| arrow.sent);
        for arrow in &mut arrows {
            let n = counts.entry((arrow.from, arrow.to)).or_default();
            *n += 1;
            arrow.n = *n;
        }
        arrows
    }

    fn marks(
        &self,
        tapes: &[&Ends],
        shifts: &[i64],
        seq: &impl Fn(usize, u64) -> u64,
    ) -> Vec<LifelineMark> {
        let mut marks = Vec::new();
        for (k, ends) in tapes.iter().enumerate() {
            marks.extend(ends.marks().iter().map(|mark| LifelineMark {
                at: moved(mark.at, shifts[k]),
                seq: seq(k, mark.seq),
                node: NodeId(k as u32),
                peer: mark.peer.map(|peer| self.who[k][peer.0 as usize - 1]),
                ..mark.clone()
            }));
        }
        marks.sort_by_key(|mark| mark.at);
        marks
    }
}
