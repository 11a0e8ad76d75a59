//! Sessions: clients connect, register, and leave.

use core::net::IpAddr;

use super::super::event::{Event, Failure, SwarmLimit, SwarmRefusal};
use super::super::ledger::LedgerRow;
use super::client::{ManagedClient, Up};
use super::timers::TimerPurpose;
use super::{Manager, ManagerEffects};
use crate::id::ConnId;
use crate::time::Instant;
use crate::wire::pdtp::{AgreedExtensions, PdtpMessage, SiteAnnouncement, Text};

impl Manager {
    pub(super) fn restore(&mut self, now: Instant, row: LedgerRow) {
        if self.ledger.len() >= self.config.ledger as usize
            || self.ledger.find_row(row.owner).is_some()
        {
            return;
        }
        let seen = row.seen.min(now);
        let at = self.ledger.put(LedgerRow { seen, ..row });
        self.agenda.add(seen + self.config.purge, TimerPurpose::Purge(at));
        let entry = self.ledger.get_mut(at);
        entry.fade(now, &self.config);
        entry.quarantined = entry.suspect(&self.config);
        if entry.quarantined {
            let next = entry.row.faded + self.config.failure_decay;
            self.agenda.add(next, TimerPurpose::Fade(at));
        }
    }

    pub(super) fn opened(
        &mut self,
        now: Instant,
        conn: ConnId,
        peer: IpAddr,
        fx: &mut ManagerEffects,
    ) {
        let known = self.ledger.find_row(peer);
        let limit = if self.by_conn.len() >= self.config.clients as usize {
            Some(SwarmLimit::Clients)
        } else if known.is_none() && self.ledger.len() >= self.config.ledger as usize {
            Some(SwarmLimit::Ledger)
        } else {
            let there = known.map_or(0, |row| self.ledger.get(row).clients.len());
            (there >= self.config.per_address as usize).then_some(SwarmLimit::PerAddress)
        };
        if let Some(limit) = limit {
            fx.event(Event::Limit { limit });
            let message = PdtpMessage::ProtocolError { message: "too many clients".into() };
            fx.output(super::Output::Send { conn, message });
            fx.output(super::Output::Close { conn });
            return;
        }
        let row = self.ledger.open(peer, now);
        let at = self.vacant.pop().unwrap_or_else(|| {
            self.clients.push(None);
            self.clients.len() as u32 - 1
        });
        let deadline = now + self.config.register_timeout;
        self.clients[at as usize] = Some(ManagedClient::new(conn, peer, row, deadline));
        self.by_conn.insert(conn, at);
        self.ledger.get_mut(row).clients.push(at);
        self.agenda.add(deadline, TimerPurpose::Register(at));
    }

    pub(super) fn register(
        &mut self,
        now: Instant,
        at: u32,
        (id, port, extensions): (Text, Option<u16>, AgreedExtensions),
        fx: &mut ManagerEffects,
    ) {
        if let Some(&other) = self.by_id.get(&id) {
            if self.client(other).peer != self.client(at).peer {
                self.expel(now, at, SwarmRefusal::IdTaken, "this client_id is taken", fx);
                return;
            }
            // The same host again: its old connection must be dead.
            self.expel(now, other, SwarmRefusal::IdTaken, "registered again", fx);
        }
        self.by_id.insert(id.clone(), at);
        let client = self.client_mut(at);
        client.id = Some(id);
        client.port = port;
        client.extensions = extensions;
        let (conn, peer, active) = (client.conn, client.peer, client.active());
        let entry = self.ledger.get(self.client(at).row);
        let (quarantined, failures) = (entry.quarantined, entry.failures());
        fx.event(Event::Registered { client: conn, peer, active });
        if quarantined {
            fx.event(Event::Quarantined { client: conn, failures });
        }
        if extensions != AgreedExtensions::default() {
            self.send(at, PdtpMessage::Extensions(extensions), fx);
        }
    }

