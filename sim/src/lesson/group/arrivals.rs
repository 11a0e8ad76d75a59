//! The arrivals of a class, as a world in which they happen again under another rule.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use servent_core::id::Guid;
use servent_core::node::Event;
use servent_core::queue::{Event as Of, QueuePolicy};
use servent_core::time::{Duration, Instant};
use servent_core::trace::again::Again;
use servent_core::trace::player::Player;
use servent_core::trace::players::Players;

use crate::queue::{ClientGroup, QueueVariant, Scenario, ScenarioServer};

/// Bytes per second of every upload in that world; the size of a file is what makes
/// its upload last as long as it did.
const RATE: u64 = 100_000;
/// The shortest upload, and the one of a client that never came to it.
const SHORTEST: Duration = Duration::from_millis(500);
const UNKNOWN: Duration = Duration::from_secs(5);
/// The world goes on for so long after the last upload could have ended.
const AFTER: Duration = Duration::from_secs(300);
/// More than a class; further ones are left out.
const MOST: usize = 200;

/// A client that came to the line.
struct Came {
    at: Instant,
    began: Option<Instant>,
    lasted: Option<Duration>,
}

/// Who came to the line of the room's servent, and when, as a scenario: once as those
/// who wait are told their position, and once as they are told what was measured.
/// `None` when no client came to a line.
#[must_use]
pub fn arrivals(recording: &[u8], since: Instant) -> Option<Scenario> {
    let mut players = Players::default();
    players.append(recording);
    let tapes = players.all();
    let lines = tapes.iter().filter_map(|player| {
        let start = player.start()?;
        (!start.config.agent.contains("(tab)")).then(|| (came(player, since), start))
    });
    let (came, start) = lines.max_by_key(|(came, _)| came.len())?;
    let first = came.first()?.at;
    let lasts = |one: &Came| one.lasted.unwrap_or(UNKNOWN).max(SHORTEST);
    let slots = start.config.queue.slots.max(1);
    let clients: Vec<ClientGroup> = (1..)
        .zip(&came)
        .map(|(n, one)| ClientGroup {
            name: format!("g{n}"),
            count: 1,
            size: (u128::from(RATE) * u128::from(lasts(one).as_micros()) / 1_000_000) as u64,
            down: RATE,
            first: one.at.since(first),
            spacing: Duration::ZERO,
            jitter: Duration::ZERO,
            firewalled: true,
            ..ClientGroup::default()
        })
        .collect();
    let work: u64 = came.iter().map(|one| lasts(one).as_micros()).sum();
    let last = came.last().map_or(0, |one| one.at.since(first).as_micros());
    let mut server = ScenarioServer {
        name: String::from("room"),
        up: RATE * u64::from(slots),
        ..ScenarioServer::default()
    };
    server.queue = start.config.queue;
    server.queue.slots = slots;
    let variant = |name: &str, policy| QueueVariant {
        name: name.into(),
        policy: Some(policy),
        dialect: None,
    };
    Some(Scenario {
        id: String::from("our-line"),
        title: String::from("Our line"),
        text: String::from(
            "Those who came to the line of this room, when they came. Above by position, below by measurement.",
        ),
        horizon: Duration::from_micros(last + 2 * work) + AFTER,
        servers: alloc::vec![server],
        clients,
        variants: alloc::vec![
            variant("by position", QueuePolicy::Text),
            variant("by measurement", QueuePolicy::Adaptive),
        ],
        ..Scenario::default()
    })
}

/// Who came, in order.
fn came(player: &Player, since: Instant) -> Vec<Came> {
    let Some(start) = player.start() else { return Vec::new() };
    let (mut all, mut by): (Vec<Came>, BTreeMap<Guid, usize>) = (Vec::new(), BTreeMap::new());
    Again::new(start).go_on(player, |step| {
        for (_, event) in step.events() {
            let Event::Queue(event) = event else { continue };
            let new = matches!(event, Of::Arrived { .. } | Of::Started { .. });
            let (Of::Arrived { ticket, .. }
            | Of::Started { ticket, .. }
            | Of::Finished { ticket, .. }) = event
            else {
                continue;
            };
            if new && step.at >= since && all.len() < MOST && !by.contains_key(ticket) {
                by.insert(*ticket, all.len());
                all.push(Came { at: step.at, began: None, lasted: None });
            }
            let Some(one) = by.get(ticket).and_then(|n| all.get_mut(*n)) else { continue };
            match event {
                Of::Started { .. } => one.began = one.began.or(Some(step.at)),
                Of::Finished { .. } => one.lasted = one.began.map(|began| step.at.since(began)),
                _ => {}
            }
        }
    });
    all
}
