//! The lines of a divided site: what a member has saved of the places and slots
//! of its parts and of the ledgers of its swarms, and what it hears of the division.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;

use serde::Serialize;
use servent_core::id::Guid;
use servent_core::lease::Partition;
use servent_core::lease::membership::Leader;
use servent_core::node::swarm;
use servent_core::node::{Input, NodeOp, SiteInput};
use servent_core::queue::StoredEntry;

use super::lease_loop::AnnouncedMember;
use super::partition_link::{PartLink, PendingRow};
use super::partition_loop::{Divider, PartitionNews};
use super::reach::{PATIENCE, Reach};
use super::rows::{Key, RowKind, account_key};
use super::schema::{self, Mode, Purpose};
use super::{Database, draw, host, prepare};
use crate::error::StoreFailure;
use crate::store::CommitOutcome;
use crate::store::rows::encode;

/// How many parts of its site a member leads, as far as it knows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct SiteStanding {
    /// Parts that it leads.
    pub ours: u16,
    /// Parts that others lead.
    pub others: u16,
    /// Partitions that no member leads: they change hands.
    pub nobodys: u16,
}

/// The lines of a member.
#[derive(Debug)]
pub(crate) struct Lines {
    database: Database,
    member: AnnouncedMember,
    at: SocketAddr,
    reach: Reach<PartLink>,
    /// The numbers with which it writes.
    fences: BTreeMap<Partition, i64>,
    /// Which part the row of a place belongs to.
    places: BTreeMap<Guid, Partition>,
    pending: BTreeMap<Key, PendingRow>,
    /// Parts that are given back when all is saved.
    hushed: BTreeSet<Partition>,
    leaders: Vec<Leader>,
    /// What the node hears next.
    next: Option<Input>,
    /// Looks at the membership table as soon as it is asked for news.
    divider: Option<Divider>,
}

impl Lines {
    /// Opens the database of a divided site, making its tables where there are
    /// none.
    ///
    /// # Errors
    /// The database cannot be used, what is in it is not ours, or the others do
    /// not divide the files.
    pub(crate) async fn open(database: Database, purpose: Purpose) -> Result<Self, StoreFailure> {
        let holder = draw(&database)?;
        prepare(&database, Mode::Divided, purpose).await?;
        let reach = Reach::open(&database, holder).await?;
        let member = AnnouncedMember { holder, name: host(), serves: String::new() };
        Ok(Self {
            database,
            member,
            at: SocketAddr::from(([0; 4], 0)),
            reach,
            fences: BTreeMap::new(),
            places: BTreeMap::new(),
            pending: BTreeMap::new(),
            hushed: BTreeSet::new(),
            leaders: Partition::all().map(|_| Leader::Vacant).collect(),
            next: None,
            divider: None,
        })
    }

    /// Where clients of the other members are sent for its parts. To be said
    /// before it is asked for news.
    pub(crate) fn serves(&mut self, at: SocketAddr) {
        (self.at, self.member.serves) = (at, at.to_string());
    }

    /// Who leads which part, for a node that has heard nothing yet.
    pub(crate) fn divided(&self) -> Input {
        Input::Site(SiteInput::Divided { leaders: self.leaders.clone() })
    }

    /// How many parts are whose.
    pub(crate) fn standing(&self) -> SiteStanding {
        let mut standing = SiteStanding::default();
        for leader in &self.leaders {
            *match leader {
                Leader::Us => &mut standing.ours,
                Leader::At(_) => &mut standing.others,
                Leader::Vacant => &mut standing.nobodys,
            } += 1;
        }
        standing
    }

    /// Adds a change of the queue, or of the ledger of a swarm, to those before it;
    /// gives others back.
    pub(crate) fn add(&mut self, op: NodeOp) -> Option<NodeOp> {
        match op {
            NodeOp::Queue(row) => {
                let part = Partition::containing(row.file);
                let before = self.places.insert(row.ticket, part);
                let line = self.line(RowKind::Queue, &row.ticket.0, part);
                line.parts.extend(before);
                line.row = Some((part, encode(&row)));
            }
            NodeOp::QueueGone(ticket) => {
                // Of what was never saved there is nothing to forget.
                if let Some(part) = self.places.remove(&ticket) {
                    self.line(RowKind::Queue, &ticket.0, part).row = None;
                }
            }
            NodeOp::Swarm(swarm::SwarmOp::Account(account)) => {
                let part = Partition::containing(account.swarm);
                let key = account_key(account.swarm, account.row.owner);
                self.line(RowKind::Account, &key, part).row = Some((part, encode(&account)));
            }
            NodeOp::Swarm(swarm::SwarmOp::AccountGone { swarm, owner }) => {
                let key = account_key(swarm, owner);
                self.line(RowKind::Account, &key, Partition::containing(swarm)).row = None;
            }
            other => return Some(other),
        }
        None
    }

