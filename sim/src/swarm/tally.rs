//! What the records add up to: how many pieces were there when, and whether
//! anything still moves.

use alloc::vec::Vec;

use serde::Serialize;

use super::event::{Event, client_of};
use super::scenario::Scenario;
use super::world::World;
use servent_core::swarm;
use servent_core::time::{Duration, Instant};
use servent_core::trace::Record;

/// A swarm in which nothing moves for so many pieces' time stands still.
const STILL: u64 = 16;
/// But at least for this long.
const STILL_AT_LEAST: Duration = Duration::from_secs(30);

/// Adds up the records of one branch.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    /// Whether each client must get everything.
    expected: Vec<bool>,
    /// When each piece came to somebody who must get all, in order.
    arrivals: Vec<Instant>,
    /// When a piece was last given out, or arrived.
    moved: Option<Instant>,
}

/// How a swarm went, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Result {
    /// Everybody who must has everything.
    pub finished: bool,
    /// When the last one was served.
    pub at: Option<Instant>,
    /// The least that takes.
    pub bound: Duration,
    /// The makespan in thousandths of the bound; so far while not finished.
    pub ratio: u64,
    /// Clients that have everything, of those that must.
    pub whole: u32,
    /// Clients that must have everything.
    pub wanting: u32,
    /// Pieces the source sent, in thousandths of the file.
    pub source_copies: u64,
    /// Messages to and from the coordinator for each thousand pieces.
    pub messages: u64,
    /// Since when nothing moves although somebody still wants pieces.
    pub deadlocked: Option<Instant>,
}

impl Tally {
    /// For a scenario.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let each = |group: &super::Group| (group.expects(), group.count as usize);
        let groups = scenario.clients.iter().map(each);
        let expected = groups.flat_map(|(expects, count)| core::iter::repeat_n(expects, count));
        Self { expected: expected.collect(), ..Self::default() }
    }

    /// Takes the next record.
    pub fn see(&mut self, record: &Record<Event>) {
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

    /// Pieces that had come by an instant to those who must get all.
    #[must_use]
    pub fn arrived_by(&self, at: Instant) -> u64 {
        self.arrivals.partition_point(|arrival| *arrival <= at) as u64
    }

    /// How it went, told from the world at the end of what is known.
    #[must_use]
    pub fn result(&self, known: &World) -> Result {
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

    /// Since when nothing moves any more, if it looks like that will not
    /// change: nothing is on its way and somebody who is there still wants
    /// pieces.
    fn still(&self, known: &World) -> Option<Instant> {
        let moved = self.moved?;
        let (_, piece_time) = known.manager().pace(0)?;
        let long = piece_time.ratio(STILL, 1).max(STILL_AT_LEAST);
        let quiet = known.now().since(moved) >= long;
        let idle = known.running().next().is_none();
        (quiet && idle && !known.finished() && known.somebody_waits()).then_some(moved)
    }
}
