//! A peer that is elsewhere than it was (PA-9, PA-13).

use super::UnicastPeer;
use crate::time::{Duration, Instant};
use crate::unicast::cx::UnicastCx;
use crate::unicast::rtt::Rtt;

/// A peer that may be elsewhere is silent where it was for so long.
const SILENT: Duration = Duration::from_millis(250);

/// What changes when a peer is elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::unicast) enum PathChange {
    /// Its port: the path is the same (RFC 9000 §9.4), but what was under way to the old
    /// port is gone.
    Port,
    /// Its address, and with it the path; what was under way to the old one is gone.
    Address,
    /// The path; what is under way on the old one still arrives (PA-13).
    Route,
}

impl UnicastPeer {
    /// Something of a connection with it has come from where it is: it is nowhere else.
    pub(in crate::unicast) const fn spoke(&mut self, now: Instant) {
        (self.spoke_at, self.candidate) = (now, None);
    }

    /// True when nothing has come from where it is for a moment.
    pub(in crate::unicast) fn is_silent(&self, now: Instant) -> bool {
        now >= self.spoke_at + SILENT
    }

    /// When it is silent where it was, if it may be elsewhere.
    pub(super) fn silent_at(&self) -> Option<Instant> {
        self.candidate.map(|_| self.spoke_at + SILENT)
    }

    /// It is elsewhere, and has proven it.
    pub(in crate::unicast) fn arrived_elsewhere(
        &mut self,
        change: PathChange,
        cx: &mut UnicastCx<'_>,
    ) {
        self.budget.free = true;
        let shrinks = match change {
            PathChange::Port => self.path.shrink(cx.now, cx.config),
            PathChange::Address | PathChange::Route => self.path.begin_anew(cx.config),
        };
        if shrinks {
            self.resized(cx);
        }
        let old_path_lasts = match change {
            PathChange::Port | PathChange::Address => Duration::ZERO,
            PathChange::Route => self.rtt.timeout(0),
        };
        if change != PathChange::Port {
            self.rtt = Rtt::new(cx.config);
            if let Some(sender) = &mut self.sender {
                sender.moved(cx.now, old_path_lasts);
            }
            if let Some(receiver) = &mut self.receiver {
                receiver.moved(cx.now, old_path_lasts);
            }
        }
        if let Some(receiver) = self.receiver.as_mut().filter(|_| change != PathChange::Route) {
            receiver.hasten(cx);
        }
    }
}
