//! Credit, counted again from the confirmed transfers (SW-5, SW-10): a client
//! without credit is not given a piece that costs credit, unless it has a grant
//! or the piece was chosen before and failed; and a client with credit is not
//! stalled.

use alloc::collections::{BTreeMap, BTreeSet};

use super::super::event::client_of;
use super::super::scenario::Scenario;
use crate::check::RecordViolations;
use servent_core::id::ConnId;
use servent_core::swarm::{Config, CreditAccount, Event, Failure, credit};
use servent_core::trace::NodeId;

/// The oracle. Accounts belong to addresses; clients of a group behind one
/// address share the account of the first.
#[derive(Debug, Clone)]
pub(super) struct Credit {
    config: Config,
    /// The client whose account each client uses.
    owner: alloc::vec::Vec<u32>,
    accounts: BTreeMap<u32, CreditAccount>,
    ratio: u32,
    /// Pieces that are charged: in transit, or failed and to be retried; by
    /// downloader and piece.
    charged: BTreeSet<(u32, u32)>,
    /// Of those in transit, the ones the downloader says it has.
    there: BTreeSet<(u32, u32)>,
    /// Pieces that failed and are to be retried.
    failed: BTreeSet<(u32, u32)>,
    /// The client that has a grant for the next assignment.
    granted: Option<u32>,
}

impl Credit {
    pub(super) fn new(scenario: &Scenario) -> Self {
        Self {
            config: scenario.swarm.clone(),
            owner: scenario.owners(),
            accounts: BTreeMap::new(),
            ratio: scenario.swarm.ratio,
            charged: BTreeSet::new(),
            there: BTreeSet::new(),
            failed: BTreeSet::new(),
            granted: None,
        }
    }

    /// Transfers in progress are forgotten; confirmed ones are in the store.
    pub(super) fn restarted(&mut self) {
        self.charged = BTreeSet::new();
        self.there = BTreeSet::new();
        self.failed = BTreeSet::new();
        self.ratio = self.config.ratio;
        self.accounts.values_mut().for_each(|account| account.in_flight = 0);
    }

    fn owner(&self, conn: ConnId) -> u32 {
        let client = client_of(conn);
        self.owner.get(client as usize).copied().unwrap_or(client)
    }

    fn account(&mut self, conn: ConnId) -> &mut CreditAccount {
        let owner = self.owner(conn);
        self.accounts.entry(owner).or_default()
    }

    pub(super) fn balance(&self, client: u32) -> Option<i64> {
        let owner = *self.owner.get(client as usize)?;
        let account = self.accounts.get(&owner).copied().unwrap_or_default();
        Some(credit(&account, self.ratio, &self.config))
    }

    pub(super) fn observe(&mut self, event: &Event, found: &mut RecordViolations<'_>) {
        match event {
            Event::Free { client } => self.account(*client).free = true,
            Event::Granted { client, grants, aged, .. } => {
                self.granted = Some(client_of(*client)).filter(|_| !aged);
                self.count_grant(*client, *grants, found);
            }
            Event::Ratio { ratio, .. } => self.ratio = *ratio,
            Event::Purged { owner } => self.purged(*owner),
            Event::Assigned { piece, down, charged, .. } => {
                let again = self.failed.remove(&(client_of(*down), *piece));
                if *charged {
                    self.assigned(*down, *piece, again, found);
                }
            }
            Event::Arrived { piece, down, .. } => {
                self.there.insert((client_of(*down), *piece));
            }
            Event::Confirmed { piece, down, up, charged, .. } => {
                self.there.remove(&(client_of(*down), *piece));
                if let Some(up) = up {
                    self.account(*up).uploads += 1;
                }
                self.ended(*down, *piece);
                if *charged {
                    self.account(*down).downloads += 1;
                }
            }
            Event::Failed { piece, down, why, .. } => {
                // A piece that did not arrive stays charged to its downloader
                // (SW-27).
                let there = self.there.remove(&(client_of(*down), *piece));
                if there || *why == Failure::DownloaderLeft {
                    self.ended(*down, *piece);
                }
                self.failed.insert((client_of(*down), *piece));
            }
            Event::Settled { client, piece, counted, .. } => {
                self.ended(*client, *piece);
                self.account(*client).downloads += u64::from(*counted);
            }
            Event::Left { client } => {
                let client = client_of(*client);
                let its: alloc::vec::Vec<(u32, u32)> =
                    self.failed.range((client, 0)..(client + 1, 0)).copied().collect();
                its.iter().for_each(|key| {
                    self.failed.remove(key);
                });
            }
            Event::Stalled { client, .. } => {
                let left = self.balance(client_of(*client)).unwrap_or(0);
                if left >= 1 {
                    let args = [("credit", left.unsigned_abs())];
                    found.violation_of(
                        NodeId(client_of(*client)),
                        "credit",
                        "check.stalled_with_credit",
                        args,
                    );
                }
            }
            _ => {}
        }
    }

    fn count_grant(&mut self, client: ConnId, grants: u64, found: &mut RecordViolations<'_>) {
        let account = self.account(client);
        account.grants += 1;
        if account.grants != grants {
            let args = [("told", grants), ("counted", account.grants)];
            account.grants = grants;
            found.violation_of(NodeId(client_of(client)), "credit", "check.grants_differ", args);
        }
    }

    /// A failed piece was charged when it was first chosen: it takes precedence
    /// over all others whatever the credit is now (SW-14). A client that owes
    /// more than a piece, because the ratio has fallen, still needs only one
    /// grant per piece (§4).
    fn assigned(
        &mut self,
        down: ConnId,
        piece: u32,
        again: bool,
        found: &mut RecordViolations<'_>,
    ) {
        let left = self.balance(client_of(down)).unwrap_or(0);
        if self.charged.insert((client_of(down), piece)) {
            self.account(down).in_flight += 1;
        }
        let granted = self.granted.take() == Some(client_of(down));
        if left < 1 && !again && !granted {
            let args = [("owed", left.unsigned_abs()), ("piece", piece.into())];
            found.violation_of(
                NodeId(client_of(down)),
                "credit",
                "check.given_without_credit",
                args,
            );
        }
    }

    fn ended(&mut self, down: ConnId, piece: u32) {
        if self.charged.remove(&(client_of(down), piece)) {
            let account = self.account(down);
            account.in_flight = account.in_flight.saturating_sub(1);
        }
    }

    fn purged(&mut self, owner: core::net::IpAddr) {
        let core::net::IpAddr::V4(ip) = owner else { return };
        let client = ip.to_bits().wrapping_sub(super::super::FIRST);
        self.accounts.remove(&client);
    }
}
