//! A swarm to be, as data.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::act::{Act, ActAt};
use crate::error::{self, ScenarioError};
use servent_core::swarm::{Config, Policy};
use servent_core::time::Duration;
use servent_core::trace::NodeId;

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
#[serde(default, deny_unknown_fields)]
pub struct Group {
    /// How many.
    pub count: u32,
    /// Bytes a second each can send.
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
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// A short name for links and commands.
    pub id: String,
    /// What it is called.
    pub title: String,
    /// What there is to see, in two sentences.
    pub text: String,
    /// Every draw follows from it. In JSON a number, or text in decimal or
    /// `0x…`.
    #[serde(with = "crate::seed")]
    pub seed: u64,
    /// How long it is worth watching.
    pub horizon: Duration,
    /// The coordinator's rules.
    #[serde(deserialize_with = "crate::strict::deserialize")]
    pub swarm: Config,
    /// Pieces of the file.
    pub pieces: u32,
    /// Bytes of a piece.
    pub chunk: u64,
    /// Transfers of the source at once.
    pub source_slots: u32,
    /// Bytes a second the source can send.
    pub source_up: u64,
    /// Who wants the file.
    pub clients: Vec<Group>,
    /// The coordinator is killed and comes back with its store.
    pub restart: Option<Duration>,
    /// What is done to it, in order of time.
    pub faults: Vec<ActAt>,
    /// The same under another policy.
    pub variants: Vec<Variant>,
}

/// Other rules for the same swarm.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// What it is called.
    pub name: String,
    /// The coordinator's rules.
    pub policy: Policy,
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
    /// Most clients of one world.
    pub const CLIENTS: u64 = 10_000;
    /// Most pieces of its file.
    pub const PIECES: u32 = 4_096;
    /// Most cells: clients times pieces.
    pub const CELLS: u64 = 4_000_000;
    /// Longest horizon.
    pub const HORIZON: Duration = Duration::from_secs(48 * 3_600);

    /// How many clients there are.
    #[must_use]
    pub fn count(&self) -> u32 {
        self.clients.iter().map(|group| group.count).sum()
    }

    /// Reads a scenario and checks that a world can be made of it.
    ///
    /// # Errors
    /// When the text is none, or no world can be made of it.
    pub fn parse(text: &str) -> Result<Self, ScenarioError> {
        let scenario: Self = error::read(text)?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Checks that a world can be made of it.
    ///
    /// # Errors
    /// The first thing that makes no sense.
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
        for (i, ActAt { act, .. }) in self.faults.iter().enumerate() {
            self.admits(act).map_err(|wrong| wrong.within(format_args!("faults[{i}]")))?;
        }
        Ok(())
    }

    /// Intervals that are nothing would never let a swarm come to rest.
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

    /// Checks that something can be done in it.
    ///
    /// # Errors
    /// When it names clients that there are not, or one twice.
    pub fn admits(&self, act: &Act) -> Result<(), ScenarioError> {
        let [first, second] = act.clients().map(|named| named.map(|client| client.0));
        let Some(first) = first else { return Ok(()) };
        Ok(error::pair("client", (first, second), self.count().into())?)
    }

    /// The same under other rules.
    #[must_use]
    pub fn variant(&self, name: &str) -> Option<Self> {
        let Variant { name, policy } = self.variants.iter().find(|v| v.name == name)?;
        let title = format!("{} — {name}", self.title);
        let swarm = Config { policy: *policy, ..self.swarm.clone() };
        Some(Self { swarm, title, ..self.clone() })
    }

    /// The group a client belongs to, and its number there.
    #[must_use]
    pub fn group(&self, client: NodeId) -> Option<(&Group, u32)> {
        let mut index = client.0;
        self.clients.iter().find_map(|group| {
            let found = (index < group.count).then_some((group, index));
            index = index.wrapping_sub(group.count);
            found
        })
    }

    /// When a client comes.
    #[must_use]
    pub fn comes(group: &Group, index: u32) -> Duration {
        group.first + group.spacing.ratio(index.into(), 1)
    }
}

impl Group {
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

    /// Nobody can connect to it, whether it knows or not.
    #[must_use]
    pub const fn closed(&self) -> bool {
        self.passive || self.firewalled
    }

    /// It does what it should and stays, or comes again: it must get all.
    #[must_use]
    pub fn expects(&self) -> bool {
        let stays = self.vanishes.is_none() || self.returns.is_some();
        self.habit == Habit::Honest && stays
    }
}
