//! The store of a site, and what its members ask of it.

use super::super::disk::Disk;
use super::super::world::{self, Guest, Queue};
use super::SitePlan;
use crate::world::World;
use servent_core::id::Guid;
use servent_core::lease::membership::{
    Input as PartsInput, LeaseClaim, MemberSeat, MembershipTable, Output as PartsOutput,
    PartitionLease,
};
use servent_core::lease::{Input, LeaseState, Output, Partition};
use servent_core::node::{NodeOp, WorldEvent};
use servent_core::queue::StoredEntry;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Event;

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;
use core::net::SocketAddr;

/// How much later than the rest of them a packet arrives that was sent again
/// after its way was cut, at most.
const LATE: Duration = Duration::from_secs(1);

/// What the members share.
#[derive(Debug, Clone)]
pub(super) struct SharedStore {
    pub(super) disk: Disk,
    table: MembershipTable,
    lease: LeaseState,
    /// The process that holds the lease: of which member, and which of its.
    holder: Option<(u32, u32)>,
    mood: Mood,
    /// Questions that wait because it is silent.
    waiting: Vec<u64>,
}

/// How it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mood {
    There,
    /// A member that asks hears at once that it is gone.
    Gone,
    /// It answers when it is back.
    Silent,
}

impl Default for SharedStore {
    fn default() -> Self {
        let lease = LeaseState { fence: 0, beat: 0, free: true };
        let (disk, table) = (Disk::default(), MembershipTable::default());
        Self { disk, table, lease, holder: None, mood: Mood::There, waiting: Vec::new() }
    }
}

/// A question and its answer.
#[derive(Debug, Clone)]
pub(super) struct Letter {
    pub(super) member: u32,
    /// The process that asks.
    pub(super) start: u32,
    ask: StoreRequest,
    pub(super) said: Option<StoreAnswer>,
}

/// What is asked.
#[derive(Debug, Clone)]
pub(super) enum StoreRequest {
    /// About the lease.
    Lease(Output),
    /// For a link for writing, in place of the one before it.
    Open,
    /// To write what was decided before the record `until`, over the link
    /// with this number.
    Write { fence: u64, ops: Vec<NodeOp>, until: u64 },
    /// About who is there and who leads what.
    Parts(PartsOutput),
    /// For what it remembers of these parts, over the link for writing. That link
    /// replaces the one before it.
    Rows(BTreeSet<Partition>),
    /// To write what belongs to these parts.
    WriteParts { fences: BTreeMap<Partition, u64>, ops: Vec<NodeOp>, until: u64 },
}

/// What is answered.
#[derive(Debug, Clone)]
pub(super) enum StoreAnswer {
    Lease(Input),
    Opened(Option<u64>),
    Written(bool),
    Parts(PartsInput),
    /// The numbers and rows of those that are still the asker's.
    Rows(BTreeMap<Partition, u64>, Vec<StoredEntry>),
    /// It is gone.
    Nothing,
}

/// How the membership table names a process of a member.
pub(super) fn process((member, start): (u32, u32)) -> Guid {
    let number = (u128::from(member) << 32) | u128::from(start);
    Guid((number + 1).to_be_bytes())
}

impl SharedStore {
    fn answer(&mut self, who: (u32, u32), at: SocketAddr, ask: &StoreRequest) -> StoreAnswer {
        let us = process(who);
        let ours = self.holder == Some(who);
        match ask {
            StoreRequest::Lease(output) => StoreAnswer::Lease(self.lease(who, ours, *output)),
            StoreRequest::Open if ours => {
                self.lease.fence += 1;
                StoreAnswer::Opened(Some(self.lease.fence))
            }
            StoreRequest::Open => StoreAnswer::Opened(None),
            StoreRequest::Write { fence, ops, .. } => {
                let allowed = ours && *fence == self.lease.fence;
                if allowed {
                    ops.iter().for_each(|op| self.disk.write(Instant::ZERO, op.clone()));
                    self.disk.flush();
                }
                StoreAnswer::Written(allowed)
            }
            StoreRequest::Parts(output) => StoreAnswer::Parts(self.parts((us, at), output)),
            StoreRequest::Rows(parts) => {
                let mut fences = BTreeMap::new();
                for (part, hold) in &mut self.table.parts {
                    if hold.holder == Some(us) && parts.contains(part) {
                        hold.fence += 1;
                        fences.insert(*part, hold.fence);
                    }
                }
                let mut rows = self.disk.restored().queue;
                rows.retain(|row| fences.contains_key(&Partition::containing(row.file)));
                StoreAnswer::Rows(fences, rows)
            }
            StoreRequest::WriteParts { fences, ops, .. } => {
                let ours = |(part, fence): (&Partition, &u64)| {
                    let held = PartitionLease { fence: *fence, holder: Some(us) };
                    self.table.parts.get(part) == Some(&held)
                };
                let allowed = fences.iter().all(ours);
                if allowed {
                    ops.iter().for_each(|op| self.disk.write(Instant::ZERO, op.clone()));
                    self.disk.flush();
                }
                StoreAnswer::Written(allowed)
            }
        }
    }

