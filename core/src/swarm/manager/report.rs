//! Handles the reports of both ends of a transfer.

use core::net::IpAddr;

use super::super::event::{Event, Failure, SwarmRefusal};
use super::client::{MissedConnect, PieceSpan, Up};
use super::timers::TimerPurpose;
use super::{Manager, ManagerEffects};
use crate::time::{Duration, Instant};
use crate::wire::pdtp::{Completed, PdtpMessage, Reason, TransferKey};

impl Manager {
    /// The transfer that a client names, and whether the client is its
    /// downloader. The other side is identified by its id; the address that a
    /// client names is ignored.
    fn named(&self, at: u32, about: &TransferKey) -> Option<(u32, bool)> {
        let file = *self.by_url.get(&about.url)?;
        let piece = self.files[file as usize].piece_of(about.span)?;
        let is = |found: &&u32| {
            let transfer = self.transfer(**found);
            transfer.file == file && transfer.piece == piece
        };
        let other = self.by_id.get(&about.peer_id).copied();
        let from_other = |found: &&u32| match self.transfer(**found).up {
            Up::Source(_) => about.peer_id.is_empty(),
            Up::Client(client) => Some(client) == other,
        };
        let down = self.client(at).downs.iter().filter(is).find(from_other);
        if let Some(found) = down {
            return Some((*found, true));
        }
        let ups = self.client(other?).downs.iter().filter(is);
        let mut mine = ups.filter(|found| self.transfer(**found).up == Up::Client(at));
        mine.next().map(|found| (*found, false))
    }

    /// The listening side asks whether a connection is authorized (SW-3).
    pub(super) fn ask_verify(
        &mut self,
        now: Instant,
        at: u32,
        about: TransferKey,
        fx: &mut ManagerEffects,
    ) {
        let named = self.named(at, &about);
        let (file, piece) = match named {
            Some((found, _)) => (self.transfer(found).file, self.transfer(found).piece),
            None => {
                self.late_connect(now, at, &about, fx);
                let authorized = false;
                self.send(at, PdtpMessage::TellVerify { about, authorized }, fx);
                return;
            }
        };
        // The listener of a GET is its uploader, that of a PUT its downloader.
        let authorized = named.is_some_and(|(found, is_down)| self.transfer(found).put == is_down);
        let conn = self.client(at).conn;
        if let Some((found, _)) = named.filter(|_| authorized) {
            self.transfer_mut(found).admitted = true;
            self.accepted(at, fx);
        }
        fx.event(Event::Verified { client: conn, file, piece, authorized });
        self.send(at, PdtpMessage::TellVerify { about, authorized }, fx);
    }

    fn accepted(&mut self, at: u32, fx: &mut ManagerEffects) {
        let client = self.client_mut(at);
        if !core::mem::replace(&mut client.accepted, true) {
            fx.event(Event::Accepted { client: client.conn });
        }
    }

    /// An authorization request that comes after the error report of the
    /// connecting side: the client can be reached after all, and that failure
    /// is taken back (SW-3).
    fn late_connect(
        &mut self,
        now: Instant,
        at: u32,
        about: &TransferKey,
        fx: &mut ManagerEffects,
    ) {
        let file = self.by_url.get(&about.url).copied();
        let piece = file.and_then(|file| self.files[file as usize].piece_of(about.span));
        let by = self.by_id.get(&about.peer_id).map(|other| self.client(*other).conn);
        let client = self.client_mut(at);
        let Some(missed) = client.missed else { return };
        if (file, piece, by) != (Some(missed.file), Some(missed.piece), Some(missed.by)) {
            return;
        }
        client.missed = None;
        client.connect_failures = client.connect_failures.saturating_sub(1);
        let (conn, count) = (client.conn, client.connect_failures);
        self.accepted(at, fx);
        fx.event(Event::ConnectFailures { client: conn, count });
        let client = self.client_mut(at);
        if core::mem::replace(&mut client.forced, false) {
            let active = client.active();
            fx.event(Event::Mode { client: conn, active, forced: false });
            self.refresh(now, at, fx);
        }
    }

