//! A member of a divided site: its node serves from the start, and is told which
//! parts are its own.

use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

use super::super::world::{Guest, Queue};
use super::store::{StoreRequest, process};
use crate::world::World;
use servent_core::engine::{Effect, Engine as _, FxOf};
use servent_core::id::Guid;
use servent_core::lease::membership::{Division, Input as Fact, Leader, Output as Wish};
use servent_core::lease::{PARTS, Partition};
use servent_core::node::{Input, NodeOp, SiteInput, WorldEvent};
use servent_core::queue::StoredEntry;
use servent_core::trace::Event;

/// What a member knows of the division.
#[derive(Debug, Clone, Default)]
pub(super) struct Divided {
    pub(super) division: Option<Division>,
    /// The numbers with which it writes; none while the store is away.
    pub(super) fences: BTreeMap<Partition, u64>,
    /// Parts whose rows it has not read yet.
    to_lead: BTreeSet<Partition>,
    /// Parts that it serves no longer, and gives back when all is saved.
    hushed: BTreeSet<Partition>,
    /// Which part the row of a place belongs to.
    places: BTreeMap<Guid, Partition>,
    /// What the records say that it leads.
    told: u64,
}

impl Divided {
    /// The parts that these changes are about.
    fn parts_of(&mut self, ops: &[NodeOp]) -> BTreeSet<Partition> {
        let mut parts = BTreeSet::new();
        for op in ops {
            match op {
                NodeOp::Queue(row) => {
                    let part = Partition::containing(row.file);
                    parts.extend(self.places.insert(row.ticket, part));
                    parts.insert(part);
                }
                NodeOp::QueueGone(ticket) => parts.extend(self.places.get(ticket)),
                _ => {}
            }
        }
        parts
    }

    /// The parts that it may write.
    pub(super) fn writes(&self) -> BTreeSet<Partition> {
        let leads = self.division.iter().flat_map(Division::leads);
        leads.chain(self.hushed.iter().copied()).collect()
    }

    /// The parts that it leads and has the rows of.
    fn served(&self) -> u64 {
        let leads = self.division.iter().flat_map(Division::leads);
        leads.filter(|part| !self.to_lead.contains(part)).fold(0, |set, part| set | part.bit())
    }
}

impl<N: Guest> World<Queue<N>> {
    /// A process of a member of a divided site starts: it serves nothing yet.
    pub(super) fn rise_divided(&mut self, member: u32) {
        let (now, at) = (self.now(), self.net.plan.profile(member).at);
        let Some(site) = &mut self.net.site else { return };
        let config = site.plan.lease;
        let one = site.member_mut(member);
        if one.divided.division.is_some() {
            return;
        }
        let us = (process((member, one.start)), at);
        one.divided.division = Some(Division::new(config, us, now));
        let cause = Some(self.note(member, None, Event::World(WorldEvent::StandsBy)));
        self.boot(member, cause);
        let leaders = (0..PARTS).map(|_| Leader::Vacant).collect();
        self.give(member, Input::Site(SiteInput::Divided { leaders }), cause);
        self.arm_lease(member);
    }

    pub(super) fn division_fact(&mut self, member: u32, fact: Fact) {
        let now = self.now();
        let Some(site) = &mut self.net.site else { return };
        let Some(division) = &mut site.member_mut(member).divided.division else { return };
        let mut fx = FxOf::<Division>::new();
        division.handle(now, fact, &mut fx);
        self.obey_division(member, &mut fx);
        self.arm_lease(member);
    }

