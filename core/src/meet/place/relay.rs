//! Passing on what the two sides of a meeting send, unread (PA-13).

use alloc::collections::BTreeMap;
use core::net::SocketAddr;

use super::{Config, Event, PlaceEffects};
use crate::time::{Duration, Instant};

/// What the rate allows at once, as a part of a second, and at least in bytes.
const BURST: (u64, u64) = (4, 256 * 1_024);

/// One side of a relayed meeting.
#[derive(Debug, Clone)]
struct RelaySide {
    to: SocketAddr,
    bytes: u64,
    last: Instant,
}

/// All relayed meetings, and the rate they share.
#[derive(Debug, Clone)]
pub(super) struct Relays {
    sides: BTreeMap<SocketAddr, RelaySide>,
    most: usize,
    rate: u64,
    silence: Duration,
    /// Bytes that may be passed on now, and since when that holds.
    allowance: (u64, Instant),
    /// When those that were silent are looked for next.
    look: Option<Instant>,
}

impl Relays {
    pub(super) const fn new(config: &Config) -> Self {
        Self {
            sides: BTreeMap::new(),
            most: 2 * config.meetings as usize,
            rate: config.relay_rate,
            silence: config.relay_silence,
            allowance: (0, Instant::ZERO),
            look: None,
        }
    }

    pub(super) fn pairs(&self) -> u64 {
        self.sides.len() as u64 / 2
    }

    pub(super) fn has(&self, from: SocketAddr) -> bool {
        self.sides.contains_key(&from)
    }

    /// Two visitors are one meeting from now on.
    pub(super) fn join(
        &mut self,
        now: Instant,
        one: SocketAddr,
        other: SocketAddr,
        fx: &mut PlaceEffects,
    ) {
        if one == other || self.sides.get(&one).is_some_and(|side| side.to == other) {
            return;
        }
        self.part(one, fx);
        self.part(other, fx);
        if self.sides.len() + 2 > self.most {
            return;
        }
        for (at, to) in [(one, other), (other, one)] {
            self.sides.insert(at, RelaySide { to, bytes: 0, last: now });
        }
        self.look.get_or_insert(now + self.silence);
    }

    /// Ends the meeting of one side.
    fn part(&mut self, at: SocketAddr, fx: &mut PlaceEffects) {
        let Some(side) = self.sides.remove(&at) else { return };
        fx.event(Event::RelayEnded { peer: at, bytes: side.bytes });
        if let Some(other) = self.sides.remove(&side.to) {
            fx.event(Event::RelayEnded { peer: side.to, bytes: other.bytes });
        }
    }

    /// Where datagrams of a visitor go, and how many bytes of them the rate allows;
    /// `None` for one that is in no relayed meeting.
    pub(super) fn pass(
        &mut self,
        now: Instant,
        from: SocketAddr,
        (segment, bytes): (u32, u32),
    ) -> Option<(SocketAddr, u32)> {
        let burst = (self.rate / BURST.0).max(BURST.1);
        let side = self.sides.get_mut(&from)?;
        let (left, since) = self.allowance;
        let passed = now.since(since).as_micros();
        let more = u128::from(self.rate) * u128::from(passed) / 1_000_000;
        let left = left.saturating_add(u64::try_from(more).unwrap_or(u64::MAX)).min(burst);
        // A moment too short for a byte is not lost.
        let since = if more > 0 || left == burst { now } else { since };
        let fits = u64::from(bytes).min(left);
        let segment = u64::from(segment.max(1));
        // Whole datagrams only.
        let fits = if fits == u64::from(bytes) { fits } else { fits / segment * segment };
        self.allowance = (left - fits, since);
        (side.bytes, side.last) = (side.bytes + fits, now);
        Some((side.to, u32::try_from(fits).unwrap_or(bytes)))
    }

    pub(super) const fn deadline(&self) -> Option<Instant> {
        self.look
    }

    /// Ends those of which neither side has said anything for too long.
    pub(super) fn forget(&mut self, now: Instant, fx: &mut PlaceEffects) {
        if self.look.is_none_or(|at| at > now) {
            return;
        }
        let silent = |side: &RelaySide| now.since(side.last) >= self.silence;
        let both = |(_, side): &(&SocketAddr, &RelaySide)| {
            silent(side) && self.sides.get(&side.to).is_none_or(silent)
        };
        let over: alloc::vec::Vec<_> = self.sides.iter().filter(both).map(|(at, _)| *at).collect();
        over.into_iter().for_each(|at| self.part(at, fx));
        self.look = (!self.sides.is_empty()).then(|| now + self.silence);
    }
}
