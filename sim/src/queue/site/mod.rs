//! A site: the servers of a scenario are its members and share one store.
//!
//! A member stands by or leads; only the one that leads runs a node. What its
//! node changes is written to the store over a link, conditional on a fencing
//! number, and what depends on it is said when the store has it. The store can
//! be slow, silent or gone, the way to it can be cut, and what is on that way
//! arrives late. The address of the site belongs to the last leader; in a divided
//! site every member runs a node at an address of its own.

mod member;
mod parked;
mod partitions;
mod store;

use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use self::parked::ParkedEffects;
use self::partitions::Divided;
use self::store::{Letter, SharedStore};
use servent_core::lease::{self, Lease};
use servent_core::node::{NodeOp, RestoredNode};
use servent_core::rng::Rng;
use servent_core::time::{Duration, Instant};

/// The members of a site are the servers of its scenario. They share a store.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SimulatedSite {
    /// How who leads is found.
    #[serde(deserialize_with = "crate::strict::deserialize")]
    pub lease: lease::Config,
    /// Time between a member and the store, one way.
    pub latency: Duration,
    /// How long a member waits for an answer of the store before it goes on
    /// without it.
    pub patience: Duration,
    /// How often a store that is away is tried again.
    pub retry: Duration,
    /// Time after which a member that ended because it was replaced is started
    /// again.
    pub restart: Duration,
    /// All members serve, each its own part of the files, at an address of its
    /// own.
    pub divided: bool,
}

impl Default for SimulatedSite {
    fn default() -> Self {
        Self {
            lease: lease::Config::default(),
            latency: Duration::from_millis(1),
            patience: Duration::from_secs(2),
            retry: Duration::from_millis(500),
            restart: Duration::from_secs(1),
            divided: false,
        }
    }
}

/// What the members share, and what each of them is.
#[derive(Debug, Clone)]
pub(super) struct State {
    plan: SimulatedSite,
    store: SharedStore,
    members: Vec<SimulatedMember>,
    /// Questions to the store that are not done with, by their numbers.
    letters: BTreeMap<u64, Letter>,
    sent: u64,
    /// Who answers at the address of the site.
    route: Option<u32>,
    dice: Rng,
}

impl State {
    pub(super) fn new(plan: &SimulatedSite, members: usize, dice: &Rng) -> Self {
        Self {
            plan: plan.clone(),
            store: SharedStore::default(),
            members: alloc::vec![SimulatedMember::default(); members],
            letters: BTreeMap::new(),
            sent: 0,
            route: None,
            dice: dice.fork("site", 0),
        }
    }

    /// The node that answers at the address of the site.
    pub(super) const fn route(&self) -> Option<u32> {
        self.route
    }

    /// True for a node that is a member.
    pub(super) fn has(&self, node: u32) -> bool {
        (node as usize) < self.members.len()
    }

    /// What the store remembers for the leader of the whole site.
    pub(super) fn restored(&self) -> RestoredNode {
        if self.plan.divided { RestoredNode::default() } else { self.store.disk.restored() }
    }

    fn member(&self, node: u32) -> &SimulatedMember {
        &self.members[node as usize]
    }

    fn member_mut(&mut self, node: u32) -> &mut SimulatedMember {
        &mut self.members[node as usize]
    }
}

/// One member: its process, and its links to the store.
#[derive(Debug, Clone, Default)]
struct SimulatedMember {
    /// Which process of it runs, or ran last.
    start: u32,
    /// `None` while no process runs.
    lease: Option<Lease>,
    /// The instant of its planned timer.
    armed: Option<Instant>,
    /// The way to the store is cut.
    apart: bool,
    /// What is on that way.
    stuck: Vec<SitePlan>,
    /// What came while it was stalled.
    late: Vec<SitePlan>,
    /// The question about the lease that is not answered yet.
    asking: Option<u64>,
    /// The question over the link for writing that is not answered yet.
    writing: Option<u64>,
    /// The fencing number of that link; `None` when there is none.
    fence: Option<u64>,
    /// It knows that it cannot write.
    away: bool,
    /// Changes that the store may not have, in order, and how many of them are
    /// under way.
    pending: Vec<NodeOp>,
    under_way: usize,
    /// How many changes were made, and how many of them the store has.
    made: u64,
    saved: u64,
    /// Outputs that wait for changes before them.
    held: ParkedEffects,
    /// Its part of a site that is divided.
    divided: Divided,
}

impl SimulatedMember {
    /// A process of it runs.
    const fn runs(&self) -> bool {
        self.lease.is_some() || self.divided.division.is_some()
    }
}

/// A planned event of a site.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SitePlan {
    /// A process of this member starts.
    Rise(u32),
    /// A timer of the lease.
    Lease(u32, u32),
    /// A question reaches the store.
    Ask(u64),
    /// An answer reaches the member.
    Said(u64),
    /// A member has waited for an answer long enough.
    Patience(u64),
    /// A member tries to reach the store again.
    Retry(u32, u32),
    /// A client may have waited long enough for what cannot be saved.
    Unsay(u32, u32),
}
