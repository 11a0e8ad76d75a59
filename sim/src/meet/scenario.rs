//! Scenarios of meetings: people, the routers before them, and which two meet.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde::{Deserialize, Serialize};
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;

use super::router::{Filtering, Mapping, RouterKind};
use crate::At;
use crate::error::{self, ScenarioError, ScenarioMistake};

/// The port of everything.
const PORT: u16 = 6_348;

/// A world to be simulated. Its nodes are the people, the routers and the meeting
/// place, in this order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Scenario {
    /// A short name for links and commands.
    pub id: String,
    /// Its title.
    pub title: String,
    /// What there is to see.
    pub text: String,
    /// Seed of all random numbers.
    #[serde(with = "crate::seed")]
    pub seed: u64,
    /// How long the scenario runs.
    pub horizon: Duration,
    /// The routers.
    pub routers: Vec<RouterSetup>,
    /// The people.
    pub people: Vec<PersonSetup>,
    /// The meeting place passes on what two people send who meet there (PA-13).
    pub relay: bool,
    /// The meeting place has a second port, which shows how a router maps (PA-11).
    pub second_port: bool,
    /// Datagrams of a thousand that are lost between routers.
    pub loss: u32,
    /// Those who meet, two by two.
    pub pairs: Vec<PairSetup>,
    /// Faults, in order of time.
    pub faults: Vec<At<MeetAction>>,
}

/// A router.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RouterSetup {
    /// Its name.
    pub name: String,
    /// How it maps.
    pub mapping: Mapping,
    /// What it lets in.
    pub filtering: Filtering,
    /// What one host behind it sends to the router's outer address reaches another.
    pub hairpin: bool,
    /// How long a mapping lives that is not used from inside.
    pub timeout: Duration,
    /// Ports it has: with few, an old mapping loses its port to a new one.
    pub ports: u16,
    /// How long a datagram takes from it to the meeting place.
    pub delay: Duration,
}

/// A person with a servent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PersonSetup {
    /// The name.
    pub name: String,
    /// The router, by its place in the list; without one everything arrives.
    pub behind: Option<u32>,
    /// For a person without a router: how long a datagram takes to the meeting place.
    pub delay: Duration,
}

/// Two people who meet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PairSetup {
    /// The person who calls and sends, by the place in the list.
    pub caller: u32,
    /// The person who listens.
    pub listener: u32,
    /// When the caller comes.
    pub caller_at: Instant,
    /// When the listener comes.
    pub listener_at: Instant,
    /// Messages that the caller sends once there is a path.
    pub messages: u64,
    /// The time between two of them; 0: all at once.
    pub every: Duration,
}

/// What is done to a world of meetings.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
#[allow(missing_docs)] // The fields are named by what they hold.
pub enum MeetAction {
    /// The `n`-th datagram of a node is lost, counted from 1.
    Drop { node: NodeId, n: u32 },
    /// A node goes off without notice.
    Crash { node: NodeId },
    /// It starts again; one that runs goes off first. A router has an empty table then.
    Restart { node: NodeId },
}

impl Default for Scenario {
    fn default() -> Self {
        Self {
            id: String::from("meet"),
            title: String::new(),
            text: String::new(),
            seed: 1,
            horizon: Duration::from_secs(12),
            routers: Vec::new(),
            people: Vec::new(),
            relay: false,
            second_port: true,
            loss: 0,
            pairs: Vec::new(),
            faults: Vec::new(),
        }
    }
}

impl Default for RouterSetup {
    fn default() -> Self {
        Self::new("router", RouterKind::default(), Duration::from_millis(20))
    }
}

impl RouterSetup {
    /// A router of a kind.
    #[must_use]
    pub fn new(name: &str, kind: RouterKind, delay: Duration) -> Self {
        let RouterKind { mapping, filtering, hairpin, timeout, ports } = kind;
        Self { name: String::from(name), mapping, filtering, hairpin, timeout, ports, delay }
    }

    /// What it is like.
    #[must_use]
    pub const fn kind(&self) -> RouterKind {
        let Self { mapping, filtering, hairpin, timeout, ports, .. } = *self;
        RouterKind { mapping, filtering, hairpin, timeout, ports }
    }
}

impl Default for PersonSetup {
    fn default() -> Self {
        Self { name: String::from("person"), behind: None, delay: Duration::from_millis(20) }
    }
}

impl Default for PairSetup {
    fn default() -> Self {
        Self {
            caller: 0,
            listener: 1,
            caller_at: Instant::from_secs(1),
            listener_at: Instant::ZERO,
            messages: 3,
            every: Duration::ZERO,
        }
    }
}

impl PairSetup {
    /// When both are there.
    #[must_use]
    pub fn both_at(&self) -> Instant {
        self.caller_at.max(self.listener_at)
    }

    /// The other person, if this one is in the pair.
    #[must_use]
    pub const fn other(&self, person: u32) -> Option<u32> {
        if person == self.caller {
            Some(self.listener)
        } else if person == self.listener {
            Some(self.caller)
        } else {
            None
        }
    }
}