    pub(super) fn obey_division(&mut self, member: u32, fx: &mut FxOf<Division>) {
        for effect in fx.drain() {
            let Effect::Output(wish) = effect else { continue };
            let Some(site) = &mut self.net.site else { return };
            let one = site.member_mut(member);
            match wish {
                Wish::Divide(leaders) => {
                    self.give(member, Input::Site(SiteInput::Divided { leaders }), None);
                    self.tell_parts(member);
                }
                Wish::Lead(parts) => {
                    one.divided.to_lead.extend(parts);
                    self.write_on(member);
                }
                Wish::Hush(parts) => {
                    one.divided.to_lead.retain(|part| !parts.contains(part));
                    one.divided.hushed.extend(parts);
                    self.hush(member);
                }
                Wish::Yield => return self.replaced(member),
                Wish::Leave => {
                    self.ask_store(member, StoreRequest::Parts(wish));
                }
                // One question at a time: what is not asked is wished again.
                Wish::Look | Wish::Take(_) | Wish::Free(_) if one.asking.is_some() => {}
                wish @ (Wish::Look | Wish::Take(_) | Wish::Free(_)) => {
                    let number = self.ask_store(member, StoreRequest::Parts(wish));
                    if let Some(site) = &mut self.net.site {
                        site.member_mut(member).asking = Some(number);
                    }
                }
            }
        }
    }

    /// Gives parts back whose changes the store has.
    pub(super) fn hush(&mut self, member: u32) {
        let Some(site) = &mut self.net.site else { return };
        let one = site.member_mut(member);
        if one.away || one.saved < one.made || one.asking.is_some() {
            return;
        }
        let parts = core::mem::take(&mut one.divided.hushed);
        if !parts.is_empty() {
            one.divided.fences.retain(|part, _| !parts.contains(part));
            self.division_fact(member, Fact::Quiet(parts));
        }
    }

    /// Reads what the store remembers of new parts, or writes what is pending;
    /// false when there is nothing to do.
    pub(super) fn write_parts(&mut self, member: u32, until: u64) -> bool {
        let Some(site) = &mut self.net.site else { return false };
        let one = site.member_mut(member);
        if one.writing.is_some() || one.away && one.divided.fences.is_empty() {
            return false;
        }
        let ask = if !one.divided.to_lead.is_empty() {
            StoreRequest::Rows(one.divided.to_lead.clone())
        } else if !one.pending.is_empty() {
            one.under_way = one.pending.len();
            let ops = one.pending.clone();
            let parts = one.divided.parts_of(&ops);
            let numbers = &one.divided.fences;
            let number = |part| (part, numbers.get(&part).copied().unwrap_or_default());
            let fences = parts.into_iter().map(number).collect();
            StoreRequest::WriteParts { fences, ops, until }
        } else {
            return false;
        };
        let number = self.ask_store(member, ask);
        if let Some(site) = &mut self.net.site {
            site.member_mut(member).writing = Some(number);
        }
        true
    }

    /// What the store remembers of parts that this member leads: new ones, or all
    /// of them when it was away.
    pub(super) fn rows_read(
        &mut self,
        member: u32,
        fences: BTreeMap<Partition, u64>,
        rows: Vec<StoredEntry>,
    ) {
        let Some(site) = &mut self.net.site else { return };
        let divided = &mut site.member_mut(member).divided;
        let leads: BTreeSet<Partition> =
            divided.division.iter().flat_map(Division::leads).collect();
        let new = |part: &Partition| divided.to_lead.contains(part) && leads.contains(part);
        let parts: BTreeSet<Partition> = fences.keys().copied().filter(new).collect();
        divided.fences.extend(fences);
        divided.to_lead.retain(|part| leads.contains(part) && !parts.contains(part));
        let mine = |row: &StoredEntry| parts.contains(&Partition::containing(row.file));
        let queue: Vec<StoredEntry> = rows.into_iter().filter(mine).collect();
        divided
            .places
            .extend(queue.iter().map(|row| (row.ticket, Partition::containing(row.file))));
        if !parts.is_empty() {
            self.tell_parts(member);
            self.give(member, Input::Site(SiteInput::Leads { parts, queue }), None);
        }
    }

    /// Records what a member serves, when that has changed.
    fn tell_parts(&mut self, member: u32) {
        let Some(site) = &mut self.net.site else { return };
        let divided = &mut site.member_mut(member).divided;
        let parts = divided.served();
        if core::mem::replace(&mut divided.told, parts) != parts {
            let (low, high) = (parts as u32, (parts >> 32) as u32);
            self.note(member, None, Event::World(WorldEvent::Parts { low, high }));
        }
    }
}
