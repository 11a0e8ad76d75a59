//! Datagrams of one size to one peer, concatenated in memory.

use core::net::SocketAddr;

use bytes::BytesMut;

use crate::node::{MessageOutput, NodeEffects, Output};
use crate::wire::unicast::{Packet, Seal};

/// Maximum bytes sent in one piece.
const LONGEST: usize = 65_000;
/// Bytes of memory allocated at first, and at most.
const BLOCK: (usize, usize) = (128 << 10, 4 << 20);

/// The datagrams that will be sent next. Empty between two calls.
///
/// They are encoded into one block of memory, which is used again from its
/// start as soon as the host has dropped everything encoded before. A block
/// that is full earlier is replaced by one of twice the size. So it grows to
/// what a busy host sends in a turn, and then no more memory is allocated.
#[derive(Debug, Clone)]
pub(super) struct Train {
    data: BytesMut,
    /// Size of the block in bytes.
    block: usize,
    to: Option<SocketAddr>,
    /// The length of each datagram.
    segment: usize,
    /// It ends with a shorter datagram: nothing can follow.
    closed: bool,
}

impl Default for Train {
    fn default() -> Self {
        let data = BytesMut::new();
        Self { data, block: BLOCK.0, to: None, segment: 0, closed: false }
    }
}

impl Train {
    /// Appends a datagram to the others, or starts a new train with it.
    pub(super) fn add(
        &mut self,
        to: SocketAddr,
        packet: &Packet,
        (seal, mtu): (&Seal, u32),
        fx: &mut NodeEffects,
    ) {
        let begin = self.data.len();
        self.make_room(mtu as usize);
        packet.encode(seal, &mut self.data);
        let length = self.data.len() - begin;
        let fits = self.to == Some(to)
            && !self.closed
            && length <= self.segment
            && self.data.len() <= LONGEST;
        if fits {
            self.closed = length < self.segment;
            return;
        }
        let next = self.data.split_off(begin);
        self.leave(fx);
        *self = Self { data: next, to: Some(to), segment: length, closed: false, ..*self };
    }

    /// Makes room for a datagram of so many bytes.
    fn make_room(&mut self, bytes: usize) {
        if self.data.is_empty() && self.data.try_reclaim(self.block) {
            return;
        }
        let capacity = self.data.capacity();
        if capacity - self.data.len() < bytes {
            let full = capacity > 0; // The first of a node, or of a copy of one, is none.
            self.block = if full { BLOCK.1.min(self.block * 2) } else { self.block };
            self.data.reserve(self.block.max(bytes));
        }
    }

    /// Sends what there is.
    pub(super) fn leave(&mut self, fx: &mut NodeEffects) {
        if let Some(to) = self.to.take() {
            let data = self.data.split().freeze();
            let segment = u32::try_from(self.segment).unwrap_or(u32::MAX);
            fx.output(Output::Messages(MessageOutput::Datagrams { to, segment, data }));
        }
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;
    use alloc::vec::Vec;

    use super::*;
    use crate::engine::Effect;
    use crate::wire::unicast::{ConnBlock, UnicastConnId, UnicastPayload};

    const MTU: u32 = 1_400;

    /// What a turn of so many datagrams encodes.
    fn turn(train: &mut Train, datagrams: usize) -> Vec<UnicastPayload> {
        let to = SocketAddr::from(([192, 0, 2, 1], 7));
        let probe =
            Packet { blocks: vec![ConnBlock::Probe { conn: UnicastConnId(7), sent: 3 }; 100] };
        let mut fx = NodeEffects::new();
        for _ in 0..datagrams {
            train.add(to, &probe, (&Seal::None, MTU), &mut fx);
        }
        train.leave(&mut fx);
        let data = |effect| match effect {
            Effect::Output(Output::Messages(MessageOutput::Datagrams { data, .. })) => Some(data),
            _ => None,
        };
        fx.drain().filter_map(data).collect()
    }

    #[test]
    fn memory_is_used_again_when_the_host_has_let_go_of_it() {
        let mut train = Train::default();
        let kept = turn(&mut train, 1);
        let here = kept[0].as_ptr();
        assert_ne!(turn(&mut train, 1)[0].as_ptr(), here, "it is still needed");
        drop(kept);
        assert_eq!(turn(&mut train, 1)[0].as_ptr(), here);
    }

    #[test]
    fn a_block_comes_to_hold_what_a_turn_sends() {
        let mut train = Train::default();
        let places = |train: &mut Train| -> Vec<*const u8> {
            turn(train, 2_000).iter().map(|data| data.as_ptr()).collect()
        };
        let first = places(&mut train);
        let (second, third) = (places(&mut train), places(&mut train));
        assert!(first.len() > 1);
        assert_ne!(first, second);
        assert_eq!(second, third, "nothing was asked for");
    }
}
