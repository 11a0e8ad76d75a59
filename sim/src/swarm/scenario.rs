//! A swarm to be, as data.

use alloc::format;
use alloc::string::{String, ToString as _};
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use super::act::{Act, ActAt};
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
    /// A sentence with the line, or with what makes no sense.
    pub fn parse(text: &str) -> Result<Self, String> {
        let scenario: Self = serde_json::from_str(text).map_err(|why| why.to_string())?;
        scenario.check()?;
        Ok(scenario)
    }

    /// Checks that a world can be made of it.
    ///
    /// # Errors
    /// A sentence that says what makes no sense.
    pub fn check(&self) -> Result<(), String> {
        let count: u64 = self.clients.iter().map(|group| u64::from(group.count)).sum();
        if count == 0 || count > Self::CLIENTS.min(self.swarm.clients.into()) {
            return Err(format!("{count} clients are not 1 to {}", Self::CLIENTS));
        }
        if !(1..=Self::PIECES.min(self.swarm.pieces)).contains(&self.pieces) {
            return Err(format!("{} pieces are not 1 to {}", self.pieces, Self::PIECES));
        }
        if count * u64::from(self.pieces) > Self::CELLS {
            return Err(format!("clients times pieces is more than {}", Self::CELLS));
        }
        if !(1..=1 << 32).contains(&self.chunk) || !(1..=1 << 40).contains(&self.source_up) {
            return Err(String::from("`chunk` is 1 to 2^32 bytes, `source_up` 1 to 2^40 a second"));
        }
        if !(1..=1_000).contains(&self.source_slots) || self.horizon > Self::HORIZON {
            return Err(String::from("`source_slots` is 1 to 1000, `horizon` at most two days"));
        }
        if let Some(wrong) = self.clients.iter().find_map(Group::wrong) {
            return Err(String::from(wrong));
        }
        self.check_rules()?;
        for ActAt { at, act } in &self.faults {
            self.admits(act).map_err(|why| format!("at {at:?}: {why}"))?;
        }
        Ok(())
    }

    /// Intervals that are nothing would never let a swarm come to rest.
    fn check_rules(&self) -> Result<(), String> {
        let rules = &self.swarm;
        let shortest = [
            rules.transfer_timeout,
            rules.confirm_timeout,
            rules.failure_decay,
            rules.piece_time,
            rules.register_timeout,
        ];
        let least = Duration::from_millis(1);
        if shortest.iter().any(|interval| *interval < least) {
            return Err(String::from("an interval of `swarm` is shorter than a millisecond"));
        }
        if rules.ratio_every == 0 || rules.ratio == 0 || rules.files == 0 {
            return Err(String::from("`ratio`, `ratio_every` and `files` are at least 1"));
        }
        Ok(())
    }

    /// Checks that something can be done in it.
    ///
    /// # Errors
    /// A sentence that says why not.
    pub fn admits(&self, act: &Act) -> Result<(), &'static str> {
        let named = act.clients();
        if named.iter().flatten().any(|client| client.0 >= self.count()) {
            return Err("there is no such client");
        }
        if named[0] == named[1] && named[0].is_some() {
            return Err("two different clients are needed");
        }
        Ok(())
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
    /// What makes no sense in it.
    fn wrong(&self) -> Option<&'static str> {
        let rates = 1..=1 << 40;
        if !rates.contains(&self.up) || !rates.contains(&self.down) {
            return Some("`up` and `down` are 1 to 2^40 bytes a second");
        }
        let day = Duration::from_secs(86_400);
        let ends = [Some(self.latency), Some(self.first), Some(self.spacing)];
        let others = [self.stays, self.vanishes, self.returns];
        if ends.into_iter().chain(others).flatten().any(|time| time > day) {
            return Some("a time of a group of clients is more than a day");
        }
        None
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
