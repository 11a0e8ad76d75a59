//! The numbers behind a decision of the coordinator: what a client uploaded and
//! downloaded, and how many candidates each step of the selection left.

use super::{Event, Swarm, SwarmWorld, client_of, name};
use crate::Timeline;
use serde_json::{Value, json};
use servent_core::id::ConnId;
use servent_core::swarm::Event as Told;

/// The numbers behind a record.
pub(crate) fn list_numbers(timeline: &Timeline<Swarm>, i: u64) -> Option<Value> {
    let Event::Swarm(told) = &timeline.record(i)?.event else { return None };
    match told {
        Told::Stalled { client, .. } | Told::Granted { client, .. } | Told::Free { client } => {
            ledger(timeline, i, *client)
        }
        Told::Confirmed { up, down, .. } => ledger(timeline, i, up.unwrap_or(*down)),
        Told::Unstalled { client, .. } => ledger(timeline, i, *client),
        Told::Assigned { funnel: Some(funnel), .. } => Some(json!({
            "key": "funnel", "needed": funnel.needed, "reachable": funnel.reachable,
            "useful": funnel.useful, "stalled": funnel.stalled, "rarest": funnel.rarest,
        })),
        _ => None,
    }
}

/// The sum that made up a client's credit (SW-10) when the record was made.
fn ledger(timeline: &Timeline<Swarm>, i: u64, client: ConnId) -> Option<Value> {
    sum(&timeline.world_at(Some(i)), client_of(client))
}

/// The same for a client in the current state of a world.
pub fn sum(world: &SwarmWorld, client: u32) -> Option<Value> {
    let standing = world.standing(client)?;
    let (ratio, _) = world.manager().pace(0)?;
    let config = &world.scenario().swarm;
    // As in `servent_core::swarm::credit`: the free allowance grows with the
    // ratio.
    let pieces = u64::from(config.free_pieces);
    let grown = pieces * u64::from(ratio) / u64::from(config.ratio.max(1));
    let free = if standing.free { grown.max(pieces) } else { 0 };
    let earned = standing.uploads * u64::from(ratio) / 1_000;
    let taken = (free + standing.grants + earned) as i64 - standing.credit;
    Some(json!({
        "key": "ledger", "name": name(client), "free": free,
        "granted": standing.grants, "uploads": standing.uploads, "ratio": ratio,
        "earned": earned, "taken": taken, "credit": standing.credit,
    }))
}
