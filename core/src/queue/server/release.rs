//! A part of the site goes to another servent.

use alloc::vec::Vec;

use super::entry::{Entry, Phase, Stored};
use super::{Effects, Output, Server};
use crate::lease::Part;
use crate::queue::{Dialect, Event, Loss};

impl Server {
    /// Lets go of all places and slots whose files are in these parts. The rows in
    /// the store stay as they are: whoever restores them finds what was told here.
    /// In Active Queueing a place is its connection's and in no store, so that
    /// connection is closed. Held requests get no answer from the queue.
    pub(super) fn release(&mut self, parts: u64, fx: &mut Effects) {
        let uploads = self.uploads.values().map(|upload| upload.entry);
        let mut all: Vec<u32> = uploads.chain(self.line.iter()).collect();
        all.retain(|&at| Part::of(self.places.slab[at].file).bit() & parts != 0);
        for at in all {
            let Entry { ticket, phase, dialect, .. } = self.places.slab[at];
            let conn = self.places.slab[at].conn();
            let uploads = phase == Phase::Uploading;
            fx.event(Event::Released { ticket, uploads });
            self.places.slab[at].stored = Stored::Nothing;
            match phase {
                Phase::Uploading => {
                    self.places.slab[at].stored = Stored::Released;
                    continue;
                }
                Phase::Waiting => self.leave_line(at, true),
                Phase::Pausing | Phase::Reserved => self.leave_slot(at),
            }
            self.discard(at, fx);
            if let Some(conn) = conn.filter(|_| dialect == Dialect::Active) {
                fx.output(Output::Hangup { conn, why: Loss::ConnectionLost });
            }
        }
    }
}
