//! Datagrams of one size to one peer, one behind the other in memory.

use core::net::SocketAddr;

use bytes::BytesMut;

use crate::node::{Effects, Output};
use crate::wire::unicast::{Packet, Seal};

/// Bytes that leave in one piece, at most.
const LONGEST: usize = 65_000;
/// Bytes of memory asked for at once. The next datagrams use it again when
/// the host has let go of the last ones.
const BLOCK: usize = 128 * 1024;

/// The datagrams that will leave next. Empty between two calls.
#[derive(Debug, Clone, Default)]
pub(super) struct Train {
    data: BytesMut,
    to: Option<SocketAddr>,
    /// The length of each.
    segment: usize,
    /// It ends with a shorter one: nothing can follow.
    closed: bool,
}

impl Train {
    /// Prints a datagram behind the others, or begins anew with it.
    pub(super) fn add(
        &mut self,
        to: SocketAddr,
        packet: &Packet,
        (seal, mtu): (&Seal, u32),
        fx: &mut Effects,
    ) {
        let begin = self.data.len();
        if self.data.capacity() - begin < mtu as usize {
            self.data.reserve(BLOCK.max(mtu as usize));
        }
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
        *self = Self { data: next, to: Some(to), segment: length, closed: false };
    }

    /// What there is leaves.
    pub(super) fn leave(&mut self, fx: &mut Effects) {
        if let Some(to) = self.to.take() {
            let data = self.data.split().freeze();
            let segment = u32::try_from(self.segment).unwrap_or(u32::MAX);
            fx.output(Output::Datagrams { to, segment, data });
        }
    }
}
