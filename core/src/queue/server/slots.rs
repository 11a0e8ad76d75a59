//! Slots: from the first byte of an upload until the slot is free again.

use core::net::IpAddr;

use super::tables::entry::{EntryPhase, QueueEntry, Stored};
use super::{Output, QueueEffects, QueueRequest, QueueServer, QueueVerdict};
use crate::id::ConnId;
use crate::queue::{Dialect, Event, FileKey, QueuePolicy};
use crate::time::Instant;

/// A client that took less than this loses its slot when its transfer breaks:
/// there is nothing worth continuing, and reserving a slot must cost something
/// (QA-6).
const WORTH_A_RESERVE: u64 = 64 * 1024;

/// A client in a slot.
#[derive(Debug, Clone, Copy)]
pub(super) struct Upload {
    pub(super) entry: u32,
    pub(super) since: Instant,
    /// Ranges of this stay in the slot.
    ranges: u32,
    /// Bytes of the current range that have been sent.
    pub(super) sent: u64,
    /// Bytes of the earlier ranges.
    taken: u64,
    /// Bytes of the file behind the current range.
    pub(super) rest: u64,
    /// A transfer is running.
    running: bool,
    /// A file was sent, and the slot waits for the next file of this turn.
    between_files: bool,
}

impl Upload {
    pub(super) const fn new(entry: u32, since: Instant) -> Self {
        Self {
            entry,
            since,
            ranges: 1,
            sent: 0,
            taken: 0,
            rest: 0,
            running: false,
            between_files: false,
        }
    }
}

impl QueueServer {
    /// Gives a slot to an entry that has left the queue, or was never in it.
    pub(super) fn begin(
        &mut self,
        now: Instant,
        at: u32,
        request: &QueueRequest,
        fx: &mut QueueEffects,
    ) {
        let entry = &mut self.places.slab[at];
        entry.phase = EntryPhase::Uploading;
        (entry.breaks, entry.calls, entry.call_booked) = (0, 0, false);
        let QueueEntry { ticket, arrival, peer, since, .. } = *entry;
        self.uploads.insert(arrival, Upload { rest: request.rest, ..Upload::new(at, now) });
        self.shares.take(peer);
        self.runs(arrival);
        let (conn, waited, free) = (request.conn, now.since(since), self.free());
        self.wake_at(at, None);
        self.save(at, fx);
        fx.event(Event::Started { ticket, conn, peer, waited, free });
        self.reply_start(at, request, fx);
    }

    /// A client in a slot asks again: for the next range (AQ-9), or on a new
    /// connection while we still believe in the old one.
    pub(super) fn next_range(
        &mut self,
        now: Instant,
        at: u32,
        request: &QueueRequest,
        fx: &mut QueueEffects,
    ) {
        let fits = self.turn_has(now, at, request.bytes);
        let entry = &self.places.slab[at];
        let upload = self.uploads.get_mut(&entry.arrival).expect("an upload has a slot");
        upload.ranges += 1;
        let parq = matches!(request.dialect, Dialect::Parq | Dialect::Parq11);
        let keeps = match core::mem::take(&mut upload.between_files) {
            true => fits,
            false => parq || entry.file == request.file,
        };
        if !keeps || upload.ranges > self.config.ranges_per_slot {
            self.end_upload(at, fx);
            return self.newcomer(now, request, fx);
        }
        self.go_on(now, at, request, fx);
    }

    /// Starts the next transfer of a client that has a slot, also after its
    /// last transfer broke (PQ-14).
    pub(super) fn go_on(
        &mut self,
        now: Instant,
        at: u32,
        request: &QueueRequest,
        fx: &mut QueueEffects,
    ) {
        self.take_connection(now, at, request, fx);
        self.shares.give(self.places.slab[at].peer);
        self.shares.take(request.peer);
        self.places.move_to(at, request.peer);
        let before = self.places.slab[at].row();
        self.note(at, request);
        let entry = &mut self.places.slab[at];
        entry.phase = EntryPhase::Uploading;
        (entry.calls, entry.call_booked) = (0, false);
        let QueueEntry { ticket, arrival, .. } = *entry;
        self.runs(arrival);
        self.wake_at(at, None);
        if self.places.slab[at].row() != before {
            self.save(at, fx);
        }
        fx.event(Event::Continued { ticket, conn: request.conn });
        self.reply_start(at, request, fx);
    }

    /// A transfer of the entry with this arrival starts.
    fn runs(&mut self, arrival: u64) {
        let Some(upload) = self.uploads.get_mut(&arrival) else { return };
        upload.taken = upload.taken.saturating_add(core::mem::take(&mut upload.sent));
        if !core::mem::replace(&mut upload.running, true) {
            self.rate.begin();
        }
    }

    /// The transfer of the entry with this arrival ends.
    fn rests(&mut self, arrival: u64) {
        let Some(upload) = self.uploads.get_mut(&arrival) else { return };
        if core::mem::take(&mut upload.running) {
            self.rate.end();
        }
    }

