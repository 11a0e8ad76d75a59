//! Receivers that lie about what has arrived, and forgers on the path.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use servent_core::time::{Duration, Instant};
use servent_core::unicast::UnicastPayload;
use servent_core::wire::unicast::{Ack, AckCounts, ConnBlock, Packet, Seal, UnicastConnId};

use super::Blackout;

/// What of the acknowledgements is false.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineLie {
    /// Nothing is missing up to the highest number that has arrived.
    NothingMissing,
    /// Told by a forger before the bottleneck: all that comes to it has arrived.
    ArrivedAhead,
    /// They waited for nearly all of the round trip.
    Waited,
    /// All that is under way is missing.
    AllMissing,
    /// Told by a forger before the bottleneck, beside what is true: all that comes to it has
    /// arrived beyond what is missing.
    ArrivedBeyond,
    /// The same of nothing but the newest.
    NewestArrived,
}

/// A lie of the receivers of all flows, and while it is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LyingTime {
    /// The lie.
    pub what: LineLie,
    /// When.
    pub during: Blackout,
}

/// What a liar knows of a flow.
#[derive(Debug, Clone)]
pub(super) struct Liar {
    plan: LyingTime,
    seal: Seal,
    /// The way back.
    back: Duration,
    conn: Option<UnicastConnId>,
    highest: u64,
    /// What the receiver has acknowledged, and the bytes that it has beyond.
    told: (u64, u64),
    /// When each number was sent first.
    sent: BTreeMap<u64, Instant>,
    datagrams: u64,
}

impl Liar {
    pub(super) fn new(plan: LyingTime, seal: Seal, back: Duration) -> Self {
        let (conn, sent) = (None, BTreeMap::new());
        Self { plan, seal, back, conn, highest: 0, told: (0, 0), sent, datagrams: 0 }
    }

    /// A datagram comes to the bottleneck: what a forger there tells its sender.
    pub(super) fn sees(&mut self, now: Instant, data: &UnicastPayload) -> Option<UnicastPayload> {
        for block in Packet::parse(data, &self.seal).ok()?.blocks {
            if let ConnBlock::Data(data) = block {
                (self.conn, self.highest) = (Some(data.conn), self.highest.max(data.last()));
                self.sent.entry(data.last()).or_insert(now);
                self.datagrams += 1;
            }
        }
        let conn = self.conn.filter(|_| self.plan.during.holds(now))?;
        let (upto, early) = match self.plan.what {
            LineLie::ArrivedAhead if self.datagrams.is_multiple_of(4) => (self.highest, 0),
            LineLie::ArrivedBeyond => (self.told.0, 1 << 40),
            LineLie::NewestArrived => self.told,
            _ => return None,
        };
        let (counts, wanted) = (AckCounts { early, ..AckCounts::default() }, Vec::new());
        let (newest, delay, messages, bytes) = (self.highest, 0, 1 << 16, 64 << 20);
        let ack = Ack { conn, upto, newest, delay, messages, bytes, wanted, counts };
        Some(self.written(&Packet { blocks: alloc::vec![ConnBlock::Ack(ack)] }))
    }

    /// What leaves a receiver in place of a datagram.
    pub(super) fn tells(&mut self, now: Instant, data: UnicastPayload) -> Option<UnicastPayload> {
        let Ok(mut packet) = Packet::parse(&data, &self.seal) else { return Some(data) };
        for block in &mut packet.blocks {
            let ConnBlock::Ack(ack) = block else { continue };
            self.told = (ack.upto, ack.counts.early);
            if !self.plan.during.holds(now) {
                return Some(data);
            }
            let fresh = self.sent.get(&ack.newest).copied();
            self.sent = self.sent.split_off(&ack.upto);
            match self.plan.what {
                LineLie::NothingMissing => {
                    (ack.upto, ack.counts.early) = (ack.newest, 0);
                    ack.wanted.clear();
                }
                LineLie::ArrivedAhead => return None,
                LineLie::ArrivedBeyond | LineLie::NewestArrived => {}
                LineLie::Waited => {
                    if let Some(sent) = fresh {
                        let whole = (now.since(sent) + self.back).as_micros();
                        ack.delay = whole.saturating_sub(200);
                    }
                }
                LineLie::AllMissing => {
                    (ack.newest, ack.delay) = (self.highest, 0);
                    if ack.newest > ack.upto {
                        ack.wanted = alloc::vec![(ack.upto + 1, ack.newest)];
                    }
                }
            }
        }
        Some(self.written(&packet))
    }

    fn written(&self, packet: &Packet) -> UnicastPayload {
        let mut bytes = Vec::new();
        packet.encode(&self.seal, &mut bytes);
        UnicastPayload::from(bytes)
    }
}