    pub(super) fn completed(
        &mut self,
        now: Instant,
        at: u32,
        report: &Completed,
        fx: &mut ManagerEffects,
    ) {
        match self.named(at, &report.about) {
            Some((found, true)) => self.down_reports(now, found, report, fx),
            Some((found, false)) => self.up_reports(now, found, report, fx),
            None => self.stray(now, at, report, fx),
        }
    }

    /// A report on a transfer that has ended already, or never began. A correct
    /// hash still shows that the piece is there.
    fn stray(&mut self, now: Instant, at: u32, report: &Completed, fx: &mut ManagerEffects) {
        let file = self.by_url.get(&report.about.url).copied();
        let piece = file.and_then(|file| self.files[file as usize].piece_of(report.about.span));
        let (Some(file), Some(piece), Some(hash)) = (file, piece, report.hash) else {
            self.refuse(at, SwarmRefusal::UnknownTransfer, "there is no such transfer", fx);
            return;
        };
        let wants = self.client(at).files.iter().find(|place| place.file == file).copied();
        let on_its_way = self.client(at).downs.iter().any(|down| {
            let transfer = self.transfer(*down);
            (transfer.file, transfer.piece) == (file, piece)
        });
        let right = self.files[file as usize].spec.hashes[piece as usize] == hash;
        let Some(place) = wants.filter(|_| right && !on_its_way) else {
            self.refuse(at, SwarmRefusal::UnknownTransfer, "there is no such transfer", fx);
            return;
        };
        self.obtain(file, place.member, piece, fx);
        self.say_hash(at, report, true, fx);
        self.finished(file, place.member, fx);
        self.announce(file, place.member, fx);
        self.refresh(now, at, fx);
        self.refresh_alone(now, file, fx);
    }

    pub(super) fn say_hash(
        &mut self,
        at: u32,
        report: &Completed,
        ok: bool,
        fx: &mut ManagerEffects,
    ) {
        let (url, span) = (report.about.url.clone(), report.about.span);
        self.send(at, PdtpMessage::HashVerify { url, span, hash_ok: ok }, fx);
    }

    fn down_reports(&mut self, now: Instant, at: u32, report: &Completed, fx: &mut ManagerEffects) {
        let transfer = self.transfer(at);
        if transfer.down_said {
            return;
        }
        let (down, file, piece) = (transfer.down, transfer.file, transfer.piece);
        let spec = &self.files[file as usize].spec;
        let right = report.hash == Some(spec.hashes[piece as usize]);
        if let Some(took) = report.took {
            self.transfer_mut(at).took = Some(Duration::from_micros(took));
        }
        if right {
            // A client that was sent the hash with the transfer knows already.
            if !self.knows_hash(at) {
                self.say_hash(down, report, true, fx);
            }
            self.arrived(now, at, fx);
        } else if report.hash.is_some() || report.reason == Some(Reason::Hash) {
            if report.hash.is_some() {
                self.say_hash(down, report, false, fx);
            }
            self.wrong_hash(now, at, fx);
        } else if self.means_connect(at, report) {
            self.missed_connect(now, at, fx);
        } else {
            self.fail(now, at, Failure::Data, report.offset.unwrap_or(0), fx);
        }
    }

    /// Whether a downloader's failure is that it could not connect. Without our
    /// extension the report does not say; then the order of arrival decides: a
    /// listener that has not asked about the transfer before the error report
    /// was not reached (SW-3).
    fn means_connect(&self, at: u32, report: &Completed) -> bool {
        let transfer = self.transfer(at);
        let silent = matches!(transfer.up, Up::Client(_)) && !transfer.admitted;
        let none = report.offset.unwrap_or(0) == 0 && !transfer.up_said;
        let says = match report.reason {
            Some(reason) => reason == Reason::Connect,
            None => silent && none,
        };
        says && !transfer.put
    }

    /// The downloader was told the hash before: it need not be told again.
    pub(super) fn knows_hash(&self, at: u32) -> bool {
        let transfer = self.transfer(at);
        !transfer.put && self.client(transfer.down).extensions.early
    }

