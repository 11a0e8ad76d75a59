//! Totals of searches: what a hit costs in messages, and which share of the
//! existing files was found.

use alloc::collections::BTreeSet;

use serde::Serialize;

use super::chart::Chart;
use crate::routing::world::RoutingWorld;
use servent_core::wire::gnutella::matches;

/// Totals of all searches so far.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoutingTotals {
    /// Messages sent.
    pub messages: u64,
    /// Hits that reached the searching node.
    pub hits: u32,
    /// Servents found, summed over all searches.
    pub found: u32,
    /// Servents that have matching files, summed over all searches.
    pub existing: u32,
    /// Nodes that accepted the newest search.
    pub reached: u32,
    /// Nodes besides the searching one.
    pub nodes: u32,
}

impl RoutingTotals {
    /// The totals at the world's clock.
    #[must_use]
    pub fn measure(world: &RoutingWorld, chart: &Chart) -> Self {
        let now = world.now();
        let home = chart.found_until(now);
        let found: BTreeSet<(u32, u32)> = home.iter().map(|home| (home.journey, home.of)).collect();
        let asked = chart.journeys().iter().filter(|j| !j.flood && j.of.is_none() && j.at <= now);
        let existing = asked.map(|journey| owners(world, journey.node, &journey.words)).sum();
        Self {
            messages: world.tally(None).map_or(0, |tally| tally.sent),
            hits: home.len() as u32,
            found: found.len() as u32,
            existing,
            reached: chart.reached_until(now),
            nodes: world.scenario().nodes.saturating_sub(1),
        }
    }
}

/// How many servents other than the searching one have matching files.
fn owners(world: &RoutingWorld, asker: u32, words: &str) -> u32 {
    let stage = &world.net.stage;
    let fits = |index: &servent_core::id::FileIndex| {
        matches(words, &stage.plan.files[index.0 as usize].name)
    };
    let others = stage.shares.iter().filter(|(node, _)| **node != asker);
    others.filter(|(_, files)| files.iter().any(fits)).count() as u32
}
