//! Fills one datagram up to its size.

use alloc::vec::Vec;

use crate::wire::unicast::{ConnBlock, Packet, block_len};

/// A datagram being filled.
#[derive(Debug)]
pub(super) struct Packer {
    blocks: Vec<ConnBlock>,
    used: usize,
    size: usize,
}

impl Packer {
    /// An empty datagram of `size` bytes, not counting the seal.
    pub(super) const fn new(size: usize) -> Self {
        Self { blocks: Vec::new(), used: 0, size }
    }

    /// Bytes that are free.
    pub(super) const fn left(&self) -> usize {
        self.size - self.used
    }

    /// Bytes of the whole datagram, not counting the seal.
    pub(super) const fn size(&self) -> usize {
        self.size
    }

    /// Its last block extends to the end: nothing can follow.
    pub(super) const fn close(&mut self) {
        self.size = self.used;
    }

    /// Upper bound of the bytes filled.
    pub(super) const fn used(&self) -> usize {
        self.used
    }

    /// Adds a block whose messages and ranges take `more` bytes; false, and
    /// nothing is added, when it does not fit.
    pub(super) fn push(&mut self, block: ConnBlock, more: usize) -> bool {
        let takes = block_len(&block) + more;
        if takes > self.left() {
            return false;
        }
        self.used += takes;
        self.blocks.push(block);
        true
    }

    /// The datagram, unless it is empty.
    pub(super) fn finish(self) -> Option<Packet> {
        if self.blocks.is_empty() { None } else { Some(Packet { blocks: self.blocks }) }
    }
}
