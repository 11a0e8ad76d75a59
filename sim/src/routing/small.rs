//! Small worlds that are explored completely (EX-3).

use alloc::vec::Vec;

use super::action::{RoutingAction, RoutingActionAt};
use super::scenario::{Scenario, ScenarioFile, Shape};
use crate::explore::Limits;
use crate::registry::SmallWorld;
use servent_core::routing::Config;
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;

/// Four servents in a circle, and a fifth beside them that shares a file. The first
/// one does this.
fn circle(id: &str, text: &str, acts: Vec<RoutingAction>, limits: Limits) -> SmallWorld<Scenario> {
    let link = |(a, b)| (NodeId(a), NodeId(b));
    let at = |act| RoutingActionAt { at: Instant::ZERO, act };
    let file = ScenarioFile { node: SHARES, name: "some song.ogg".into(), after: Duration::ZERO };
    let scenario = Scenario {
        id: id.into(),
        title: "All of it".into(),
        text: text.into(),
        horizon: Duration::from_secs(60),
        nodes: 5,
        shape: Shape::Free,
        links: [(0, 1), (1, 2), (2, 3), (3, 0), (2, 4)].map(link).to_vec(),
        config: Config { query_life: LIFE, duplicate_life: LIFE, ..Config::default() },
        files: alloc::vec![file],
        script: acts.into_iter().map(at).collect(),
        ..Scenario::default()
    };
    SmallWorld { scenario, limits }
}

/// The servent that shares.
const SHARES: NodeId = NodeId(4);
/// Routes are forgotten within the time that is explored.
const LIFE: Duration = Duration::from_secs(10);

/// All small worlds.
pub(super) fn all() -> Vec<SmallWorld<Scenario>> {
    let node = NodeId(0);
    let search = || RoutingAction::Search { node, words: "some song".into() };
    let limits = Limits { losses: 0, ..Limits::default() };
    let restart = Limits { crashes: 1, ..limits.clone() };
    let once = "A search in a circle and its answer, in every order.";
    let push = "A search, its answer and a push, in every order.";
    let crash = "A search in a circle while any servent starts again.";
    let pushed = alloc::vec![search(), RoutingAction::Push { node, of: SHARES }];
    alloc::vec![
        circle("all-of-a-search", once, alloc::vec![search()], limits.clone()),
        circle("all-of-a-push", push, pushed, limits),
        circle("all-of-a-restart", crash, alloc::vec![search()], restart),
    ]
}
