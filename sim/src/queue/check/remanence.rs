//! What a server keeps for clients that may have left: after a restart, and for
//! the owner of a broken transfer. It must not cost those who are there more
//! than a moment.

use alloc::collections::BTreeMap;

use super::line::RecordedPosition;
use servent_core::id::Guid;
use servent_core::queue::{Config, QueuePolicy};
use servent_core::time::{Duration, Instant};

/// How much later than its time a slot may be given on: timers have ticks.
const TICKS: Duration = Duration::from_millis(200);

/// The last reply to a client that waits, which a restarted server knows too.
#[derive(Debug, Clone, Copy)]
pub(super) struct LastReply {
    /// The connection was kept, so a restart broke it.
    pub(super) keep: bool,
    /// The client is to ask again by then.
    pub(super) deadline: Instant,
}

impl LastReply {
    /// Until when a slot may be reserved for the client if nothing is heard of
    /// it after a restart.
    pub(super) fn awaited(self, restarted: Instant, config: &Config) -> Instant {
        let moment = restarted + moment(config);
        if self.keep { moment } else { moment.max(self.deadline) }
    }
}

/// Slots that an adaptive server reserves for the owners of broken transfers.
#[derive(Debug, Clone, Default)]
pub(super) struct Reserves {
    since: BTreeMap<Guid, Instant>,
    /// Since when a client that is there waits for a slot.
    wanted: Option<Instant>,
}

impl Reserves {
    /// A slot is reserved from now on.
    pub(super) fn begin(&mut self, now: Instant, owner: Guid) {
        self.since.insert(owner, now);
    }

    /// Its owner has come back, or the slot is given on.
    pub(super) fn end(&mut self, owner: Guid) {
        self.since.remove(&owner);
    }

    /// The server could do nothing until now: all times count anew.
    pub(super) fn excuse(&mut self, now: Instant) {
        self.since.values_mut().for_each(|since| *since = now);
        self.wanted = self.wanted.map(|_| now);
    }

    /// Whether a client that is there waits for a slot from now on.
    pub(super) fn want(&mut self, now: Instant, is_wanted: bool) {
        self.wanted = is_wanted.then(|| self.wanted.unwrap_or(now));
    }

    /// A reserve that has cost a client more than a moment.
    pub(super) fn overdue(&self, now: Instant, config: &Config) -> Option<Guid> {
        let wanted = self.wanted.filter(|_| config.policy == QueuePolicy::Adaptive)?;
        let most = moment(config) + TICKS;
        let late = |since: &Instant| (*since).max(wanted) + most < now;
        self.since.iter().find(|(_, since)| late(since)).map(|(owner, _)| *owner)
    }
}

/// How long a slot waits for a client that may have left, while others are there.
pub(super) fn moment(config: &Config) -> Duration {
    config.slot_reserve_contested.scaled(config.time_scale)
}

/// True when a place is of a client of which nothing was heard in time since a
/// restart.
pub(super) fn has_left(place: &RecordedPosition, now: Instant) -> bool {
    place.awaited.is_some_and(|by| by <= now)
}
