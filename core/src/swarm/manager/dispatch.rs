//! Assigns whatever can be assigned.
//!
//! `adaptive` searches from both sides. What no client could use before, none
//! can use now unless something changed, so it is enough to examine those that
//! have changed: for each member that can send again, the first that waits and
//! can use it; for each that newly waits, the first of those that could not
//! help any client so far. With the stalled as the last choice, no upload slot
//! stays idle that a client could use.
//!
//! `seed2004` searches as its text says, only from the downloader's side and
//! only when it has earned something; what no peer can serve comes from the
//! source.

use alloc::vec::Vec;
use core::cmp::Reverse;
use core::net::IpAddr;

use super::super::config::SwarmPolicy;
use super::super::event::{Funnel, Led, Pick};
use super::assign::{AssignedGiver, GivenAssignment};
use super::choose::{self, SourceChoice, Taste};
use super::file::{READY, STALLED, member_of};
use super::timers::TimerPurpose;
use super::{Manager, ManagerEffects};
use crate::time::Instant;

/// Waiting members a source examines before it stays idle.
const WALK: usize = 16;
/// How long a member that gets nothing waits for peers, in piece times.
const PATIENCE: u64 = 2;

impl Manager {
    pub(super) fn dispatch(&mut self, now: Instant, fx: &mut ManagerEffects) {
        // An assignment on one file takes slots and so marks other files of the
        // clients it concerns; slots are finite, so this ends.
        while let Some(number) = self.files.iter().position(|file| file.dirty) {
            let number = number as u32;
            self.files[number as usize].dirty = false;
            match self.config.policy {
                SwarmPolicy::Adaptive => self.adaptive(now, number, fx),
                SwarmPolicy::Seed2004 => self.seed2004(now, number, fx),
            }
            let file = &mut self.files[number as usize];
            file.dirty = !file.fresh_ups.is_empty() || !file.fresh_downs.is_empty();
        }
        self.dirty = None;
    }

    const fn taste(&self) -> Taste {
        let seed = matches!(self.config.policy, SwarmPolicy::Seed2004);
        Taste { rarest: self.config.rarest && !seed, patient: seed }
    }

    fn adaptive(&mut self, now: Instant, number: u32, fx: &mut ManagerEffects) {
        self.retries(now, number, fx);
        self.inject(now, number, fx);
        loop {
            let senders = self.fresh_senders(number);
            let waiting = self.fresh_waiting(number);
            if senders.is_empty() && waiting.is_empty() {
                break;
            }
            for up in senders {
                self.serve_from(now, number, up, fx);
            }
            for down in waiting {
                self.serve_to(now, number, down, fx);
            }
        }
        self.help(now, number, fx);
    }

    /// Members that can send again: passive before active and stalled before
    /// others, as in the selection; among them, the one with the newest piece
    /// first.
    fn fresh_senders(&mut self, number: u32) -> Vec<u32> {
        let file = &mut self.files[number as usize];
        let fresh = core::mem::take(&mut file.fresh_ups);
        let mut order = [const { Vec::new() }; 4];
        for at in fresh {
            let member = file.member_mut(at);
            member.fresh_up = false;
            if let Some((class, key)) = member.up {
                order[class].push((Reverse(member.newest), key.1, at));
            }
        }
        order.iter_mut().for_each(|keys| keys.sort_unstable());
        order.iter().flatten().map(|(_, _, at)| *at).collect()
    }

    /// Members that newly wait, those with credit first, the longest waiting
    /// first.
    fn fresh_waiting(&mut self, number: u32) -> Vec<u32> {
        let file = &mut self.files[number as usize];
        let fresh = core::mem::take(&mut file.fresh_downs);
        let mut order = [Vec::new(), Vec::new()];
        for at in fresh {
            let member = file.member_mut(at);
            member.fresh_down = false;
            if let Some((lane, key)) = member.down {
                order[lane].push(key);
            }
        }
        order.iter_mut().for_each(|keys| keys.sort_unstable());
        order.iter().flatten().map(member_of).collect()
    }

