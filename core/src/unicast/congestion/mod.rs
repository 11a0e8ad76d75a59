//! Congestion control: how much may be under way to a peer, and how fast it is
//! sent.
//!
//! A controller is an engine of its own. It is told what an acknowledgement
//! revealed ([`Signal`]), and answers with an [`Allowance`]: a window and a
//! rate. `rate` measures how fast the path delivers, `pacer` turns the rate into
//! deadlines, `cap` is a rate that is not exceeded whatever the path carries; `bbr` and
//! `cubic` are the controllers.

mod bbr;
mod cap;
mod cubic;
mod pacer;
mod rate;

use self::bbr::Bbr;
pub(super) use self::cap::RateCap;
use self::cubic::Cubic;
pub(super) use self::pacer::Pacer;
pub(super) use self::rate::{RateSample, RateSampler};
use super::{Config, Congestion};
use crate::engine::{Engine, FxOf};
use crate::time::{Duration, Instant};

/// Datagrams that may be under way before anything is known of a path, and the bytes that
/// they may have if they are long (RFC 6928): what a socket has room for, not more.
const INITIAL_DATAGRAMS: u64 = 10;
const INITIAL_BYTES: u64 = 14_720;
/// The least window, in datagrams.
const LEAST_DATAGRAMS: u64 = 4;
/// The longest time whose bytes are sent at once (PA-2), and the shortest that
/// is worth a wake-up of the host. Between them it is a part of the round trip,
/// so that a train is not a queue by itself.
const QUANTUM: Duration = Duration::from_millis(1);
const BRIEF: Duration = Duration::from_micros(250);
const QUANTA: u64 = 32;
/// No window is larger than this.
const LARGEST: u64 = 1 << 40;

/// The window before anything is known of a path, for datagrams of so many bytes.
fn initial_window(mtu: u64) -> u64 {
    (INITIAL_DATAGRAMS * mtu).min((2 * mtu).max(INITIAL_BYTES))
}

/// What happened on the path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Signal {
    /// An acknowledgement.
    Acked(AckSample),
    /// So many bytes that were counted as lost had only been overtaken.
    Spurious(u64),
    /// Several probes in a row were not answered.
    Stalled,
    /// The largest datagram has now so many bytes.
    Resized(u64),
    /// Nothing is known of the path: the peer is reached on another one (RFC 9000 §9.4), or
    /// what was learnt of this one is wrong.
    Moved,
}

/// What an acknowledgement revealed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub(super) struct AckSample {
    /// Bytes that have arrived since the last one, and ever.
    pub(super) newly: u64,
    pub(super) delivered: u64,
    /// Bytes it reports as missing.
    pub(super) lost: u64,
    /// Bytes that arrived with a mark of congestion (RFC 3168).
    pub(super) marked: u64,
    /// Bytes under way before it and after it.
    pub(super) before: u64,
    pub(super) in_flight: u64,
    /// The round trip it measures.
    pub(super) rtt: Option<Duration>,
    /// The rate it measures.
    pub(super) rate: Option<RateSample>,
    /// The window was in full use.
    pub(super) limited: bool,
    /// The highest number that has arrived, the highest sent, and the lowest one
    /// that is missing.
    pub(super) newest: u64,
    pub(super) highest_sent: u64,
    pub(super) first_lost: Option<u64>,
}

/// What a sender may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Allowance {
    /// Maximum bytes under way.
    pub(super) window: u64,
    /// Bytes per second; `None`: as fast as the window allows.
    pub(super) rate: Option<u64>,
    /// The longest time whose bytes are sent at once.
    pub(super) quantum: Duration,
    /// The window is bound below what the rate would have: the path has no room for more.
    pub(super) tight: bool,
}

/// The longest time whose bytes are sent at once on a path with this round
/// trip.
fn quantum(trip: Duration) -> Duration {
    trip.ratio(1, QUANTA).clamp(BRIEF, QUANTUM)
}

impl Allowance {
    /// No limit.
    pub(super) const FREE: Self = Self::window(u64::MAX);

    /// A window that may be sent at once.
    pub(super) const fn window(window: u64) -> Self {
        Self { window, rate: None, quantum: QUANTUM, tight: false }
    }
}

/// The phase a controller is in, for views and events.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum ControlPhase {
    /// The rate is not known yet; it doubles every round trip.
    Startup,
    /// What start-up queued drains.
    Drain,
    /// A little slower than the path, until nothing is queued.
    Down,
    /// At the rate of the path.
    Cruise,
    /// At the rate of the path with all bounds lifted, before a probe.
    Refill,
    /// A little faster than the path, to see whether there is more.
    Up,
    /// Half the window, to see the path's own round trip.
    ProbeRtt,
    /// After a loss, along the curve (CUBIC).
    Avoidance,
    /// Nothing controls it.
    Free,
}

/// The controller of a connection.
#[derive(Debug, Clone)]
pub(super) enum Controller {
    Free,
    Fixed(u64),
    Cubic(alloc::boxed::Box<Cubic>),
    Bbr(alloc::boxed::Box<Bbr>),
}

impl Controller {
    /// The controller of this kind for datagrams of so many bytes (UC-14, PA-1,
    /// PA-4).
    pub(super) fn new(wanted: Congestion, config: &Config, mtu: u64) -> Self {
        match wanted {
            Congestion::None => Self::Free,
            Congestion::Fixed(bytes) => Self::Fixed(bytes),
            Congestion::Cubic => Self::Cubic(alloc::boxed::Box::new(Cubic::new(mtu))),
            Congestion::Bbr => Self::Bbr(alloc::boxed::Box::new(Bbr::new(mtu, config))),
        }
    }

    /// What a sender may do now.
    pub(super) fn allowance(&self) -> Allowance {
        match self {
            Self::Free => Allowance::FREE,
            Self::Fixed(bytes) => Allowance::window(*bytes),
            Self::Cubic(cubic) => cubic.allowance(),
            Self::Bbr(bbr) => bbr.allowance(),
        }
    }

    /// The phase it is in.
    pub(super) fn phase(&self) -> ControlPhase {
        match self {
            Self::Free | Self::Fixed(_) => ControlPhase::Free,
            Self::Cubic(cubic) => cubic.phase(),
            Self::Bbr(bbr) => bbr.phase(),
        }
    }
}

impl Engine for Controller {
    type Input = Signal;
    type Output = Allowance;
    type Event = ControlPhase;

    /// Answers with the allowance if it has changed, and the phase if it is a
    /// new one.
    fn handle(&mut self, now: Instant, signal: Signal, fx: &mut FxOf<Self>) {
        let (allowed, phase) = (self.allowance(), self.phase());
        match (&mut *self, signal) {
            (Self::Free | Self::Fixed(_), _) => {}
            (Self::Cubic(cubic), signal) => cubic.signal(now, signal),
            (Self::Bbr(bbr), signal) => bbr.signal(now, signal),
        }
        if self.allowance() != allowed {
            fx.output(self.allowance());
        }
        if self.phase() != phase {
            fx.event(self.phase());
        }
    }

    /// Acknowledgements are its clock: it has no timer.
    fn handle_timeout(&mut self, _: Instant, _: &mut FxOf<Self>) {}

    fn poll_timeout(&self) -> Option<(Instant, &'static str)> {
        None
    }
}
