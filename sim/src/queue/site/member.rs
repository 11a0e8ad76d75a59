//! A member of a site: its lease, and what its node promises.

use alloc::vec::Vec;

use super::super::world::{self, Guest, Queue};
use super::parked::Waiting;
use super::partitions::Divided;
use super::store::{StoreAnswer, StoreRequest};
use super::{ParkedEffects, SitePlan};
use crate::world::World;
use servent_core::engine::{Effect, Engine as _, FxOf};
use servent_core::lease::membership::{Division, Input as PartsFact};
use servent_core::lease::{Event as LeaseEvent, Input as Fact, Lease, Output as Wish};
use servent_core::node::{ConnInput, ConnOutput, Input, NodeOp, Output, SiteInput, WorldEvent};
use servent_core::time::Duration;
use servent_core::trace::{Event, RecordCause};

/// How long a reply that promises something waits for a store that is away.
const ANSWER_WITHIN: Duration = Duration::from_secs(4);

impl<N: Guest> World<Queue<N>> {
    /// A planned event of the site.
    pub(in crate::queue) fn site_due(&mut self, due: SitePlan) {
        match due {
            SitePlan::Rise(member) => self.rise(member),
            SitePlan::Ask(number) => self.asked(number),
            SitePlan::Lease(member, _)
            | SitePlan::Retry(member, _)
            | SitePlan::Unsay(member, _)
                if self.sleeps(member) =>
            {
                self.remember(member, due);
            }
            SitePlan::Lease(member, start) => self.lease_timer(member, start),
            SitePlan::Retry(member, start) => self.open_again(member, start),
            SitePlan::Unsay(member, start) => self.unsay(member, start),
            SitePlan::Said(number) | SitePlan::Patience(number) => {
                let Some(site) = &mut self.net.site else { return };
                let Some(letter) = site.letters.get(&number) else { return };
                let member = letter.member;
                if matches!(due, SitePlan::Said(_)) && site.member(member).apart {
                    return site.member_mut(member).stuck.push(due);
                }
                if self.sleeps(member) {
                    return self.remember(member, due);
                }
                self.receive_answer(member, number, matches!(due, SitePlan::Said(_)));
            }
        }
    }

    /// A stalled member: what comes waits until it goes on.
    fn sleeps(&self, member: u32) -> bool {
        self.slot(member).stalled.is_some()
    }

    fn remember(&mut self, member: u32, due: SitePlan) {
        if let Some(site) = &mut self.net.site {
            site.member_mut(member).late.push(due);
        }
    }

    /// A member was stalled and goes on: what came meanwhile comes now.
    pub(in crate::queue) fn member_wakes(&mut self, member: u32) {
        let now = self.now();
        let Some(site) = self.net.site.as_mut().filter(|site| site.has(member)) else { return };
        for due in core::mem::take(&mut site.member_mut(member).late) {
            self.plan(now, world::QueuePlan::Site(due));
        }
    }

    /// A process of a member starts: it stands by.
    pub(in crate::queue) fn rise(&mut self, member: u32) {
        let now = self.now();
        let Some(site) = &mut self.net.site else { return };
        if site.plan.divided {
            return self.rise_divided(member);
        }
        let lease = Lease::new(site.plan.lease, now);
        let one = site.member_mut(member);
        if one.lease.is_some() {
            return;
        }
        one.lease = Some(lease);
        self.note(member, None, Event::World(WorldEvent::StandsBy));
        self.arm_lease(member);
    }

    /// The process of a member has ended, and its links with it. What it has
    /// sent may still arrive.
    pub(in crate::queue) fn member_ended(&mut self, member: u32) {
        let Some(site) = self.net.site.as_mut().filter(|site| site.has(member)) else { return };
        let one = site.member_mut(member);
        one.start += 1;
        (one.lease, one.armed, one.asking, one.writing, one.fence) = (None, None, None, None, None);
        (one.away, one.under_way, one.made, one.saved) = (false, 0, 0, 0);
        one.pending.clear();
        one.late.clear();
        (one.held, one.divided) = (ParkedEffects::default(), Divided::default());
        if site.route == Some(member) {
            site.route = None;
        }
    }

