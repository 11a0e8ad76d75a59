//! The ledger: what each address has uploaded and downloaded, over sessions and
//! restarts (SW-8).
//!
//! A row is kept for [`Config::purge`] after its clients have left, so that
//! no client gets a second free piece by coming again. All clients of one address
//! share a row, and so do all hosts of an IPv6 /64 network.

use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::config::Config;
use super::credit::CreditAccount;
use crate::address::owner;
use crate::time::Instant;

/// What a reporter's first, second and third failure count, in quarters.
const WEIGHTS: [u32; 3] = [4, 2, 1];
/// Maximum number of reporters remembered for one address.
const REPORTERS: usize = 16;

/// What is saved about an address.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LedgerRow {
    /// An IPv4 address, or the first address of a /64 network.
    pub owner: IpAddr,
    /// Bytes it downloaded, confirmed by both sides (SW-5).
    pub bytes_down: u64,
    /// Bytes it uploaded, confirmed by both sides.
    pub bytes_up: u64,
    /// Pieces it downloaded that are charged.
    pub downloads: u64,
    /// Pieces it uploaded.
    pub uploads: u64,
    /// Pieces granted without having been earned.
    pub grants: u64,
    /// It has a free piece, used or reserved (SW-7).
    pub free: bool,
    /// Failures as an uploader, in quarters; each reporter's first counts most
    /// (SW-25).
    pub failures: u32,
    /// Who reported failures, and how many.
    pub reporters: Vec<(IpAddr, u32)>,
    /// Since when the failures have not decayed.
    pub faded: Instant,
    /// Its last activity.
    pub seen: Instant,
}

/// A row, and the current state of its address.
#[derive(Debug, Clone)]
pub(super) struct LedgerEntry {
    pub(super) row: LedgerRow,
    /// Pieces in transfer that will be charged, and failed ones that stay
    /// charged until they have arrived (SW-27).
    pub(super) in_flight: u32,
    /// How many of these failed.
    pub(super) failed: u32,
    /// Clients connected from there.
    pub(super) clients: Vec<u32>,
    /// It is in quarantine.
    pub(super) quarantined: bool,
}

impl LedgerEntry {
    pub(super) const fn account(&self) -> CreditAccount {
        CreditAccount {
            uploads: self.row.uploads,
            downloads: self.row.downloads,
            grants: self.row.grants,
            free: self.row.free,
            in_flight: self.in_flight,
        }
    }

    /// Failures, in whole ones.
    pub(super) const fn failures(&self) -> u32 {
        self.row.failures / 4
    }

    /// Counts a failure; further ones of the same reporter count less, so that
    /// one liar cannot convict a client.
    pub(super) fn blame(&mut self, reporter: IpAddr) {
        let reporters = &mut self.row.reporters;
        let full = reporters.len() >= REPORTERS;
        let before = match reporters.iter_mut().find(|(who, _)| *who == reporter) {
            Some((_, count)) => core::mem::replace(count, count.saturating_add(1)),
            None if !full => {
                reporters.push((reporter, 1));
                0
            }
            // With so many reporters, one more changes nothing.
            None => return,
        };
        let weight = WEIGHTS.get(before as usize).copied().unwrap_or(0);
        self.row.failures = self.row.failures.saturating_add(weight);
    }

    /// Lets failures decay: by half for each interval that has passed.
    pub(super) fn fade(&mut self, now: Instant, config: &Config) {
        let interval = config.failure_decay.as_micros().max(1);
        let times = now.since(self.row.faded).as_micros() / interval;
        if times == 0 {
            return;
        }
        let halve = |n: u32| n.checked_shr(times.min(32) as u32).unwrap_or(0);
        self.row.failures = halve(self.row.failures);
        self.row.reporters.iter_mut().for_each(|(_, count)| *count = halve(*count));
        self.row.reporters.retain(|(_, count)| *count > 0);
        self.row.faded += config.failure_decay.ratio(times, 1);
    }

    /// Whether it belongs in quarantine: it failed often, and more often than
    /// it uploaded.
    pub(super) fn suspect(&self, config: &Config) -> bool {
        let failures = u64::from(self.row.failures);
        failures >= 4 * u64::from(config.quarantine) && failures > 4 * self.row.uploads
    }
}

/// All rows, by address.
#[derive(Debug, Clone, Default)]
pub(super) struct Ledger {
    by_owner: BTreeMap<IpAddr, u32>,
    entries: Vec<Option<LedgerEntry>>,
    free: Vec<u32>,
}

impl Ledger {
    pub(super) fn len(&self) -> usize {
        self.by_owner.len()
    }

    pub(super) fn get(&self, at: u32) -> &LedgerEntry {
        self.entries[at as usize].as_ref().expect("a row that clients refer to")
    }

