//! Handles what clients say about themselves and about files.

use alloc::vec::Vec;

use super::super::event::{Event, Failure, SwarmLimit, SwarmRefusal};
use super::client::Membership;
use super::timers::TimerPurpose;
use super::{Manager, ManagerEffects};
use crate::time::{Duration, Instant};
use crate::wire::pdtp::{PdtpMessage, SiteAnnouncement, Span, Text};

impl Manager {
    pub(super) fn message(
        &mut self,
        now: Instant,
        at: u32,
        message: PdtpMessage,
        fx: &mut ManagerEffects,
    ) {
        let registers = matches!(message, PdtpMessage::Register { .. });
        if registers == self.client(at).id.is_some() {
            let sentence = if registers { "registered already" } else { "`register` comes first" };
            self.expel(now, at, SwarmRefusal::Order, sentence, fx);
            return;
        }
        match message {
            PdtpMessage::Register { client_id, listen_port, extensions } => {
                self.register(now, at, (client_id, listen_port, extensions), fx);
            }
            PdtpMessage::AskInfo { url } => self.ask_info(at, url, fx),
            PdtpMessage::Request { url, span } => self.request(now, at, &url, span, fx),
            PdtpMessage::Unrequest { url, span } => self.unrequest(now, at, &url, span, fx),
            PdtpMessage::Provide { url, span } => self.provide(now, at, &url, span, fx),
            PdtpMessage::Unprovide { url, span } => self.unprovide(now, at, &url, span, fx),
            PdtpMessage::AskVerify(about) => self.ask_verify(now, at, about, fx),
            PdtpMessage::Completed(report) => self.completed(now, at, &report, fx),
            PdtpMessage::ChangePort { listen_port } => self.change_port(now, at, listen_port, fx),
            PdtpMessage::SetConcurrency { max_download, max_upload } => {
                self.set_concurrency(now, at, (max_download, max_upload), fx);
            }
            // A client may echo our own message; that is ignored.
            PdtpMessage::ProtocolError { .. } | PdtpMessage::Error { .. } => {}
            PdtpMessage::Extensions(_)
            | PdtpMessage::TellInfo { .. }
            | PdtpMessage::Transfer(_)
            | PdtpMessage::TellVerify { .. }
            | PdtpMessage::HashVerify { .. } => {
                self.expel(
                    now,
                    at,
                    SwarmRefusal::NotAClients,
                    "only the coordinator says that",
                    fx,
                );
            }
        }
    }

    fn ask_info(&mut self, at: u32, url: Text, fx: &mut ManagerEffects) {
        let spec = self.by_url.get(&url).map(|file| &self.files[*file as usize].spec);
        let (size, chunk_size) = spec.map(|spec| (spec.size, spec.chunk)).unzip();
        let sha256 = spec.and_then(|spec| spec.sha256);
        let message = PdtpMessage::TellInfo {
            url,
            size,
            chunk_size,
            streaming: false,
            sha256,
            gone: None,
            site: SiteAnnouncement::default(),
        };
        self.send(at, message, fx);
    }

    /// The file and the pieces that a client names.
    fn pieces(
        &mut self,
        at: u32,
        (url, span, whole): (&Text, Span, bool),
        fx: &mut ManagerEffects,
    ) -> Option<(u32, core::ops::Range<u32>)> {
        let Some(&file) = self.by_url.get(url) else {
            self.refuse(at, SwarmRefusal::UnknownFile, "there is no such file", fx);
            return None;
        };
        let Some(pieces) = self.files[file as usize].pieces_of(span, whole) else {
            self.refuse(at, SwarmRefusal::BadRange, "the range is not in the file", fx);
            return None;
        };
        Some((file, pieces))
    }

    /// The client's member number on a file, assigned now if it has none.
    fn join(&mut self, now: Instant, at: u32, file: u32, fx: &mut ManagerEffects) -> Option<u32> {
        let client = self.client(at);
        if let Some(place) = client.files.iter().find(|place| place.file == file) {
            return Some(place.member);
        }
        if client.files.len() >= self.config.files_per_client as usize {
            fx.event(Event::Limit { limit: SwarmLimit::FilesPerClient });
            self.refuse(at, SwarmRefusal::Full, "too many files", fx);
            return None;
        }
        let active = client.active();
        let tie = self.rng.next_u64() as u32;
        let member = self.files[file as usize].join(at, active, tie, now);
        let quarantined = self.ledger.get(self.client(at).row).quarantined;
        self.files[file as usize].offer(member, !quarantined);
        self.client_mut(at).files.push(Membership { file, member });
        Some(member)
    }

