//! A swarm to be, as data.

use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::swarm::Config;
use crate::time::Duration;

/// What a client does beside what it should.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Habit {
    /// Nothing.
    #[default]
    Honest,
    /// It lets peers in and never sends a byte.
    FreeRider,
    /// It sends wrong bytes.
    Corrupt,
    /// It says of everything it gets that it did not come.
    Liar,
    /// It never says how anything ended.
    Silent,
}

/// Clients alike.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Group {
    /// How many.
    pub count: u32,
    /// Bytes a second each can send and receive.
    pub up: u64,
    /// Bytes a second each can receive.
    pub down: u64,
    /// The way to the coordinator and to any peer takes so long.
    pub latency: Duration,
    /// It knows that nobody can connect to it.
    pub passive: bool,
    /// Nobody can connect to it, and it does not know.
    pub firewalled: bool,
    /// All of the group share one address.
    pub nat: bool,
    /// What it does beside what it should.
    pub habit: Habit,
    /// When the first comes, and how long after it each of the others.
    pub first: Duration,
    /// Time between two arrivals.
    pub spacing: Duration,
    /// How long it stays after it has everything; for ever when `None`.
    pub stays: Option<Duration>,
    /// It vanishes after this long, everything with it.
    pub vanishes: Option<Duration>,
    /// It comes again so long after it vanished, with what it has.
    pub returns: Option<Duration>,
    /// Transfers at once it allows, down and up.
    pub most: Option<(u32, u32)>,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            count: 1,
            up: 100_000,
            down: 400_000,
            latency: Duration::ZERO,
            passive: false,
            firewalled: false,
            nat: false,
            habit: Habit::Honest,
            first: Duration::ZERO,
            spacing: Duration::ZERO,
            stays: None,
            vanishes: None,
            returns: None,
            most: None,
        }
    }
}

/// A swarm to be.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Scenario {
    /// A short name for links and commands.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// What there is to see, in two sentences.
    pub text: String,
    /// Every draw follows from it.
    pub seed: u64,
    /// The coordinator's rules.
    pub swarm: Config,
    /// Pieces of the file, and bytes of each.
    pub pieces: u32,
    /// Bytes of a piece.
    pub chunk: u64,
    /// Transfers of the source at once, and bytes a second for all of them.
    pub source_slots: u32,
    /// Bytes a second the source can send.
    pub source_up: u64,
    /// Who wants the file.
    pub clients: Vec<Group>,
    /// The coordinator is killed and comes back with its store.
    pub restart: Option<Duration>,
    /// Longest time worth watching.
    pub horizon: Duration,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            id: String::from("swarm"),
            title: String::new(),
            text: String::new(),
            seed: 1,
            swarm: Config::default(),
            pieces: 16,
            chunk: 100_000,
            source_slots: 1,
            source_up: 100_000,
            clients: Vec::new(),
            restart: None,
            horizon: Duration::from_secs(4 * 3_600),
        }
    }
}

impl Scenario {
    /// How many clients there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.clients.iter().map(|group| group.count).sum()
    }

    /// The least time everybody needs: `M + ⌊log2 N⌋` pieces one after the
    /// other when all can send alike (Mundinger, Weber, Weiss 2008), or what
    /// the links of all together can carry, whichever is longer.
    #[must_use]
    pub fn bound(&self) -> Duration {
        let size = u128::from(self.pieces) * u128::from(self.chunk);
        let count = u128::from(self.count().max(1));
        let ups = self.clients.iter().map(|g| u128::from(g.up) * u128::from(g.count));
        let all = ups.sum::<u128>() + u128::from(self.source_up);
        let slowest = self.clients.iter().map(|g| g.down).min().unwrap_or(1).max(1);
        let micros = |bytes: u128, rate: u128| (bytes * 1_000_000 / rate.max(1)) as u64;
        let fluid = micros(size, u128::from(self.source_up))
            .max(micros(size, slowest.into()))
            .max(micros(size * count, all));
        let alike = self.clients.iter().all(|g| g.up == self.source_up);
        let rounds = u64::from(self.pieces) + u64::from(self.count().max(1).ilog2());
        let piece = micros(self.chunk.into(), self.source_up.into());
        let rounds = if alike && self.count() > 0 { rounds * piece } else { 0 };
        Duration::from_micros(fluid.max(rounds))
    }
}