impl Scenario {
    const PEOPLE: u64 = 16;
    const ROUTERS: u64 = 16;
    const MESSAGES: u64 = 10_000;

    pub(super) fn check(&self) -> Result<(), ScenarioError> {
        error::count("people", "people", self.people.len() as u64, 2..=Self::PEOPLE)?;
        error::count("routers", "routers", self.routers.len() as u64, 0..=Self::ROUTERS)?;
        error::within("loss", self.loss, 0..=1_000)?;
        for (i, router) in self.routers.iter().enumerate() {
            let within = |wrong: ScenarioError| wrong.within(format!("routers[{i}]"));
            error::within("ports", u32::from(router.ports), 1..=6_000).map_err(within)?;
            error::least("timeout", router.timeout, Duration::from_millis(1)).map_err(within)?;
        }
        for (i, person) in self.people.iter().enumerate() {
            let Some(behind) = person.behind else { continue };
            let wrong = |why| ScenarioError::at(format!("people[{i}].behind"), why);
            error::there("router", behind, self.routers.len() as u64).map_err(wrong)?;
            let firewall = self.routers[behind as usize].mapping == Mapping::None;
            let before = self.people[..i].iter().any(|it| it.behind == Some(behind));
            if firewall && before {
                // A firewall has the address of the only person behind it.
                return Err(wrong(ScenarioMistake::Same { what: "router", number: behind }));
            }
        }
        error::count("pairs", "pairs", self.pairs.len() as u64, 1..=Self::PEOPLE / 2)?;
        let mut met = Vec::new();
        for (i, pair) in self.pairs.iter().enumerate() {
            let within = |wrong: ScenarioMistake| ScenarioError::at(format!("pairs[{i}]"), wrong);
            for person in [pair.caller, pair.listener] {
                error::there("person", person, self.people.len() as u64).map_err(within)?;
                if met.contains(&person) {
                    // A servent makes one visit at a time.
                    return Err(within(ScenarioMistake::Same { what: "person", number: person }));
                }
                met.push(person);
            }
            error::within("messages", pair.messages, 0..=Self::MESSAGES)
                .map_err(|wrong| wrong.within(format!("pairs[{i}]")))?;
        }
        self.faults.iter().try_for_each(|fault| self.admits(&fault.act))
    }

    pub(super) fn admits(&self, act: &MeetAction) -> Result<(), ScenarioError> {
        let (MeetAction::Drop { node, .. }
        | MeetAction::Crash { node }
        | MeetAction::Restart { node }) = act;
        Ok(error::there("node", node.0, u64::from(self.place()) + 1)?)
    }

    /// The node of a router.
    #[must_use]
    pub const fn router_node(&self, router: u32) -> u32 {
        self.people.len() as u32 + router
    }

    /// The node of the meeting place.
    #[must_use]
    pub const fn place(&self) -> u32 {
        (self.people.len() + self.routers.len()) as u32
    }

    /// The pair of a person.
    #[must_use]
    pub fn pair_of(&self, person: u32) -> Option<(usize, &PairSetup)> {
        self.pairs.iter().enumerate().find(|(_, pair)| pair.other(person).is_some())
    }

    /// The outer address of a router.
    #[must_use]
    pub const fn outside(router: u32) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(198, 51, 100, router as u8 + 1))
    }

    /// The address that a person's servent has itself.
    #[must_use]
    pub fn local(&self, person: u32) -> SocketAddr {
        let n = person as u8 + 1;
        let ip = match self.people[person as usize].behind {
            None => IpAddr::from([203, 0, 113, n]),
            Some(router) if self.routers[router as usize].mapping == Mapping::None => {
                Self::outside(router)
            }
            Some(router) => IpAddr::from([10, router as u8, 0, n]),
        };
        SocketAddr::new(ip, PORT)
    }

    /// The addresses of the meeting place: that of one of its ports.
    #[must_use]
    pub fn place_at(port: usize) -> SocketAddr {
        (Ipv4Addr::new(192, 0, 2, 1), PORT + port as u16).into()
    }

    /// True when both are in the network of one router.
    #[must_use]
    pub fn together(&self, one: u32, other: u32) -> bool {
        let behind = |person: u32| self.people[person as usize].behind;
        behind(one).is_some() && behind(one) == behind(other)
    }

    /// What stands before a person.
    #[must_use]
    pub fn kind_before(&self, person: u32) -> RouterKind {
        let behind = self.people[person as usize].behind;
        behind.map_or(RouterKind::open(), |router| self.routers[router as usize].kind())
    }

    /// How long a datagram of a person takes to the meeting place.
    #[must_use]
    pub fn delay(&self, person: u32) -> Duration {
        let PersonSetup { behind, delay, .. } = &self.people[person as usize];
        behind.map_or(*delay, |router| self.routers[router as usize].delay)
    }
}
