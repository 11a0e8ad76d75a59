//! One line: flows that share a bottleneck, measured in virtual time.
//!
//! The lab's worlds record every datagram, so that they can be looked at; here
//! only totals are kept, so that a gigabit for half a minute takes seconds. The
//! nodes are the same, behind the same boundary, and the figures of a line are
//! the same on every machine.

pub mod cells;
mod flow;
mod host;
mod lie;
mod policer;
mod report;
mod run;

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};
use servent_core::time::{Duration, Instant};
use servent_core::unicast::{Config, Congestion, SenderView};

pub use self::host::HostDelay;
pub use self::lie::{LineLie, LyingTime};
pub use self::policer::Policer;
pub use self::report::{FlowReport, LineReport};
use crate::links::datagram::DatagramLink;

/// A line and the flows that cross it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LineWorld {
    /// The bottleneck, which all flows share on their way there.
    pub link: DatagramLink,
    /// Datagrams that find no fewer bytes than this before them are marked (RFC
    /// 3168).
    pub marks: Option<u64>,
    /// A mark does not arrive: what is behind the router clears it.
    pub clears: bool,
    /// The way back, of which each flow has one to itself.
    pub back: DatagramLink,
    /// Who sends.
    pub flows: Vec<LineFlow>,
    /// Limits and intervals of all nodes, except for what a flow says itself.
    pub config: Config,
    /// When the measurement begins: what is before it is the start-up.
    pub warm: Duration,
    /// How long the line is watched.
    pub horizon: Duration,
    /// From an instant on, datagrams of more bytes than this do not arrive.
    pub narrows: Option<(Instant, u32)>,
    /// Times in which nothing arrives, in either direction.
    pub blackouts: Vec<Blackout>,
    /// What drops all beyond a rate, before the bottleneck.
    pub policer: Option<Policer>,
    /// Why hosts do not run at once.
    pub delays: Vec<HostDelay>,
    /// What receivers lie about.
    pub lie: Option<LyingTime>,
    /// Seed of all random numbers.
    pub seed: u64,
}

/// One sender and its receiver.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LineFlow {
    /// Its congestion control.
    pub congestion: Congestion,
    /// When it begins to send.
    pub starts: Instant,
    /// When its application has nothing more to send; zero: never.
    pub stops: Instant,
    /// While its reader does not read.
    pub pause: Option<Blackout>,
}

/// A time with a beginning and an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Blackout {
    /// Its beginning.
    pub from: Instant,
    /// Its end.
    pub until: Instant,
}

impl Blackout {
    const fn holds(self, at: Instant) -> bool {
        self.from.as_micros() <= at.as_micros() && at.as_micros() < self.until.as_micros()
    }
}

impl Default for LineFlow {
    fn default() -> Self {
        Self {
            congestion: Config::default().congestion,
            starts: Instant::ZERO,
            stops: Instant::ZERO,
            pause: None,
        }
    }
}

impl Default for LineWorld {
    fn default() -> Self {
        Self {
            link: DatagramLink::default(),
            marks: None,
            clears: false,
            back: DatagramLink::default(),
            flows: alloc::vec![LineFlow::default()],
            config: Config { prove: true, mtu: 9_000, mtu_floor: 1_200, ..Config::default() },
            warm: Duration::from_secs(5),
            horizon: Duration::from_secs(30),
            narrows: None,
            blackouts: Vec::new(),
            policer: None,
            delays: Vec::new(),
            lie: None,
            seed: 1,
        }
    }
}

impl LineWorld {
    /// A line of so many megabits per second and milliseconds of round trip,
    /// whose buffer holds so many hundredths of their product.
    #[must_use]
    pub fn new(mbit: u64, round_trip_ms: u64, buffer_percent: u64) -> Self {
        let rate = mbit * 125_000;
        let latency = Duration::from_micros(round_trip_ms * 500);
        let queue = rate * round_trip_ms / 1_000 * buffer_percent / 100;
        // Ethernet, without the heads of IP and UDP.
        let link = DatagramLink { latency, rate, queue, mtu: 1_472, ..DatagramLink::default() };
        let back = DatagramLink { latency, ..DatagramLink::default() };
        Self { link, back, ..Self::default() }
    }

    /// Loses so many of a thousand datagrams on the way there.
    #[must_use]
    pub fn losing(mut self, per_mille: u64) -> Self {
        self.link.loss = (per_mille, 1_000);
        self
    }

    /// Through what drops all beyond a rate.
    #[must_use]
    pub fn through(mut self, policer: Policer) -> Self {
        self.policer = Some(policer);
        self
    }

    /// On hosts that are late in these ways.
    #[must_use]
    pub fn on_late_hosts(mut self, delays: &[HostDelay]) -> Self {
        self.delays = delays.to_vec();
        self
    }

    /// With these congestion controls, one flow each.
    #[must_use]
    pub fn with_flows(mut self, flows: &[Congestion]) -> Self {
        let flow =
            |congestion: &Congestion| LineFlow { congestion: *congestion, ..LineFlow::default() };
        self.flows = flows.iter().map(flow).collect();
        self
    }

    /// Watched for so many seconds, of which the first ones are not measured.
    #[must_use]
    pub const fn lasting(mut self, warm: u64, horizon: u64) -> Self {
        self.warm = Duration::from_secs(warm);
        self.horizon = Duration::from_secs(horizon);
        self
    }

    /// Runs it from the beginning to the horizon.
    #[must_use]
    pub fn run(&self) -> LineReport {
        self.run_with(|_, _| {})
    }

    /// The same; `watch` sees the first sender ten times a second.
    #[must_use]
    pub fn run_with(&self, watch: impl FnMut(Instant, &SenderView)) -> LineReport {
        run::Line::new(self).finish(watch)
    }
}