    fn parts(&mut self, (us, at): (Guid, SocketAddr), output: &PartsOutput) -> PartsInput {
        match output {
            PartsOutput::Take(claims) => {
                let mut taken = BTreeSet::new();
                for LeaseClaim { part, seen } in claims {
                    let never = PartitionLease { fence: 0, holder: None };
                    let hold = self.table.parts.entry(*part).or_insert(never);
                    if hold == seen {
                        *hold = PartitionLease { fence: seen.fence + 1, holder: Some(us) };
                        taken.insert(*part);
                    }
                }
                PartsInput::Taken(taken)
            }
            PartsOutput::Free(parts) => {
                for part in parts {
                    if let Some(hold) = self.table.parts.get_mut(part) {
                        hold.holder = hold.holder.filter(|holder| *holder != us);
                    }
                }
                PartsInput::Freed(parts.clone())
            }
            PartsOutput::Leave => {
                self.table.members.retain(|seat| seat.id != us);
                for hold in self.table.parts.values_mut() {
                    hold.holder = hold.holder.filter(|holder| *holder != us);
                }
                PartsInput::Freed(BTreeSet::new())
            }
            _ => {
                match self.table.members.iter_mut().find(|seat| seat.id == us) {
                    Some(seat) => seat.beat += 1,
                    None => self.table.members.push(MemberSeat { id: us, at, beat: 0 }),
                }
                PartsInput::Seen(self.table.clone())
            }
        }
    }

    fn lease(&mut self, who: (u32, u32), ours: bool, output: Output) -> Input {
        match output {
            Output::Take(seen)
                if (seen.fence, seen.beat) == (self.lease.fence, self.lease.beat) =>
            {
                self.lease = LeaseState { fence: seen.fence + 1, beat: 0, free: false };
                self.holder = Some(who);
                Input::Taken(self.lease.fence)
            }
            Output::Renew if ours && !self.lease.free => {
                self.lease.beat += 1;
                Input::Renewed
            }
            Output::Free if ours => {
                self.lease.free = true;
                Input::Renewed
            }
            Output::Take(_) | Output::Renew | Output::Free => Input::Missed,
            Output::Look | Output::Lead(_) | Output::Yield => Input::Seen(self.lease),
        }
    }
}

impl<N: Guest> World<Queue<N>> {
    /// A member asks the store; returns the number of its question.
    pub(super) fn ask_store(&mut self, member: u32, ask: StoreRequest) -> u64 {
        let now = self.now();
        let Some(site) = &mut self.net.site else { return 0 };
        let start = site.member(member).start;
        site.sent += 1;
        let number = site.sent;
        site.letters.insert(number, Letter { member, start, ask, said: None });
        let (arrives, waits) = (now + site.plan.latency, now + site.plan.patience);
        self.plan(arrives, world::QueuePlan::Site(SitePlan::Ask(number)));
        self.plan(waits, world::QueuePlan::Site(SitePlan::Patience(number)));
        number
    }

    /// A question reaches the store.
    pub(super) fn asked(&mut self, number: u64) {
        let now = self.now();
        let Some(site) = &mut self.net.site else { return };
        let Some(letter) = site.letters.get(&number) else { return };
        let (member, start) = (letter.member, letter.start);
        if site.member(member).apart {
            return site.member_mut(member).stuck.push(SitePlan::Ask(number));
        }
        let said = match site.store.mood {
            Mood::Silent => return site.store.waiting.push(number),
            Mood::Gone => StoreAnswer::Nothing,
            Mood::There => {
                let at = self.net.plan.profile(member).at;
                site.store.answer((member, start), at, &letter.ask)
            }
        };
        let saved = match (&said, &letter.ask) {
            (StoreAnswer::Written(true), StoreRequest::Write { fence, until, .. }) => {
                Some((*fence, *until))
            }
            (StoreAnswer::Written(true), StoreRequest::WriteParts { fences, until, .. }) => {
                Some((fences.values().max().copied().unwrap_or_default(), *until))
            }
            _ => None,
        };
        if let Some(letter) = site.letters.get_mut(&number) {
            letter.said = Some(said);
        }
        let arrives = now + site.plan.latency;
        self.plan(arrives, world::QueuePlan::Site(SitePlan::Said(number)));
        if let Some((fence, until)) = saved {
            self.note(member, None, Event::World(WorldEvent::Saved { fence, until }));
        }
    }

    /// The store goes away, or comes back. A silent one then answers what it
    /// was asked.
    pub(in crate::queue) fn set_store(&mut self, away: bool, silent: bool) {
        let now = self.now();
        let Some(site) = &mut self.net.site else { return };
        site.store.mood = match (away, silent) {
            (false, _) => Mood::There,
            (true, false) => Mood::Gone,
            (true, true) => Mood::Silent,
        };
        let waiting = core::mem::take(&mut site.store.waiting);
        for number in waiting {
            self.plan(now, world::QueuePlan::Site(SitePlan::Ask(number)));
        }
    }

    /// Cuts the way between a member and the store, or mends it. What was sent
    /// meanwhile arrives then, not always before what is sent afterwards.
    pub(in crate::queue) fn set_apart(&mut self, member: u32, apart: bool) {
        let now = self.now();
        let Some(site) = self.net.site.as_mut().filter(|site| site.has(member)) else { return };
        site.member_mut(member).apart = apart;
        if apart {
            return;
        }
        let stuck = core::mem::take(&mut site.member_mut(member).stuck);
        let late = Duration::from_micros(site.dice.between(0, LATE.as_micros()));
        for due in stuck {
            self.plan(now + late, world::QueuePlan::Site(due));
        }
    }
}