    /// Assigns everything that a member can send now.
    fn serve_from(&mut self, now: Instant, number: u32, up: u32, fx: &mut ManagerEffects) {
        let taste = self.taste();
        while self.files[number as usize].member(up).up.is_some() {
            let file = &mut self.files[number as usize];
            let Some(choice) = choose::downloader(file, up, taste, &mut self.rng) else { return };
            let SourceChoice { member: down, piece, why } = choice;
            self.give(now, number, (down, AssignedGiver::Member(up)), (piece, why, Led::Giver), fx);
        }
    }

    /// Assigns everything that a member can receive now.
    fn serve_to(&mut self, now: Instant, number: u32, down: u32, fx: &mut ManagerEffects) {
        let taste = self.taste();
        while self.files[number as usize].member(down).down.is_some() {
            let file = &mut self.files[number as usize];
            let Some(choice) = choose::uploader(file, down, taste, &mut self.rng) else { return };
            let SourceChoice { member: up, piece, why } = choice;
            self.give(now, number, (down, AssignedGiver::Member(up)), (piece, why, Led::Taker), fx);
        }
    }

    fn give(
        &mut self,
        now: Instant,
        number: u32,
        (down, up): (u32, AssignedGiver),
        (piece, why, led): (u32, Pick, Led),
        fx: &mut ManagerEffects,
    ) {
        let funnel = self.reasons(number, (down, up), (piece, false), led);
        let given = GivenAssignment { file: number, piece, down, up, why, funnel, retry: None };
        self.assign(now, given, fx);
    }

    /// How a selection was made, if the configuration asks for that.
    fn reasons(
        &self,
        number: u32,
        (down, up): (u32, AssignedGiver),
        (piece, single): (u32, bool),
        led: Led,
    ) -> Option<Funnel> {
        let up = if let AssignedGiver::Member(up) = up { Some(up) } else { None };
        let question = choose::Question { down, up, piece, single, led };
        self.config.explain.then(|| choose::funnel(&self.files[number as usize], &question))
    }

    /// Pieces that failed come first (SW-14). They do not delay the rest: what
    /// no peer can send again comes from the source, or waits.
    fn retries(&mut self, now: Instant, number: u32, fx: &mut ManagerEffects) {
        let waiting: Vec<(Instant, u32)> =
            self.files[number as usize].retries.iter().copied().collect();
        for (_, member) in waiting {
            while self.retry(now, number, member, fx) {}
        }
    }

    /// Tries a member's first failed piece; true when it was assigned.
    fn retry(&mut self, now: Instant, number: u32, down: u32, fx: &mut ManagerEffects) -> bool {
        let file = &self.files[number as usize];
        let Some((&(chosen, piece), retry)) = file.member(down).failed.first_key_value() else {
            return false;
        };
        if !file.retries.contains(&(chosen, down)) {
            return false;
        }
        let retry = retry.clone();
        let taste = self.taste();
        let failed = |up: u32| self.has_failed(number, up, &retry.tried);
        let found = choose::uploader_again(file, down, piece, failed, taste);
        let (up, why) = match found {
            Some(choice) => (AssignedGiver::Member(choice.member), choice.why),
            None if self.backs_off(now, number, down) => return false,
            None => match self.free_source() {
                Some(source) => (AssignedGiver::Source(source), Pick::Retry),
                None => return false,
            },
        };
        let funnel = self.reasons(number, (down, up), (piece, true), Led::Taker);
        let retry = Some((chosen, retry));
        self.assign(now, GivenAssignment { file: number, piece, down, up, why, funnel, retry }, fx);
        true
    }

    /// True while the source does not serve a member yet; schedules another
    /// look.
    fn backs_off(&mut self, now: Instant, number: u32, down: u32) -> bool {
        let until = self.files[number as usize].member(down).not_before;
        let waits = self.config.policy == SwarmPolicy::Adaptive && now < until;
        if waits {
            self.agenda.add(until, TimerPurpose::Help(number));
        }
        waits
    }

    fn has_failed(&self, number: u32, up: u32, tried: &[IpAddr]) -> bool {
        let client = self.files[number as usize].member(up).client;
        tried.contains(&self.client(client).peer)
    }

    /// The source first sends what no peer has: each piece once (§4).
    fn inject(&mut self, now: Instant, number: u32, fx: &mut ManagerEffects) {
        while let Some(source) = self.free_source() {
            let file = &self.files[number as usize];
            if !file.rarity.has_unseen() {
                return;
            }
            let Some(choice) = choose::for_unseen(file, now, &mut self.rng) else { return };
            let SourceChoice { member: down, piece, why } = choice;
            self.give(
                now,
                number,
                (down, AssignedGiver::Source(source)),
                (piece, why, Led::Source),
                fx,
            );
        }
    }