    /// A member is killed, whether it leads or stands by.
    pub(in crate::queue) fn kill_member(&mut self, member: u32) {
        let runs = self.net.site.as_ref().is_some_and(|site| site.member(member).runs());
        if !self.crash(member) && runs {
            self.note(member, None, Event::World(WorldEvent::Crashed));
            self.member_ended(member);
        }
    }

    /// Another member leads: this one writes nothing any more, and ends. It is
    /// started again.
    pub(super) fn replaced(&mut self, member: u32) {
        let now = self.now();
        let cause = Some(self.note(member, None, Event::World(WorldEvent::Replaced)));
        if self.slot(member).engine.is_some() {
            self.end(member, cause);
        } else {
            self.member_ended(member);
        }
        if let Some(site) = &self.net.site {
            let again = now + site.plan.restart;
            self.plan(again, world::QueuePlan::Site(SitePlan::Rise(member)));
        }
    }

    // The lease.

    pub(super) fn arm_lease(&mut self, member: u32) {
        let Some(site) = &mut self.net.site else { return };
        let one = site.member_mut(member);
        // One question at a time.
        let division = one.divided.division.as_ref().and_then(Division::poll_timeout);
        let at = one.lease.as_ref().and_then(Lease::poll_timeout).or(division);
        let at = at.filter(|_| one.asking.is_none());
        let Some((at, _)) = at else { return };
        let start = one.start;
        if one.armed.is_none_or(|armed| at < armed) {
            one.armed = Some(at);
            self.plan(at.max(self.now()), world::QueuePlan::Site(SitePlan::Lease(member, start)));
        }
    }

    fn lease_timer(&mut self, member: u32, start: u32) {
        let now = self.now();
        let Some(site) = &mut self.net.site else { return };
        let one = site.member_mut(member);
        if one.start != start {
            return;
        }
        one.armed = None;
        if one.asking.is_none()
            && let Some(lease) = &mut one.lease
        {
            let mut fx = FxOf::<Lease>::new();
            lease.handle_timeout(now, &mut fx);
            self.obey_lease(member, &mut fx);
        } else if one.asking.is_none()
            && let Some(division) = &mut one.divided.division
        {
            let mut fx = FxOf::<Division>::new();
            division.handle_timeout(now, &mut fx);
            self.obey_division(member, &mut fx);
        }
        self.arm_lease(member);
    }

    fn lease_fact(&mut self, member: u32, fact: Fact) {
        let now = self.now();
        let Some(site) = &mut self.net.site else { return };
        let Some(lease) = &mut site.member_mut(member).lease else { return };
        let mut fx = FxOf::<Lease>::new();
        lease.handle(now, fact, &mut fx);
        self.obey_lease(member, &mut fx);
        self.arm_lease(member);
    }

    fn obey_lease(&mut self, member: u32, fx: &mut FxOf<Lease>) {
        for effect in fx.drain() {
            match effect {
                Effect::Event(
                    LeaseEvent::StandsBy { .. } | LeaseEvent::Takes { .. } | LeaseEvent::Lost,
                ) => {}
                Effect::Output(wish @ (Wish::Look | Wish::Take(_) | Wish::Renew | Wish::Free)) => {
                    let number = self.ask_store(member, StoreRequest::Lease(wish));
                    if let Some(site) = &mut self.net.site {
                        site.member_mut(member).asking = Some(number);
                    }
                }
                Effect::Output(Wish::Lead(_)) => self.open(member),
                Effect::Output(Wish::Yield) => self.replaced(member),
            }
        }
    }

    // Writing.

