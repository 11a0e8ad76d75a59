//! Scenarios of swarms, as data.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::action::{SwarmAction, SwarmActionAt};
use crate::error::{self, ScenarioError};
use servent_core::swarm::{Config, SwarmPolicy};
use servent_core::time::Duration;
use servent_core::trace::NodeId;

/// How a client misbehaves.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Habit {
    /// Not at all.
    #[default]
    Honest,
    /// It accepts connections from peers but never sends a byte.
    FreeRider,
    /// It sends wrong bytes.
    Corrupt,
    /// It reports every piece it receives as missing.
    Liar,
    /// It never reports how a transfer ended.
    Silent,
}

/// A group of equal clients.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PeerGroup {
    /// How many clients.
    pub count: u32,
    /// Bytes per second each can send.
    pub up: u64,
    /// Bytes per second each can receive.
    pub down: u64,
    /// The latency to the coordinator and to any peer.
    pub latency: Duration,
    /// No peer can connect to it, and it knows that.
    pub passive: bool,
    /// No peer can connect to it, and it does not know that.
    pub firewalled: bool,
    /// All of the group share one address.
    pub nat: bool,
    /// How it misbehaves.
    pub habit: Habit,
    /// When the first one arrives.
    pub first: Duration,
    /// Time between two arrivals.
    pub spacing: Duration,
    /// How long it stays after its download is complete; for ever when `None`.
    pub stays: Option<Duration>,
    /// It dies after this long.
    pub vanishes: Option<Duration>,
    /// How long after that it comes back, with what it has on disk.
    pub returns: Option<Duration>,
    /// The parallel transfers it allows, down and up.
    pub most: Option<(u32, u32)>,
}

impl Default for PeerGroup {
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

/// A swarm to be simulated.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// A short name for links and commands.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What there is to see, in two sentences.
    pub text: String,
    /// Seed of all random numbers. In JSON a number, or text in decimal or
    /// `0x…`.
    #[serde(with = "crate::seed")]
    pub seed: u64,
    /// How long the scenario runs.
    pub horizon: Duration,
    /// The coordinator's configuration.
    #[serde(deserialize_with = "crate::strict::deserialize")]
    pub swarm: Config,
    /// The number of pieces of the file.
    pub pieces: u32,
    /// The size of a piece in bytes.
    pub chunk: u64,
    /// Parallel transfers of the source.
    pub source_slots: u32,
    /// Bytes per second the source can send.
    pub source_up: u64,
    /// The clients that want the file.
    pub clients: Vec<PeerGroup>,
    /// When the coordinator is killed and restarts from its store.
    pub restart: Option<Duration>,
    /// Actions and faults, in order of time.
    pub faults: Vec<SwarmActionAt>,
    /// The same swarm under another policy.
    pub variants: Vec<SwarmVariant>,
}

/// A variant: the same swarm with another policy.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwarmVariant {
    /// Its name.
    pub name: String,
    /// The coordinator's policy.
    pub policy: SwarmPolicy,
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            id: String::from("pieces"),
            title: String::new(),
            text: String::new(),
            seed: 1,
            horizon: Duration::from_secs(4 * 3_600),
            swarm: Config::default(),
            pieces: 16,
            chunk: 100_000,
            source_slots: 1,
            source_up: 100_000,
            clients: Vec::new(),
            restart: None,
            faults: Vec::new(),
            variants: Vec::new(),
        }
    }
}

impl Scenario {
    /// The most clients of one world.
    pub const CLIENTS: u64 = 10_000;
    /// The most pieces of its file.
    pub const PIECES: u32 = 4_096;
    /// The most cells: clients times pieces.
    pub const CELLS: u64 = 4_000_000;
    /// The longest horizon.
    pub const HORIZON: Duration = Duration::from_secs(48 * 3_600);

