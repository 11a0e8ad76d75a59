//! What searches come to: what an answer costs, and how much of what there is
//! was found.

use alloc::collections::BTreeSet;

use serde::Serialize;

use super::chart::Chart;
use super::world::World;
use servent_core::wire::gnutella::matches;

/// What all searches until now come to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct RoutingTotals {
    /// Messages that left a node.
    pub messages: u64,
    /// Answers that are home.
    pub hits: u32,
    /// Servents that were found, for each search anew.
    pub found: u32,
    /// Servents that have what was searched for, for each search anew.
    pub existing: u32,
    /// Nodes that took the newest search.
    pub reached: u32,
    /// Nodes there are besides the one that asks.
    pub nodes: u32,
}

impl RoutingTotals {
    /// At the world's clock.
    #[must_use]
    pub fn of(world: &World, chart: &Chart) -> Self {
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

/// How many servents but the one that asks have files that fit.
fn owners(world: &World, asker: u32, words: &str) -> u32 {
    let stage = &world.net.stage;
    let fits = |index: &servent_core::id::FileIndex| {
        matches(words, &stage.plan.files[index.0 as usize].name)
    };
    let others = stage.shares.iter().filter(|(node, _)| **node != asker);
    others.filter(|(_, files)| files.iter().any(fits)).count() as u32
}