    pub(super) fn get_mut(&mut self, at: u32) -> &mut LedgerEntry {
        self.entries[at as usize].as_mut().expect("a row that clients refer to")
    }

    /// A row, if it still exists.
    pub(super) fn find(&mut self, at: u32) -> Option<&mut LedgerEntry> {
        self.entries.get_mut(at as usize)?.as_mut()
    }

    pub(super) fn find_row(&self, peer: IpAddr) -> Option<u32> {
        self.by_owner.get(&owner(peer)).copied()
    }

    /// The row of an address, created if there is none.
    pub(super) fn open(&mut self, peer: IpAddr, now: Instant) -> u32 {
        match self.find_row(peer) {
            Some(at) => at,
            None => self.put(LedgerRow {
                owner: owner(peer),
                bytes_down: 0,
                bytes_up: 0,
                downloads: 0,
                uploads: 0,
                grants: 0,
                free: false,
                failures: 0,
                reporters: Vec::new(),
                faded: now,
                seen: now,
            }),
        }
    }

    /// Adds a row, new or from the store.
    pub(super) fn put(&mut self, row: LedgerRow) -> u32 {
        let owner = owner(row.owner);
        let row = LedgerRow { owner, ..row };
        let entry =
            LedgerEntry { row, in_flight: 0, failed: 0, clients: Vec::new(), quarantined: false };
        let at = match self.free.pop() {
            Some(at) => {
                self.entries[at as usize] = Some(entry);
                at
            }
            None => {
                self.entries.push(Some(entry));
                self.entries.len() as u32 - 1
            }
        };
        self.by_owner.insert(owner, at);
        at
    }

    /// Removes a row, if no client of the address is connected.
    pub(super) fn purge(&mut self, at: u32) -> Option<LedgerRow> {
        let place = self.entries.get_mut(at as usize)?;
        place.as_ref().filter(|entry| entry.clients.is_empty() && entry.in_flight == 0)?;
        let entry = place.take()?;
        self.by_owner.remove(&entry.row.owner);
        self.free.push(at);
        Some(entry.row)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &LedgerEntry> {
        self.by_owner.values().map(|at| self.get(*at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_reporter_convicts_no_client_and_three_do() {
        let config = Config::default();
        let mut ledger = Ledger::default();
        let at = ledger.open([10, 0, 0, 1].into(), Instant::ZERO);
        let entry = ledger.get_mut(at);
        for _ in 0..100 {
            entry.blame([10, 0, 0, 2].into());
        }
        assert!(!entry.suspect(&config) && entry.failures() == 1);
        entry.blame([10, 0, 0, 3].into());
        entry.blame([10, 0, 0, 4].into());
        assert!(entry.suspect(&config));
        entry.row.uploads = 4;
        assert!(!entry.suspect(&config), "it gave more often than it failed");
        entry.row.uploads = 0;
        entry.fade(Instant::ZERO + config.failure_decay, &config);
        assert!(!entry.suspect(&config), "half of it has faded");
    }

    #[test]
    fn a_network_of_ipv6_is_one_row_and_a_row_in_use_stays() {
        let mut ledger = Ledger::default();
        let a = ledger.open("2001:db8::1".parse().unwrap(), Instant::ZERO);
        assert_eq!(ledger.open("2001:db8::2".parse().unwrap(), Instant::ZERO), a);
        ledger.get_mut(a).clients.push(0);
        assert_eq!(ledger.purge(a), None);
        ledger.get_mut(a).clients.clear();
        assert!(ledger.purge(a).is_some());
        assert_eq!((ledger.len(), ledger.purge(a)), (0, None));
    }

    #[test]
    fn more_reporters_than_are_remembered_add_nothing() {
        let mut ledger = Ledger::default();
        let at = ledger.open([10, 0, 0, 1].into(), Instant::ZERO);
        let entry = ledger.get_mut(at);
        (0..40).for_each(|n| entry.blame([10, 0, 1, n].into()));
        assert_eq!((entry.failures() as usize, entry.row.reporters.len()), (REPORTERS, REPORTERS));
    }

    #[test]
    fn a_row_from_the_store_is_of_the_network_whatever_address_it_names() {
        let mut ledger = Ledger::default();
        let at = ledger.open("2001:db8::5".parse().unwrap(), Instant::ZERO);
        let row = ledger.get(at).row.clone();
        assert!(ledger.purge(at).is_some());
        let owner = "2001:db8::9".parse().unwrap();
        let at = ledger.put(LedgerRow { owner, ..row.clone() });
        assert_eq!((ledger.get(at).row.owner, ledger.find_row(owner)), (row.owner, Some(at)));
    }
}