    /// A client has left: that is no failure, and only its row remains.
    pub(super) fn leave(&mut self, now: Instant, at: u32, fx: &mut ManagerEffects) {
        let client = self.client(at);
        let (conn, row, id) = (client.conn, client.row, client.id.clone());
        while let Some(&transfer) = self.client(at).downs.last() {
            self.fail(now, transfer, Failure::DownloaderLeft, 0, fx);
        }
        while let Some(&transfer) = self.client(at).ups.last() {
            debug_assert_eq!(self.transfer(transfer).up, Up::Client(at));
            self.fail(now, transfer, Failure::UploaderLeft, 0, fx);
        }
        while let Some(place) = self.client_mut(at).files.pop() {
            self.part(now, place, fx);
        }
        if let Some(id) = id {
            self.by_id.remove(&id);
            fx.event(Event::Left { client: conn });
        }
        self.clients[at as usize] = None;
        self.vacant.push(at);
        let entry = self.ledger.get_mut(row);
        entry.clients.retain(|other| *other != at);
        if entry.clients.is_empty() {
            entry.row.seen = now;
            let empty = entry.row.clone();
            let blank = !empty.free && empty.uploads + empty.downloads + empty.grants == 0;
            if blank && empty.failures == 0 {
                // It left nothing to remember.
                self.ledger.purge(row);
            } else {
                self.agenda.add(now + self.config.purge, TimerPurpose::Purge(row));
                self.save(row, fx);
            }
        }
    }

    /// A file is no longer available: all its transfers end, no client is blamed,
    /// and all its clients are told (SW-29).
    pub(super) fn withdraw(
        &mut self,
        now: Instant,
        url: &Text,
        why: &str,
        fx: &mut ManagerEffects,
    ) {
        let Some(number) = self.by_url.remove(url) else { return };
        fx.event(Event::Withdrawn { file: number });
        let members = self.files[number as usize].members.iter().flatten();
        let clients: alloc::vec::Vec<u32> = members.map(|member| member.client).collect();
        for &at in &clients {
            for down in self.client(at).downs.clone() {
                if self.transfer(down).file == number {
                    self.fail(now, down, Failure::DownloaderLeft, 0, fx);
                }
            }
        }
        for at in clients {
            let place = self.client(at).files.iter().position(|place| place.file == number);
            if let Some(place) = place {
                let place = self.client_mut(at).files.remove(place);
                self.part(now, place, fx);
            }
            let message =
                PdtpMessage::no_file(url.clone(), Some(why.into()), SiteAnnouncement::default());
            self.send(at, message, fx);
            self.refresh(now, at, fx);
        }
    }

    /// A client leaves a file.
    fn part(&mut self, now: Instant, place: super::client::Membership, fx: &mut ManagerEffects) {
        let file = &mut self.files[place.file as usize];
        file.set_up(place.member, None);
        file.set_down(place.member, None);
        let member = file.member(place.member);
        let (have, need) = (member.have.clone(), member.need.clone());
        let first = member.failed.keys().next().copied();
        let (wanted, client) = (member.wanted, member.client);
        let charged = member.failed.iter().filter(|(_, retry)| retry.charged);
        let charged: alloc::vec::Vec<(u32, bool)> =
            charged.map(|((_, piece), retry)| (*piece, retry.own_word)).collect();
        have.iter().for_each(|piece| file.release(place.member, piece));
        need.iter().for_each(|piece| file.need(place.member, piece, false));
        if let Some((chosen, _)) = first {
            file.retries.remove(&(chosen, place.member));
        }
        file.want(place.member, 0, wanted);
        file.members[place.member as usize] = None;
        file.fresh_ups.retain(|other| *other != place.member);
        file.fresh_downs.retain(|other| *other != place.member);
        file.starved.remove(&place.member);
        file.vacant.push(place.member);
        if !charged.is_empty() {
            for (piece, own_word) in charged {
                self.settle_failed(client, (place.file, piece), own_word, fx);
            }
            // Others of its address may be given pieces again (SW-27).
            self.refresh_row(now, self.client(client).row, fx);
        }
        self.refresh_alone(now, place.file, fx);
    }
}
