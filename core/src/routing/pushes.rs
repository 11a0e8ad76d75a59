//! Pushes that are meant for us: whom strangers make us connect to.

use alloc::collections::BTreeMap;
use core::net::IpAddr;

use super::judge::{Fate, Judgement};
use super::{Router, Why};
use crate::address::{owner, plausible};
use crate::time::Instant;
use crate::wire::gnutella::Push;

/// How often we connected to whom lately.
#[derive(Debug, Clone, Default)]
pub(super) struct Targets {
    since: Instant,
    counts: BTreeMap<IpAddr, u32>,
}

impl Router {
    /// True for us to obey: a target that can be, that whoever asks can
    /// know, that is not we ourselves, and that is not asked for too often.
    pub(super) fn judge_own_push(&mut self, now: Instant, slot: u32, push: &Push) -> Judgement {
        let Some(link) = self.links.at(slot) else { return Why::NoRoute.into() };
        let target = IpAddr::V4(*push.at.ip());
        let bad = push.at.port() == 0
            || self.listen == Some(push.at)
            || !plausible(target, link.peer.ip());
        if bad {
            return Why::BadAddress.into();
        }
        let window = self.config.push_window.scaled(self.config.time_scale);
        if now.since(self.targets.since) >= window {
            self.targets = Targets { since: now, counts: BTreeMap::new() };
        }
        let counts = &mut self.targets.counts;
        let key = owner(target);
        if counts.get(&key).is_none() && counts.len() >= self.config.push_targets as usize {
            return Why::PushLimit.into();
        }
        let count = counts.entry(key).or_default();
        if *count >= self.config.pushes_per_target {
            return Why::PushLimit.into();
        }
        *count += 1;
        Fate::Local.into()
    }
}