    fn up_reports(&mut self, now: Instant, at: u32, report: &Completed, fx: &mut ManagerEffects) {
        match report.reason {
            Some(Reason::Connect) if self.transfer(at).put => self.missed_connect(now, at, fx),
            Some(_) => self.fail(now, at, Failure::Data, 0, fx),
            None => {
                let took = report.took.map(Duration::from_micros);
                self.uploaded(now, at, took, fx);
            }
        }
    }

    /// The connecting side reports that it could not connect: the listener's
    /// failure (SW-4), unless it has ever accepted a connection.
    fn missed_connect(&mut self, now: Instant, at: u32, fx: &mut ManagerEffects) {
        let transfer = self.transfer(at);
        let (file, piece, put) = (transfer.file, transfer.piece, transfer.put);
        let (connector, listener) = match transfer.up {
            Up::Client(up) if put => (up, transfer.down),
            Up::Client(up) => (transfer.down, up),
            Up::Source(_) => {
                self.fail(now, at, Failure::Connect, 0, fx);
                return;
            }
        };
        let by = self.client(connector).conn;
        let most = self.config.connect_failures;
        let client = self.client_mut(listener);
        client.missed = Some(MissedConnect { file, piece, by });
        if !client.accepted && !client.forced {
            client.connect_failures += 1;
            let (conn, count) = (client.conn, client.connect_failures);
            fx.event(Event::ConnectFailures { client: conn, count });
            if count > most {
                let client = self.client_mut(listener);
                client.forced = true;
                client.connect_failures = 0;
                fx.event(Event::Mode { client: conn, active: false, forced: true });
            }
        }
        self.fail(now, at, Failure::Connect, 0, fx);
        self.refresh(now, listener, fx);
    }

    /// A wrong hash: when two uploaders sent the piece, its beginning is
    /// downloaded again from the later one, which shows who sent wrong bytes
    /// (SW-24).
    fn wrong_hash(&mut self, now: Instant, at: u32, fx: &mut ManagerEffects) {
        let transfer = self.transfer(at);
        let PieceSpan::Rest { offset, earlier: Some(earlier) } = transfer.part else {
            self.fail(now, at, Failure::Hash, 0, fx);
            return;
        };
        let (file, piece, down, up) = (transfer.file, transfer.piece, transfer.down, transfer.up);
        let again = transfer.up_said;
        let deadline = now + self.config.transfer_timeout;
        let old = core::mem::replace(&mut self.transfer_mut(at).deadline, deadline);
        self.agenda.remove(old, TimerPurpose::Transfer(at));
        self.agenda.add(deadline, TimerPurpose::Transfer(at));
        let transfer = self.transfer_mut(at);
        transfer.part = PieceSpan::Beginning { offset, earlier: Some(earlier) };
        transfer.up_said = false;
        if again {
            // Its slot has been free since its first report.
            self.take_up_slot(at);
            self.client_mut(down).unconfirmed -= 1;
        }
        let (down, up) = (self.client(down).conn, self.up_conn(up));
        fx.event(Event::Refetch { file, piece, down, up, offset });
        self.tell(at, fx);
        if let Up::Client(up) = self.transfer(at).up {
            self.refresh(now, up, fx);
        }
    }

    /// Counts a failure against an address (SW-23).
    pub(super) fn blame(
        &mut self,
        now: Instant,
        (peer, conn): (IpAddr, crate::id::ConnId),
        by: u32,
        fx: &mut ManagerEffects,
    ) {
        let Some(row) = self.ledger.find_row(peer) else { return };
        let (by, reporter) = (self.client(by).conn, self.ledger.get(self.client(by).row).row.owner);
        let entry = self.ledger.get_mut(row);
        entry.fade(now, &self.config);
        entry.blame(reporter);
        let failures = entry.failures();
        self.save(row, fx);
        fx.event(Event::Blamed { client: conn, by, failures });
        self.review_quarantine(now, row, fx);
        self.refresh_row(now, row, fx);
    }
}
