//! Small worlds that are explored completely (EX-3).

use alloc::vec::Vec;

use super::scenario::{Habit, PeerGroup, Scenario};
use crate::explore::Limits;
use crate::registry::SmallWorld;
use servent_core::time::Duration;

/// A source and some clients.
fn clients(
    id: &str,
    text: &str,
    (pieces, clients): (u32, Vec<PeerGroup>),
    limits: Limits,
) -> SmallWorld<Scenario> {
    let scenario = Scenario {
        id: id.into(),
        title: "All of it".into(),
        text: text.into(),
        horizon: Duration::from_secs(30),
        pieces,
        clients,
        ..Scenario::default()
    };
    SmallWorld { scenario, limits }
}

/// All small worlds.
pub(super) fn all() -> Vec<SmallWorld<Scenario>> {
    let honest = |count| PeerGroup { count, ..PeerGroup::default() };
    let liar = PeerGroup { habit: Habit::Liar, ..honest(1) };
    let limits = Limits { losses: 0, ..Limits::default() };
    let crashes = Limits { crashes: 1, ..limits.clone() };
    let two = "Two clients share two pieces; their messages arrive in every order.";
    let lied = "Two clients and one that reports every piece as missing, in every order.";
    let crash = "Two clients share two pieces while either starts again at any time.";
    alloc::vec![
        clients("all-of-two-pieces", two, (2, alloc::vec![honest(2)]), limits.clone()),
        clients("all-of-a-restarted-client", crash, (1, alloc::vec![honest(2)]), crashes),
        clients("all-of-a-liar", lied, (3, alloc::vec![honest(2), liar]), limits),
    ]
}
