//! Small worlds that are explored completely (EX-3).

use alloc::vec::Vec;

use super::action::{Send, UnicastAction, UnicastActionAt};
use super::scenario::Scenario;
use crate::explore::Limits;
use crate::registry::SmallWorld;
use servent_core::time::{Duration, Instant};
use servent_core::trace::NodeId;
use servent_core::unicast::Profile;

/// Two ends, so many messages one by one, and a close.
fn letters(id: &str, text: &str, messages: u32, limits: Limits) -> SmallWorld<Scenario> {
    let (from, to) = (NodeId(0), NodeId(1));
    let send = |_| UnicastAction::Send(Send { from, to, size: 8, ..Send::default() });
    let acts = (0..messages).map(send).chain([UnicastAction::Close { from, to }]);
    let scenario = Scenario {
        id: id.into(),
        title: "All of it".into(),
        text: text.into(),
        horizon: Duration::from_secs(120),
        profile: Profile::Unicast3,
        script: acts.map(|act| UnicastActionAt { at: Instant::ZERO, act }).collect(),
        ..Scenario::default()
    };
    SmallWorld { scenario, limits }
}

/// All small worlds.
pub(super) fn all() -> Vec<SmallWorld<Scenario>> {
    let limits = Limits { losses: 1, ..Limits::default() };
    let two = "Two messages, a close, and one loss, in every order.";
    let four = "Four messages, a close, two losses and one double, in every order.";
    let crash = "Two messages, a close, and a crash of either end, in every order.";
    let more = Limits { losses: 2, doubles: 1, ..limits.clone() };
    let crashes = Limits { losses: 0, crashes: 1, ..limits.clone() };
    alloc::vec![
        letters("all-of-two-messages", two, 2, limits),
        letters("all-of-a-crash", crash, 2, crashes),
        letters("all-of-four-messages", four, 4, more),
    ]
}
