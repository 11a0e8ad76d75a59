//! A part of the site goes to another servent.

use alloc::vec::Vec;

use super::tables::entry::{EntryPhase, QueueEntry, Stored};
use super::{Output, QueueEffects, QueueServer};
use crate::lease::Partition;
use crate::queue::{Dialect, Event, PositionLoss};

impl QueueServer {
    /// Lets go of all places and slots whose files are in these parts. The rows in
    /// the store stay as they are: a restored server finds what was announced here.
    /// In Active Queueing a place is its connection's and in no store, so that
    /// connection is closed. Held requests get no answer from the queue.
    pub(super) fn release(&mut self, parts: u64, fx: &mut QueueEffects) {
        let uploads = self.uploads.values().map(|upload| upload.entry);
        let mut all: Vec<u32> = uploads.chain(self.line.iter()).collect();
        all.retain(|&at| Partition::containing(self.places.slab[at].file).bit() & parts != 0);
        for at in all {
            let QueueEntry { ticket, phase, dialect, .. } = self.places.slab[at];
            let conn = self.places.slab[at].conn();
            let uploads = phase == EntryPhase::Uploading;
            fx.event(Event::Released { ticket, uploads });
            self.places.slab[at].stored = Stored::Nothing;
            match phase {
                EntryPhase::Uploading => {
                    self.places.slab[at].stored = Stored::Released;
                    continue;
                }
                EntryPhase::Waiting => self.leave_line(at, true),
                EntryPhase::Pausing | EntryPhase::Reserved => self.leave_slot(at),
            }
            self.discard(at, fx);
            if let Some(conn) = conn.filter(|_| dialect == Dialect::Active) {
                fx.output(Output::Hangup { conn, why: PositionLoss::ConnectionLost });
            }
        }
    }
}