    fn open(&mut self, member: u32) {
        let Some(site) = &self.net.site else { return };
        let ask = match &site.member(member).divided.division {
            Some(_) => StoreRequest::Rows(site.member(member).divided.writes()),
            None => StoreRequest::Open,
        };
        let number = self.ask_store(member, ask);
        if let Some(site) = &mut self.net.site {
            site.member_mut(member).writing = Some(number);
        }
    }

    fn open_again(&mut self, member: u32, start: u32) {
        let Some(site) = &self.net.site else { return };
        let one = site.member(member);
        if one.start == start && one.away && one.writing.is_none() {
            self.open(member);
        }
    }

    /// An answer has come, or did not come in time.
    fn receive_answer(&mut self, member: u32, number: u64, came: bool) {
        let Some(site) = &mut self.net.site else { return };
        let one = &mut site.members[member as usize];
        let Some(letter) = site.letters.get(&number) else { return };
        let said = if came { letter.said.clone() } else { None }.unwrap_or(StoreAnswer::Nothing);
        let current = letter.start == one.start;
        if came {
            site.letters.remove(&number);
        }
        if !current {
            return;
        }
        if one.asking == Some(number) {
            one.asking = None;
            if one.divided.division.is_some() {
                let fact = if let StoreAnswer::Parts(fact) = said { fact } else { PartsFact::Away };
                self.division_fact(member, fact);
                return self.hush(member);
            }
            let fact = if let StoreAnswer::Lease(fact) = said { fact } else { Fact::Away };
            return self.lease_fact(member, fact);
        }
        if one.writing != Some(number) {
            return; // It was given up.
        }
        one.writing = None;
        match said {
            StoreAnswer::Opened(Some(fence)) => self.opened_link(member, fence),
            StoreAnswer::Opened(None) | StoreAnswer::Written(false) => self.replaced(member),
            StoreAnswer::Written(true) => self.written(member),
            StoreAnswer::Rows(fences, rows) => {
                self.rows_read(member, fences, rows);
                let away = self.net.site.as_ref().is_some_and(|site| site.member(member).away);
                if !self.write_on(member) && away {
                    self.store_is_back(member);
                }
            }
            StoreAnswer::Lease(_) | StoreAnswer::Parts(_) | StoreAnswer::Nothing => {
                self.store_is_away(member)
            }
        }
    }

    fn opened_link(&mut self, member: u32, fence: u64) {
        let Some(site) = &mut self.net.site else { return };
        site.member_mut(member).fence = Some(fence);
        if self.slot(member).engine.is_none() {
            if let Some(site) = &mut self.net.site {
                site.route = Some(member);
            }
            let cause = self.note(member, None, Event::World(WorldEvent::Leads { fence }));
            if let Some(site) = &mut self.net.site {
                site.member_mut(member).away = false;
            }
            return self.boot(member, Some(cause));
        }
        if !self.write_on(member) {
            self.store_is_back(member);
        }
    }

    /// Writes what is pending; false when nothing is.
    pub(super) fn write_on(&mut self, member: u32) -> bool {
        let until = self.next_record();
        let Some(site) = &mut self.net.site else { return false };
        let one = site.member_mut(member);
        if one.divided.division.is_some() {
            return self.write_parts(member, until);
        }
        let Some(fence) = one.fence.filter(|_| one.writing.is_none() && !one.pending.is_empty())
        else {
            return false;
        };
        one.under_way = one.pending.len();
        let ops = one.pending.clone();
        let number = self.ask_store(member, StoreRequest::Write { fence, ops, until });
        if let Some(site) = &mut self.net.site {
            site.member_mut(member).writing = Some(number);
        }
        true
    }

    fn written(&mut self, member: u32) {
        let Some(site) = &mut self.net.site else { return };
        let one = site.member_mut(member);
        let count = core::mem::take(&mut one.under_way);
        one.pending.drain(..count);
        one.saved += count as u64;
        let away = one.away;
        if away {
            if !self.write_on(member) {
                self.store_is_back(member);
            }
            return;
        }
        let ready = one.held.ready(one.saved);
        self.say(member, ready);
        self.write_on(member);
        self.hush(member);
    }