    /// After that it helps members that have received nothing for longer than
    /// pieces take.
    fn help(&mut self, now: Instant, number: u32, fx: &mut ManagerEffects) {
        for lane in [READY, STALLED] {
            let keys = self.files[number as usize].downs[lane].iter().take(WALK);
            let waiting: Vec<u32> = keys.map(member_of).collect();
            for down in waiting {
                let Some(source) = self.free_source() else { return };
                // Another of its address may just have used their credit.
                let here = self.files[number as usize].member(down).down;
                if here.is_none_or(|(now_in, _)| now_in != lane) {
                    continue;
                }
                if self.backs_off(now, number, down) || !self.needs_help(now, number, down) {
                    continue;
                }
                let file = &self.files[number as usize];
                let need = &file.member(down).need;
                let Some(piece) = file.rarity.rarest(need, need, &mut self.rng) else { continue };
                self.give(
                    now,
                    number,
                    (down, AssignedGiver::Source(source)),
                    (piece, Pick::Source, Led::Taker),
                    fx,
                );
            }
        }
    }

    /// True when only the source can help; schedules another look for when that
    /// may become true.
    fn needs_help(&mut self, now: Instant, number: u32, down: u32) -> bool {
        let file = &self.files[number as usize];
        let member = file.member(down);
        if self.client(member.client).busy_down > 0 {
            return false;
        }
        let patience = file.piece_time(self.config.piece_time).ratio(PATIENCE, 1);
        let from = member.waiting + patience;
        if from <= now {
            return true;
        }
        self.agenda.add(from, TimerPurpose::Help(number));
        false
    }

    /// Exactly the text (lines 91–154).
    fn seed2004(&mut self, now: Instant, number: u32, fx: &mut ManagerEffects) {
        // A member waiting with credit is tried again when a slot it could use
        // becomes free, of a peer or of the source (SW-28).
        let freed = !self.fresh_senders(number).is_empty();
        if freed || self.free_source().is_some() {
            let file = &mut self.files[number as usize];
            for down in core::mem::take(&mut file.starved).iter() {
                file.freshen_down(*down);
            }
        }
        let waiting: Vec<u32> =
            self.files[number as usize].retries.iter().map(|(_, member)| *member).collect();
        for member in waiting {
            while self.retry(now, number, member, fx) {}
            let file = &mut self.files[number as usize];
            if file.member(member).failed.is_empty() && file.starved.remove(&member) {
                file.freshen_down(member);
            }
        }
        loop {
            let waiting = self.fresh_waiting(number);
            if waiting.is_empty() {
                return;
            }
            for down in waiting {
                self.rights(now, number, down, fx);
            }
        }
    }

    /// Uses all credit of a downloader: from a peer, otherwise from the source,
    /// otherwise it waits for the source.
    fn rights(&mut self, now: Instant, number: u32, down: u32, fx: &mut ManagerEffects) {
        let taste = self.taste();
        while self.files[number as usize].member(down).down.is_some() {
            let file = &mut self.files[number as usize];
            if !file.member(down).failed.is_empty() {
                // A failed piece comes first, whatever that delays.
                self.files[number as usize].starved.insert(down);
                return;
            }
            if let Some(choice) = choose::uploader(file, down, taste, &mut self.rng) {
                let SourceChoice { member: up, piece, why } = choice;
                self.give(
                    now,
                    number,
                    (down, AssignedGiver::Member(up)),
                    (piece, why, Led::Taker),
                    fx,
                );
                continue;
            }
            let Some(source) = self.free_source() else {
                // It is tried again when a slot becomes free.
                self.files[number as usize].starved.insert(down);
                return;
            };
            let file = &self.files[number as usize];
            let need = &file.member(down).need;
            let Some(piece) = super::super::rarity::Rarity::random(need, need, &mut self.rng)
            else {
                return;
            };
            self.give(
                now,
                number,
                (down, AssignedGiver::Source(source)),
                (piece, Pick::Source, Led::Taker),
                fx,
            );
        }
    }
}
