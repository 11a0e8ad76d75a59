//! The timers of the coordinator.

use alloc::collections::BTreeSet;

use super::super::event::{Event, Failure, SwarmRefusal};
use super::super::io::Output;
use super::file::STALLED;
use super::{Manager, ManagerEffects};
use crate::time::{Duration, Instant};

/// What a timer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimerPurpose {
    /// A client must have registered.
    Register(u32),
    /// A transfer must have been reported on.
    Transfer(u32),
    /// A row of the ledger may be removed.
    Purge(u32),
    /// Failures have decayed.
    Fade(u32),
    /// A file's ratio is adjusted (SW-11).
    Ratio(u32),
    /// A member has waited long enough for a peer.
    Help(u32),
}

impl TimerPurpose {
    const fn code(self) -> u64 {
        let (kind, at) = match self {
            Self::Register(at) => (0, at),
            Self::Transfer(at) => (1, at),
            Self::Purge(at) => (2, at),
            Self::Fade(at) => (3, at),
            Self::Ratio(at) => (4, at),
            Self::Help(at) => (5, at),
        };
        (kind << 32) | at as u64
    }

    const fn decode(code: u64) -> (Self, &'static str) {
        let at = code as u32;
        match code >> 32 {
            0 => (Self::Register(at), "register"),
            1 => (Self::Transfer(at), "transfer"),
            2 => (Self::Purge(at), "purge"),
            3 => (Self::Fade(at), "fade"),
            4 => (Self::Ratio(at), "ratio"),
            _ => (Self::Help(at), "help"),
        }
    }
}

/// All timers, the earliest first. An entry whose time has moved later stays
/// until it is due and found to be early; only those of transfers are removed.
#[derive(Debug, Clone, Default)]
pub(super) struct Agenda(BTreeSet<(Instant, u64)>);

impl Agenda {
    pub(super) fn add(&mut self, at: Instant, due: TimerPurpose) {
        self.0.insert((at, due.code()));
    }

    pub(super) fn remove(&mut self, at: Instant, due: TimerPurpose) {
        self.0.remove(&(at, due.code()));
    }

    pub(super) fn next(&self) -> Option<(Instant, &'static str)> {
        self.0.first().map(|(at, code)| (*at, TimerPurpose::decode(*code).1))
    }

    fn take(&mut self, now: Instant) -> Option<(Instant, TimerPurpose)> {
        let first = self.0.first().copied().filter(|(at, _)| *at <= now)?;
        self.0.remove(&first);
        Some((first.0, TimerPurpose::decode(first.1).0))
    }
}

impl Manager {
    pub(super) fn run_agenda(&mut self, now: Instant, fx: &mut ManagerEffects) {
        while let Some((at, due)) = self.agenda.take(now) {
            match due {
                TimerPurpose::Register(client) => self.unregistered(now, client, at, fx),
                TimerPurpose::Transfer(transfer) => self.overdue(now, transfer, fx),
                TimerPurpose::Purge(row) => self.purge(now, row, fx),
                TimerPurpose::Fade(row) => self.fade(now, row, fx),
                TimerPurpose::Ratio(file) => self.ratio(now, file, fx),
                TimerPurpose::Help(file) => {
                    self.files[file as usize].dirty = true;
                    self.wake(now);
                }
            }
        }
    }

    fn unregistered(&mut self, now: Instant, client: u32, at: Instant, fx: &mut ManagerEffects) {
        let Some(Some(found)) = self.clients.get(client as usize) else { return };
        if found.id.is_none() && found.register_by == at {
            self.expel(now, client, SwarmRefusal::Silent, "no `register` in time", fx);
        }
    }

    /// No side reported, or only one did (SW-22, SW-25).
    fn overdue(&mut self, now: Instant, at: u32, fx: &mut ManagerEffects) {
        let transfer = self.transfer(at);
        let why =
            if transfer.down_said { Failure::UploaderSilent } else { Failure::DownloaderSilent };
        self.fail(now, at, why, 0, fx);
    }