    /// The store does not answer: nothing new is promised until it is back.
    fn store_is_away(&mut self, member: u32) {
        let now = self.now();
        let Some(site) = &mut self.net.site else { return };
        let again = now + site.plan.retry;
        let one = site.member_mut(member);
        let start = one.start;
        (one.fence, one.under_way) = (None, 0);
        one.divided.fences.clear();
        let was = core::mem::replace(&mut one.away, true);
        self.plan(again, world::QueuePlan::Site(SitePlan::Retry(member, start)));
        if was || self.slot(member).engine.is_none() {
            return;
        }
        let cause =
            Some(self.note(member, None, Event::World(WorldEvent::StoreAway { away: true })));
        let Some(site) = &mut self.net.site else { return };
        let free = site.member_mut(member).held.away();
        self.plan(now + ANSWER_WITHIN, world::QueuePlan::Site(SitePlan::Unsay(member, start)));
        self.say(member, free);
        self.give(member, Input::Site(SiteInput::StoreUnavailable), cause);
    }

    /// A client that has waited long enough for a promise gets another reply.
    fn unsay(&mut self, member: u32, start: u32) {
        let before = self.now() - ANSWER_WITHIN;
        let Some(site) = &mut self.net.site else { return };
        let one = site.member(member);
        if one.start != start || !one.away {
            return;
        }
        for conn in one.held.late(before) {
            let may = self.slot(member).engine.as_ref().is_some_and(|node| node.may_retract(conn));
            let Some(site) = self.net.site.as_mut().filter(|_| may) else { continue };
            let several = site.member_mut(member).held.give_up(conn) > 1;
            self.give(member, Input::Connection(conn, ConnInput::Retracted { several }), None);
        }
    }

    /// Everything is written: what was held back is said.
    fn store_is_back(&mut self, member: u32) {
        let Some(site) = &mut self.net.site else { return };
        let one = site.member_mut(member);
        one.away = false;
        let ready = one.held.ready(one.saved);
        let cause =
            Some(self.note(member, None, Event::World(WorldEvent::StoreAway { away: false })));
        self.say(member, ready);
        self.give(member, Input::Site(SiteInput::StoreAvailable), cause);
        // Parts that came meanwhile are read.
        self.write_on(member);
        self.hush(member);
    }

    fn say(&mut self, member: u32, ready: Vec<Waiting>) {
        for one in ready {
            self.output(member, one.output, one.cause);
        }
    }

    /// The node of a member changes its state.
    pub(in crate::queue) fn member_changes(&mut self, member: u32, op: NodeOp) {
        let Some(site) = &mut self.net.site else { return };
        let one = site.member_mut(member);
        one.pending.push(op);
        one.made += 1;
    }

    /// An output of the node of a member: it is carried out when the store has
    /// what was changed before it.
    pub(in crate::queue) fn member_says(
        &mut self,
        member: u32,
        output: Output,
        promises: bool,
        cause: RecordCause,
    ) {
        let now = self.now();
        let Some(site) = &mut self.net.site else { return };
        let one = site.member_mut(member);
        let (start, said) =
            (one.start, matches!(output, Output::Connection(_, ConnOutput::Write { .. })));
        let waiting = Waiting { after: one.made, promises, output, cause, at: now };
        let mut late = false;
        let free = if one.away {
            let free = one.held.park(waiting);
            late = said && free.is_none();
            free
        } else if one.held.is_empty() && waiting.after <= one.saved {
            Some(waiting)
        } else {
            one.held.push(waiting);
            None
        };
        if late {
            self.plan(now + ANSWER_WITHIN, world::QueuePlan::Site(SitePlan::Unsay(member, start)));
        }
        self.say(member, free.into_iter().collect());
    }

    /// The end of a turn of the node of a member.
    pub(in crate::queue) fn member_turned(&mut self, member: u32) {
        self.write_on(member);
    }
}
