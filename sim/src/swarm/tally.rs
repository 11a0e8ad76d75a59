//! Totals from the records: how many pieces had arrived when, and whether there
//! is still progress.

use alloc::vec::Vec;

use serde::Serialize;

use super::event::{Event, client_of};
use super::scenario::Scenario;
use super::world::SwarmWorld;
use servent_core::swarm;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Record;

/// A swarm without progress for the time of this many pieces counts as
/// deadlocked.
const STILL: u64 = 16;
/// But at least after this long.
const STILL_AT_LEAST: Duration = Duration::from_secs(30);

/// Adds up the records of one branch.
#[derive(Debug, Clone, Default)]
pub struct SwarmTally {
    /// Whether each client must get everything.
    expected: Vec<bool>,
    /// When each piece arrived at a client that must get the file, in order.
    arrivals: Vec<Instant>,
    /// When a piece was last assigned, or arrived.
    moved: Option<Instant>,
}

/// The result of a swarm, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Result {
    /// All clients that must have the file have it.
    pub finished: bool,
    /// When the last of them was complete.
    pub at: Option<Instant>,
    /// The lower bound of that.
    pub bound: Duration,
    /// The makespan in thousandths of the bound; while not finished, up to now.
    pub ratio: u64,
    /// Clients that have the whole file, of those that must.
    pub whole: u32,
    /// Clients that must have the whole file.
    pub wanting: u32,
    /// Pieces the source sent, in thousandths of the file.
    pub source_copies: u64,
    /// Messages to and from the coordinator per thousand pieces.
    pub messages: u64,
    /// Since when there is no progress although a client still wants pieces.
    pub deadlocked: Option<Instant>,
}

impl SwarmTally {
    /// For a scenario.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let each = |group: &super::PeerGroup| (group.expects(), group.count as usize);
        let groups = scenario.clients.iter().map(each);
        let expected = groups.flat_map(|(expects, count)| core::iter::repeat_n(expects, count));
        Self { expected: expected.collect(), ..Self::default() }
    }

    /// Adds the next record.
    pub fn observe(&mut self, record: &Record<Event>) {
        let Event::Swarm(event) = &record.event else { return };
        match event {
            swarm::Event::Assigned { .. } => self.moved = Some(record.at),
            swarm::Event::Arrived { down, .. } => {
                self.moved = Some(record.at);
                let client = client_of(*down) as usize;
                if self.expected.get(client).copied().unwrap_or(false) {
                    self.arrivals.push(record.at);
                }
            }
            _ => {}
        }
    }

    /// Pieces that had arrived by an instant at clients that must get the file.
    #[must_use]
    pub fn arrived_by(&self, at: Instant) -> u64 {
        self.arrivals.partition_point(|arrival| *arrival <= at) as u64
    }

    /// The result, from the world at the end of what is known.
    #[must_use]
    pub fn result(&self, known: &SwarmWorld) -> Result {
        let outcome = known.outcome();
        let (makespan, bound) = (outcome.makespan.as_micros(), outcome.bound.as_micros().max(1));
        let ratio = (u128::from(makespan) * 1_000 / u128::from(bound)) as u64;
        Result {
            finished: known.finished(),
            at: known.finished().then(|| Instant::ZERO + outcome.makespan),
            bound: outcome.bound,
            ratio,
            whole: outcome.whole,
            wanting: outcome.wanting,
            source_copies: outcome.source_copies,
            messages: outcome.frames,
            deadlocked: self.still(known),
        }
    }

    /// Since when there is no progress, if that looks permanent: nothing is in
    /// transit and a client that is present still wants pieces.
    fn still(&self, known: &SwarmWorld) -> Option<Instant> {
        let moved = self.moved?;
        let (_, piece_time) = known.manager().pace(0)?;
        let long = piece_time.ratio(STILL, 1).max(STILL_AT_LEAST);
        let quiet = known.now().since(moved) >= long;
        let idle = known.running().next().is_none();
        (quiet && idle && !known.finished() && known.any_peer_waits()).then_some(moved)
    }
}
