//! How a transfer was chosen, and the totals of all transfers.

use serde::Serialize;
use servent_core::swarm::manager::SwarmCounters;
use servent_core::swarm::{Event as Told, Funnel, Led, Pick};
use servent_core::time::{Duration, Instant};
use servent_core::trace::Record;
use servent_sim::Timeline;
use servent_sim::swarm::{Event, Swarm, SwarmWorld, client_of, name};

/// Totals at the cursor.
#[derive(Serialize)]
pub(crate) struct Totals {
    #[serde(flatten)]
    pub(crate) counters: SwarmCounters,
    pub(crate) ratio: u32,
    pub(crate) source_copies: u64,
    pub(crate) messages_per_piece: u64,
    pub(crate) stalled: u32,
    pub(crate) quarantined: u32,
    pub(crate) whole: u32,
    pub(crate) wanting: u32,
    /// When all clients were complete, or the clock.
    pub(crate) at: Instant,
    pub(crate) finished: bool,
    /// The lower bound of that.
    pub(crate) bound: Duration,
}

impl Totals {
    pub(super) fn from_world(world: &SwarmWorld) -> Self {
        let outcome = world.outcome();
        let (mut stalled, mut quarantined) = (0, 0);
        for client in 0..world.size().0 {
            if let Some(standing) = world.standing(client) {
                stalled += u32::from(standing.stalled.is_some());
                quarantined += u32::from(standing.quarantined);
            }
        }
        Self {
            counters: world.manager().counters(),
            ratio: world.manager().pace(0).map_or(0, |(ratio, _)| ratio),
            source_copies: outcome.source_copies,
            messages_per_piece: outcome.frames,
            stalled,
            quarantined,
            whole: outcome.whole,
            wanting: outcome.wanting,
            at: Instant::ZERO + outcome.makespan,
            finished: world.finished(),
            bound: outcome.bound,
        }
    }
}

/// How a transfer was chosen.
#[derive(Serialize)]
pub(crate) struct Selection {
    transfer: u64,
    giver: Option<u32>,
    taker: u32,
    piece: u32,
    at: Instant,
    why: Pick,
    led: Led,
    charged: bool,
    waiting: u32,
    copies: u32,
    steps: Vec<SelectionStep>,
    chosen: Chosen,
}

#[derive(Serialize)]
struct SelectionStep {
    key: &'static str,
    count: u32,
    id: &'static str,
    clause: &'static str,
}

#[derive(Serialize)]
struct Chosen {
    key: &'static str,
    id: &'static str,
    clause: &'static str,
    name: Option<String>,
}

/// A step of the selection: its key, requirement and clause.
type Clause = (&'static str, &'static str, &'static str);

const NEEDED: Clause = ("needed", "SW-6", "lines 43–49");
const REACHABLE: Clause = ("reachable", "SW-15", "lines 110–125, 150–153");
const USEFUL: Clause = ("useful", "SW-18", "lines 140–149");
const PASSIVE: Clause = ("passive", "SW-15", "lines 110–125, 150–153");
const ACTIVE: Clause = ("active", "SW-15", "lines 110–125, 150–153");
const STALLED: Clause = ("stalled", "SW-18", "lines 140–149");
const OTHERS: Clause = ("others", "SW-18", "lines 140–149");
const PIECES: Clause = ("pieces", "SW-21", "lines 179–181");
const RAREST: Clause = ("rarest", "SW-21", "lines 179–181");
const UNSEEN: Clause = ("unseen", "SW-16", "lines 121–123");

impl Selection {
    /// From the record of an assignment; `None` for any other record.
    pub(crate) fn from_record(record: &Record<Event>) -> Option<Self> {
        let Event::Swarm(told) = &record.event else { return None };
        let Told::Assigned { piece, down, up, put, why, charged, funnel, .. } = told else {
            return None;
        };
        let funnel = (*funnel)?;
        let key = match why {
            Pick::Stalled => "longest_stalled",
            Pick::Fastest => "fastest",
            Pick::Unseen => "unseen",
            Pick::Source => "source",
            Pick::Retry => "retry",
            Pick::Again => "again",
        };
        let giver = up.map(client_of);
        Some(Self {
            transfer: record.seq,
            giver,
            taker: client_of(*down),
            piece: *piece,
            at: record.at,
            why: *why,
            led: funnel.led,
            charged: *charged,
            waiting: funnel.waiting,
            copies: funnel.copies,
            steps: steps(&funnel, up.is_some(), *put, *why),
            chosen: Chosen { key, id: told.id(), clause: told.clause(), name: giver.map(name) },
        })
    }
}

/// The explanation of a choice: the same run again from the nearest keyframe,
/// with reasons recorded.
pub(super) fn explained(timeline: &Timeline<Swarm>, seq: u64) -> Option<Selection> {
    let mut world = timeline.world_before(seq);
    world.explain();
    let mut records = Vec::new();
    while world.records() <= seq && world.step(&mut records) {}
    Selection::from_record(records.iter().find(|record| record.seq == seq)?)
}

fn steps(funnel: &Funnel, peer: bool, put: bool, why: Pick) -> Vec<SelectionStep> {
    let step = |(key, id, clause): Clause, count| SelectionStep { key, count, id, clause };
    let mut steps = vec![
        step(NEEDED, funnel.needed),
        step(REACHABLE, funnel.reachable),
        step(USEFUL, funnel.useful),
    ];
    if peer {
        let of_mode = if put { funnel.passive } else { funnel.useful - funnel.passive };
        steps.push(step(if put { PASSIVE } else { ACTIVE }, of_mode));
        let stalled = matches!(why, Pick::Stalled);
        let count = if stalled { funnel.stalled } else { of_mode.saturating_sub(funnel.stalled) };
        steps.push(step(if stalled { STALLED } else { OTHERS }, count));
        steps.push(step(PIECES, funnel.pieces));
        steps.push(step(RAREST, funnel.rarest));
    } else if matches!(why, Pick::Unseen) {
        steps.push(step(UNSEEN, funnel.pieces));
    }
    steps
}
