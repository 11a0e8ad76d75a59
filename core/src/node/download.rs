//! The download side: hosts the engine that decides what to ask of whom.

use alloc::vec::Vec;

use super::{DialError, Effects, FetchView, Limit, Node, StoreError};
use crate::engine::{Engine, FxOf};
use crate::id::ConnId;
use crate::time::Instant;
use crate::wire::queue::Line;

/// What is expected next of somebody we ask.
#[derive(Debug, Clone)]
pub(super) enum Reply {}

pub(super) mod fetch {
    use crate::id::{ConnId, FetchId, FileIndex, Guid, Sha1};
    use crate::time::Duration;
    use core::net::SocketAddr;
    #[derive(Debug, Clone)]
    #[allow(dead_code)]
    pub(crate) enum Input {
        Restore(super::super::PartRow),
        Resume,
        Get(super::super::Get),
        Cancel { fetch: FetchId },
        AskNow { fetch: FetchId },
        Sleep { fetch: FetchId, length: Duration },
        ExpectGiv { fetch: FetchId, servent: Guid, index: FileIndex },
        Listening(SocketAddr),
        Closed { conn: ConnId },
        Verified { fetch: FetchId, sha1: Sha1 },
    }
}

#[derive(Debug, Clone)]
pub(super) struct Fetches;
impl Fetches {
    pub(super) fn new(_: &super::Config, _: crate::rng::Rng) -> Self {
        Self
    }
    pub(super) fn view(&self) -> Vec<FetchView> {
        Vec::new()
    }
}
impl Engine for Fetches {
    type Input = fetch::Input;
    type Output = ();
    type Event = ();
    fn handle(&mut self, _now: Instant, _input: fetch::Input, _fx: &mut FxOf<Self>) {}
    fn handle_timeout(&mut self, _now: Instant, _fx: &mut FxOf<Self>) {}
    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        None
    }
}

impl Node {
    pub(super) fn fetch(&mut self, _: Instant, _: fetch::Input, _: &mut Effects) {}
    pub(super) fn obey_fetch(&mut self, _: Instant, _: FxOf<Fetches>, _: &mut Effects) {}
    pub(super) fn invited(&mut self, now: Instant, conn: ConnId, _: Line, fx: &mut Effects) {
        self.refuse(now, conn, Limit::Garbage, None, fx);
    }
    pub(super) fn fetch_dialed(&mut self, _: Instant, _: ConnId, _: &mut Effects) {}
    pub(super) fn fetch_dial_failed(
        &mut self,
        _: Instant,
        _: ConnId,
        _: DialError,
        _: &mut Effects,
    ) {
    }
    pub(super) fn fetching_rest(&mut self, _: Instant, _: ConnId, _: &mut Effects) {}
    pub(super) fn fetching_bytes(&mut self, _: Instant, _: ConnId, _: Vec<u8>, _: &mut Effects) {}
    pub(super) fn stored(&mut self, _: Instant, _: ConnId, _: u64, _: &mut Effects) {}
    pub(super) fn disk_failed(
        &mut self,
        now: Instant,
        conn: ConnId,
        why: StoreError,
        fx: &mut Effects,
    ) {
        self.unreadable(now, conn, why, fx);
    }
}