    /// So many bytes of a range have been sent.
    pub(super) fn progress(&mut self, conn: ConnId, bytes: u64) {
        let Some(at) = self.places.with_conn(conn) else { return };
        if let Some(upload) = self.uploads.get_mut(&self.places.slab[at].arrival) {
            self.rate.sent(bytes.saturating_sub(upload.sent));
            upload.sent = upload.sent.max(bytes);
        }
    }

    /// The slot that is reserved for this address and file, if any.
    pub(super) fn reserved_for(&self, peer: IpAddr, file: FileKey) -> Option<u32> {
        let mut entries = self.uploads.values().map(|upload| upload.entry);
        entries.find(|&at| {
            let entry = &self.places.slab[at];
            entry.phase == EntryPhase::Reserved && entry.peer == peer && entry.file == file
        })
    }

    /// All bytes of a range have been sent.
    pub(super) fn finished(
        &mut self,
        now: Instant,
        conn: ConnId,
        last: bool,
        fx: &mut QueueEffects,
    ) {
        let Some(at) = self.places.with_conn(conn) else { return };
        if self.places.slab[at].phase != EntryPhase::Uploading {
            return;
        }
        self.progress(conn, self.places.slab[at].bytes);
        // A client that had a file before probably wants another; when no other
        // waits, it gets that anyway.
        let released = self.places.slab[at].stored == Stored::Released;
        let last = last || released;
        let several = last && !released && !self.served.insert(conn);
        let between_files = several && self.length() > 0 && self.turn_has(now, at, 1);
        if last && !between_files {
            return self.end_upload(at, fx);
        }
        let arrival = self.places.slab[at].arrival;
        self.rests(arrival);
        if let Some(upload) = self.uploads.get_mut(&arrival) {
            upload.between_files = between_files;
        }
        self.places.slab[at].phase = EntryPhase::Pausing;
        let hold = if between_files { self.config.turn_hold } else { self.config.continue_hold };
        let until = now + hold.scaled(self.config.time_scale);
        self.places.slab[at].deadline = until;
        self.wake_at(at, Some(until));
    }

    /// A position was not told, or a transfer that was granted cannot begin.
    /// A client that is known by a name or an address may ask for that on any
    /// connection; in Active Queueing it is this one.
    pub(super) fn retract_reply(&mut self, now: Instant, conn: ConnId) {
        let Some(at) = self.places.with_conn(conn) else { return };
        let QueueEntry { phase, arrival, dialect, .. } = self.places.slab[at];
        if phase == EntryPhase::Waiting {
            self.places.slab[at].unheard = true;
        }
        if phase != EntryPhase::Uploading {
            return;
        }
        self.rests(arrival);
        let until = now + self.config.slot_reserve.scaled(self.config.time_scale);
        let entry = &mut self.places.slab[at];
        entry.phase =
            if dialect == Dialect::Active { EntryPhase::Pausing } else { EntryPhase::Reserved };
        (entry.not_before, entry.deadline) = (now, until);
        if dialect != Dialect::Active {
            self.places.unbind(at);
        }
        self.wake_at(at, Some(until));
    }

    /// A range was sent, and its connection closes. In Active Queueing the next
    /// range would have to be requested on it (AQ-9).
    pub(super) fn parted(&mut self, now: Instant, conn: ConnId, fx: &mut QueueEffects) {
        self.finished(now, conn, false, fx);
        let Some(at) = self.places.with_conn(conn) else { return };
        let entry = &mut self.places.slab[at];
        if entry.phase == EntryPhase::Pausing && entry.dialect != Dialect::Active {
            entry.phase = EntryPhase::Reserved;
            self.places.unbind(at);
        }
    }

    /// The connection of a transfer was lost.
    pub(super) fn broken(&mut self, now: Instant, conn: ConnId, fx: &mut QueueEffects) {
        let Some(at) = self.places.with_conn(conn) else { return };
        let entry = &self.places.slab[at];
        let adaptive = self.config.policy == QueuePolicy::Adaptive;
        let named = entry.dialect != Dialect::Passive || !adaptive;
        let reserves = entry.dialect != Dialect::Active
            && named
            && entry.stored != Stored::Released
            && entry.breaks < self.config.slot_breaks;
        if entry.phase != EntryPhase::Uploading || !reserves {
            return self.gone(now, conn, fx);
        }
        if adaptive && self.taken(at) < WORTH_A_RESERVE {
            return self.turn_away(now, at, fx);
        }
        self.places.unbind(at);
        let until = now + self.config.slot_reserve.scaled(self.config.time_scale);
        let entry = &mut self.places.slab[at];
        entry.phase = EntryPhase::Reserved;
        entry.breaks += 1;
        (entry.not_before, entry.deadline) = (now, until);
        let QueueEntry { ticket, arrival, .. } = *entry;
        self.rests(arrival);
        self.wake_at(at, Some(if adaptive { self.contested(now, until) } else { until }));
        self.save(at, fx);
        fx.event(Event::Reserved { ticket, until });
    }

