//! What a world keeps for each of its nodes.

use alloc::vec::Vec;

use servent_core::engine::Engine;
use servent_core::time::Instant;
use servent_core::trace::RecordCause;

use super::Protocol;

/// An input of a protocol's engine.
pub(crate) type InputOf<P> = <<P as Protocol>::Host as Engine>::Input;

/// A node.
#[derive(Debug, Clone)]
pub(crate) struct Slot<P: Protocol> {
    /// Absent before the node arrives and while it is down.
    pub(crate) engine: Option<P::Host>,
    /// The protocol's part of the node.
    pub(crate) own: P::Node,
    /// How often it was started.
    pub(crate) starts: u32,
    /// Since when it is stalled.
    pub(crate) stalled: Option<Instant>,
    /// The inputs that arrived meanwhile.
    pub(crate) inbox: Vec<(InputOf<P>, RecordCause)>,
    /// The instant of its planned timer.
    pub(crate) armed: Option<Instant>,
    pub(crate) clock: Clock,
}

impl<P: Protocol> Slot<P> {
    pub(super) const fn new(own: P::Node) -> Self {
        Self {
            engine: None,
            own,
            starts: 0,
            stalled: None,
            inbox: Vec::new(),
            armed: None,
            clock: Clock { offset: 0, shown: Instant::ZERO },
        }
    }
}

/// A node's clock, which may be wrong.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Clock {
    /// Microseconds it is ahead of the world's clock.
    pub(crate) offset: i64,
    /// Its last reading; it never goes back within a run.
    shown: Instant,
}

impl Clock {
    /// Its reading when the world's clock shows `now`.
    pub(super) fn read(&mut self, now: Instant) -> Instant {
        let shown = now.as_micros().saturating_add_signed(self.offset);
        self.shown = self.shown.max(Instant::from_micros(shown));
        self.shown
    }

    /// When the world's clock will show the time at which this one shows
    /// `local`.
    pub(super) fn in_world(self, local: Instant, now: Instant) -> Instant {
        let world = local.as_micros().saturating_add_signed(self.offset.saturating_neg());
        Instant::from_micros(world).max(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_set_back_stands_still_and_never_goes_back() {
        let mut clock = Clock { offset: 0, shown: Instant::ZERO };
        assert_eq!(clock.read(Instant::from_secs(100)), Instant::from_secs(100));
        clock.offset = -30_000_000;
        assert_eq!(clock.read(Instant::from_secs(110)), Instant::from_secs(100));
        assert_eq!(clock.read(Instant::from_secs(140)), Instant::from_secs(110));
        let alarm = clock.in_world(Instant::from_secs(120), Instant::from_secs(140));
        assert_eq!(alarm, Instant::from_secs(150));
        assert_eq!(clock.read(alarm), Instant::from_secs(120));
    }
}
