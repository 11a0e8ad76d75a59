//! After a restart (PQ-12).

use super::slots::Upload;
use super::tables::entry::{EntryPhase, QueueEntry, Stored};
use super::tables::wheel::Wheel;
use super::{Output, QueueEffects, QueueServer};
use crate::queue::{Dialect, Event, QueuePolicy, RowState, StoredEntry, pace};
use crate::time::{Duration, Instant};

/// No store of ours has counted this far; rows with a larger number are
/// renumbered.
const ARRIVAL_MAX: u64 = 1 << 62;

impl QueueServer {
    /// Restores a row from the store. Rows come in order of arrival; a row out
    /// of order is placed where it came, an invalid row is deleted.
    pub(super) fn restore(&mut self, now: Instant, row: StoredEntry, fx: &mut QueueEffects) {
        let known = self.places.with_ticket(row.ticket).is_some();
        if known || row.dialect == Dialect::Active {
            if !known {
                fx.output(Output::Forget(row.ticket));
            }
            return;
        }
        if (self.next_arrival..ARRIVAL_MAX).contains(&row.arrival) {
            self.next_arrival = row.arrival;
        }
        let arrival = self.draw_arrival();
        let mut entry = QueueEntry::new(row.ticket, arrival, row.peer.to_canonical(), now);
        entry.dialect = row.dialect;
        entry.file = row.file;
        entry.bytes = row.bytes;
        entry.told = row.told;
        (entry.not_before, entry.deadline) = (row.not_before, row.deadline);
        entry.breaks = row.breaks;
        (entry.unheard, entry.stored) = (true, Stored::Row);
        entry.set_callback(row.callback);
        entry.phase = match row.state {
            RowState::Waiting => EntryPhase::Waiting,
            RowState::Uploading | RowState::Reserved => EntryPhase::Reserved,
        };
        let (ticket, waits) = (entry.ticket, entry.phase == EntryPhase::Waiting);
        let at = self.places.insert(entry);
        let position = if waits {
            self.join_line(at);
            self.line.len()
        } else {
            self.uploads.insert(arrival, Upload::new(at, now));
            self.shares.take(self.places.slab[at].peer);
            0
        };
        fx.event(Event::Restored { ticket, arrival, position });
        // The numbers that the store has must be of one count.
        if arrival != row.arrival {
            self.save(at, fx);
        }
    }

    /// Everything is restored. No client is blamed for our absence: those that
    /// wait may ask at once and have the full remanence to do so; slots are
    /// reserved for their owners; clients that can be called are called.
    ///
    /// Which of them are still there is unknown. Our absence broke all
    /// connections, so slots wait for their clients as they would for any whose
    /// connection broke while others wait: for a moment, in which they come back
    /// if they are there.
    pub(super) fn resume(&mut self, now: Instant, fx: &mut QueueEffects) {
        let reserve = now + self.config.slot_reserve.scaled(self.config.time_scale);
        let owners: alloc::vec::Vec<u32> = self.uploads.values().map(|one| one.entry).collect();
        for at in owners {
            let entry = &self.places.slab[at];
            if entry.phase == EntryPhase::Reserved && !Wheel::has(entry) {
                self.places.slab[at].deadline = reserve;
                if self.config.policy == QueuePolicy::Adaptive {
                    let check = self.contested(now, reserve);
                    self.wake_at(at, Some(check));
                    if self.next_call < check {
                        self.call_if_possible(now, at, fx);
                    }
                } else {
                    self.await_or_call(now, at, fx);
                }
            }
        }
        let whole = self.config.remanence.scaled(self.config.time_scale);
        let remanence = now + whole;
        // We never announce a longer wait; a row that says more was written
        // before our clock was set back.
        let longest = now + pace::lifetime(pace::FAR_RETRY).scaled(self.config.time_scale);
        let moment = self.contested(now, remanence);
        for position in 1..=self.line.len() {
            let Some(at) = self.line.at(position) else { break };
            let entry = &mut self.places.slab[at];
            if !Wheel::has(entry) {
                // A client that was told to disconnect comes when it was told to,
                // unless it was absent before: then it has the whole remanence.
                let was_connected =
                    entry.dialect != Dialect::Passive && entry.told <= self.config.sync_places;
                let was_absent = entry.deadline.since(entry.not_before) >= whole;
                let told =
                    if was_connected || was_absent { now } else { entry.deadline.min(longest) };
                entry.awaited = told.max(moment);
                entry.not_before = entry.not_before.min(now);
                entry.deadline = entry.deadline.min(longest).max(remanence);
                self.line.set_present(entry.seat, true);
                self.await_or_call(now, at, fx);
            }
        }
    }

    /// No client was answered for a while: one that waits may ask at once and has
    /// the full remanence to do so, slots stay reserved for their owners. Who
    /// was found absent meanwhile counts as present again, or a newcomer would
    /// be served first; those without a connection for a moment only, as after
    /// a restart.
    pub(super) fn excuse(&mut self, now: Instant) {
        self.claims.clear();
        let later = |length: Duration| now + length.scaled(self.config.time_scale);
        let (reserve, remanence) = (later(self.config.slot_reserve), later(self.config.remanence));
        let moment = self.contested(now, remanence);
        let owners = self.uploads.values().map(|one| one.entry);
        let awaited = |at: &u32| {
            matches!(self.places.slab[*at].phase, EntryPhase::Reserved | EntryPhase::Pausing)
        };
        let reserved = owners.filter(awaited);
        let mut excused: alloc::vec::Vec<_> = reserved.map(|at| (at, reserve)).collect();
        let waiting = (1..=self.line.len()).filter_map(|position| self.line.at(position));
        excused.extend(waiting.map(|at| (at, remanence)));
        for (at, until) in excused {
            let entry = &mut self.places.slab[at];
            if Wheel::has(entry) {
                entry.not_before = entry.not_before.min(now);
                entry.deadline = entry.deadline.max(until);
                let (deadline, seat) = (entry.deadline, entry.seat);
                let mut check = deadline;
                if entry.phase == EntryPhase::Waiting {
                    if entry.unheard && entry.conn().is_none() {
                        entry.awaited = moment;
                    }
                    self.line.set_present(seat, true);
                } else if self.config.policy == QueuePolicy::Adaptive {
                    check = moment.min(deadline);
                }
                self.wake_at(at, Some(check));
            }
        }
    }

    fn await_or_call(&mut self, now: Instant, at: u32, fx: &mut QueueEffects) {
        self.wake_at(at, Some(self.places.slab[at].deadline));
        self.call_if_possible(now, at, fx);
    }

    fn call_if_possible(&mut self, now: Instant, at: u32, fx: &mut QueueEffects) {
        if self.places.slab[at].call_port.is_some() && self.config.calls > 0 {
            self.book_call(now, at, fx);
        }
    }
}
