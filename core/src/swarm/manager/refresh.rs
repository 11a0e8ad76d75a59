//! Updates the position of a client after something about it changed: among
//! those that could send, among those that wait, stalled or not. Only clients
//! that an event concerns are updated.

use super::super::config::SwarmPolicy;
use super::super::credit::credit;
use super::super::event::Event;
use super::file::{DownKey, READY, STALLED, UpKey, up_class};
use super::{Manager, ManagerEffects};
use crate::time::Instant;

impl Manager {
    /// Updates a client on all its files.
    pub(super) fn refresh(&mut self, now: Instant, client: u32, fx: &mut ManagerEffects) {
        for i in 0..self.client(client).files.len() {
            let place = self.client(client).files[i];
            self.refresh_member(now, place.file, place.member, fx);
        }
    }

    /// Updates all clients of an address: they share its credit.
    pub(super) fn refresh_row(&mut self, now: Instant, row: u32, fx: &mut ManagerEffects) {
        for i in 0..self.ledger.get(row).clients.len() {
            let client = self.ledger.get(row).clients[i];
            self.refresh(now, client, fx);
        }
    }

    /// Updates the only member that wants something of a file: it is not
    /// charged (SW-9).
    pub(super) fn refresh_alone(&mut self, now: Instant, file: u32, fx: &mut ManagerEffects) {
        let wanting = &self.files[file as usize].wanting;
        if let (1 | 2, Some(&first)) = (wanting.len(), wanting.first()) {
            let second = wanting.iter().next_back().copied();
            self.refresh_member(now, file, first, fx);
            if let Some(second) = second.filter(|second| *second != first) {
                self.refresh_member(now, file, second, fx);
            }
        }
    }

    /// True when a transfer would not be charged: the member is the only one on
    /// the file (SW-9).
    pub(super) fn solo(&self, file: u32) -> bool {
        self.files[file as usize].wanting.len() <= 1
    }

    /// How many more pieces the member may take (SW-10).
    pub(super) fn credit_of(&self, file: u32, member: u32) -> i64 {
        let file = &self.files[file as usize];
        let client = self.client(file.member(member).client);
        credit(&self.ledger.get(client.row).account(), file.ratio, &self.config)
    }

    pub(super) fn refresh_member(
        &mut self,
        now: Instant,
        at: u32,
        member: u32,
        fx: &mut ManagerEffects,
    ) {
        self.note_stall(now, at, member, fx);
        let (up, down) = (self.up_key(at, member), self.down_key(at, member));
        let retry = self.retry_key(at, member);
        let file = &mut self.files[at as usize];
        let active = {
            let client = self.clients[file.member(member).client as usize].as_ref();
            client.is_some_and(super::ManagedClient::active)
        };
        if file.member(member).active != active {
            // Both positions depend on the mode.
            file.set_up(member, None);
            file.set_down(member, None);
            file.member_mut(member).active = active;
        }
        file.set_up(member, up);
        file.set_down(member, down);
        if let Some((chosen, room)) = retry {
            let changed = if room {
                file.retries.insert((chosen, member))
            } else {
                file.retries.remove(&(chosen, member));
                false
            };
            file.dirty |= changed;
        }
        if file.dirty {
            self.wake(now);
        }
    }

    /// Records when a member becomes stalled (SW-10, SW-19: the current
    /// episode).
    fn note_stall(&mut self, now: Instant, at: u32, member: u32, fx: &mut ManagerEffects) {
        let out = !self.solo(at) && self.credit_of(at, member) < 1;
        let file = &mut self.files[at as usize];
        let wants = file.member(member).waits();
        let found = file.member_mut(member);
        let conn = self.clients[found.client as usize].as_ref().map(|client| client.conn);
        match (found.stalled, wants && out) {
            (None, true) => {
                found.stalled = Some(now);
                if let Some(client) = conn {
                    fx.event(Event::Stalled { client, file: at });
                }
            }
            (Some(since), false) => {
                found.stalled = None;
                if let Some(client) = conn {
                    fx.event(Event::Unstalled { client, file: at, after: now.since(since) });
                }
            }
            _ => {}
        }
    }

    /// The position among those that could send: the stalled by since when; the
    /// others by rate, then by failures, then at random (SW-19, SW-20).
    fn up_key(&self, at: u32, number: u32) -> Option<UpKey> {
        let member = self.files[at as usize].member(number);
        let client = self.client(member.client);
        let entry = self.ledger.get(client.row);
        let room = client.busy_up < client.most_up(&self.config);
        if !room || member.held == 0 || entry.quarantined {
            return None;
        }
        let failures = u64::from(entry.failures().min(0xfff));
        let tie = u64::from(member.tie & 0xf_ffff);
        let lower = failures << 52 | tie << 32 | u64::from(number);
        let class = up_class(client.active(), member.stalled.is_some());
        let upper = match member.stalled {
            Some(since) => since.as_micros(),
            None => u64::MAX - client.rate,
        };
        Some((class, (upper, lower)))
    }

    /// The order among those with credit: the longest waiting first. For
    /// `adaptive` that is the member that has waited longest for something new:
    /// the older the newest piece it can pass on, the less use it is to others,
    /// so a rare piece spreads fastest there.
    fn turn(&self, member: &super::file::FileMember) -> u64 {
        match self.config.policy {
            SwarmPolicy::Seed2004 => member.waiting.as_micros(),
            SwarmPolicy::Adaptive => {
                (u64::from(member.newest) << 44) | (member.waiting.as_micros() / 1_000)
            }
        }
    }

    /// The position among those that wait.
    fn down_key(&self, at: u32, number: u32) -> Option<DownKey> {
        let member = self.files[at as usize].member(number);
        let client = self.client(member.client);
        if member.need.is_empty() || client.room_down(&self.config) == 0 {
            return None;
        }
        let lower = u64::from(member.tie) << 32 | u64::from(number);
        match member.stalled {
            None => Some((READY, (self.turn(member), lower))),
            // The text gives a stalled client nothing; §4 gives it what no client
            // else could use, unless it is in quarantine (SW-25). Members with
            // failed pieces come after those without, and get nothing more at
            // all when there are many: slots are assigned by what both sides
            // confirmed (SW-27).
            Some(since) => {
                let entry = self.ledger.get(client.row);
                let trusted = !entry.quarantined && entry.failed < self.config.quarantine;
                let grantable = self.config.policy == SwarmPolicy::Adaptive && trusted;
                let upper = u64::from(entry.failed.min(0xff)) << 56 | since.as_micros();
                grantable.then_some((STALLED, (upper, lower)))
            }
        }
    }

    /// When the member's first failed piece was chosen, and whether it may be
    /// tried again now.
    fn retry_key(&self, at: u32, number: u32) -> Option<(Instant, bool)> {
        let member = self.files[at as usize].member(number);
        let ((chosen, _), retry) = member.failed.first_key_value()?;
        let client = self.client(member.client);
        let entry = self.ledger.get(client.row);
        let may = match self.config.policy {
            SwarmPolicy::Seed2004 => member.stalled.is_none(),
            SwarmPolicy::Adaptive => member.stalled.is_none() || !entry.quarantined,
        };
        // What is charged already needs no credit.
        let may = may || retry.charged;
        Some((*chosen, may && client.room_down(&self.config) > 0))
    }
}
