//! The end of transfers: confirmed by both sides, or failed.

use super::super::event::{Event, Failure};
use super::client::{Origin, PieceSpan, PieceTransfer, Up};
use super::file::Retry;
use super::timers::TimerPurpose;
use super::{Manager, ManagerEffects};
use crate::id::ConnId;
use crate::time::{Duration, Instant};

impl Manager {
    pub(super) fn up_conn(&self, up: Up) -> Option<ConnId> {
        match up {
            Up::Source(_) => None,
            Up::Client(client) => Some(self.client(client).conn),
        }
    }

    pub(super) fn take_up_slot(&mut self, at: u32) {
        match self.transfer(at).up {
            Up::Source(source) => self.sources[source as usize].busy += 1,
            Up::Client(client) => self.client_mut(client).busy_up += 1,
        }
    }

    fn free_up_slot(&mut self, now: Instant, at: u32) {
        let transfer = self.transfer(at);
        match transfer.up {
            Up::Source(source) => {
                self.sources[source as usize].busy -= 1;
                self.files.iter_mut().for_each(|file| file.dirty |= !file.wanting.is_empty());
                self.wake(now);
            }
            Up::Client(client) => self.client_mut(client).busy_up -= 1,
        }
    }

    /// The uploader has sent everything. It is credited once the downloader
    /// reports success too (SW-22).
    pub(super) fn uploaded(
        &mut self,
        now: Instant,
        at: u32,
        took: Option<Duration>,
        fx: &mut ManagerEffects,
    ) {
        let transfer = self.transfer_mut(at);
        if transfer.up_said {
            return;
        }
        transfer.up_said = true;
        transfer.took = took.or(transfer.took);
        let (down, said, up) = (transfer.down, transfer.down_said, transfer.up);
        let Up::Client(up) = up else { return };
        self.free_up_slot(now, at);
        if said {
            self.confirm(now, at, fx);
        } else {
            self.client_mut(down).unconfirmed += 1;
            self.wait_for_the_other(now, at);
            if self.config.is_strict() {
                self.refresh(now, down, fx);
            }
            self.refresh(now, up, fx);
        }
    }

    /// One side has reported: sets the deadline of the other.
    fn wait_for_the_other(&mut self, now: Instant, at: u32) {
        let deadline = now + self.config.confirm_timeout;
        let old = core::mem::replace(&mut self.transfer_mut(at).deadline, deadline);
        self.agenda.remove(old, TimerPurpose::Transfer(at));
        self.agenda.add(deadline, TimerPurpose::Transfer(at));
    }

    /// The downloader has the piece, and its hash is correct.
    pub(super) fn arrived(&mut self, now: Instant, at: u32, fx: &mut ManagerEffects) {
        let transfer = self.transfer_mut(at);
        transfer.down_said = true;
        let (file, piece, down, up) = (transfer.file, transfer.piece, transfer.down, transfer.up);
        let (part, said, begun) = (transfer.part, transfer.up_said, transfer.at);
        self.counters.arrived += 1;
        if let Up::Source(_) = up {
            self.counters.arrived_from_source += 1;
        }
        let client = self.client_mut(down);
        client.busy_down -= 1;
        if said {
            client.unconfirmed -= 1;
        }
        let conn = client.conn;
        let member = self.member_of(down, file);
        let found = &mut self.files[file as usize];
        found.hold(member, piece, true);
        found.want(member, 0, 1);
        found.member_mut(member).faults = 0;
        let took = now.since(begun);
        found.piece_time = Some(match found.piece_time {
            None => took,
            Some(before) => before.ratio(7, 8) + took.ratio(1, 8),
        });
        fx.event(Event::Arrived { file, piece, down: conn, up: self.up_conn(up) });
        if let PieceSpan::Beginning { earlier: Some(earlier), .. } = part {
            // With the beginning from the later uploader it is correct: the
            // earlier one sent wrong bytes (SW-24).
            self.blame(now, (earlier.peer, earlier.conn), down, fx);
        }
        if said || matches!(up, Up::Source(_)) {
            if let Up::Source(_) = up {
                self.free_up_slot(now, at);
            }
            self.confirm(now, at, fx);
        } else {
            self.wait_for_the_other(now, at);
        }
        self.finished(file, member, fx);
        self.refresh(now, down, fx);
        self.refresh_alone(now, file, fx);
    }