    fn request(&mut self, now: Instant, at: u32, url: &Text, span: Span, fx: &mut ManagerEffects) {
        let Some((number, pieces)) = self.pieces(at, (url, span, false), fx) else { return };
        let Some(member) = self.join(now, at, number, fx) else { return };
        self.free_piece(at, fx);
        let on_their_way = self.client(at).downs.iter().map(|down| self.transfer(*down));
        let on_their_way: Vec<u32> =
            on_their_way.filter(|t| t.file == number).map(|t| t.piece).collect();
        let file = &mut self.files[number as usize];
        let before = file.member(member).wanted;
        let failed: Vec<u32> = file.member(member).failed.keys().map(|(_, piece)| *piece).collect();
        for piece in pieces {
            let found = file.member(member);
            let known = found.have.contains(piece) || found.need.contains(piece);
            if !known && !on_their_way.contains(&piece) && !failed.contains(&piece) {
                file.need(member, piece, true);
                file.want(member, 1, 0);
            }
        }
        if before == 0 {
            file.member_mut(member).waiting = now;
        }
        if file.tick.is_none() {
            let every = file.piece_time(self.config.piece_time);
            let every = every.ratio(self.config.ratio_every.into(), 1);
            let next = now + every.max(Duration::from_micros(1));
            file.tick = Some(next);
            self.agenda.add(next, TimerPurpose::Ratio(number));
        }
        self.announce(number, member, fx);
        self.refresh(now, at, fx);
        self.refresh_alone(now, number, fx);
    }

    /// A client that has no piece of any file gets one free, once per address
    /// (SW-7).
    fn free_piece(&mut self, at: u32, fx: &mut ManagerEffects) {
        let client = self.client(at);
        let (conn, row) = (client.conn, client.row);
        let holds = |place: &Membership| self.files[place.file as usize].member(place.member).held;
        let none = client.files.iter().all(|place| holds(place) == 0);
        let entry = self.ledger.get_mut(row);
        let nothing = entry.row.downloads == 0 && entry.row.uploads == 0;
        if none && nothing && !entry.row.free {
            entry.row.free = true;
            self.save(row, fx);
            fx.event(Event::Free { client: conn });
        }
    }

    /// Emits what a member has and wants, when no transfer shows it.
    pub(super) fn announce(&mut self, file: u32, at: u32, fx: &mut ManagerEffects) {
        let member = self.files[file as usize].member_mut(at);
        member.announced = member.wanted > 0;
        let (held, wanted, client) = (member.held, member.wanted, member.client);
        let client = self.client(client).conn;
        fx.event(Event::Joined { client, file, held, wanted });
    }

    fn unrequest(
        &mut self,
        now: Instant,
        at: u32,
        url: &Text,
        span: Span,
        fx: &mut ManagerEffects,
    ) {
        let Some((number, pieces)) = self.pieces(at, (url, span, false), fx) else { return };
        let Some(member) = self.join(now, at, number, fx) else { return };
        let file = &self.files[number as usize];
        let failed: Vec<_> = file.member(member).failed.keys().copied().collect();
        for key in failed.into_iter().filter(|(_, piece)| pieces.contains(piece)) {
            self.forget_failed(number, member, key, fx);
        }
        let file = &mut self.files[number as usize];
        for piece in pieces {
            if file.member(member).need.contains(piece) {
                file.need(member, piece, false);
                file.want(member, 0, 1);
            }
        }
        // What it has settled may let others of its address have pieces again.
        self.refresh_row(now, self.client(at).row, fx);
        self.refresh_alone(now, number, fx);
    }

    fn provide(&mut self, now: Instant, at: u32, url: &Text, span: Span, fx: &mut ManagerEffects) {
        let Some((number, pieces)) = self.pieces(at, (url, span, true), fx) else { return };
        let Some(member) = self.join(now, at, number, fx) else { return };
        // A client that has a piece waits for no transfer of it any more.
        let (sent, under_way) = self.under_way(at, number, &pieces);
        for transfer in sent {
            self.arrived(now, transfer, fx);
        }
        for piece in pieces {
            self.obtain(number, member, piece, fx);
        }
        for transfer in under_way {
            self.fail(now, transfer, Failure::Elsewhere, 0, fx);
        }
        self.announce(number, member, fx);
        self.refresh_row(now, self.client(at).row, fx);
        self.refresh_alone(now, number, fx);
        if self.files[number as usize].dirty {
            self.wake(now);
        }
    }