    /// How many clients there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.clients.iter().map(|group| group.count).sum()
    }

    /// The client whose account each client uses: accounts belong to addresses,
    /// and a group behind one address shares that of its first.
    pub(super) fn owners(&self) -> Vec<u32> {
        let mut owners = Vec::new();
        for group in &self.clients {
            let first = owners.len() as u32;
            owners.extend((0..group.count).map(|i| if group.nat { first } else { first + i }));
        }
        owners
    }

    /// Parses a scenario and checks that a world can be made from it.
    ///
    /// # Errors
    /// When the text is not a scenario, or no world can be made from it.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = error::read(text)?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Checks that a world can be made from it.
    ///
    /// # Errors
    /// The first value that is invalid.
    pub fn check(&self) -> Result<(), ScenarioError> {
        let count: u64 = self.clients.iter().map(|group| u64::from(group.count)).sum();
        let (clients, pieces) = (Self::CLIENTS.min(self.swarm.clients.into()), self.swarm.pieces);
        error::count("clients", "clients", count, 1..=clients)?;
        error::within("pieces", self.pieces, 1..=Self::PIECES.min(pieces))?;
        let cells = count * u64::from(self.pieces);
        error::count("pieces", "clients times pieces", cells, 1..=Self::CELLS)?;
        error::within("chunk", self.chunk, 1..=1 << 32)?;
        error::within("source_up", self.source_up, 1..=1 << 40)?;
        error::within("source_slots", self.source_slots, 1..=1_000)?;
        error::within("horizon", self.horizon, Duration::ZERO..=Self::HORIZON)?;
        for (i, group) in self.clients.iter().enumerate() {
            group.check().map_err(|wrong| wrong.within(format_args!("clients[{i}]")))?;
        }
        self.check_rules().map_err(|wrong| wrong.within("swarm"))?;
        for (i, SwarmActionAt { act, .. }) in self.faults.iter().enumerate() {
            self.admits(act).map_err(|wrong| wrong.within(format_args!("faults[{i}]")))?;
        }
        Ok(())
    }

    /// With intervals of zero a swarm would never come to rest.
    fn check_rules(&self) -> Result<(), ScenarioError> {
        let rules = &self.swarm;
        let shortest = Duration::from_millis(1);
        error::least("transfer_timeout", rules.transfer_timeout, shortest)?;
        error::least("confirm_timeout", rules.confirm_timeout, shortest)?;
        error::least("failure_decay", rules.failure_decay, shortest)?;
        error::least("piece_time", rules.piece_time, shortest)?;
        error::least("register_timeout", rules.register_timeout, shortest)?;
        error::least("ratio_every", rules.ratio_every, 1)?;
        error::least("ratio", rules.ratio, 1)?;
        error::least("files", rules.files, 1)
    }

    /// Checks that an action is possible in it.
    ///
    /// # Errors
    /// When it names clients that do not exist, or one twice.
    pub fn admits(&self, act: &SwarmAction) -> Result<(), ScenarioError> {
        let [first, second] = act.clients().map(|named| named.map(|client| client.0));
        let Some(first) = first else { return Ok(()) };
        Ok(error::pair("client", (first, second), self.count().into())?)
    }

    /// The variant of that name.
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<Self> {
        let SwarmVariant { name, policy } = self.variants.iter().find(|v| v.name == name)?;
        let title = format!("{} — {name}", self.title);
        let swarm = Config { policy: *policy, ..self.swarm.clone() };
        Some(Self { swarm, title, ..self.clone() })
    }

    /// The group a client belongs to, and its number there.
    #[must_use]
    pub fn group(&self, client: NodeId) -> Option<(&PeerGroup, u32)> {
        let mut index = client.0;
        self.clients.iter().find_map(|group| {
            let found = (index < group.count).then_some((group, index));
            index = index.wrapping_sub(group.count);
            found
        })
    }

    /// When a client arrives.
    #[must_use]
    pub fn comes(group: &PeerGroup, index: u32) -> Duration {
        group.first + group.spacing.ratio(index.into(), 1)
    }
}

impl PeerGroup {
    fn check(&self) -> Result<(), ScenarioError> {
        error::within("up", self.up, 1..=1 << 40)?;
        error::within("down", self.down, 1..=1 << 40)?;
        let day = Duration::from_secs(86_400);
        for (key, time) in [
            ("latency", Some(self.latency)),
            ("first", Some(self.first)),
            ("spacing", Some(self.spacing)),
            ("stays", self.stays),
            ("vanishes", self.vanishes),
            ("returns", self.returns),
        ] {
            error::within(key, time.unwrap_or_default(), Duration::ZERO..=day)?;
        }
        Ok(())
    }

    /// No peer can connect to it, whether it knows that or not.
    #[must_use]
    pub const fn closed(&self) -> bool {
        self.passive || self.firewalled
    }

    /// It behaves well and stays, or comes back: it must get the whole file.
    #[must_use]
    pub fn expects(&self) -> bool {
        let stays = self.vanishes.is_none() || self.returns.is_some();
        self.habit == Habit::Honest && stays
    }
}