    /// True when so many more bytes fit into the turn of an entry: small files
    /// share a turn, so that a client that wants many of them does not wait
    /// longer for the same bytes than one that wants a large file (QA-7).
    fn turn_has(&self, now: Instant, at: u32, bytes: u64) -> bool {
        let Some(upload) = self.uploads.get(&self.places.slab[at].arrival) else { return false };
        let long = now.since(upload.since) >= self.config.turn_time.scaled(self.config.time_scale);
        let adaptive = self.config.policy == QueuePolicy::Adaptive;
        adaptive && !long && self.taken(at).saturating_add(bytes) <= self.config.turn_bytes
    }

    /// Bytes an entry has received in this stay in its slot.
    fn taken(&self, at: u32) -> u64 {
        let upload = self.uploads.get(&self.places.slab[at].arrival);
        upload.map_or(0, |upload| upload.taken.saturating_add(upload.sent))
    }

    /// The transfer of an entry broke before it was worth reserving the slot:
    /// an entry that had waited is put back into the queue; for any other,
    /// nothing is lost.
    fn turn_away(&mut self, now: Instant, at: u32, fx: &mut QueueEffects) {
        if self.places.slab[at].told == 0 {
            return self.end_upload(at, fx);
        }
        self.places.unbind(at);
        let entry = &mut self.places.slab[at];
        entry.breaks += 1;
        let until = now + self.config.slot_reserve.scaled(self.config.time_scale);
        (entry.not_before, entry.deadline) = (now, until);
        self.return_to_line(at, fx);
    }

    /// When to check whether others wait for a slot that is reserved until
    /// then.
    pub(super) fn contested(&self, now: Instant, until: Instant) -> Instant {
        until.min(now + self.config.slot_reserve_contested.scaled(self.config.time_scale))
    }

    /// Checks a slot that is reserved for its owner and not expired: when
    /// others wait, an adaptive server gives it up.
    pub(super) fn reserved(&mut self, now: Instant, at: u32, fx: &mut QueueEffects) {
        let QueueEntry { deadline, dialect, arrival, call_port, calls, .. } = self.places.slab[at];
        if self.config.policy != QueuePolicy::Adaptive {
            return self.wake_at(at, Some(deadline));
        }
        if self.line.present() > 0 {
            // Without an id there is nothing to know it by in the queue (QA-6).
            return match dialect {
                Dialect::Passive => self.end_upload(at, fx),
                _ => self.return_to_line(at, fx),
            };
        }
        let spacing = self.config.call_spacing.scaled(self.config.time_scale);
        let last = self.called_back.get(&arrival).filter(|_| calls < self.config.calls);
        let again = last.is_some_and(|last| now.since(*last) >= spacing);
        if again && call_port.is_some() && self.next_call <= now {
            return self.book_call(now, at, fx);
        }
        self.wake_at(at, Some(self.contested(now, deadline)));
    }

    /// Gives up the slot of an absent entry. It returns to its place in the
    /// queue, absent, until it comes back or expires.
    fn return_to_line(&mut self, at: u32, fx: &mut QueueEffects) {
        let QueueEntry { arrival, ticket, bytes, deadline, .. } = self.places.slab[at];
        let Some(seat) = self.line.push_front(at, bytes) else { return self.end_upload(at, fx) };
        self.leave_slot(at);
        fx.event(Event::Unreserved { ticket, free: self.free() });
        let entry = &mut self.places.slab[at];
        (entry.phase, entry.seat, entry.unheard) = (EntryPhase::Waiting, seat, true);
        (entry.calls, entry.call_booked) = (0, false);
        let mut position = 1;
        while let Some(next) = self.line.at(position + 1)
            && self.places.slab[next].arrival < arrival
        {
            let (here, there) = (self.places.slab[at].seat, self.places.slab[next].seat);
            self.line.swap(here, there);
            (self.places.slab[at].seat, self.places.slab[next].seat) = (there, here);
            position += 1;
        }
        self.wake_at(at, Some(deadline));
        self.save(at, fx);
        fx.event(Event::Returned { ticket, arrival, position });
    }

    pub(super) fn leave_slot(&mut self, at: u32) {
        let QueueEntry { arrival, peer, .. } = self.places.slab[at];
        self.rests(arrival);
        self.called_back.remove(&arrival);
        if self.uploads.remove(&arrival).is_some() {
            self.shares.give(peer);
        }
    }

    /// Frees the slot of an entry and removes the entry, so that nothing
    /// remains that could block others.
    pub(super) fn end_upload(&mut self, at: u32, fx: &mut QueueEffects) {
        let ticket = self.places.slab[at].ticket;
        let reserved = self.places.slab[at].phase == EntryPhase::Reserved;
        self.leave_slot(at);
        self.discard(at, fx);
        let free = self.free();
        fx.event(if reserved {
            Event::Unreserved { ticket, free }
        } else {
            Event::Finished { ticket, free }
        });
    }

    fn reply_start(&self, at: u32, request: &QueueRequest, fx: &mut QueueEffects) {
        let told_ticket = matches!(request.dialect, Dialect::Parq | Dialect::Parq11);
        let verdict = QueueVerdict::Start { ticket: self.places.slab[at].ticket, told_ticket };
        fx.output(Output::Reply { conn: request.conn, verdict });
    }
}