    fn purge(&mut self, now: Instant, row: u32, fx: &mut ManagerEffects) {
        let purge = self.config.purge;
        let Some(entry) = self.ledger.find(row) else { return };
        if !entry.clients.is_empty() {
            return;
        }
        let end = entry.row.seen + purge;
        if end > now {
            self.agenda.add(end, TimerPurpose::Purge(row));
        } else if let Some(gone) = self.ledger.purge(row) {
            fx.output(Output::Forget(gone.owner));
            fx.event(Event::Purged { owner: gone.owner });
        }
    }

    fn fade(&mut self, now: Instant, row: u32, fx: &mut ManagerEffects) {
        let config = self.config.clone();
        let Some(entry) = self.ledger.find(row) else { return };
        entry.fade(now, &config);
        self.review_quarantine(now, row, fx);
    }

    /// Moves an address into or out of quarantine (SW-25).
    pub(super) fn review_quarantine(&mut self, now: Instant, row: u32, fx: &mut ManagerEffects) {
        let entry = self.ledger.get_mut(row);
        let suspect = entry.suspect(&self.config);
        let failures = entry.failures();
        let changed = core::mem::replace(&mut entry.quarantined, suspect) != suspect;
        let clients = entry.clients.clone();
        if suspect {
            let next = entry.row.faded + self.config.failure_decay;
            self.agenda.add(next.max(now + Duration::from_micros(1)), TimerPurpose::Fade(row));
        }
        if !changed {
            return;
        }
        for client in clients {
            let conn = self.client(client).conn;
            if suspect {
                fx.event(Event::Quarantined { client: conn, failures });
            } else {
                fx.event(Event::Released { client: conn });
            }
            for place in self.client(client).files.clone() {
                self.files[place.file as usize].offer(place.member, !suspect);
            }
            self.refresh(now, client, fx);
        }
    }

    /// Adjusts a file's ratio (SW-11), and makes grants to the stalled.
    fn ratio(&mut self, now: Instant, at: u32, fx: &mut ManagerEffects) {
        let file = &mut self.files[at as usize];
        file.tick = None;
        if file.wanting.is_empty() {
            return;
        }
        let (lowest, first) = (1_000, self.config.ratio);
        let starving = !file.downs[super::file::READY].is_empty();
        let idle = !file.ups.iter().all(BTreeSet::is_empty);
        let ratio = if core::mem::take(&mut file.grants) > 0 {
            (file.ratio + file.ratio / 10).min(first.saturating_mul(16))
        } else if starving && !idle {
            (file.ratio - file.ratio / 10).max(lowest.min(first))
        } else {
            file.ratio - file.ratio / 8 + first / 8
        };
        let changed = ratio != file.ratio;
        file.ratio = ratio;
        let every =
            file.piece_time(self.config.piece_time).ratio(self.config.ratio_every.into(), 1);
        let next = now + every.max(Duration::from_millis(100));
        file.tick = Some(next);
        self.agenda.add(next, TimerPurpose::Ratio(at));
        if changed {
            fx.event(Event::Ratio { file: at, ratio });
            let wanting: alloc::vec::Vec<u32> =
                self.files[at as usize].wanting.iter().copied().collect();
            for member in wanting {
                self.refresh_member(now, at, member, fx);
            }
        }
        self.age(now, at, fx);
    }

    /// A member that has been stalled for long gets one piece (§4).
    fn age(&mut self, now: Instant, at: u32, fx: &mut ManagerEffects) {
        let file = &self.files[at as usize];
        let long = file.piece_time(self.config.piece_time).ratio(self.config.grant_after.into(), 1);
        // In the order of the lane, those without failed pieces come first, and
        // only they are meant: the others have a piece that is paid for
        // (SW-27).
        let stalled = file.downs[STALLED].iter();
        let old = stalled.take_while(|(since, _)| Instant::from_micros(*since) + long <= now);
        let old: alloc::vec::Vec<u32> = old.map(super::file::member_of).take(64).collect();
        for member in old {
            let client = self.files[at as usize].member(member).client;
            self.grant(at, client, true, fx);
            self.refresh(now, client, fx);
        }
    }
}
