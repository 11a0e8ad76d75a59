//! The context of the rules of one connection.

use core::net::SocketAddr;

use super::tombstones::{ConnEnd, Tombstones};
use super::{Config, Event, Output, Rejection, UnicastConnId, UnicastCounters, UnicastLimit};
use crate::engine::Fx;
use crate::rng::Rng;
use crate::time::Instant;

/// The parts of the endpoint that a connection uses during one call.
pub(super) struct UnicastCx<'a> {
    pub(super) now: Instant,
    pub(super) peer: SocketAddr,
    pub(super) config: &'a Config,
    pub(super) counters: &'a mut UnicastCounters,
    pub(super) tombstones: &'a mut Tombstones,
    pub(super) rng: &'a mut Rng,
    /// Bytes buffered for all peers together.
    pub(super) held: &'a mut u64,
    pub(super) fx: &'a mut Fx<Output, Event>,
}

impl UnicastCx<'_> {
    /// Adds an event that is only emitted when messages are traced.
    pub(super) fn trace(&mut self, event: impl FnOnce(SocketAddr) -> Event) {
        if self.config.trace_messages {
            self.fx.event(event(self.peer));
        }
    }

    pub(super) fn reject(&mut self, conn: UnicastConnId, why: Rejection) {
        self.counters.rejected += 1;
        self.fx.event(Event::Rejected { peer: self.peer, conn, why });
    }

    pub(super) fn limit(&mut self, limit: UnicastLimit) {
        self.fx.event(Event::Limit { peer: self.peer, limit });
    }

    pub(super) fn bury(
        &mut self,
        conn: UnicastConnId,
        next: u64,
        early: alloc::vec::Vec<u64>,
        end: ConnEnd,
    ) {
        let until = self.now + self.config.tombstone_time.scaled(self.config.time_scale);
        let (now, most) = (self.now, self.config.tombstones);
        if self.tombstones.bury((self.peer, conn), (next, early, end), (now, until), most) {
            self.limit(UnicastLimit::Tombstones);
        }
    }
}