    /// Transfers of these pieces to a client that has not reported on them:
    /// those whose uploader has sent it all, and the others.
    fn under_way(
        &self,
        at: u32,
        file: u32,
        pieces: &core::ops::Range<u32>,
    ) -> (Vec<u32>, Vec<u32>) {
        let silent = |down: &u32| {
            let found = self.transfer(*down);
            found.file == file && pieces.contains(&found.piece) && !found.down_said
        };
        let downs = self.client(at).downs.iter().copied().filter(silent);
        downs.partition(|down| self.transfer(*down).up_said)
    }

    /// A member has a piece that no transfer brought.
    pub(super) fn obtain(&mut self, number: u32, member: u32, piece: u32, fx: &mut ManagerEffects) {
        let file = &mut self.files[number as usize];
        if file.member(member).need.contains(piece) {
            file.need(member, piece, false);
            file.want(member, 0, 1);
        }
        let failed = file.member(member).failed.keys().find(|(_, p)| *p == piece).copied();
        if let Some(key) = failed {
            self.forget_failed(number, member, key, fx);
        }
        self.files[number as usize].hold(member, piece, false);
    }

    /// A piece that failed is here, or not wanted any more.
    fn forget_failed(
        &mut self,
        number: u32,
        member: u32,
        key: (Instant, u32),
        fx: &mut ManagerEffects,
    ) {
        let file = &mut self.files[number as usize];
        file.retries.remove(&(key.0, member));
        let found = file.member_mut(member);
        let (retry, client) = (found.failed.remove(&key), found.client);
        file.want(member, 0, 1);
        if let Some(retry) = retry.filter(|retry| retry.charged) {
            self.settle_failed(client, (number, key.1), retry.own_word, fx);
        }
    }

    fn unprovide(
        &mut self,
        now: Instant,
        at: u32,
        url: &Text,
        span: Span,
        fx: &mut ManagerEffects,
    ) {
        let Some((number, pieces)) = self.pieces(at, (url, span, false), fx) else { return };
        let Some(member) = self.join(now, at, number, fx) else { return };
        for piece in pieces {
            self.files[number as usize].release(member, piece);
        }
        self.refresh(now, at, fx);
    }

    /// A client listens on another port, or on none (SW-17).
    fn change_port(&mut self, now: Instant, at: u32, port: Option<u16>, fx: &mut ManagerEffects) {
        let again = self.config.port_change;
        let client = self.client_mut(at);
        if client.port_changed.is_some_and(|before| now < before + again) && port.is_some() {
            self.refuse(at, SwarmRefusal::TooSoon, "the port changed a moment ago", fx);
            return;
        }
        client.port = port;
        client.port_changed = Some(now);
        client.forced = false;
        client.accepted = false;
        client.connect_failures = 0;
        client.missed = None;
        let (conn, active) = (client.conn, client.active());
        fx.event(Event::Mode { client: conn, active, forced: false });
        self.refresh(now, at, fx);
    }

    /// A client sets its number of concurrent transfers (SW-12).
    fn set_concurrency(
        &mut self,
        now: Instant,
        at: u32,
        (down, up): (Option<u32>, Option<u32>),
        fx: &mut ManagerEffects,
    ) {
        let hard = self.config.hard_limit;
        if down.max(up).is_some_and(|most| most > hard) {
            let sentence = alloc::format!("at most {hard} transfers at once");
            self.refuse(at, SwarmRefusal::AboveHardLimit, &sentence, fx);
        }
        let fits = |told: Option<u32>| told.filter(|most| *most <= hard);
        let client = self.client_mut(at);
        client.max_download = fits(down).or(client.max_download);
        client.max_upload = fits(up).or(client.max_upload);
        self.tell_concurrency(at, true, fx);
        self.refresh(now, at, fx);
    }

    pub(super) fn tell_concurrency(&self, at: u32, told: bool, fx: &mut ManagerEffects) {
        let client = self.client(at);
        let (download, upload) = (client.most_down(&self.config), client.most_up(&self.config));
        fx.event(Event::Concurrency { client: client.conn, download, upload, told });
    }
}