    /// Reports when a member has all it wanted.
    pub(super) fn finished(&mut self, file: u32, member: u32, fx: &mut ManagerEffects) {
        let found = self.files[file as usize].member_mut(member);
        if found.wanted == 0 && core::mem::replace(&mut found.announced, false) {
            let (held, client) = (found.held, found.client);
            fx.event(Event::Finished { client: self.client(client).conn, file, held });
        }
    }

    pub(super) fn member_of(&self, client: u32, file: u32) -> u32 {
        let mut files = self.client(client).files.iter();
        files.find(|place| place.file == file).map_or(u32::MAX, |place| place.member)
    }

    /// Both sides reported success: the transfer counts (SW-5).
    fn confirm(&mut self, now: Instant, at: u32, fx: &mut ManagerEffects) {
        let transfer = self.remove(at);
        let PieceTransfer { file, piece, down, up, charged, .. } = transfer;
        let (start, end) = self.files[file as usize].span(piece);
        let (bytes, all) = (end - start, now.since(transfer.at));
        let took = transfer.took.unwrap_or(all).min(all);
        let row = self.client(down).row;
        let entry = self.ledger.get_mut(row);
        entry.row.bytes_down += bytes;
        entry.row.seen = now;
        if charged {
            entry.in_flight -= 1;
            entry.row.downloads += 1;
        }
        self.save(row, fx);
        let conn = self.client(down).conn;
        let from = self.up_conn(up);
        fx.event(Event::Confirmed { file, piece, down: conn, up: from, bytes, took, charged });
        if let Up::Client(up) = up {
            let most = self.config.search_limit;
            let client = self.client_mut(up);
            client.measured(bytes, took);
            let changed = client.pace.completed(now, bytes, (took, all), most);
            let row = client.row;
            let entry = self.ledger.get_mut(row);
            entry.row.bytes_up += bytes;
            entry.row.uploads += 1;
            entry.row.seen = now;
            let quarantined = entry.quarantined;
            self.save(row, fx);
            if changed {
                self.tell_concurrency(up, false, fx);
            }
            if quarantined {
                self.review_quarantine(now, row, fx);
            }
            self.refresh_row(now, row, fx);
        }
        self.refresh_row(now, row, fx);
    }

    /// Removes a transfer from all lists.
    fn remove(&mut self, at: u32) -> PieceTransfer {
        let transfer = self.transfers[at as usize].take().expect("a transfer in a list");
        self.spare.push(at);
        self.agenda.remove(transfer.deadline, TimerPurpose::Transfer(at));
        self.client_mut(transfer.down).downs.retain(|other| *other != at);
        if let Up::Client(up) = transfer.up {
            self.client_mut(up).ups.retain(|other| *other != at);
        }
        transfer
    }

    /// A transfer ends without being confirmed by both sides. The downloader has
    /// `offset` bytes of it.
    pub(super) fn fail(
        &mut self,
        now: Instant,
        at: u32,
        why: Failure,
        offset: u64,
        fx: &mut ManagerEffects,
    ) {
        let transfer = self.transfer(at);
        let (down, up, said) = (transfer.down, transfer.up, transfer.up_said);
        let (file, piece, there) = (transfer.file, transfer.piece, transfer.down_said);
        if !said {
            self.free_up_slot(now, at);
        }
        let from = self.up_conn(up);
        let origin = match up {
            Up::Client(client) => {
                let client = self.client(client);
                Some(Origin { conn: client.conn, peer: client.peer })
            }
            Up::Source(_) => None,
        };
        let transfer = self.remove(at);
        if !there {
            self.counters.failed += 1;
            let client = self.client_mut(down);
            client.busy_down -= 1;
            if said && matches!(up, Up::Client(_)) {
                client.unconfirmed -= 1;
            }
        }
        let row = self.client(down).row;
        if transfer.charged && (there || why == Failure::DownloaderLeft) {
            self.ledger.get_mut(row).in_flight -= 1;
        }
        let conn = self.client(down).conn;
        fx.event(Event::Failed { file, piece, down: conn, up: from, why, offset });
        if !there {
            if origin.is_none() && why != Failure::Elsewhere {
                self.back_off(now, &transfer);
            }
            self.put_back(&transfer, why, (offset, origin), fx);
        }
        match (why, origin) {
            (Failure::Data | Failure::Hash, Some(origin)) => {
                self.blame(now, (origin.peer, origin.conn), down, fx);
            }
            (Failure::DownloaderSilent, Some(_)) if said => {
                // The uploader's report against the downloader's silence.
                let accuser = (self.client(down).peer, conn);
                if let Up::Client(up) = up {
                    self.blame(now, accuser, up, fx);
                }
            }
            _ => {}
        }
        self.refresh_row(now, row, fx);
        if let Up::Client(up) = up {
            self.refresh(now, up, fx);
        }
    }

