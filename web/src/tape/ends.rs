//! The datagrams of a recorded servent as arrows. Its own end of each is on the
//! recording; the other end is estimated from the round-trip time.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use servent_core::engine::Effect;
use servent_core::node::{Event, Input, MessageInput, MessageOutput, Output};
use servent_core::time::{Duration, Instant};
use servent_core::trace::again::{Again, ReplayStep};
use servent_core::trace::branch::BranchPoint;
use servent_core::trace::player::Player;
use servent_core::trace::{Digest, NodeId};
use servent_core::unicast::{Event as Told, RetransmitReason, UnicastConnId, UnicastPayload};
use servent_core::wire::unicast::{Packet, Seal};
use servent_sim::unicast::{
    Arrow, ArrowFate, DatagramId, DatagramLoss, Diagram, Label, LifelineMark, LossCause,
    UnicastTotals,
};

/// The way to the other end, before any round trip was measured.
const UNMEASURED: Duration = Duration::from_millis(1);

/// A datagram at the recorded end.
pub(super) struct RecordedDatagram {
    pub(super) at: Instant,
    pub(super) peer: u32,
    pub(super) ours: bool,
    bytes: u32,
    blocks: Vec<Label>,
    pub(super) record: u64,
    /// Where on the tape.
    pub(super) place: BranchPoint,
    /// Of its bytes: equal at both ends.
    pub(super) print: u64,
}

/// Datagrams that came or went together.
struct Batch<'a> {
    at: Instant,
    peer: SocketAddr,
    ours: bool,
    segment: u32,
    data: &'a UnicastPayload,
    record: u64,
    /// The number of the step.
    input: usize,
}

/// A point of the totals.
#[derive(Clone, Copy, Default)]
struct Total {
    at: Instant,
    written: u64,
    delivered: u64,
}

/// What the datagrams of a recording come to.
pub(super) struct Ends {
    /// Taken out while it works.
    again: Option<Again>,
    seal: Seal,
    peers: Vec<SocketAddr>,
    /// Where those are that are not at the address that is their name.
    routes: BTreeMap<SocketAddr, SocketAddr>,
    seen: Vec<RecordedDatagram>,
    marks: Vec<LifelineMark>,
    /// Half the smoothed round-trip time with each peer, as it was measured.
    ways: Vec<Vec<(Instant, Duration)>>,
    /// Numbers reported missing, and when they were sent again.
    missing: Vec<(Instant, u32, UnicastConnId, u64, u64)>,
    /// The highest number sent, or received, of each connection.
    known: BTreeMap<UnicastConnId, u64>,
    /// The highest number of each connection that was acknowledged, or
    /// delivered.
    done: BTreeMap<UnicastConnId, u64>,
    totals: Vec<Total>,
    /// Numbers that left from here for the first time, and that were delivered
    /// here.
    left: Vec<(Instant, u64)>,
    delivered: Vec<(Instant, u64)>,
    /// Numbers that left from here, and that arrived.
    sent: u64,
    received: u64,
    diagram: Diagram,
}

impl Ends {
    /// For a recording with a start, of a servent that sends datagrams.
    pub(super) fn new(player: &Player) -> Option<Self> {
        let start = player.start()?;
        let seal = start.config.datagrams.as_ref()?.seal;
        Some(Self { again: Some(Again::new(start)), seal, ..Self::none() })
    }

    /// Of a servent that sends none.
    pub(super) fn none() -> Self {
        Self {
            again: None,
            seal: Seal::None,
            peers: Vec::new(),
            routes: BTreeMap::new(),
            seen: Vec::new(),
            marks: Vec::new(),
            ways: Vec::new(),
            missing: Vec::new(),
            known: BTreeMap::new(),
            done: BTreeMap::new(),
            totals: Vec::new(),
            left: Vec::new(),
            delivered: Vec::new(),
            sent: 0,
            received: 0,
            diagram: Diagram::default(),
        }
    }

    /// Takes up what is new on the tape.
    pub(super) fn learn(&mut self, player: &Player) {
        let Some(mut again) = self.again.take() else { return };
        if again.go_on(player, |step| self.observe(step, player)) {
            let mut arrows = self.arrows();
            arrows.sort_by_key(|arrow| arrow.sent);
            self.diagram = Diagram::mark(arrows, self.marks.clone());
        }
        self.again = Some(again);
    }

    /// The other ends, by their numbers from 1 on.
    pub(super) fn peers(&self) -> &[SocketAddr] {
        &self.peers
    }

    /// All that left or arrived, in the order of the tape.
    pub(super) fn datagrams(&self) -> &[RecordedDatagram] {
        &self.seen
    }

    /// What happened at the recorded end.
    pub(super) fn marks(&self) -> &[LifelineMark] {
        &self.marks
    }

    /// When numbers left from here for the first time, and when they were
    /// delivered here.
    pub(super) fn flow(&self) -> [&[(Instant, u64)]; 2] {
        [&self.left, &self.delivered]
    }

