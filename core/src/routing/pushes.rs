//! Pushes for us: limits the hosts that strangers make us connect to.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use super::decide::{Fate, Judgement};
use super::{DropReason, Router};
use crate::address::{may_dial, owner};
use crate::time::Instant;
use crate::wire::gnutella::Push;

/// How many times we connected to each target lately.
#[derive(Debug, Clone, Default)]
pub(super) struct Targets {
    since: Instant,
    counts: BTreeMap<IpAddr, u32>,
}

impl Router {
    /// Decides whether to obey a push: its target must be plausible, known to
    /// the sender, not ourselves, and not named too often.
    pub(super) fn decide_own_push(&mut self, now: Instant, slot: u32, push: &Push) -> Judgement {
        let Some(link) = self.links.at(slot) else { return DropReason::NoRoute.into() };
        let target = IpAddr::V4(*push.at.ip());
        let bad = self.listen == Some(push.at) || !may_dial(push.at.into(), link.peer.ip());
        if bad {
            return DropReason::BadAddress.into();
        }
        if !self.spares(now, target) {
            return DropReason::PushLimit.into();
        }
        self.count_target(now, target);
        Fate::Local.into()
    }

    /// True while a target has not been named too often.
    pub(super) fn spares(&self, now: Instant, target: IpAddr) -> bool {
        let Targets { counts, .. } = &self.targets;
        let (most, targets) = (self.config.pushes_per_target, self.config.push_targets as usize);
        self.targets_are_old(now)
            || match counts.get(&owner(target)) {
                Some(count) => *count < most,
                None => counts.len() < targets,
            }
    }

    /// Counts a push for a target.
    pub(super) fn count_target(&mut self, now: Instant, target: IpAddr) {
        if self.targets_are_old(now) {
            self.targets = Targets { since: now, counts: BTreeMap::new() };
        }
        *self.targets.counts.entry(owner(target)).or_default() += 1;
    }

    fn targets_are_old(&self, now: Instant) -> bool {
        now.since(self.targets.since) >= self.config.push_window.scaled(self.config.time_scale)
    }
}
