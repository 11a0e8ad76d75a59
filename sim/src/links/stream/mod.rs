//! Stream links: two ends, bytes in order, split anywhere, broken at any time.

pub(crate) mod flow;

use alloc::collections::VecDeque;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::net::SocketAddr;

use self::flow::RangeFlow;
use servent_core::id::{ConnId, FetchId, Sha1};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};
use servent_core::trace::RecordCause;

/// The content of a file, without its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct StreamContent {
    pub(crate) sha1: Sha1,
    pub(crate) damaged: bool,
}

impl StreamContent {
    /// The SHA-1 that hashing would compute.
    pub(crate) fn found(self) -> Sha1 {
        let mut sha1 = self.sha1;
        if self.damaged {
            sha1.0[0] ^= 0xff;
        }
        sha1
    }
}

/// A link, by its place in the table and how often that place was used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct LinkRef {
    index: u32,
    generation: u32,
}

/// An end of a link: 0 connected, 1 accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    Dialer,
    Listener,
}

impl Side {
    pub(crate) const fn other(self) -> Self {
        match self {
            Self::Dialer => Self::Listener,
            Self::Listener => Self::Dialer,
        }
    }
}

/// An item to send: bytes, a whole body, or on the wire a part of it.
#[derive(Debug, Clone)]
pub(crate) enum Packet {
    Bytes { data: Vec<u8>, cause: RecordCause },
    Body { content: StreamContent, bytes: u64, cause: RecordCause },
    Fin { cause: RecordCause },
}

/// A range that incoming bytes are written to.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Store {
    pub(crate) fetch: FetchId,
    /// Where the range begins in the file.
    pub(crate) start: u64,
    pub(crate) bytes: u64,
    pub(crate) got: u64,
}

/// Where an end puts what arrives.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Intake {
    /// To the node.
    Node,
    /// To a download.
    Store(Store),
    /// Nowhere.
    Drop,
}

/// One end of a link.
#[derive(Debug, Clone)]
pub(crate) struct LinkEnd {
    pub(crate) host: u32,
    pub(crate) conn: ConnId,
    pub(crate) at: SocketAddr,
    /// The node knows this end; cleared when it has been told that it is gone.
    pub(crate) known: bool,
    /// The node has closed it, or the link is broken: nothing more is received.
    pub(crate) closed: bool,
    pub(crate) to_send: VecDeque<Packet>,
    pub(crate) wire: VecDeque<Packet>,
    /// When the last packet on the wire arrives.
    pub(crate) last_arrival: Instant,
    /// Packets that arrived while the node was stalled.
    pub(crate) held: u32,
    pub(crate) intake: Intake,
    pub(crate) flow: Option<RangeFlow>,
    /// The content of the last range sent from here.
    pub(crate) sent: Option<StreamContent>,
    pub(crate) flows: u32,
}

impl LinkEnd {
    pub(crate) fn new(host: u32, conn: ConnId, at: SocketAddr) -> Self {
        Self {
            host,
            conn,
            at,
            known: false,
            closed: false,
            to_send: VecDeque::new(),
            wire: VecDeque::new(),
            last_arrival: Instant::ZERO,
            held: 0,
            intake: Intake::Node,
            flow: None,
            sent: None,
            flows: 0,
        }
    }
    /// Bytes of replies that wait behind other items.
    pub(crate) fn waiting(&self) -> u64 {
        let bytes = self.to_send.iter().map(|item| match item {
            Packet::Bytes { data, .. } => data.len() as u64,
            _ => 0,
        });
        bytes.sum()
    }
}

/// A link between two nodes.
#[derive(Debug, Clone)]
pub(crate) struct StreamLink {
    ends: [LinkEnd; 2],
    pub(crate) latency: Duration,
    pub(crate) rng: Rng,
    /// The listener has accepted.
    pub(crate) open: bool,
}

impl StreamLink {
    pub(crate) const fn new(ends: [LinkEnd; 2], latency: Duration, rng: Rng) -> Self {
        Self { ends, latency, rng, open: false }
    }
    pub(crate) const fn end(&self, side: Side) -> &LinkEnd {
        &self.ends[side as usize]
    }
    pub(crate) const fn end_mut(&mut self, side: Side) -> &mut LinkEnd {
        &mut self.ends[side as usize]
    }

    /// Puts a packet on the wire from `side`; returns when it arrives.
    pub(crate) fn send(&mut self, side: Side, now: Instant, rate: u64, packet: Packet) -> Instant {
        let bytes = match &packet {
            Packet::Bytes { data, .. } => data.len() as u64,
            // A body is paced by its flow.
            Packet::Body { .. } | Packet::Fin { .. } => 0,
        };
        let transit = Duration::from_micros(bytes.saturating_mul(1_000_000) / rate.max(1));
        let earliest = now + self.latency + transit;
        let end = self.end_mut(side);
        let at = earliest.max(end.last_arrival);
        end.last_arrival = at;
        end.wire.push_back(packet);
        at
    }

    /// Splits bytes as a network might: mostly not at all, sometimes anywhere.
    pub(crate) fn chunks(&mut self, mut data: Vec<u8>) -> (Vec<u8>, Option<Vec<u8>>) {
        if data.len() > 1 && self.rng.chance(1, 4) {
            let at = self.rng.between(1, data.len() as u64 - 1);
            let rest = data.split_off(usize::try_from(at).unwrap_or(1));
            return (data, Some(rest));
        }
        (data, None)
    }
}

/// All links. Places are reused, references are not.
#[derive(Debug, Clone, Default)]
pub(crate) struct Links {
    table: Vec<(u32, Option<Arc<StreamLink>>)>,
    free: Vec<u32>,
    made: u64,
}

impl Links {
    /// How many links were ever made; it selects the random numbers of the next
    /// one.
    pub(crate) const fn made(&self) -> u64 {
        self.made
    }
    pub(crate) fn insert(&mut self, link: StreamLink) -> LinkRef {
        self.made += 1;
        if let Some(index) = self.free.pop() {
            let (generation, place) = &mut self.table[index as usize];
            *generation += 1;
            *place = Some(Arc::new(link));
            return LinkRef { index, generation: *generation };
        }
        let index = u32::try_from(self.table.len()).expect("fewer than 2^32 links");
        self.table.push((0, Some(Arc::new(link))));
        LinkRef { index, generation: 0 }
    }
    pub(crate) fn get(&self, at: LinkRef) -> Option<&StreamLink> {
        let (generation, link) = self.table.get(at.index as usize)?;
        if *generation == at.generation { link.as_deref() } else { None }
    }
    pub(crate) fn get_mut(&mut self, at: LinkRef) -> Option<&mut StreamLink> {
        let (generation, link) = self.table.get_mut(at.index as usize)?;
        if *generation == at.generation { link.as_mut().map(Arc::make_mut) } else { None }
    }
    pub(crate) fn remove(&mut self, at: LinkRef) {
        if self.get(at).is_some() {
            self.table[at.index as usize].1 = None;
            self.free.push(at.index);
        }
    }
}