    /// The source does not fail: a client that reports so again and again waits
    /// longer each time, and delays no other (SW-25).
    fn back_off(&mut self, now: Instant, transfer: &PieceTransfer) {
        let member = self.member_of(transfer.down, transfer.file);
        let first = self.config.piece_time;
        let file = &mut self.files[transfer.file as usize];
        let piece_time = file.piece_time(first).max(Duration::from_millis(100));
        let found = file.member_mut(member);
        found.faults = (found.faults + 1).min(9);
        found.not_before = now + piece_time.ratio(1 << found.faults, 1);
    }

    /// The piece is to be tried again by the downloader, before all others
    /// (SW-14), and stays charged until it is there (SW-27).
    fn put_back(
        &mut self,
        transfer: &PieceTransfer,
        why: Failure,
        (offset, origin): (u64, Option<Origin>),
        fx: &mut ManagerEffects,
    ) {
        let (number, piece) = (transfer.file, transfer.piece);
        let member = self.member_of(transfer.down, number);
        let (start, end) = self.files[number as usize].span(piece);
        let length = end - start;
        let own_word = match why {
            Failure::UploaderLeft => false,
            Failure::DownloaderSilent => transfer.up_said,
            _ => true,
        };
        let charged = transfer.charged && why != Failure::DownloaderLeft;
        if charged {
            let row = self.client(transfer.down).row;
            self.ledger.get_mut(row).failed += 1;
        }
        let file = &mut self.files[number as usize];
        file.rarity.fewer(piece);
        if file.member(member).have.contains(piece) {
            // In the meantime it announced that it has the piece from
            // elsewhere.
            file.want(member, 0, 1);
            if charged {
                self.settle_failed(transfer.down, (number, piece), own_word, fx);
            }
            return;
        }
        let mut tried = transfer.tried.clone();
        if let (Some(origin), false) = (origin, why == Failure::UploaderLeft) {
            tried.push(origin.peer);
        }
        let (before, earlier) = match transfer.part {
            PieceSpan::Rest { offset, earlier } => (offset, earlier),
            PieceSpan::Whole | PieceSpan::Beginning { .. } => (0, None),
        };
        // What a transfer brought before it failed is kept; with a wrong hash
        // nothing is.
        let keeps = matches!(why, Failure::Data) && offset > before && offset < length;
        let (offset, earlier) = match why {
            Failure::Hash => (0, None),
            _ if keeps => (offset, origin),
            _ => (before, earlier),
        };
        let found = file.member_mut(member);
        let first = found.failed.keys().next().copied();
        let retry = Retry { tried, offset, earlier, charged, own_word };
        found.failed.insert((transfer.chosen, piece), retry);
        if let Some((chosen, _)) = first {
            file.retries.remove(&(chosen, member));
        }
    }

    /// A failed piece that was charged will not be tried again: when that
    /// follows from the client's own word, it has been paid for (SW-27).
    pub(super) fn settle_failed(
        &mut self,
        client: u32,
        (file, piece): (u32, u32),
        own_word: bool,
        fx: &mut ManagerEffects,
    ) {
        let row = self.client(client).row;
        let entry = self.ledger.get_mut(row);
        entry.in_flight -= 1;
        entry.failed -= 1;
        if own_word {
            entry.row.downloads += 1;
            self.save(row, fx);
        }
        let client = self.client(client).conn;
        fx.event(Event::Settled { client, file, piece, counted: own_word });
    }
}
