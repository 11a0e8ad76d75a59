//! The queue of messages for a neighbour that reads slowly.
//!
//! Limited in bytes. The most valuable message is sent first, the least
//! valuable is dropped first: queries before pings, pongs, hits and pushes; of
//! hits, those with more hops are worth more, of queries those with fewer.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::wire::gnutella::{MessageKind, OverlayMessage};

/// Classes of messages, the least valuable first.
const CLASSES: usize = 5;
/// Hop counts distinguished within a class.
const HOPS: usize = 8;

/// The messages for one neighbour.
#[derive(Debug, Clone, Default)]
pub(super) struct NeighbourFlow {
    /// Given to the host and not sent yet.
    under_way: u64,
    waiting: Vec<VecDeque<OverlayMessage>>,
    bytes: u64,
}

impl NeighbourFlow {
    /// Bytes in the queue.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Bytes the host has not sent yet.
    pub(super) const fn under_way(&self) -> u64 {
        self.under_way
    }

    /// True when a message may be sent at once; it is then counted as given to
    /// the host.
    pub(super) fn leave(&mut self, message: &OverlayMessage, window: u32) -> bool {
        let now = self.bytes == 0 && self.under_way < u64::from(window);
        if now {
            self.under_way += message.len() as u64;
        }
        now
    }

    /// Queues a message; returns the messages dropped for it.
    pub(super) fn keep(&mut self, message: &OverlayMessage, most: u32) -> Vec<OverlayMessage> {
        if self.waiting.is_empty() {
            self.waiting = alloc::vec![VecDeque::new(); CLASSES * HOPS];
        }
        self.bytes += message.len() as u64;
        // In memory of its own: a small message must not keep the large buffer
        // that it came in.
        self.waiting[worth(message)].push_back(message.detached());
        let mut dropped = Vec::new();
        while self.bytes > u64::from(most) {
            let cheapest = self.waiting.iter_mut().find(|queue| !queue.is_empty());
            let Some(message) = cheapest.and_then(VecDeque::pop_front) else { break };
            self.bytes -= message.len() as u64;
            dropped.push(message);
        }
        dropped
    }

    /// Sets what the host has not sent yet; true when that is less than before.
    pub(super) fn backlog(&mut self, bytes: u64) -> bool {
        core::mem::replace(&mut self.under_way, bytes) > bytes
    }

    /// The next message that may be sent.
    pub(super) fn next(&mut self, window: u32) -> Option<OverlayMessage> {
        if self.bytes == 0 || self.under_way >= u64::from(window) {
            return None;
        }
        let best = self.waiting.iter_mut().rev().find(|queue| !queue.is_empty())?;
        let message = best.pop_front()?;
        self.bytes -= message.len() as u64;
        self.under_way += message.len() as u64;
        Some(message)
    }
}

/// The queue a message waits in: the first is the least valuable.
fn worth(message: &OverlayMessage) -> usize {
    let hops = usize::from(message.hops).min(HOPS - 1);
    let (class, within) = match message.kind() {
        MessageKind::Query => (0, hops),
        MessageKind::Ping => (1, 0),
        MessageKind::Pong => (2, 0),
        MessageKind::Hit => (3, HOPS - 1 - hops),
        MessageKind::Push
        | MessageKind::Bye
        | MessageKind::Qrp
        | MessageKind::Vendor
        | MessageKind::Standard => (4, 0),
    };
    class * HOPS + within
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::id::{FileIndex, Guid};
    use crate::wire::gnutella::{
        HitBuilder, MessageBody, OverlayPayload, Ping, Pong, Push, Quality,
    };
    use crate::wire::gnutella::{Query, Wishes};
    use core::net::{Ipv4Addr, SocketAddrV4};

    const AT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(192, 0, 2, 1), 6346);

    fn message(hops: u8, body: MessageBody) -> OverlayMessage {
        OverlayMessage { guid: Guid([1; 16]), ttl: 3, hops, body }
    }

    fn ping() -> OverlayMessage {
        message(0, MessageBody::Ping(Ping::default()))
    }

    fn query(hops: u8) -> OverlayMessage {
        message(hops, MessageBody::Query(Query::new(Wishes::default(), "rare", &[])))
    }

    fn hit(hops: u8) -> OverlayMessage {
        let mut hit = HitBuilder::new(AT, 1, (*b"TEST", Quality::default()), Guid([2; 16]), 4_096);
        assert!(hit.add(FileIndex(1), 10, "rare", None));
        message(hops, MessageBody::Hit(hit.finish().expect("one file")))
    }

    /// From the least valuable to the most.
    fn ladder() -> Vec<OverlayMessage> {
        let pong = Pong { at: AT, files: 1, kilobytes: 1, ggep: OverlayPayload::new() };
        let servent = Guid([3; 16]);
        let push = Push { servent, index: FileIndex(1), at: AT, ggep: OverlayPayload::new() };
        let pong = message(0, MessageBody::Pong(pong));
        let push = message(0, MessageBody::Push(push));
        Vec::from([query(0), query(1), query(9), ping(), pong, hit(9), hit(1), hit(0), push])
    }

    #[test]
    fn what_is_worth_most_leaves_first_and_what_is_worth_least_is_dropped_first() {
        let mut flow = NeighbourFlow::default();
        let ladder = ladder();
        let all: u64 = ladder.iter().map(|one| one.len() as u64).sum();
        for one in ladder.iter().rev() {
            assert!(flow.keep(one, all as u32).is_empty(), "what fits to the byte is kept");
        }
        assert_eq!(flow.bytes(), all);
        let more = ping();
        assert_eq!(flow.keep(&more, all as u32), [ladder[0].clone()]);
        let left = all + more.len() as u64 - ladder[0].len() as u64;
        assert_eq!(flow.bytes(), left);
        let sent: Vec<OverlayMessage> = core::iter::from_fn(|| flow.next(u32::MAX)).collect();
        let mut expected: Vec<OverlayMessage> = ladder[1..].iter().rev().cloned().collect();
        expected.insert(6, more);
        assert_eq!(sent, expected);
        assert_eq!((flow.bytes(), flow.under_way()), (0, left));
    }

    #[test]
    fn nothing_is_given_to_the_host_beyond_the_window_or_before_what_waits() {
        let (mut flow, one) = (NeighbourFlow::default(), ping());
        let length = one.len() as u32;
        assert!(flow.leave(&one, 1) && !flow.leave(&one, length));
        assert_eq!(flow.under_way(), u64::from(length));
        assert!(flow.leave(&one, length + 1));
        flow.keep(&one, 1_000);
        assert_eq!(flow.next(2 * length), None);
        assert!(!flow.backlog(u64::from(2 * length)) && flow.backlog(5));
        assert!(!flow.leave(&one, 1_000), "another waits");
        assert_eq!(flow.next(6), Some(one));
        assert_eq!(flow.next(1_000), None);
    }

    #[test]
    fn a_push_leaves_before_any_hit_and_a_pong_after_any() {
        for hops in 0..=9 {
            let mut flow = NeighbourFlow::default();
            let ladder = ladder();
            let (pong, push) = (&ladder[4], &ladder[8]);
            let hit = hit(hops);
            for one in [pong, &hit, push] {
                flow.keep(one, u32::MAX);
            }
            let order: Vec<OverlayMessage> = core::iter::from_fn(|| flow.next(u32::MAX)).collect();
            assert!(order.iter().eq([push, &hit, pong]));
        }
    }
}