    /// Where the `n`-th datagram of another end stands on the tape.
    pub(super) fn place(&self, from: NodeId, n: u32) -> Option<BranchPoint> {
        let of = |seen: &&RecordedDatagram| !seen.ours && seen.peer == from.0;
        self.seen.iter().filter(of).nth(n.checked_sub(1)? as usize).map(|seen| seen.place)
    }

    /// What the recorded end does, as one word.
    pub(super) const fn role(&self) -> &'static str {
        match (self.sent > 0, self.received > 0) {
            (true, true) => "both",
            (true, false) => "sender",
            _ => "receiver",
        }
    }

    /// Whether more arrives here than leaves.
    pub(super) const fn mostly_receives(&self) -> bool {
        self.received > self.sent
    }

    /// What the other ends do.
    pub(super) const fn other_role(&self) -> &'static str {
        match (self.sent > 0, self.received > 0) {
            (true, true) => "both",
            (false, true) => "sender",
            _ => "receiver",
        }
    }

    pub(super) const fn diagram(&self) -> &Diagram {
        &self.diagram
    }

    /// The totals up to an instant.
    pub(super) fn totals(&self, at: Instant) -> UnicastTotals {
        let counted = UnicastTotals::until(&self.diagram, at);
        let known = self.totals.partition_point(|total| total.at <= at);
        let Some(i) = known.checked_sub(1) else { return counted };
        let Total { written, delivered, .. } = self.totals[i];
        let last = self.totals[..known].iter().rev().take_while(|t| t.delivered == delivered);
        let last = last.last().filter(|_| delivered > 0).map(|total| total.at);
        UnicastTotals { written, delivered, last, ..counted }
    }

    /// Where a peer is: at a name that a meeting gave it, no host is. While it is relayed
    /// that is its place.
    pub(super) fn place_of(&self, peer: SocketAddr) -> SocketAddr {
        self.routes.get(&peer).copied().unwrap_or(peer)
    }

    fn peer(&mut self, at: SocketAddr) -> u32 {
        let known = self.peers.iter().position(|peer| *peer == at);
        known.unwrap_or_else(|| {
            self.peers.push(at);
            self.ways.push(Vec::new());
            self.peers.len() - 1
        }) as u32
            + 1
    }

    fn observe(&mut self, step: &ReplayStep<'_>, player: &Player) {
        let (at, input) = (step.at, step.number);
        // The newest event by then says most about it.
        let record = player.records_until(at).saturating_sub(1) as u64;
        if let Some(Input::Messages(MessageInput::Datagrams { from, segment, data })) = step.input {
            self.record_batch(
                &Batch { at, peer: *from, ours: false, segment: *segment, data, record, input },
                |_, _| None,
            );
        }
        let again: Vec<(UnicastConnId, u64, u64, RetransmitReason)> =
            step.effects.iter().filter_map(resent).collect();
        let why = |conn, seq| {
            let fits = |(c, a, b, _): &&(UnicastConnId, u64, u64, RetransmitReason)| {
                *c == conn && (*a..=*b).contains(&seq)
            };
            again.iter().find(fits).map(|(.., why)| *why)
        };
        for effect in step.effects {
            match effect {
                Effect::Event(Event::Unicast(told)) => self.told(at, told, record),
                Effect::Output(Output::Messages(MessageOutput::Datagrams {
                    to,
                    segment,
                    data,
                })) => {
                    let (peer, segment) = (*to, *segment);
                    let batch = Batch { at, peer, ours: true, segment, data, record, input };
                    self.record_batch(&batch, why);
                }
                _ => {}
            }
        }
    }

    fn told(&mut self, at: Instant, told: &Told, record: u64) {
        if let Told::Moved { peer, to, .. } = told {
            self.routes.insert(*peer, *to);
        }
        let peer = self.peer(self.place_of(told.peer()));
        let mark = LifelineMark {
            at,
            seq: record,
            node: NodeId(0),
            peer: Some(NodeId(peer)),
            ..LifelineMark::default()
        };
        self.marks.extend(mark.mark(told));
        match told {
            Told::Rtt { smoothed, .. } => {
                self.ways[peer as usize - 1].push((at, smoothed.ratio(1, 2)));
            }
            Told::Resent { conn, from, to, why: RetransmitReason::Missing, .. } => {
                self.missing.push((at, peer, *conn, *from, *to));
            }
            Told::Sent { conn, to, .. } => {
                let (new, _) = self.count(at, *conn, *to, None);
                self.sent += new;
                self.left.push((at, new));
            }
            Told::Received { conn, to, .. } => {
                self.received += self.count(at, *conn, *to, None).0;
            }
            Told::Acked { conn, highest_acked, .. } => {
                self.count(at, *conn, 0, Some(*highest_acked));
            }
            Told::Delivered { conn, number, .. } => {
                let (_, new) = self.count(at, *conn, 0, Some(*number));
                self.delivered.push((at, new));
            }
            _ => {}
        }
    }

    /// Counts what is new; returns how much was written, and
    /// how much arrived.
    fn count(
        &mut self,
        at: Instant,
        conn: UnicastConnId,
        known: u64,
        done: Option<u64>,
    ) -> (u64, u64) {
        let raise = |all: &mut BTreeMap<UnicastConnId, u64>, to: u64| {
            let highest = all.entry(conn).or_default();
            let more = to.saturating_sub(*highest);
            *highest += more;
            more
        };
        let new = raise(&mut self.known, known);
        let came = done.map_or(0, |done| raise(&mut self.done, done));
        if new + came > 0 {
            let before = self.totals.last().copied().unwrap_or_default();
            let (written, delivered) = (before.written + new, before.delivered + came);
            self.totals.push(Total { at, written, delivered });
        }
        (new, came)
    }

    fn record_batch(
        &mut self,
        batch: &Batch<'_>,
        why: impl Fn(UnicastConnId, u64) -> Option<RetransmitReason> + Copy,
    ) {
        let Batch { at, ours, data, record, input, .. } = *batch;
        let peer = self.peer(batch.peer);
        let each = (batch.segment as usize).max(1);
        for (datagram, start) in (0..data.len()).step_by(each).enumerate() {
            let one = data.slice(start..(start + each).min(data.len()));
            let packet = Packet::parse(&one, &self.seal).unwrap_or_default();
            let blocks = packet.blocks.iter().map(|block| Label::describe(block, why)).collect();
            let (bytes, place) = (one.len() as u32, BranchPoint { input, datagram });
            let print = print_of(&one);
            self.seen.push(RecordedDatagram {
                at,
                peer,
                ours,
                bytes,
                blocks,
                record,
                place,
                print,
            });
        }
    }

    /// How long a datagram takes to a peer, as measured by then, or first.
    fn way(&self, peer: u32, at: Instant) -> Duration {
        let ways = &self.ways[peer as usize - 1];
        let known = ways.partition_point(|(when, _)| *when <= at);
        let (_, way) = ways.get(known.saturating_sub(1)).copied().unwrap_or((at, UNMEASURED));
        way.max(Duration::from_micros(1))
    }

    /// All datagrams, in the order of the tape.
    pub(super) fn arrows(&self) -> Vec<Arrow> {
        let mut counts: BTreeMap<(u32, bool), u32> = BTreeMap::new();
        let mut arrows: Vec<Arrow> = Vec::with_capacity(self.seen.len());
        for (id, seen) in (0_i64..).zip(&self.seen) {
            let n = counts.entry((seen.peer, seen.ours)).or_default();
            *n += 1;
            let way = self.way(seen.peer, seen.at);
            let (from, to) = if seen.ours { (0, seen.peer) } else { (seen.peer, 0) };
            let sent = if seen.ours {
                seen.at
            } else {
                Instant::from_micros(seen.at.as_micros().saturating_sub(way.as_micros()))
            };
            let due = if seen.ours { seen.at + way } else { seen.at };
            arrows.push(Arrow {
                id: DatagramId(id),
                n: *n,
                seq: seen.record,
                from: NodeId(from),
                to: NodeId(to),
                sent,
                due,
                at: Some(due),
                fate: ArrowFate::Arrived,
                why: None,
                copy_of: None,
                again: seen.blocks.iter().any(is_again),
                bytes: seen.bytes,
                blocks: seen.blocks.clone(),
            });
        }
        self.lose(&mut arrows);
        arrows
    }

    /// What the other end reported missing was lost: the last one that carried
    /// it before it was sent again.
    fn lose(&self, arrows: &mut [Arrow]) {
        for (at, peer, conn, from, to) in &self.missing {
            let before = self.seen.partition_point(|seen| seen.at < *at);
            for number in *from..=*to {
                let carried = |seen: &RecordedDatagram| {
                    seen.ours && seen.peer == *peer && carries(&seen.blocks, *conn, number)
                };
                let last = self.seen[..before].iter().rposition(carried);
                if let Some(arrow) = last.and_then(|last| arrows.get_mut(last)) {
                    arrow.fate = ArrowFate::Lost;
                    arrow.why = Some(LossCause::Loss(DatagramLoss::Chance));
                }
            }
        }
    }
}

fn print_of(bytes: &[u8]) -> u64 {
    let mut digest = Digest::default();
    digest.add(&bytes);
    digest.value()
}

fn carries(blocks: &[Label], of: UnicastConnId, number: u64) -> bool {
    blocks.iter().any(|label| {
        matches!(label, Label::Data { conn, from, to, .. }
            if *conn == of && (*from..=*to).contains(&number))
    })
}

const fn is_again(label: &Label) -> bool {
    matches!(label, Label::Data { again: Some(_), .. })
}

fn resent(effect: &Effect<Output, Event>) -> Option<(UnicastConnId, u64, u64, RetransmitReason)> {
    match effect {
        Effect::Event(Event::Unicast(Told::Resent { conn, from, to, why, .. })) => {
            Some((*conn, *from, *to, *why))
        }
        _ => None,
    }
}
