//! The queue of messages for a neighbour that reads slowly.
//!
//! Limited in bytes. The most valuable message is sent first, the least
//! valuable is dropped first: queries before pings, pongs, hits and pushes; of
//! hits, those with more hops are worth more, of queries those with fewer.

use alloc::collections::VecDeque;
use alloc::vec::Vec;

use crate::wire::gnutella::{Kind, Message};

/// Classes of messages, the least valuable first.
const CLASSES: usize = 5;
/// Hop counts distinguished within a class.
const HOPS: usize = 8;

/// The messages for one neighbour.
#[derive(Debug, Clone, Default)]
pub(super) struct Flow {
    /// Given to the host and not sent yet.
    under_way: u64,
    waiting: Vec<VecDeque<Message>>,
    bytes: u64,
}

impl Flow {
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
    pub(super) fn leave(&mut self, message: &Message, window: u32) -> bool {
        let now = self.bytes == 0 && self.under_way < u64::from(window);
        if now {
            self.under_way += message.len() as u64;
        }
        now
    }

    /// Queues a message; returns the messages dropped for it.
    pub(super) fn keep(&mut self, message: &Message, most: u32) -> Vec<Message> {
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
    pub(super) fn next(&mut self, window: u32) -> Option<Message> {
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
fn worth(message: &Message) -> usize {
    let hops = usize::from(message.hops).min(HOPS - 1);
    let (class, within) = match message.kind() {
        Kind::Query => (0, hops),
        Kind::Ping => (1, 0),
        Kind::Pong => (2, 0),
        Kind::Hit => (3, HOPS - 1 - hops),
        Kind::Push | Kind::Bye | Kind::Qrp | Kind::Vendor | Kind::Standard => (4, 0),
    };
    class * HOPS + within
}
