//! Per-frame drawing data, as flat lists of numbers.

use servent_core::time::Instant;
use servent_sim::swarm::{AssignedTransfer, SwarmWorld};

/// How many numbers a row of [`rows`] has.
const ROW: usize = 14;

fn whole(n: u64) -> f64 {
    n as f64
}

fn flag(on: bool, bit: u32) -> u32 {
    if on { bit } else { 0 }
}

/// Rows of clients from `from` on.
pub(super) fn rows(world: &SwarmWorld, from: u32, count: u32) -> Vec<f64> {
    let mut out = Vec::with_capacity(count.min(world.size().0) as usize * ROW);
    for client in from..from.saturating_add(count).min(world.size().0) {
        let Some(row) = world.summary(client) else { continue };
        let standing = row.standing;
        let of = |n: fn(&servent_core::swarm::manager::ClientStanding) -> u64| {
            standing.as_ref().map_or(0.0, |standing| whole(n(standing)))
        };
        let stalled = standing.and_then(|s| s.stalled).map_or(-1.0, |at| whole(at.as_micros()));
        let flags = flag(standing.is_some_and(|s| s.quarantined), 1)
            | flag(row.done, 2)
            | flag(standing.is_some_and(|s| s.free), 4)
            | flag(row.still, 8)
            | flag(row.expected, 16)
            | flag(row.firewalled, 32);
        let active = standing.map_or(!row.passive, |s| s.active);
        let missing = u64::from(world.size().1 - row.held);
        out.extend([
            whole(row.up.into()),
            whole(active.into()),
            whole(row.held.into()),
            standing.map_or(whole(missing), |s| whole(s.wanted.into())),
            of(|s| s.uploads),
            of(|s| s.downloads),
            standing.map_or(0.0, |s| s.credit as f64),
            of(|s| s.grants),
            stalled,
            of(|s| s.rate),
            of(|s| s.receiving.into()),
            of(|s| s.sending.into()),
            of(|s| s.failures.into()),
            f64::from(flags),
        ]);
    }
    out
}

/// Active transfers at the cursor, by the number of their record.
pub(super) fn transfers(world: &SwarmWorld, now: Instant) -> Vec<f64> {
    let chunk = whole(world.scenario().chunk);
    let all: Vec<(u32, u32, &AssignedTransfer)> = world.running().collect();
    let mut order: Vec<(u64, u64)> =
        (0..).zip(&all).map(|(i, (.., running))| (running.id, i)).collect();
    order.sort_unstable();
    let row = |(taker, piece, running): &(u32, u32, &AssignedTransfer)| {
        let at = |at: Option<Instant>| at.map_or(-1.0, |at| whole(at.as_micros()));
        let (begun, ends) = running.flows.unzip();
        let state = match running.flows {
            _ if running.arrived => 2.0,
            Some((_, end)) if end <= now => 2.0,
            Some((begin, _)) if begin <= now => 1.0,
            _ => 0.0,
        };
        [
            whole(running.id),
            running.giver.map_or(-1.0, f64::from),
            f64::from(*taker),
            f64::from(*piece),
            whole(running.at.as_micros()),
            at(begun),
            at(ends),
            chunk,
            f64::from(u8::from(running.put)),
            state,
        ]
    };
    order.iter().filter_map(|(_, i)| all.get(*i as usize)).flat_map(row).collect()
}
