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
    /// The datagram that is being handled says something about our connection, whose
    /// number only a host knows that has received one of ours.
    pub(super) has_heard_us: bool,
    pub(super) config: &'a Config,
    pub(super) counters: &'a mut UnicastCounters,
    pub(super) tombstones: &'a mut Tombstones,
    pub(super) rng: &'a mut Rng,
    /// Bytes buffered for all peers together.
    pub(super) held: &'a mut u64,
    /// Numbers of all peers beyond the first missing one that have a place.
    pub(super) places: &'a mut u64,
    /// Bytes by which all windows exceed what they are at first.
    pub(super) grown: &'a mut u64,
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

    /// Changes a window, as far as the total of all windows allows; what it is
    /// at first is not counted. Returns the new one (PA-3).
    pub(super) fn regrow(&mut self, window: u64, wanted: u64, start: u64) -> u64 {
        let (had, wants) = (window.saturating_sub(start), wanted.saturating_sub(start));
        let others = self.grown.saturating_sub(had);
        let gets = wants.min(self.config.grown_total.saturating_sub(others));
        if gets < wants && wants > had {
            self.limit(UnicastLimit::Windows);
        }
        *self.grown = others + gets;
        wanted.min(start) + gets
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
