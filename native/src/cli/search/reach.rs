//! How the servent of a hit is reached.

use std::net::SocketAddr;

use serde::Serialize;
use servent_core::address::may_dial;
use servent_core::node::SearchHit;

use super::{locator, target};

/// By which way a servent is reached that has a file; the best comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum HitReach {
    /// It is connected to.
    Direct,
    /// It is met at a meeting place. Where others can connect to us a push leads to it, too.
    Meet,
    /// It is asked to connect to us, which helps where others can.
    Push,
    /// None is known.
    None,
}

/// How the servent of a hit is reached that cannot be connected to.
#[derive(Debug, Clone, Default)]
pub(crate) struct HitRoute {
    /// The neighbour that knows the route.
    pub(crate) peer: Option<SocketAddr>,
    /// The link under which it is met through a meeting place, without a path.
    pub(crate) meeting: Option<String>,
    /// Others cannot connect to us either, so that no push helps.
    pub(crate) walled: bool,
}

impl HitRoute {
    /// The way to the servent of a hit.
    pub(crate) fn reach(&self, hit: &SearchHit) -> HitReach {
        // A neighbour that answers for itself has shown that it can be reached.
        let direct = hit.through == Some(hit.at) || may_dial(hit.at, hit.from);
        match hit.push {
            false if direct => HitReach::Direct,
            true if self.meeting.is_some() => HitReach::Meet,
            _ if self.may_push(hit) => HitReach::Push,
            _ => HitReach::None,
        }
    }

    /// True when a push may lead to the servent of a hit: it says that it needs one, or names
    /// proxies and an address that leads nowhere.
    pub(crate) fn may_push(&self, hit: &SearchHit) -> bool {
        self.peer.is_some() && (hit.push || !hit.proxies.is_empty()) && !self.walled
    }

    /// Its link to a file of that servent.
    pub(crate) fn link(&self, hit: &SearchHit) -> Option<String> {
        let meeting = self.meeting.as_ref().filter(|_| hit.push)?;
        Some(format!("{meeting}{}", target(hit)))
    }

    /// The arguments of `servent get` for a hit.
    pub(super) fn arguments(&self, hit: &SearchHit) -> String {
        let first = locator(hit, self.peer);
        match (self.link(hit), hit.sha1) {
            // The hash says that both are the same file.
            (Some(link), Some(sha1)) => format!("{first} urn:sha1:{sha1} {link}"),
            _ => first,
        }
    }

    /// What is said of a hit behind its name.
    pub(super) fn note(&self, hit: &SearchHit) -> String {
        let way = match self.reach(hit) {
            HitReach::Direct => None,
            HitReach::Meet if self.walled => Some("meet"),
            HitReach::Meet => Some("meet, push"),
            HitReach::Push => Some("push"),
            HitReach::None => Some("no way to it"),
        };
        let notes: Vec<&str> = way.into_iter().chain(hit.busy.then_some("busy")).collect();
        if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::search::tests;

    #[test]
    fn a_hit_says_by_which_way_its_servent_is_reached_or_that_there_is_none() {
        let hit = |at: &str, push, proxies: &[&str]| SearchHit {
            through: Some("80.9.9.9:6346".parse().unwrap()),
            proxies: proxies.iter().map(|at| at.parse().unwrap()).collect(),
            ..tests::hit(at, push)
        };
        let peer = Some("80.9.9.9:6346".parse().unwrap());
        let known = HitRoute { peer, meeting: None, walled: false };
        let met = HitRoute { meeting: Some("meet://a-b@3.3.3.3:3333".into()), ..known.clone() };
        let walled = HitRoute { walled: true, ..known.clone() };
        let both = HitRoute { walled: true, ..met.clone() };
        let (open, inside) = ("80.1.1.1:6346", "10.0.0.7:6346");
        let proxies = &["80.2.2.2:6346"][..];
        for (hit, route, reach, note) in [
            (hit(open, false, &[]), &walled, HitReach::Direct, ""),
            (hit("80.9.9.9:80", false, &[]), &walled, HitReach::None, " (no way to it)"),
            (hit("80.9.9.9:6346", false, &[]), &walled, HitReach::Direct, ""),
            (hit(open, true, &[]), &met, HitReach::Meet, " (meet, push)"),
            (hit(open, true, &[]), &both, HitReach::Meet, " (meet)"),
            (hit(open, true, &[]), &known, HitReach::Push, " (push)"),
            (hit(open, true, &[]), &walled, HitReach::None, " (no way to it)"),
            (hit(inside, false, &[]), &known, HitReach::None, " (no way to it)"),
            (hit(inside, false, proxies), &known, HitReach::Push, " (push)"),
            (hit(inside, false, proxies), &walled, HitReach::None, " (no way to it)"),
            (hit(open, true, &[]), &HitRoute::default(), HitReach::None, " (no way to it)"),
        ] {
            assert_eq!((route.reach(&hit), &*route.note(&hit)), (reach, note), "{hit:?} {route:?}");
        }
    }
}
