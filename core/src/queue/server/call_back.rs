//! Calls to the next client (QA-2): not because its time has run out, but so
//! that it comes as soon as there is a slot.

use super::{Output, QueueEffects, QueueServer};
use crate::address::owner;
use crate::queue::{Event, QueuePolicy};
use crate::time::{Duration, Instant};

/// How long before a slot is expected the next client is called.
const LEAD: Duration = Duration::from_secs(2);

impl QueueServer {
    /// Calls the client of a place that gave a callback address: it may ask at
    /// once, whatever it was told before. A call that the limits forbid is not
    /// made later, and these calls do not count as those after which a place is
    /// lost.
    pub(super) fn call_back(&mut self, now: Instant, at: u32, fx: &mut QueueEffects) {
        let entry = &self.places.slab[at];
        let (arrival, ticket, peer) = (entry.arrival, entry.ticket, entry.peer);
        let Some(to) = entry.callback().filter(|_| self.config.policy == QueuePolicy::Adaptive)
        else {
            return;
        };
        let spacing = self.config.call_spacing.scaled(self.config.time_scale);
        let lately = self.called_back.get(&arrival).is_some_and(|last| now.since(*last) < spacing);
        let busy = self.config.calls == 0 || entry.call_booked || self.next_call > now;
        if lately || busy || self.holds.has(arrival) {
            return;
        }
        if self.calls.count(owner(peer), now).is_some() {
            return;
        }
        self.next_call = now + self.between_calls();
        self.called_back.insert(arrival, now);
        self.places.slab[at].not_before = now;
        fx.event(Event::Called { ticket, to, attempt: 0 });
        fx.output(Output::Call { ticket, to });
    }

    /// Calls the first client of the queue when a slot is about to be free.
    pub(super) fn call_back_ahead(&mut self, now: Instant, fx: &mut QueueEffects) {
        if self.config.policy != QueuePolicy::Adaptive || self.free_within() > 0 {
            return;
        }
        let Some(head) = self.line.present_at(1) else { return };
        let lead = LEAD.scaled(self.config.time_scale);
        if self.places.slab[head].callback().is_some()
            && self.expected(head, now).is_some_and(|left| left <= lead)
        {
            self.call_back(now, head, fx);
        }
    }

    /// The minimum time between two calls.
    pub(super) fn between_calls(&self) -> Duration {
        let each = Duration::from_secs(1).ratio(1, u64::from(self.config.calls_per_second.max(1)));
        each.scaled(self.config.time_scale)
    }
}
