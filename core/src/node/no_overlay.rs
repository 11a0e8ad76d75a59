//! A node without the overlay: for the views of the page that do not show
//! it, whose module must not carry it.

use alloc::vec::Vec;

use super::{Command, Effects, FileInfo, HostRow, Limit, Node};
use crate::id::{ConnId, FileIndex};
use crate::rng::Rng;
use crate::time::Instant;

/// Nothing.
#[derive(Debug, Clone)]
pub(super) struct Part;

impl Part {
    pub(super) const fn new((): &(), _: &Rng) -> Self {
        Self
    }
    pub(super) const fn next(&self) -> Option<(Instant, &'static str)> {
        None
    }
}

#[allow(clippy::unused_self)] // The same doors as with the overlay.
impl Node {
    pub(super) const fn overlay_shares(&self, _: &FileInfo) {}
    pub(super) const fn overlay_lacks(&self, _: FileIndex) {}
    pub(super) fn overlay_knows(&self, _: Instant, _: Vec<HostRow>, _: &Effects) {}
    pub(super) fn overlay_command(&self, _: Instant, _: Command, _: &Effects) {}
    pub(super) const fn overlay_stop(&self, _: Instant, _: &Effects) {}
    pub(super) const fn overlay_timeout(&self, _: Instant, _: &Effects) {}
    pub(super) const fn overlay_dialed(&self, _: Instant, _: ConnId, _: &Effects) {}
    pub(super) const fn overlay_unread(&self, _: Instant, _: ConnId, _: &Effects) {}
    pub(super) const fn overlay_gone(&self, _: Instant, _: ConnId, _: &Effects) {}
    pub(super) const fn overlay_backlog(&self, _: Instant, _: ConnId, _: u64, _: &Effects) {}
    pub(super) fn overlay_bytes(&self, _: Instant, _: ConnId, _: Vec<u8>, _: &Effects) {}
    pub(super) fn overlay_hello(
        &mut self,
        now: Instant,
        conn: ConnId,
        _: &[u8],
        fx: &mut Effects,
    ) -> Option<usize> {
        self.refuse(now, conn, Limit::Garbage, None, fx);
        None
    }
}