    /// What is to be saved of a row that is in this part now.
    fn line(&mut self, kind: RowKind, key: &[u8], part: Partition) -> &mut PendingRow {
        let line = self.pending.entry((kind, key.to_vec())).or_default();
        line.parts.insert(part);
        line
    }

    /// Commits what was added, all of it or nothing.
    ///
    /// # Errors
    /// A part of it is another member's.
    pub(crate) async fn commit(&mut self) -> Result<CommitOutcome, StoreFailure> {
        let Some(link) = self.reach.link() else { return Ok(CommitOutcome::Later) };
        if self.pending.is_empty() {
            self.reach.mended();
            self.settle();
            return Ok(CommitOutcome::Durable);
        }
        let parts = self.pending.values().flat_map(|line| line.parts.iter().copied());
        let number = |part| (part, self.fences.get(&part).copied().unwrap_or_default());
        let fences = parts.map(number).collect();
        let written = link.write(&self.member.holder, &fences, &self.pending);
        let written = tokio::time::timeout(PATIENCE, written).await;
        let kept = self.reach.check_statement(written).await?;
        if kept == CommitOutcome::Durable {
            self.pending.clear();
            self.settle();
        }
        Ok(kept)
    }

    /// Everything is saved: gives back what is to be given back.
    fn settle(&mut self) {
        let parts = std::mem::take(&mut self.hushed);
        if parts.is_empty() {
            return;
        }
        self.fences.retain(|part, _| !parts.contains(part));
        self.places.retain(|_, part| !parts.contains(part));
        if let Some(divider) = &self.divider {
            divider.quiet(parts);
        }
    }

    /// The database is away.
    pub(crate) const fn is_away(&self) -> bool {
        self.reach.link().is_none()
    }

    /// Waits for what the node is to know of the division, or until the database
    /// is away, or can be reached again (`None`); the next commit then saves what
    /// is pending.
    ///
    /// # Errors
    /// Others have taken this member's parts.
    pub(crate) async fn news(&mut self) -> Result<Option<Input>, StoreFailure> {
        if let Some(next) = self.next.take() {
            return Ok(Some(next));
        }
        let divider = self.divider.get_or_insert_with(|| {
            Divider::start(self.database.clone(), self.member.clone(), self.at)
        });
        let news = tokio::select! {
            found = self.reach.found() => {
                found?;
                let fences = self.reach.link().map(|link| link.fences.clone());
                self.count(fences.unwrap_or_default());
                return Ok(None);
            }
            news = divider.news() => news,
        };
        match news {
            Some(news) => Ok(self.hear(news)),
            None => Err(schema::why_lost(&self.database, Mode::Divided).await),
        }
    }

    /// Numbers only grow: of two for one part the larger is the later one.
    fn count(&mut self, fences: BTreeMap<Partition, i64>) {
        for (part, fence) in fences {
            let known = self.fences.entry(part).or_default();
            *known = fence.max(*known);
        }
    }

    fn hear(&mut self, news: PartitionNews) -> Option<Input> {
        match news {
            PartitionNews::Divide(leaders) => {
                let known = self.leaders.iter().zip(&leaders).map(|pair| match pair {
                    // The node does not have its places yet.
                    (Leader::Vacant | Leader::At(_), Leader::Us) => Leader::Vacant,
                    (_, leader) => *leader,
                });
                self.leaders = known.collect();
                Some(Input::Site(SiteInput::Divided { leaders }))
            }
            PartitionNews::Lead(fences, queue, accounts) => {
                let parts: BTreeSet<Partition> = fences.keys().copied().collect();
                self.count(fences);
                for part in &parts {
                    self.leaders[usize::from(part.0)] = Leader::Us;
                }
                let place = |row: &StoredEntry| (row.ticket, Partition::containing(row.file));
                self.places.extend(queue.iter().map(place));
                let leads = Input::Site(SiteInput::Leads { parts, queue });
                if accounts.is_empty() {
                    return Some(leads);
                }
                self.next = Some(leads);
                Some(Input::Swarm(swarm::Input::Accounts { accounts }))
            }
            PartitionNews::Hush(parts) => {
                self.hushed.extend(parts);
                if self.pending.is_empty() && self.reach.link().is_some() {
                    self.settle();
                }
                None
            }
            PartitionNews::Away(why) => {
                self.reach.lose(&why);
                None
            }
        }
    }

    /// Gives everything back, so that others lead it at once.
    pub(crate) async fn leave(&mut self) {
        if let Some(divider) = &mut self.divider {
            divider.leave().await;
        }
    }

    /// Says nothing any more, as if the process were stopped.
    #[cfg(test)]
    pub(in crate::store) fn silence(&self) {
        if let Some(divider) = &self.divider {
            divider.silence();
        }
    }

    /// It cannot be used, because of `why`.
    pub(in crate::store) fn failed(&self, why: &str) -> StoreFailure {
        self.database.unavailable(why)
    }

    /// Why it cannot be copied as a file.
    pub(in crate::store) fn no_file(&self) -> StoreFailure {
        StoreFailure::NoFile { at: self.database.to_string() }
    }
}
